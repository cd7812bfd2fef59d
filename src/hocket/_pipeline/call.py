"""One call of a model's hook on its way through the pipeline: a few parts, each complete before the first stage.

What is asked (`CallRequest`) never changes. `CallLimits`, `CallRuns` and `Delivery` change as the call goes on, each through
methods of its own; a stage touches those that it is about. What differs between the two families of models is in
`AnswerKind`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from hocket._metering.attempt import TokenNeed
from hocket._metering.stage import complete_usage
from hocket._pipeline.answer import AnswerFold, AnswerKind
from hocket._pipeline.request import CallRequest
from hocket._pipeline.runs import NO_RUNS, CallRuns, LLMRun, RelayedRuns
from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from hocket.messages import UsageMetadata
from hocket.outputs import ChatGenerationChunk, LLMResult
from hocket.retries import RetryPolicy, RetryPolicyLike
from hocket.timeouts import Timeout, TimeoutLike

__all__ = ["NO_LIMITS", "Call", "CallLimits", "Delivery", "Next"]


class CallLimits:
    """What a call may take, and when its time is over.

    Args:
        timeout: limits on time; None: there are none.
        retry: when a failed attempt is followed by another; None: never.
        ends_at: the deadline of the whole call, in seconds by the clock; None: not known yet, or there is none.
    """

    __slots__ = ("_alarm", "ends_at", "retry", "timeout")

    def __init__(
        self, timeout: Timeout | None = None, retry: RetryPolicy | None = None, ends_at: float | None = None
    ) -> None:
        self.timeout: Timeout | None = timeout
        self.retry: RetryPolicy | None = retry
        self.ends_at: float | None = ends_at
        self._alarm: Alarm | None = None

    @classmethod
    def of(
        cls,
        timeout: TimeoutLike | float | None,
        retry: RetryPolicyLike | int | None,
        params: Mapping[str, Any],
    ) -> "CallLimits":
        """Return the limits of a call: what its arguments say, over what its model says.

        Args:
            timeout, retry: the model's.
            params: the arguments of the call.

        Raises:
            InvalidInput: an argument is no limit.
        """
        if timeout is None and retry is None and not params:
            return NO_LIMITS
        own = None if timeout is None else Timeout.of(timeout)  # a number, where the field was assigned to
        if "timeout" in params:
            asked = params["timeout"]
            own = None if asked is None else Timeout.of(asked).over(own)
        if "retry" in params:
            retry = params["retry"]
        if own is None and retry is None:
            return NO_LIMITS
        return cls(own, None if retry is None else RetryPolicy.of(retry))

    @property
    def total(self) -> float | None:
        """The seconds that the whole call may take; None: any number."""
        return None if self.timeout is None else self.timeout.total

    def start(self) -> None:
        """Have the time of the whole call begin now, if it is limited and has not begun."""
        total = self.total
        if total is not None and self.ends_at is None:
            self.ends_at = clock.current().now() + total

    @property
    def is_over(self) -> bool:
        """Whether the call has no time left."""
        return self.ends_at is not None and clock.current().now() >= self.ends_at

    def watch(self, alarm: Alarm, left: float) -> None:
        """Have ``alarm`` ring in ``left`` seconds, or later by the time that the consumer takes."""
        self._alarm = alarm
        alarm.set(left)

    async def pause_for(self, waiting: Awaitable[None]) -> None:
        """Await the consumer. The clock stands still meanwhile: the consumer has all the time in the world."""
        assert self.ends_at is not None
        left = self.ends_at - clock.current().now()
        if self._alarm is not None:
            self._alarm.set(None)
        await waiting
        self.ends_at = clock.current().now() + left
        if self._alarm is not None:
            self._alarm.set(left)

    def copy(self) -> "CallLimits":
        """Return the same limits for a request that several calls share, with a deadline of its own."""
        return CallLimits(self.timeout, self.retry, self.ends_at)

    def extend(self, ends_at: float | None) -> None:
        """Move the deadline to ``ends_at``, if that is later; None: take it away."""
        if self.ends_at is not None:
            self.ends_at = None if ends_at is None else max(self.ends_at, ends_at)


NO_LIMITS = CallLimits()
"""The limits of a call that has none. Shared, since nothing sets a deadline without a timeout."""


class Delivery:
    """Where the chunks of one call go, and what they have made so far.

    Args:
        answer: the kind of answer.
        request: what is asked.
        runs: whose handlers are told of the chunks.
        limits: of the call. Its deadline moves by the time that the consumer takes.

    Attributes:
        sink: takes the chunks; None: nobody does.
        is_shared: whether the chunks are for several equal calls, which get them as the hook made them.
        attempt: 1 for the first attempt.
        first_chunk_at: when the first chunk of the attempt came, in seconds by the clock; None: none has come.
        is_billed: whether an attempt has failed, or was broken off, for which its server may have worked.
    """

    # Most calls never see a chunk: these stand on the class, since each assignment in a constructor is paid by every call.
    sink: Sink[Any] | None = None
    is_shared = False
    attempt: int = 1
    first_chunk_at: float | None = None
    is_billed = False
    _fold: AnswerFold | None = None
    _opening: ChatGenerationChunk | None = None
    _hands_out = True
    _alarm: Alarm | None = None
    _idle: float | None = None

    def __init__(self, answer: AnswerKind[Any, Any], request: CallRequest, runs: CallRuns, limits: CallLimits) -> None:
        self._answer = answer
        self._request = request
        self._runs = runs
        self._limits = limits

    def attach(self, sink: Sink[Any], *, hands_out: bool = True) -> None:
        """Have ``sink`` take the chunks.

        Args:
            sink: the consumer's.
            hands_out: whether the consumer gets them as they come: the answer then cannot be begun again.
        """
        self.sink, self._hands_out = sink, hands_out

    @property
    def closed(self) -> bool:
        """Whether the consumer of the chunks has left on its own account."""
        return self.sink is not None and self.sink.closed

    # -- chunks

    def deliver(self, chunk: Any) -> Awaitable[None] | None:
        """Take a chunk from the hook: check it, fold it, tell the handlers, hand it to the consumer.

        Returns:
            something to await before the next one, or None.

        Raises:
            InvalidHook: it is no chunk of this kind.
        """
        item = (self._fold or self._start_fold()).add(chunk)
        waiting = self._emit_token(item) if self._runs.may_hear_tokens else self._hand_over(item)
        if self._alarm is not None:
            if waiting is not None:
                return self._wait_unwatched(self._alarm, waiting)
            self._alarm.set(self._idle)
        return waiting

    def _start_fold(self) -> AnswerFold:
        self.first_chunk_at = clock.current().now()
        self._fold = self._answer.new_fold(self._request, self.is_shared)
        return self._fold

    def _emit_token(self, item: object) -> Awaitable[None] | None:
        telling = self._runs.emit_token(self._answer.token_event_args, item)
        return self._hand_over(item) if telling is None else self._hand_over_after(telling, item)

    async def _hand_over_after(self, telling: Awaitable[None], item: object) -> None:
        await telling
        waiting = self._hand_over(item)
        if waiting is not None:
            await waiting

    def _hand_over(self, item: object) -> Awaitable[None] | None:
        waiting = self.sink.put(item) if self.sink is not None else None
        return waiting if waiting is None or self._limits.ends_at is None else self._limits.pause_for(waiting)

    async def replay(self, result: Any, sizes: Sequence[int] = ()) -> None:
        """Hand a whole result to the consumer, if there is one, as chunks.

        Args:
            result: the hook's, or one out of a cache.
            sizes: the lengths of the texts of the chunks that it was streamed in; none: it comes in one piece.
        """
        if self.sink is not None:
            for chunk in self._answer.make_chunks(result, sizes):
                waiting = self.deliver(chunk)
                if waiting is not None:
                    await waiting

    async def tell_hit(self) -> None:
        """Have the chunks say that an equal call pays for them, if the hook marked none that could: by one without text."""
        chunk = self.fold.hit_chunk()
        waiting = self.deliver(chunk) if chunk is not None else None
        if waiting is not None:
            await waiting

    # -- the model's pauses

    def watch(self, alarm: Alarm, idle: float | None) -> None:
        """Have each chunk set ``alarm`` to ``idle`` seconds; the time of handlers and consumer is not the model's."""
        self._alarm, self._idle = alarm, idle

    def unwatch(self) -> None:
        """Have chunks set no alarm any more."""
        self._alarm = None

    async def _wait_unwatched(self, alarm: Alarm, waiting: Awaitable[None]) -> None:
        alarm.set(None)
        await waiting
        alarm.set(self._idle)

    # -- what has come

    @property
    def has_begun(self) -> bool:
        """Whether a chunk has come."""
        return self._fold is not None and bool(self._fold.sizes)

    @property
    def came(self) -> AnswerFold | None:
        """What has come, or what the server has said before the answer; None: nothing."""
        fold = self._fold if self.has_begun else None
        if fold is None and self._opening is not None:
            (fold := self._answer.new_fold(self._request, self.is_shared)).add(self._opening)
        return fold

    def hear_opening(self, chunk: ChatGenerationChunk) -> None:
        """Take what the server says before its answer."""
        self._opening = chunk

    @property
    def has_handed_out(self) -> bool:
        """Whether somebody has got a part of the answer, so that it cannot be begun again."""
        has_consumer = self._hands_out and self.sink is not None
        return self.has_begun and (has_consumer or self._runs.shows_tokens)

    @property
    def sizes(self) -> Sequence[int]:
        """The lengths of the texts of the chunks so far."""
        return () if self._fold is None else self._fold.sizes

    @property
    def fold(self) -> AnswerFold:
        """What the chunks have made so far; an empty one if none has come."""
        return self._fold or self._answer.new_fold(self._request, self.is_shared)

    def restart(self) -> None:
        """Forget the chunks that have come: another attempt is made."""
        self._fold = self._opening = None
        self.first_chunk_at = None
        self.attempt += 1


