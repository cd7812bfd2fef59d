"""Turns of a conversation, for formats that know two speakers who take turns, and instructions beside them.

Anthropic's and Google's formats have it so. Messages of the same speaker become one turn; tools' results are the user's.
"""

from collections.abc import Callable, Iterable, Sequence

from hocket.errors import InvalidInput
from hocket.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from hocket.messages.base import Content, copy_message
from hocket.messages.content import Fields
from hocket.messages.pieces import merge_content

__all__ = ["USER", "join_turns", "prepend_instructions", "role_in_turns", "split_instructions"]


USER = "user"
ASSISTANT = "assistant"


def split_instructions(messages: Iterable[BaseMessage]) -> tuple[list[SystemMessage], list[BaseMessage]]:
    """Return the system messages, wherever they stand, and the others."""
    instructions: list[SystemMessage] = []
    others: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            instructions.append(message)
        else:
            others.append(message)
    return instructions, others


def prepend_instructions(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return a conversation whose first question begins with the system messages, for models that refuse these.

    A blank line stands between them. The messages themselves stay as they are.
    """
    instructions, others = split_instructions(messages)
    contents: list[Content] = [message.content for message in instructions if message.content]
    if not contents:
        return others
    at = next((at for at, message in enumerate(others) if isinstance(message, HumanMessage)), None)
    question = HumanMessage("") if at is None else others[at]
    contents += [question.content] if question.content else []
    joined = merge_content(*[part for content in contents for part in ("\n\n", content)][1:])
    asked = copy_message(question, content=joined)
    return [asked, *others] if at is None else [*others[:at], asked, *others[at + 1 :]]


def join_turns(
    messages: Iterable[BaseMessage], write: Callable[[BaseMessage], Sequence[Fields]], *, results_apart: bool = False
) -> list[tuple[str, list[Fields]]]:
    """Return the turns of a conversation, each with its speaker ("user" or "assistant") and parts. None is empty.

    Args:
        messages: without system messages.
        write: returns the parts of one message.
        results_apart: whether tools' results are not one turn with what the user says next.

    Raises:
        InvalidInput: a message is neither of the two speakers'.
    """
    turns: list[tuple[str, list[Fields]]] = []
    last: tuple[str, bool] | None = None
    for message in messages:
        speaker, parts = role_in_turns(message), write(message)
        if not parts:
            continue
        kind = (speaker, results_apart and isinstance(message, ToolMessage))
        if kind == last:
            turns[-1][1].extend(parts)
        else:
            turns.append((speaker, list(parts)))
        last = kind
    return turns


def role_in_turns(message: BaseMessage) -> str:
    """Return whose turn a message is of.

    Raises:
        InvalidInput: neither the user's nor the model's.
    """
    if isinstance(message, AIMessage):
        return ASSISTANT
    if isinstance(message, ChatMessage):
        if message.role in (USER, ASSISTANT):
            return message.role
        raise InvalidInput(f"a ChatMessage of role {message.role!r} has no place here; use role 'user' or 'assistant'")
    if isinstance(message, FunctionMessage):
        raise InvalidInput("a FunctionMessage, which names no call, has no place here; use a ToolMessage")
    return USER
