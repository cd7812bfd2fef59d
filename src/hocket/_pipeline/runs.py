"""The runs of one call, one for each of its prompts, and what their handlers are told."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, cast
from uuid import UUID

from hocket._runtime import clock
from hocket._runtime.cancellation import is_cancellation
from hocket._runtime.mode import ASYNC, Mode, start_eagerly
from hocket._runtime.stream import Sink
from hocket.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForLLMRun,
    CallbackManager,
    CallbackManagerForLLMRun,
)
from hocket.callbacks.events import NOTHING
from hocket.messages import UsageMetadata
from hocket.outputs import ChatGenerationChunk, GenerationChunk, LLMResult

__all__ = ["NO_RUNS", "CallRuns", "LLMRun", "RelayedEvent", "RelayedRuns", "StartEvent", "StartedRun", "view_run"]

LLMRun = AsyncCallbackManagerForLLMRun | CallbackManagerForLLMRun

StartEvent = tuple[tuple[object, ...], dict[str, object]]
"""What handlers are told at the start of a run: positional arguments of their method, and keyword arguments."""

TokenEventArgs = Callable[[Any], tuple[str, ChatGenerationChunk | GenerationChunk]]
"""Returns what handlers are told of an item: its text, and a chunk of their own."""


class RelayedEvent(NamedTuple):
    """An event of a request that several calls share, on its way to the handlers of each, among the chunks."""

    name: str
    args: tuple[object, ...]
    details: dict[str, object]


def view_run(run: LLMRun, is_async: bool) -> LLMRun:
    """Return the same run for async code, or for sync code."""
    if is_async:
        return run if isinstance(run, AsyncCallbackManagerForLLMRun) else run.view_as(AsyncCallbackManagerForLLMRun)
    return run.get_sync() if isinstance(run, AsyncCallbackManagerForLLMRun) else run


class CallRuns:
    """The runs of one call.

    Args:
        mode: of the call.
        start_event: the name of the event that starts a run of this kind.
        ids: of the runs, one a prompt.
        managers: start the runs, one each.
        describe: returns the start event of the run at an index.

    Attributes:
        has_ended: whether the handlers have been told of the end, or are being told.
        reports_usage: False where an equal call reports the tokens of a request that both share.
    """

    # Until something happens these stand on the class, since each assignment in a constructor is paid by every call.
    has_ended: bool = False
    reports_usage: bool = True
    _hears_tokens: bool | None = None  # until the first chunk comes
    _shows_tokens = False
    _started_at = 0.0

    def __init__(
        self,
        mode: Mode,
        start_event: str,
        ids: Sequence[UUID],
        managers: Sequence[AsyncCallbackManager | CallbackManager],
        describe: Callable[[int], StartEvent],
    ) -> None:
        self._mode = mode
        self._start_event = start_event
        self._ids = ids
        self._managers = managers
        self._describe = describe
        self._runs: list[LLMRun] = []

    is_watched = True
    """Whether they have a start and an end to tell: somebody listens, and nobody else tells them."""

    @property
    def first(self) -> LLMRun | None:
        """The run of the first prompt, once it has started."""
        return self._runs[0] if self._runs else None

    @property
    def are_heard(self) -> bool:
        """Whether events of the request between start and end reach anybody."""
        return bool(self._runs)

    def select(self, indexes: Sequence[int]) -> "CallRuns":
        """Return the runs of some of the prompts, before any has started."""

        def describe(index: int) -> StartEvent:
            args, details = self._describe(indexes[index])
            return args, {**details, "batch_size": len(indexes)}

        ids, managers = [self._ids[one] for one in indexes], [self._managers[one] for one in indexes]
        return CallRuns(self._mode, self._start_event, ids, managers, describe)

    # -- start, events, end

    async def start(self) -> None:
        """Tell the handlers that the runs start, in order. A run counts as started before its first handler hears of it."""
        self._started_at = clock.current().now()
        for index, run_id in enumerate(self._ids):
            manager: Any = self._managers[index]
            run: LLMRun = manager.new_run(manager.llm_run_class, run_id)
            event = self._describe(index) if run.listeners(self._start_event) else None
            self._runs.append(run)
            telling = NOTHING if event is None else run.emit_start(self._start_event, *event)
            if telling is not NOTHING:
                await telling

    def waive_usage(self) -> None:
        """Have an unfinished answer flagged as something that an equal call pays for."""
        self.reports_usage = False

    async def emit(self, name: str, *args: object, **details: object) -> None:
        """Tell the handlers of something that concerns all of the runs."""
        for run in self._runs:
            await run.emit(name, *args, **details)

    async def emit_shared(self, name: str, *args: object, **details: object) -> None:
        """Tell the handlers of something that happened to the request; where it is shared, those of all who share it."""
        await self.emit(name, *args, **details)

    @property
    def shows_tokens(self) -> bool:
        """Whether a handler has been told of a chunk that may have shown it to somebody."""
        return self._shows_tokens

    @property
    def may_hear_tokens(self) -> bool:
        """Whether a handler may want to be told of the next chunk."""
        return bool(self._runs) and self._hears_tokens is not False

    def emit_token(self, event_args: TokenEventArgs, item: Any) -> Awaitable[None] | None:
        """Tell the handlers of a chunk.

        Args:
            event_args: makes what they get of what the consumer gets.
            item: what the consumer gets.

        Returns:
            what to await, if any of them waits.
        """
        if self._hears_tokens is None:
            return self._emit_first_token(event_args, item)
        telling = self._runs[0].emit_token(*event_args(item))
        return None if telling is NOTHING else start_eagerly(cast(Any, telling))

    async def _emit_first_token(self, event_args: TokenEventArgs, item: Any) -> None:
        run = self._runs[0]
        heard = run.listeners("on_llm_new_token")
        self._hears_tokens = bool(heard)
        self._shows_tokens = not all([getattr(handler, "only_measures", False) for handler, _, _ in heard])
        await run.emit("on_first_token", clock.current().now() - self._started_at)
        if self._hears_tokens:
            await run.emit_token(*event_args(item))

    def end(
        self, make_responses: Callable[[Any, Any], Sequence[LLMResult]], result: object, finished: object
    ) -> Awaitable[None]:
        """Tell the handlers what the runs have given. What is returned must be awaited, unless it is `NOTHING`.

        Args:
            make_responses: makes a result for each run, of copies; not called if nobody listens.
            result, finished: its arguments.
        """
        self.has_ended = True
        if len(self._runs) == 1:  # in place, since every call that is watched pays for it
            run = self._runs[0]
            if not run.listeners("on_llm_end"):
                return NOTHING
            telling = run.emit("on_llm_end", make_responses(result, finished)[0])
        elif any([run.listeners("on_llm_end") for run in self._runs]):
            responses = make_responses(result, finished)
            telling = self._emit_to_all("on_llm_end", [(response,) for response in responses], {})
        else:
            return NOTHING
        return telling if telling is NOTHING else self._finish_end("on_llm_end", telling)

    async def fail(
        self, error: BaseException, response: LLMResult, *, closed: bool, estimate: UsageMetadata | None = None
    ) -> None:
        """Tell the handlers that the runs have failed or, where the consumer just left, that they have ended.

        Args:
            error: what struck.
            response: what had come until then.
            closed: whether the consumer of the chunks left on its own account.
            estimate: about how many tokens were used; None: none.
        """
        self.has_ended = True
        count = len(self._runs)
        details: dict[str, object] = {} if estimate is None else {"estimated_usage": estimate}
        if closed:
            details["closed"] = True
            await self._finish_end("on_llm_end", self._emit_to_all("on_llm_end", [(response,)] * count, details))
            return
        details["response"] = response
        if self._mode.is_async and is_cancellation(error):
            details["cancelled"] = True
        await self._finish_end("on_llm_error", self._emit_to_all("on_llm_error", [(error,)] * count, details))

    async def _emit_to_all(self, name: str, args: Sequence[tuple[object, ...]], details: dict[str, object]) -> None:
        """Tell each run's handlers, whatever those of others raise, and then raise the first of their errors."""
        first: BaseException | None = None
        for run, own in zip(self._runs, args, strict=True):
            try:
                await run.emit(name, *own, **details)
            except BaseException as error:
                first = first or error
        if first is not None:
            raise first

    async def _finish_end(self, name: str, telling: Awaitable[None]) -> None:
        """Await the telling of an end; what takes time is told whatever cancels the caller meanwhile."""
        may_wait = any([run.may_wait(name) for run in self._runs])
        await (self._mode.run_shielded(telling) if may_wait else telling)


