"""A chat model of LangChain's in hocket."""

import functools
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

import anyio
import httpx
import langchain_core.exceptions as lc_errors
import langchain_core.messages as lc
import pytest
from langchain_core.callbacks import BaseCallbackHandler as LCBaseCallbackHandler
from langchain_core.language_models import FakeListChatModel as LCFakeListChatModel
from langchain_core.tracers import context as lc_context
from langchain_core.tracers.context import register_configure_hook
from pydantic import BaseModel

from hocket import errors
from hocket.agents import create_agent
from hocket.caches import InMemoryCache
from hocket.interop.langchain import from_langchain, to_langchain
from hocket.interop.langchain.langchain_model import LangChainChatModel
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage
from hocket.providers.openai import ChatOpenAI
from hocket.testing import OpenAIFormat, Reply, Status, Stream, serve
from hocket.tools import tool
from tests.kit import MODEL_EVENTS, Recorder

from .native import USAGE, Native

CALL = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1", "type": "tool_call"}

asyncio_only = pytest.mark.parametrize("anyio_backend", ["asyncio"])


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
async def openai_of_langchain() -> AsyncIterator[Any]:
    """What makes models of LangChain's own package for OpenAI, whose connections are closed after the test."""
    package = pytest.importorskip("langchain_openai", reason="scripts/interop installs it")
    async with httpx.AsyncClient() as client:
        yield functools.partial(package.ChatOpenAI, http_async_client=client)


def make(*script: Any, **fields: Any) -> tuple[LangChainChatModel, Native]:
    """Return a model in hocket, and LangChain's behind it."""
    native = Native(script=list(script))
    model = from_langchain(native)
    return (model.model_copy(update=fields) if fields else model), native


def test_a_model_comes_here_and_goes_back_itself() -> None:
    model, native = make()
    assert isinstance(model, BaseChatModel)
    assert to_langchain(model) is native


@asyncio_only
async def test_an_answer_is_hockets_own() -> None:
    model, native = make("four")
    reply = await model.ainvoke([HumanMessage("2+2?")], stop=["x"], temperature=0.5)
    assert type(reply) is AIMessage
    assert (reply.text, reply.usage_metadata) == ("four", USAGE)
    assert reply.response_metadata == {"model_name": "native-1", "finish_reason": "stop"}
    (asked,) = native.asked
    assert asked["messages"] == [lc.HumanMessage("2+2?")]
    assert (asked["stop"], asked["temperature"]) == (["x"], 0.5)


@asyncio_only
async def test_a_stream_folds_to_the_answer() -> None:
    model, _ = make("one two", "one two")
    chunks = [chunk async for chunk in model.astream("q")]
    assert all(type(chunk) is AIMessageChunk for chunk in chunks)
    assert [chunk.text for chunk in chunks if chunk.text] == ["one ", "two "]
    assert sum(chunks[1:], start=chunks[0]).usage_metadata == USAGE
    assert len({chunk.id for chunk in chunks}) == 1


def test_sync_verbs_need_no_event_loop() -> None:
    model, _ = make("one two", "one two")
    assert model.invoke("q").text == "one two"
    assert "".join(chunk.text for chunk in model.stream("q")) == "one two "


async def test_a_sync_verb_runs_in_a_thread_of_any_loop() -> None:
    model, _ = make("one")
    assert (await anyio.to_thread.run_sync(model.invoke, "q")).text == "one"


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_on_trio_it_says_that_it_cannot_run() -> None:
    model, _ = make("one")
    with pytest.raises(errors.Unsupported, match="asyncio"):
        await model.ainvoke("q")
    with pytest.raises(errors.Unsupported, match="asyncio"):
        async for _ in model.astream("q"):
            pass


@asyncio_only
async def test_a_model_that_cannot_stream_gives_one_chunk() -> None:
    model = from_langchain(LCFakeListChatModel(responses=["ab"], disable_streaming=True))
    assert [chunk.text for chunk in [chunk async for chunk in model.astream("q")] if chunk.text] == ["ab"]


@asyncio_only
async def test_tools_are_bound_its_own_way() -> None:
    call = lc.AIMessage("", tool_calls=[CALL])
    model, native = make(call, call)
    bound = model.bind_tools([add], tool_choice="any")
    assert (await bound.ainvoke("1+2?")).tool_calls == [CALL]
    chunks = [chunk async for chunk in bound.astream("1+2?")]
    assert sum(chunks[1:], start=chunks[0]).tool_calls == [CALL]
    assert native.asked[0]["tool_choice"] == "any"
    assert native.asked[0]["tools"][0]["function"]["name"] == "add"


