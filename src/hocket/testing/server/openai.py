"""OpenAI's format: chat completions, completions, embeddings and the list of models, as its API reference has them.

A token is a word here (``len(text.split())``), so that a test can say what an answer must cost; a prompt that comes as
token ids costs as many as there are. Nothing else about an answer depends on chance or on the time either.
"""

import base64
import math
import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any

from pydantic_core import to_json

from hocket.errors import InvalidInput
from hocket.testing.server.behaviours import Body, Reply, Stream, Vectors
from hocket.testing.server.formats import Document, EventStream
from hocket.testing.server.wire import Answer, ReceivedRequest

__all__ = ["OpenAIFormat"]

CREATED = 1_700_000_000

# The arguments of a tool call are streamed in pieces of so many characters, unless the number of pieces is given.
ARGUMENTS_PIECE = 8

# Status to type and code of the error object.
ERRORS = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("request_forbidden", None),
    404: ("invalid_request_error", "model_not_found"),
    422: ("invalid_request_error", None),
    429: ("requests", "rate_limit_exceeded"),
}
SERVER_ERROR = ("server_error", None)


class OpenAIFormat:
    """The format of OpenAI's server.

    Args:
        models: what ``GET /v1/models`` lists, and ``GET /v1/models/{id}`` knows, beside the script; None: these
            requests are part of the script too.
    """

    prefix = "/v1"
    ping = b": ping\n\n"

    def __init__(self, models: Sequence[str] | None = ("test-model",)) -> None:
        self._models = models

    def unscripted(self, request: ReceivedRequest) -> Answer | None:
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

    def wants_stream(self, request: ReceivedRequest) -> bool:
        """Tell whether ``stream`` is true."""
        return bool(_asked(request).get("stream"))

    def document(self, request: ReceivedRequest, reply: Reply) -> Document:
        """Return a chat completion or a completion."""
        says = _Answering(request, reply)
        choices = [
            says.choice(index, message=says.message(text)) if says.is_chat else says.choice(index, text=text)
            for index, text in enumerate(says.texts)
        ]
        for choice in choices:
            choice["finish_reason"] = says.finish_reason
        return Document({**says.envelope, "choices": choices, "usage": says.usage}, says.usage["total_tokens"])

    def stream(self, request: ReceivedRequest, reply: Stream) -> EventStream:
        """Return the chunks of a chat completion or of a completion."""
        says = _Answering(request, reply)
        field = "delta" if says.is_chat else "text"
        events = [
            [_event(says.chunk([says.choice(index, **{field: delta})])) for delta in says.deltas(text, reply.pieces)]
            for index, text in enumerate(says.texts)
        ]
        rounds = [b"".join(together) for together in zip_longest(*events, fillvalue=b"")]

        last: dict[str, Any] = {field: {} if says.is_chat else ""}
        ends = [{**says.choice(index, **last), "finish_reason": says.finish_reason} for index in range(len(says.texts))]
        finish = [_event(says.chunk([end])) for end in ends]
        if (_asked(request).get("stream_options") or {}).get("include_usage"):
            finish.append(_event({**says.chunk([]), "usage": says.usage}))
        finish.append(b"data: [DONE]\n\n")
        return EventStream(rounds, b"".join(finish), says.usage["prompt_tokens"], says.usage["completion_tokens"])

    def vectors(self, request: ReceivedRequest, vectors: Vectors) -> Document:
        """Return the embeddings of ``input``, as numbers or in base64."""
        asked = _asked(request)
        if "input" not in asked:
            raise InvalidInput(f"the script has Vectors here, but this is no request for embeddings: {request.path}")
        texts = _prompts(asked["input"])
        values = vectors.values
        if values is None:
            values = [_vector(text, asked.get("dimensions") or vectors.dimensions) for text in texts]
        if len(values) != len(texts):
            raise InvalidInput(f"the script has {len(values)} vectors here, but the request {len(texts)} texts")
        encoded = [_base64(value) if asked.get("encoding_format") == "base64" else list(value) for value in values]
        data = [{"object": "embedding", "index": index, "embedding": value} for index, value in enumerate(encoded)]
        tokens = sum(map(_tokens, texts))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Document({"object": "list", "data": data, "model": asked.get("model"), "usage": usage}, tokens)

    def error(self, status: int, message: str, more: Mapping[str, Any]) -> Any:
        """Return ``{"error": {...}}``."""
        kind, code = ERRORS.get(status, SERVER_ERROR)
        text = message or f"The server was told to answer {status}."
        return {"error": {"message": text, "type": kind, "param": None, "code": code, **more}}

    def error_event(self, message: str, more: Mapping[str, Any]) -> bytes:
        """Return an error as the data of an event."""
        return _event(self.error(500, message or "The server had an error.", more))


