"""A router: which deployment is asked, which one next, and who rests."""

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from hocket import AIMessage, HumanMessage, ScriptedChatModel, Turn, create_agent
from hocket._runtime import clock
from hocket.batch import arun_batch
from hocket.caches import InMemoryCache
from hocket.callbacks import BaseCallbackHandler
from hocket.errors import (
    AuthenticationError,
    ConnectionFailed,
    ContextLengthExceeded,
    InvalidRequest,
    LLMError,
    ProviderUnavailable,
    RateLimitError,
    StreamTruncated,
    TotalTimeout,
    Unsupported,
)
from hocket.ledger import CallbackLedger, LedgerEntry
from hocket.rate_limiters import RateLimiter
from hocket.retries import RetryPolicy
from hocket.routing import ChatCascade, ChatRouter, Deployment
from hocket.testing import virtual_clock
from tests.kit.models import hook_model, tool_model

pytestmark = pytest.mark.both_loops

NOW = RetryPolicy(max_attempts=3, first_pause=0, jitter=0)


def fail(error: type[LLMError], **fields: Any) -> LLMError:
    return error("no", **{"retryable": True, **fields})


def route(*answers: Any, make: Callable[..., Any] = hook_model, **fields: Any) -> tuple[ChatRouter, list[Any]]:
    """Return a router over models that are called a, b, c, and answer, or fail, like this."""
    models = [make(answer) for answer in answers]
    deployments = [Deployment(model, name=name) for model, name in zip(models, "abc", strict=False)]
    return ChatRouter(deployments=deployments, **{"retry": NOW, **fields}), models


def count(models: Sequence[Any]) -> list[int]:
    return [len(model.requests) for model in models]


async def test_a_router_is_a_chat_model():
    """Each verb; and the message says who answered."""
    router, models = route(["a", "a"])
    reply = await router.ainvoke("hi")
    assert (reply.text, reply.response_metadata["deployment"]) == ("aa", "a")
    whole = None
    async for chunk in router.astream("hi"):
        whole = chunk if whole is None else whole + chunk
    assert whole is not None and (whole.text, whole.response_metadata["deployment"]) == ("aa", "a")
    assert [one.text for one in await router.abatch(["x", "y"])] == ["aa", "aa"]
    assert count(models) == [4]


async def test_what_a_model_gives_is_left_as_it_is():
    """It may give the same message again, at another deployment."""
    given = AIMessage("a")
    router, _ = route(given)
    reply = await router.ainvoke("hi")
    assert reply.response_metadata["deployment"] == "a" and "deployment" not in given.response_metadata


async def test_rests_and_returns_are_logged(caplog: pytest.LogCaptureFixture):
    """Without the server's words, which may quote what it was asked."""
    with virtual_clock(), caplog.at_level("INFO", "hocket.routing"):
        script: list[Any] = [fail(RateLimitError, retry_after=30), "a", "a"]
        first = hook_model(lambda call: script.pop(0))
        router = ChatRouter(deployments=[Deployment(first, name="a"), Deployment(hook_model("b"), name="b", weight=0)])
        for _ in range(3):
            await router.ainvoke("hi")
            await clock.current().sleep(31)
    assert caplog.messages == ["a rests for 30 s: RateLimitError", "a answers again"]


