"""Messages of a conversation picked by name, type or id."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TypeAlias, cast

from hocket.errors import InvalidInput
from hocket.message_toolkit.repair import is_empty, with_calls
from hocket.message_toolkit.turns import Conversation, PlacedCall, make_step, match_calls
from hocket.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from hocket.messages.roles import calls_of, role_of

__all__ = ["Kinds", "filter_messages", "picker"]

Kinds: TypeAlias = str | type[BaseMessage] | Sequence[str | type[BaseMessage]]
"""Types of messages: names (``"human"``, ``"ai"``) and classes; one, or several."""


def picker(kinds: Kinds) -> Callable[[BaseMessage], bool]:
    """Return a function that tells whether a message is of one of ``kinds``.

    A name stands for the chunks of its messages, too. (In LangChain it does not: there ``"ai"`` is no `AIMessageChunk`.)

    Raises:
        InvalidInput: a name that no message has (in LangChain it is the type of none), or no class of messages.
    """
    several: Iterable[str | type[BaseMessage]] = [kinds] if isinstance(kinds, str | type) else kinds
    names = {kind for kind in several if isinstance(kind, str)}
    classes = tuple(kind for kind in several if not isinstance(kind, str))
    for kind in classes:
        if not (isinstance(kind, type) and issubclass(kind, BaseMessage)):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"{kind!r} is no class of messages: those of hocket.messages are")
    if not names <= _KNOWN:
        known = {*_names(BaseMessage)}
        if unknown := sorted(names - known):
            raise InvalidInput(f"no message is of type {unknown[0]!r}; there are {', '.join(sorted(known))}")
    names |= {chunk for chunk, whole in _CHUNKS.items() if whole in names}
    if not classes:
        return lambda message: message.type in names
    return lambda message: message.type in names or isinstance(message, classes)


_CHUNKS = {f"{name}MessageChunk": name.lower() for name in ("Human", "AI", "System", "Tool", "Function", "Chat")}
_KNOWN = {*_CHUNKS, *_CHUNKS.values(), "remove"}


def _names(cls: type[BaseMessage]) -> Iterator[str]:
    """The types of a class of messages, and of all that derive from it."""
    for derived in cls.__subclasses__():
        if isinstance(name := derived.model_fields["type"].default, str):
            yield name
        yield from _names(derived)


@make_step
def filter_messages(
    messages: Conversation,
    *,
    include_names: Collection[str] | None = None,
    exclude_names: Collection[str] | None = None,
    include_types: Kinds | None = None,
    exclude_types: Kinds | None = None,
    include_ids: Collection[str] | None = None,
    exclude_ids: Collection[str] | None = None,
    exclude_tool_calls: Collection[str] | bool | None = None,
    keep_tool_pairs: bool = True,
) -> list[BaseMessage]:
    """Return the messages that are included, in any way, and not excluded in any. LangChain's rules, and one more.

    What goes with a message that is left out goes, too: the results of its tool calls; or, where it is a result, the
    call, and the message that made the call if it says nothing else. So a conversation that providers accept is still one
    when it is filtered. Called without messages, returns a step of a chain.

    Args:
        messages: messages or message-likes, or a prompt value. Not changed: a message that loses a call is a copy.
        include_names: names of speakers; one alone may be a string, here and below.
        exclude_names: the same, to leave out.
        include_types: types of message: ``"human"``, ``"ai"``, ``"system"``, ``"tool"``; or classes.
        exclude_types: the same, to leave out.
        include_ids: ids of messages. If nothing is to be included, everything is that is not excluded.
        exclude_ids: the same, to leave out.
        exclude_tool_calls: ids of tool calls to leave out, with their results; a message none of whose calls is left
            goes as a whole. True: every message with tool calls, and every result.
        keep_tool_pairs: False leaves out what was asked for and no more, as LangChain does: for picking out the results
            of tools, say.

    Raises:
        InvalidInput: a type of message that does not exist.
    """
    conversation = convert_to_messages(messages)
    is_included = _any_of(include_names, include_types, include_ids)
    is_excluded = _any_of(exclude_names, exclude_types, exclude_ids)
    out = [not kept for kept in map(is_included, conversation)] if is_included else [False] * len(conversation)
    if is_excluded:
        out = [gone or is_excluded(message) for gone, message in zip(out, conversation, strict=True)]
    lost: dict[int, set[int]] = {}  # of each message, the places of the calls that are left out
    calls = match_calls(conversation) if exclude_tool_calls or keep_tool_pairs else []
    if exclude_tool_calls is True:
        out = [gone or role_of(message) == "tool" for gone, message in zip(out, conversation, strict=True)]
        for call in calls:
            out[call.index] = True
    elif exclude_tool_calls:
        _leave_out_calls(_texts(exclude_tool_calls), conversation, calls, out, lost)
    if keep_tool_pairs:
        _leave_out_halves(calls, out, lost)
    for index, places in lost.items():
        if not out[index]:
            left = _without(cast(AIMessage, conversation[index]), places)
            conversation[index], out[index] = left, is_empty(left)
    return [message for message, gone in zip(conversation, out, strict=True) if not gone]


def _leave_out_calls(
    ids: Collection[str],
    messages: Sequence[BaseMessage],
    calls: Sequence[PlacedCall],
    out: list[bool],
    lost: dict[int, set[int]],
) -> None:
    """Note the calls of these ids as lost; and as out, their results, and messages with no other call."""
    for call in calls:
        if call.id in ids:
            lost.setdefault(call.index, set()).add(call.place)
    for index, places in lost.items():
        out[index] = out[index] or len(places) == len(calls_of(messages[index]))
    for index, message in enumerate(messages):
        if role_of(message) == "tool" and cast(ToolMessage, message).tool_call_id in ids:
            out[index] = True


def _leave_out_halves(calls: Sequence[PlacedCall], out: list[bool], lost: dict[int, set[int]]) -> None:
    """Note as out, or lost, what belongs to something that is."""
    for call in calls:
        if call.result is None:
            continue
        if out[call.index] or call.place in lost.get(call.index, ()):
            out[call.result] = True
        elif out[call.result]:
            lost.setdefault(call.index, set()).add(call.place)


def _without(message: AIMessage, places: Collection[int]) -> AIMessage:
    left = {place: call["id"] for place, call in enumerate(calls_of(message)) if place not in places}
    return with_calls(message, left)


def _any_of(
    names: Collection[str] | None, kinds: Kinds | None, ids: Collection[str] | None
) -> Callable[[BaseMessage], bool] | None:
    """Return a function that tells whether a message has one of ``names``, ``kinds`` or ``ids``; None: none are given."""
    tests: list[Callable[[BaseMessage], bool]] = []
    if names:
        of_names = _texts(names)
        tests.append(lambda message: message.name in of_names)
    if kinds:
        tests.append(picker(kinds))
    if ids:
        of_ids = _texts(ids)
        tests.append(lambda message: message.id in of_ids)
    if len(tests) > 1:
        return lambda message: any(test(message) for test in tests)
    return tests[0] if tests else None


def _texts(texts: Collection[str]) -> frozenset[str]:
    return frozenset([texts] if isinstance(texts, str) else texts)