class StartedRun(CallRuns):
    """A run that the caller has started, and will end."""

    is_watched = False

    def __init__(self, mode: Mode, run: LLMRun) -> None:
        super().__init__(mode, "", (run.run_id,), (), lambda index: ((), {}))
        self._runs = [run]
        self._started_at = clock.current().now()


class RelayedRuns(CallRuns):
    """What stands for the runs of all calls that share a request: its events travel to each of them, among the chunks.

    Args:
        mode: of the request.
        sink: takes the chunks of the request, and its events.
        hook_run: the run that the hook itself may tell things: that of the call that started the request.
    """

    # Constants: a property would be called for each chunk.
    is_watched = False
    are_heard = True  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    may_hear_tokens = False  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __init__(self, mode: Mode, sink: Sink[Any], hook_run: LLMRun | None) -> None:
        super().__init__(mode, "", (), (), lambda index: ((), {}))
        self._sink = sink
        self._hook_run = hook_run

    @property
    def first(self) -> LLMRun | None:
        return self._hook_run

    async def emit_shared(self, name: str, *args: object, **details: object) -> None:
        waiting = self._sink.put(RelayedEvent(name, args, details))
        if waiting is not None:
            await waiting


class _NoRuns(CallRuns):
    """The runs of a call that nobody watches: what is told reaches nobody."""

    # Constants: a property would be a call more for each question.
    is_watched = False
    first = None  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    may_hear_tokens = False  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __init__(self) -> None:
        super().__init__(ASYNC, "", (), (), lambda index: ((), {}))

    def waive_usage(self) -> None:
        """Nothing is reported."""


NO_RUNS: CallRuns = _NoRuns()
"""Shared by all calls that nobody watches, since it never changes."""
