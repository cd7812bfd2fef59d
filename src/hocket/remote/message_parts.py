"""How a provider reads the parts of a message, to write them in its own format.

A part is in the form it came in: the provider's own, another provider's, another library's, or a standard block. A part of
the provider's own form goes as it is; every other one is read as a standard block. A tool's result that lies in a user's
message is read, too. `hocket.remote.handover` works before this: it decides what a provider is told at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from hocket.errors import InvalidHistory, InvalidInput
from hocket.errors.hints import excerpt
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hocket.messages.base import copy_message
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import content_blocks_of, read_block, stands_for
from hocket.messages.formats.blocks import more
from hocket.messages.roles import calls_of

__all__ = [
    "STANDARD",
    "UNSPOKEN",
    "IsNative",
    "arguments_of",
    "check_results",
    "keep_standard",
    "lift_results",
    "read_parts",
    "read_reply_parts",
]


IsNative = Callable[[FieldsView], bool]
"""Tells whether a part of a message is in the server's own format already."""

UNSPOKEN = frozenset(
    {
        "reasoning",
        "thinking",
        "redacted_thinking",
        "tool_call",
        "tool_call_chunk",
        "invalid_tool_call",
        "tool_use",
        "function_call",
        "custom_tool_call",
    }
)
"""Parts of a reply that are no content: calls travel beside it, and reasoning, where a server wants it back, too."""

STANDARD = frozenset({"text", "image", "audio", "video", "file", "text-plain"})
"""Types of the standard blocks that say something."""

_REFUSED = frozenset({"unanswered_call", "orphaned_result", "misplaced_result", "duplicate_result"})


def lift_results(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return a conversation with each tool's result in a `ToolMessage`. The messages themselves stay as they are.

    A result may lie in the content of a user's message, as Anthropic's ``tool_result``, where another library wrote it.
    (`hocket.messages.roles.calls_of` finds the calls, wherever a message has them.)
    """
    if not any(isinstance(message, HumanMessage) and _results_in(message) for message in messages):
        return messages
    lifted: list[BaseMessage] = []
    for message in messages:
        results = _results_in(message) if isinstance(message, HumanMessage) else []
        lifted.extend(results)
        rest = [part for part in message.content if not _is_result(part)] if results else []
        if not results or rest:
            lifted.append(copy_message(message, content=rest) if results else message)
    return lifted


def _is_result(part: str | FieldsView) -> bool:
    return not isinstance(part, str) and part.get("type") == "tool_result"


def _results_in(message: HumanMessage) -> list[ToolMessage]:
    if isinstance(message.content, str):
        return []
    return [
        ToolMessage(
            part.get("content") or "",
            tool_call_id=part.get("tool_use_id") or "",
            status="error" if part.get("is_error") else "success",
            additional_kwargs={"cache_control": mark} if (mark := part.get("cache_control")) else {},
        )
        for part in message.content
        if isinstance(part, dict) and _is_result(part)
    ]


def check_results(messages: Sequence[BaseMessage], *, has_beginning: bool = True) -> None:
    """Refuse a conversation in which a tool call has no result, or a result no call: no server takes it.

    Args:
        messages: the conversation.
        has_beginning: whether it has one; else a result may answer a call that is not here.

    Raises:
        InvalidHistory: the message names the places, and the way out.
    """
    if not any(isinstance(message, ToolMessage) or calls_of(message) for message in messages):
        return
    from hocket.message_toolkit.repair import validate_history  # a program without tools need not load it

    refused = _REFUSED if has_beginning else _REFUSED - {"orphaned_result"}
    problems = [problem for problem in validate_history(messages) if problem.code in refused]
    if problems:
        words = "; ".join(f"message {problem.index}: {problem.detail}" for problem in problems[:5])
        raise InvalidHistory(
            f"no server takes this conversation: {words}. Add what is missing, or let "
            "hocket.messages.repair_history(messages) mend it",
            problems,
        )


def read_parts(content: Iterable[str | FieldsView], is_native: IsNative, words: Iterable[str] = ()) -> list[Fields]:
    """Return the parts of a content, those of other providers as standard blocks; what cannot be read stays as it is.

    Args:
        content: of a message.
        is_native: whether a part is of the provider's own format, and so goes as it is.
        words: what the format has a field for beyond the standard ones: see `keep_standard`.
    """
    parts: list[Fields] = []
    for part in content:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        elif is_native(part) or part.get("type") == "non_standard":
            parts.append(dict(part))
        else:
            own = dict(part)
            for block in content_blocks_of([own], additional_kwargs={}, response_metadata={}):
                read = cast(Fields, block)
                if read["type"] == "non_standard":
                    parts.append(dict(read["value"]))
                else:
                    parts.append(own if read is own else keep_standard(read, words))
    return parts


def read_reply_parts(message: AIMessage, is_native: IsNative) -> list[Fields]:
    """Return what a reply says and calls, in order, for formats that have calls in the content.

    A part of the format itself stays as it is, but for the ``index`` that it had in a stream; a call stays so too, unless
    the message's own ``tool_calls`` say something else. Everything else is a standard block; each call has one.
    """
    left = calls_of(message)
    parts: list[Fields] = []
    for part in [message.content] if isinstance(message.content, str) else message.content:
        if isinstance(part, str):
            parts += [{"type": "text", "text": part}] if part else []
            continue
        native = {name: value for name, value in part.items() if name != "index"}
        blocks = [cast(Fields, block) for block in read_block(native)]
        if not any(block["type"] in _CALLS for block in blocks):
            parts.extend([native] if is_native(native) or native.get("type") == "non_standard" else blocks)
            continue
        for block in blocks:
            call = next((call for call in left if stands_for(block, call)), None)
            if call is None:
                continue
            left.remove(call)
            is_same = block.get("name") == call["name"] and block.get("args") == call["args"]
            parts.append(native if is_same and is_native(native) else {**block, **call})
    return [*parts, *(dict(call) for call in left)]


_CALLS = frozenset({"tool_call", "invalid_tool_call"})


def arguments_of(call: FieldsView) -> Fields:
    """Return the arguments of a call as an object, for formats that take no text: what could not be read, as it came."""
    args = call.get("args")
    return dict(cast("Fields", args)) if isinstance(args, Mapping) else {"INVALID_JSON": args} if args else {}


def keep_standard(block: FieldsView, words: Iterable[str] = ()) -> Fields:
    """Return a block without what it says beyond the standard, but for what stands in ``words``: servers refuse the rest."""
    if not isinstance(block.get("extras") or {}, Mapping):
        kind = type(block["extras"]).__name__
        raise InvalidInput(f"the extras of a part of type {excerpt(block['type'])} are {kind}, not a dict")
    beyond = more(block)
    kept = {name: value for name, value in block.items() if name not in beyond and name != "extras"}
    return kept | {"extras": {name: beyond[name] for name in words if name in beyond}}
