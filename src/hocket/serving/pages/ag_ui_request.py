"""The body that a client of AG-UI sends, read: ``RunAgentInput`` of version 1.0.

Source: npm ``@ag-ui/core`` 1.0, and the models of PyPI's ``ag-ui-protocol`` 1.0.
"""

from typing import cast

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.tool_calls import default_tool_parser
from hocket.serving.pages.page_request import (
    PageRequest,
    list_objects,
    make_media_block,
    take_field,
    take_id,
    take_object,
)

__all__ = ["read_ag_ui_request"]

_READ = ("threadId", "runId", "messages", "resume")
_MEDIA = ("image", "audio", "video", "document")
_PAYLOAD = "a decision as Resume takes it, or an object with approved: true or false"


def read_ag_ui_request(body: FieldsView, *, system: bool) -> PageRequest:
    """Return what a body asks; see `read_chat`."""
    made = [_read_message(one, place, system=system) for place, one in list_objects(body, "messages")]
    messages = [one for one in made if one is not None]
    decisions = dict(_read_decision(one, place) for place, one in list_objects(body, "resume"))
    extra = {name: value for name, value in body.items() if name not in _READ}
    trigger = "submit-message"
    return PageRequest(take_id(body, "threadId"), take_id(body, "runId"), messages, decisions, trigger, extra)


def _read_message(given: FieldsView, place: str, *, system: bool) -> BaseMessage | None:
    """Return a message; None: it is of a kind that is left out."""
    role = take_field(given, "role", str, place)
    if role == "user":
        return HumanMessage(_read_content(given, place))
    if role == "assistant":
        calls, invalid = default_tool_parser([_check_call(*one) for one in list_objects(given, "toolCalls", place)])
        text = take_field(given, "content", str, place) or ""
        return AIMessage(text, tool_calls=calls, invalid_tool_calls=invalid)
    if role == "tool":
        status = "error" if given.get("error") else "success"
        return ToolMessage(_read_content(given, place), tool_call_id=take_id(given, "toolCallId", place), status=status)
    if role in ("system", "developer") and system:
        return SystemMessage(take_field(given, "content", str, place) or "")
    return None


def _check_call(place: str, given: Fields) -> Fields:
    """Return a call whose fields are texts."""
    take_field(given, "id", str, place)
    function = take_object(given, "function", place)
    for name in ("name", "arguments"):
        take_field(function, name, str, f"{place}function.")
    return given


def _read_content(given: FieldsView, place: str) -> str | list[str | Fields]:
    """Return the content of a message: a text, or texts and files."""
    if not isinstance(given.get("content"), list):
        return take_field(given, "content", str, place) or ""
    blocks: list[str | Fields] = []
    for where, part in list_objects(given, "content", place):
        source = take_object(part, "source", where)
        mime_type, value = (take_field(source, name, str, f"{where}source.") for name in ("mimeType", "value"))
        if part.get("type") == "text":
            blocks.append({"type": "text", "text": take_field(part, "text", str, where) or ""})
        elif part.get("type") in _MEDIA and source.get("type") == "data":
            url = "" if value is None else f"data:{mime_type or ''};base64,{value}"
            blocks.append(make_media_block(url, mime_type, f"{where}source.value"))
        elif part.get("type") in _MEDIA and source.get("type") == "url":
            blocks.append(make_media_block(value or "", mime_type, f"{where}source.value"))
    return blocks


def _read_decision(given: FieldsView, place: str) -> tuple[str, str | Fields]:
    """Return the id of a call and what was decided; whether that is a decision, the agent finds out."""
    call_id, status = take_id(given, "interruptId", place), given.get("status")
    payload: object = given.get("payload")
    if status == "cancelled":
        return call_id, "reject"
    if status != "resolved":
        raise InvalidInput(f"{place}status is {excerpt(status)}; it is 'resolved' or 'cancelled'")
    if isinstance(payload, str):
        return call_id, payload
    fields = cast(Fields, payload) if isinstance(payload, dict) else {}
    if "type" in fields:
        return call_id, fields
    approved: object = fields.get("approved")
    if not isinstance(approved, bool):
        raise InvalidInput(f"{place}payload is {excerpt(given.get('payload'))}; it is {_PAYLOAD}")
    if not approved:
        reason = take_field(fields, "reason", str, f"{place}payload.")
        return call_id, {"type": "reject", "message": reason} if reason else {"type": "reject"}
    if fields.get("args") is None:
        return call_id, "approve"
    return call_id, {"type": "edit", "args": take_object(fields, "args", f"{place}payload.")}
