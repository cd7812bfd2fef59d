"""A run of an agent is played again out of its messages: no model is asked, and no tool is called."""

from typing import Any

import pytest
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, Resume, create_agent
from hocket.chat_history import FileChatMessageHistory, InMemoryChatMessageHistory
from hocket.errors import InvalidInput, ToolException, UnrecordedCall
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from hocket.testing import recorded
from hocket.tools import tool


def call(name: str, id: str, **arguments: Any) -> ToolCall:
    return ToolCall(type="tool_call", name=name, args=arguments, id=id)


class Answer(BaseModel):
    """The weather."""

    degrees: int


class World:
    """Tools whose results are never the same."""

    def __init__(self) -> None:
        self.asked = 0

    @property
    def tools(self) -> list[Any]:
        """The tools."""

        @tool(response_format="content_and_artifact")
        def look(city: str, days: int = 1) -> tuple[str, dict[str, int]]:
            """Look."""
            self.asked += 1
            return f"{city}, number {self.asked}", {"number": self.asked}

        @tool
        async def fail() -> str:
            """Fail."""
            self.asked += 1
            raise ToolException(f"failure {self.asked}")

        return [look, fail]


BROKEN: Any = {"type": "invalid_tool_call", "name": "look", "args": "{", "id": "7", "error": "cut"}

SCRIPT: list[Any] = [
    Turn(
        text="Let me see.",
        tool_calls=[call("look", "1", city="Bern"), call("look", "2", city="Bern"), call("fail", "3")],
        usage={"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
    ),
    Turn(
        tool_calls=[call("look", "4", days=2, city="Zürich"), call("lok", "5", city="Bern"), call("look", "6", day=1)]
    ),
    AIMessage("", invalid_tool_calls=[BROKEN]),
    Turn(tool_calls=[call("look", "8", city="Bern")]),
    "Done.",
]


async def record(**options: Any) -> list[BaseMessage]:
    result = await create_agent(ScriptedChatModel(script=SCRIPT), World().tools, **options).ainvoke("go")
    assert result.output == "Done."
    return result.new_messages


def strip(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    """Return messages without their ids: of answers they are made anew."""
    return [message.model_dump(exclude={"id"}) for message in messages]


async def test_a_replay_gives_the_same_messages():
    """Failures, artifacts, calls that could not be read, usage, and calls that are equal and were not answered equally."""
    messages = await record()
    run = recorded(messages)
    model = ScriptedChatModel(script=run.script)
    result = await create_agent(model, run.tools).ainvoke("go")
    assert strip(result.new_messages) == strip(messages)
    assert [message.id for message in result.new_messages] == [message.id for message in messages]
    assert len({message.text for message in result.new_messages if isinstance(message, ToolMessage)}) == 8
    assert len(model.requests) == len(SCRIPT)


async def test_a_replay_out_of_a_store(tmp_path: Any):
    """What a history holds is enough; it has the results in the order in which the tools ended."""
    history = FileChatMessageHistory(tmp_path / "talk")
    first = await create_agent(ScriptedChatModel(script=SCRIPT), World().tools).ainvoke("go", history=history)
    run = recorded(await history.aget_messages())
    again = await create_agent(ScriptedChatModel(script=run.script), run.tools).ainvoke("go")
    assert strip(again.messages) == strip(first.messages)


async def test_the_sync_verbs_and_the_stream_replay_too():
    """As `ainvoke` does."""
    messages = await record()
    run = recorded(messages)
    async with create_agent(ScriptedChatModel(script=run.script), run.tools).astream("go") as events:
        async for _ in events:
            pass
    assert events.result is not None and strip(events.result.new_messages) == strip(messages)


def test_a_replay_by_a_sync_verb():
    """As `ainvoke` does."""
    answers: list[BaseMessage] = [HumanMessage("go"), AIMessage("", tool_calls=[call("look", "1")])]
    answers += [ToolMessage("seen", tool_call_id="1", name="look"), AIMessage("Done.")]
    run = recorded(answers)
    result = create_agent(ScriptedChatModel(script=run.script), run.tools).invoke("go")
    assert strip(result.new_messages) == strip(answers)


async def test_notes_of_the_agent_are_not_added_twice():
    """Without the limits that made them."""
    calls = [Turn(tool_calls=[call("same", str(number))]) for number in range(4)]

    @tool
    def same() -> str:
        """Do the same."""
        return "x" * 100

    limits = AgentLimits(result_chars=10, repeats=2)
    agent = create_agent(ScriptedChatModel(script=[*calls, "Done."]), [same], limits=limits)
    messages = (await agent.ainvoke("go")).messages
    assert any("the same call" in message.text for message in messages)
    run = recorded(messages)
    free = AgentLimits(result_chars=None, repeats=None)
    result = await create_agent(ScriptedChatModel(script=run.script), run.tools, limits=free).ainvoke("go")
    assert strip(result.messages) == strip(messages)


async def test_decisions_of_a_person_are_replayed_as_results():
    """The replay does not pause."""
    history = InMemoryChatMessageHistory()
    script = [Turn(tool_calls=[call("look", "1", city="Bern"), call("fail", "2")]), "Done."]
    agent = create_agent(ScriptedChatModel(script=script), World().tools, interrupt_on=["look", "fail"])
    await agent.ainvoke("go", history=history)
    edit = {"type": "edit", "args": {"city": "Basel"}}
    await agent.ainvoke(Resume({"1": edit, "2": "reject"}), history=history)
    run = recorded(history.messages)
    result = await create_agent(ScriptedChatModel(script=run.script), run.tools).ainvoke("go")
    results = {one.tool_call_id: one for one in history.messages if isinstance(one, ToolMessage)}
    assert [one.text[:16] for one in results.values()] == ["A person rejecte", "Basel, number 1\n"]
    assert {one.tool_call_id: one for one in result.messages if isinstance(one, ToolMessage)} == results


async def test_a_typed_answer_brings_its_own_tool():
    """So it is skipped; real tools may be, too."""
    script = [Turn(tool_calls=[call("look", "1", city="Bern")]), Turn(tool_calls=[call("Answer", "2", degrees=7)])]
    agent = create_agent(ScriptedChatModel(script=script), World().tools, response_format=Answer)
    messages = (await agent.ainvoke("go")).messages
    run = recorded(messages, skip={"Answer", "look"})
    assert run.tools == []
    agent = create_agent(ScriptedChatModel(script=run.script), World().tools, response_format=Answer)
    result = await agent.ainvoke("go")
    assert result.output == Answer(degrees=7) and strip(result.messages) == strip(messages)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            [call("look", "1", city="Basel")],
            r"no call of look with \{'city': 'Basel'\} was recorded; those that were have",
        ),
        ([call("fail", "1"), call("fail", "2")], "fail was called more often with {} than was recorded"),
    ],
)
async def test_what_was_not_recorded_ends_the_test(asked: list[ToolCall], says: str):
    """An agent would tell an exception to its model, and the script would go on."""
    run = recorded(await record())
    agent = create_agent(ScriptedChatModel(script=[Turn(tool_calls=asked), "Done."]), run.tools)
    with pytest.raises(UnrecordedCall, match=says):
        await agent.ainvoke("go")
    with pytest.raises(UnrecordedCall):
        async with create_agent(ScriptedChatModel(script=[Turn(tool_calls=asked)]), run.tools).astream("go") as events:
            async for _ in events:
                pass


