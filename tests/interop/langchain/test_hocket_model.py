"""A hocket model in LangChain: LangChain runs on asyncio alone, so do these tests."""

import asyncio
import time
from typing import Any
from uuid import UUID

import langchain_core.messages as lc
import pytest
from langchain_core.callbacks import (
    AsyncCallbackHandler as LCAsyncHandler,
    UsageMetadataCallbackHandler as LCUsageHandler,
)
from langchain_core.language_models import BaseChatModel as LCBaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.caches import InMemoryCache
from hocket.errors import InvalidInput, RateLimitError, TotalTimeout
from hocket.interop.langchain import from_langchain, to_langchain
from hocket.interop.langchain.hocket_model import HocketChatModel
from hocket.providers.openai import ChatOpenAI
from hocket.rate_limiters import InMemoryRateLimiter
from hocket.testing import OpenAIFormat, Reply, Stream, serve
from hocket.tools import tool as own_tool
from tests.kit import MODEL_EVENTS, Recorder

USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
CALL = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1", "type": "tool_call"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Witness(LCAsyncHandler):
    """A handler of LangChain's that notes its runs."""

    def __init__(self) -> None:
        self.events: list[tuple[str, UUID, UUID | None]] = []
        self.results: list[Any] = []

    async def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        assert isinstance(messages[0][0], lc.BaseMessage)
        self.events.append(("start", run_id, parent_run_id))

    async def on_llm_new_token(self, token: str, *, run_id: UUID, **kwargs: Any) -> None:
        self.events.append(("token", run_id, None))

    async def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.events.append(("end", run_id, None))
        self.results.append(response)

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.events.append(("error", run_id, None))

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.events]


def test_a_model_goes_there_and_comes_back_itself() -> None:
    model = ScriptedChatModel(script=[])
    there = to_langchain(model)
    assert isinstance(there, HocketChatModel)
    assert from_langchain(there) is model


@pytest.mark.parametrize("is_sync", [False, True])
def test_an_answer_is_langchains_own(is_sync: bool) -> None:
    model = ScriptedChatModel(script=[Turn(text="four", usage=USAGE), Turn(text="four", usage=USAGE)])
    there = to_langchain(model)
    for question in ("2+2?", [("human", "2+2?")]):
        reply = there.invoke(question) if is_sync else asyncio.run(there.ainvoke(question))
        assert type(reply) is lc.AIMessage
        assert reply.text == "four"
        assert reply.usage_metadata == USAGE
        assert reply.response_metadata == {"finish_reason": "stop", "model_name": "scripted"}
    assert [request.messages[0].content for request in model.requests] == ["2+2?", "2+2?"]


def test_a_chain_of_langchains_streams() -> None:
    model = ScriptedChatModel(script=["one two three"] * 3)
    chain = (
        ChatPromptTemplate.from_messages([("system", "count"), ("human", "{q}")])
        | to_langchain(model)
        | StrOutputParser()
    )

    async def read() -> list[str]:
        return [piece async for piece in chain.astream({"q": "go"}) if piece]

    assert asyncio.run(read()) == ["one", " two", " three"]
    assert [piece for piece in chain.stream({"q": "go"}) if piece] == ["one", " two", " three"]
    assert chain.invoke({"q": "go"}) == "one two three"
    assert [type(one).__name__ for one in model.requests[0].messages] == ["SystemMessage", "HumanMessage"]


async def test_a_stream_folds_to_the_answer_with_its_calls_and_its_usage() -> None:
    script = [Turn(text="let me", tool_calls=[CALL], usage=USAGE)] * 2
    model = to_langchain(ScriptedChatModel(script=script))
    total: Any = None
    async for chunk in model.astream("1+2?"):
        assert type(chunk) is lc.AIMessageChunk
        total = chunk if total is None else total + chunk
    assert total.tool_calls == [CALL]
    assert total.usage_metadata == USAGE
    reply = await model.ainvoke("1+2?")
    assert (reply.content, reply.tool_calls) == (total.content, total.tool_calls)


