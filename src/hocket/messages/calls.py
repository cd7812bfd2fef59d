"""The tool calls that a message makes, wherever it has them.

A call stands in ``tool_calls``. A message that another program wrote may have it in its content alone: as Anthropic's
``tool_use``, Gemini's ``functionCall``, an item of the Responses API, or a standard block. And old messages have one
``function_call`` in ``additional_kwargs``.
"""

from collections.abc import Mapping
from typing import TypeAlias, cast

from hocket.messages.ai import AIMessage
from hocket.messages.base import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.roles import role_of
from hocket.messages.tool_calls import InvalidToolCall, ToolCall, invalid_tool_call, tool_call

__all__ = ["AnyToolCall", "calls_of", "calls_of_reply", "function_call_of"]

AnyToolCall: TypeAlias = ToolCall | InvalidToolCall
"""A tool call whose arguments could be read, or could not."""

_CALLS = frozenset({"tool_call", "invalid_tool_call"})


def calls_of(message: BaseMessage) -> list[AnyToolCall]:
    """Return the tool calls that ``message`` makes, each once. A tool message answers each of them.

    First ``tool_calls``, then ``invalid_tool_calls``, which want an answer too, then the calls that only the content
    has. The older ``function_call`` in ``additional_kwargs`` is not among them: it has no id, and a function message
    answers it.
    """
    return calls_of_reply(cast(AIMessage, message)) if role_of(message) == "ai" else []


def calls_of_reply(reply: AIMessage) -> list[AnyToolCall]:
    """Return what `calls_of` does of a message that is known to be the model's."""
    calls: list[AnyToolCall] = [*reply.tool_calls, *reply.invalid_tool_calls]
    if type(reply.content) is not str:
        _add_from_content(reply, calls)
    if calls and reply.additional_kwargs.get("function_call"):
        return [call for call in calls if call["id"]]
    return calls


def function_call_of(message: BaseMessage) -> FieldsView | None:
    """Return the older ``function_call`` of a message, as OpenAI wrote it; None if there is none, or `calls_of` has it.

    langchain-google-genai writes the last of a message's tool calls there a second time.
    """
    function = message.additional_kwargs.get("function_call")
    if not function or not isinstance(function, Mapping) or calls_of(message):
        return None
    return cast(FieldsView, function)


def _add_from_content(message: AIMessage, calls: list[AnyToolCall]) -> None:
    """Append to ``calls`` those of the content that none of them stands for."""
    from hocket.messages.formats import read_block, stands_for  # loaded with the first list of blocks

    ids = {call["id"] for call in calls if call["id"]}
    for part in message.content:
        if isinstance(part, str) or part.get("type") == "text" or _id_of(part) in ids:
            continue
        for block in read_block(part):
            call = _as_call(block) if block["type"] in _CALLS else None
            if call is not None and not any(stands_for(block, other) for other in calls):
                calls.append(call)


def _as_call(block: FieldsView) -> AnyToolCall | None:
    """A block as a call with all the keys of one; None: it names no tool. Standard blocks are not checked before."""
    name, args, id = block.get("name"), block.get("args"), block.get("id")
    if not isinstance(name, str):
        return None
    text_id = None if id is None else str(id)
    call: AnyToolCall
    if isinstance(args, dict):
        call = tool_call(name=name, args=cast(Fields, args), id=text_id)
    else:
        error = str(block.get("error") or "The arguments are not a JSON object")
        call = invalid_tool_call(name=name, args=None if args is None else str(args), id=text_id, error=error)
    if isinstance(extras := block.get("extras"), dict):
        call["extras"] = cast(Fields, extras)
    return call


def _id_of(part: Mapping[str, object]) -> object:
    """The id under which a part of the content names its call, where that is not inside of another object."""
    id = part.get("call_id") or part.get("id")
    return id if isinstance(id, str) else None
