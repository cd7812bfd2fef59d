"""Items of OpenAI's Responses API, and the text blocks that langchain-openai makes of them; read and written.

One item can hold several standard blocks: a ``message`` its parts, a ``reasoning`` item one for each paragraph of its
summary, a hosted tool its call and its result. They stand together and have the item's id, and so find together again
when they are written; what the item says as a whole is in the extras of the first. Where the item has an ``index`` the
blocks after the first get one derived from it (``lc_rs_3_1``), so that they stay apart when a stream is folded.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import hocket.messages.formats.openai_hosted as openai_hosted
from hocket.messages.content import ContentBlock, Fields
from hocket.messages.formats.blocks import (
    Block,
    Native,
    Reader,
    Writer,
    block,
    call_block,
    data_block,
    document_text,
    index_of,
    inner_extras,
    mappings_at,
    more,
    native_block,
    no_place,
    non_standard,
    own_id,
    rest,
    source_of,
    text_at,
    uri_source,
)
from hocket.messages.formats.format import ProviderFormat, write_each
from hocket.messages.formats.openai_chat import as_file
from hocket.messages.formats.openai_citations import STANDARD, annotation, written_annotations
from hocket.messages.formats.openai_hosted import arguments_text, raw_arguments, write_hosted
from hocket.messages.tool_calls import FIND_TOOLS

__all__ = ["CUSTOM_INPUT", "FORMAT"]

CUSTOM_INPUT = "__arg1"
"""The one argument of a tool that takes any text (LangChain's name)."""


def _text(native: Native) -> list[ContentBlock] | None:
    """``input_text``, ``output_text``, and ``text`` with OpenAI's annotations."""
    if (text := text_at(native, "text")) is None:
        return None
    annotations = mappings_at(native, "annotations") or []
    if native["type"] == "text" and all(text_at(each, "type") in STANDARD for each in annotations):
        return None
    used = {"text", "annotations"}
    return [block("text", native, used, text=text, annotations=[annotation(each) for each in annotations] or None)]


def _message(native: Native) -> list[ContentBlock] | None:
    """A message with text in it; a refusal beside the text, or a part yet unheard of, keeps its place."""
    parts = mappings_at(native, "content")
    texts = [part for part in parts or () if text_at(part, "type") in _TEXTS and text_at(part, "text") is not None]
    if not parts or not texts or len(parts) != len(native["content"]) or native.get("role", "assistant") != "assistant":
        return None
    about = {name: value for name, value in native.items() if name not in _PLAIN_MESSAGE and value is not None}
    common: Fields = {"id": id} if (id := text_at(native, "id")) else {}
    blocks: list[ContentBlock] = []
    for position, part in enumerate(parts):
        made: Any = (_text(part) or [cast(ContentBlock, part)])[0] if part in texts else non_standard(part)
        made = {**made, **common}
        if about and part in texts:
            made["extras"], about = {"message": about, **made.get("extras", {})}, {}
        if (index := index_of(native)) is not None:
            made["index"] = f"lc_msg_{index}_{part.get('index', position)}"
        blocks.append(cast(ContentBlock, made))
    return blocks


_TEXTS = frozenset({"output_text", "input_text", "text"})
_PLAIN_MESSAGE = frozenset({"type", "id", "index", "role", "content"})


def _text_of_part(native: Native) -> str:
    return text_at(native, "text") or ""


def _text_of_message(native: Native) -> str:
    """The text of a message, none where `_message` reads it as something else."""
    content = native.get("content")
    if not isinstance(content, list) or native.get("role", "assistant") != "assistant":
        return ""
    texts: list[str] = []
    for part in cast("list[object]", content):
        if not isinstance(part, dict):
            return ""
        said = cast(Fields, part)
        if said.get("type") in ("output_text", "input_text", "text") and isinstance(text := said.get("text"), str):
            texts.append(text)
    return "".join(texts)


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
    common = rest(native, {key})
    blocks: list[ContentBlock] = []
    for position, part in enumerate(parts or [{}]):
        said = common if position == 0 else {name: value for name, value in common.items() if name != "extras"}
        made = {"type": "reasoning", "reasoning": text_at(part, "text") or "", **said}
        if "index" in common:
            made["index"] = f"lc_rs_{common['index']}_{part.get('index', position)}"
        blocks.append(cast(ContentBlock, made))
    return blocks


def _function_call(native: Native) -> list[ContentBlock] | None:
    if "arguments" not in native:
        return None
    others = rest(native, {"id", "call_id", "name", "arguments"})
    return [_call(native, native["arguments"], others)]


def _custom_tool_call(native: Native) -> list[ContentBlock] | None:
    """A call of a tool that takes any text: the text is its one argument."""
    if (text := text_at(native, "input")) is None:
        return None
    others = rest(native, {"id", "call_id", "name", "input"})
    others["extras"] = {"block_type": "custom_tool_call", **others.get("extras", {})}
    return [_call(native, {CUSTOM_INPUT: text}, others)]


def _tool_search_call(native: Native) -> list[ContentBlock] | None:
    """A search for tools that the client makes; of one that the server makes there is nothing to answer."""
    if native.get("execution") != "client":
        return None
    others = rest(native, {"id", "call_id", "arguments", "execution", "status"})
    return [_call({**native, "name": FIND_TOOLS}, native.get("arguments") or {}, others)]


def _call(native: Native, arguments: Any, others: Fields) -> ContentBlock:
    made = call_block(native, arguments, text_at(native, "call_id"), {})
    said: Fields = {"item_id": item_id} if (item_id := text_at(native, "id")) else {}
    if made["type"] == "tool_call":
        said |= raw_arguments(native, made["args"])
    said |= others.pop("extras", {})
    return cast(ContentBlock, {**others, **made, **({"extras": said} if said else {})})


def _generated_image(native: Native) -> list[ContentBlock] | None:
    if not (image := text_at(native, "result")):
        return None
    format = text_at(native, "output_format") or "png"  # the API's default
    marked = {"block_type": "image_generation_call", **native}
    return [block("image", marked, {"result"}, base64=image, mime_type=f"image/{format}")]


_READERS: Mapping[str, Reader] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "input_image": _image,
    "input_file": _file,
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "custom_tool_call": _custom_tool_call,
    "tool_search_call": _tool_search_call,
    "image_generation_call": _generated_image,
    **openai_hosted.READERS,
}


