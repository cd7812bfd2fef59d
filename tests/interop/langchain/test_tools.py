"""Tools, histories, retrievers, prompts and runnables, there and back."""

import warnings
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
import langchain_core.documents as lc_documents
import langchain_core.messages as lc
import pytest
from langchain_core.callbacks import AsyncCallbackHandler as LCAsyncHandler
from langchain_core.chat_history import InMemoryChatMessageHistory as LCInMemoryHistory
from langchain_core.output_parsers import StrOutputParser as LCStrOutputParser
from langchain_core.prompts import ChatPromptTemplate as LCChatPromptTemplate
from langchain_core.retrievers import BaseRetriever as LCBaseRetriever
from langchain_core.runnables import RunnableGenerator as LCRunnableGenerator, RunnableLambda as LCRunnableLambda
from langchain_core.tools import (
    InjectedToolCallId as LCInjectedToolCallId,
    ToolException as LCToolException,
    tool as lc_tool,
)
from pydantic import ValidationError

from hocket import ScriptedChatModel, Turn
from hocket.agents import create_agent
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.documents import Document
from hocket.errors import InvalidInput, ToolException
from hocket.interop.langchain import from_langchain, langchain_callbacks, to_langchain
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.output_parsers import StrOutputParser
from hocket.prompts import ChatPromptTemplate
from hocket.retrievers import BaseRetriever
from hocket.runnables import RunnableLambda
from hocket.tools import BaseTool, InjectedToolCallId, tool
from tests.kit import CHAIN_EVENTS, MODEL_EVENTS, TOOL_EVENTS, Recorder

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])


def call(name: str, /, **args: Any) -> Any:
    return {"type": "tool_call", "name": name, "args": args, "id": "c1"}


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    if a < 0:
        raise ToolException("no negative numbers")
    return a + b


@tool(response_format="content_and_artifact")
async def fetch(name: str) -> tuple[str, dict[str, int]]:
    """Fetch something."""
    return f"the {name}", {"size": 3}


@lc_tool
def lc_add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    if a < 0:
        raise LCToolException("no negative numbers")
    return a + b


@lc_tool(response_format="content_and_artifact")
def lc_fetch(name: str) -> tuple[str, dict[str, int]]:
    """Fetch something."""
    return f"the {name}", {"size": 3}


class Runs(LCAsyncHandler):
    """Notes the runs of tools, models and chains."""

    def __init__(self) -> None:
        self.starts: list[tuple[str, Any, Any]] = []

    async def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: Any, parent_run_id: Any = None, **kw: Any
    ) -> None:
        self.starts.append(("tool", run_id, parent_run_id))

    async def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, **kw: Any
    ) -> None:
        self.starts.append(("model", run_id, parent_run_id))

    async def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: Any, parent_run_id: Any = None, **kw: Any
    ) -> None:
        self.starts.append(("retriever", run_id, parent_run_id))


# -- hocket's tools in LangChain


@asyncio_only
async def test_a_tool_in_langchain() -> None:
    there = to_langchain(add)
    assert (there.name, there.description) == ("add", "Add two numbers.")
    assert there.args["b"]["default"] == 1
    assert await there.ainvoke({"a": 2}) == 3
    reply = await there.ainvoke(call("add", a=2, b=3))
    assert (type(reply), reply.content, reply.tool_call_id, reply.status) == (lc.ToolMessage, "5", "c1", "success")
    assert from_langchain(there) is add


def test_a_tool_in_langchain_by_its_sync_verb() -> None:
    assert to_langchain(add).invoke({"a": 2}) == 3


@asyncio_only
async def test_its_artifact_and_return_direct_go_along() -> None:
    there = to_langchain(fetch.model_copy(update={"return_direct": True}))
    reply = await there.ainvoke(call("fetch", name="book"))
    assert (reply.content, reply.artifact) == ("the book", {"size": 3})
    assert there.return_direct
    assert await there.ainvoke({"name": "book"}) == "the book"


@asyncio_only
async def test_its_errors_are_handled_by_its_own_flags() -> None:
    with pytest.raises(LCToolException, match="no negative"):
        await to_langchain(add).ainvoke({"a": -1})
    with pytest.raises(ValidationError):
        await to_langchain(add).ainvoke({"a": "much"})
    for flag, words in [
        (True, "no negative numbers"),
        ("Try again.", "Try again."),
        (lambda error: f"{type(error).__module__}!", "hocket.errors.own!"),
    ]:
        handling = to_langchain(add.model_copy(update={"handle_tool_error": flag, "handle_validation_error": True}))
        reply = await handling.ainvoke(call("add", a=-1))
        assert (reply.content, reply.status) == (words, "error")
    assert (await handling.ainvoke(call("add", a="much"))).status == "error"


@asyncio_only
async def test_one_call_is_one_run_and_what_runs_inside_is_heard() -> None:
    model, runs = ScriptedChatModel(script=["a"]), Runs()

    @tool
    async def ask(question: str) -> str:
        """Ask."""
        return (await model.ainvoke(question)).text

    await to_langchain(ask).ainvoke({"question": "q"}, {"callbacks": [runs]})
    assert [kind for kind, _, _ in runs.starts] == ["tool", "model"]
    assert runs.starts[1][2] == runs.starts[0][1]


