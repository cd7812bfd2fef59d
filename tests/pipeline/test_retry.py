"""Attempts: what is tried again and what never is, how long the pauses are, who hears of it, and who pays."""

import asyncio
import contextvars
import itertools
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from tenacity import RetryCallState

from hocket import AIMessage, AIMessageChunk, ChatOpenAI, InMemoryCache, RetryPolicy
from hocket.callbacks import UsageMetadataCallbackHandler
from hocket.errors import (
    AuthenticationError,
    ConnectionFailed,
    ContextLengthExceeded,
    EmptyResponse,
    InvalidInput,
    InvalidReply,
    InvalidRequest,
    LLMError,
    Overloaded,
    ProviderUnavailable,
    QuotaExceeded,
    RateLimitError,
    StreamTruncated,
    TotalTimeout,
)
from hocket.testing import Events, OpenAIFormat, Reply, Status, VirtualClock, serve
from tests.kit import HOOKS, AsyncRecorder, CountingLimiter, HookCall, hook_llm, hook_model

USAGE: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
EXACT = RetryPolicy(jitter=0)
WHERE: contextvars.ContextVar[str] = contextvars.ContextVar("where")
CLOSED: list[str] = []
STREAMS = ("astream", "stream")


def busy(**more: Any) -> ProviderUnavailable:
    return ProviderUnavailable("busy", **{"status": 503, "retryable": True, **more})


def _flaky(failures: Iterable[BaseException], chunks: int, first: Any) -> Callable[[HookCall], Iterator[Any]]:
    left = iter(failures)

    def answer(call: HookCall) -> Iterator[Any]:
        yield from [first][:chunks]
        for failure in left:
            raise failure
        try:
            yield from [first, "b"][chunks:]
        except GeneratorExit:
            CLOSED.append(WHERE.get(""))
            raise

    return answer


def chat_model(*hooks: str, failures: Iterable[BaseException] = (), chunks: int = 0, **fields: Any) -> Any:
    """Make a model that fails as often as it has failures, and then answers; of a stream, after ``chunks`` chunks."""
    first = AIMessageChunk("a", usage_metadata=USAGE)
    return hook_model(_flaky(failures, chunks, first), *(hooks or HOOKS), **fields)


def text_model(failures: Iterable[BaseException] = (), chunks: int = 0, **fields: Any) -> Any:
    """Make a text model that does the same."""
    return hook_llm(_flaky(failures, chunks, "a"), *HOOKS, **fields)


def said(answer: Any) -> str:
    return answer if isinstance(answer, str) else answer.text


async def in_thread(call: Callable[[], Any]) -> Any:
    return await anyio.to_thread.run_sync(call)


async def astreamed(model: Any, config: Any) -> str:
    return "".join([said(piece) async for piece in model.astream("x", config)])


VERBS: dict[str, Callable[[Any, Any], Any]] = {
    "ainvoke": lambda model, config: model.ainvoke("x", config),
    "astream": astreamed,
    "invoke": lambda model, config: in_thread(lambda: model.invoke("x", config)),
    "stream": lambda model, config: in_thread(lambda: "".join(said(one) for one in model.stream("x", config))),
}

each_verb = pytest.mark.parametrize("verb", VERBS)
each_make = pytest.mark.parametrize("make", [chat_model, text_model])


# -- how


@each_make
@each_verb
async def test_every_verb_tries_again_and_says_so(
    make: Any, verb: str, recorder: Any, virtual_clock: VirtualClock
) -> None:
    """Chat and text models, sync and async, whole and streamed; each attempt that failed is an event."""
    first, second = busy(), RateLimitError("slow", status=429, retryable=True, retry_after=7)
    model = make(failures=[first, second], retry=EXACT)
    assert said(await VERBS[verb](model, {"callbacks": [recorder]})) == "ab"
    assert virtual_clock.now() == 0.5 + 7
    assert recorder.names[1:] == ["on_retry", "on_retry", "on_llm_end"]
    told = [(details, state) for _, (state,), details in recorder.named("on_retry")]
    facts = [[details[key] for key in ("attempt", "error", "delay", "status")] for details, _ in told]
    assert facts == [[1, first, 0.5, 503], [2, second, 7, 429]]
    for (details, state), error in zip(told, (first, second), strict=True):
        assert isinstance(state, RetryCallState)
        assert (state.attempt_number, state.outcome and state.outcome.exception()) == (details["attempt"], error)
        assert (state.next_action and state.next_action.sleep, state.upcoming_sleep) == (details["delay"],) * 2


