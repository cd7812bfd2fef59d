"""Which span is inside which; and what is the current span, for the application and for whoever reads a stream."""

import functools
import gc
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN, Span, get_current_span

from hocket import Conversation
from hocket.agents import create_agent
from hocket.callbacks import CallbackManager, trace_as_chain_group
from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.language_models import FakeListChatModel, GenericFakeChatModel, ScriptedChatModel, Turn
from hocket.messages import AIMessage, HumanMessage
from hocket.runnables import RunnableLambda, RunnableParallel
from hocket.tools import tool
from hocket.vectorstores import InMemoryVectorStore
from tests.kit import hook_model
from tests.tracing.telemetry import Collected

MODEL = FakeListChatModel(responses=["one two three"])
CHAT = "chat fake-list-chat-model"


# -- inside which


async def test_what_runs_inside_is_inside(collected: Collected) -> None:
    """Whatever the application opens in between."""
    tracer = collected.tracers.get_tracer("app")

    async def ask(text: str) -> str:
        with tracer.start_as_current_span("own"):
            return (await MODEL.ainvoke(text)).text

    with tracer.start_as_current_span("outside"):
        await RunnableLambda(ask).ainvoke("x")
    assert {span.name: collected.parent(span) for span in collected.spans} == {
        "outside": None,
        "invoke_workflow ask": "outside",
        "own": "invoke_workflow ask",
        CHAT: "own",
    }


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_the_applications_span_in_a_tool_is_inside_the_tools(collected: Collected, is_async: bool) -> None:
    """Also where the tool is sync code and runs in a worker thread; and all of it inside the agent's."""
    tracer = collected.tracers.get_tracer("app")

    def look(place: str) -> str:
        """Look."""
        with tracer.start_as_current_span("own"):
            return place

    async def alook(place: str) -> str:
        """Look."""
        await anyio.lowlevel.checkpoint()
        return look(place)

    call = {"type": "tool_call", "name": "look", "args": {"place": "here"}, "id": "call-1"}
    model = ScriptedChatModel(script=[Turn(tool_calls=[call]), "done"])
    agent = create_agent(model, [tool("look")(alook if is_async else look)], name="scout")
    await agent.ainvoke("x")
    assert collected.parent(collected.span("own")) == "execute_tool look"
    assert collected.parent(collected.span("execute_tool")) == "invoke_agent scout"
    chats = [span for span in collected.spans if span.name.startswith("chat")]
    assert [collected.parent(span) for span in chats] == ["invoke_agent scout"] * 2
    said = collected.span("execute_tool").attributes or {}
    assert said == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Look.",
        "gen_ai.tool.call.id": "call-1",
    }
    assert collected.span("invoke_agent").attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "scout",
        "gen_ai.request.model": "scripted-chat-model",
        "gen_ai.provider.name": "scriptedchatmodel",
    }


async def test_retrievers_and_embeddings_are_spans_of_their_kinds(collected: Collected) -> None:
    """The embedding of the question is inside the search."""
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    await store.aadd_documents([Document("a")])
    await store.as_retriever().ainvoke("x")
    retrieval = collected.span("retrieval")
    assert (retrieval.attributes or {})["gen_ai.operation.name"] == "retrieval"
    embeddings = [span for span in collected.spans if span.name.startswith("embeddings")]
    assert [collected.parent(span) for span in embeddings] == [None, retrieval.name]


