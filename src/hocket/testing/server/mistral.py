"""Mistral's format: that of OpenAI's chat completions, embeddings and models, with what differs.

Reasoning is a part of the content, which is then a list; calls come whole, and so does usage, without being asked for. A
message or a part with a key that the API does not know is a problem of the test's: the API would refuse it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, cast

from hocket.errors import InvalidInput
from hocket.messages.content import FieldsView
from hocket.testing.server.batch_formats import BatchFormat, MistralBatchFormat
from hocket.testing.server.format import ReplyEvents, WholeReply, cut_text, read_body, write_event
from hocket.testing.server.openai import OpenAIFormat
from hocket.testing.server.reply_content import ReplyContent
from hocket.testing.server.wire import ReceivedRequest

__all__ = ["MistralFormat"]

# Status to type and code of the error object.
ERRORS: dict[int, tuple[str, str]] = {
    400: ("invalid_request_error", "3051"),
    401: ("unauthorized", "1000"),
    404: ("invalid_model", "1500"),
    429: ("rate_limited", "1300"),
}
SERVER_ERROR = ("internal_server_error", "3000")


_MESSAGES = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}
_PARTS = {
    "text": {"type", "text"},
    "image_url": {"type", "image_url"},
    "document_url": {"type", "document_url", "document_name"},
    "input_audio": {"type", "input_audio"},
    "file": {"type", "file_id"},
    "reference": {"type", "reference_ids"},
    "thinking": {"type", "thinking", "signature", "closed"},
}
_CALL_ID = re.compile("[a-zA-Z0-9]{9}")


class MistralFormat(OpenAIFormat):
    """The format of Mistral's server.

    Args:
        models: what ``GET /v1/models`` lists; see `OpenAIFormat`.
    """

    batches: ClassVar[BatchFormat | None] = MistralBatchFormat()

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        """Return a chat completion.

        Raises:
            InvalidInput: a message, or a part of one, has a key that the API does not know.
        """
        _check_keys(read_body(request).get("messages") or ())
        document = super().document(request, reply)
        for choice in document.content["choices"]:
            message = choice["message"]
            message["content"] = _write_content(message.pop("reasoning_content", ""), message["content"] or "")
            for place, call in enumerate(message.get("tool_calls") or ()):
                call["index"] = place
        return document

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        """Return the chunks of a chat completion: a piece of reasoning is a list, and a piece of text a text."""
        document = self.document(request, reply)
        whole = document.content
        envelope = {name: whole[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

        def write(delta: Mapping[str, Any], **more: Any) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": None, **more}
            return write_event({**envelope, "choices": [choice]})

        [choice] = whole["choices"]
        calls = choice["message"].get("tool_calls")
        rounds = [write({"role": "assistant", "content": "", **reply.extra})]
        rounds += [write({"content": [_think(piece)]}) for piece in cut_text(reply.reasoning, reply.pieces)]
        [text] = reply.texts(1)
        rounds += [write({"content": piece}) for piece in cut_text(text, reply.pieces)]
        if calls:
            rounds.append(write({"content": "", "tool_calls": calls}))
        last = {"index": 0, "delta": {"content": ""}, "finish_reason": choice["finish_reason"]}
        finish = write_event({**envelope, "choices": [last], "usage": whole["usage"]}) + b"data: [DONE]\n\n"
        tokens = whole["usage"]
        return ReplyEvents(rounds, finish, tokens["prompt_tokens"], tokens["completion_tokens"])

    def error(self, status: int, message: str, more: Mapping[str, Any]) -> Any:
        """Return ``{"object": "error", ...}``."""
        kind, code = ERRORS.get(status, SERVER_ERROR)
        text = message or f"The server was told to answer {status}."
        return {"object": "error", "message": text, "type": kind, "param": None, "code": code, **more}


def _check_keys(messages: Iterable[FieldsView]) -> None:
    for message in messages:
        content: object = message.get("content")
        parts = cast("list[FieldsView]", content) if isinstance(content, list) else []
        for part, known in [
            (message, _MESSAGES.get(message["role"])),
            *((one, _PARTS.get(one["type"])) for one in parts),
        ]:
            if known is None or not part.keys() <= known:
                raise InvalidInput(f"Mistral's API takes no {part!r}; the keys that it knows there are {known}")
        calls: list[FieldsView] = message.get("tool_calls") or []
        ids = [call["id"] for call in calls] + ([message["tool_call_id"]] if "tool_call_id" in message else [])
        if wrong := [id for id in ids if not _CALL_ID.fullmatch(id)]:
            raise InvalidInput(f"Mistral's API takes ids of calls that are nine letters and digits, not {wrong}")


def _write_content(reasoning: str, text: str) -> Any:
    return [{**_think(reasoning), "closed": True}, {"type": "text", "text": text}] if reasoning else text


def _think(text: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
