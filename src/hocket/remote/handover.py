"""A conversation that one provider began goes on with another: once for all providers, before a request is written.

A provider gets its own replies back as they were: reasoning, signatures and all. Of the replies of others it gets what
they said and which tools they called, as standard blocks. Their reasoning, and what ran on their side, is left out: no
other server could use it, and most refuse it. What was left out is counted (`Downgrade`), so that handlers can be told.

A reply says in ``response_metadata["model_provider"]`` whose it is. Of one that does not say so, each part is taken for
what its form shows.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from hocket._pipeline.call import Call, Next
from hocket.messages import AIMessage, BaseMessage, FunctionMessage, ToolMessage
from hocket.messages.base import copy_message
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import content_blocks_of, read_block
from hocket.messages.roles import function_call_of
from hocket.messages.tool_calls import read_tool_calls, tool_call_chunk
from hocket.remote.message_parts import STANDARD, IsNative, keep_standard
from hocket.tools.names import fit_name

__all__ = [
    "PRIVATE",
    "Downgrade",
    "hand_over",
    "lift_function_calls",
    "make_call_id",
    "make_downgrade",
    "with_handover",
]

_CALLS = frozenset({"tool_call", "invalid_tool_call", "tool_call_chunk"})
PRIVATE = frozenset({"reasoning", "server_tool_call", "server_tool_result", "server_tool_call_chunk", "non_standard"})
"""Types of standard blocks that only the provider that wrote them can use."""

_KEPT_BESIDE = ("function_call", "refusal")
"""What every provider may read beside the content: a call, as old messages have it, and a refusal."""


@dataclass(frozen=True, slots=True)
class Downgrade:
    """What a provider was not told of a conversation: of another one's replies, or of tools' results.

    Attributes:
        provider: the name of the provider that is asked.
        block_types: the types of the blocks that were left out, or became a text, as standard blocks are called, sorted.
        count: how many blocks.
    """

    provider: str
    block_types: tuple[str, ...]
    count: int


def make_downgrade(provider: str, block_types: Sequence[str], other: Downgrade | None = None) -> Downgrade | None:
    """Return what is to be told of blocks of these types, with that of ``other``; None: nothing."""
    if not block_types:
        return other
    types, count = (other.block_types, other.count) if other else ((), 0)
    return Downgrade(provider, tuple(sorted({*types, *block_types})), count + len(block_types))


class _AdaptingModel(Protocol):
    """What the stage needs of a model."""

    def _adapt(
        self, messages: Sequence[BaseMessage], params: FieldsView
    ) -> tuple[Sequence[BaseMessage], Downgrade | None]: ...


def with_handover(call_next: Next) -> Next:
    """Return ``call_next``, given the conversation as its model can take it: once a request, before its first attempt."""

    def start(call: Call) -> Awaitable[Any]:
        model: _AdaptingModel = call.request.model
        messages = call.request.prompts[0]
        adapted, downgrade = model._adapt(messages, call.request.params)  # pyright: ignore[reportPrivateUsage]  # the stage's own hook
        if adapted is messages:
            return call_next(call)
        return _tell_and_go_on(call, adapted, downgrade, call_next)

    return start


async def _tell_and_go_on(
    call: Call, messages: Sequence[BaseMessage], downgrade: Downgrade | None, call_next: Next
) -> Any:
    if downgrade is not None:
        types = list(downgrade.block_types)
        await call.runs.emit_shared("on_downgrade", downgrade.provider, block_types=types, count=downgrade.count)
    request = call.request._replace(prompts=[messages])
    return await call_next(Call(call.answer, request, call.mode, call.limits, call.runs, call.delivery))


def hand_over(
    messages: Sequence[BaseMessage],
    provider: str,
    is_native: IsNative,
    call_ids: re.Pattern[str] | None = None,
    takes_back: frozenset[str] = PRIVATE,
    kin: frozenset[str] = frozenset(),
) -> tuple[Sequence[BaseMessage], Downgrade | None]:
    """Return a conversation as one provider can take it, and what was left out. The messages themselves stay as they are.

    An assistant's message that says and calls nothing has no place in it: some servers refuse it, and none reads it.

    Args:
        messages: the conversation.
        provider: its name, as ``model_provider`` says it.
        is_native: whether a part of a reply's content is of the provider's own format.
        call_ids: what the ids of tool calls must look like; one that does not is replaced, in its result as well. None:
            any will do.
        takes_back: types of standard blocks, beside those that say or call something, that it takes in replies of its own.
        kin: the names of providers whose replies are in its format, so that they go back as its own do.
    """
    left_out: list[str] = []
    own = kin | {provider}
    made: Sequence[BaseMessage] = [
        _hand_over(message, own, is_native, takes_back, left_out) if isinstance(message, AIMessage) else message
        for message in messages
    ]
    made = [message for message in made if not (isinstance(message, AIMessage) and _is_empty(message))]
    return _fit_calls(made, call_ids), make_downgrade(provider, left_out)


def _is_empty(message: AIMessage) -> bool:
    """Whether a reply says and calls nothing, as one that was stopped before its first word."""
    return not (message.content or message.tool_calls or message.invalid_tool_calls or message.additional_kwargs)


def _hand_over(
    message: AIMessage, own: frozenset[str], is_native: IsNative, takes_back: frozenset[str], left_out: list[str]
) -> AIMessage:
    author = message.response_metadata.get("model_provider")
    is_own = author in own
    is_foreign = author is not None and not is_own
    changes: Fields = {}
    if not isinstance(message.content, str):
        parts: list[str | Fields] = []
        for part in message.content:
            if isinstance(part, str) or (not is_foreign and _passes(part, is_native)):
                parts.append(part)
            elif is_own:
                parts.extend(_keep_own(part, takes_back, left_out))
            else:
                parts.extend(_translate(part, left_out))
        if parts != message.content:
            changes["content"] = parts
    if is_foreign:
        changes |= _strip_calls(message)
        if beside := message.additional_kwargs:
            changes |= _strip_beside(beside, changes.get("content", message.content), left_out)
    return copy_message(message, **changes) if changes else message


def _passes(part: Fields, is_native: IsNative) -> bool:
    """Whether a part, of a reply of the provider's own or of nobody's, goes on as it is."""
    kind = str(part.get("type"))
    return is_native(part) or kind in STANDARD or kind in _CALLS or kind == "non_standard"


def _keep_own(part: Fields, takes_back: frozenset[str], left_out: list[str]) -> list[Fields]:
    """Return what goes back of a part of an own reply that is not of the provider's format.

    Another library may have written it in its words, or another of the provider's APIs. What nobody knows is what the
    provider has come up with since.
    """
    blocks = [cast(Fields, block) for block in read_block(part)]
    refused = [block for block in blocks if block["type"] in PRIVATE - takes_back]
    left_out.extend(block["type"] for block in refused)
    return [block for block in blocks if block not in refused] if refused else [part]


def _translate(part: Fields, left_out: list[str]) -> list[Fields]:
    """Return what a part says and calls, as standard blocks, and note what else it holds."""
    kept: list[Fields] = []
    for block in read_block(part):
        kind = block["type"]
        if kind in STANDARD:
            kept.append(keep_standard(block))
        elif kind in _CALLS:
            kept.append({name: value for name, value in block.items() if name not in ("extras", "index")})
        else:
            left_out.append(kind)
    return kept


def _strip_calls(message: AIMessage) -> Fields:
    """Return the calls of a message without what only its provider understands, as changes of it."""
    stripped: Fields = {}
    for name in ("tool_calls", "invalid_tool_calls"):
        calls = cast("list[Fields]", getattr(message, name))
        if any("extras" in call for call in calls):
            stripped[name] = [{key: value for key, value in call.items() if key != "extras"} for call in calls]
    return stripped


def _strip_beside(beside: Fields, content: str | list[str | Fields], left_out: list[str]) -> Fields:
    """Return the changes that keep what a reply has beside its content from other providers, but for pictures."""
    blocks = [cast(Fields, block) for block in content_blocks_of("", additional_kwargs=beside, response_metadata={})]
    left_out.extend(block["type"] for block in blocks if block["type"] not in STANDARD)
    changes: Fields = {"additional_kwargs": {name: beside[name] for name in _KEPT_BESIDE if name in beside}}
    if pictures := [block for block in blocks if block["type"] in STANDARD]:
        texts: list[str | Fields] = ([content] if content else []) if isinstance(content, str) else content
        changes["content"] = [*texts, *pictures]
    return changes


# -- calls from before there were tools


def lift_function_calls(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return a conversation with each old ``function_call`` as a tool call, and its function message as that call's result.

    They name no call, so ids are made up, the same ones each time. The messages themselves stay as they are.
    """
    lifted: list[BaseMessage] = []
    waiting: str | None = None  # the id of the call whose result is to come
    for place, message in enumerate(messages):
        function = function_call_of(message) if isinstance(message, AIMessage) else None
        if function is not None:
            waiting = make_call_id(f"{place} {function}")
            chunk = tool_call_chunk(name=function.get("name"), args=function.get("arguments"), id=waiting)
            calls, invalid = read_tool_calls([chunk])
            beside = {name: value for name, value in message.additional_kwargs.items() if name != "function_call"}
            changes: Fields = {"tool_calls": calls, "invalid_tool_calls": invalid, "additional_kwargs": beside}
            lifted.append(copy_message(message, **changes))
        elif isinstance(message, FunctionMessage) and waiting is not None:
            lifted.append(ToolMessage(message.content, tool_call_id=waiting, name=message.name))
            waiting = None
        else:
            lifted.append(message)
    return lifted


