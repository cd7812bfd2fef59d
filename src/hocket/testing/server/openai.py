"""OpenAI's format: chat completions, completions, embeddings and the list of models, as its API reference has them.

Nothing about an answer depends on chance or on the time. A prompt that comes as token ids costs as many as there are.
"""

import base64
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, ClassVar

from hocket.errors import InvalidInput
from hocket.testing.server.batch_formats import BatchFormat
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

__all__ = ["OpenAIFormat"]

CREATED = 1_700_000_000

# The arguments of a tool call are streamed in pieces of so many characters, unless the number of pieces is given.
ARGUMENTS_PIECE = 8

# Status to type and code of the error object.
ERRORS: dict[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("request_forbidden", None),
    404: ("invalid_request_error", "model_not_found"),
    422: ("invalid_request_error", None),
    429: ("requests", "rate_limit_exceeded"),
}
SERVER_ERROR = ("server_error", None)


class OpenAIFormat(Format):
    """The format of OpenAI's server.

    Args:
        models: what ``GET /v1/models`` lists, and ``GET /v1/models/{id}`` knows, beside the script; None: these
            requests are part of the script too.
    """

    prefix: ClassVar[str] = "/v1"
    batches: ClassVar[BatchFormat | None] = BatchFormat()

    def __init__(self, models: Sequence[str] | None = ("test-model",)) -> None:
        self._models = models

    def unscripted(self, request: ReceivedRequest) -> WireAnswer | None:
        """Return the list of models, or one of them."""
        path = f"{self.prefix}/models"
        if self._models is None or request.method != "GET" or not request.path.startswith(path):
            return None
        known = {name: {"id": name, "object": "model", "created": CREATED, "owned_by": "test"} for name in self._models}
        name = request.path.removeprefix(path).strip("/")
        if not name:
            return Body({"object": "list", "data": list(known.values())}).answer(request, self)
        if name in known:
            return Body(known[name]).answer(request, self)
        return Body(self.error(404, f"The model `{name}` does not exist", {}), status=404).answer(request, self)

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        """Return a chat completion or a completion."""
        answer = _Completion(request, reply)
        choices = [
            answer.choice(index, message=answer.message(text)) if answer.is_chat else answer.choice(index, text=text)
            for index, text in enumerate(answer.texts)
        ]
        for choice in choices:
            choice["finish_reason"] = answer.finish_reason
        return WholeReply({**answer.envelope, "choices": choices, "usage": answer.usage}, answer.usage["total_tokens"])

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        """Return the chunks of a chat completion or of a completion."""
        answer = _Completion(request, reply)
        field = "delta" if answer.is_chat else "text"
        events = [
            [
                write_event(answer.chunk([answer.choice(index, **{field: delta})]))
                for delta in answer.deltas(text, reply.pieces)
            ]
            for index, text in enumerate(answer.texts)
        ]
        rounds = [b"".join(together) for together in zip_longest(*events, fillvalue=b"")]

        last: dict[str, Any] = {field: {} if answer.is_chat else ""}
        ends = [
            {**answer.choice(index, **last), "finish_reason": answer.finish_reason}
            for index in range(len(answer.texts))
        ]
        finish = [write_event(answer.chunk([end])) for end in ends]
        options: dict[str, Any] = read_body(request).get("stream_options") or {}
        if options.get("include_usage"):
            finish.append(write_event({**answer.chunk([]), "usage": answer.usage}))
        finish.append(b"data: [DONE]\n\n")
        return ReplyEvents(rounds, b"".join(finish), answer.usage["prompt_tokens"], answer.usage["completion_tokens"])

    def vectors(self, request: ReceivedRequest, vectors: VectorContent) -> WholeReply:
        """Return the embeddings of ``input``, as numbers or in base64."""
        body = read_body(request)
        if "input" not in body:
            raise InvalidInput(f"the script has Vectors here, but this is no request for embeddings: {request.path}")
        texts = _list_prompts(body["input"])
        values = vectors.for_texts(texts, body.get("dimensions"))
        encoded = [_encode_base64(value) if body.get("encoding_format") == "base64" else value for value in values]
        data = [{"object": "embedding", "index": index, "embedding": value} for index, value in enumerate(encoded)]
        tokens = sum(map(measure_text, texts))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return WholeReply({"object": "list", "data": data, "model": body.get("model"), "usage": usage}, tokens)

    def error(self, status: int, message: str, more: Mapping[str, Any]) -> Any:
        """Return ``{"error": {...}}``."""
        kind, code = ERRORS.get(status, SERVER_ERROR)
        text = message or f"The server was told to answer {status}."
        return {"error": {"message": text, "type": kind, "param": None, "code": code, **more}}


