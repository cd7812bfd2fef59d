"""Blocks of Anthropic's messages API, read and written.

``redacted_thinking``, ``tool_result``, ``search_result`` and others that have no standard form stay whole. In a message
that is being streamed, the input of a tool grows under ``partial_json`` and arrives as ``input_json_delta``.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.errors import InvalidInput
from hocket.messages.content import Annotation, ContentBlock, Fields
from hocket.messages.formats.blocks import (
    Block,
    Native,
    Reader,
    Writer,
    as_base64,
    block,
    call_block,
    inner_extras,
    mapping_at,
    mappings_at,
    more,
    native_block,
    non_standard,
    rest,
    source_of,
    text_at,
)
from hocket.messages.formats.format import ProviderFormat, write_each
from hocket.messages.tool_calls import parse_tool_arguments

__all__ = ["FORMAT"]


def _text(native: Native) -> list[ContentBlock] | None:
    """Text with citations. In a stream that LangChain folded a citation may come without a text: it has none then."""
    if "citations" not in native or not isinstance(text := native.get("text", ""), str):
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
    if _location(extras) != kind:
        extras["type"] = kind
    return cast(Annotation, {"type": "citation", **fields, **({"extras": extras} if extras else {})})


_MARKS = {
    "encrypted_index": "web_search_result_location",
    "search_result_index": "search_result_location",
    "start_char_index": "char_location",
    "start_page_number": "page_location",
    "start_block_index": "content_block_location",
}
"""What tells the kinds of citations apart, the first that is there."""


def _location(extras: Native) -> str | None:
    """The kind of a citation with these extras; None if it is not Anthropic's."""
    return extras.get("type") or next((kind for mark, kind in _MARKS.items() if mark in extras), None)


def _written_citations(annotations: Sequence[Block]) -> list[Fields]:
    """The annotations that the API takes: its own. Of other providers' it could not find the source."""
    citations: list[Fields] = []
    for each in annotations:
        extras: Native = each.get("extras") or {}
        if each["type"] == "non_standard_annotation":
            citations.append(dict(each["value"]))
        elif "cited_text" in each and (kind := _location(extras)) in _TITLES:
            titled = {_TITLES[kind]: each["title"]} if "title" in each else {}
            fields = {name: each[name] for name in ("cited_text", "url") if name in each}
            citations.append({**extras, "type": kind, **fields, **titled})
    return citations


def _write_text(block: Block) -> Fields:
    citations = _written_citations(block.get("annotations") or ())
    return native_block("text", block, text=block["text"], citations=citations or None)


def _thinking(native: Native) -> list[ContentBlock] | None:
    """Of Anthropic's and of Cohere's API."""
    text = text_at(native, "thinking")
    return None if text is None else [block("reasoning", native, {"thinking"}, reasoning=text)]


def _data(native: Native) -> list[ContentBlock] | None:
    """``image`` and ``document``, by their ``source``."""
    if (source := mapping_at(native, "source")) is None:
        return None
    kind = "image" if native["type"] == "image" else "file"
    fields: Fields
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
    said = {"type", "data", "url", "file_id"}
    if source.get("media_type") == fields.get("mime_type"):
        said.add("media_type")
    unsaid = {name: value for name, value in source.items() if name not in said and value is not None}
    return [block(kind, {**native, "source": unsaid or None}, fields, **fields)]


def _write_data(block: Block) -> Fields:
    kind, data, mime_type = source_of(block)
    source: Fields
    match kind:
        case "base64":
            source = {"type": "base64", "media_type": mime_type, "data": data}
        case "text":
            source = {"type": "text", "media_type": "text/plain", "data": data}
        case _:
            source = {"type": kind.removesuffix("_id"), kind: data}
    source |= inner_extras(block, "source")
    native = "image" if block["type"] == "image" else "document"
    about = {name: block.get(name) for name in ("title", "context")} if block["type"] == "text-plain" else {}
    return native_block(native, block, "source", source=source, **about)


def _tool_use(native: Native) -> list[ContentBlock] | None:
    others = rest(native, {"id", "name", "input", "partial_json"})
    return [call_block(native, native.get("input") or native.get("partial_json"), text_at(native, "id"), others)]


def _write_tool_use(block: Block) -> Fields:
    return native_block("tool_use", block, id=block.get("id"), name=block["name"], input=block["args"])


_SERVER_TOOL_NAMES = {"code_execution": "code_interpreter"}
_OWN_NAMES = {standard: own for own, standard in _SERVER_TOOL_NAMES.items()}


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


def _write_server_tool_use(block: Block) -> Fields:
    name = block["name"]
    if name == "remote_mcp":
        own = more(block).get("tool_name", name)
        return native_block("mcp_tool_use", block, "tool_name", id=block["id"], name=own, input=block["args"])
    return native_block("server_tool_use", block, id=block["id"], name=_OWN_NAMES.get(name, name), input=block["args"])


def _server_tool_result(native: Native) -> list[ContentBlock] | None:
    if (call_id := text_at(native, "tool_use_id")) is None:
        return None
    failed = native.get("is_error") or (mapping_at(native, "content") or {}).get("error_code")
    made = rest(native, {"tool_use_id", "content"})
    made |= {"type": "server_tool_result", "tool_call_id": call_id, "status": "error" if failed else "success"}
    made["extras"] = {"block_type": native["type"], **made.get("extras", {})}
    if (output := native.get("content")) is not None:
        made["output"] = output
    return [cast(ContentBlock, made)]


def _write_server_tool_result(block: Block) -> Fields | None:
    kind = more(block).get("block_type")
    if not isinstance(kind, str) or kind not in _READERS:
        return None  # another provider's
    return native_block(kind, block, "block_type", tool_use_id=block["tool_call_id"], content=block.get("output"))


def _json_delta(native: Native) -> list[ContentBlock] | None:
    """A fragment of some tool's input; the message's own ``tool_call_chunks`` tell whether the tool is the user's."""
    if (text := text_at(native, "partial_json")) is None:
        return None
    return [block("server_tool_call_chunk", native, {"partial_json"}, args=text)]


_READERS: Mapping[str, Reader] = {
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

_WRITERS: Mapping[str, Writer] = {
    "text": _write_text,
    "reasoning": lambda block: native_block("thinking", block, thinking=block.get("reasoning", "")),
    "image": _write_data,
    "file": _write_data,
    "text-plain": _write_data,
    "tool_call": _write_tool_use,
    "server_tool_call": _write_server_tool_use,
    "server_tool_result": _write_server_tool_result,
}

FORMAT = ProviderFormat(readers=_READERS, writes={"anthropic": write_each(_WRITERS, "a message of Anthropic's API")})
"""How Anthropic's Messages API writes a message."""
