"""hocket inside LangGraph and LangChain's runnables, and LangChain's objects handed to hocket as they are."""

import warnings
from collections.abc import Callable
from typing import Any, TypedDict

import langchain_core.documents as lc_documents
import langchain_core.messages as lc
import langchain_core.prompt_values as lc_prompt_values
import pytest
from langchain_core.caches import InMemoryCache as LCInMemoryCache
from langchain_core.callbacks import AsyncCallbackHandler as LCAsyncHandler
from langchain_core.chat_history import InMemoryChatMessageHistory as LCInMemoryChatMessageHistory
from langchain_core.embeddings import DeterministicFakeEmbedding as LCFakeEmbedding
from langchain_core.language_models import FakeListChatModel as LCFakeListChatModel
from langchain_core.prompts import PromptTemplate as LCPromptTemplate
from langchain_core.rate_limiters import InMemoryRateLimiter as LCInMemoryRateLimiter
from langchain_core.runnables import RunnableConfig as LCRunnableConfig, RunnableLambda as LCRunnableLambda
from langchain_core.tools import tool as lc_tool
from langchain_core.vectorstores import InMemoryVectorStore as LCInMemoryVectorStore

from hocket import Conversation, ScriptedChatModel
from hocket.agents import create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.classic.agents import create_tool_calling_agent
from hocket.classic.chains import RetrievalQA
from hocket.embeddings import CacheBackedEmbeddings, DeterministicFakeEmbedding
from hocket.interop.langchain import langchain_callbacks, to_langchain
from hocket.messages import AIMessageChunk, HumanMessage, filter_messages, trim_messages
from hocket.output_parsers import StrOutputParser
from hocket.prompts import ChatPromptTemplate, FewShotPromptTemplate
from hocket.retrievers import EnsembleRetriever
from hocket.runnables import RunnableWithMessageHistory
from hocket.text_splitters import RecursiveCharacterTextSplitter
from hocket.tools import Tool
from hocket.vectorstores import InMemoryVectorStore
from tests.kit import MODEL_EVENTS, Recorder


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Starts(LCAsyncHandler):
    """A handler of LangChain's that notes the runs: name, id, parent."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, Any, Any]] = []
        self.ends: list[Any] = []

    async def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **kw: Any
    ) -> None:
        self.runs.append((kw.get("name", ""), run_id, parent_run_id))

    async def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, **kw: Any
    ) -> None:
        assert isinstance(messages[0][0], lc.BaseMessage)
        self.runs.append(("model", run_id, parent_run_id))

    async def on_llm_end(self, response: Any, *, run_id: Any, **kw: Any) -> None:
        self.ends.append(run_id)

    @property
    def model(self) -> tuple[Any, Any]:
        ((_, run_id, parent),) = [run for run in self.runs if run[0] == "model"]
        return run_id, parent


class State(TypedDict, total=False):
    """What the graph keeps."""

    answer: str


def make_graph(node: Any) -> Any:
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(State)
    graph.add_node("ask", node)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile()


async def test_in_a_node_the_graphs_handlers_hear_of_it_under_the_nodes_run(langgraph: None) -> None:
    model, starts = ScriptedChatModel(script=["four"]), Starts()

    async def node(state: State) -> State:
        return {"answer": (await model.ainvoke("2+2?", {"callbacks": langchain_callbacks()})).text}

    assert (await make_graph(node).ainvoke({}, {"callbacks": [starts]}))["answer"] == "four"
    run_id, parent = starts.model
    assert parent == next(one for name, one, _ in starts.runs if name == "ask")
    assert starts.ends == [run_id]


async def test_a_nodes_config_is_a_config_of_hockets(langgraph: None) -> None:
    model, starts = ScriptedChatModel(script=["four"]), Starts()

    async def node(state: State, config: LCRunnableConfig) -> State:
        return {"answer": (await model.ainvoke("2+2?", config)).text}

    await make_graph(node).ainvoke({}, {"callbacks": [starts], "configurable": {"user": "u"}, "tags": ["t"]})
    assert starts.model[1] == next(one for name, one, _ in starts.runs if name == "ask")


async def test_stream_mode_messages_has_its_tokens(langgraph: None) -> None:
    model = ScriptedChatModel(script=["one two three"])

    async def node(state: State) -> State:
        async for _ in model.astream("go", {"callbacks": langchain_callbacks()}):
            pass
        return {"answer": "done"}

    pieces = [chunk async for chunk, _ in make_graph(node).astream({}, stream_mode="messages")]
    assert [one.text for one in pieces if one.text] == ["one", " two", " three"]
    assert all(isinstance(one, lc.AIMessageChunk) for one in pieces)


async def test_in_a_runnable_of_langchains_too() -> None:
    model, starts = ScriptedChatModel(script=["four"]), Starts()

    async def ask(question: str) -> str:
        return (await model.ainvoke(question, {"callbacks": langchain_callbacks()})).text

    assert await LCRunnableLambda(ask, name="asking").ainvoke("2+2?", {"callbacks": [starts]}) == "four"
    assert starts.model[1] == next(one for name, one, _ in starts.runs if name == "asking")


async def test_outside_nobody_is_told() -> None:
    callbacks = langchain_callbacks()
    assert (callbacks.handlers, callbacks.parent_run_id) == ([], None)
    assert (await ScriptedChatModel(script=["a"]).ainvoke("q", {"callbacks": callbacks})).text == "a"


async def test_inside_a_run_of_hockets_a_model_in_langchain_belongs_to_that() -> None:
    """hocket's chain runs a chain of LangChain's, which runs a model of hocket's: hocket's handlers hear one tree."""
    from hocket.runnables import RunnableLambda

    recorder = Recorder("on_chain_start", "on_chain_end", *MODEL_EVENTS)
    inner = LCRunnableLambda(lambda x: x) | to_langchain(ScriptedChatModel(script=["four"]))

    async def call(question: str) -> str:
        return (await inner.ainvoke(question)).text

    assert await RunnableLambda(call).ainvoke("2+2?", {"callbacks": [recorder]}) == "four"
    chain, model = recorder.only("on_chain_start"), recorder.only("on_chat_model_start")
    assert model.details["parent_run_id"] == chain.details["run_id"]


@lc_tool
def add(a: int) -> int:
    """Add one."""
    return a + 1


def make_model() -> ScriptedChatModel:
    return ScriptedChatModel(script=["a"])


SESSION: Any = {"configurable": {"session_id": "s"}}
PROMPT = ChatPromptTemplate.from_messages([("human", "{input}"), ("placeholder", "{agent_scratchpad}")])


def lc_history() -> Any:
    """Return a history of LangChain's, which it calls deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LCInMemoryChatMessageHistory()