@asyncio_only
async def test_an_agent_of_hockets_works_with_it() -> None:
    model, native = make(lc.AIMessage("", tool_calls=[CALL]), "It is 3.")
    result = await create_agent(model, [add]).ainvoke("1+2?")
    assert result["messages"][-1].text == "It is 3."
    assert native.asked[1]["messages"][-1].content == "3"


class Answer(BaseModel):
    """An answer."""

    value: int


@asyncio_only
async def test_structured_output_by_its_tools() -> None:
    call = {"name": "Answer", "args": {"value": 4}, "id": "c1", "type": "tool_call"}
    model, _ = make(lc.AIMessage("", tool_calls=[call]))
    assert await model.with_structured_output(Answer).ainvoke("q") == Answer(value=4)
    with pytest.raises(errors.InvalidInput, match="json_schema"):
        model.with_structured_output(Answer, method="json_schema")


class Preferring(Native):
    """One of LangChain's that has a method of its own by default, as that for OpenAI."""

    def with_structured_output(self, schema: Any, *, method: Any = "json_schema", **kwargs: Any) -> Any:
        return super().with_structured_output(schema, **kwargs)


def test_structured_output_is_asked_for_as_langchains_own_does() -> None:
    """By the method that is the default over there."""

    def read_method(native: Any) -> object:
        structured: Any = from_langchain(native).with_structured_output(Answer)
        return structured.bound.kwargs["ls_structured_output_format"]["kwargs"]["method"]

    assert read_method(Preferring(script=[])) == "json_schema"
    assert read_method(Native(script=[])) == "function_calling"


@asyncio_only
@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
async def test_structured_output_of_a_provider(method: Any, openai_of_langchain: Any) -> None:
    """LangChain's own package for OpenAI, against a server."""
    call = {"name": "Answer", "args": {"value": 4}, "id": "c1"}
    answer = Reply(tool_calls=[call]) if method == "function_calling" else Reply('{"value": 4}')
    async with serve(OpenAIFormat(), [answer]) as server:
        model = from_langchain(openai_of_langchain(model="gpt-4o", base_url=server.url, api_key="k"))
        assert await model.with_structured_output(Answer, method=method).ainvoke("q") == Answer(value=4)
        body = server.requests[0].json
    if method == "json_schema":
        assert body["response_format"]["json_schema"]["name"] == "Answer"
    assert ("tools" in body) == (method == "function_calling")


@asyncio_only
async def test_what_it_cannot_be_given_is_said() -> None:
    model = from_langchain(LCFakeListChatModel(responses=["a"]))
    with pytest.raises(errors.Unsupported, match="FakeListChatModel cannot be given tools"):
        await model.bind_tools([add]).ainvoke("q")
    with pytest.raises(NotImplementedError):
        model.with_structured_output(Answer)


def name_errors() -> list[tuple[str, type[errors.LLMError], bool]]:
    """Return LangChain's errors of models, hocket's for each, and whether another try may help."""
    return [
        ("ModelAuthenticationError", errors.AuthenticationError, False),
        ("ModelPermissionDeniedError", errors.PermissionDenied, False),
        ("ModelInvalidRequestError", errors.InvalidRequest, False),
        ("ModelNotFoundError", errors.ResourceNotFound, False),
        ("ModelRateLimitError", errors.RateLimitError, True),
        ("ModelAPIError", errors.ProviderUnavailable, True),
        ("ModelConnectionError", errors.ConnectionFailed, True),
        ("ModelTimeoutError", errors.RequestTimeout, True),
        ("ContextOverflowError", errors.ContextLengthExceeded, False),
        ("ModelError", errors.LLMError, False),
    ]


@pytest.mark.parametrize(("name", "cls", "retryable"), name_errors())
def test_errors_are_of_hockets_tree(name: str, cls: type[errors.LLMError], retryable: bool) -> None:
    raised = getattr(lc_errors, name)("it said no")
    model, _ = make(raised, raised)
    for ask in (lambda: model.invoke("q"), lambda: list(model.stream("q"))):
        with pytest.raises(cls, match="it said no") as caught:
            ask()
        assert (type(caught.value), caught.value.retryable) == (cls, retryable)
        assert (caught.value.provider, caught.value.model) == ("native", "native-1")
        assert caught.value.__cause__ is raised