class _Completion:
    """One reply to one request: what its document and its chunks have in common."""

    def __init__(self, request: ReceivedRequest, reply: ReplyContent) -> None:
        body = read_body(request)
        self._reply = reply
        self.is_chat = "messages" in body
        if not self.is_chat and "prompt" not in body:
            raise InvalidInput(f"the script has a {type(reply).__name__} here, but {request.path} takes none")
        prompts = [""] if self.is_chat else _list_prompts(body["prompt"])
        self.texts = reply.texts(len(prompts) * (body.get("n") or 1))
        self.finish_reason = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
        self._object = "chat.completion" if self.is_chat else "text_completion"
        name = "chatcmpl-test" if self.is_chat else "cmpl-test"
        id = reply.id or f"{name}-{request.serial}"
        self._base = {"id": id, "created": CREATED, "model": body.get("model"), "system_fingerprint": "fp_test"}
        self.envelope = {**self._base, "object": self._object}
        self.usage = self._compute_usage(
            _count_chat_tokens(body["messages"]) if self.is_chat else sum(map(measure_text, prompts))
        )

    def choice(self, index: int, **content: Any) -> dict[str, Any]:
        return {"index": index, **content, "logprobs": None, "finish_reason": None}

    def chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        suffix = ".chunk" if self.is_chat else ""
        return {**self._base, "object": self._object + suffix, "choices": choices}

    def message(self, text: str) -> dict[str, Any]:
        reply = self._reply
        message: dict[str, Any] = {"role": "assistant", "content": text or (None if reply.tool_calls else "")}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.tool_calls:
            message["tool_calls"] = self._write_calls()
        return {**message, **reply.extra}

    def deltas(self, text: str, pieces: int | None) -> Iterator[Any]:
        """Yield the ``delta`` of each event of one choice; without a chat, its ``text``."""
        if not self.is_chat:
            yield from cut_text(text, pieces)
            return
        yield {"role": "assistant", "content": "", **self._reply.extra}
        yield from ({"reasoning_content": piece} for piece in cut_text(self._reply.reasoning, pieces))
        yield from ({"content": piece} for piece in cut_text(text, pieces))
        for index, call in enumerate(self._write_calls()):
            function = {**call["function"], "arguments": ""}
            yield {"tool_calls": [{"index": index, **call, "function": function}]}
            arguments = call["function"]["arguments"]
            for piece in cut_text(arguments, pieces or math.ceil(len(arguments) / ARGUMENTS_PIECE)):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def _write_calls(self) -> list[dict[str, Any]]:
        return [
            {
                "id": call.get("id") or f"call_{number}",
                "type": "function",
                "function": {"name": call["name"], "arguments": write_arguments(call["args"])},
            }
            for number, call in enumerate(self._reply.tool_calls, start=1)
        ]

    def _compute_usage(self, prompt: int) -> dict[str, Any]:
        calls = [f"{call['function']['name']} {call['function']['arguments']}" for call in self._write_calls()]
        completion = sum(measure_text(" ".join([self._reply.reasoning, text, *calls])) for text in self.texts)
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, **self._reply.usage}
        return {**usage, "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"], **self._reply.usage}


def _list_prompts(prompt: str | Sequence[Any]) -> list[Any]:
    """Return the prompts of a request: one or several, as texts or as token ids."""
    return [prompt] if isinstance(prompt, str) or (prompt and isinstance(prompt[0], int)) else list(prompt)


def _count_chat_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    total = 0
    for message in messages:
        content: Any = message.get("content") or ""
        parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content]
        total += sum(map(measure_text, parts))
    return total


def _encode_base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
