"""Blocks of Amazon's Converse API, read and written. Like Gemini's parts they have no type, but exactly one key.

``redactedContent``, ``guardContent``, ``searchResult`` and others that have no standard form stay whole. langchain-aws
gives a block of reasoning a type, ``reasoning_content``, which is read, too.
"""

from collections.abc import Mapping
from typing import cast

from hocket.messages.content import Annotation, ContentBlock, Fields
from hocket.messages.formats.blocks import (
    Block,
    Native,
    Writer,
    as_base64,
    block,
    call_block,
    data_block,
    flatten,
    mapping_at,
    mappings_at,
    more,
    source_of,
    text_at,
)
from hocket.messages.formats.format import ProviderFormat, write_each

__all__ = ["FORMAT"]

_OFFICE = "application/vnd.openxmlformats-officedocument"
_WORD = {"doc": "application/msword", "docx": f"{_OFFICE}.wordprocessingml.document"}
_EXCEL = {"xls": "application/vnd.ms-excel", "xlsx": f"{_OFFICE}.spreadsheetml.sheet"}
_TEXTS = {"csv": "text/csv", "html": "text/html", "txt": "text/plain", "md": "text/markdown"}
_FILMS = {"mov": "video/quicktime", "mkv": "video/x-matroska", "three_gp": "video/3gpp"}
_TYPES: Mapping[str, Mapping[str, str]] = {
    "image": {},
    "video": _FILMS,
    "audio": {"mp3": "audio/mpeg", "mkv": "audio/x-matroska"},
    "document": {"pdf": "application/pdf", **_WORD, **_EXCEL, **_TEXTS},
}
"""The kinds of data, and the MIME types of their formats, where these have another name than the format."""

_KINDS = {"file": "document", "text-plain": "document"}
"""The API's words for standard blocks that it calls otherwise."""


def _data(native: Native) -> list[ContentBlock] | None:
    """``{"image": {"format": "png", "source": {"bytes": …}}}`` and its like."""
    kind = next((name for name in _TYPES if name in native), "")
    if (part := mapping_at(native, kind)) is None:
        return None
    format, source = text_at(part, "format"), mapping_at(part, "source") or {}
    flat, used = flatten(native, kind, part), {"format", "source"}
    if format == "txt" and (text := text_at(source, "text")) is not None:
        return [block("text-plain", flat, used, text=text, mime_type="text/plain")]
    if format is None:
        return None
    mime_type = _TYPES[kind].get(format, f"{kind}/{format}")
    stored: Native = mapping_at(source, "s3Location") or {}
    if stored.keys() == {"uri"}:
        return [data_block(mime_type, flat, used, url=stored["uri"])]
    data = as_base64(source.get("bytes"))
    return None if data is None else [data_block(mime_type, flat, used, base64=data)]


def _write_data(block: Block) -> Fields | None:
    kind: str = _KINDS.get(block["type"]) or block["type"]
    place, data, mime_type = source_of(block)
    format = _name_format(kind, mime_type or ("text/plain" if place == "text" else data.rpartition(".")[2]))
    if place == "url" and data.startswith("s3://"):
        source: Fields = {"s3Location": {"uri": data}}
    elif place in ("base64", "text"):
        source = {"bytes" if place == "base64" else "text": data}
    else:
        return None
    said = {**more(block), **{name: block[name] for name in ("title", "context") if name in block}}
    if kind == "document":
        name = next((said.pop(key) for key in ("name", "title", "filename") if key in said), "document")
        said = {"name": name, **{key: said[key] for key in ("context", "citations") if key in said}}
    return {kind: {"format": format, **said, "source": source}}


def _name_format(kind: str, mime_type: str) -> str:
    named = next((format for format, type in _TYPES[kind].items() if type == mime_type), None)
    format = named or mime_type.partition(";")[0].rpartition("/")[2].removeprefix("x-")
    return "jpeg" if format == "jpg" else format


def _tool_use(native: Native) -> list[ContentBlock] | None:
    if (call := mapping_at(native, "toolUse")) is None:
        return None
    said = block("", {name: value for name, value in native.items() if name != "toolUse"}, ())
    id = text_at(call, "toolUseId")
    if call.get("type") == "server_tool_use":
        made = {**said, "type": "server_tool_call", "id": id or "", "name": call.get("name"), "args": call.get("input")}
        return [cast(ContentBlock, made)]
    return [call_block(call, call.get("input"), id, cast(Native, said))]


def _tool_result(native: Native) -> list[ContentBlock] | None:
    """What a tool on Amazon's side found."""
    result = mapping_at(native, "toolResult")
    if result is None or "type" not in result:
        return None
    status = "error" if result.get("status") == "error" else "success"
    fields: Fields = {"tool_call_id": result.get("toolUseId"), "output": result.get("content"), "status": status}
    return [block("server_tool_result", native, {"toolResult"}, **fields)]


def _reasoning(native: Native) -> list[ContentBlock] | None:
    inner = mapping_at(native, "reasoningContent") or mapping_at(native, "reasoning_content") or {}
    said = mapping_at(inner, "reasoningText") or inner
    if said.keys().isdisjoint(("text", "signature")):
        return None
    others = {"index": native.get("index"), **{name: value for name, value in said.items() if name != "text"}}
    return [block("reasoning", others, (), reasoning=text_at(said, "text") or "")]


def _write_reasoning(block: Block) -> Fields:
    signature = more(block).get("signature")
    said = {"text": block.get("reasoning", ""), **({"signature": signature} if signature else {})}
    return {"reasoningContent": {"reasoningText": said}}


def _read_cited(native: Native) -> list[ContentBlock] | None:
    """Text with citations. In a stream they come by themselves, behind the text."""
    if (said := mapping_at(native, "citationsContent")) is None:
        return None
    text = "".join([text_at(piece, "text") or "" for piece in mappings_at(said, "content") or ()])
    annotations = [_read_citation(each) for each in mappings_at(said, "citations") or ()]
    return [block("text", native, {"citationsContent"}, text=text, annotations=annotations or None)]


def _read_citation(native: Native) -> Annotation:
    place: Native = mapping_at(native, "location") or {}
    cited = "".join([text_at(piece, "text") or "" for piece in mappings_at(native, "sourceContent") or ()])
    said = {
        "title": text_at(native, "title"),
        "cited_text": cited or None,
        "url": text_at(mapping_at(place, "web") or {}, "url"),
        "extras": {name: native[name] for name in ("source", "location") if name in native} or None,
    }
    fields: Fields = {name: value for name, value in said.items() if value is not None}
    return cast(Annotation, {"type": "citation", **fields})


_WRITERS: Mapping[str, Writer] = {
    "text": lambda block: {"text": block["text"]},
    "reasoning": _write_reasoning,
    "tool_call": lambda block: {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["args"]}},
    **dict.fromkeys(("image", "video", "audio", "file", "text-plain"), _write_data),
}

FORMAT = ProviderFormat(
    readers={"reasoning_content": _reasoning},
    parts={
        **dict.fromkeys(_TYPES, _data),
        "toolUse": _tool_use,
        "toolResult": _tool_result,
        "reasoningContent": _reasoning,
        "citationsContent": _read_cited,
    },
    writes={"converse": write_each(_WRITERS, "a message of Amazon's Converse API")},
)
"""How Amazon's Converse API writes a message."""
