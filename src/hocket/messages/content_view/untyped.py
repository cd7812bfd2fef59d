"""Parts of Google's Gemini and of Amazon's Converse API.

Neither writes a ``type``: the key that a part has says what it is, and stands in for the type here. langchain-google
gives some of them a type of its own (``media``, ``file_data``, ``executable_code`` …). Gemini's keys come in camel case
and in snake case.
"""

from collections.abc import Mapping
from typing import Any, cast

from hocket.messages.content import ContentBlock
from hocket.messages.content_view.blocks import Native, Reader, as_base64, block, call_block, data_block, rest

__all__ = ["READERS"]


def _text(native: Native) -> list[ContentBlock] | None:
    """A part without a type: text, or reasoning if it is marked as a thought."""
    if "type" in native or not isinstance(text := native.get("text"), str):
        return None
    signed = _signed(native)
    if native.get("thought") is True:
        return [block("reasoning", signed, {"text", "thought"}, reasoning=text)]
    return [block("text", signed, {"text"}, text=text)]


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
        if isinstance(native.get(key), Mapping):
            inner, used = native[key], {key}
    mime_type = inner.get("mime_type", inner.get("mimeType"))
    if isinstance(uri := inner.get("file_uri", inner.get("fileUri")), str):
        return [data_block(mime_type, _signed(native), used, url=uri)]
    if (data := as_base64(inner.get("data"))) is None or not isinstance(mime_type, str):
        return None
    return [data_block(mime_type, _signed(native), used, base64=data)]


def _function_call(native: Native) -> list[ContentBlock] | None:
    for key in ("functionCall", "function_call"):
        if isinstance(call := native.get(key), Mapping):
            return [call_block(call.get("name"), call.get("args"), call.get("id"), rest(_signed(native), {key}))]
    if "name" not in native:
        return None
    more = rest(_signed(native), {"id", "name", "args"})
    return [call_block(native["name"], native.get("args"), native.get("id"), more)]


def _executable_code(native: Native) -> list[ContentBlock] | None:
    key = "executableCode" if "executableCode" in native else "executable_code"
    inner = native.get(key)
    code, language = inner, native.get("language", "python")
    if isinstance(inner, Mapping):
        code, language = inner.get("code"), inner.get("language", language)
    if not isinstance(code, str):
        return None
    id = native.get("id")
    made = rest(_signed(native), {"id", "language", key})
    made |= {"type": "server_tool_call", "name": "code_interpreter", "id": id if isinstance(id, str) else ""}
    made["args"] = {"code": code, "language": language}
    return [cast(ContentBlock, made)]


def _code_result(native: Native) -> list[ContentBlock] | None:
    key = "codeExecutionResult" if "codeExecutionResult" in native else "code_execution_result"
    inner, call_id = native.get(key), native.get("tool_call_id")
    output, outcome = inner, native.get("outcome", 1)
    if isinstance(inner, Mapping):
        output, outcome = inner.get("output"), inner.get("outcome", outcome)
    made = rest(_signed(native), {"tool_call_id", "outcome", key})
    made["extras"] = {"block_type": "code_execution_result", "outcome": outcome, **made.get("extras", {})}
    made |= {"type": "server_tool_result", "tool_call_id": call_id if isinstance(call_id, str) else ""}
    made |= {"status": "success" if outcome in (1, "OUTCOME_OK") else "error", "output": output}
    return [cast(ContentBlock, made)]


_CONVERSE_KINDS = {"image": "image", "video": "video", "audio": "audio", "document": "application"}


def _converse(native: Native) -> list[ContentBlock] | None:
    """Converse's ``{"image": {"format": "png", "source": {"bytes": …}}}`` and its like."""
    if "type" in native or (kind := next((name for name in _CONVERSE_KINDS if name in native), None)) is None:
        return None
    match native[kind]:
        case {"format": "txt", "source": {"text": str() as text}} if kind == "document":
            made: Any = block("text-plain", _moved_up(native, kind), (), text=text, mime_type="text/plain")
        case {"format": str() as format, "source": {"bytes": data}} if (data := as_base64(data)) is not None:
            made = data_block(f"{_CONVERSE_KINDS[kind]}/{format}", _moved_up(native, kind), (), base64=data)
        case _:
            return None
    return [made]


def _moved_up(native: Native, kind: str) -> Native:
    inner = {name: value for name, value in native[kind].items() if name not in ("format", "source")}
    return {**{name: value for name, value in native.items() if name != kind}, **inner}


READERS: Mapping[str, Reader] = {
    "text": _text,
    "media": _data,
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