async def test_one_call_is_told_once_to_each_side() -> None:
    """LangChain's handlers hear LangChain's run, hocket's hear hocket's, which is inside it."""
    recorder, witness = Recorder(*MODEL_EVENTS), Witness()
    model = ScriptedChatModel(script=["a b"] * 3, callbacks=[recorder])
    there, config = to_langchain(model), {"callbacks": [witness], "tags": ["t"], "metadata": {"session": "s"}}
    await there.ainvoke("q", config)
    async for _ in there.astream("q", config):
        pass
    async for _ in there.astream_events("q", config):
        pass
    starts = [run_id for name, run_id, _ in witness.events if name == "start"]
    assert witness.names.count("start") == witness.names.count("end") == 3
    assert [event.details["parent_run_id"] for event in recorder.named("on_chat_model_start")] == starts
    assert {event.details["metadata"]["session"] for event in recorder.named("on_chat_model_start")} == {"s"}
    assert [ends for ends in recorder.ends().values()] == [["on_llm_end"]] * 3
    ids = {result.generations[0][0].message.id for result in witness.results}
    assert all(str(start) in "".join(ids) for start in starts)


def test_langchains_tools_with_a_model_of_hockets_name_both_ways_out() -> None:
    """LangGraph wants the model made LangChain's; a program of hocket's wants the tool made hocket's."""
    with pytest.raises(InvalidInput, match=r"from_langchain makes it hocket's, or to_langchain the model LangChain's"):
        ScriptedChatModel(script=["x"]).bind_tools([add])


async def test_each_answer_has_an_id_of_its_own() -> None:
    """LangGraph takes two messages of one id for one; the server's id, which it may repeat, stays in the metadata."""
    async with serve(OpenAIFormat(), Reply("One.", id="same")) as server:
        there = to_langchain(ChatOpenAI(model="m", base_url=server.url, api_key="k"))
        answers = [await there.ainvoke("q"), await there.ainvoke("q")]
        streams = [{chunk.id async for chunk in there.astream("q")} for _ in range(2)]
    assert [one.response_metadata["id"] for one in answers] == ["same", "same"]
    assert [len(ids) for ids in streams] == [1, 1]
    assert len({answers[0].id, answers[1].id} | streams[0] | streams[1]) == 4


async def test_an_invoke_that_langchain_turns_into_a_stream_is_inside_its_run() -> None:
    recorder = Recorder(*MODEL_EVENTS)
    chain = to_langchain(ScriptedChatModel(script=["a b"], callbacks=[recorder])) | (lambda reply: reply.text)
    events = [event async for event in chain.astream_events("q")]
    (start,) = [event for event in events if event["event"] == "on_chat_model_start"]
    assert str(recorder.only("on_chat_model_start").details["parent_run_id"]) == start["run_id"]
    assert [event["event"] for event in events].count("on_chat_model_stream") == 3


async def test_usage_is_counted_once() -> None:
    usage = LCUsageHandler()
    model = to_langchain(ScriptedChatModel(script=[Turn(text="a", usage=USAGE)] * 2))
    await model.ainvoke("q", {"callbacks": [usage]})
    async for _ in model.astream("q", {"callbacks": [usage]}):
        pass
    assert usage.usage_metadata == {"scripted": {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}}


async def test_cache_limiter_and_retry_are_hockets() -> None:
    model = ScriptedChatModel(
        script=[RateLimitError("busy", retryable=True), "late", "b"], retry=2, cache=InMemoryCache()
    )
    there = to_langchain(model)
    assert (await there.ainvoke("q")).text == "late"
    assert (await there.ainvoke("q")).text == "late"
    assert "".join([chunk.text async for chunk in there.astream("q")]) == "late"
    assert len(model.requests) == 2
    limited = to_langchain(
        ScriptedChatModel(
            script=["a", "b"], rate_limiter=InMemoryRateLimiter(requests_per_second=20, max_bucket_size=1)
        )
    )
    began = time.monotonic()
    await limited.ainvoke("1")
    await limited.ainvoke("2")
    assert time.monotonic() - began >= 0.04


