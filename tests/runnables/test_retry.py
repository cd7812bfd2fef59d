"""`with_retry`: on models and on anything else, for every verb; one budget, whatever is nested; index-true."""

import functools
import pickle
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import given, strategies as st

from hocket import ChatOpenAI, FakeListChatModel, RetryPolicy, ScriptedChatModel, Turn
from hocket._runtime.stream import Stream, SyncStream
from hocket.errors import AuthenticationError, ProviderUnavailable, TotalTimeout
from hocket.runnables import Runnable, RunnableConfig, RunnableLambda, RunnableRetry
from hocket.testing import OpenAIFormat, Status, VirtualClock, serve, virtual_clock
from tests.kit import CHAIN_EVENTS, AsyncRecorder

AT_ONCE: Any = {"wait_exponential_jitter": False}


def busy(**more: Any) -> ProviderUnavailable:
    return ProviderUnavailable("busy", **{"status": 503, "retryable": True, **more})


class Flaky(Runnable[str, str]):
    """Fails for each input as often as it is told to, and then answers with it, in pieces; in async or in sync code."""

    def __init__(self, failures: Any = (), after: int = 0, failing: dict[str, list[Any]] | None = None) -> None:
        self.failures = failing or {}
        self.default = list(failures)
        self.after = after
        self.calls: Counter[str] = Counter()
        self.configs: list[Any] = []
        self.params: list[dict[str, Any]] = []

    def ask(self, input: str, config: Any, params: dict[str, Any]) -> Iterator[str]:
        self.configs.append(config)
        self.params.append(params)
        self.calls[input] += 1
        failures = self.failures.get(input, self.default)
        pieces = list(input)
        yield from pieces[: self.after]
        if self.calls[input] <= len(failures):
            raise failures[self.calls[input] - 1]
        yield from pieces[self.after :]

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        await anyio.lowlevel.checkpoint()
        return "".join(self.ask(input, config, kwargs))

    def astream(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        async def pieces() -> AsyncIterator[str]:
            for piece in self.ask(input, config, kwargs):
                yield piece

        return pieces()

    def stream(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self.ask(input, config, kwargs)


class SyncFlaky(Flaky):
    ainvoke = Runnable.ainvoke  # type: ignore[assignment]

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return "".join(self.ask(input, config, kwargs))


async def in_thread(call: Callable[[], Any]) -> Any:
    return await anyio.to_thread.run_sync(call)


async def drained(stream: Any) -> list[Any]:
    return [item async for item in stream]


VERBS: dict[str, Callable[..., Any]] = {
    "ainvoke": lambda one, **options: one.ainvoke("ab", **options),
    "astream": lambda one, **options: drained(one.astream("ab", **options)),
    "abatch": lambda one, **options: one.abatch(["ab"], **options),
    "abatch_as_completed": lambda one, **options: drained(one.abatch_as_completed(["ab"], **options)),
    "invoke": lambda one, **options: in_thread(lambda: one.invoke("ab", **options)),
    "stream": lambda one, **options: in_thread(lambda: list(one.stream("ab", **options))),
    "batch": lambda one, **options: in_thread(lambda: one.batch(["ab"], **options)),
}
ANSWERS = {"astream": ["a", "b"], "stream": ["a", "b"], "abatch": ["ab"], "batch": ["ab"]}
ANSWERS["abatch_as_completed"] = [(0, "ab")]  # type: ignore[list-item]

each_verb = pytest.mark.parametrize("verb", VERBS)
each_kind = pytest.mark.parametrize("kind", [Flaky, SyncFlaky])


@each_kind
@each_verb
async def test_every_verb_tries_again(kind: Any, verb: str) -> None:
    """Whether the runnable is written in async or in sync code."""
    flaky = kind([busy(), KeyError("theirs")])
    retried = flaky.with_retry(retry_if_exception_type=(KeyError,), **AT_ONCE)
    assert await VERBS[verb](retried) == ANSWERS.get(verb, "ab")
    assert flaky.calls["ab"] == 3


@each_verb
async def test_by_default_only_what_says_that_it_helps(verb: str) -> None:
    """Neither others' errors nor those that say that it is useless, which ``Exception`` does not bring back."""
    cases = [((), KeyError("theirs")), ((), AuthenticationError("no")), ((Exception,), AuthenticationError("no"))]
    for named, error in cases:
        flaky = Flaky([error])
        with pytest.raises(type(error)) as caught:
            await VERBS[verb](flaky.with_retry(retry_if_exception_type=named, **AT_ONCE))
        assert (caught.value, flaky.calls["ab"]) == (error, 1)


@each_verb
@pytest.mark.usefixtures("virtual_clock")
async def test_attempts_end(verb: str) -> None:
    """With the last error, as itself; a call's own limit counts."""
    errors = [busy() for _ in range(9)]
    for stop, options, calls in ((None, {}, 3), (2, {}, 2), (1, {}, 1), (2, {"retry": 4}, 4), (2, {"retry": None}, 1)):
        flaky = Flaky(errors)
        with pytest.raises(ProviderUnavailable) as caught:
            await VERBS[verb](flaky.with_retry(stop_after_attempt=stop, **AT_ONCE), **options)
        assert (caught.value, flaky.calls["ab"]) == (errors[calls - 1], calls)


@each_kind
@pytest.mark.parametrize("verb", ["astream", "stream"])
async def test_nothing_is_tried_again_after_the_first_piece(kind: Any, verb: str) -> None:
    """The consumer has the beginning already; it gets the error."""
    flaky = kind([busy()], after=1)
    got: list[str] = []

    async def take() -> None:
        retried = flaky.with_retry(**AT_ONCE)
        if verb == "astream":
            async for piece in retried.astream("ab"):
                got.append(piece)
        else:
            await in_thread(lambda: [got.append(piece) for piece in retried.stream("ab")])

    with pytest.raises(ProviderUnavailable):
        await take()
    assert (got, flaky.calls["ab"]) == (["a"], 1)


@each_verb
async def test_pauses(verb: str, virtual_clock: VirtualClock) -> None:
    """LangChain's, unless the server asks for one, which counts even where no pauses are wanted."""
    flaky = Flaky([busy(), busy(), busy()])
    params: Any = {"initial": 3, "exp_base": 10, "max": 50, "jitter": 0}
    retried = flaky.with_retry(exponential_jitter_params=params, stop_after_attempt=4)
    await VERBS[verb](retried)
    assert virtual_clock.now() == 3 + 30 + 50
    await VERBS[verb](Flaky([busy()]).with_retry())
    assert 83 + 1 <= virtual_clock.now() <= 83 + 2
    before = virtual_clock.now()
    await VERBS[verb](Flaky([busy(), busy(retry_after=7)]).with_retry(**AT_ONCE))
    assert virtual_clock.now() == before + 7


async def test_a_cancellation_ends_the_pause(virtual_clock: VirtualClock) -> None:
    """And the call: it is no failure that another attempt could mend."""
    virtual_clock.autojump = False
    flaky, recorder = Flaky([busy()]), watch()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                while "on_retry" not in recorder.names:
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

            group.start_soon(cancel)
            await flaky.with_retry(retry_if_exception_type=(Exception,)).ainvoke("ab", {"callbacks": [recorder]})
    assert flaky.calls["ab"] == 1
    assert recorder.names == ["on_chain_start", "on_retry", "on_chain_error"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), SystemExit()], ids=repr)
