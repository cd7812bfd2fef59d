"""A list of what is to be done, which a model keeps for itself, and a program may show.

The list is nowhere but in the calls that write it: so it is stored, forked and resumed with the conversation.
"""

import contextlib
from collections.abc import Sequence
from typing import Literal

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic refuses typing's TypedDict before Python 3.12

from hocket.agents.middleware import AgentMiddleware, ToolLike
from hocket.messages import BaseMessage, ToolMessage
from hocket.messages.roles import calls_of
from hocket.tools import tool

__all__ = ["Todo", "TodoListMiddleware", "read_todos", "write_todos"]


class Todo(TypedDict):
    """Something to be done."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


@tool
def write_todos(todos: list[Todo]) -> str:
    """Write the list of what is to be done, in place of the one before: all of it, also what has not changed.

    Use it for work of three steps or more, and not for less. Set a step "in_progress" before you begin with it, and
    "completed" as soon as it is done. Add what you find out has to be done as well; leave out what need not be done.
    """
    done = sum(todo["status"] == "completed" for todo in todos)
    return f"The list was taken: {done} of {len(todos)} completed."


class TodoListMiddleware(AgentMiddleware):
    """Gives a model the tool ``write_todos``, to plan work of many steps. `read_todos` reads the list.

    However long a run is, the model is shown its calls since the question, and so its list.
    """

    tools: Sequence[ToolLike] = (write_todos,)


_TODOS = TypeAdapter(list[Todo])


def read_todos(messages: Sequence[BaseMessage]) -> list[Todo]:
    """Return the last list that was taken in a conversation, dicts with ``content`` and ``status``; without one, none.

    Args:
        messages: of the conversation: of a history, or ``result.messages``.
    """
    taken = {one.tool_call_id for one in messages if isinstance(one, ToolMessage) and one.status != "error"}
    calls = [call for message in messages for call in calls_of(message)]
    for call in reversed(calls):
        if call["name"] == write_todos.name and call["id"] in taken and isinstance(call["args"], dict):
            with contextlib.suppress(ValidationError):  # of another tool of that name
                return _TODOS.validate_python(call["args"].get("todos"))
    return []
