"""Items of OpenAI's Responses API, and the text blocks that langchain-openai makes of them.

One item can hold several standard blocks: a ``reasoning`` item one for each paragraph of its summary, a hosted tool its
call and its result. Where the item has an ``index`` the blocks after the first get one derived from it
(``lc_rs_3_1``, ``lc_result_3``), so that they stay apart when a stream is folded.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from hocket.errors import InvalidInput
from hocket.messages.content import Annotation, ContentBlock
from hocket.messages.content_view.blocks import Native, Reader, block, call_block, data_block, rest, uri_source
from hocket.messages.tool_calls import parse_tool_arguments

__all__ = ["READERS"]

_STANDARD_ANNOTATIONS = frozenset({"citation", "non_standard_annotation"})


def _text(native: Native) -> list[ContentBlock] | None:
    """``input_text``, ``output_text``, and ``text`` with OpenAI's annotations."""
    if not isinstance(text := native.get("text"), str):
        return None
    annotations = native.get("annotations")
    if not isinstance(annotations, list) or not all(isinstance(each, Mapping) for each in annotations):
        annotations = []
    if native["type"] == "text" and all(each.get("type") in _STANDARD_ANNOTATIONS for each in annotations):
        return None
    used = {"text", "annotations"}
    return [block("text", native, used, text=text, annotations=[_annotation(each) for each in annotations] or None)]


def _annotation(native: Native) -> Annotation:
    kind = native.get("type")
    if kind in _STANDARD_ANNOTATIONS:
        return cast(Annotation, native)
    if kind == "url_citation" and isinstance(native.get("url"), str):
        fields = {name: native[name] for name in ("url", "title", "start_index", "end_index") if name in native}
    elif kind == "file_citation":
        fields = {"title": native["filename"]} if isinstance(native.get("filename"), str) else {}
    else:
        return {"type": "non_standard_annotation", "value": dict(native)}
    extras = {name: value for name, value in native.items() if name not in fields and name not in ("type", "filename")}
    return cast(Annotation, {"type": "citation", **fields, **({"extras": extras} if extras else {})})


def _image(native: Native) -> list[ContentBlock] | None:
    if isinstance(file_id := native.get("file_id"), str):
        return [block("image", native, {"file_id"}, file_id=file_id)]
    source = uri_source(native.get("image_url"))
    return None if source is None else [block("image", native, {"image_url"}, **source)]


def _file(native: Native) -> list[ContentBlock] | None:
    if isinstance(file_id := native.get("file_id"), str):
        return [block("file", native, {"file_id"}, file_id=file_id)]
    if isinstance(url := native.get("file_url"), str):
        return [block("file", native, {"file_url"}, url=url)]
    source = uri_source(native.get("file_data"))
    if source is None or "base64" not in source:
        return None
    return [data_block(source.pop("mime_type"), native, {"file_data"}, **source)]


def _reasoning(native: Native) -> list[ContentBlock] | None:
    if not isinstance(summary := native.get("summary"), list):
        return None
    # A model with open reasoning has its text under `content` and an empty summary.
    key = "summary" if summary or not isinstance(native.get("content"), list) else "content"
    parts = [part for part in native[key] if isinstance(part, Mapping)] or [{}]
    common = rest(native, {"summary", key})
    blocks: list[ContentBlock] = []
    for position, part in enumerate(parts):
        more = common if position == 0 else {name: value for name, value in common.items() if name != "extras"}
        made = {**more, "type": "reasoning", "reasoning": part.get("text") if isinstance(part.get("text"), str) else ""}
        if "index" in common:
            made["index"] = f"lc_rs_{common['index']}_{part.get('index', position)}"
        blocks.append(cast(ContentBlock, made))
    return blocks


def _function_call(native: Native) -> list[ContentBlock] | None:
    if "arguments" not in native:
        return None
    more = rest(native, {"id", "call_id", "name", "arguments"})
    if isinstance(item_id := native.get("id"), str):
        more["extras"] = {"item_id": item_id, **more.get("extras", {})}
    return [call_block(native.get("name"), native["arguments"], native.get("call_id"), more)]


def _generated_image(native: Native) -> list[ContentBlock] | None:
    if not isinstance(image := native.get("result"), str) or not image:
        return None
    format = native.get("output_format")
    mime_type = f"image/{format if isinstance(format, str) else 'png'}"  # png is the API's default
    return [block("image", native, {"result"}, base64=image, mime_type=mime_type)]


def _hosted(name: str, args: Callable[[Native], dict[str, Any]], output: str, *read: str) -> Reader:
    """A reader for a tool that OpenAI runs: its call, and its result once there is one.

    ``args`` gives the call's arguments, ``output`` names the key of its result, ``read`` the keys that ``args`` read.
    """
    used = {"id", "index", "status", "error", output, *read}

    def reader(native: Native) -> list[ContentBlock] | None:
        if not isinstance(id := native.get("id"), str):
            return None
        call = {**rest(native, used), "type": "server_tool_call", "name": name, "id": id, "args": args(native)}
        result: dict[str, Any] = {"type": "server_tool_result", "tool_call_id": id}
        if (given := native.get(output)) is not None:
            result["output"] = given
        status, error = native.get("status"), native.get("error")
        result["status"] = "error" if error or status in ("failed", "incomplete") else "success"
        if error:
            result["extras"] = {"error": error}
        if isinstance(index := native.get("index"), (int, str)):
            call["index"], result["index"] = index, f"lc_result_{index}"
        ended = "output" in result or error or status in ("completed", "failed", "incomplete")
        return cast(list[ContentBlock], [call, result] if ended else [call])

    return reader


def _picked(*names: str) -> Callable[[Native], dict[str, Any]]:
    return lambda native: {name: native[name] for name in names if native.get(name) is not None}


def _action(native: Native) -> dict[str, Any]:
    return dict(action) if isinstance(action := native.get("action"), Mapping) else {}


def _mcp_arguments(native: Native) -> dict[str, Any]:
    try:
        return parse_tool_arguments(native.get("arguments"))
    except InvalidInput:
        return {"arguments": native["arguments"]}


READERS: Mapping[str, Reader] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "input_image": _image,
    "input_file": _file,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "image_generation_call": _generated_image,
    "web_search_call": _hosted("web_search", _action, "results", "action"),
    "file_search_call": _hosted("file_search", _picked("queries"), "results", "queries"),
    "code_interpreter_call": _hosted("code_interpreter", _picked("code"), "outputs", "code"),
    "mcp_call": _hosted("remote_mcp", _mcp_arguments, "output", "arguments"),
    "mcp_list_tools": _hosted("mcp_list_tools", _picked(), "tools"),
}
