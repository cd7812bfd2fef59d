"""What providers refuse in a conversation, found and mended, and tool calls changed in every place where a message has them.

The rules are those that OpenAI, Anthropic and Google share, or that one of them has and no conversation needs to break:
each tool call has an id of its own, and exactly one result, directly after the message that made the call; and every
message says something. That speakers take turns and a user begins is a rule of some servers only, and none here:
`trim_messages(start_on="human")` and `merge_message_runs` make such a conversation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from hocket.errors import InvalidHistory
from hocket.errors.hints import excerpt
from hocket.message_toolkit.turns import Conversation, PlacedCall, match_calls
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolMessage,
    convert_to_messages,
)
from hocket.messages.base import copy_message
from hocket.messages.content import Fields
from hocket.messages.formats import content_blocks_of, stands_for
from hocket.messages.roles import calls_of, role_of
from hocket.messages.tool_calls import tool_call_chunks_of

__all__ = [
    "HistoryProblem",
    "ProblemCode",
    "check_history",
    "is_empty",
    "is_plain",
    "repair_history",
    "validate_history",
    "with_calls",
]

_BESIDE = ("refusal", "function_call", "audio")  # what a reply may consist of, beside its content
_CALLS = frozenset({"tool_call", "tool_call_chunk", "invalid_tool_call"})
_PARTS = ("functionCall", "function_call")  # of Gemini's, which hold the id inside


def with_calls(message: AIMessage, ids: Mapping[int, str | None]) -> AIMessage:
    """Return a copy of ``message`` with those of its calls that ``ids`` has, by their place among `calls_of`.

    The content's own blocks of these calls are changed likewise, whichever provider's. Calls as OpenAI wrote them, which
    some messages have in ``additional_kwargs`` too, are left out: the message's own are what it means.
    """
    calls = calls_of(message)
    renamed: list[Any] = [{**call, "id": ids[at]} for at, call in enumerate(calls) if at in ids]
    valid = [call for call in renamed if "error" not in call]
    invalid = [call for call in renamed if "error" in call]
    changes: Fields = {"tool_calls": valid, "invalid_tool_calls": invalid}
    if isinstance(message.content, list):
        places = [*range(len(calls))]
        changes["content"] = [
            new for block in message.content if (new := _block(block, calls, places, ids)) is not None
        ]
    if "tool_calls" in message.additional_kwargs:
        changes["additional_kwargs"] = {
            name: value for name, value in message.additional_kwargs.items() if name != "tool_calls"
        }
    if isinstance(message, AIMessageChunk):
        changes["tool_call_chunks"] = tool_call_chunks_of(valid, invalid)
    return copy_message(message, **changes)


def _block(
    block: str | Fields,
    calls: list[ToolCall | InvalidToolCall],
    places: list[int],
    ids: Mapping[int, str | None],
) -> str | Fields | None:
    """``block`` with the new id of its call, the first of ``places`` that it stands for; None: the call is left out."""
    if isinstance(block, str):
        return block
    read = content_blocks_of([block], additional_kwargs={}, response_metadata={})[0]
    if read["type"] not in _CALLS:
        return block
    place = next((place for place in places if stands_for(read, calls[place])), None)
    if place is None:
        return block
    places.remove(place)
    places.append(place)  # the next block of the same id stands for the next call of that id, if there is one
    if place not in ids:
        return None
    return block if ids[place] == calls[place]["id"] else _with_id(block, ids[place])


def _with_id(block: Fields, id: str | None) -> Fields:
    for key in _PARTS:
        if isinstance(part := block.get(key), Mapping):
            return {**block, key: {**part, "id": id}}
    return {**block, "call_id" if "call_id" in block else "id": id}


def is_plain(message: BaseMessage) -> bool:
    """Whether ``message`` is a text, and no call or result of a tool: most are, and nothing in them needs mending."""
    content, kind = message.content, message.__class__
    if type(content) is not str or not content.strip():
        return False
    if kind is AIMessage:
        reply = cast(AIMessage, message)
        return not (reply.tool_calls or reply.invalid_tool_calls)
    return kind is HumanMessage or kind is SystemMessage


def is_empty(message: BaseMessage) -> bool:
    """Whether ``message`` says nothing at all: no provider has a form for it. A tool may well return nothing."""
    content = message.content
    if content.strip() if isinstance(content, str) else any(not _is_blank(block) for block in content):
        return False
    if role_of(message) in ("tool", "function") or calls_of(message):
        return False
    return not any(message.additional_kwargs.get(name) for name in _BESIDE)


def _is_blank(block: str | Fields) -> bool:
    if isinstance(block, str):
        return not block.strip()
    # A provider's signature may come on a text of no length, and has to go back.
    return block.get("type") == "text" and not str(block.get("text", "")).strip() and not block.get("extras")


ProblemCode: TypeAlias = Literal[
    "unanswered_call",
    "orphaned_result",
    "misplaced_result",
    "duplicate_result",
    "missing_call_id",
    "duplicate_call_id",
    "empty_message",
    "unsendable_message",
]
"""What providers refuse in a conversation, in a word."""

_NO_RESULT = "This tool call was interrupted: it has no result."


@dataclass(frozen=True, slots=True)
class HistoryProblem:
    """Something that providers refuse in a conversation.

    Attributes:
        code: what it is: "unanswered_call", a call without a result; "orphaned_result", a result without a call;
            "misplaced_result", one that does not directly follow its call; "duplicate_result", one too many;
            "missing_call_id" and "duplicate_call_id", a call that no result can name, or not only it;
            "empty_message", one that says nothing; "unsendable_message", one of a class that has no role.
        index: of the message.
        detail: the same in words.
    """

    code: ProblemCode
    index: int
    detail: str


def validate_history(messages: Conversation) -> list[HistoryProblem]:
    """Return what providers refuse in a conversation, in the order of its messages; an empty list: nothing.

    A conversation that ends in tool calls is one to which their results are still to be added: "unanswered_call".
    """
    conversation = convert_to_messages(messages)
    calls = match_calls(conversation)
    of_result = {call.result: call for call in calls if call.result is not None}
    ids: dict[str, int] = {}
    found: list[HistoryProblem] = []
    for call in calls:
        found.extend(_problems_of(call, ids))
    turn: int | None = None  # the message whose results are due
    for index, message in enumerate(conversation):
        role = role_of(message)
        if role == "tool":
            found.extend(_problems_of_result(index, cast(ToolMessage, message), of_result.get(index), turn, ids))
            continue
        turn = index
        if role == "nobody":
            detail = f"a {type(message).__name__} is nothing that a model can be told"
            found.append(HistoryProblem("unsendable_message", index, detail))
        elif is_empty(message):
            found.append(HistoryProblem("empty_message", index, f"the {message.type} message says nothing"))
    return sorted(found, key=lambda problem: problem.index)


def _problems_of(call: PlacedCall, ids: dict[str, int]) -> Iterator[HistoryProblem]:
    """What is wrong with a call; ``ids`` are those of the calls before it, and where these are."""
    if not call.id:
        detail = f"the call of {excerpt(call.name)} has no id, so nothing can answer it"
        yield HistoryProblem("missing_call_id", call.index, detail)
        return
    if call.id in ids:
        detail = f"the call of {excerpt(call.name)} has the id {excerpt(call.id)} of a call in message {ids[call.id]}"
        yield HistoryProblem("duplicate_call_id", call.index, detail)
    ids.setdefault(call.id, call.index)
    if call.result is None:
        detail = f"the call of {excerpt(call.name)}, id {excerpt(call.id)}, has no result"
        yield HistoryProblem("unanswered_call", call.index, detail)


def _problems_of_result(
    index: int, message: ToolMessage, call: PlacedCall | None, turn: int | None, ids: dict[str, int]
) -> Iterator[HistoryProblem]:
    id = message.tool_call_id
    if call is not None:
        if call.index != turn:
            detail = (
                f"the result of call {excerpt(id)} does not directly follow message {call.index}, which made the call"
            )
            yield HistoryProblem("misplaced_result", index, detail)
    elif id in ids:
        yield HistoryProblem("duplicate_result", index, f"call {excerpt(id)} has a result already")
    else:
        yield HistoryProblem(
            "orphaned_result", index, f"no message makes the call {excerpt(id)} that this is the result of"
        )


def check_history(messages: Conversation) -> None:
    """Raise `InvalidHistory` if providers would refuse the conversation; its ``problems`` are `validate_history`'s."""
    if problems := validate_history(messages):
        words = [f"message {problem.index}: {problem.detail}" for problem in problems[:5]]
        if more := len(problems) - len(words):
            words.append(f"and {more} more")
        raise InvalidHistory(f"providers refuse this conversation: {'; '.join(words)}. See repair_history", problems)