@asyncio_only
async def test_langchains_agent_works_with_them(langgraph: None) -> None:
    from langchain.agents import create_agent as lc_create_agent

    model = ScriptedChatModel(script=[Turn(tool_calls=[call("fetch", name="book")]), "Here it is."])
    done = await lc_create_agent(to_langchain(model), to_langchain([fetch])).ainvoke({"messages": [("human", "q")]})
    assert done["messages"][2].artifact == {"size": 3}
    assert done["messages"][-1].text == "Here it is."


# -- LangChain's tools in hocket


async def test_a_tool_of_langchains() -> None:
    """On trio, too: there its sync code runs in a worker thread."""
    here = from_langchain(lc_add)
    assert isinstance(here, BaseTool)
    assert (here.name, here.description) == ("lc_add", "Add two numbers.")
    assert here.args["a"]["type"] == "integer"
    assert await here.ainvoke({"a": 2}) == 3
    assert await here.ainvoke(call("lc_add", a=2, b=3)) == ToolMessage("5", tool_call_id="c1", name="lc_add")
    assert to_langchain(here) is lc_add


def test_a_tool_of_langchains_by_its_sync_verb() -> None:
    assert from_langchain(lc_add).invoke({"a": 2}) == 3


async def test_an_artifact_of_langchains() -> None:
    reply = await from_langchain(lc_fetch).ainvoke(call("lc_fetch", name="book"))
    assert (reply.content, reply.artifact) == ("the book", {"size": 3})


async def test_errors_of_langchains_tools() -> None:
    with pytest.raises(ToolException, match="no negative"):
        await from_langchain(lc_add).ainvoke({"a": -1})
    for flag, words in [
        (True, "no negative numbers"),
        ("Try again.", "Try again."),
        (lambda error: f"{type(error).__module__}!", "langchain_core.tools.base!"),
    ]:
        handling = from_langchain(lc_add.model_copy(update={"handle_tool_error": flag}))
        reply = await handling.ainvoke(call("lc_add", a=-1))
        assert (reply.content, reply.status) == (words, "error")


@asyncio_only
async def test_hockets_agent_works_with_them_and_each_call_is_one_run() -> None:
    recorder, runs = Recorder(*TOOL_EVENTS, *MODEL_EVENTS), Runs()
    inner = to_langchain(ScriptedChatModel(script=["deep"]))

    @lc_tool
    async def ask(question: str) -> str:
        """Ask."""
        return (await inner.ainvoke(question)).text

    model = ScriptedChatModel(script=[Turn(tool_calls=[call("ask", question="q")]), "Done."])
    agent = create_agent(model, from_langchain([ask]))
    result = await agent.ainvoke("go", {"callbacks": [recorder, runs]})
    assert result["messages"][2].content == "deep"
    assert recorder.count("on_tool_start") == recorder.count("on_tool_end") == 1
    tool_run = next(run_id for kind, run_id, _ in runs.starts if kind == "tool")
    assert [kind for kind, _, _ in runs.starts].count("tool") == 1
    assert [parent for kind, _, parent in runs.starts if kind == "model"].count(tool_run) == 1


