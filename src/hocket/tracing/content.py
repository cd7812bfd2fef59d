"""Messages as the conventions write them: a role, and parts that each say their type.

This is content: it is made only where somebody has asked for it. The application's own ``redact`` sees it first, then it is
cut. At the end of the run keys are taken out of it (`hocket.tracing.telemetry`): at the start some are not known.
"""

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from pydantic_core import to_json, to_jsonable_python

from hocket.messages import AIMessage, BaseMessage, ChatMessage, ToolMessage
from hocket.messages.roles import role_of
from hocket.outputs import ChatGeneration, LLMResult
from hocket.tracing import conventions as names

__all__ = ["Content", "ContentWriter", "Part", "Redact", "as_json"]

Part = dict[str, object]
"""A part of a message: ``{"type": "text", "content": "..."}``, and others by their ``type``."""

Redact = Callable[[Part], Part | None]
"""Sees each part before it is kept, and returns what is kept of it; None: nothing."""

Content = dict[str, object]
"""JSON data by the names of attributes."""

_ROLES = {"human": "user", "ai": "assistant", "function": "tool"}
_FINISHES = {"tool_calls": "tool_call"}
_MEDIA = frozenset({"image", "audio", "video", "file"})
_LONG = ("content", "response", "arguments")


class ContentWriter:
    """Writes messages as the conventions have them.

    Args:
        redact: sees each part; None: nobody does.
        max_bytes: of a text in a part; the rest is left out, and its length noted. None: no limit.
        has_finish_reasons: whether messages of answers tell why they ended.
    """

    def __init__(self, redact: Redact | None, max_bytes: int | None, *, has_finish_reasons: bool) -> None:
        self._redact = redact
        self._max_bytes = max_bytes
        self._has_finish_reasons = has_finish_reasons

    def write_conversation(self, messages: Iterable[BaseMessage]) -> Content:
        """Return what a model is asked: the system's instructions at the beginning, and the messages behind them."""
        instructions: list[Part] = []
        written: list[dict[str, object]] = []
        for message in messages:
            parts = self._keep(functools.partial(_parts_of, message))
            if not written and role_of(message) == "system":
                instructions += parts
            else:
                written.append({"role": _role(message), "parts": parts})
        content: Content = {names.INPUT_MESSAGES: written}
        return content | {names.SYSTEM_INSTRUCTIONS: instructions} if instructions else content

    def write_message(self, message: BaseMessage) -> dict[str, object]:
        """Return a message."""
        return {"role": _role(message), "parts": self._keep(functools.partial(_parts_of, message))}

    def write_text(self, text: object, role: str = "user") -> dict[str, object]:
        """Return a text, or anything else as JSON, as a message."""

        def read() -> list[Part]:
            return [{"type": "text", "content": text if isinstance(text, str) else as_json(text)}]

        return {"role": role, "parts": self._keep(read)}

    def write_answers(self, response: LLMResult, broken_off: str | None = None) -> list[dict[str, object]]:
        """Return the candidates of a result, each with the reason of its end: where none is told, what is likely.

        That is ``broken_off``, unless it is None.
        """
        written: list[dict[str, object]] = []
        for candidate in (one for several in response.generations for one in several):
            if isinstance(candidate, ChatGeneration):
                facts = candidate.message.response_metadata
                answer = {**self.write_message(candidate.message), "role": "assistant"}
            else:
                facts = candidate.generation_info or {}
                answer = self.write_text(candidate.text, "assistant")
            has_calls = isinstance(candidate, ChatGeneration) and getattr(candidate.message, "tool_calls", None)
            likely = broken_off or ("tool_call" if has_calls else "stop")
            reason = facts.get("normalized_finish_reason") or facts.get("finish_reason") or likely
            written.append(self.write_reason(answer, _FINISHES.get(reason, reason)))
        return written

    def write_reason(self, answer: dict[str, object], reason: str) -> dict[str, object]:
        """Return an answer with the reason of its end, where the vocabulary has one: there each must have it."""
        return {**answer, "finish_reason": reason} if self._has_finish_reasons else answer

    def write_value(self, value: object, kind: str) -> object:
        """Return one value, as JSON data: arguments of a tool, its result. ``kind`` is its type to ``redact``."""

        def read() -> list[Part]:
            return [{"type": kind, "content": to_jsonable_python(value, fallback=str, serialize_unknown=True)}]

        parts = self._keep(read)
        return parts[0].get("content") if parts else None

    def _keep(self, read: Callable[[], Iterable[Part]]) -> list[Part]:
        """Return what is kept of the parts that ``read()`` gives. What cannot be read is no reason to lose a span."""
        try:
            parts: list[Part] = list(read())
        except Exception as error:
            parts = [{"type": "text", "content": f"[left out: it cannot be written: {type(error).__name__}]"}]
        kept = [part if self._redact is None else self._show(part, self._redact) for part in parts]
        return [_cut(part, self._max_bytes) for part in kept if part is not None]

    @staticmethod
    def _show(part: Part, redact: Redact) -> Part | None:
        """Return what ``redact`` leaves of a part. Where it fails nothing is left: it may have been the one to hide."""
        try:
            left = redact(part)
        except Exception as error:
            return {"type": part["type"], "content": f"[left out: redact raised {type(error).__name__}]"}
        if left is None or isinstance(left, dict):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            return left
        return {"type": part["type"], "content": f"[left out: redact returned {type(left).__name__}, and no part]"}