async def test_a_call_without_a_result_is_none_that_can_be_replayed():
    """Its run had paused, or was killed."""
    run = recorded([HumanMessage("go"), AIMessage("", tool_calls=[call("look", "1")])])
    with pytest.raises(UnrecordedCall, match="without a result"):
        await run.tools[0].ainvoke(call("look", "1"))


async def test_a_name_that_no_tool_may_have():
    """A model made it up; the agent answers that it does not exist, as it did."""
    made_up = Turn(tool_calls=[call("no tool's name", "1"), call("fail", "2")])
    messages = (await create_agent(ScriptedChatModel(script=[made_up, "Done."]), World().tools).ainvoke("go")).messages
    run = recorded(messages)
    assert [one.name for one in run.tools] == ["fail"]
    result = await create_agent(ScriptedChatModel(script=run.script), run.tools).ainvoke("go")
    assert next(one.text for one in result.messages if one.type == "tool").startswith("There is no tool named")


@pytest.mark.parametrize("messages", [[], [HumanMessage("go")]])
def test_messages_without_an_answer_are_no_run(messages: list[BaseMessage]):
    """They are refused at once."""
    with pytest.raises(InvalidInput, match="no answer of a model"):
        recorded(messages)


async def test_long_arguments_are_cut_in_the_error():
    """Nobody reads a megabyte."""
    run = recorded(await record())
    with pytest.raises(UnrecordedCall) as caught:
        await run.tools[0].ainvoke(call("look", "1", city="x" * 1_000_000))
    assert len(str(caught.value)) < 2_000