def repair_history(messages: Conversation) -> list[BaseMessage]:
    """Return the conversation as providers accept it, with as little changed as that takes.

    Results move to their calls. A call that has none is answered by a message that says so, with ``status="error"``.
    Calls without an id, or with that of another, get one, and so do their results. What has no place is left out:
    results of calls that nobody made, second results, messages that say nothing or cannot be sent. Anything else is the
    very message that came; what came is not changed. A conversation that is valid comes back as it is, and so what this
    returns does.
    """
    conversation = convert_to_messages(messages)
    if all(map(is_plain, conversation)):
        return conversation
    calls = match_calls(conversation)
    ids = _ids(calls)
    made_by: dict[int, list[PlacedCall]] = {}
    for call in calls:
        made_by.setdefault(call.index, []).append(call)
    repaired: list[BaseMessage] = []
    for index, message in enumerate(conversation):
        if role_of(message) in ("tool", "nobody") or is_empty(message):
            continue
        made = made_by.get(index)
        if made is None:
            repaired.append(message)
            continue
        changed = any(call.id != ids[call] for call in made)
        own = {call.place: ids[call] for call in made}
        repaired.append(with_calls(cast(AIMessage, message), own) if changed else message)
        repaired.extend(_results(conversation, made, ids))
    return repaired


def _ids(calls: Sequence[PlacedCall]) -> dict[PlacedCall, str]:
    """Return an id for each call: its own, if it has one that is not taken."""
    used = {call.id for call in calls if call.id}
    given: dict[PlacedCall, str] = {}
    taken: set[str] = set()
    numbers: dict[str, int] = {}  # the last one that was put behind an id
    for call in calls:
        id = wanted = call.id or f"call_{call.index}_{call.place}"
        while id in taken or (id in used and id != call.id):
            numbers[wanted] = numbers.get(wanted, 1) + 1
            id = f"{wanted}_{numbers[wanted]}"
        taken.add(id)
        given[call] = id
    return given


def _results(
    messages: Sequence[BaseMessage], made: Sequence[PlacedCall], ids: dict[PlacedCall, str]
) -> Iterator[BaseMessage]:
    """The results of the calls of a message: as they came, those that came before their call next, then what is made up."""
    came: list[tuple[bool, int, str]] = []
    for call in made:
        if call.result is not None and role_of(messages[call.result]) == "tool":  # else it stays where it is
            came.append((call.result < call.index, call.result, ids[call]))
    for _, index, id in sorted(came):
        result = messages[index]
        yield result if getattr(result, "tool_call_id", None) == id else copy_message(result, tool_call_id=id)
    for call in made:
        if call.result is None:
            yield ToolMessage(_NO_RESULT, tool_call_id=ids[call], name=call.name or None, status="error")
