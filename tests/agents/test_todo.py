"""A model's list of what is to be done: written by a call, read from the conversation, and never lost in a long one."""

from typing import Any

import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, TodoListMiddleware, create_agent, read_todos
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from hocket.messages.roles import calls_of
from hocket.tools import tool
from tests.agents.conftest import MakeAgent, call

PLAN = [{"content": "Read", "status": "completed"}, {"content": "Write", "status": "in_progress"}]
DONE = [{"content": "Read", "status": "completed"}, {"content": "Write", "status": "completed"}]


def write(todos: Any, id: str = "1") -> ToolCall:
    """Return a call that writes the list."""
    return call("write_todos", id, todos=todos)


async def test_the_list_is_what_was_written_last(make_agent: MakeAgent):
    """It is in the conversation, so in its history, and in a fork of an earlier place."""
    history = InMemoryChatMessageHistory()
    agent, model = make_agent([[write(PLAN, "1")], [write(DONE, "2")], "Done."], [], middleware=[TodoListMiddleware()])
    result = await agent.ainvoke("Do it.", history=history)
    assert [step.observation for step in result.steps] == [
        "The list was taken: 1 of 2 completed.",
        "The list was taken: 2 of 2 completed.",
    ]
    assert read_todos(result.messages) == read_todos(history.messages) == DONE
    assert read_todos((await history.afork(InMemoryChatMessageHistory(), at=3)).messages) == PLAN
    assert [one["function"]["name"] for one in model.requests[0].params["tools"]] == ["write_todos"]


async def test_a_list_that_is_none_is_not_taken(make_agent: MakeAgent):
    """The model is told, and the one before holds."""
    wrong: list[Any] = [[{"content": "Read", "status": "done"}], [{"content": "Read"}], "Read", None]
    calls = [write(PLAN, "0"), *(write(one, str(at)) for at, one in enumerate(wrong, 1))]
    agent, _ = make_agent([*([one] for one in calls), "Done."], [], middleware=[TodoListMiddleware()])
    result = await agent.ainvoke("Do it.")
    assert [one.status for one in result.messages if isinstance(one, ToolMessage)] == ["success", *["error"] * 4]
    assert read_todos(result.messages) == PLAN


def test_without_a_list_there_is_an_empty_one():
    """Also where the call is still open, or the tool is another one of that name; an empty list is one."""
    open_call = [HumanMessage("go"), AIMessage("", tool_calls=[write(PLAN)])]
    other = [*open_call[:1], AIMessage("", tool_calls=[write(5)]), ToolMessage("ok", tool_call_id="1")]
    for messages in ([], open_call, other):
        assert read_todos(messages) == []
    taken: list[BaseMessage] = [*open_call, ToolMessage("ok", tool_call_id="1")]
    emptied = [*taken, AIMessage("", tool_calls=[write([], "2")]), ToolMessage("ok", tool_call_id="2")]
    assert (read_todos(taken), read_todos(emptied)) == (PLAN, [])


async def test_of_several_lists_in_one_message_the_last_one_holds(make_agent: MakeAgent):
    """Whichever of the calls is done first."""
    agent, _ = make_agent([[write(DONE, "1"), write(PLAN, "2")], "Done."], [], middleware=[TodoListMiddleware()])
    assert read_todos((await agent.ainvoke("go")).messages) == PLAN


async def test_a_long_run_keeps_the_list_in_view():
    """However much of the results has to be left out: 40 of 4,000 characters, for a window of 4,000 tokens."""

    @tool
    def read(page: int) -> str:
        """Read a page."""
        return f"{page} " * 1_000

    pages = [Turn(tool_calls=[call("read", f"r{page}", page=page)]) for page in range(40)]
    model = ScriptedChatModel(script=[Turn(tool_calls=[write(PLAN)]), *pages, "Done."])
    model.profile = {**(model.profile or {}), "max_input_tokens": 4_000, "tool_calling": True}
    limits = AgentLimits(model_calls=50)
    await create_agent(model, [read], middleware=[TodoListMiddleware()], limits=limits).ainvoke("Read it all.")
    assert len(model.requests) == 42
    for request in model.requests[1:]:
        calls = [one for message in request.messages for one in calls_of(message)]
        assert calls[0]["name"] == "write_todos" and calls[0]["args"] == {"todos": PLAN}
        assert read_todos(request.messages) == PLAN


@pytest.mark.parametrize("verb", ["invoke", "stream"])
def test_it_works_under_sync_verbs(make_agent: MakeAgent, verb: str):
    """The tool is a plain function."""
    agent, _ = make_agent([[write(PLAN)], "Done."], [], middleware=[TodoListMiddleware()])
    if verb == "invoke":
        result = agent.invoke("go")
    else:
        stream = agent.stream("go")
        assert [event.kind for event in stream][-1] == "end"
        result = stream.result
    assert result is not None and read_todos(result.messages) == PLAN