async def test_a_deadline_is_hockets() -> None:
    model = to_langchain(ScriptedChatModel(script=[Turn(text="a", delay=5)], timeout=0.05))
    with pytest.raises(TotalTimeout):
        await model.ainvoke("q")


@pytest.mark.parametrize("how", ["break", "aclose", "cancel"])
async def test_leaving_a_stream_closes_the_connection(how: str) -> None:
    async with serve(OpenAIFormat(), [Stream("word " * 200, every=0.02)]) as server:
        model = to_langchain(ChatOpenAI(model="m", base_url=server.url, api_key="k"))
        stream = model.astream("q")

        async def read(stream: Any, count: float) -> None:
            async for _ in stream:
                count -= 1
                if not count:
                    return

        if how == "cancel":
            task = asyncio.ensure_future(read(stream, float("inf")))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            await read(stream, 2)
            if how == "aclose":
                await stream.aclose()
        del stream
        await server.wait_for_open_connections(0, within=0.1)


@pytest.mark.parametrize("what", ["a chain", "events", "an agent", "an agent's events", "a sync stream"])
async def test_leaving_what_a_model_is_in_closes_the_connection(what: str, langgraph: None) -> None:
    from langchain.agents import create_agent

    async with serve(OpenAIFormat(), [Stream("word " * 200, every=0.02)]) as server:
        model = to_langchain(ChatOpenAI(model="m", base_url=server.url, api_key="k"))
        chain = ChatPromptTemplate.from_template("{q}") | model | StrOutputParser()
        agent, question = create_agent(model, []), {"messages": [("human", "q")]}

        async def leave(stream: Any) -> None:
            async for piece in stream:
                if "events" not in what or piece["event"] == "on_chat_model_stream":
                    return

        def leave_in_thread() -> None:
            for _ in model.stream("q"):
                return

        match what:
            case "a chain":
                await leave(chain.astream({"q": "q"}))
            case "events":
                await leave(chain.astream_events({"q": "q"}, version="v2"))
            case "an agent":
                await leave(agent.astream(question, stream_mode="messages"))
            case "an agent's events":
                await leave(agent.astream_events(question, version="v2"))
            case _:
                await asyncio.to_thread(leave_in_thread)
        await server.wait_for_open_connections(0, within=0.1)


async def test_tools_of_both_libraries_are_bound() -> None:
    @own_tool
    def double(n: int) -> int:
        """Double a number."""
        return n * 2

    model = ScriptedChatModel(script=[Turn(tool_calls=[CALL])])
    bound = to_langchain(model).bind_tools([add, double], tool_choice="any")
    assert (await bound.ainvoke("1+2?")).tool_calls == [CALL]
    params = model.requests[0].params
    assert [one["function"]["name"] for one in params["tools"]] == ["add", "double"]
    assert params["tool_choice"] == "required"


async def test_two_tools_may_share_a_name_as_in_langchain() -> None:
    model = ScriptedChatModel(script=["a"])
    await to_langchain(model).bind_tools([add, add]).ainvoke("q")
    assert [one["function"]["name"] for one in model.requests[0].params["tools"]] == ["add", "add"]