async def test_what_is_no_exception_is_never_tried_again(error: BaseException) -> None:
    """Nor can it be named."""
    flaky = Flaky([error])
    with pytest.raises(type(error)):
        await flaky.with_retry(retry_if_exception_type=(Exception,), **AT_ONCE).ainvoke("ab")
    assert flaky.calls["ab"] == 1
    with pytest.raises(ValueError, match="retry_exception_types"):
        flaky.with_retry(retry_if_exception_type=(type(error),))  # type: ignore[arg-type]


# -- one budget, one deadline


CHAINS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "a policy around a model's": (lambda m: m.with_retry(stop_after_attempt=2, **AT_ONCE), 2),
    "which allows more": (lambda m: m.with_retry(stop_after_attempt=5, **AT_ONCE), 5),
    "the default is not less than the model's": (lambda m: m.bind(retry=4).with_retry(**AT_ONCE), 4),
    "two around it": (lambda m: m.with_retry(**AT_ONCE).with_retry(stop_after_attempt=4, **AT_ONCE), 4),
    "the outer one is less": (lambda m: m.with_retry(stop_after_attempt=5).with_retry(stop_after_attempt=1), 1),
    "a binding between": (lambda m: m.with_retry().bind(stop=["x"]).with_retry(stop_after_attempt=2, **AT_ONCE), 2),
    "a call's own": (lambda m: m.with_retry(stop_after_attempt=9, **AT_ONCE).bind(retry=2), 2),
    "never": (lambda m: m.with_retry(stop_after_attempt=9, **AT_ONCE).bind(retry=None), 1),
    "fallbacks in a policy": (lambda m: m.with_fallbacks([m, m]).with_retry(stop_after_attempt=7, **AT_ONCE), 7),
    "fallbacks of policies": (lambda m: m.with_retry(stop_after_attempt=2, **AT_ONCE).with_fallbacks([m]), 5),
    "at most of all": (lambda m: m.with_fallbacks([m, m]).bind(retry=4), 4),
    "their sum": (lambda m: m.with_fallbacks([m, m]), 9),
    "their sum in a policy": (lambda m: m.with_fallbacks([m]).with_retry(**AT_ONCE), 6),
}


