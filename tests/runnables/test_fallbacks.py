"""`with_fallbacks`: the next one is asked when one fails; for every verb; what was bound stays bound; index-true."""

import functools
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import given, strategies as st

from hocket import (
    AIMessage,
    ChatOpenAI,
    FakeListChatModel,
    FakeListLLM,
    RetryPolicy,
    ScriptedChatModel,
    Turn,
)
from hocket.errors import AuthenticationError, InvalidInput, ProviderUnavailable, RateLimitError, TotalTimeout
from hocket.runnables import Runnable, RunnableConfig, RunnableWithFallbacks
from hocket.testing import OpenAIFormat, Reply, Status, VirtualClock, serve
from tests.kit import CHAIN_EVENTS, AsyncRecorder, hook_llm


async def in_thread(call: Callable[[], Any]) -> Any:
    return await anyio.to_thread.run_sync(call)


async def streamed(one: Any, options: Any) -> str:
    return "".join([said(piece) async for piece in one.astream("x", **options)])


VERBS: dict[str, Callable[..., Any]] = {
    "ainvoke": lambda one, **options: one.ainvoke("x", **options),
    "astream": lambda one, **options: streamed(one, options),
    "abatch": lambda one, **options: one.abatch(["x"], **options),
    "invoke": lambda one, **options: in_thread(lambda: one.invoke("x", **options)),
    "stream": lambda one, **options: in_thread(lambda: "".join(said(piece) for piece in one.stream("x", **options))),
    "batch": lambda one, **options: in_thread(lambda: one.batch(["x"], **options)),
}

TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}

each_verb = pytest.mark.parametrize("verb", VERBS)


def said(answer: Any) -> str:
    answer = answer[0] if isinstance(answer, list) else answer
    return answer if isinstance(answer, str) else answer.text


def busy() -> ProviderUnavailable:
    return ProviderUnavailable("busy", retryable=True)


def failing(*errors: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(errors))


def saying(*texts: str) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(texts))


WATCHED = (*CHAIN_EVENTS, "on_retry", "on_chat_model_start")


@each_verb
async def test_the_next_one_answers(verb: str) -> None:
    """In order, each asked once, and no further than needed."""
    models = [failing(AuthenticationError("no")), failing(KeyError("theirs")), saying("ab"), saying("unasked")]
    chain = models[0].with_fallbacks(models[1:])
    assert said(await VERBS[verb](chain)) == "ab"
    assert [len(model.requests) for model in models] == [1, 1, 1, 0]


@each_verb
async def test_text_models_and_sync_ones(verb: str) -> None:
    """The kinds may be mixed, so long as they answer in the same way."""
    text = hook_llm(KeyError("no"), "generate").with_fallbacks([FakeListLLM(responses=["ab"])])
    assert said(await VERBS[verb](text)) == "ab"
    sync = FakeListChatModel(responses=["ab"])
    assert said(await VERBS[verb](failing(KeyError("no")).with_fallbacks([sync]))) == "ab"


@each_verb
async def test_all_fail(verb: str) -> None:
    """The first one's error is raised, as in LangChain, with notes of the others."""
    errors = [AuthenticationError("no key"), KeyError("theirs"), ProviderUnavailable("busy")]
    chain = failing(errors[0]).with_fallbacks([failing(errors[1]), failing(errors[2])])
    with pytest.raises(AuthenticationError) as caught:
        await VERBS[verb](chain)
    assert caught.value is errors[0]
    notes = "\n".join(caught.value.__notes__)
    assert "fallback 1 failed, too: KeyError: 'theirs'" in notes
    assert "fallback 2 failed, too: ProviderUnavailable: " in notes


@each_verb
async def test_only_what_is_to_be_handled(verb: str) -> None:
    """Another error is raised at once."""
    first, second = failing(KeyError("theirs")), saying("ab")
    with pytest.raises(KeyError):
        await VERBS[verb](first.with_fallbacks([second], exceptions_to_handle=(RateLimitError, ValueError)))
    assert second.requests == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), SystemExit()], ids=repr)
async def test_what_is_no_exception_is_no_failure(error: BaseException) -> None:
    """Nobody else is asked, and it cannot be named."""
    second = saying("ab")
    with pytest.raises(type(error)):
        await failing(error).with_fallbacks([second]).ainvoke("x")
    assert second.requests == []
    with pytest.raises(ValueError, match="exceptions_to_handle"):
        second.with_fallbacks([second], exceptions_to_handle=(type(error),))  # type: ignore[arg-type]


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_cancellation_is_no_failure(verb: str) -> None:
    """Nobody else is asked, and the run ends once."""
    first, second = ScriptedChatModel(script=[Turn(text="late", delay=600)]), saying("ab")
    recorder = AsyncRecorder(*WATCHED)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                while not first.requests:
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

            group.start_soon(cancel)
            await VERBS[verb](first.with_fallbacks([second]), config={"callbacks": [recorder]})
    assert scope.cancelled_caught
    assert second.requests == []
    assert recorder.names == ["on_chain_start", "on_chat_model_start", "on_chain_error"]