class Answer(BaseModel):
    """An answer."""

    value: int
    why: str | None = None


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
async def test_structured_output_is_read_by_hocket(method: str) -> None:
    call = {"name": "Answer", "args": {"value": 4}, "id": "c1", "type": "tool_call"}
    turn = Turn(tool_calls=[call]) if method == "function_calling" else Turn(text='{"value": 4}')
    model = to_langchain(ScriptedChatModel(script=[turn] * 3))
    assert await model.with_structured_output(Answer, method=method).ainvoke("2+2?") == Answer(value=4)
    raw = await model.with_structured_output(Answer, method=method, include_raw=True).ainvoke("2+2?")
    assert (raw["parsed"], raw["parsing_error"], type(raw["raw"])) == (Answer(value=4), None, lc.AIMessage)
    assert [one async for one in model.with_structured_output(Answer, method=method).astream("2+2?")] == [
        Answer(value=4)
    ]


async def test_an_answer_that_does_not_fit_is_an_error() -> None:
    model = to_langchain(ScriptedChatModel(script=["no json", "no json"]))
    raw = await model.with_structured_output(Answer, include_raw=True).ainvoke("q")
    assert raw["parsed"] is None
    assert "JSON" in str(raw["parsing_error"])
    with pytest.raises(ValueError, match="JSON"):
        await model.with_structured_output(Answer).ainvoke("q")


async def test_langchains_and_langgraphs_agents_run(langgraph: None) -> None:
    from langchain.agents import create_agent
    from langgraph.prebuilt import create_react_agent

    for create in (create_agent, create_react_agent):
        model = ScriptedChatModel(script=[Turn(tool_calls=[CALL], usage=USAGE), "It is 3."])
        with pytest.warns() if create is create_react_agent else _nothing():
            agent = create(to_langchain(model), [add])
        done = await agent.ainvoke({"messages": [("human", "1+2?")]})
        assert [type(one).__name__ for one in done["messages"]] == [
            "HumanMessage",
            "AIMessage",
            "ToolMessage",
            "AIMessage",
        ]
        assert done["messages"][-1].text == "It is 3."
        assert model.requests[1].messages[-1].content == "3"


async def test_stream_mode_messages_has_the_tokens(langgraph: None) -> None:
    from langchain.agents import create_agent

    agent = create_agent(to_langchain(ScriptedChatModel(script=["It is three."])), [])
    pieces = [chunk async for chunk, _ in agent.astream({"messages": [("human", "q")]}, stream_mode="messages")]
    assert [one.text for one in pieces if one.text] == ["It", " is", " three."]


async def test_create_agent_gives_typed_answers(langgraph: None) -> None:
    from langchain.agents import create_agent

    call = {"name": "Answer", "args": {"value": 4}, "id": "c1", "type": "tool_call"}
    agent = create_agent(to_langchain(ScriptedChatModel(script=[Turn(tool_calls=[call])])), [], response_format=Answer)
    assert (await agent.ainvoke({"messages": [("human", "q")]}))["structured_response"] == Answer(value=4)


async def test_langchains_cache_tells_models_apart() -> None:
    """Its key holds all that changes an answer; with LangChain's default two models would share answers."""
    one, other = (to_langchain(ChatOpenAI(model="m", api_key="k", temperature=t)) for t in (0.0, 1.0))
    assert one._get_llm_string() != other._get_llm_string()
    assert one._get_llm_string() == one._get_llm_string()
    assert one.model_name == "m"


def test_a_handler_is_told_the_options_that_langchain_would_tell() -> None:
    """They are put together here, because LangChain's own way there takes long."""
    model = to_langchain(ChatOpenAI(model="m", api_key="k", temperature=0.5))
    theirs = LCBaseChatModel._get_invocation_params(model, ["."], k=1)
    assert model._get_invocation_params(["."], k=1) == theirs
    assert theirs["temperature"] == 0.5


async def test_bad_input_is_refused_by_langchain_or_hocket() -> None:
    model = to_langchain(ScriptedChatModel(script=[]))
    with pytest.raises(ValueError):
        await model.ainvoke(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await to_langchain(ChatOpenAI(model="m", api_key="k")).ainvoke([])
    with pytest.raises(InvalidInput, match="tool"):
        model.bind_tools([3])  # type: ignore[list-item]


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...
