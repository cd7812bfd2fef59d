"""Content, written as parts of the Gemini API. Pure functions.

A part of the API's own passes as it is: a thought signature proves where it stood, so that no part that has one is merged,
split, changed or left out, not even an empty text.
"""

from collections.abc import Mapping, Set

from pydantic_core import from_json

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.messages import AIMessage, BaseMessage, ToolMessage
from hocket.messages.content import KNOWN_BLOCK_TYPES, Fields, FieldsView
from hocket.messages.formats import native_content
from hocket.remote.message_parts import arguments_of, keep_standard, read_parts, read_reply_parts

__all__ = ["call_in", "encode_content", "encode_result", "is_native", "is_signed"]

SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Where langchain-google-genai keeps the signatures of calls, by the ids of the calls."""

_KEYS = frozenset(
    {
        *("text", "inlineData", "inline_data", "fileData", "file_data", "functionCall", "function_call"),
        *("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"),
        *("toolCall", "tool_call", "toolResponse", "tool_response", "functionResponse", "function_response"),
    }
)
_SIGNATURE_KEYS = ("thoughtSignature", "thought_signature")
_WORDS = ("mediaResolution", "media_resolution", "videoMetadata", "video_metadata")
"""What the API takes about a part beyond its data."""

_REPLY_WORDS = (*_WORDS, "signature", *_SIGNATURE_KEYS, "block_type", "outcome", "functionCall", "executableCode")


def is_native(part: FieldsView) -> bool:
    """Whether a part is of the API's own format: it has no ``type``, and a key that says what it is."""
    return "type" not in part and not _KEYS.isdisjoint(part)


def is_signed(part: FieldsView) -> bool:
    """Whether a part has a thought signature."""
    return any(part.get(key) for key in _SIGNATURE_KEYS)


def call_in(part: FieldsView) -> FieldsView | None:
    """Return the call of a tool that a part is; None: it is none."""
    call: FieldsView | None = part.get("functionCall") or part.get("function_call")
    return call


def encode_content(message: BaseMessage) -> list[Fields]:
    """Return the parts of one message that is no tool's. Texts that are empty, and have no signature, are left out.

    Raises:
        Unsupported: a block that the API has no place for; the text names its type.
        InvalidInput: data without what the API needs to know about them.
    """
    if isinstance(message, AIMessage):
        return _encode_reply(message)
    content = message.content
    said = [content] if isinstance(content, str) else content
    return [part for part in map(_encode, read_parts(said, is_native, _WORDS)) if part != {"text": ""}]


def _encode_reply(message: AIMessage) -> list[Fields]:
    signatures: FieldsView = message.additional_kwargs.get(SIGNATURES) or {}
    parts: list[Fields] = []
    for block in read_reply_parts(message, is_native):
        if block.get("type") == "reasoning" and "signature" not in (block.get("extras") or {}):
            continue  # of another model, or of nobody's
        part = _encode(block, _REPLY_WORDS)
        call = call_in(part)
        if call and not is_signed(part) and (signature := signatures.get(str(call.get("id")))):
            part = {**part, "thoughtSignature": signature}
        if part != {"text": ""} and "type" not in part:  # with a type it is a note of another library's
            parts.append(part)
    return parts


def encode_result(message: ToolMessage, names: Mapping[str, str], told_ids: Set[str]) -> Fields:
    """Return the result of a tool's call as a part. Texts that are JSON objects or lists go as such.

    Args:
        message: the result.
        names: of the tools, by the ids of the calls.
        told_ids: the ids that the calls have in this request; the API is told no other.

    Raises:
        InvalidInput: no call has this id, and the message does not name its tool itself.
        Unsupported: see `encode_content`.
    """
    id = message.tool_call_id
    name = names.get(id) or message.name
    if not name:
        raise InvalidInput(
            f"no call has the id {excerpt(id)} of a tool message, so that its tool is unknown; give it name=..."
        )
    parts = encode_content(message)
    texts = [part["text"] for part in parts if "text" in part]
    others = [part for part in parts if "text" not in part]
    output = _read_data(texts[0]) if len(texts) == 1 else "\n".join(texts)
    word = "error" if message.status == "error" else "output"
    result: Fields = {"name": name, "response": {word: output} if texts or not others else {}}
    if id in told_ids:
        result = {"id": id, **result}
    return {"functionResponse": {**result, **({"parts": others} if others else {})}}


def _read_data(text: str) -> object:
    if text[:1] not in ("{", "["):
        return text
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return text


def _encode(part: Fields, words: tuple[str, ...] = _WORDS) -> Fields:
    if is_native(part):
        return {name: value for name, value in part.items() if value is not None}  # the SDK dumps parts with nulls
    if part.get("type") in KNOWN_BLOCK_TYPES and part["type"] != "non_standard":
        part = keep_standard(part, words)
    if part.get("type") == "invalid_tool_call":
        part = {**part, "type": "tool_call", "args": arguments_of(part)}
    if "type" not in part:
        return part  # what the API has come up with since
    [native] = native_content([part], "google")
    return native