@pytest.mark.usefixtures("virtual_clock")
async def test_the_other_verbs_try_again() -> None:
    """Batches, and several at once: each item its own attempts."""
    for make, question in ((chat_model, [[AIMessage("x")]]), (text_model, ["x", "y"])):
        model: Any = make(failures=[busy()] * 2, retry=EXACT)
        assert (await model.agenerate(question)).generations[0][0].text == "ab"
        model = make(failures=[busy()] * 2, retry=EXACT)
        assert (await in_thread(lambda model=model, q=question: model.generate(q))).generations[0][0].text == "ab"
        model = make(failures=[busy()] * 4, retry=EXACT)
        assert [said(one) for one in await model.abatch(["x"] * 3)] == ["ab"] * 3
        assert len(model.requests) == 7


def test_pauses() -> None:
    """Each is twice as long as the one before, up to the longest; a part is left to chance."""
    assert [EXACT.pause(n, busy()) for n in range(1, 8)] == [0.5, 1, 2, 4, 8, 8, 8]
    pauses = [RetryPolicy(first_pause=4, jitter=0.5).pause(1, busy()) for _ in range(200)]
    assert 2 <= min(pauses) < 2.5 < 3.5 < max(pauses) <= 4
    assert EXACT.pause(10_000, busy()) == 8
    assert EXACT.pause(1, busy(retry_after=1000)) == 1000, "the server is obeyed, however long"
    assert EXACT.pause(1, busy(retry_after=0)) == 0


# -- what


SERVER_SAYS = [
    (busy(), (), True),
    (Overloaded("busy", retryable=True), (), True),
    (ConnectionFailed("gone", retryable=True), (), True),
    (StreamTruncated("cut", retryable=True), (), True),
    (AuthenticationError("no"), (), False),
    (AuthenticationError("no"), (Exception,), False),
    (QuotaExceeded("no", status=429), (Exception,), False),
    (ContextLengthExceeded("no"), (ValueError,), False),
    (InvalidRequest("no"), (ValueError,), False),
    (TotalTimeout("late"), (TimeoutError,), False),
    (InvalidInput("no"), (ValueError,), False),
    (InvalidReply("odd"), (), False),
    (InvalidReply("odd"), (InvalidReply,), True),
    (AuthenticationError("a key that is changed meanwhile"), (AuthenticationError,), True),
    (EmptyResponse("nothing"), (), False),
    (EmptyResponse("nothing"), (EmptyResponse,), True),
    (KeyError("theirs"), (), False),
    (KeyError("theirs"), (LookupError,), True),
    (RuntimeError("Event loop is closed"), (), False),
    (KeyboardInterrupt(), (Exception,), False),
    (SystemExit(), (Exception,), False),
]


@each_verb
@pytest.mark.parametrize(("error", "also", "again"), SERVER_SAYS, ids=lambda value: repr(value)[:40])
async def test_what_is_tried_again(error: Any, also: Any, again: bool, verb: str, virtual_clock: VirtualClock) -> None:
    """What says that it helps, and what the caller names. An error that says it is useless is believed."""
    if verb in ("invoke", "stream") and not isinstance(error, Exception):
        verb = "ainvoke"  # a thread cannot raise it
    model = chat_model(failures=[error], retry=RetryPolicy(also=also, max_attempts=2))
    if again:
        assert said(await VERBS[verb](model, None)) == "ab"
    else:
        with pytest.raises(BaseException) as caught:
            await VERBS[verb](model, None)
        assert caught.value is error
        assert virtual_clock.now() == 0
    assert len(model.requests) == 1 + again


@each_make
@each_verb
async def test_a_stream_is_tried_again_until_its_first_chunk_is_out(
    make: Any, verb: str, virtual_clock: VirtualClock
) -> None:
    """A consumer never gets a beginning twice; where nobody had it, the answer is begun again, and not doubled."""
    model = make(failures=[busy()], retry=EXACT, chunks=1)
    streams = "stream" in verb
    if streams:
        with pytest.raises(ProviderUnavailable) as caught:
            await VERBS[verb](model, None)
        assert said(caught.value.partial) == "a"
    else:
        bound = model.bind(stream=True)
        assert said(await VERBS[verb](bound, None)) == "ab"
    assert len(model.requests) == (1 if streams else 2)
    assert virtual_clock.now() == (0 if streams else 0.5)


async def test_nothing_is_tried_again_once_a_handler_had_a_token(recorder: Any) -> None:
    """Handlers that listen to tokens are consumers, too."""
    model = chat_model(failures=[busy()], retry=EXACT, chunks=1)
    with pytest.raises(ProviderUnavailable):
        await model.ainvoke("x", {"callbacks": [recorder]}, stream=True)
    assert (len(model.requests), recorder.names) == (1, ["on_chat_model_start", "on_llm_error"])


