"""Blocks of Anthropic's messages API.

``redacted_thinking``, ``tool_result``, ``search_result`` and others that have no standard form stay whole. In a message
that is being streamed, the input of a tool grows under ``partial_json`` and arrives as ``input_json_delta``.
"""

from collections.abc import Mapping
from typing import Any, cast

from hocket.errors import InvalidInput
from hocket.messages.content import Annotation, ContentBlock
from hocket.messages.content_view.blocks import (
    Native,
    Reader,
    as_base64,
    block,
    call_block,
    mapping_at,
    mappings_at,
    non_standard,
    rest,
    text_at,
)
from hocket.messages.tool_calls import parse_tool_arguments

__all__ = ["READERS"]


def _text(native: Native) -> list[ContentBlock] | None:
    if "citations" not in native or (text := text_at(native, "text")) is None:
        return None
    citations = mappings_at(native, "citations")
    annotations = [_citation(each) for each in citations] if citations else None
    return [block("text", native, {"text", "citations"}, text=text, annotations=annotations)]


_TITLES = {
    "web_search_result_location": "title",
    "search_result_location": "title",
    "char_location": "document_title",
    "page_location": "document_title",
    "content_block_location": "document_title",
}


def _citation(native: Native) -> Annotation:
    kind, cited_text = text_at(native, "type") or "", text_at(native, "cited_text")
    if kind not in _TITLES or cited_text is None:
        return {"type": "non_standard_annotation", "value": dict(native)}
    fields = {"cited_text": cited_text}
    if title := text_at(native, _TITLES[kind]):
        fields["title"] = title
    if kind == "web_search_result_location" and (url := text_at(native, "url")):
        fields["url"] = url
    used = {"type", _TITLES[kind], *fields}
    extras = {name: value for name, value in native.items() if name not in used and value is not None}
    return cast(Annotation, {"type": "citation", **fields, **({"extras": extras} if extras else {})})


def _thinking(native: Native) -> list[ContentBlock] | None:
    """Anthropic's and Cohere's ``thinking`` is text, Mistral's a list of text parts."""
    parts = mappings_at(native, "thinking")
    text = text_at(native, "thinking") if parts is None else "".join(text_at(part, "text") or "" for part in parts)
    return None if text is None else [block("reasoning", native, {"thinking"}, reasoning=text)]


def _data(native: Native) -> list[ContentBlock] | None:
    """``image`` and ``document``, by their ``source``."""
    if (source := mapping_at(native, "source")) is None:
        return None
    kind = "image" if native["type"] == "image" else "file"
    fields: dict[str, Any]
    match source.get("type"):
        case "base64":
            fields = {"base64": as_base64(source.get("data")), "mime_type": text_at(source, "media_type")}
        case "url":
            fields = {"url": text_at(source, "url")}
        case "file":
            fields = {"file_id": text_at(source, "file_id")}
        case "text" if kind == "file":
            kind, fields = "text-plain", {"text": text_at(source, "data"), "mime_type": "text/plain"}
        case _:
            return [non_standard(native)]
    if None in fields.values():
        return [non_standard(native)]
    if kind == "text-plain":
        fields |= {name: text for name in ("title", "context") if (text := text_at(native, name)) is not None}
    return [block(kind, native, {"source", *fields}, **fields)]


def _tool_use(native: Native) -> list[ContentBlock] | None:
    more = rest(native, {"id", "name", "input", "partial_json"})
    return [call_block(native, native.get("input") or native.get("partial_json"), text_at(native, "id"), more)]


_SERVER_TOOL_NAMES = {"code_execution": "code_interpreter"}


def _server_tool_use(native: Native) -> list[ContentBlock] | None:
    """``server_tool_use``, and ``mcp_tool_use``, whose own name is that of the remote tool."""
    id, name = text_at(native, "id"), text_at(native, "name")
    if id is None or name is None:
        return None
    made = rest(native, {"id", "name", "input", "partial_json"})
    if native["type"] == "mcp_tool_use":
        made["extras"] = {"tool_name": name, **made.get("extras", {})}
        name = "remote_mcp"
    made |= {"id": id, "name": _SERVER_TOOL_NAMES.get(name, name)}
    partial = text_at(native, "partial_json")
    try:
        made |= {"type": "server_tool_call", "args": parse_tool_arguments(mapping_at(native, "input") or partial)}
    except InvalidInput:  # not complete yet
        made |= {"type": "server_tool_call_chunk", "args": partial}
    return [cast(ContentBlock, made)]


def _server_tool_result(native: Native) -> list[ContentBlock] | None:
    if (call_id := text_at(native, "tool_use_id")) is None:
        return None
    failed = native.get("is_error") or (mapping_at(native, "content") or {}).get("error_code")
    made = rest(native, {"tool_use_id", "content", "is_error"})
    made |= {"type": "server_tool_result", "tool_call_id": call_id, "status": "error" if failed else "success"}
    made["extras"] = {"block_type": native["type"], **made.get("extras", {})}
    if (output := native.get("content")) is not None:
        made["output"] = output
    return [cast(ContentBlock, made)]


def _json_delta(native: Native) -> list[ContentBlock] | None:
    """A fragment of some tool's input; the message's own ``tool_call_chunks`` tell whether the tool is the user's."""
    if (text := text_at(native, "partial_json")) is None:
        return None
    return [block("server_tool_call_chunk", native, {"partial_json"}, args=text)]


READERS: Mapping[str, Reader] = {
    "text": _text,
    "thinking": _thinking,
    "image": _data,
    "document": _data,
    "tool_use": _tool_use,
    "input_json_delta": _json_delta,
    "server_tool_use": _server_tool_use,
    "mcp_tool_use": _server_tool_use,
    "mcp_tool_result": _server_tool_result,
    "web_search_tool_result": _server_tool_result,
    "web_fetch_tool_result": _server_tool_result,
    "code_execution_tool_result": _server_tool_result,
    "bash_code_execution_tool_result": _server_tool_result,
    "text_editor_code_execution_tool_result": _server_tool_result,
    "tool_search_tool_result": _server_tool_result,
}