def lc_retriever() -> Any:
    """Return a retriever of LangChain's."""
    return LCInMemoryVectorStore(LCFakeEmbedding(size=4)).as_retriever()


@pytest.mark.parametrize(
    "hand_over",
    [
        lambda: make_model().invoke([lc.HumanMessage("q")]),
        lambda: make_model().invoke(lc.HumanMessage("q")),  # type: ignore[arg-type]
        lambda: make_model().invoke(lc_prompt_values.StringPromptValue(text="q")),  # type: ignore[arg-type]
        lambda: make_model().bind_tools([add]),  # type: ignore[list-item]
        lambda: create_agent(make_model(), [add]),  # type: ignore[list-item]
        lambda: create_agent(LCFakeListChatModel(responses=["a"]), []),  # type: ignore[arg-type]
        lambda: make_model() | LCFakeListChatModel(responses=["a"]),  # type: ignore[operator]
        lambda: InMemoryChatMessageHistory().add_message(lc.HumanMessage("q")),  # type: ignore[arg-type]
        lambda: ChatPromptTemplate.from_messages([lc.SystemMessage("a")]),  # type: ignore[list-item]
        lambda: InMemoryVectorStore(DeterministicFakeEmbedding(size=4)).add_documents([lc_documents.Document("a")]),  # type: ignore[list-item]
        lambda: InMemoryVectorStore(LCFakeEmbedding(size=4)),
        lambda: CacheBackedEmbeddings(LCFakeEmbedding(size=4), {}),
        lambda: make_model().with_fallbacks([LCFakeListChatModel(responses=["a"])]),
        lambda: Conversation(LCFakeListChatModel(responses=["a"])),  # type: ignore[arg-type]
        lambda: RunnableWithMessageHistory(make_model(), lambda session_id: lc_history()).invoke("q", SESSION),
        lambda: create_agent(make_model(), []).invoke([lc.HumanMessage("q")]),  # type: ignore[list-item]
        lambda: create_tool_calling_agent(LCFakeListChatModel(responses=["a"]), [Tool("t", str, "d")], PROMPT),  # type: ignore[arg-type]
        lambda: RetrievalQA.from_llm(make_model(), lc_retriever()),
        lambda: EnsembleRetriever(retrievers=[lc_retriever()]),
        lambda: RecursiveCharacterTextSplitter().split_documents([lc_documents.Document("a")]),  # type: ignore[list-item]
        lambda: FewShotPromptTemplate(examples=[], example_prompt=LCPromptTemplate.from_template("a"), suffix="b"),
        lambda: StrOutputParser().invoke(lc.AIMessage("a")),  # type: ignore[arg-type]
        lambda: AIMessageChunk("a") + lc.AIMessageChunk("b"),
        lambda: trim_messages([], max_tokens=1, token_counter=LCFakeListChatModel(responses=["a"])),  # type: ignore[arg-type]
    ],
)
def test_what_is_handed_over_unconverted_names_the_way(hand_over: Callable[[], object]) -> None:
    with pytest.raises((ValueError, TypeError), match=r"hocket\.interop\.langchain\.from_langchain"):
        hand_over()


def test_what_has_no_form_here_is_refused_by_what_hocket_takes() -> None:
    """A cache, a limiter and a class of messages are not bridged, so the error does not say so."""
    for refuse in (
        lambda: ScriptedChatModel(script=[], cache=LCInMemoryCache()),
        lambda: ScriptedChatModel(script=[], rate_limiter=LCInMemoryRateLimiter(requests_per_second=1)),
        lambda: filter_messages([HumanMessage("q")], include_types=[lc.HumanMessage]),  # type: ignore[list-item]
    ):
        with pytest.raises(ValueError, match=r"BaseCache|BaseRateLimiter|hocket\.messages") as caught:
            refuse()
        assert "from_langchain" not in str(caught.value)