@asyncio_only
async def test_a_tool_learns_the_id_of_its_call_either_way() -> None:
    """A function that asks for it gets the caller's own, by every verb; one that does not returns what it returned."""

    @tool
    def remember(note: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Remember something."""
        return f"{note}: {call_id}"

    @lc_tool
    def lc_remember(note: str, call_id: Annotated[str, LCInjectedToolCallId]) -> str:
        """Remember something."""
        return f"{note}: {call_id}"

    there, here = to_langchain(remember), from_langchain(lc_remember)
    for one, given in ((there, call("remember", note="x")), (here, call("lc_remember", note="x"))):
        replies = await one.ainvoke(given), await anyio.to_thread.run_sync(one.invoke, given)
        assert [(reply.content, reply.tool_call_id) for reply in replies] == [("x: c1", "c1")] * 2
        assert "call_id" not in str(one.tool_call_schema if one is here else one.args)
    assert type(replies[0]) is ToolMessage
    assert await from_langchain(lc_add).ainvoke({"a": 1}) == 2


# -- histories


@asyncio_only
async def test_a_history_in_langchain() -> None:
    history = InMemoryChatMessageHistory()
    there = to_langchain(history)
    there.add_user_message("hi")
    await there.aadd_messages([lc.AIMessage("hello")])
    assert history.messages == [HumanMessage("hi"), AIMessage("hello")]
    assert await there.aget_messages() == there.messages == [lc.HumanMessage("hi"), lc.AIMessage("hello")]
    await there.aclear()
    assert history.messages == []
    assert from_langchain(there) is history


async def test_a_history_of_langchains() -> None:
    with warnings.catch_warnings():  # later versions call it deprecated
        warnings.simplefilter("ignore")
        history = LCInMemoryHistory()
    here = from_langchain(history)
    assert isinstance(here, BaseChatMessageHistory)
    await here.aadd_messages([HumanMessage("hi"), AIMessage("hello")])
    assert history.messages == [lc.HumanMessage("hi"), lc.AIMessage("hello")]
    assert await here.aget_messages() == [HumanMessage("hi"), AIMessage("hello")]
    await here.aclear()
    assert history.messages == []
    assert to_langchain(here) is history


# -- retrievers


class Shelf(BaseRetriever):
    """Finds one page."""

    async def _aget_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return [Document(f"about {query}", metadata={"n": 1}, id="d")]


class LCShelf(LCBaseRetriever):
    """Finds one page."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[lc_documents.Document]:
        return [lc_documents.Document(f"about {query}", metadata={"n": 1}, id="d")]


@asyncio_only
async def test_retrievers_both_ways_are_one_run() -> None:
    page, lc_page = Document("about x", metadata={"n": 1}), lc_documents.Document("about x", metadata={"n": 1}, id="d")
    for runs, retriever, found in [
        (Runs(), to_langchain(Shelf()), lc_page),
        (Runs(), from_langchain(LCShelf()), Document("about x", metadata=page.metadata, id="d")),
    ]:
        assert await retriever.ainvoke("x", {"callbacks": [runs]}) == [found]
        assert [kind for kind, _, _ in runs.starts] == ["retriever"]
    assert from_langchain(LCShelf()).invoke("x") == [Document("about x", metadata={"n": 1}, id="d")]
    shelf = Shelf()
    assert from_langchain(to_langchain(shelf)) is shelf


def test_a_text_is_the_only_argument() -> None:
    """As in LangChain, where programs call a search so; a tool of two arguments wants a dict."""

    @lc_tool
    def search(query: str) -> str:
        """Search."""
        return query.upper()

    @lc_tool
    def add(a: str, b: str) -> str:
        """Add."""
        return a + b

    assert from_langchain(search).invoke("x") == "X"
    with pytest.raises(InvalidInput, match="a dict of arguments"):
        from_langchain(add).invoke("x")


# -- prompts and other runnables


@asyncio_only
async def test_a_chain_of_hockets_in_langchain_tells_its_runs_once() -> None:
    recorder = Recorder(*CHAIN_EVENTS, *MODEL_EVENTS)
    model = ScriptedChatModel(script=["one two"] * 2)
    chain = to_langchain(ChatPromptTemplate.from_messages([("human", "{q}")]) | model | StrOutputParser())
    whole = chain | LCRunnableLambda(str.upper)
    assert await whole.ainvoke({"q": "x"}, {"callbacks": [to_langchain(recorder)]}) == "ONE TWO"
    assert recorder.count("on_chat_model_start") == recorder.count("on_llm_end") == 1
    assert all(len(ends) == 1 for ends in recorder.ends().values())
    assert [piece async for piece in chain.astream({"q": "x"}) if piece] == ["one", " two"]


def test_a_chain_in_langchain_by_its_sync_verbs() -> None:
    chain = to_langchain(ScriptedChatModel(script=["one two"] * 2) | StrOutputParser())
    assert chain.invoke("x") == "one two"
    assert [piece for piece in chain.stream("x") if piece] == ["one", " two"]


@asyncio_only
async def test_a_chain_of_langchains_in_hocket() -> None:
    recorder, runs = Recorder(*CHAIN_EVENTS, *MODEL_EVENTS), Runs()
    prompt = from_langchain(LCChatPromptTemplate.from_messages([("system", "s"), ("human", "{q}")]))
    model = ScriptedChatModel(script=["one two"] * 2)
    chain = prompt | model | from_langchain(LCStrOutputParser())
    assert await chain.ainvoke({"q": "x"}, {"callbacks": [recorder, runs]}) == "one two"
    assert [type(one).__name__ for one in model.requests[0].messages] == ["SystemMessage", "HumanMessage"]
    assert all(len(ends) == 1 for ends in recorder.ends().values())
    roots = [one for one in recorder.named("on_chain_start") if one.details["parent_run_id"] is None]
    assert len(roots) == 1
    assert [kind for kind, _, _ in runs.starts] == ["model"]


@asyncio_only
async def test_a_runnable_of_langchains_streams_and_is_closed() -> None:
    closed = anyio.Event()

    async def count(given: AsyncIterator[Any]) -> AsyncIterator[int]:
        try:
            for number in range(1000):
                await anyio.sleep(0.001)
                yield number
        finally:
            closed.set()

    here = from_langchain(LCRunnableGenerator(count))
    async with here.astream("x") as stream:
        assert await anext(stream) == 0
    with anyio.fail_after(30):
        await closed.wait()


def test_runnables_come_back_themselves() -> None:
    ours, theirs = RunnableLambda(lambda x: x), LCRunnableLambda(lambda x: x)
    assert from_langchain(to_langchain(ours)) is ours
    assert to_langchain(from_langchain(theirs)) is theirs
    assert langchain_callbacks().handlers == []