@pytest.mark.parametrize("verb", ["astream", "stream"])
async def test_a_stream_falls_back_until_its_first_piece(verb: str) -> None:
    """Later the error is raised, as itself: the consumer has the beginning already."""
    broken = KeyError("theirs")
    second = saying("ab")
    chain = ScriptedChatModel(script=[Turn(text=["a", "b"], error=broken, error_after=1)]).with_fallbacks([second])
    got: list[str] = []

    async def take() -> None:
        if verb == "astream":
            async for piece in chain.astream("x"):
                got.append(piece.text)
        else:
            await in_thread(lambda: [got.append(piece.text) for piece in chain.stream("x")])

    with pytest.raises(KeyError) as caught:
        await take()
    assert (caught.value, got, second.requests) == (broken, ["a"], [])


def test_notes_do_not_pile_up() -> None:
    """An error that is raised more than once, as that of equal calls in flight, says what happened once."""
    shared = AuthenticationError("no key")
    for _ in range(3):
        with pytest.raises(AuthenticationError):
            failing(shared).with_fallbacks([failing(KeyError("theirs"))]).invoke("x")
    assert [note for note in shared.__notes__ if "failed, too" in note] == [
        "fallback 1 failed, too: KeyError: 'theirs'"
    ]


@each_verb
async def test_a_limit_for_all_together(verb: str) -> None:
    """A model's own limit ends its turn, and the call's ``retry`` ends them all; without, all may do what they may."""
    for own, limit, requests in ((3, 4, [3, 1, 0]), (None, 2, [1, 1, 0]), (2, 1, [1, 0, 0]), (2, None, [1, 1, 1])):
        policy = None if own is None else RetryPolicy(max_attempts=own, first_pause=0)
        models = [ScriptedChatModel(script=[busy() for _ in range(9)], retry=policy) for _ in range(3)]
        of_the_call = None if limit is None else RetryPolicy(max_attempts=limit, first_pause=0)
        with pytest.raises(ProviderUnavailable):
            await VERBS[verb](models[0].with_fallbacks(models[1:]), retry=of_the_call)
        assert [len(model.requests) for model in models] == requests


async def test_a_limit_for_what_has_none_of_its_own() -> None:
    """Each that fails counts, whatever it is."""
    chain = [Asked(KeyError("no")) for _ in range(4)]
    with pytest.raises(KeyError):
        await chain[0].with_fallbacks(chain[1:]).ainvoke({}, retry=3)
    assert [len(one.inputs) for one in chain] == [1, 1, 1, 0]


# -- what is bound


@each_verb
async def test_what_is_bound_survives_the_change_of_model(verb: str) -> None:
    """Tools, stop words, arguments and config of the first hold for the others; what these have of their own wins."""
    first, second, third = failing(KeyError("no")), failing(KeyError("no")), saying("ab")
    recorder = AsyncRecorder(*WATCHED)
    chain = (
        first.bind_tools([TOOL], tool_choice="look")
        .bind(stop=["."], seed=1, model="first")
        .with_config(tags=["bound"], metadata={"m": 1, "n": 1}, callbacks=[recorder], run_name="first")
        .with_fallbacks([second.bind(seed=2), third.with_config(tags=["own"], metadata={"n": 2})])
    )
    assert said(await VERBS[verb](chain, temperature=0)) == "ab"
    carried = {**first.bind_tools([TOOL], tool_choice="look").kwargs, "temperature": 0}
    assert carried["tools"][0]["function"]["name"] == "look"
    assert [request.params for model in (first, second, third) for request in model.requests] == [
        {**carried, "seed": 1, "model": "first"},
        {**carried, "seed": 2},
        {**carried, "seed": 1},
    ]
    assert [model.requests[0].stop for model in (first, second, third)] == [["."]] * 3
    starts = [event.details for event in recorder.named("on_chat_model_start")]
    assert [set(start["tags"]) for start in starts] == [{"bound"}, {"bound"}, {"bound", "own"}]
    assert [(start["metadata"]["m"], start["metadata"]["n"]) for start in starts] == [(1, 1), (1, 1), (1, 2)]
    assert [start["name"] for start in starts] == ["first", None, None]