@pytest.mark.parametrize("verb", ["ainvoke", "astream", "invoke", "stream"])
@pytest.mark.parametrize("chain", CHAINS)
async def test_one_budget(chain: str, verb: str) -> None:
    """The server never sees more requests than the outermost limit, and as many as that if nothing ends it before."""
    make, requests = CHAINS[chain]
    async with serve(OpenAIFormat(), Status(503, headers={"retry-after-ms": "0"})) as server:
        model = ChatOpenAI(model="test-model", base_url=server.url)
        with pytest.raises(ProviderUnavailable):
            await VERBS[verb](make(model))
        assert len(server.requests) == requests


@pytest.mark.parametrize("verb", ["ainvoke", "astream", "invoke", "stream"])
async def test_one_deadline(verb: str, virtual_clock: VirtualClock) -> None:
    """A call's ``timeout`` is for all attempts together: no pause goes beyond it, and what is inside has what is left."""
    flaky = Flaky([busy(retry_after=4), busy(retry_after=4), busy(retry_after=4)])
    with pytest.raises(ProviderUnavailable) as caught:
        await VERBS[verb](flaky.with_retry(stop_after_attempt=9), timeout=10)
    assert (caught.value.retry_after, flaky.calls["ab"], virtual_clock.now()) == (4, 3, 8)
    assert [params["timeout"].total for params in flaky.params] == [10, 6, 2]


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_model_inside_has_what_is_left(verb: str, virtual_clock: VirtualClock) -> None:
    """Its deadline does not begin anew with each attempt."""
    slow = ScriptedChatModel(script=[Turn(delay=6, error=busy(retry_after=0)), Turn(text="late", delay=6)])
    with pytest.raises(TotalTimeout):
        await VERBS[verb](slow.with_retry(), timeout=10)
    assert (virtual_clock.now(), len(slow.requests)) == (10, 2)


# -- who hears of it


def watch() -> AsyncRecorder:
    """Make a handler that records the runs of chains and models, and the attempts."""
    return AsyncRecorder(*CHAIN_EVENTS, "on_retry", "on_chat_model_start", "on_llm_end")


