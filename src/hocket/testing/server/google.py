"""The format of Google's Gemini API: answers, embeddings and the list of models, as its API reference has them.

Nothing about an answer depends on chance or on the time.
"""

from collections.abc import Sequence
from typing import ClassVar

from pydantic_core import from_json

from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.testing.server.batch_formats import BatchFormat, GoogleBatchFormat
from hocket.testing.server.behaviours import Body
from hocket.testing.server.format import (
    Format,
    ReplyEvents,
    WholeReply,
    cut_text,
    measure_text,
    read_body,
    write_event,
)
from hocket.testing.server.reply_content import ReplyContent, VectorContent, write_arguments
from hocket.testing.server.wire import ReceivedRequest, WireAnswer

__all__ = ["GoogleFormat"]

# Status to the word for it, of google.rpc.Code.
ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class GoogleFormat(Format):
    """The format of the server of the Gemini API.

    Args:
        models: what ``GET /v1/models`` lists, beside the script; None: that is part of the script too.
    """

    batches: ClassVar[BatchFormat | None] = GoogleBatchFormat()

    def __init__(self, models: Sequence[str] | None = ("test-model",)) -> None:
        self._models = models

    def wants_stream(self, request: ReceivedRequest) -> bool:
        """Return whether the path asks for a stream."""
        return request.path.endswith(":streamGenerateContent")

    def unscripted(self, request: ReceivedRequest) -> WireAnswer | None:
        """Return the list of models."""
        if self._models is None or request.method != "GET" or not request.path.endswith("/models"):
            return None
        models = [{"name": f"models/{name}", "version": "1", "displayName": name} for name in self._models]
        return Body({"models": models}).answer(request, self)

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        """Return an answer."""
        answer = _Answer(request, reply)
        candidates = [
            {
                "content": {"role": "model", "parts": answer.write_parts(text)},
                "index": index,
                "finishReason": answer.why,
            }
            for index, text in enumerate(answer.texts)
        ]
        return WholeReply({"candidates": candidates, **answer.facts}, answer.total)

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        """Return an answer in pieces, each a reply of its own; the last has the finish reason and no text."""
        answer = _Answer(request, reply)
        [text] = answer.texts
        pieces: list[Fields] = [{"text": piece, "thought": True} for piece in cut_text(reply.reasoning, reply.pieces)]
        pieces += [{"text": piece} for piece in cut_text(text, reply.pieces)]
        pieces += answer.write_calls()
        events = [write_event(answer.write_fragment([piece | dict(reply.extra)])) for piece in pieces]
        finish = write_event(answer.write_fragment([{"text": ""}], finishReason=answer.why))
        return ReplyEvents(events, finish, answer.into, answer.out)

    def vectors(self, request: ReceivedRequest, vectors: VectorContent) -> WholeReply:
        """Return the embeddings of the texts of ``requests``."""
        if not request.path.endswith(":batchEmbedContents"):
            raise InvalidInput(f"the script has Vectors here, but this is no request for embeddings: {request.path}")
        requests: list[Fields] = read_body(request)["requests"]
        texts = [" ".join(_texts_in(each["content"])) for each in requests]
        size = requests[0].get("outputDimensionality") if requests else None
        values = vectors.for_texts(texts, size)
        return WholeReply({"embeddings": [{"values": value} for value in values]}, sum(map(measure_text, texts)))

    def error(self, status: int, message: str, more: FieldsView) -> Fields:
        """Return ``{"error": {...}}``."""
        text = message or f"The server was told to answer {status}."
        return {"error": {"code": status, "message": text, "status": ERRORS.get(status, "UNKNOWN"), **more}}


class _Answer:
    """One reply to one request: what its document and its fragments have in common."""

    def __init__(self, request: ReceivedRequest, reply: ReplyContent) -> None:
        body = read_body(request)
        if "contents" not in body:
            raise InvalidInput(f"the script has a {type(reply).__name__} here, but {request.path} takes none")
        self._reply = reply
        config: Fields = body.get("generationConfig") or {}
        self.texts = reply.texts(config.get("candidateCount") or 1)
        self.why = reply.finish_reason or "STOP"
        self.into = sum(measure_text(text) for content in body["contents"] for text in _texts_in(content))
        calls = [f"{call['name']} {write_arguments(call['args'])}" for call in reply.tool_calls]
        self.out = sum(measure_text(" ".join([text, *calls])) for text in self.texts)
        thoughts = measure_text(reply.reasoning)
        self.total = self.into + self.out + thoughts
        usage = {"promptTokenCount": self.into, "candidatesTokenCount": self.out, "totalTokenCount": self.total}
        usage |= {"thoughtsTokenCount": thoughts} if thoughts else {}
        model = request.path.rpartition("/")[2].partition(":")[0]
        id = reply.id or f"resp-test-{request.serial}"
        self.facts = {"usageMetadata": usage | dict(reply.usage), "modelVersion": model, "responseId": id}

    def write_parts(self, text: str) -> list[Fields]:
        thoughts = [{"text": self._reply.reasoning, "thought": True}] if self._reply.reasoning else []
        texts = [{"text": text}] if text or not self._reply.tool_calls else []
        parts: list[Fields] = [*thoughts, *texts, *self.write_calls()]
        return [part | dict(self._reply.extra) for part in parts]

    def write_calls(self) -> list[Fields]:
        return [
            {
                "functionCall": {
                    "id": call.get("id") or f"call_{number}",
                    "name": call["name"],
                    "args": from_json(call["args"]) if isinstance(call["args"], str) else call["args"],
                }
            }
            for number, call in enumerate(self._reply.tool_calls, start=1)
        ]

    def write_fragment(self, parts: list[Fields], **facts: object) -> Fields:
        return {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **facts}], **self.facts}


def _texts_in(content: FieldsView) -> list[str]:
    return [part.get("text") or "" for part in content["parts"]]