@pytest.mark.usefixtures("virtual_clock")
async def test_a_withheld_stream_is_tried_again() -> None:
    """Chunks that are only gathered have reached nobody."""
    model = chat_model(failures=[busy()], retry=EXACT, chunks=1, disable_streaming="tool_calling")
    pieces = [piece.text async for piece in model.astream("x", tools=[{"name": "t"}])]
    assert (pieces, len(model.requests)) == (["ab"], 2)


async def test_a_request_that_may_have_been_sent_is_not_sent_again_when_its_loop_dies() -> None:
    """The next loop begins with the next call, and nobody goes on with the old one."""
    script = itertools.chain([Reply("never", delay=60)], itertools.repeat(Reply("Hello")))

    def two_loops() -> int:
        with serve(OpenAIFormat(), script) as server:
            model = ChatOpenAI(model="test-model", base_url=server.url)

            async def left_behind() -> None:
                task = asyncio.get_running_loop().create_task(model.ainvoke("x"))
                await asyncio.to_thread(server.block_for, lambda seen: bool(seen.requests))
                assert not task.done()

            asyncio.run(left_behind())
            assert asyncio.run(model.ainvoke("y")).text == "Hello"
            return len(server.requests)

    assert await in_thread(two_loops) == 2


# -- how often


@each_verb
async def test_attempts_end(verb: str, virtual_clock: VirtualClock) -> None:
    """The last error is raised as itself; a call's own limit counts, and None is none."""
    errors = [busy(), busy(), busy(), busy()]
    model = chat_model(failures=errors, retry=RetryPolicy(max_attempts=3, jitter=0))
    with pytest.raises(ProviderUnavailable) as caught:
        await VERBS[verb](model, None)
    assert (caught.value, len(model.requests)) == (errors[2], 3)
    assert virtual_clock.now() == 1.5
    for own, calls in ((None, 1), (2, 2), (RetryPolicy(max_attempts=1), 1)):
        model = chat_model(failures=errors, retry=3)
        with pytest.raises(ProviderUnavailable):
            await VERBS[verb](model.bind(retry=own), None)
        assert len(model.requests) == calls


async def test_a_model_that_asks_another_spends_one_budget(virtual_clock: VirtualClock) -> None:
    """However attempts are nested, the outermost policy's number is the most that are made."""

    def route(inner: Any, **fields: Any) -> Any:
        return hook_model(lambda call: inner.ainvoke(call.input), **fields)

    for outer, inner, made in ((4, 3, 4), (2, 3, 2), (5, 2, 5)):
        model = chat_model(failures=[busy()] * 9, retry=RetryPolicy(max_attempts=inner, jitter=0))
        router = route(route(model), retry=RetryPolicy(max_attempts=outer, jitter=0))
        with pytest.raises(ProviderUnavailable):
            await router.ainvoke("x")
        assert len(model.requests) == made
        assert await chat_model(failures=[busy()] * 2, retry=EXACT).ainvoke("x"), "and the next call has its own"


@pytest.mark.usefixtures("virtual_clock")
def test_nothing_is_held_between_two_pulls_of_a_sync_stream() -> None:
    """A consumer's own calls do not spend the stream's budget, and it may pull from any context."""
    stream = chat_model(retry=1).stream("x")
    CLOSED.clear()
    assert next(stream).text == "a"
    assert chat_model(failures=[busy()] * 2, retry=EXACT).invoke("x").text == "ab"
    assert contextvars.copy_context().run(next, stream).text == "b"
    rest = threading.Thread(target=contextvars.Context().run, args=(list, stream))
    rest.start()
    rest.join()
    left = chat_model(retry=1).stream("x")
    contextvars.copy_context().run(lambda: (WHERE.set("here"), next(left)))
    contextvars.Context().run(left.close)
    assert CLOSED == ["here"], "a hook is closed where it began"


@pytest.mark.parametrize("value", [0, -1, True, "3", 2.5, [3]])
async def test_a_policy_that_is_none_is_refused(value: Any) -> None:
    """At the door: nothing is sent."""
    model = chat_model()
    with pytest.raises(InvalidInput, match="retry is"):
        await model.ainvoke("x", retry=value)
    assert len(model.requests) == 0
    with pytest.raises(ValueError, match="retry"):
        chat_model(retry=value)


