"""Parts of Google's Gemini API, read and written.

They have no ``type``: the key that a part has says what it is. langchain-google gives some of them a type all the same
(``media``, ``file_data``, ``executable_code`` …). Keys come in camel case and in snake case, and are written in camel
case. A ``functionResponse`` is the business of a tool's message; it and the calls of tools on Google's side stay whole.

A thought signature belongs to exactly the part that it came on, empty ones included.

Where the text of a reply comes from, what it has found by searching and what it repeats, the API tells beside the parts.
It counts bytes, of the part that the text was in when it was whole, and often repeats the text that it means; citations
count characters. A stream has cut the parts again, so that the repeated text is what counts, and the place only says where
to look first. Keys come in camel case, and in snake case from LangChain.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from hocket.messages.content import Annotation, ContentBlock, Fields
from hocket.messages.formats.blocks import (
    Block,
    Native,
    Reader,
    Writer,
    as_base64,
    block,
    call_block,
    data_block,
    document_text,
    inner_extras,
    mapping_at,
    mappings_at,
    more,
    own_id,
    rest,
    source_of,
    text_at,
)
from hocket.messages.formats.format import ProviderFormat, write_each

__all__ = ["FORMAT", "read_citations", "read_grounding"]

_SOURCES = ("web", "maps", "retrievedContext", "retrieved_context", "image")


def read_grounding(native: Native, texts: Sequence[str]) -> list[tuple[int, Annotation]]:
    """Return the citations of a ``groundingMetadata``, each with the position of its text among ``texts``."""
    chunks = mappings_at(native, "groundingChunks") or mappings_at(native, "grounding_chunks") or []
    supports = mappings_at(native, "groundingSupports") or mappings_at(native, "grounding_supports") or []
    found: list[tuple[int, Annotation]] = []
    for support in supports:
        place = _find_place(mapping_at(support, "segment") or {}, texts)
        numbers: object = support.get("groundingChunkIndices") or support.get("grounding_chunk_indices")
        if place is None or not isinstance(numbers, list):
            continue
        for number in cast("list[object]", numbers):
            if isinstance(number, int) and 0 <= number < len(chunks):
                found.append((place[0], _cite(_source_of(chunks[number]), place)))
    return found


def read_citations(native: Native, texts: Sequence[str]) -> list[tuple[int, Annotation]]:
    """Return the citations of a ``citationMetadata``: of what the model repeats word by word."""
    sources = mappings_at(native, "citationSources") or mappings_at(native, "citations") or []
    places = [(source, _find_place(source, texts)) for source in sources]
    return [(place[0], _cite(source, place)) for source, place in places if place is not None]


def _source_of(chunk: Native) -> Native:
    return next((source for key in _SOURCES if (source := mapping_at(chunk, key)) is not None), chunk)


def _cite(source: Native, place: tuple[int, int, int]) -> Annotation:
    said = {
        "url": text_at(source, "uri") or text_at(source, "sourceUri") or text_at(source, "source_uri"),
        "title": text_at(source, "title"),
        "start_index": place[1],
        "end_index": place[2],
        "cited_text": text_at(source, "text"),
    }
    fields: Fields = {name: value for name, value in said.items() if value is not None}
    return cast(Annotation, {"type": "citation", **fields})


def _find_place(segment: Native, texts: Sequence[str]) -> tuple[int, int, int] | None:
    """Return which text a segment is in, and its characters; None: none of them."""
    start, end = _number_at(segment, "startIndex", "start_index"), _number_at(segment, "endIndex", "end_index")
    wanted = text_at(segment, "text")
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    if not wanted:
        if end is None:
            return None
        fitting = (at for at, text in enumerate(encoded) if end <= len(text))
        return next(((at, *_count_characters(encoded[at], start or 0, end)) for at in fitting), None)
    sought = wanted.encode("utf-8", "surrogatepass")
    for at, text in enumerate(encoded):
        if text.startswith(sought, start or 0):
            return (at, *_count_characters(text, start or 0, (start or 0) + len(sought)))
    for at, whole in enumerate(texts):
        if (first := whole.find(wanted)) >= 0:
            return at, first, first + len(wanted)
    return None


def _number_at(segment: Native, *keys: str) -> int | None:
    return next((value for key in keys if isinstance(value := segment.get(key), int)), None)


def _count_characters(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Return two places in a text, counted in characters instead of bytes."""
    first = len(text[:start].decode("utf-8", "ignore"))
    return first, first + len(text[start:end].decode("utf-8", "ignore"))