def _write_items(blocks: Sequence[Block]) -> list[Fields]:
    """Write a reply's blocks as items, in order.

    Raises:
        Unsupported: a block has no place in a reply; the text names its type.
    """
    results = {block["tool_call_id"]: block for block in blocks if block["type"] == "server_tool_result"}
    items: list[Fields] = []
    for group in _group_by_item(blocks):
        first = group[0]
        match first["type"]:
            case "text":
                items.append(_write_message(group))
            case "non_standard":
                items.append(dict(first["value"]) if len(group) == 1 else _write_message(group))
            case "reasoning":
                items.append(_write_reasoning(group))
            case "tool_call" | "invalid_tool_call":
                items.append(_write_call(first))
            case "server_tool_call":
                if (item := write_hosted(first, results.pop(first["id"], None))) is None:
                    raise no_place(first, _REPLY)
                items.append(item)
            case "server_tool_result" if first["tool_call_id"] not in results:
                pass  # it went with its call
            case "image" if more(first).get("block_type") == "image_generation_call":
                image = {"id": own_id(first), "result": first["base64"]}
                items.append(native_block("image_generation_call", first, "block_type", **image))
            case _:
                raise no_place(first, _REPLY)
    return items


def _group_by_item(blocks: Sequence[Block]) -> list[list[Block]]:
    """The blocks, those together that are of one item: they have its id."""
    groups: list[list[Block]] = []
    for each in blocks:
        last = groups[-1][-1] if groups else {"type": ""}
        kinds, id = {each["type"], last["type"]}, own_id(each)
        if id == own_id(last) and (kinds == {"text"} or (id and (kinds <= _OF_MESSAGE or kinds == {"reasoning"}))):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


_REPLY = "a reply of the Responses API"
_OF_MESSAGE = frozenset({"text", "non_standard"})


def _write_message(group: Sequence[Block]) -> Fields:
    item: Fields = {"type": "message", "role": "assistant"}
    if id := own_id(group[0]):
        item["id"] = id
    parts: list[Fields] = []
    item["content"] = parts
    for each in group:
        if each["type"] == "non_standard":
            parts.append(dict(each["value"]))
            continue
        item.update(inner_extras(each, "message"), type="message", role="assistant", content=parts)
        annotations = written_annotations(each.get("annotations") or ())
        parts.append(native_block("output_text", each, "message", text=each["text"], annotations=annotations))
    return item


def _write_reasoning(group: Sequence[Block]) -> Fields:
    item: Fields = {"type": "reasoning"}
    if id := own_id(group[0]):
        item["id"] = id
    for each in group:
        item.update(more(each), type="reasoning")
    key, kind = ("content", "reasoning_text") if "summary" in item else ("summary", "summary_text")
    texts = [each.get("reasoning", "") for each in group]
    item[key] = [] if texts == [""] else [{"type": kind, "text": text} for text in texts]
    return item


def _write_call(block: Block) -> Fields:
    said = more(block)
    call: Fields = {"id": said.get("item_id"), "call_id": block["id"], "name": block["name"]}
    if said.get("block_type") == "custom_tool_call" and block["type"] == "tool_call":
        text = block["args"].get(CUSTOM_INPUT, "")
        return native_block("custom_tool_call", block, "item_id", "block_type", **call, input=text)
    return native_block("function_call", block, "item_id", "arguments", **call, arguments=arguments_text(block))


def _write_image(block: Block) -> Fields:
    source = source_of(block)
    if as_file(block):
        return _write_file(block)
    place = {"file_id": source.data} if source.kind == "file_id" else {"image_url": source.url}
    return native_block("input_image", block, **place)


def _write_file(block: Block) -> Fields:
    source = source_of(block)
    if source.kind == "text":
        return native_block("input_text", block, text=document_text(block))
    place = {"file_id": "file_id", "url": "file_url", "base64": "file_data"}[source.kind]
    return native_block("input_file", block, **{place: source.url if source.kind == "base64" else source.data})


_INPUT_WRITERS: Mapping[str, Writer] = {
    "text": lambda block: native_block("input_text", block, text=block["text"]),
    "image": _write_image,
    "file": _write_file,
    "text-plain": _write_file,
}
"""Parts of what a user or a tool says; they have no other form."""

FORMAT = ProviderFormat(
    readers=_READERS,
    texts={"message": _text_of_message, "output_text": _text_of_part, "input_text": _text_of_part},
    writes={
        "openai_responses": _write_items,
        "openai_responses_input": write_each(_INPUT_WRITERS, "the input of the Responses API"),
    },
)
"""How OpenAI's Responses write a message, and its items."""
