"""One request on its way through the pipeline: what is asked, who watches, who takes the chunks, what has come so far.

Two kinds, for the two families of models. They differ in the shape of prompt, chunk and result; the stages do not.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from hocket._runtime import clock
from hocket._runtime.alarm import Alarm
from hocket._runtime.ids import new_run_id as new_run_id
from hocket._runtime.runtime import Runtime, start_eagerly
from hocket._runtime.stream import Sink
from hocket.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForLLMRun,
    CallbackManager,
    CallbackManagerForLLMRun,
)
from hocket.callbacks.events import NOTHING
from hocket.messages.base import copy_containers
from hocket.outputs import Generation, LLMResult
from hocket.retries import RetryPolicy
from hocket.timeouts import Timeout

__all__ = ["CACHE_HIT", "CHUNK_SIZES", "PARTIAL", "Call", "Go", "Notice"]

CACHE_HIT = "cache_hit"
"""The key, in the metadata of an answer, that flags it as one which nobody is billed for."""

CHUNK_SIZES = "chunk_sizes"
"""The key, in the info of a stored answer, of the lengths of the texts that it was streamed in."""

PARTIAL = "partial"
"""The key, in the metadata of what had come of an answer when its run ended, that flags it, and its usage, as a part."""


Go = Callable[[Any], Awaitable[Any]]
"""The rest of the pipeline: takes a call, gives its result."""


class Notice(NamedTuple):
    """An event that a request in flight has for the handlers of all who share it, on its way among the chunks."""

    name: str
    args: tuple[Any, ...]
    details: dict[str, Any]


class Call(ABC):
    """One call of a model's hook, for one conversation or for several texts.

    Attributes:
        prompts: one run each.
        managers: start the runs, one each; none at all: nobody watches.
        details: makes what the handlers are told at the start, beside `told`, of the run of that index.
        run_ids: of the prompts' runs.
        runs: the runs that have been started.
        sink: takes the chunks; None: nobody does.
        streaming: whether the hook should stream.
        is_raw: whether it flies for other calls: its consumer gets the hook's own chunks.
        hands_out: whether its consumer, if it has one, gets the chunks as they come.
        pays: whether what had been used when it failed is on its bill; False: on that of an equal call.
        timeout, retry: its limits on time and attempts; None: it has none.
        ends_at: when its time is over, by the clock; it is put off by the time that its consumer takes.
        deadline: rings at ``ends_at``; None: it has no such limit, or nothing can interrupt it.
        alarm: to be set to ``idle`` seconds by each chunk; None: nobody waits for them.
        sizes: the lengths of the texts of the chunks so far.
        dropped: the names of options that were left out, since the model cannot take them.
        outcome: the result, or the error, once there is one.
    """

    # Defaults on the class: most calls change few of them, and each assignment in a constructor is paid by every call.
    managers: Sequence[AsyncCallbackManager | CallbackManager] = ()
    details: Callable[[int], dict[str, Any]]
    runs: Sequence[Any] = ()
    sink: Sink[Any] | None = None
    streaming = False
    is_raw = False
    hands_out = True
    pays = True
    timeout: Timeout | None = None
    retry: RetryPolicy | None = None
    ends_at: float | None = None
    deadline: Alarm | None = None
    alarm: Alarm | None = None
    idle: float | None = None
    dropped: Sequence[str] = ()
    outcome: Any = None
    started = 0.0
    _tells_tokens: bool | None = None
    _first_run: Any = None

    def __init__(
        self,
        model: Any,
        prompts: Sequence[Any],
        stop: list[str] | None,
        params: dict[str, Any],
        runtime: Runtime,
        run_ids: Sequence[UUID | None] = (None,),
    ) -> None:
        self.model = model
        self.prompts = prompts
        self.stop = stop
        self.params = params
        self.runtime = runtime
        if len(run_ids) == 1:
            self.run_ids: list[UUID] = [run_ids[0] or new_run_id()]
        else:
            self.run_ids = [run_id or new_run_id() for run_id in run_ids]
        self.sizes: list[int] = []

    # -- telling handlers

    start_event: str

    @property
    def run_class(self) -> Any:
        """The class of the runs, for async or for sync code."""
        return AsyncCallbackManagerForLLMRun if self.runtime.is_async else CallbackManagerForLLMRun

    @property
    def is_observed(self) -> bool:
        """Whether anybody watches."""
        return bool(self.managers)

    @property
    def closed(self) -> bool:
        """Whether the consumer of the chunks has left on its own account."""
        return self.sink is not None and self.sink.closed

    async def start(self) -> None:
        """Tell the handlers that the runs start, in order."""
        self.started = clock.current().now()
        event = self.start_event
        runs: list[Any] = []
        self.runs = runs
        for index, run_id in enumerate(self.run_ids):
            manager = self.managers[index]
            run = manager.new_run(manager._llm_run, run_id)
            asked = (self.told(index), self.details(index)) if run._listeners(event) else None
            runs.append(run)
            telling = NOTHING if asked is None else run._tell_start(event, *asked)
            if telling is not NOTHING:
                await telling

    @abstractmethod
    def told(self, index: int) -> tuple[Any, ...]:
        """Return what handlers are told of a prompt at its start: the model, and a copy of what is asked."""

    async def tell(self, name: str, *args: Any, **details: Any) -> None:
        """Tell the handlers of something that concerns all of the call's runs."""
        for run in self.runs:
            await run._tell(name, *args, **details)

    async def note(self, name: str, *args: Any, **details: Any) -> None:
        """Tell the handlers of something that happened to the request; where it is shared, those of all that share it."""
        if self.is_raw and self.sink is not None:
            waiting = self.sink.put(Notice(name, args, details))
            if waiting is not None:
                await waiting
        else:
            await self.tell(name, *args, **details)

    async def fail(self, error: BaseException) -> None:
        """Tell the handlers that the runs have failed, or, where the consumer just left, that they have ended."""
        partial = self.partial() if self.closed else self.until(error)
        if not self.pays:
            partial = self.unbilled(partial)
        if self.closed:
            await _all(run._tell("on_llm_end", partial, closed=True) for run in self.runs)
        else:
            await _all(run._tell("on_llm_error", error, response=partial) for run in self.runs)

    def until(self, error: BaseException) -> LLMResult:
        """Return what had come when ``error`` struck, for handlers; never the live objects."""
        return self.partial() if self.has_begun else LLMResult(generations=[])

    def end(self, result: Any) -> Awaitable[None]:
        """Tell the handlers what the runs have given."""
        first = self.runs[0]
        if len(self.runs) == 1:
            heard = first._listeners("on_llm_end")
            return first._tell("on_llm_end", self.responses(result)[0]) if heard else NOTHING
        if not any([run._listeners("on_llm_end") for run in self.runs]):
            return NOTHING
        responses = self.responses(result)
        return _all(run._tell("on_llm_end", response) for run, response in zip(self.runs, responses, strict=True))

    # -- asking the hook

    @abstractmethod
    def asked(self) -> tuple[Any, ...]:
        """Return what comes first in the arguments of ``_generate``."""

    @abstractmethod
    def asked_to_stream(self) -> tuple[Any, ...]:
        """Return what comes first in the arguments of ``_stream``."""

    def run_manager(self) -> Any:
        """Return the run that the hook is told of: the first one, or one that nobody listens to."""
        if self.runs:
            return self.runs[0]
        if self._first_run is not None:
            return self._first_run
        return self.run_class(self.run_ids[0], [], [])

    # -- chunks

    def deliver(self, chunk: Any) -> Awaitable[None] | None:
        """Take a chunk from the hook: stamp it, keep it, tell the handlers, hand it to the consumer.

        Returns:
            something to await before the next one, or None.
        """
        item = self.received(chunk)
        tells = self.runs and self._tells_tokens is not False
        waiting = self._tell_token(item) if tells else self._hand_over(item)
        if self.alarm is not None:
            if waiting is not None:
                return self._stop_the_clock(self.alarm, waiting)
            self.alarm.set(self.idle)
        return waiting

    async def _stop_the_clock(self, alarm: Alarm, waiting: Awaitable[None]) -> None:
        """Wait for handlers and consumer, whose time is not the model's."""
        alarm.set(None)
        await waiting
        alarm.set(self.idle)

    def _hand_over(self, item: Any) -> Awaitable[None] | None:
        waiting = self.sink.put(item) if self.sink is not None else None
        return waiting if waiting is None or self.ends_at is None else self._put_off(self.ends_at, waiting)

    async def _put_off(self, ends_at: float, waiting: Awaitable[None]) -> None:
        """Wait for the consumer, who has all the time in the world."""
        left = ends_at - clock.current().now()
        if self.deadline is not None:
            self.deadline.set(None)
        await waiting
        self.ends_at = clock.current().now() + left
        if self.deadline is not None:
            self.deadline.set(left)

    def _tell_token(self, item: Any) -> Awaitable[None] | None:
        if self._tells_tokens is None:
            return self._tell_first_token(item)
        text, chunk = self.shown(item)
        telling = self.runs[0]._tell_token(text, chunk)
        left = None if telling is NOTHING else start_eagerly(telling)
        return self._hand_over(item) if left is None else self._hand_over_after(left, item)

    async def _tell_first_token(self, item: Any) -> None:
        run = self.runs[0]
        self._tells_tokens = bool(run._listeners("on_llm_new_token"))
        await run._tell("on_first_token", clock.current().now() - self.started)
        waiting = self._tell_token(item) if self._tells_tokens else self._hand_over(item)
        if waiting is not None:
            await waiting

    async def _hand_over_after(self, telling: Awaitable[None], item: Any) -> None:
        await telling
        waiting = self._hand_over(item)
        if waiting is not None:
            await waiting

    @abstractmethod
    def received(self, chunk: Any) -> Any:
        """Check and stamp a chunk, add it to what has come so far, and return what its consumer gets."""

    @property
    @abstractmethod
    def has_begun(self) -> bool:
        """Whether a chunk has come."""

    @property
    def has_handed_out(self) -> bool:
        """Whether somebody has got a part of the answer, so that it cannot be begun again."""
        return self.has_begun and (bool(self._tells_tokens) or (self.hands_out and self.sink is not None))

    @abstractmethod
    def restart(self) -> None:
        """Forget the chunks that have come: another attempt is made."""

    @abstractmethod
    def gathered(self) -> Any:
        """Return what has come so far, as the caller of the verb would get it: a message or a text."""

    @abstractmethod
    def shown(self, item: Any) -> tuple[str, Any]:
        """Return what handlers get of what a consumer gets: its text, and a chunk of their own."""

    @abstractmethod
    def last_chunk(self) -> Any:
        """Return a chunk that marks the end of the stream, if none has; else None."""

    @abstractmethod
    def shared(self, chunk: Any, bills: Callable[["Call"], bool]) -> Any:
        """Return this call's own copy of a raw chunk, flagged where ``bills`` says that somebody else pays for it."""

    # -- results

    @abstractmethod
    def streamed(self) -> Any:
        """Return the result that the chunks make.

        Raises:
            EmptyResponse: there were none.
        """

    @abstractmethod
    def checked(self, result: Any, hook: str) -> Any:
        """Return what a hook returned, if it is what its contract says.

        Raises:
            InvalidHook: it is not.
            EmptyResponse: it holds no candidate.
        """

    @abstractmethod
    def finished(self, result: Any) -> Any:
        """Return what the verb answers with: the hook's result, ids and metadata put in. The hook's objects stay."""

    @abstractmethod
    def partial(self) -> LLMResult:
        """Return what has come so far, flagged as a part (`PARTIAL`), for handlers; never the live objects."""

    @abstractmethod
    def unbilled(self, response: LLMResult) -> LLMResult:
        """Return a copy of what had come, flagged as something that another call pays for (`CACHE_HIT`)."""

    @abstractmethod
    def responses(self, result: Any) -> list[LLMResult]:
        """Return a result for the handlers of each run; never the live objects."""

    # -- caching

    @abstractmethod
    def key(self) -> tuple[str, str]:
        """Return the cache key: of the prompt, and of everything else that changes the answer."""

    @abstractmethod
    def candidates(self, result: Any) -> list[Generation]:
        """Return what a cache stores of a result."""

    @abstractmethod
    def result(self, candidates: Sequence[Generation], *, cached: bool) -> Any:
        """Return the result that copies of ``candidates`` make; ``cached`` flags them, so that nobody bills them."""

    def billed(self, result: Any) -> Any:
        """Return a copy of ``result`` for the call that pays for it; the cache, and equal calls, have theirs."""
        mine = self.result(self.candidates(result), cached=False)
        mine.llm_output = copy_containers(result.llm_output)
        return mine

    def without_sizes(self, candidate: Generation) -> dict[str, Any]:
        """Return the info of a stored candidate, and keep the sizes that it was streamed in."""
        info: dict[str, Any] = copy_containers(candidate.generation_info or {})
        sizes = info.pop(CHUNK_SIZES, None)
        if isinstance(sizes, list):
            self.sizes = sizes
        return info

    @abstractmethod
    def chunks(self, result: Any) -> list[Any]:
        """Return chunks that fold to ``result``, in the sizes in which it was streamed, else in one piece."""

    def detached(self, sink: Sink[Any]) -> "Call":
        """Return the same call for a flight of its own: nobody watches it, and ``sink`` takes the raw chunks."""
        call = type(self)(self.model, self.prompts, self.stop, self.params, self.runtime)
        call.sink, call.streaming, call.is_raw = sink, self.streaming, True
        call.timeout, call.retry, call.ends_at = self.timeout, self.retry, self.ends_at
        call._first_run = (
            self.runs[0] if self.runs else None
        )  # what the hook itself tells, it tells those who asked first
        return call


async def _all(tellings: Iterable[Awaitable[None]]) -> None:
    """Await each of ``tellings``, whatever others raise, and then raise the first of that."""
    refused: BaseException | None = None
    for telling in tellings:
        try:
            await telling
        except BaseException as error:
            refused = refused or error
    if refused is not None:
        raise refused
