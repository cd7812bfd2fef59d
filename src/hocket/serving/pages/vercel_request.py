"""The body that ``useChat`` sends, read: Vercel's UI messages, of version 6.

Source: npm ``ai`` 6, ``ui/http-chat-transport.ts`` and ``ui/ui-messages.ts``. A message of the assistant is a whole turn
there: steps, each with texts and calls that have their results beside them. Here each step is a message, and its results.
"""

from collections.abc import Iterator
from typing import cast

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.serving.message_parts import encode_json
from hocket.serving.pages.page_request import (
    Decisions,
    PageRequest,
    list_objects,
    make_media_block,
    take_field,
    take_id,
    take_object,
)

__all__ = ["read_vercel_request"]

_READ = ("id", "messages", "trigger")
_REJECTED = "A person rejected this call. It was not run."

Parts = list[tuple[str, Fields]]


def read_vercel_request(body: FieldsView, *, system: bool) -> PageRequest:
    """Return what a body asks; see `read_chat`."""
    messages: list[BaseMessage] = []
    decisions: Decisions = {}
    run_id = ""
    for place, given in list_objects(body, "messages"):
        role, parts = take_field(given, "role", str, place), list(list_objects(given, "parts", place))
        run_id, decisions = "", {}
        if role == "user":
            messages.append(HumanMessage(_read_content(parts)))
        elif role == "assistant":
            messages.extend(_read_turn(parts))
            decisions = _read_decisions(parts)
            run_id = take_id(given, "id", place) if decisions else ""  # the answer goes on in this message
        elif role == "system" and system:
            messages.append(SystemMessage(_join_text(parts)))
    extra = {name: value for name, value in body.items() if name not in _READ}
    trigger = take_field(body, "trigger", str) or "submit-message"
    return PageRequest(take_id(body, "id"), run_id, messages, decisions, trigger, extra)


def _join_text(parts: Parts) -> str:
    return "".join(take_field(part, "text", str, place) or "" for place, part in parts if part.get("type") == "text")


def _read_content(parts: Parts) -> str | list[str | Fields]:
    """Return the content of a person's message: a text, or texts and files."""
    blocks: list[str | Fields] = []
    for place, part in parts:
        if part.get("type") == "text":
            blocks.append({"type": "text", "text": take_field(part, "text", str, place) or ""})
        elif part.get("type") == "file":
            name = take_field(part, "filename", str, place)
            beside = {"filename": name} if name else {}
            url, media_type = (take_field(part, key, str, place) for key in ("url", "mediaType"))
            blocks.append(make_media_block(url or "", media_type, f"{place}url", **beside))
    if all(cast(Fields, block)["type"] == "text" for block in blocks):
        return _join_text(parts)
    return blocks


def _read_turn(parts: Parts) -> Iterator[BaseMessage]:
    """Yield the messages of an assistant's turn, one a step, each with the results of its calls behind it."""
    step: Parts = []
    for one in [*parts, ("", {"type": "step-start"})]:
        if one[1].get("type") != "step-start":
            step.append(one)
            continue
        calls, results, step_text = list[ToolCall](), list[ToolMessage](), _join_text(step)
        for place, part in step:
            if (name := _find_tool(part, place)) is not None and part.get("state") != "input-streaming":
                call_id, given = take_id(part, "toolCallId", place), part.get("input")
                args = cast(Fields, given) if isinstance(given, dict) else {}
                calls.append(ToolCall(type="tool_call", name=name, id=call_id, args=args))
                results.extend(_read_result(part, call_id, name))
        if step_text or calls:
            yield AIMessage(step_text, tool_calls=calls)
            yield from results
        step = []


def _find_tool(part: FieldsView, place: str) -> str | None:
    """Return the name of the tool whose call a part is; None: it is no call."""
    kind = take_field(part, "type", str, place) or ""
    if kind == "dynamic-tool":
        return take_field(part, "toolName", str, place) or ""
    return kind.removeprefix("tool-") if kind.startswith("tool-") else None


def _read_result(part: FieldsView, call_id: str, name: str) -> Iterator[ToolMessage]:
    state = part.get("state")
    if state == "output-available":
        output: object = part.get("output")
        text = output if isinstance(output, str) else encode_json(output).decode()
        yield ToolMessage(text, tool_call_id=call_id, name=name)
    elif state in ("output-error", "output-denied"):
        text = _REJECTED if state == "output-denied" else str(part.get("errorText") or "it failed")
        yield ToolMessage(text, tool_call_id=call_id, name=name, status="error")


def _read_decisions(parts: Parts) -> Decisions:
    """Return what the person has decided about calls of the last message."""
    decisions: Decisions = {}
    for place, part in parts:
        if _find_tool(part, place) is None or part.get("state") != "approval-responded":
            continue
        given = take_object(part, "approval", place)
        place = f"{place}approval."
        call_id, approved = take_id(given, "id", place), take_field(given, "approved", bool, place)
        if approved is None:
            raise InvalidInput(f"{place}approved is {excerpt(approved)}; it is true or false")
        reason = take_field(given, "reason", str, place)
        rejection: Fields = {"type": "reject", "message": reason} if reason else {"type": "reject"}
        decisions[call_id] = "approve" if approved else rejection
    return decisions
