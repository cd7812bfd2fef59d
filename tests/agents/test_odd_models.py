"""Models that answer in odd ways: an agent makes the best of it, or ends with an error that says what is wrong."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, AgentMiddleware, ModelRequest, create_agent
from hocket.agents.limits import RepeatCounter
from hocket.errors import ContentFiltered, InvalidHook, InvalidInput
from hocket.messages import AIMessage, AIMessageChunk, ToolCall
from hocket.runnables import RunnableLambda
from tests.agents.conftest import MakeAgent, Script, add, call

STOP = AgentLimits(model_calls=2)


class Hour(BaseModel):
    """An hour."""

    hour: int


async def test_many_calls_of_one_id_get_ids_of_their_own(make_agent: MakeAgent):
    """Each is answered, and the names are found in linear time."""
    agent, _ = make_agent([[call("add", "same", a=1, b=1)] * 2_000, "Done."])
    result = await agent.ainvoke("go")
    asked, answered = result.new_messages[1], result.new_messages[2:-1]
    assert isinstance(asked, AIMessage)
    ids = [one["id"] for one in asked.tool_calls]
    assert len(set(ids)) == 2_000 and ids[:3] == ["same", "same_2", "same_3"]
    assert [getattr(message, "tool_call_id", None) for message in answered] == ids


async def test_an_id_that_looks_like_a_made_one_is_no_trouble(make_agent: MakeAgent):
    """The next free number is taken."""
    calls = [call("add", id, a=1, b=1) for id in ("x_2", "x", "x", "x_2")]
    agent, _ = make_agent([calls, "Done."])
    asked = (await agent.ainvoke("go")).new_messages[1]
    assert isinstance(asked, AIMessage)
    assert [one["id"] for one in asked.tool_calls] == ["x_2", "x", "x_3", "x_2_2"]


@pytest.mark.parametrize("repeated", [1, 2_000])
async def test_the_pieces_of_a_call_have_the_id_that_it_gets(make_agent: MakeAgent, repeated: int):
    """Of models that begin to count anew in each answer, too: a page knows a call by its id."""
    calls = [call("add", "same", a=1, b=1)] * repeated
    agent, _ = make_agent([[call("add", "same", a=1, b=1)], calls, "Done."])
    told: list[str] = []
    run: list[str] = []
    async for event in agent.astream("go"):
        if event.kind == "chunk":
            told += [piece["id"] for piece in event.chunk.tool_call_chunks if piece["id"]]
        elif event.kind == "message":
            run += [one["id"] or "" for one in event.message.tool_calls]
    assert list(dict.fromkeys(told)) == run and len({*run}) == repeated + 1


def make_deep(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("args", [{1: 2, "a": 3}, {"a": make_deep(10_000)}, {(1, 2): 3}])
def test_arguments_that_are_no_json_are_like_no_others(args: dict[Any, Any]):
    """To count repetitions does not end a run."""
    counter = RepeatCounter()
    counts = [counter.add([ToolCall(type="tool_call", name="f", args=args, id="1")], []) for args in ({**args}, args)]
    assert counts == [1, 1]


async def test_a_refusal_is_the_answer(make_agent: MakeAgent):
    """Its text stands beside the content."""
    agent, model = make_agent([AIMessage("", additional_kwargs={"refusal": "I will not."})])
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, len(model.requests)) == ("I will not.", "done", 1)


@pytest.mark.parametrize("options", [{"response_format": Hour}, {}])
async def test_a_refusal_without_an_answer_is_an_error(make_agent: MakeAgent, options: dict[str, Any]):
    """The model is not asked again and again for what it will not say."""
    facts: dict[str, Any] = {"response_metadata": {"normalized_finish_reason": "content_filter"}}
    refusal = AIMessage("", **(facts if not options else {"additional_kwargs": {"refusal": "I will not."}}))
    agent, model = make_agent([refusal], **options)
    with pytest.raises(ContentFiltered):
        await agent.ainvoke("go")
    assert len(model.requests) == 1


async def test_a_refusal_of_the_last_answer_leaves_none(make_agent: MakeAgent):
    """The run has reached its limit, and its result says so."""
    refusal = AIMessage("", additional_kwargs={"refusal": "I will not."})
    agent, _ = make_agent([[call("add", a=1, b=1)], refusal], response_format=Hour, limits=AgentLimits(model_calls=1))
    result = await agent.ainvoke("go")
    assert (result.output, result.stop) == (None, "model_calls")


@pytest.mark.parametrize(
    "reply",
    [
        AIMessage([{"type": "reasoning", "reasoning": "Hm."}]),
        AIMessage([{"type": "thinking", "thinking": "Hm.", "signature": "x"}]),
        AIMessage("", additional_kwargs={"reasoning_content": "Hm."}),
    ],
)
async def test_a_thought_is_no_answer(make_agent: MakeAgent, reply: AIMessage):
    """The model is asked again."""
    agent, model = make_agent([reply, "It is 3."])
    assert (await agent.ainvoke("go")).output == "It is 3."
    assert "empty" in model.requests[1].messages[-1].text


async def test_a_picture_is_an_answer(make_agent: MakeAgent):
    """It has no text, and is in the messages."""
    agent, model = make_agent([AIMessage([{"type": "image", "base64": "aGk=", "mime_type": "image/png"}])])
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, len(model.requests)) == ("", "done", 1)


async def test_a_reply_that_paused_goes_on(make_agent: MakeAgent):
    """A provider's own tool may take longer than one reply: it is sent back as it came."""
    half = AIMessage("Let me see.", response_metadata={"normalized_finish_reason": "paused"})
    agent, model = make_agent([half, "It is 3."])
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, result.model_calls) == ("It is 3.", "done", 2)
    assert [message.text for message in model.requests[1].messages] == ["go", "Let me see."]