@asyncio_only
async def test_a_servers_status_and_words_are_read(openai_of_langchain: Any) -> None:
    quota = Status(429, "you are out of money", error={"code": "insufficient_quota"})
    slow = Status(429, "slow down", headers={"retry-after": "7"})
    async with serve(OpenAIFormat(), [quota, slow, Reply("a")]) as server:
        model = from_langchain(openai_of_langchain(model="m", base_url=server.url, api_key="k", max_retries=0))
        with pytest.raises(errors.QuotaExceeded) as caught:
            await model.ainvoke("q")
        assert (caught.value.status, caught.value.retryable) == (429, False)
        with pytest.raises(errors.RateLimitError) as caught:
            await model.ainvoke("q")
        assert (caught.value.status, caught.value.retryable, caught.value.retry_after) == (429, True, 7)
        assert (await model.ainvoke("q")).text == "a"


def test_other_errors_stay_what_they_are() -> None:
    model, _ = make(ZeroDivisionError("mine"))
    with pytest.raises(ZeroDivisionError, match="mine"):
        model.invoke("q")


@asyncio_only
async def test_hockets_retry_and_cache_stand_before_it() -> None:
    model, native = make(lc_errors.ModelRateLimitError("busy"), "a", retry=2, cache=InMemoryCache())
    assert (await model.ainvoke("q")).text == "a"
    assert (await model.ainvoke("q")).text == "a"
    assert "".join([chunk.text async for chunk in model.astream("q")]) == "a"
    assert len(native.asked) == 2


def test_the_cache_knows_a_model_by_its_fields() -> None:
    """Equal models share answers, and one whose temperature was changed gets another."""
    key = [from_langchain(Native(script=["a"], temperature=t))._get_llm_string() for t in (0, 0, 1)]
    assert key[0] == key[1] != key[2]
    model, native = make("a")
    before = model._get_llm_string()
    native.temperature = 1
    assert model._get_llm_string() != before


@asyncio_only
async def test_one_call_is_told_once() -> None:
    recorder = Recorder(*MODEL_EVENTS)
    model, _ = make("a", "b")
    await model.ainvoke("q", {"callbacks": [recorder]})
    async for _ in model.astream("q", {"callbacks": [recorder]}):
        pass
    assert list(recorder.ends().values()) == [["on_llm_end"]] * 2
    assert recorder.named("on_chat_model_start")[0].details["metadata"]["ls_model_name"] == "native-1"


class Listening(LCBaseCallbackHandler):
    """Notes the parents of models' runs."""

    def __init__(self) -> None:
        self.parents: list[Any] = []

    def on_chat_model_start(self, *args: Any, parent_run_id: Any = None, **kwargs: Any) -> None:
        self.parents.append(parent_run_id)


@pytest.fixture
def listening() -> Iterator[Listening]:
    """A handler that LangChain adds to every run of its own."""
    handler = Listening()
    variable: ContextVar[Any] = ContextVar("listening", default=handler)
    register_configure_hook(variable, inheritable=True)
    yield handler
    lc_context._configure_hooks[:] = [hook for hook in lc_context._configure_hooks if hook[0] is not variable]


@asyncio_only
async def test_langchains_run_is_inside_hockets(listening: Listening) -> None:
    """Streamed or not, in async code or sync."""
    recorder = Recorder(*MODEL_EVENTS)
    model, _ = make(*"abcd")
    config: Any = {"callbacks": [recorder]}
    await model.ainvoke("q", config)
    [chunk async for chunk in model.astream("q", config)]
    await anyio.to_thread.run_sync(model.invoke, "q", config)
    await anyio.to_thread.run_sync(lambda: list(model.stream("q", config)))
    assert listening.parents == [event.details["run_id"] for event in recorder.named("on_chat_model_start")]


@asyncio_only
async def test_a_handler_of_a_context_that_hocket_has_is_told_once(listening: Listening) -> None:
    model, _ = make(*"abc")
    config: Any = {"callbacks": [listening]}
    await model.ainvoke("q", config)
    [chunk async for chunk in model.astream("q", config)]
    await anyio.to_thread.run_sync(lambda: list(model.stream("q", config)))
    assert listening.parents == [None] * 3


@asyncio_only
async def test_leaving_a_stream_closes_it() -> None:
    model, native = make("one two three " * 50)
    native.pause = 0.005
    async for _ in model.astream("q"):
        break
    with anyio.fail_after(30):
        while not native.closed:  # noqa: ASYNC110
            await anyio.sleep(0.005)


@asyncio_only
async def test_there_and_back_again_is_one_more_call_inside() -> None:
    """A model of hocket's, in LangChain, wrapped in hocket once more by hand."""
    async with serve(OpenAIFormat(), [Stream("a b c")]) as server:
        inner = to_langchain(ChatOpenAI(model="m", base_url=server.url, api_key="k"))
        assert (
            "".join([chunk.text async for chunk in LangChainChatModel(langchain_model=inner).astream("q")]) == "a b c"
        )