@each_verb
async def test_what_is_bound_afterwards_is_bound_to_all(verb: str) -> None:
    """`bind_tools` of the first is called on each, which renders them anew; `bind` and `with_config` reach all, too."""
    first, second = failing(KeyError("no")), saying("ab")
    bound = first.with_fallbacks([second]).bind_tools([TOOL])
    assert isinstance(bound, RunnableWithFallbacks)
    await VERBS[verb](bound.bind(stop=["."]).with_retry())
    assert [model.requests[0].params for model in (first, second)] == [first.bind_tools([TOOL]).kwargs] * 2
    assert [model.requests[0].stop for model in (first, second)] == [["."]] * 2


async def test_tools_through_real_requests() -> None:
    """The second server is sent the tools that were bound to the first model."""
    async with (
        serve(OpenAIFormat(), Status(401)) as refusing,
        serve(OpenAIFormat(), Reply(tool_calls=[{"name": "look", "args": {}, "id": "1"}])) as answering,
    ):
        first, second = (ChatOpenAI(model="test-model", base_url=one.url) for one in (refusing, answering))
        reply = await first.bind_tools([TOOL], tool_choice="look").with_fallbacks([second]).ainvoke("x")
        assert [call["name"] for call in reply.tool_calls] == ["look"]
        bodies = [server.requests[0].json for server in (refusing, answering)]
        assert bodies[0] == bodies[1]


# -- the error, told to the next


class Asked(Runnable[dict[str, Any], str]):
    """Notes its inputs."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.inputs: list[dict[str, Any]] = []

    async def ainvoke(self, input: dict[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> str:
        self.inputs.append(input)
        if self.error is not None:
            raise self.error
        return "ab"


@pytest.mark.parametrize("verb", ["invoke", "ainvoke"])
def test_an_error_is_not_held(verb: str) -> None:
    """What failed is let go of with the answer of the next: no cycle keeps its frames, and what is in them."""
    first = Asked(ProviderUnavailable("busy"))
    gone = weakref.ref(first.error)  # type: ignore[type-var]
    chain = first.with_fallbacks([Asked()])
    gc.collect()
    gc.disable()
    try:
        assert (chain.invoke({}) if verb == "invoke" else anyio.run(chain.ainvoke, {})) == "ab"
        first.error = None
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("verb", ["ainvoke", "invoke"])
async def test_a_fallback_may_be_told_the_error(verb: str) -> None:
    """Under the key that was asked for, in a copy of the input: the caller's own stays as it is."""
    errors = [KeyError("one"), KeyError("two")]
    chain = [Asked(errors[0]), Asked(errors[1]), Asked()]
    fallbacks = chain[0].with_fallbacks(chain[1:], exception_key="error")
    given = {"question": "x"}
    if verb == "ainvoke":
        assert await fallbacks.ainvoke(given) == "ab"
    else:
        assert await in_thread(lambda: fallbacks.invoke(given)) == "ab"
    assert given == {"question": "x"}
    assert [one.inputs[0] for one in chain] == [given, {**given, "error": errors[0]}, {**given, "error": errors[1]}]


@each_verb
async def test_an_input_without_a_place_for_it_is_refused(verb: str) -> None:
    """Before anybody is asked."""
    model = saying("ab")
    with pytest.raises(InvalidInput, match="dictionary"):
        await VERBS[verb](model.with_fallbacks([model], exception_key="error"))
    assert model.requests == []


# -- deadline


async def test_one_deadline(virtual_clock: VirtualClock) -> None:
    """A call's ``timeout`` is for all together: the next has what is left, and nobody is asked when nothing is."""
    slow = FakeListChatModel(responses=["late"], sleep=8)
    broken = ScriptedChatModel(script=[Turn(delay=6, error=KeyError("theirs"))])
    third = saying("unasked")
    with pytest.raises(KeyError) as caught:
        await broken.with_fallbacks([slow, third]).ainvoke("x", timeout=10)
    assert virtual_clock.now() == 10
    assert "TotalTimeout" in caught.value.__notes__[0]
    assert third.requests == []
    with pytest.raises(TotalTimeout):
        await slow.with_fallbacks([third]).ainvoke("x", timeout=5)
    assert (virtual_clock.now(), third.requests) == (15, [])
    assert (await slow.bind(timeout=5).with_fallbacks([saying("ab")]).ainvoke("x")).text == "ab", (
        "its own ends its turn"
    )


async def test_a_deadline_is_told_as_a_round_number(virtual_clock: VirtualClock) -> None:
    """What the first has left of a second is not told to the microsecond."""
    broken = ScriptedChatModel(script=[Turn(delay=4e-5, error=KeyError("theirs"))])
    with pytest.raises(KeyError) as caught:
        await broken.with_fallbacks([FakeListChatModel(responses=["late"], sleep=8)]).ainvoke("x", timeout=1)
    assert "the call took longer than 1 s in all" in caught.value.__notes__[0]


# -- who hears of it