class _Answering:
    """One reply to one request: what its document and its chunks have in common."""

    def __init__(self, request: ReceivedRequest, reply: Reply) -> None:
        asked = _asked(request)
        self._reply = reply
        self.is_chat = "messages" in asked
        if not self.is_chat and "prompt" not in asked:
            raise InvalidInput(f"the script has a {type(reply).__name__} here, but {request.path} takes none")
        prompts = [""] if self.is_chat else _prompts(asked["prompt"])
        self.texts = self._spoken(len(prompts) * (asked.get("n") or 1))
        self.finish_reason = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
        self._object = "chat.completion" if self.is_chat else "text_completion"
        name = "chatcmpl-test" if self.is_chat else "cmpl-test"
        self._base = {"id": name, "created": CREATED, "model": asked.get("model"), "system_fingerprint": "fp_test"}
        self.envelope = {**self._base, "object": self._object}
        self.usage = self._usage(_chat_tokens(asked["messages"]) if self.is_chat else sum(map(_tokens, prompts)))

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
            message["tool_calls"] = self._calls()
        return {**message, **reply.extra}

    def deltas(self, text: str, pieces: int | None) -> Iterator[Any]:
        """Yield what each event of one choice says."""
        if not self.is_chat:
            yield from _cut(text, pieces)
            return
        yield {"role": "assistant", "content": "", **self._reply.extra}
        yield from ({"reasoning_content": piece} for piece in _cut(self._reply.reasoning, pieces))
        yield from ({"content": piece} for piece in _cut(text, pieces))
        for index, call in enumerate(self._calls()):
            function = {**call["function"], "arguments": ""}
            yield {"tool_calls": [{"index": index, **call, "function": function}]}
            arguments = call["function"]["arguments"]
            for piece in _cut(arguments, pieces or math.ceil(len(arguments) / ARGUMENTS_PIECE)):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def _spoken(self, choices: int) -> list[str]:
        text = self._reply.text
        if isinstance(text, str):
            return [text] * choices
        if len(text) != choices:
            raise InvalidInput(f"the script has {len(text)} texts here, but the request asks for {choices} choices")
        return list(text)

    def _calls(self) -> list[dict[str, Any]]:
        return [
            {
                "id": call.get("id") or f"call_{number}",
                "type": "function",
                "function": {"name": call["name"], "arguments": _arguments(call["args"])},
            }
            for number, call in enumerate(self._reply.tool_calls, start=1)
        ]

    def _usage(self, prompt: int) -> dict[str, Any]:
        calls = [f"{call['function']['name']} {call['function']['arguments']}" for call in self._calls()]
        completion = sum(_tokens(" ".join([self._reply.reasoning, text, *calls])) for text in self.texts)
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, **self._reply.usage}
        return {**usage, "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"], **self._reply.usage}


def _asked(request: ReceivedRequest) -> dict[str, Any]:
    """Return the body of ``request``, empty where it has none."""
    asked: Any = request.json
    if asked is not None and not isinstance(asked, dict):
        raise InvalidInput(f"the body of a request is a JSON object, not {request.body[:80]!r}")
    return asked or {}


def _prompts(given: Any) -> list[Any]:
    """Return the prompts of a request: one or several, as texts or as token ids."""
    return [given] if isinstance(given, str) or (given and isinstance(given[0], int)) else list(given)


def _chat_tokens(messages: Sequence[Mapping[str, Any]]) -> int:
    total = 0
    for message in messages:
        content: Any = message.get("content") or ""
        parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content]
        total += sum(map(_tokens, parts))
    return total


def _tokens(text: str | Sequence[int]) -> int:
    return len(text.split() if isinstance(text, str) else text)


def _arguments(args: Any) -> str:
    return args if isinstance(args, str) else to_json(args).decode()


def _cut(text: str, pieces: int | None) -> list[str]:
    """Return ``text`` in so many pieces, as even as can be; None: a word each, with the space before it."""
    if not text:
        return []
    if pieces is None:
        first, *words = text.split(" ")
        return [part for part in (first, *(f" {word}" for word in words)) if part]
    bounds = [len(text) * number // pieces for number in range(pieces + 1)]
    return [text[start:end] for start, end in pairwise(bounds)]


def _event(document: Any) -> bytes:
    return b"data: " + to_json(document) + b"\n\n"


def _vector(text: str | Sequence[int], dimensions: int) -> list[float]:
    """Return a vector of length 1 that ``text`` alone decides, in numbers that are the same in 32 bits."""
    chance = random.Random(text if isinstance(text, str) else str(text))
    values = [chance.uniform(-1, 1) for _ in range(dimensions)]
    length = math.hypot(*values)
    return list(struct.unpack(f"<{dimensions}f", struct.pack(f"<{dimensions}f", *(value / length for value in values))))


def _base64(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
