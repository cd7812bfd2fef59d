"""Items of OpenAI's Responses API, and the text blocks that langchain-openai makes of them.

One item can hold several standard blocks: a ``reasoning`` item one for each paragraph of its summary, a hosted tool its
call and its result. Where the item has an ``index`` the blocks after the first get one derived from it
(``lc_rs_3_1``, ``lc_result_3``), so that they stay apart when a stream is folded.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from hocket.errors import InvalidInput
from hocket.messages.content import Annotation, ContentBlock
from hocket.messages.content_view.blocks import (
    Native,
    Reader,
    block,
    call_block,
    data_block,
    index_of,
    mapping_at,
    mappings_at,
    rest,
    text_at,
    uri_source,
)
from hocket.messages.tool_calls import parse_tool_arguments

__all__ = ["READERS"]

_STANDARD_ANNOTATIONS = frozenset({"citation", "non_standard_annotation"})


def _text(native: Native) -> list[ContentBlock] | None:
    """``input_text``, ``output_text``, and ``text`` with OpenAI's annotations."""
    if (text := text_at(native, "text")) is None:
        return None
    annotations = mappings_at(native, "annotations") or []
    if native["type"] == "text" and all(each.get("type") in _STANDARD_ANNOTATIONS for each in annotations):
        return None
    used = {"text", "annotations"}
    return [block("text", native, used, text=text, annotations=[_annotation(each) for each in annotations] or None)]


def _annotation(native: Native) -> Annotation:
    kind = native.get("type")
    if kind in _STANDARD_ANNOTATIONS:
        return cast(Annotation, native)
    if kind not in ("url_citation", "file_citation"):
        return {"type": "non_standard_annotation", "value": dict(native)}
    fields: dict[str, Any] = {name: text for name in ("url", "title") if (text := text_at(native, name)) is not None}
    fields |= {name: at for name in ("start_index", "end_index") if isinstance(at := native.get(name), int)}
    used = {"type", *fields}
    if kind == "file_citation" and (filename := text_at(native, "filename")):
        fields["title"] = filename
        used.add("filename")
    extras = {name: value for name, value in native.items() if name not in used}
    return cast(Annotation, {"type": "citation", **fields, **({"extras": extras} if extras else {})})


def _image(native: Native) -> list[ContentBlock] | None:
    if file_id := text_at(native, "file_id"):
        return [block("image", native, {"file_id"}, file_id=file_id)]
    source = uri_source(native.get("image_url"))
    return None if source is None else [block("image", native, {"image_url"}, **source)]


def _file(native: Native) -> list[ContentBlock] | None:
    if file_id := text_at(native, "file_id"):
        return [block("file", native, {"file_id"}, file_id=file_id)]
    if url := text_at(native, "file_url"):
        return [block("file", native, {"file_url"}, url=url)]
    source = uri_source(native.get("file_data"))
    if source is None or "base64" not in source:
        return None
    return [data_block(source.pop("mime_type"), native, {"file_data"}, **source)]


def _reasoning(native: Native) -> list[ContentBlock] | None:
    if (parts := mappings_at(native, "summary")) is None:
        return None
    key = "summary"
    if not parts and (open_text := mappings_at(native, "content")):  # a model that does not hide its reasoning
        key, parts = "content", open_text
    common = rest(native, {"summary", key})
    blocks: list[ContentBlock] = []
    for position, part in enumerate(parts or [{}]):
        more = common if position == 0 else {name: value for name, value in common.items() if name != "extras"}
        made = {"type": "reasoning", "reasoning": text_at(part, "text") or "", **more}
        if "index" in common:
            made["index"] = f"lc_rs_{common['index']}_{part.get('index', position)}"
        blocks.append(cast(ContentBlock, made))
    return blocks


def _function_call(native: Native) -> list[ContentBlock] | None:
    if "arguments" not in native:
        return None
    more = rest(native, {"id", "call_id", "name", "arguments"})
    if item_id := text_at(native, "id"):
        more["extras"] = {"item_id": item_id, **more.get("extras", {})}
    return [call_block(native, native["arguments"], text_at(native, "call_id"), more)]


def _generated_image(native: Native) -> list[ContentBlock] | None:
    if not (image := text_at(native, "result")):
        return None
    format = text_at(native, "output_format") or "png"  # the API's default
    return [block("image", native, {"result"}, base64=image, mime_type=f"image/{format}")]


_Part = Callable[[Native], Any]


def _hosted(name: str, args: _Part, output: _Part, *read: str) -> Reader:
    """A reader for a tool that OpenAI runs: its call, and its result once there is one.

    ``args`` and ``output`` take the call's arguments and its result out of the item; ``read`` are the keys they use.
    """
    used = {"id", "index", "status", "error", *read}

    def reader(native: Native) -> list[ContentBlock] | None:
        if (id := text_at(native, "id")) is None:
            return None
        call = {"type": "server_tool_call", "name": name, "id": id, "args": args(native), **rest(native, used)}
        status, error = native.get("status"), native.get("error")
        failed = bool(error) or status in ("failed", "incomplete")
        result: dict[str, Any] = {"type": "server_tool_result", "tool_call_id": id}
        result["status"] = "error" if failed else "success"
        if (given := output(native)) is not None:
            result["output"] = given
        if failed:
            result["extras"] = {key: native[key] for key in ("status", "error") if native.get(key) is not None}
        if (index := index_of(native)) is not None:
            call["index"], result["index"] = index, f"lc_result_{index}"
        ended = failed or status == "completed" or given is not None
        return cast(list[ContentBlock], [call, result] if ended else [call])

    return reader


def _value(name: str) -> _Part:
    return lambda native: native.get(name)


def _picked(*names: str) -> _Part:
    return lambda native: {name: native[name] for name in names if native.get(name) is not None}


def _search(native: Native) -> dict[str, Any]:
    return {name: value for name, value in (mapping_at(native, "action") or {}).items() if name != "sources"}


def _search_sources(native: Native) -> dict[str, Any] | None:
    sources = (mapping_at(native, "action") or {}).get("sources")
    return {"sources": sources} if sources else None


def _mcp_arguments(native: Native) -> dict[str, Any]:
    try:
        return parse_tool_arguments(native.get("arguments"))
    except InvalidInput:
        return {"arguments": native["arguments"]}


_remote_tool = _hosted("remote_mcp", _mcp_arguments, _value("output"), "arguments", "output")


def _mcp_call(native: Native) -> list[ContentBlock] | None:
    return _remote_tool({"tool_name" if key == "name" else key: value for key, value in native.items()})


READERS: Mapping[str, Reader] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "input_image": _image,
    "input_file": _file,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "image_generation_call": _generated_image,
    "web_search_call": _hosted("web_search", _search, _search_sources, "action"),
    "file_search_call": _hosted("file_search", _picked("queries"), _value("results"), "queries", "results"),
    "code_interpreter_call": _hosted("code_interpreter", _picked("code"), _value("outputs"), "code", "outputs"),
    "mcp_call": _mcp_call,
    "mcp_list_tools": _hosted("mcp_list_tools", _picked(), _value("tools"), "tools"),
}