@pytest.mark.parametrize("verb", ["ainvoke", "astream", "invoke", "stream"])
async def test_attempts_are_runs_inside_one(verb: str) -> None:
    """A chain's run; its children know their parent and the number of the attempt; callbacks, tags, metadata reach them."""
    recorder = watch()
    failed, script = busy(retry_after=0), [busy(retry_after=0), "ab"]
    script[0] = failed
    model = ScriptedChatModel(script=script)
    config = {"callbacks": [recorder], "tags": ["t"], "metadata": {"m": 1}, "run_name": "asking"}
    await VERBS[verb](model.with_retry(), config=config)
    assert recorder.names == [
        "on_chain_start",
        "on_chat_model_start",
        "on_retry",
        "on_chat_model_start",
        "on_llm_end",
        "on_chain_end",
    ]
    chain, retry = (recorder.only(name).details for name in ("on_chain_start", "on_retry"))
    starts = [event.details for event in recorder.named("on_chat_model_start")]
    assert (chain["name"], chain["tags"], chain["metadata"], chain["parent_run_id"]) == (
        "asking",
        ["t"],
        {"m": 1},
        None,
    )
    assert [start["parent_run_id"] for start in starts] == [chain["run_id"]] * 2
    assert [sorted(start["tags"]) for start in starts] == [["t"], ["retry:attempt:2", "t"]]
    assert [start["metadata"]["m"] for start in starts] == [1, 1]
    assert starts[0]["run_id"] != starts[1]["run_id"]
    facts = {key: retry[key] for key in ("run_id", "attempt", "error", "delay", "status")}
    assert facts == {"run_id": chain["run_id"], "attempt": 1, "error": failed, "delay": 0, "status": 503}
    assert recorder.only("on_chain_start").args[1] == "ab"
    assert recorder.only("on_chain_end").args[0].text == "ab"


@pytest.mark.parametrize("verb", ["astream", "stream"])
async def test_a_stream_that_is_left_ends_its_run(verb: str) -> None:
    """As one that was closed, not as a failure; and the stream inside is closed with it."""
    recorder = watch()
    retried = ScriptedChatModel(script=[Turn(text=["a", "b"], pause=600)]).with_retry()
    if verb == "astream":
        stream: Stream[Any] = retried.astream("x", {"callbacks": [recorder]})
        await anext(stream)
        await stream.aclose()
    else:

        def leave() -> None:
            stream: SyncStream[Any] = retried.stream("x", {"callbacks": [recorder]})
            next(stream)
            stream.close()

        await in_thread(leave)
    assert recorder.names == ["on_chain_start", "on_chat_model_start", "on_llm_end", "on_chain_end"]
    assert [recorder.only(name).details["closed"] for name in ("on_llm_end", "on_chain_end")] == [True, True]


async def test_without_handlers_the_config_goes_through() -> None:
    """But for name and id, which are the call's own."""
    flaky = Flaky([busy()])
    await flaky.with_retry(**AT_ONCE).ainvoke("ab", {"tags": ["t"], "metadata": {"m": 1}, "run_name": "asking"})
    assert flaky.configs == [{"tags": ["t"], "metadata": {"m": 1}}] * 2


# -- results belong to their inputs


patterns = st.lists(st.lists(st.sampled_from(["busy", "theirs", "no"]), max_size=4), min_size=1, max_size=12)


def outcome_of(pattern: list[str], attempts: int) -> str:
    """What becomes of an input that fails in this way: its own answer, or the name of its own last error."""
    for number, kind in enumerate(pattern, 1):
        if kind == "no" or number == attempts:
            return kind
    return "answer"