def as_json(value: object) -> str:
    """Return a value as JSON; what has none, as its text."""
    try:
        return to_json(value, fallback=str, serialize_unknown=True, inf_nan_mode="constants").decode()
    except ValueError:  # half of a surrogate pair, which UTF-8 has no bytes for
        return json.dumps(value, default=str)


def _role(message: BaseMessage) -> str:
    if isinstance(message, ChatMessage):
        return message.role
    role = role_of(message)
    return _ROLES.get(role, role)


def _parts_of(message: BaseMessage) -> Sequence[Part]:
    if isinstance(message, ToolMessage):
        response = message.content if isinstance(message.content, str) else as_json(message.content)
        return [{"type": "tool_call_response", "id": message.tool_call_id, "response": response}]
    content = message.content
    if isinstance(content, str) and not (
        isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls)
    ):
        reasoning: object = message.additional_kwargs.get("reasoning_content")
        before: list[Part] = [{"type": "reasoning", "content": reasoning}] if reasoning else []
        return [*before, {"type": "text", "content": content}] if content or not before else before
    return [_part_of(cast("Mapping[str, object]", block)) for block in message.content_blocks]


def _part_of(block: Mapping[str, object]) -> Part:
    """Return a standard block as a part."""
    kind = block.get("type")
    if kind in ("text", "text-plain"):
        return {"type": "text", "content": block.get("text", "")}
    if kind == "reasoning":
        return {"type": "reasoning", "content": block.get("reasoning", "")}
    if kind in ("tool_call", "invalid_tool_call", "server_tool_call"):
        word = "server_tool_call" if kind == "server_tool_call" else "tool_call"
        return {"type": word, "id": block.get("id"), "name": block.get("name"), "arguments": block.get("args")}
    if kind == "server_tool_result":
        return {
            "type": "server_tool_call_response",
            "id": block.get("tool_call_id"),
            "response": block.get("output"),
        }
    if kind in _MEDIA:
        return _media_part(str(kind), block)
    return {"type": str(kind), "content": as_json(block)}


def _media_part(kind: str, block: Mapping[str, object]) -> Part:
    about: Part = {"modality": kind}
    if block.get("mime_type"):
        about["mime_type"] = block["mime_type"]
    for key, word, name in (("base64", "blob", "content"), ("url", "uri", "uri"), ("file_id", "file", "file_id")):
        if block.get(key):
            return {"type": word, **about, name: block[key]}
    return {"type": kind, **about}


def _cut(part: Part, limit: int | None) -> Part:
    """Return a part whose texts have at most ``limit`` bytes."""
    if limit is None:
        return part
    return {key: _cut_text(value, limit) if key in _LONG else value for key, value in part.items()}


def _cut_text(value: object, limit: int) -> object:
    text = value if isinstance(value, str) else as_json(value)
    written = text.encode("utf-8", "surrogatepass")
    if len(written) <= limit:
        return value
    return f"{written[:limit].decode('utf-8', 'ignore')}… [{len(written) - limit} more bytes]"
