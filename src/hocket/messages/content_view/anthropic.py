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
    joined_text,
    non_standard,
    rest,
)
from hocket.messages.tool_calls import parse_tool_arguments

__all__ = ["READERS"]


def _text(native: Native) -> list[ContentBlock] | None:
    if "citations" not in native or not isinstance(text := native.get("text"), str):
        return None
    citations = native["citations"]
    annotations = [_citation(each) for each in citations if isinstance(each, Mapping)] if citations else None
    return [block("text", native, {"text", "citations"}, text=text, annotations=annotations)]


_TITLES = {
    "web_search_result_location": "title",
    "search_result_location": "title",
    "char_location": "document_title",
    "page_location": "document_title",
    "content_block_location": "document_title",
}


def _citation(native: Native) -> Annotation:
    kind = native.get("type")
    if kind not in _TITLES or not isinstance(native.get("cited_text"), str):
        return {"type": "non_standard_annotation", "value": dict(native)}
    fields = {"cited_text": native["cited_text"]}
    if isinstance(title := native.get(_TITLES[kind]), str):
        fields["title"] = title
    if kind == "web_search_result_location" and isinstance(url := native.get("url"), str):
        fields["url"] = url
    used = {"type", "cited_text", _TITLES[kind], *fields}
    extras = {name: value for name, value in native.items() if name not in used and value is not None}
    return cast(Annotation, {"type": "citation", **fields, **({"extras": extras} if extras else {})})


def _thinking(native: Native) -> list[ContentBlock] | None:
    """Anthropic's and Cohere's ``thinking`` is text, Mistral's a list of text parts."""
    if (text := joined_text(native.get("thinking", ""))) is None:
        return None
    return [block("reasoning", native, {"thinking"}, reasoning=text)]


def _data(native: Native) -> list[ContentBlock] | None:
    """``image`` and ``document``, by their ``source``."""
    if not isinstance(source := native.get("source"), Mapping):
        return None
    kind = "image" if native["type"] == "image" else "file"
    fields: dict[str, Any] = {}
    match source:
        case {"type": "base64", "data": str() | bytes() as data, "media_type": str() as mime_type}:
            fields = {"base64": as_base64(data), "mime_type": mime_type}
        case {"type": "url", "url": str() as url}:
            fields = {"url": url}
        case {"type": "file", "file_id": str() as file_id}:
            fields = {"file_id": file_id}
        case {"type": "text", "data": str() as text} if kind == "file":
            kind, fields = "text-plain", {"text": text, "mime_type": "text/plain"}
            fields.update((name, native[name]) for name in ("title", "context") if isinstance(native.get(name), str))
        case _:
            return [non_standard(native)]
    return [block(kind, native, {"source", *fields}, **fields)]


def _tool_use(native: Native) -> list[ContentBlock] | None:
    more = rest(native, {"id", "name", "input", "partial_json"})
    given = native.get("input")
    return [call_block(native.get("name"), given or native.get("partial_json"), native.get("id"), more)]


_SERVER_TOOL_NAMES = {"code_execution": "code_interpreter"}


def _server_tool_use(native: Native) -> list[ContentBlock] | None:
    """``server_tool_use``, and ``mcp_tool_use``, whose own name is that of the remote tool."""
    id, name = native.get("id"), native.get("name")
    if not isinstance(id, str) or not isinstance(name, str):
        return None
    made = rest(native, {"id", "name", "input", "partial_json"})
    if native["type"] == "mcp_tool_use":
        made["extras"] = {"tool_name": name, **made.get("extras", {})}
        name = "remote_mcp"
    made |= {"id": id, "name": _SERVER_TOOL_NAMES.get(name, name)}
    given, partial = native.get("input"), native.get("partial_json")
    try:
        made |= {"type": "server_tool_call", "args": parse_tool_arguments(given or partial)}
    except InvalidInput:  # not complete yet
        made |= {"type": "server_tool_call_chunk", "args": partial if isinstance(partial, str) else repr(given)}
    return [cast(ContentBlock, made)]


def _server_tool_result(native: Native) -> list[ContentBlock] | None:
    if not isinstance(call_id := native.get("tool_use_id"), str):
        return None
    output = native.get("content")
    failed = native.get("is_error") or (isinstance(output, Mapping) and output.get("error_code"))
    made = rest(native, {"tool_use_id", "content", "is_error"})
    made |= {"type": "server_tool_result", "tool_call_id": call_id, "status": "error" if failed else "success"}
    made["extras"] = {"block_type": native["type"], **made.get("extras", {})}
    if output is not None:
        made["output"] = output
    return [cast(ContentBlock, made)]


def _json_delta(native: Native) -> list[ContentBlock] | None:
    """A fragment of some tool's input; the message's own ``tool_call_chunks`` tell whether the tool is the user's."""
    if not isinstance(text := native.get("partial_json"), str):
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
