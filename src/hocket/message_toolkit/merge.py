"""Messages of one speaker in a row, made one."""

from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from typing import Any, cast

from hocket.message_toolkit.turns import Conversation, make_step
from hocket.messages import (
    AIMessage,
    BaseMessage,
    add_usage,
    convert_to_messages,
    message_chunk_to_message,
)
from hocket.messages.base import Content, copy_containers, rebuild
from hocket.messages.content import Fields, FieldsView
from hocket.messages.pieces import Deltas
from hocket.messages.roles import OWN_CLASSES, Role, role_of

__all__ = ["merge_message_runs"]

_MERGED = frozenset[Role](("human", "ai", "system", "chat"))


@make_step
def merge_message_runs(messages: Conversation, *, chunk_separator: str = "\n") -> list[BaseMessage]:
    """Return the messages with each run of one kind made a single one, for servers that want speakers to take turns.

    Texts are joined; where one content is a list of blocks, all are. Tool calls and other lists are put together, and
    usage is summed. Of the first message is the id, or else of the next that has one, and what its provider said about it
    (``response_metadata``). Results of tools stay apart, since each answers a call of its own. So do speakers: messages
    of different names or roles, where LangChain keeps the first one's name, or none, or raises; and a class of one's own.
    Called without messages, returns a step of a chain. Linear in the number of messages.

    Args:
        messages: messages or message-likes, or a prompt value. Not changed; a message that stands alone is returned.
        chunk_separator: goes between two texts, if neither is empty.
    """
    runs: list[list[BaseMessage]] = []
    before: Role = "nobody"
    for message in convert_to_messages(messages):
        role = role_of(message)
        if role == before and role in _MERGED and _speaker(message) == _speaker(runs[-1][0]) is not None:
            runs[-1].append(message)
        else:
            runs.append([message])
        before = role
    return [run[0] if len(run) == 1 else _merge_run(run, chunk_separator) for run in runs]


def _speaker(message: BaseMessage) -> tuple[Any, ...] | None:
    """Whose a message is, of those of one role; None: it is in no run."""
    kwargs = message.additional_kwargs
    if kwargs.get("function_call"):  # of which a message can have but one
        return None
    cls = message.__class__
    own = None if cls in OWN_CLASSES else cls  # fields of a class of one's own have no place in another
    return own, message.name, getattr(message, "role", None), kwargs.get("__openai_role__")


def _merge_run(run: Sequence[BaseMessage], separator: str) -> BaseMessage:
    whole = [message_chunk_to_message(message) for message in run]
    first = whole[0]
    fields = copy_containers(first.__dict__)
    fields["content"] = _join_contents([message.content for message in whole], separator)
    fields["id"] = next((message.id for message in whole if message.id is not None), None)
    fields["additional_kwargs"] = _beside([message.additional_kwargs for message in whole])
    said = [message for message in whole if isinstance(message, AIMessage)]
    for name in ("tool_calls", "invalid_tool_calls") if said else ():
        fields[name] = copy_containers([call for message in said for call in getattr(message, name)])
    for message in said[1:]:
        if message.usage_metadata:
            fields["usage_metadata"] = add_usage(fields["usage_metadata"], message.usage_metadata)
    made = rebuild(first, fields, type(first))
    made.__pydantic_extra__ = _beside([message.__pydantic_extra__ or {} for message in whole])
    return made


def _beside(several: Sequence[FieldsView]) -> Fields:
    """What stands beside the contents: what messages agree on as it is, other texts and lists one after another."""
    given: dict[str, list[Any]] = {}
    for mapping in several:
        for name, value in mapping.items():
            given.setdefault(name, []).append(value)
    merged: Fields = {}
    for name, values in given.items():
        fold = Deltas({name: values[0]})
        for value in values[1:] if any(value != values[0] for value in values) else ():
            fold.add({name: value})
        merged |= fold.value()
    return merged


def _join_contents(contents: Sequence[Content], separator: str) -> Content:
    """Texts as one text; where there are blocks, all as one list, with texts in a row as one."""
    joined: list[str | Fields] = []
    said = [content for content in contents if content]
    for are_texts, some in groupby(said, key=lambda content: isinstance(content, str)):
        if are_texts:
            joined.append(separator.join(cast("Iterable[str]", some)))
        else:
            joined.extend(copy_containers([*chain(*some)]))
    if all(isinstance(content, str) for content in said):
        return separator.join(cast("list[str]", joined))
    return joined