class SharedDelivery(Delivery):
    """The way of the chunks of a request that several equal calls share, each of which stamps copies of its own."""

    is_shared = True


class Call:
    """One call.

    Args:
        answer: the kind of answer.
        request: what is asked.
        mode: where it runs.
        limits: on time and attempts.
        runs: what handlers are told.

    Attributes:
        delivery: where chunks go.
        result: what the hook, or a cache, has given; set by `finish`.
        need: what an attempt may use at most; None: nobody has asked.
    """

    __slots__ = ("answer", "delivery", "limits", "mode", "need", "request", "result", "runs")

    def __init__(
        self,
        answer: AnswerKind[Any, Any],
        request: CallRequest,
        mode: Mode,
        limits: CallLimits = NO_LIMITS,
        runs: CallRuns = NO_RUNS,
        delivery: Delivery | None = None,
    ) -> None:
        self.answer: AnswerKind[Any, Any] = answer
        self.request: CallRequest = request
        self.mode: Mode = mode
        self.limits: CallLimits = limits
        self.runs: CallRuns = runs
        self.delivery: Delivery = delivery or Delivery(answer, request, runs, limits)
        self.need: TokenNeed | None = None

    def finish(self, result: Any) -> Any:
        """Take the result; return what the verb answers with."""
        self.result: Any = result
        return self.answer.finish(self.request, result)

    def run_manager(self) -> LLMRun:
        """Return the run that the hook is told of: the first one, or one that nobody listens to."""
        run = self.runs.first
        if run is not None:
            return run
        cls = AsyncCallbackManagerForLLMRun if self.mode.is_async else CallbackManagerForLLMRun
        return cls(self.request.run_ids[0], [], [])

    def failure_response(self, error: BaseException) -> LLMResult:
        """Return what had come when ``error`` struck, for handlers."""
        return self.answer.failure_response(error, self.delivery.came)

    async def estimate_need(self) -> TokenNeed:
        """Return what an attempt may use at most, counted once."""
        if self.need is None:
            need: TokenNeed = await self.request.model._estimate_need(self.request, self.mode)
            self.need = need
        return self.need

    async def fail(self, error: BaseException) -> None:
        """Tell the handlers that the runs have failed or, where the consumer just left, that they have ended."""
        closed, came = self.delivery.closed, self.delivery.came or self.delivery.fold
        response = came.partial_response() if closed else self.failure_response(error)
        if not self.runs.reports_usage:
            response = self.answer.without_usage(response)
        await self.runs.fail(error, response, closed=closed, estimate=self._estimate_usage())

    def _estimate_usage(self) -> UsageMetadata | None:
        """Return about what a call without an end has used; None: nothing, as far as is known, or an equal call pays."""
        delivery, request = self.delivery, self.request
        is_billed = delivery.is_billed or delivery.has_begun
        if not (is_billed and self.runs.reports_usage) or len(request.prompts) > 1:
            return None
        told, part = None, None
        try:
            if (came := delivery.came) is not None:
                told, part = self.answer.read_usage(came.partial_response()), came.partial_message()
            return complete_usage(told, *request.model._estimate_roughly(request, part))
        except Exception:  # tools or content of an unknown form: the end is told all the same
            return None

    def select(self, indexes: Sequence[int]) -> "Call":
        """Return the call for some of the prompts, before its runs have started."""
        request = self.request._replace(
            prompts=[self.request.prompts[index] for index in indexes],
            run_ids=[self.request.run_ids[index] for index in indexes],
        )
        runs = self.runs.select(indexes) if self.runs.is_watched else self.runs
        return Call(self.answer, request, self.mode, self.limits, runs)

    def share(self, sink: Sink[Any]) -> "Call":
        """Return the same call as one request for several equal calls: ``sink`` takes the hook's own chunks."""
        limits, runs = self.limits.copy(), RelayedRuns(self.mode, sink, self.runs.first)
        delivery = SharedDelivery(self.answer, self.request, runs, limits)
        delivery.attach(sink)
        return Call(self.answer, self.request, self.mode, limits, runs, delivery)


Next = Callable[[Call], Awaitable[Any]]
"""The rest of the pipeline: takes a call, gives its result."""