@pytest.mark.parametrize("reply", [["hi"], None, 5])
async def test_a_model_that_returns_no_message_is_named(reply: object):
    """Streamed or not, the error is the same."""
    agent = create_agent(RunnableLambda(lambda _: reply), style="native")  # type: ignore[arg-type, return-value]  # on purpose
    with pytest.raises(InvalidHook, match="returns an AIMessage"):
        await agent.ainvoke("go")
    with pytest.raises(InvalidHook, match="returns an AIMessage"):
        async for _ in agent.astream("go"):
            pass


async def test_a_chunk_for_a_reply_becomes_a_message():
    """The conversation holds whole messages only."""
    agent = create_agent(RunnableLambda(lambda _: AIMessageChunk("Hi.")), style="native")
    result = await agent.ainvoke("go")
    assert type(result.new_messages[-1]) is AIMessage


async def test_a_chain_may_be_the_model_of_the_text_style():
    """Its first step need not take stop words."""
    model = ScriptedChatModel(script=["Thought: easy.\nFinal Answer: 3"])
    chain = RunnableLambda(lambda messages: messages) | model
    assert (await create_agent(chain, [add]).ainvoke("go")).output == "3"


async def test_a_call_that_waits_is_answered_at_a_limit(make_agent: MakeAgent):
    """The last message leaves no call open, although a person would have been asked."""
    late = Turn(tool_calls=[call("pay", amount=1)])
    agent, _ = make_agent(
        [[call("add", a=1, b=1)], late], response_format=Hour, interrupt_on=["pay"], limits=AgentLimits(model_calls=1)
    )
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, result.pending) == (None, "model_calls", [])
    assert "not run" in result.new_messages[-1].text


class Recorder(AgentMiddleware):
    """Keeps what the model is offered."""

    def __init__(self) -> None:
        self.offered: list[list[Any]] = []

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        self.offered.append([*request.tools])
        return handler(request)


async def test_the_providers_own_tools_are_not_offered_at_a_last_answer(make_agent: MakeAgent):
    """Without tools means without any; a middleware sees them with the others, and may take them away."""
    search, recorder = {"type": "web_search"}, Recorder()
    agent, model = make_agent(
        [[call("add", a=1, b=2)], "Enough."],
        [add, search],
        limits=AgentLimits(model_calls=1),
        middleware=[recorder],
    )
    assert (await agent.ainvoke("go")).output == "Enough."
    first, last = (request.params.get("tools") for request in model.requests)
    assert first is not None and search in first and len(first) == 2
    assert last is None
    assert recorder.offered == [[add, search], []]


async def test_a_middleware_may_not_offer_the_providers_own_tools_in_text(make_agent: MakeAgent):
    """They would never be called."""

    class Offer(AgentMiddleware):
        def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
            return handler(request.override(tools=[*request.tools, {"type": "web_search"}]))

    agent, model = make_agent(["Final Answer: 3"], style="react", middleware=[Offer()])
    with pytest.raises(InvalidInput, match="web_search"):
        await agent.ainvoke("go")
    assert model.requests == []


@pytest.mark.parametrize("style", ["native", "react"])
async def test_a_model_that_says_nothing_again_and_again_is_stopped(make_agent: MakeAgent, style: str):
    """It is told three times, and then asked for the last time, without tools."""
    agent, model = make_agent([AIMessage("")] * 3 + ["Final Answer: 3" if style == "react" else "3"], style=style)
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, result.model_calls) == ("3", "loop", 4)
    agent, model = make_agent([AIMessage("")] * 3, style=style, at_limit="stop")
    result = await agent.ainvoke("go")
    assert (result.output, result.stop, len(model.requests)) == (None, "loop", 3)


async def test_replies_of_no_use_that_differ_or_are_not_in_a_row_are_no_loop(make_agent: MakeAgent):
    """Each is a try, within the limit on calls of the model."""
    no = AIMessage("")
    script: Script = [no, no, [call("add", a=1, b=1)], no, no, "four", "five", "six", "seven", [call("Hour", hour=7)]]
    agent, _ = make_agent(script, response_format=Hour)
    result = await agent.ainvoke("go")
    assert (result.output, result.stop) == (Hour(hour=7), "done")


async def test_without_a_limit_on_repeats_an_empty_reply_is_asked_again(make_agent: MakeAgent):
    """Up to the limit on calls of the model."""
    agent, model = make_agent([AIMessage("")] * 6, limits=AgentLimits(repeats=None, model_calls=6), at_limit="stop")
    assert (await agent.ainvoke("go")).stop == "model_calls"
    assert len(model.requests) == 6
