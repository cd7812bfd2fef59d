"""Callback handlers that record the events they are told, in order."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from uuid import UUID

from hocket.callbacks import AsyncCallbackHandler, BaseCallbackHandler

MODEL_EVENTS = ("on_chat_model_start", "on_llm_start", "on_llm_end", "on_llm_error")
CHAIN_EVENTS = ("on_chain_start", "on_chain_end", "on_chain_error")
TOOL_EVENTS = ("on_tool_start", "on_tool_end", "on_tool_error")

_ALL_EVENTS = tuple(name for name in dir(BaseCallbackHandler) if name.startswith("on_"))
_ENDINGS = ("_end", "_error")


class Event(NamedTuple):
    """One event: its method's name, its positional arguments and its keyword arguments."""

    name: str
    args: tuple[Any, ...]
    details: dict[str, Any]


EventFunction = Callable[[Event], object]


class _Records:
    """The events of a recorder, and how a test reads them."""

    events: list[Event]

    @property
    def names(self) -> list[str]:
        """What happened, in order."""
        return [event.name for event in self.events]

    def named(self, name: str) -> list[Event]:
        """Return the events of one name."""
        return [event for event in self.events if event.name == name]

    def only(self, name: str) -> Event:
        """Return the only event of this name."""
        (event,) = self.named(name)
        return event

    def count(self, name: str) -> int:
        """Return how many events of this name there were."""
        return len(self.named(name))

    def firsts(self, name: str) -> list[Any]:
        """Return the first argument of each event of this name: a result, an error, the text of a token."""
        return [event.args[0] for event in self.named(name)]

    @property
    def tokens(self) -> list[str]:
        """The texts of the chunks that came."""
        return self.firsts("on_llm_new_token")

    def runs(self) -> dict[UUID, list[str]]:
        """Return the names of the events of each run, in order; "on_llm_end closed" where a consumer left early."""
        runs: dict[UUID, list[str]] = {}
        for name, _, details in self.events:
            how = f"{name} closed" if details.get("closed") else name
            runs.setdefault(details["run_id"], []).append(how)
        return runs

    def ends(self) -> dict[UUID, list[str]]:
        """Return how each run ended, in the order of their starts; the promise is: once."""
        ends: dict[UUID, list[str]] = {}
        for run_id, names in self.runs().items():
            assert [name for name in names if name.endswith("_start")] == names[:1], f"run {run_id}: {names}"
            ends[run_id] = [name for name in names if name.removesuffix(" closed").endswith(_ENDINGS)]
        return ends

    @property
    def end(self) -> str:
        """How the only run ended, once."""
        ((end,),) = self.ends().values()
        return end

    def assert_every_run_ended_once(self) -> None:
        """Fail if a run has not exactly one start, before everything else, and one end, after everything else."""
        for run_id, names in self.runs().items():
            starts = [name for name in names if name.endswith("_start")]
            ends = [name for name in names if name.removesuffix(" closed").endswith(_ENDINGS)]
            assert (len(starts), len(ends)) == (1, 1), f"run {run_id}: {names}"
            assert names[0] == starts[0] and names[-1] == ends[0], f"run {run_id}: {names}"


class Recorder(_Records, BaseCallbackHandler):
    """A sync handler that records the named events (default: all), told in the caller's thread.

    A recorder of all events also asks for tokens, and a model that is listened to for tokens streams.

    Args:
        events: names of handler methods.
        before: called with each event before it is recorded; it may raise, or take its time.
        do: called with each event after it was recorded; it may raise.
        run_inline: False: told in a worker thread.
        settings: other attributes of a handler: ``raise_error``, ``background``, ``ignore_chain`` …
    """

    def __init__(
        self,
        *events: str,
        before: EventFunction | None = None,
        do: EventFunction | None = None,
        run_inline: bool = True,
        **settings: Any,
    ) -> None:
        self.events = []
        self.run_inline = run_inline
        vars(self).update(settings)
        for name in events or _ALL_EVENTS:
            setattr(self, _check(name), _listener(self.events, name, before, do))


class AsyncRecorder(_Records, AsyncCallbackHandler):
    """The same for async code: its methods are coroutines.

    Args:
        events: names of handler methods (default: all).
        before: called, and awaited if it returns an awaitable, with each event before it is recorded.
        do: called, and awaited if it returns an awaitable, with each event after it was recorded; it may raise.
        settings: other attributes of a handler: ``raise_error``, ``background`` …
    """

    def __init__(
        self,
        *events: str,
        before: EventFunction | None = None,
        do: EventFunction | None = None,
        **settings: Any,
    ) -> None:
        self.events = []
        vars(self).update(settings)
        for name in events or _ALL_EVENTS:
            setattr(self, _check(name), _async_listener(self.events, name, before, do))


def _check(name: str) -> str:
    if not callable(getattr(BaseCallbackHandler, name, None)):
        raise ValueError(f"a handler has no method {name!r}")
    return name


def _listener(
    events: list[Event], name: str, before: EventFunction | None, do: EventFunction | None
) -> Callable[..., None]:
    def listen(*args: Any, **details: Any) -> None:
        event = Event(name, args, details)
        if before is not None:
            before(event)
        events.append(event)
        if do is not None:
            do(event)

    return listen


def _async_listener(
    events: list[Event], name: str, before: EventFunction | None, do: EventFunction | None
) -> Callable[..., Awaitable[None]]:
    async def listen(*args: Any, **details: Any) -> None:
        event = Event(name, args, details)
        await _call(before, event)
        events.append(event)
        await _call(do, event)

    return listen


async def _call(function: EventFunction | None, event: Event) -> None:
    outcome = None if function is None else function(event)
    if isinstance(outcome, Awaitable):
        await outcome
