"""Parts of Google's Gemini and of Amazon's Converse API.

Neither writes a ``type``: the key that a part has says what it is. langchain-google gives some of them a type all the
same (``media``, ``file_data``, ``executable_code`` …). Gemini's keys come in camel case and in snake case.
"""

from collections.abc import Mapping
from typing import cast

from hocket.messages.content import ContentBlock
from hocket.messages.content_view.blocks import (
    Native,
    Reader,
    as_base64,
    block,
    call_block,
    data_block,
    flatten,
    mapping_at,
    rest,
    text_at,
)

__all__ = ["PARTS", "READERS"]


def _text(native: Native) -> list[ContentBlock] | None:
    """Text, or reasoning if it is marked as a thought."""
    if (text := text_at(native, "text")) is None:
        return None
    if native.get("thought") is True:
        return [block("reasoning", _signed(native), {"text", "thought"}, reasoning=text)]
    return [block("text", _signed(native), {"text"}, text=text)]


def _signed(native: Native) -> Native:
    """The part with its thought signature under ``signature``, the name that every reasoning block has for it."""
    for key in ("thoughtSignature", "thought_signature"):
        if key in native:
            return {"signature" if name == key else name: value for name, value in native.items()}
    return native


def _data(native: Native) -> list[ContentBlock] | None:
    """``media`` and ``file_data`` blocks, ``inlineData`` and ``fileData`` parts."""
    inner, used = native, {"mime_type", "mimeType", "data", "file_uri", "fileUri"}
    for key in ("inlineData", "inline_data", "fileData", "file_data"):
        if (part := mapping_at(native, key)) is not None:
            inner, used = part, {key}
    mime_type = text_at(inner, "mime_type") or text_at(inner, "mimeType")
    if uri := text_at(inner, "file_uri") or text_at(inner, "fileUri"):
        return [data_block(mime_type, _signed(native), used, url=uri)]
    if (data := as_base64(inner.get("data"))) is None or mime_type is None:
        return None
    return [data_block(mime_type, _signed(native), used, base64=data)]


def _function_call(native: Native) -> list[ContentBlock] | None:
    for key in ("functionCall", "function_call"):
        if (call := mapping_at(native, key)) is not None:
            return [call_block(call, call.get("args"), text_at(call, "id"), rest(_signed(native), {key}))]
    if "name" not in native:
        return None
    more = rest(_signed(native), {"id", "name", "args"})
    return [call_block(native, native.get("args"), text_at(native, "id"), more)]


def _executable_code(native: Native) -> list[ContentBlock] | None:
    key = "executableCode" if "executableCode" in native else "executable_code"
    part = mapping_at(native, key)
    code = text_at(native, key) if part is None else text_at(part, "code")
    if code is None:
        return None
    language = (native if part is None else part).get("language", "python")
    made = rest(_signed(native), {"id", "language", key})
    made |= {"type": "server_tool_call", "name": "code_interpreter", "id": text_at(native, "id") or ""}
    made["args"] = {"code": code, "language": language}
    return [cast(ContentBlock, made)]


def _code_result(native: Native) -> list[ContentBlock] | None:
    key = "codeExecutionResult" if "codeExecutionResult" in native else "code_execution_result"
    part = mapping_at(native, key)
    output, outcome = native.get(key), (native if part is None else part).get("outcome", 1)
    if part is not None:
        output = part.get("output")
    made = rest(_signed(native), {"tool_call_id", "outcome", key})
    made["extras"] = {"block_type": "code_execution_result", "outcome": outcome, **made.get("extras", {})}
    made |= {"type": "server_tool_result", "tool_call_id": text_at(native, "tool_call_id") or ""}
    made |= {"status": "success" if outcome in (1, "OUTCOME_OK") else "error", "output": output}
    return [cast(ContentBlock, made)]


_CONVERSE_FAMILIES = {"image": "image", "video": "video", "audio": "audio", "document": "application"}


def _converse(native: Native) -> list[ContentBlock] | None:
    """Converse's ``{"image": {"format": "png", "source": {"bytes": …}}}`` and its like."""
    kind = next((name for name in _CONVERSE_FAMILIES if name in native), "")
    if (part := mapping_at(native, kind)) is None:
        return None
    format, source = text_at(part, "format"), mapping_at(part, "source") or {}
    flat, used = flatten(native, kind, part), {"format", "source"}
    if format == "txt" and (text := text_at(source, "text")) is not None:
        return [block("text-plain", flat, used, text=text, mime_type="text/plain")]
    if format is None or (data := as_base64(source.get("bytes"))) is None:
        return None
    return [data_block(f"{_CONVERSE_FAMILIES[kind]}/{format}", flat, used, base64=data)]


PARTS: Mapping[str, Reader] = {
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
    "image": _converse,
    "video": _converse,
    "audio": _converse,
    "document": _converse,
}
"""Readers of parts without a type, by a key that the part has."""

READERS: Mapping[str, Reader] = {
    "media": _data,
    "file_data": _data,
    "function_call": _function_call,
    "executable_code": _executable_code,
    "code_execution_result": _code_result,
}