async def test_forty_at_once_share_nothing(collected: Collected) -> None:
    """Over tasks, threads, a batch, streams and several conversations at once: each has a parent of its own, or none."""
    tracer = collected.tracers.get_tracer("app")
    model = FakeListChatModel(responses=["a b"], sleep=0.001)

    async def read(index: int) -> None:
        with tracer.start_as_current_span(f"task {index}"):
            if index % 2:
                await model.ainvoke("x")
            else:
                async for _ in model.astream("x"):
                    await anyio.lowlevel.checkpoint()

    def call(index: int) -> None:
        with tracer.start_as_current_span(f"thread {index}"):
            model.invoke("x")

    async with anyio.create_task_group() as group:
        for index in range(10):
            group.start_soon(read, index)
            group.start_soon(anyio.to_thread.run_sync, functools.partial(call, index))
        group.start_soon(RunnableLambda(lambda text: text).pipe(model).abatch, ["x"] * 10)
        group.start_soon(model.agenerate, [[HumanMessage("x")]] * 10)
    chats = [span for span in collected.spans if span.name == CHAT]
    parents = [collected.parent(span) for span in chats]
    assert len(chats) == 40
    assert sorted(name for name in parents if name and name.startswith(("task", "thread"))) == sorted(
        [f"task {index}" for index in range(10)] + [f"thread {index}" for index in range(10)]
    )
    sequences = [
        span.parent.span_id
        for span in chats
        if collected.parent(span) == "invoke_workflow RunnableSequence" and span.parent
    ]
    assert len(set(sequences)) == 10
    assert parents.count(None) == 10


async def test_branches_of_a_chain_are_beside_one_another(collected: Collected) -> None:
    """Streamed or not."""
    chain = RunnableParallel(a=MODEL, b=RunnableLambda(lambda text: text) | MODEL)
    await chain.ainvoke("x")
    async for _ in chain.astream("x"):
        pass
    for span in collected.spans:
        if span.name == "invoke_workflow RunnableSequence":
            assert collected.parent(span) == "invoke_workflow RunnableParallel<a,b>"
    parents = sorted(str(collected.parent(span)) for span in collected.spans if span.name == CHAT)
    assert parents == ["invoke_workflow RunnableParallel<a,b>"] * 2 + ["invoke_workflow RunnableSequence"] * 2


async def test_a_call_elsewhere_is_inside_the_run_that_it_names(collected: Collected) -> None:
    """By its callbacks, where the context is another one."""
    managers: list[Any] = []
    RunnableLambda(lambda text: managers.append(CallbackManager.configure()) or text).invoke("x")
    with trace_as_chain_group("group") as group:
        thread = threading.Thread(target=MODEL.invoke, args=("x", {"callbacks": group}))
        thread.start()
        thread.join()
    assert collected.parent(collected.span(CHAT)) == "invoke_workflow group"


# -- the current span


def current() -> Span:
    """Return the current span."""
    return get_current_span()


@pytest.fixture
def own(collected: Collected) -> Span:
    """A span of the application's."""
    return collected.tracers.get_tracer("app").start_span("own")


async def test_a_models_span_is_current_while_it_answers(collected: Collected) -> None:
    """So that its HTTP client's spans are inside it; and no longer."""
    seen: list[Span] = []

    async def answer(*args: Any, **kwargs: Any) -> Any:
        seen.append(current())
        return AIMessage("hi")

    await hook_model(answer).ainvoke("x")
    assert current() is INVALID_SPAN
    assert [span.get_span_context() for span in seen] == [span.context for span in collected.spans]


@pytest.mark.parametrize(
    "make",
    [
        lambda: MODEL,
        lambda: GenericFakeChatModel(messages=iter([AIMessage("one two three")])),
        lambda: RunnableLambda(lambda text: text) | MODEL,
    ],
    ids=["list", "generic", "chain"],
)
async def test_whoever_reads_a_stream_keeps_his_span(collected: Collected, own: Span, make: Callable[[], Any]) -> None:
    """Before, between and after the chunks, in async and in sync code."""
    with trace.use_span(own):
        seen = [current()]
        async for _ in make().astream("x"):
            seen.append(current())
        seen.append(current())
        for _ in make().stream("x"):
            seen.append(current())
        seen.append(current())
    own.end()
    assert set(map(id, seen)) == {id(own)}
    assert all(collected.parent(span) != span.name for span in collected.spans if span.name == CHAT)