def test_policies_are_data() -> None:
    """They are refused what no attempt may follow, and travel."""
    with pytest.raises(ValueError, match="also"):
        RetryPolicy(also=(BaseException,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_attempt"):
        RetryPolicy(max_attempt=2)  # type: ignore[call-arg]
    policy = RetryPolicy(max_attempts=2, also=(KeyError,))
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert chat_model(retry=2).retry == RetryPolicy(max_attempts=2)


# -- deadline, limiter, cancellation


@each_verb
async def test_a_wait_beyond_the_deadline_is_not_begun(verb: str, virtual_clock: VirtualClock) -> None:
    """The server's error is raised at once, and says for how long it would have been."""
    asked = RateLimitError("slow", retryable=True, retry_after=90)
    model = chat_model(failures=[busy(), asked], retry=EXACT, timeout=60)
    with pytest.raises(RateLimitError) as caught:
        await VERBS[verb](model, None)
    assert (caught.value.retry_after, len(model.requests), virtual_clock.now()) == (90, 2, 0.5)
    assert "90 s" in caught.value.__notes__[-1]


@each_make
@each_verb
@pytest.mark.usefixtures("virtual_clock")
async def test_each_attempt_asks_the_limiter(make: Any, verb: str) -> None:
    """A limiter counts requests, not calls."""
    limiter = CountingLimiter()
    await VERBS[verb](make(failures=[busy(), busy()], retry=EXACT, rate_limiter=limiter), None)
    assert limiter.count == 3


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_cancellation_ends_the_pause(verb: str, recorder: Any, virtual_clock: VirtualClock) -> None:
    """At once, with one end, and without another attempt."""
    virtual_clock.autojump = False
    model = chat_model(failures=[busy()] * 2, retry=EXACT)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                while "on_retry" not in recorder.names:
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

            group.start_soon(cancel)
            await VERBS[verb](model, {"callbacks": [recorder]})
    assert (recorder.end, len(model.requests), virtual_clock.now()) == ("on_llm_error", 1, 0)


# -- equal calls


async def together(model: Any, configs: list[Any], verb: str) -> list[Any]:
    outcomes: list[Any] = [None] * len(configs)

    async def ask(index: int) -> None:
        try:
            outcomes[index] = said(await VERBS[verb](model, configs[index]))
        except LLMError as error:
            outcomes[index] = error

    async with anyio.create_task_group() as group:
        for index in range(len(configs)):
            group.start_soon(ask, index)
    return outcomes


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
@pytest.mark.usefixtures("virtual_clock")
async def test_equal_calls_share_their_attempts(verb: str, recorders: Any) -> None:
    """One request at a time for all, and each of them hears of the failures."""
    model = chat_model(*STREAMS, failures=[busy(), busy()], retry=EXACT, cache=InMemoryCache())
    handlers = [recorders() for _ in range(3)]
    assert await together(model, [{"callbacks": [one]} for one in handlers], verb) == ["ab"] * 3
    assert len(model.requests) == 3
    for one in handlers:
        assert [details["attempt"] for *_, details in one.named("on_retry")] == [1, 2]
        assert one.end == "on_llm_end"


# -- usage


def used(handler: UsageMetadataCallbackHandler) -> int:
    return sum(usage["total_tokens"] for usage in handler.usage_metadata.values())


@pytest.mark.parametrize("verb", ["ainvoke", "invoke"])
@pytest.mark.usefixtures("virtual_clock")
async def test_a_failed_attempt_is_booked(verb: str) -> None:
    """What it had reported when it failed was used, whether or not it was tried again."""
    usage = UsageMetadataCallbackHandler()
    model = chat_model(*STREAMS, failures=[busy(), busy()], retry=EXACT, chunks=1)
    await VERBS[verb](model, {"callbacks": [usage]})
    assert used(usage) == 3 * 5

    usage = UsageMetadataCallbackHandler()
    model = chat_model(*STREAMS, failures=[busy(), KeyError("theirs")], retry=EXACT, chunks=1)
    with pytest.raises(KeyError):
        await VERBS[verb](model, {"callbacks": [usage]})
    assert used(usage) == 2 * 5


@pytest.mark.usefixtures("virtual_clock")
async def test_a_failed_attempt_of_equal_calls_is_booked_once() -> None:
    """A handler of them all counts the one request that was made."""
    usage = UsageMetadataCallbackHandler()
    model = chat_model(*STREAMS, failures=[busy()] * 3, retry=EXACT, cache=InMemoryCache(), chunks=1)
    outcomes = await together(model, [{"callbacks": [usage]}] * 3, "ainvoke")
    assert {type(outcome) for outcome in outcomes} == {ProviderUnavailable}
    assert (len(model.requests), used(usage)) == (1, 5), "chunks that a flight has handed out are not begun again"


async def test_a_handler_of_retries_alone_is_told() -> None:
    """LangChain's signature: the state first, the rest by name."""
    recorder = AsyncRecorder("on_retry")
    model = chat_model(failures=[busy(retry_after=0)], retry=2)
    await model.ainvoke("x", {"callbacks": [recorder]})
    _, (state,), details = recorder.only("on_retry")
    assert type(state).__name__ == "RetryCallState"
    assert details["run_id"] is not None and details["parent_run_id"] is None


# -- through a server


def in_seconds(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


DIALECTS: dict[str, Callable[[], Any]] = {
    "seconds": lambda: {"headers": {"retry-after": "360"}},
    "date": lambda: {"headers": {"retry-after": format_datetime(in_seconds(360), usegmt=True)}},
    "milliseconds": lambda: {"headers": {"retry-after-ms": "360000", "retry-after": "9"}},
    "google": lambda: {"error": {"details": [{"@type": "google.rpc.RetryInfo", "retryDelay": "360s"}]}},
    "go": lambda: {"headers": {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}},
    "rfc3339": lambda: {
        "headers": {
            "anthropic-ratelimit-requests-remaining": "0",
            "anthropic-ratelimit-requests-reset": in_seconds(360).isoformat(),
        }
    },
}


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_a_server_asks_for(dialect: str, verb: str, recorder: Any, virtual_clock: VirtualClock) -> None:
    """Each way of saying it gives the same wait."""
    async with serve(OpenAIFormat(), [Status(429, "slow", **DIALECTS[dialect]()), Reply("Hello")]) as server:
        model = ChatOpenAI(model="test-model", base_url=server.url, timeout=None)
        assert said(await VERBS[verb](model, {"callbacks": [recorder]})) == "Hello"
        delay = recorder.only("on_retry").details["delay"]
        assert delay == pytest.approx(360, abs=30)
        assert virtual_clock.now() == delay
        assert [request.at for request in server.requests] == [0, delay]


NOW = {"retry-after-ms": "0"}
STATUSES: list[tuple[Any, int]] = [
    (Status(503, headers=NOW), 3),
    (Status(500, headers=NOW), 3),
    (Status(529, headers=NOW), 3),
    (Status(429, headers=NOW), 3),
    (Status(408, headers=NOW), 3),
    (Status(409, headers=NOW), 3),
    (Status(503, headers={**NOW, "x-should-retry": "false"}), 1),
    (Status(400, headers={**NOW, "x-should-retry": "true"}), 3),
    (Status(400, headers=NOW), 1),
    (Status(400, error={"code": "context_length_exceeded"}, headers=NOW), 1),
    (Status(401, headers=NOW), 1),
    (Status(403, headers=NOW), 1),
    (Status(404, headers=NOW), 1),
    (Status(422, headers=NOW), 1),
    (Status(429, error={"code": "insufficient_quota"}, headers=NOW), 1),
]


@pytest.mark.parametrize("verb", ["ainvoke", "astream", "invoke"])
@pytest.mark.parametrize(("status", "requests"), STATUSES, ids=lambda value: str(value)[:90])
async def test_http_models_try_three_times(status: Any, requests: int, verb: str) -> None:
    """By default, and only after what passes."""
    async with serve(OpenAIFormat(), itertools.repeat(status)) as server:
        model = ChatOpenAI(model="test-model", base_url=server.url)
        with pytest.raises(LLMError):
            await VERBS[verb](model, None)
        assert len(server.requests) == requests


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_an_error_inside_a_good_reply_is_tried_again(verb: str) -> None:
    """Some servers answer 200, and say in the stream that they are overloaded."""
    overloaded = {"error": {"type": "overloaded_error", "message": "busy"}}
    async with serve(OpenAIFormat(), [Events([overloaded]), Reply("Hello")]) as server:
        policy = RetryPolicy(first_pause=0)
        model = ChatOpenAI(model="test-model", base_url=server.url, streaming=True, retry=policy)
        assert said(await VERBS[verb](model, None)) == "Hello"
        assert len(server.requests) == 2


async def test_a_wait_beyond_the_deadline_through_a_server() -> None:
    """It is raised at once, with what the server said; nothing is awaited."""
    async with serve(OpenAIFormat(), Status(429, headers={"retry-after": "9000"})) as server:
        model = ChatOpenAI(model="test-model", base_url=server.url)
        with anyio.fail_after(30), pytest.raises(RateLimitError) as caught:
            await model.ainvoke("x", timeout=1000)
        assert (caught.value.retry_after, len(server.requests)) == (9000, 1)