def _text(native: Native) -> list[ContentBlock] | None:
    """Text, or reasoning if it is marked as a thought."""
    if (text := text_at(native, "text")) is None:
        return None
    if native.get("thought") is True:
        return [block("reasoning", _rename_signature(native), {"text", "thought"}, reasoning=text)]
    return [block("text", _rename_signature(native), {"text"}, text=text)]


def _rename_signature(native: Native) -> Native:
    """The part with its thought signature under ``signature``, the name that every reasoning block has for it."""
    for key in ("thoughtSignature", "thought_signature"):
        if key in native:
            return {"signature" if name == key else name: value for name, value in native.items()}
    return native


def _part(block: Block, *taken: str, **fields: Any) -> Fields:
    """A part with ``fields`` and what else ``block`` says, its signature under Gemini's name."""
    others = more(block, *fields, *taken)
    if "signature" in others:
        others["thoughtSignature"] = others.pop("signature")
    return {**fields, **others}


def _keep_unread(key: str, native: Native, inner: Native, *said: str) -> Native:
    """``native`` with only that of its ``inner`` object, under ``key``, which has no standard field."""
    left = {name: value for name, value in inner.items() if name not in said and value is not None}
    return {name: value for name, value in native.items() if name != key} | ({key: left} if left else {})


_OF_DATA = ("mime_type", "mimeType", "data", "file_uri", "fileUri")


def _data(native: Native) -> list[ContentBlock] | None:
    """``media`` and ``file_data`` blocks, ``inlineData`` and ``fileData`` parts."""
    inner, others, used = native, native, frozenset(_OF_DATA)
    for key in ("inlineData", "inline_data", "fileData", "file_data"):
        if (part := mapping_at(native, key)) is not None:
            inner, others, used = part, _keep_unread(key, native, part, *_OF_DATA), frozenset[str]()
    mime_type = text_at(inner, "mime_type") or text_at(inner, "mimeType")
    if uri := text_at(inner, "file_uri") or text_at(inner, "fileUri"):
        source = {"url" if "://" in uri else "file_id": uri}
        return [data_block(mime_type, _rename_signature(others), used, **source)]
    if (data := as_base64(inner.get("data"))) is None or mime_type is None:
        return None
    return [data_block(mime_type, _rename_signature(others), used, base64=data)]


def _write_data(block: Block) -> Fields:
    kind, data, mime_type = source_of(block)
    if kind == "text":
        return _part(block, text=document_text(block))
    key, place = ("inlineData", "data") if kind == "base64" else ("fileData", "fileUri")
    typed = {} if mime_type is None else {"mimeType": mime_type}
    return _part(block, key, **{key: {**typed, place: data, **inner_extras(block, key)}})


def _function_call(native: Native) -> list[ContentBlock] | None:
    for key in ("functionCall", "function_call"):
        if (call := mapping_at(native, key)) is not None:
            others = rest(_rename_signature(_keep_unread(key, native, call, "id", "name", "args")), ())
            return [call_block(call, call.get("args"), text_at(call, "id"), others)]
    if "name" not in native:
        return None
    others = rest(_rename_signature(native), {"id", "name", "args"})
    return [call_block(native, native.get("args"), text_at(native, "id"), others)]


def _write_function_call(block: Block) -> Fields:
    named = {} if (id := own_id(block)) is None else {"id": id}
    call = {**named, "name": block["name"], "args": block["args"]}
    return _part(block, "functionCall", functionCall={**call, **inner_extras(block, "functionCall")})


