"""Tools' results, as a provider can take them. A result is in the history for good, so none may make it unusable.

A part that has no place in a provider's request stands there as a short text, which tells the model what it was. The
messages themselves stay as they are: another provider may take the part.
"""

from collections.abc import Callable, Sequence

from hocket.messages import BaseMessage, ToolMessage
from hocket.messages.base import copy_message
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import describe_part, read_block

__all__ = ["fit_results"]


def fit_results(
    messages: Sequence[BaseMessage], takes: Callable[[ToolMessage], bool]
) -> tuple[Sequence[BaseMessage], list[str]]:
    """Return a conversation with texts for what cannot be sent of tools' results, and the types of what they stand for.

    Args:
        messages: the conversation.
        takes: whether the provider takes a result as it is.
    """
    replaced: list[str] = []
    return [_fit(message, takes, replaced) for message in messages], replaced


def _fit(message: BaseMessage, takes: Callable[[ToolMessage], bool], replaced: list[str]) -> BaseMessage:
    if message.content.__class__ is str or not isinstance(message, ToolMessage) or all(map(_is_text, message.content)):
        return message

    def takes_content(content: str | list[str | Fields]) -> bool:
        # Some formats want the name of the tool, which its call says in the conversation.
        return takes(copy_message(message, content=content, name=message.name or "tool"))

    if takes_content(message.content) or not takes_content("-"):  # or it is not the content that is refused
        return message
    parts: list[str | Fields] = []
    for part in message.content:
        if isinstance(part, str) or takes_content([part]):
            parts.append(part)
        else:
            parts.append({"type": "text", "text": describe_part(part, _WHY)})
            replaced += [block["type"] for block in read_block(part)]
    return copy_message(message, content=parts)


_WHY = "this server does not take it in the result of a tool"


def _is_text(part: str | FieldsView) -> bool:
    return isinstance(part, str) or (part.get("type") == "text" and isinstance(part.get("text"), str))