@pytest.mark.parametrize("verb", ["ainvoke", "astream", "invoke", "stream"])
async def test_those_asked_are_runs_inside_one(verb: str) -> None:
    """Callbacks of the config are told of a chain's run, of the failure, and of the runs inside, which know their parent."""
    recorder, error = AsyncRecorder(*WATCHED), RateLimitError("slow", status=429)
    chain = failing(error).with_fallbacks([saying("ab")])
    await VERBS[verb](chain, config={"callbacks": [recorder], "tags": ["t"]})
    (_, (_, asked), start), model, (_, _, retry), other, (_, (answer,), _) = recorder.events
    assert (asked, start["tags"]) == ("x", ["t"])
    assert (retry["attempt"], retry["error"], retry["status"], retry["delay"]) == (1, error, 429, 0)
    assert answer.text == "ab"
    for name, _, details in (model, other):
        assert (name, details["parent_run_id"], details["tags"]) == ("on_chat_model_start", start["run_id"], ["t"])

    recorder = AsyncRecorder(*WATCHED)
    with pytest.raises(RateLimitError):
        await VERBS[verb](failing(error).with_fallbacks([failing(KeyError("no"))]), config={"callbacks": [recorder]})
    assert recorder.names == [
        "on_chain_start",
        "on_chat_model_start",
        "on_retry",
        "on_chat_model_start",
        "on_chain_error",
    ]


# -- results belong to their inputs


class Sometimes(Runnable[str, str]):
    """Fails for some inputs; else says who answers what."""

    def __init__(self, name: str, broken: set[str]) -> None:
        self.name = name
        self.broken = broken

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        for _ in range(len(input) % 3):
            await anyio.lowlevel.checkpoint()
        if input in self.broken:
            raise KeyError(f"{self.name}:{input}")
        return f"{self.name}:{input}"


async def test_closing_closes_each() -> None:
    """Whatever kind of runnable it is in: a model, a binding; what has nothing to close is left out."""
    busy = Status(503, headers={"x-should-retry": "false"})
    async with serve(OpenAIFormat(), busy) as first, serve(OpenAIFormat(), Reply("yes")) as second:
        failing, answering = (
            ChatOpenAI(model="m", base_url=server.url, api_key="k", retry=None, max_connections=own)  # and so a client
            for server, own in ((first, 1), (second, 2))
        )
        both = failing.with_fallbacks([answering.bind(stop=["x"]), FakeListChatModel(responses=["no"])])
        assert (await both.ainvoke("hi")).text == "yes"
        assert (first.open_connections, second.open_connections) == (1, 1)
        await both.aclose()
        await first.wait_for_open_connections(0)
        await second.wait_for_open_connections(0)


@given(patterns=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=12), sync=st.booleans())
def test_each_outcome_belongs_to_its_input(patterns: list[list[bool]], sync: bool) -> None:
    """Whoever fails for whatever: result i answers input i, by the first that can, or is the first one's error for it."""
    inputs = ["i" * index for index in range(len(patterns))]
    models = [
        Sometimes(str(number), {text for text, fails in zip(inputs, patterns, strict=True) if fails[number]})
        for number in range(3)
    ]
    chain = models[0].with_fallbacks(models[1:])
    if sync:
        outcomes = chain.batch(inputs, return_exceptions=True)
    else:
        outcomes = anyio.run(functools.partial(chain.abatch, inputs, return_exceptions=True))
    for text, fails, outcome in zip(inputs, patterns, outcomes, strict=True):
        if all(fails):
            assert isinstance(outcome, KeyError)
            assert outcome.args == (f"0:{text}",)
        else:
            assert outcome == f"{fails.index(False)}:{text}"


# -- what it is


def test_fallbacks_are_configuration() -> None:
    """They can be pickled, have the attributes of the first, and an empty list is refused."""
    first, second = FakeListChatModel(responses=["a"]), FakeListChatModel(responses=["b"])
    chain = first.with_fallbacks([second], exceptions_to_handle=(KeyError,))
    again = pickle.loads(pickle.dumps(chain))
    assert (again.exceptions_to_handle, [one.responses for one in again.runnables]) == ((KeyError,), [["a"], ["b"]])
    assert (chain.responses, chain.get_num_tokens("abcd")) == (["a"], 1)
    with pytest.raises(AttributeError, match="respones"):
        _ = chain.respones
    for wrong in ([], ["gpt"], second):
        with pytest.raises(ValueError, match="a list of runnables, with at least one"):
            first.with_fallbacks(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="exceptions_to_handle"):
        first.with_fallbacks([second], exceptions_to_handle=())


async def test_a_chat_model_with_fallbacks_gives_messages() -> None:
    """The type that its callers rely on."""
    reply = await saying("ab").with_fallbacks([saying("cd")]).ainvoke("x")
    assert type(reply) is AIMessage