def _executable_code(native: Native) -> list[ContentBlock] | None:
    key = "executableCode" if "executableCode" in native else "executable_code"
    inner, others = mapping_at(native, key), native
    code = text_at(native, key) if inner is None else text_at(inner, "code")
    if code is None:
        return None
    if inner is None:
        inner, others = native, {name: value for name, value in native.items() if name not in ("language", key)}
    else:
        others = _keep_unread(key, native, inner, "id", "code", "language")
    made = rest(_rename_signature(others), {"id"})
    made |= {"type": "server_tool_call", "name": "code_interpreter", "id": text_at(inner, "id") or ""}
    made["args"] = {"code": code, "language": inner.get("language", "python")}
    return [cast(ContentBlock, made)]


def _write_code(block: Block) -> Fields | None:
    if block["name"] != "code_interpreter" or "code" not in block["args"]:
        return None  # another provider's
    named = {"id": block["id"]} if block["id"] else {}
    args: Native = block["args"]
    said = {**args, "language": str(args.get("language", "python")).upper()}  # an enumeration of the API's
    code = {**named, **said, **inner_extras(block, "executableCode")}
    return _part(block, executableCode=code)


def _code_result(native: Native) -> list[ContentBlock] | None:
    key = "codeExecutionResult" if "codeExecutionResult" in native else "code_execution_result"
    inner, others = mapping_at(native, key), native
    if inner is None:
        inner, output, used = native, native.get(key), {"tool_call_id", "outcome", key}
    else:
        others, output, used = _keep_unread(key, native, inner, "id", "outcome", "output"), inner.get("output"), {"id"}
    outcome = inner.get("outcome", 1)
    made = rest(_rename_signature(others), used)
    made["extras"] = {"block_type": "code_execution_result", "outcome": outcome, **made.get("extras", {})}
    call_id = text_at(native, "tool_call_id") or text_at(inner, "id") or ""
    made |= {"type": "server_tool_result", "tool_call_id": call_id, "output": output}
    made["status"] = "success" if outcome in (1, "OUTCOME_OK") else "error"
    return [cast(ContentBlock, made)]


def _write_code_result(block: Block) -> Fields | None:
    said = more(block)
    if said.get("block_type") != "code_execution_result" or "outcome" not in said:
        return None  # another provider's
    named = {"id": block["tool_call_id"]} if block["tool_call_id"] else {}
    output = {} if block.get("output") is None else {"output": block["output"]}
    result = {**named, "outcome": said["outcome"], **output, **inner_extras(block, "codeExecutionResult")}
    return _part(block, "block_type", "outcome", codeExecutionResult=result)


_PARTS: Mapping[str, Reader] = {
    "text": _text,
    "inlineData": _data,
    "inline_data": _data,
    "fileData": _data,
    "file_data": _data,
    "functionCall": _function_call,
    "function_call": _function_call,
    "executableCode": _executable_code,
    "executable_code": _executable_code,
    "codeExecutionResult": _code_result,
    "code_execution_result": _code_result,
}
"""Readers of parts without a type, by a key that the part has."""

_READERS: Mapping[str, Reader] = {
    "media": _data,
    "file_data": _data,
    "function_call": _function_call,
    "executable_code": _executable_code,
    "code_execution_result": _code_result,
}

_WRITERS: Mapping[str, Writer] = {
    "text": lambda block: _part(block, text=block["text"]),
    "reasoning": lambda block: _part(block, text=block.get("reasoning", ""), thought=True),
    "image": _write_data,
    "video": _write_data,
    "audio": _write_data,
    "file": _write_data,
    "text-plain": _write_data,
    "tool_call": _write_function_call,
    "server_tool_call": _write_code,
    "server_tool_result": _write_code_result,
}

FORMAT = ProviderFormat(
    readers=_READERS,
    parts=_PARTS,
    sources={"grounding_metadata": read_grounding, "citation_metadata": read_citations},
    writes={"google": write_each(_WRITERS, "a message of Gemini's API")},
)
"""How Gemini's API writes a message."""