async def test_a_batch_is_one_providers(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    for model in (
        ChatRouter(deployments=["openai:gpt-5.2", "anthropic:claude-sonnet-5"]),
        ChatCascade(models=["openai:gpt-5.2", "anthropic:claude-sonnet-5"], accept=bool),
    ):
        with pytest.raises(Unsupported, match=r"is made of openai:gpt-5\.2, anthropic:claude-sonnet-5"):
            await arun_batch(model, ["hi"], tmp_path / "out.jsonl", via="provider")
    router, _ = route("a", "b")
    report = await arun_batch(router, ["hi"] * 4, tmp_path / "out.jsonl")
    assert report.ok == 4


def test_how_it_stands_can_be_asked_in_plain_code():
    router, _ = route("a", "b")
    assert [state.name for state in router.state()] == ["a", "b"]


async def test_answers_are_cached():
    """Under the router's own cache, for calls and streams; and who answered is in what is cached."""
    for hedge in (None, 0.5):
        router, models = route("a", cache=InMemoryCache(), hedge=hedge)
        replies = [await router.ainvoke("hi"), await router.ainvoke("hi")]
        assert [(reply.text, reply.response_metadata["deployment"]) for reply in replies] == [("a", "a")] * 2
        for ask in ("hi", "new", "new"):
            assert "".join([chunk.text async for chunk in router.astream(ask)]) == "a"
        assert count(models) == [2]


def test_sync_verbs_work():
    router, _ = route("a")
    assert router.invoke("hi").text == "a"
    assert "".join(chunk.text for chunk in router.stream("hi")) == "a"


async def test_tools_agents_and_objects():
    calls = [{"name": "look", "args": {}, "id": "1", "type": "tool_call"}]

    def look() -> str:
        """Look."""
        return "found"

    def answer(call: Any) -> Any:
        return "done" if call.input[-1].type == "tool" else AIMessage("", tool_calls=calls)

    router, models = route(answer, answer, make=tool_model)
    result = await create_agent(router, [look]).ainvoke("go")
    assert result.output == "done"
    assert sorted(count(models)) == [0, 2]  # the second step goes where the first one was


async def test_weights_are_shares():
    router, models = route("a", "b", "c")
    first, *others = router.deployments
    router = ChatRouter(deployments=[Deployment(first.model, name="a", weight=8), *others])
    for _ in range(300):
        await router.ainvoke("hi")
    a, b, c = count(models)
    assert 200 < a < 275 and b > 5 and c > 5
    spare = ChatRouter(deployments=[first, Deployment(models[1], name="b", weight=0)])
    models[1].requests.clear()
    for _ in range(20):
        await spare.ainvoke("hi")
    assert not models[1].requests


@pytest.mark.parametrize("error", [RateLimitError, ProviderUnavailable, ConnectionFailed])
async def test_what_fails_in_passing_is_made_elsewhere_at_once(error: type[LLMError]):
    router, models = route(fail(error), "b", retry=RetryPolicy(first_pause=60))
    with virtual_clock():
        began = clock.current().now()
        assert {(await router.ainvoke("hi")).text for _ in range(10)} == {"b"}
        assert clock.current().now() - began < 1
    assert count(models)[0] <= 3  # then it rests


async def test_a_fault_of_the_deployment_is_made_elsewhere_and_rests_it():
    router, models = route(fail(AuthenticationError, retryable=False), "b")
    assert {(await router.ainvoke("hi")).text for _ in range(20)} == {"b"}
    assert count(models)[0] == 1
    [state, _] = await router.astate()
    assert 29 < state.resting <= 30 and state.reason == "AuthenticationError: no"


async def test_a_fault_of_the_request_is_raised():
    router, models = route(fail(InvalidRequest, retryable=False), fail(InvalidRequest, retryable=False))
    with pytest.raises(InvalidRequest):
        await router.ainvoke("hi")
    assert sum(count(models)) == 1


async def test_attempts_do_not_multiply():
    """One budget for all deployments; theirs are not asked; handlers hear of each attempt that is followed by another."""
    heard: list[int] = []

    class Watch(BaseCallbackHandler):
        def on_retry(self, state: Any, *, attempt: int, **details: Any) -> None:
            heard.append(attempt)

    router, models = route(*[fail(ProviderUnavailable)] * 3, retry=RetryPolicy(max_attempts=5, first_pause=0))
    with virtual_clock(), pytest.raises(ProviderUnavailable):
        await router.ainvoke("hi", {"callbacks": [Watch()]})
    assert sum(count(models)) == 5
    assert len(heard) == 4
    alone, models = route(fail(ProviderUnavailable), fail(ProviderUnavailable), retry=None)
    with pytest.raises(ProviderUnavailable):
        await alone.ainvoke("hi")
    assert sum(count(models)) == 1


@pytest.mark.parametrize("attempts", [1, 2, 3])
async def test_a_router_leaves_its_fallbacks_their_attempts(attempts: int):
    """Its budget is a part of that of all together, as a plain model's is."""
    failing = [fail(ProviderUnavailable)] * 2
    router, models = route(*failing, retry=NOW.model_copy(update={"max_attempts": attempts}))
    assert (await router.with_fallbacks([hook_model("behind")]).ainvoke("hi")).text == "behind"
    assert sum(count(models)) == attempts


async def test_a_retry_after_is_obeyed_to_the_second_and_then_one_goes_first():
    asked: list[float] = []

    async def answer(call: Any) -> Any:
        asked.append(clock.current().now())
        if len(asked) == 1:
            return fail(RateLimitError, retry_after=30)
        await clock.current().sleep(5)
        return "a"

    with virtual_clock():
        router, models = route(answer, "b")
        router = ChatRouter(
            deployments=[Deployment(models[0], name="a", weight=1000), Deployment(models[1], name="b", weight=0)]
        )
        began = clock.current().now()
        await router.ainvoke("hi")
        for _ in range(80):
            async with anyio.create_task_group() as group:
                for _ in range(3):
                    group.start_soon(router.ainvoke, "hi")
            await clock.current().sleep(0.5)
        assert [round(at - began, 1) for at in asked[:2]] == [0, pytest.approx(30, abs=1)]
        assert all(at - began > asked[1] - began + 4.9 for at in asked[2:])  # nobody beside the first


async def test_all_rest():
    """Within the deadline it waits for the first one; else it says when that is."""

    def answer(call: Any) -> Any:
        return fail(RateLimitError, retry_after=20) if clock.current().now() - began < 10 else "late"

    with virtual_clock():
        began = clock.current().now()
        router, models = route(answer, answer)
        with pytest.raises(RateLimitError) as failure:
            await router.ainvoke("hi", timeout=10)
        assert failure.value.retry_after == pytest.approx(20, abs=0.5)
        asked = sum(count(models))
        with pytest.raises(RateLimitError, match="all deployments of router rest") as failure:
            await router.ainvoke("hi", timeout=10)
        assert (failure.value.was_sent, sum(count(models))) == (False, asked)
        assert (await router.ainvoke("hi", timeout=60)).text == "late"
        assert clock.current().now() - began == pytest.approx(20, abs=0.5)


async def test_who_has_others_behind_it_need_not_wait():
    refused = fail(RateLimitError, retry_after=3600)
    with virtual_clock():
        router, _ = route(refused, refused, longest_wait=0)
        model = router.with_fallbacks([hook_model("behind")])
        began = clock.current().now()
        assert {(await model.ainvoke("hi")).text for _ in range(3)} == {"behind"}
        assert clock.current().now() == began
        with pytest.raises(RateLimitError) as failure:
            await router.ainvoke("hi")
        assert failure.value.retry_after == pytest.approx(3600) and not failure.value.retryable


async def test_where_others_are_behind_it_a_dead_group_rests_as_a_whole():
    """Its calls go to them without a pause, until one goes first again."""
    with virtual_clock():
        router, models = route(*[fail(ProviderUnavailable)] * 2, longest_wait=0, retry=RetryPolicy())
        model = router.with_fallbacks([hook_model("behind")])
        while not all(state.resting for state in await router.astate()):
            assert (await model.ainvoke("hi")).text == "behind"
        asked, began = sum(count(models)), clock.current().now()
        assert asked <= 8
        assert {(await model.ainvoke("hi")).text for _ in range(5)} == {"behind"}
        assert (sum(count(models)), clock.current().now()) == (asked, began)
        await clock.current().sleep(31)
        assert (await model.ainvoke("hi")).text == "behind" and sum(count(models)) > asked


@pytest.mark.parametrize(("longest", "texts"), [(0, "abcccc"), (2.5, "ababab"), (1.5, "ababcc")])
async def test_where_others_are_behind_it_a_full_group_is_not_waited_for(longest: float, texts: str):
    """Or for as long as it says."""
    with virtual_clock():
        limits = [RateLimiter(60, adaptive=False), RateLimiter(60, adaptive=False)]
        deployments = [
            Deployment(hook_model(name), name=name, rate_limiter=limiter)
            for name, limiter in zip("ab", limits, strict=True)
        ]
        router = ChatRouter(deployments=deployments, longest_wait=longest)
        model, replies = router.with_fallbacks([hook_model("c")]), list[str]()

        async def ask() -> None:
            replies.append((await model.ainvoke("hi")).text)

        began = clock.current().now()
        async with anyio.create_task_group() as group:
            for _ in texts:
                group.start_soon(ask)
        assert sorted(replies) == sorted(texts)
        assert clock.current().now() - began <= longest
        assert not any(state.resting for state in await router.astate())


async def test_rests_in_a_row_grow_and_never_rest_the_last_able_one():
    with virtual_clock():
        router, _ = route(fail(ProviderUnavailable), "b", allowed_fails=1, cooldown=10, affinity=False)
        lengths = []
        for _ in range(6):
            while not (state := (await router.astate())[0]).resting:
                await router.ainvoke("hi")
            lengths.append(round(state.resting))
            await clock.current().sleep(state.resting + 0.1)
        assert lengths == [10, 20, 40, 80, 80, 80]
        alone, _ = route(fail(ProviderUnavailable), allowed_fails=1)
        with pytest.raises(ProviderUnavailable):
            await alone.ainvoke("hi")
        assert (await alone.astate())[0].resting == 0


async def test_a_conversation_stays_where_its_messages_say():
    router, _ = route("a", "b", "c")
    for _ in range(10):
        talk: list[Any] = [HumanMessage("hi")]
        talk += [await router.ainvoke(talk), HumanMessage("go on")]
        first = talk[1].response_metadata["deployment"]
        for _ in range(3):
            talk += [await router.ainvoke(talk), HumanMessage("go on")]
            assert talk[-2].response_metadata["deployment"] == first


def test_the_first_turn_of_a_session_is_placed_by_its_id():
    """The same in every process; where its deployment is away, its sessions alone move."""

    def place(*names: str) -> dict[str, str]:
        router = ChatRouter(deployments=[Deployment(hook_model(name), name=name) for name in names])
        return {id: router.invoke("hi", {"metadata": {"session_id": id}}).text for id in map(str, range(100))}

    whole, again, less = place("a", "b", "c"), place("a", "b", "c"), place("a", "b")
    assert whole == again and min(Counter(whole.values()).values()) > 15
    assert all(less[id] == name for id, name in whole.items() if name != "c")


async def test_a_conversation_that_is_too_long_goes_to_a_larger_window():
    small, large = ({"max_input_tokens": 1000}, {"max_input_tokens": 9000})
    too_long = fail(ContextLengthExceeded, retryable=False)
    models = [hook_model(too_long, profile=small), hook_model("large", profile=large), hook_model("c", profile=small)]
    router = ChatRouter(
        deployments=[Deployment(models[0]), Deployment(models[1], weight=0), Deployment(models[2], weight=0)]
    )
    assert (await router.ainvoke("hi")).text == "large"
    assert router.profile == small
    with pytest.raises(ContextLengthExceeded):
        await ChatRouter(deployments=[models[0], hook_model(too_long, profile=small)]).ainvoke("hi")


async def test_a_stream_goes_elsewhere_until_something_was_handed_out():
    early = ScriptedChatModel(script=[Turn(text="x", error=fail(ConnectionFailed), error_after=0)])
    router = ChatRouter(deployments=[Deployment(early, name="a"), Deployment(hook_model("b"), name="b", weight=0)])
    assert "".join([chunk.text async for chunk in router.astream("hi")]) == "b"
    cut = ScriptedChatModel(script=[Turn(text=["x", "y"], error=StreamTruncated("cut", retryable=True), error_after=1)])
    router = ChatRouter(deployments=[Deployment(cut, name="a"), Deployment(hook_model("b"), name="b", weight=0)])
    texts: list[str] = []
    with pytest.raises(StreamTruncated) as failure:
        async for chunk in router.astream("hi"):
            texts.append(chunk.text)
    assert "".join(texts) == "x" and failure.value.partial is not None


async def test_a_deployment_without_room_is_passed_over_and_then_waited_for():
    with virtual_clock():
        models = [hook_model(name) for name in "ab"]
        router = ChatRouter(
            deployments=[
                Deployment(model, name=model.do, rate_limiter=RateLimiter(60, adaptive=False)) for model in models
            ]
        )
        began = clock.current().now()
        assert {(await router.ainvoke("hi")).text for _ in range(2)} == {"a", "b"}
        assert clock.current().now() == began
        async with anyio.create_task_group() as group:
            for _ in range(18):
                group.start_soon(router.ainvoke, "hi")
        assert clock.current().now() - began <= 13.5  # one a second of each, and two drawn are once in a while the same
        assert count(models) == [pytest.approx(10, abs=4)] * 2


async def test_one_that_was_waited_for_and_fails_is_followed_by_another_at_once():
    with virtual_clock():
        models = [hook_model(fail(ProviderUnavailable)), hook_model("b")]
        limits = [RateLimiter(60, adaptive=False), RateLimiter(59, adaptive=False)]
        for limiter in limits:
            await limiter.aacquire()
        router = ChatRouter(
            deployments=[
                Deployment(model, name=name, weight=weight, rate_limiter=limiter)
                for model, name, weight, limiter in zip(models, "ab", (1, 0), limits, strict=True)
            ],
            retry=RetryPolicy(max_attempts=2, first_pause=60),
        )
        began = clock.current().now()
        assert (await router.ainvoke("hi")).text == "b"
        assert clock.current().now() - began < 3


async def test_a_deployment_has_its_own_time():
    """One that takes longer than it may is followed by another; the router's own time ends the call."""

    async def hang(call: Any) -> Any:
        await clock.current().sleep(1000)

    with virtual_clock():
        slow, quick = hook_model(hang, timeout=5), hook_model("b")
        router = ChatRouter(deployments=[Deployment(slow, name="a"), Deployment(quick, name="b", weight=0)])
        began = clock.current().now()
        assert (await router.ainvoke("hi")).text == "b" and clock.current().now() - began == 5
        with pytest.raises(TotalTimeout, match="longer than 3 s") as failure:
            await router.ainvoke("hi", timeout=3)
        assert not failure.value.retryable and clock.current().now() - began == 8
        alone = ChatRouter(deployments=[slow], timeout=12)
        with pytest.raises(TotalTimeout, match="longer than 12 s"):
            await alone.ainvoke("hi")


async def test_the_ledger_says_who_was_asked():
    entries: list[LedgerEntry] = []
    ledger = CallbackLedger(entries.append)
    router, _ = route(fail(AuthenticationError, retryable=False), "b", ledger=ledger)
    while (await router.astate())[0].resting == 0:
        await router.ainvoke("hi")
    await ledger.aflush()
    assert {(entry.metadata["deployment"], entry.outcome) for entry in entries} >= {("a", "failed"), ("b", "ok")}


def test_it_travels_with_what_can_be_made_anew():
    router = ChatRouter(deployments=["fake:a", "fake:b"], cooldown=5)
    router.invoke("hi")
    loaded = pickle.loads(pickle.dumps(router))
    assert loaded.invoke("hi").text in ("a", "b") and loaded.cooldown == 5
    names = [one.name for one in router._all]
    assert len(set(names)) == 2 and names[1].endswith("#2")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ChatRouter(deployments=[]), "deployments is a list"),
        (lambda: ChatRouter(deployments="openai:gpt-5.2"), "deployments is a list"),
        (
            lambda: ChatRouter(deployments=[Deployment("fake:a", name="x"), Deployment("fake:b", name="x")]),
            "are called 'x'",
        ),
        (lambda: ChatRouter(deployments=[ChatRouter(deployments=["fake:a"])]), "a router cannot be a deployment"),
        (
            lambda: ChatRouter(deployments=["fake:a"], rate_limiter=RateLimiter(60)),
            "give the rate_limiter to its models",
        ),
        (lambda: Deployment("fake:a", weight=-1), "the weight of a Deployment is -1"),
        (lambda: Deployment(7), "the model of a Deployment is int"),  # type: ignore[arg-type]
        (lambda: Deployment("fake:a", rate_limiter=5), "the rate_limiter of a Deployment is int"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_refused(make: Callable[[], object], words: str):
    with pytest.raises(ValueError, match=words):
        make()