def scout() -> Any:
    """Return an agent that calls a tool once."""

    @tool
    def look(place: str) -> str:
        """Look."""
        return place

    call = {"type": "tool_call", "name": "look", "args": {"place": "here"}, "id": "call-1"}
    return create_agent(ScriptedChatModel(script=[Turn(tool_calls=[call]), "done"]), [look])


CHAIN = RunnableLambda(lambda text: text) | MODEL
ITERATORS: dict[str, Callable[[], Any]] = {
    "agent": lambda: scout().astream("x"),
    "events": lambda: CHAIN.astream_events("x", version="v2"),
    "batch": lambda: CHAIN.abatch_as_completed(["x"] * 3),
    "conversation": lambda: Conversation(MODEL).astream("x"),
}


@pytest.mark.parametrize("make", ITERATORS.values(), ids=ITERATORS)
async def test_so_does_whoever_reads_anything_else(
    collected: Collected, own: Span, make: Callable[[], AsyncIterator[Any]]
) -> None:
    """Agents, events, batches and conversations; what runs is inside the reader's span."""
    with trace.use_span(own, end_on_exit=True):
        async for _ in make():
            assert current() is own
        assert current() is own
    assert [span.name for span in collected.spans if span.parent is None] == ["own"]


async def test_a_chain_that_is_left_is_closed(collected: Collected) -> None:
    """As the model inside it."""
    chain = RunnableLambda(lambda text: text) | FakeListChatModel(responses=["x" * 200])
    async with chain.astream("x") as stream:
        async for _ in stream:
            break
    for name in (CHAT, "invoke_workflow RunnableSequence"):
        assert (collected.span(name).attributes or {})["hocket.closed"] is True


async def test_leaving_a_stream_leaves_nothing(collected: Collected, own: Span) -> None:
    """By a break in a generator around it, by `aclose` from another task, and to the garbage collector: one span each."""

    model = FakeListChatModel(responses=["x" * 200])  # more than is read ahead

    async def around() -> AsyncIterator[Any]:
        async for chunk in model.astream("x"):
            yield chunk

    with trace.use_span(own):
        generator = around()
        async for _ in generator:
            break
        assert current() is own
        await generator.aclose()  # type: ignore[attr-defined]

        stream = model.astream("x")
        await anext(aiter(stream))
        async with anyio.create_task_group() as group:
            group.start_soon(stream.aclose)
        assert current() is own

        stream = model.astream("x")
        await anext(aiter(stream))
        del stream
        gc.collect()
        with anyio.fail_after(30):
            while len(collected.spans) < 3:  # noqa: ASYNC110  # a span tells nobody that it has ended
                await anyio.sleep(0.001)
        assert current() is own
    assert collected.names == [CHAT] * 3
    assert [(span.attributes or {}).get("hocket.closed") for span in collected.spans] == [True] * 3


async def test_a_failure_gives_the_span_back(collected: Collected, own: Span) -> None:
    """As an end does."""

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ValueError("no")

    with trace.use_span(own):
        with pytest.raises(ValueError, match="no"):
            await RunnableLambda(fail).ainvoke("x")
        with pytest.raises(ValueError, match="no"):
            RunnableLambda(fail).invoke("x")
        assert current() is own


async def test_runs_that_overlap_in_one_context_leave_nothing(collected: Collected, own: Span) -> None:
    """Whichever ends first."""
    for first in (0, 1):
        with trace.use_span(own):
            manager = CallbackManager.configure()
            runs = [manager.on_chain_start({"name": name}, {}) for name in ("a", "b")]
            runs[first].on_chain_end({})
            runs[1 - first].on_chain_end({})
            assert current() is own


async def test_a_span_that_the_application_leaves_open_is_not_taken_away(collected: Collected) -> None:
    """Its context is its own."""
    tracer = collected.tracers.get_tracer("app")
    manager = CallbackManager.configure()
    run = manager.on_chain_start({"name": "a"}, {})
    block = tracer.start_as_current_span("own")
    span = block.__enter__()
    run.on_chain_end({})
    assert current() is span
    block.__exit__(None, None, None)