@given(patterns=patterns, attempts=st.integers(1, 4), verb=st.sampled_from(["abatch", "batch"]))
def test_each_outcome_belongs_to_its_input(patterns: list[list[str]], attempts: int, verb: str) -> None:
    """Whatever fails, and however often: result i is that of input i, or its own error."""
    errors: dict[str, Callable[[str], Exception]] = {
        "busy": lambda text: ProviderUnavailable(text, retryable=True),
        "theirs": KeyError,
        "no": lambda text: AuthenticationError(text),
    }
    inputs = [f"input-{index}" for index in range(len(patterns))]
    failing = {text: [errors[kind](text) for kind in kinds] for text, kinds in zip(inputs, patterns, strict=True)}
    flaky = Flaky(failing=failing)
    retried = flaky.with_retry(
        retry_if_exception_type=(KeyError,),
        stop_after_attempt=attempts,
        exponential_jitter_params={"jitter": 3},
    )
    with virtual_clock():
        if verb == "batch":
            outcomes = retried.batch(inputs, return_exceptions=True)
        else:
            outcomes = anyio.run(functools.partial(retried.abatch, inputs, return_exceptions=True))
    for text, kinds, outcome in zip(inputs, patterns, outcomes, strict=True):
        expected = outcome_of(kinds, attempts)
        assert (outcome if expected == "answer" else outcome.args[0]) == text
        assert expected == "answer" or isinstance(outcome, type(errors[expected](text)))


# -- what it is


def test_a_retry_is_configuration() -> None:
    """It can be pickled, has the attributes of what it retries, and refuses what means nothing."""
    model = FakeListChatModel(responses=["a"])
    retried = model.with_retry(stop_after_attempt=2, retry_if_exception_type=(KeyError,))
    assert isinstance(retried, RunnableRetry)
    again = pickle.loads(pickle.dumps(retried))
    assert (again.max_attempt_number, again.retry_exception_types, again.invoke("x").text) == (2, (KeyError,), "a")
    assert (retried.responses, retried.get_num_tokens("abcd")) == (["a"], 1)
    with pytest.raises(AttributeError, match="respones"):
        _ = retried.respones
    for wrong in ({"stop_after_attempt": 0}, {"exponential_jitter_params": {"intial": 1}}):
        with pytest.raises(ValueError, match="validation error"):
            model.with_retry(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tag"):
        retried.invoke("x", {"tag": ["t"]})


@pytest.mark.parametrize(("error", "count"), [(KeyError("again"), 3), (KeyError("no"), 1), (busy(), 1)])
async def test_a_function_says_after_which_exceptions(error: Exception, count: int) -> None:
    """It alone: an error of hocket's that may pass is not tried again, unless the function says so."""
    attempts: list[int] = []

    def fail(input: str) -> None:
        attempts.append(1)
        raise error

    retried = RunnableLambda(fail).with_retry(
        retry_if_exception_type=lambda error: "again" in str(error), wait_exponential_jitter=False
    )
    with pytest.raises(type(error)):
        await retried.ainvoke("x")
    assert len(attempts) == count


@pytest.mark.parametrize("verb", ["ainvoke", "invoke"])
async def test_tools_are_given_to_what_is_retried(verb: str) -> None:
    """`bind_tools` of a model is there behind `with_retry`, and gives one that is tried again, too."""
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    model = ScriptedChatModel(script=[busy(), "ab"])
    bound = model.with_retry(**AT_ONCE).bind_tools([tool]).bind(stop=["."])
    await VERBS[verb](bound)
    asked = [(request.params["tools"][0]["function"]["name"], request.stop) for request in model.requests]
    assert asked == [("look", ["."])] * 2


async def test_a_policy_of_the_call_counts_instead() -> None:
    """What it names, and its pauses; the model's own stays."""
    flaky = Flaky([KeyError("theirs")] * 3)
    policy = RetryPolicy(max_attempts=3, first_pause=0, also=(KeyError,))
    with pytest.raises(KeyError):
        await flaky.with_retry(stop_after_attempt=9).ainvoke("ab", retry=policy)
    assert flaky.calls["ab"] == 3
    assert flaky.params == [{}] * 3