# -- ids and names of tool calls


def _fit_calls(messages: Sequence[BaseMessage], ids: re.Pattern[str] | None) -> Sequence[BaseMessage]:
    """Return the messages with calls, and their results, that the server takes.

    A model may call a tool by a name that no tool can have. Servers refuse such a name, also in an old message.
    """

    def fit_id(id: str) -> str:
        return id if not id or ids is None or ids.fullmatch(id) else make_call_id(id)

    def fit(call: FieldsView, key: str) -> Fields:
        fitted = {**call}
        if call.get(key):
            fitted[key] = fit_id(call[key])
        if "name" in call:
            fitted["name"] = fit_name(call["name"] or "")
        return fitted

    made: list[BaseMessage] = []
    for message in messages:
        changes: Fields = {}
        if isinstance(message, AIMessage):
            for name in ("tool_calls", "invalid_tool_calls"):
                calls = cast("list[Fields]", getattr(message, name))
                if (fitted := [fit(call, "id") for call in calls]) != calls:
                    changes[name] = fitted
            if not isinstance(message.content, str):
                parts = [_fit_part(part, fit) for part in message.content]
                if parts != message.content:
                    changes["content"] = parts
        elif isinstance(message, ToolMessage):
            told = {"tool_call_id": fit_id(message.tool_call_id), "name": message.name and fit_name(message.name)}
            changes = {name: value for name, value in told.items() if value != getattr(message, name)}
        made.append(copy_message(message, **changes) if changes else message)
    return made


def _fit_part(part: str | Fields, fit: Callable[[FieldsView, str], Fields]) -> str | Fields:
    if isinstance(part, str):
        return part
    for word in ("functionCall", "function_call"):  # Gemini's, which hold the call inside
        if isinstance(inner := part.get(word), dict):
            return {**part, word: fit(cast(Fields, inner), "id")}
    key = _ID_KEYS.get(str(part.get("type")))
    return fit(part, key) if key else part


_ID_KEYS = {**dict.fromkeys((*_CALLS, "tool_use"), "id"), "function_call": "call_id", "custom_tool_call": "call_id"}
"""Where a part of a reply has the id of its call, by its type: in standard blocks, Anthropic's and OpenAI's."""


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def make_call_id(id: str) -> str:
    """Return nine letters and digits that stand for an id, the same ones each time. Every server takes such an id."""
    number = int.from_bytes(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest())
    made = ""
    while len(made) < 9:
        number, digit = divmod(number, len(_DIGITS))
        made += _DIGITS[digit]
    return made
