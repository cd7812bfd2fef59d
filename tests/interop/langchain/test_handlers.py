"""Handlers of LangChain's in hocket's callbacks, as they are; and hocket's in LangChain's."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import langchain_core.documents as lc_documents
import langchain_core.messages as lc
import langchain_core.outputs as lc_outputs
import pytest
from langchain_core.callbacks import (
    AsyncCallbackHandler as LCAsyncHandler,
    AsyncCallbackManager as LCAsyncManager,
    BaseCallbackHandler as LCHandler,
    UsageMetadataCallbackHandler as LCUsageHandler,
)
from langchain_core.language_models import FakeListChatModel as LCFakeListChatModel
from langchain_core.tracers import BaseTracer as LCBaseTracer
from pydantic import PrivateAttr

from hocket import FakeListLLM, ScriptedChatModel, Turn
from hocket.agents import create_agent
from hocket.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from hocket.documents import Document
from hocket.errors import RateLimitError
from hocket.interop.langchain import from_langchain, to_langchain
from hocket.messages import AIMessage, BaseMessage, HumanMessage
from hocket.prompts import ChatPromptTemplate
from hocket.retrievers import BaseRetriever
from hocket.runnables import RunnableLambda
from hocket.tools import tool
from tests.kit import Recorder

USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
CALL = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1", "type": "tool_call"}
EVENTS = [name for name in vars(LCAsyncHandler) if name.startswith("on_") and name != "on_stream_event"]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Notes:
    """What a handler of LangChain's was told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def note(self, name: str, args: tuple[Any, ...], details: dict[str, Any]) -> None:
        refuse_hockets(args)
        refuse_hockets(details)
        self.events.append((name, args, details))

    @property
    def names(self) -> list[str]:
        """What happened, in order, less the tokens."""
        return [name for name, _, _ in self.events if name != "on_llm_new_token"]

    def runs(self) -> dict[UUID, list[str]]:
        runs: dict[UUID, list[str]] = {}
        for name, _, details in self.events:
            runs.setdefault(details["run_id"], []).append(name)
        return runs

    def first(self, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return next((args, details) for one, args, details in self.events if one == name)


def refuse_hockets(value: Any) -> None:
    """Fail if anything in ``value`` is of a class of hocket's that LangChain has, too."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            refuse_hockets(one)
    assert not isinstance(value, BaseMessage | Document), value
    assert not type(value).__module__.startswith(("hocket.outputs", "hocket.prompt_values")), value


def make_handler(kind: str) -> tuple[Any, Notes]:
    """Return a handler of LangChain's that notes everything: a sync one, an async one, or one that is called inline."""
    notes = Notes()

    def sync_method(name: str) -> Callable[..., Any]:
        def method(self: Any, *args: Any, **details: Any) -> None:
            notes.note(name, args, details)

        return method

    def async_method(name: str) -> Callable[..., Any]:
        async def method(self: Any, *args: Any, **details: Any) -> None:
            notes.note(name, args, details)

        return method

    base, make = (LCAsyncHandler, async_method) if kind == "async" else (LCHandler, sync_method)
    cls = type("Noting", (base,), {name: make(name) for name in EVENTS})
    handler = cls()
    handler.raise_error = True
    handler.run_inline = kind == "inline"
    return handler, notes


kinds = pytest.mark.parametrize("kind", ["sync", "async", "inline"])


@kinds
async def test_a_model_tells_it_langchains_objects(kind: str) -> None:
    handler, notes = make_handler(kind)
    run_id = uuid4()
    model = ScriptedChatModel(script=[Turn(text="a b", usage=USAGE)] * 2)
    config = {"callbacks": [handler], "run_id": run_id, "tags": ["t"], "metadata": {"k": 1}, "run_name": "asking"}
    await model.ainvoke([HumanMessage("q")], config)
    assert notes.names == ["on_chat_model_start", "on_llm_end"]
    (_, messages), details = notes.first("on_chat_model_start")
    assert messages == [[lc.HumanMessage("q")]]
    assert (details["run_id"], details["parent_run_id"], details["tags"], details["name"]) == (
        run_id,
        None,
        ["t"],
        "asking",
    )
    assert details["metadata"]["k"] == 1
    (result,), details = notes.first("on_llm_end")
    assert isinstance(result, lc_outputs.LLMResult)
    assert result.generations[0][0].message.usage_metadata == USAGE
    assert details["run_id"] == run_id
    notes.events.clear()
    async for _ in model.astream("q", {"callbacks": [handler]}):
        pass
    assert [name for name, _, _ in notes.events] == ["on_chat_model_start", *["on_llm_new_token"] * 3, "on_llm_end"]
    (token,), details = notes.first("on_llm_new_token")
    assert token == "a"
    assert type(details["chunk"]) is lc_outputs.ChatGenerationChunk
    assert type(details["chunk"].message) is lc.AIMessageChunk


@kinds
def test_sync_verbs_tell_it_too(kind: str) -> None:
    handler, notes = make_handler(kind)
    model = ScriptedChatModel(script=["a", "b"], callbacks=[handler])
    model.invoke("q")
    for _ in model.stream("q"):
        pass
    assert notes.names.count("on_chat_model_start") == notes.names.count("on_llm_end") == 2
    FakeListLLM(responses=["x"]).invoke("q", {"callbacks": [handler]})
    assert notes.events[-2][:2] == ("on_llm_start", (notes.events[-2][1][0], ["q"]))


class Shelf(BaseRetriever):
    """Finds one page."""

    _found: list[Document] = PrivateAttr(default_factory=lambda: [Document("page", metadata={"n": 1}, id="d")])

    async def _aget_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return self._found


@kinds
async def test_chains_tools_and_retrievers_tell_it_each_run_once_under_its_parent(kind: str) -> None:
    handler, notes = make_handler(kind)
    model = ScriptedChatModel(script=[Turn(text="a", tool_calls=[CALL]), "It is 3."])
    agent = create_agent(model, [add])
    chain = ChatPromptTemplate.from_messages([("human", "{q}")]) | agent
    await chain.ainvoke({"q": "1+2?"}, {"callbacks": [handler]})
    await (Shelf() | RunnableLambda(lambda found: found)).ainvoke("q", {"callbacks": [handler]})
    starts = {
        details["run_id"]: details["parent_run_id"] for name, _, details in notes.events if name.endswith("_start")
    }
    for run_id, names in notes.runs().items():
        assert len([name for name in names if name.endswith("_start")]) == 1, names
        assert len([name for name in names if name.endswith(("_end", "_error"))]) == 1, names
        assert starts[run_id] is None or starts[run_id] in starts
    (output,), _ = notes.first("on_tool_end")
    assert output == lc.ToolMessage("3", tool_call_id="c1", name="add") or str(output) == "3"
    assert notes.first("on_retriever_end")[0] == ([lc_documents.Document("page", metadata={"n": 1}, id="d")],)


async def test_it_hears_an_error_with_what_had_come() -> None:
    handler, notes = make_handler("async")
    model = ScriptedChatModel(script=[Turn(text="a b c", error=RateLimitError("busy"), error_after=2)])
    with pytest.raises(RateLimitError):
        async for _ in model.astream("q", {"callbacks": [handler]}):
            pass
    (error,), details = notes.first("on_llm_error")
    assert isinstance(error, RateLimitError)
    assert details["response"].generations[0][0].message.text == "a b"


async def test_it_hears_retries_and_custom_events() -> None:
    from hocket.callbacks import adispatch_custom_event

    handler, notes = make_handler("async")
    model = ScriptedChatModel(script=[RateLimitError("busy", retryable=True), "a"], retry=2)
    await model.ainvoke("q", {"callbacks": [handler]})
    assert notes.names == ["on_chat_model_start", "on_retry", "on_llm_end"]

    async def tell(_: str) -> str:
        await adispatch_custom_event("seen", {"message": AIMessage("a")})
        return "done"

    await RunnableLambda(tell).ainvoke("x", {"callbacks": [handler]})
    assert notes.first("on_custom_event")[0] == ("seen", {"message": lc.AIMessage("a")})


async def test_only_what_it_has_overridden_is_heard() -> None:
    class Ends(LCHandler):
        ends: int = 0

        def on_llm_end(self, response: Any, **kwargs: Any) -> None:
            self.ends += 1

    class Old(LCHandler):
        prompts: Any = None

        def on_llm_start(self, serialized: Any, prompts: Any, **kwargs: Any) -> None:
            self.prompts = prompts

    class Deaf(Ends):
        ignore_llm = True

    ends, old, deaf = Ends(), Old(), Deaf()
    await ScriptedChatModel(script=["a"]).ainvoke("q", {"callbacks": [ends, old, deaf]})
    assert (ends.ends, deaf.ends) == (1, 0)
    assert old.prompts == ["Human: q"]  # as in LangChain: it knows no chat models


async def test_one_that_raises_stops_nothing_unless_it_says_so(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(LCAsyncHandler):
        async def on_llm_end(self, response: Any, **kwargs: Any) -> None:
            raise ZeroDivisionError

    handler = Broken()
    model = ScriptedChatModel(script=["a"] * 3)
    await model.ainvoke("q", {"callbacks": [handler]})
    await model.ainvoke("q", {"callbacks": [handler]})
    assert [record.levelname for record in caplog.records if record.name == "hocket.callbacks"] == ["WARNING"]
    handler.raise_error = True
    with pytest.raises(ZeroDivisionError):
        await model.ainvoke("q", {"callbacks": [handler]})


async def test_given_twice_it_hears_once() -> None:
    handler, notes = make_handler("async")
    model = ScriptedChatModel(script=["a"], callbacks=[handler])
    chain = RunnableLambda(lambda x: x) | model
    await chain.ainvoke("q", {"callbacks": [handler, handler]})
    assert notes.names.count("on_chat_model_start") == notes.names.count("on_llm_end") == 1


async def test_a_manager_of_langchains_is_callbacks() -> None:
    """What LangChain's own code has in its config: its runs are the parents, and its handlers hear."""
    handler, notes = make_handler("async")
    parent = uuid4()
    manager = LCAsyncManager([handler], [handler], parent, tags=["t"], inheritable_tags=["t"], metadata={"k": 1})
    model = ScriptedChatModel(script=["a", "b"])
    await model.ainvoke("q", {"callbacks": manager})
    await (RunnableLambda(lambda x: x) | model).ainvoke("q", {"callbacks": manager})
    starts = [details["parent_run_id"] for name, _, details in notes.events if name.endswith("_start")]
    assert starts[:2] == [parent, parent]
    assert all(len([name for name in names if name.endswith("_end")]) == 1 for names in notes.runs().values())


async def test_langchains_usage_handler_counts_hockets_calls() -> None:
    usage = LCUsageHandler()
    model = ScriptedChatModel(script=[Turn(text="a", usage=USAGE)] * 2)
    await model.ainvoke("q", {"callbacks": [usage]})
    async for _ in model.astream("q", {"callbacks": [usage]}):
        pass
    assert usage.usage_metadata["scripted"]["total_tokens"] == 10


class Tracer(LCBaseTracer):
    """A tracer as LangSmith's is: it builds a tree of runs."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: list[Any] = []

    def _persist_run(self, run: Any) -> None:
        self.roots.append(run)


async def test_a_tracer_of_langchains_builds_its_tree() -> None:
    tracer = Tracer()
    agent = create_agent(ScriptedChatModel(script=[Turn(tool_calls=[CALL]), "It is 3."]), [add])
    await agent.ainvoke("1+2?", {"callbacks": [tracer]})
    (root,) = tracer.roots

    def kinds_of(run: Any) -> list[str]:
        return [run.run_type, *(kind for child in run.child_runs for kind in kinds_of(child))]

    assert kinds_of(root).count("llm") == 2
    assert kinds_of(root).count("tool") == 1
    assert not tracer.run_map
    assert "not_implemented" not in str([run.inputs for run in root.child_runs])


def test_a_handler_goes_and_comes_back_itself() -> None:
    theirs, _ = make_handler("sync")
    assert to_langchain(from_langchain(theirs)) is theirs
    ours = Recorder("on_llm_end")
    assert from_langchain(to_langchain(ours)) is ours


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_hockets_handlers_hear_langchains_runs() -> None:
    class Async(AsyncCallbackHandler):
        def __init__(self) -> None:
            self.heard: list[Any] = []

        async def on_chat_model_start(self, serialized: Any, messages: Any, **details: Any) -> None:
            self.heard.append(messages[0][0])

        async def on_llm_end(self, response: Any, **details: Any) -> None:
            self.heard.append(response.generations[0][0].message)

    class Sync(BaseCallbackHandler):
        def __init__(self) -> None:
            self.heard: list[Any] = []

        def on_llm_new_token(self, token: str, *, chunk: Any = None, **details: Any) -> None:
            self.heard.append(chunk.message)

    first, second = Async(), Sync()
    model = LCFakeListChatModel(responses=["ab"] * 2)
    config: Any = {"callbacks": [to_langchain(first), to_langchain(second)]}
    await model.ainvoke("q", config)
    assert first.heard[0] == HumanMessage("q")
    assert isinstance(first.heard[1], AIMessage)
    async for _ in model.astream("q", config):
        pass
    assert [one.text for one in second.heard if one.text] == ["a", "b"]
    assert all(isinstance(one, BaseMessage) for one in second.heard)


@pytest.mark.parametrize("wrong", [LCHandler, "handler", 3])
async def test_what_is_no_handler_is_refused(wrong: Any) -> None:
    from hocket.errors import InvalidInput

    with pytest.raises(InvalidInput, match="callbacks holds"):
        await ScriptedChatModel(script=["a"]).ainvoke("q", {"callbacks": [wrong]})
