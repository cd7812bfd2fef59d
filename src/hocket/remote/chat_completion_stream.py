"""A streamed chat completion, event by event. It does no I/O and folds nothing: an event becomes a chunk, or nothing.

When is a stream whole? When its answer has a finish reason; from a server that is not known to send one, also at
``[DONE]``. Everything after that may be missing: usage, which is then None, and ``[DONE]`` itself, which is then recorded
as ``response_metadata["stream_end"] = "no [DONE]"``. A stream that ends before is truncated, whatever it said.
"""

from abc import ABC
from collections.abc import Iterable, Mapping
from typing import ClassVar, Generic, TypeVar

from pydantic_core import to_json

from hocket.errors import InvalidReply
from hocket.http.failures import has_failed
from hocket.messages.base import Content
from hocket.messages.content import Fields
from hocket.messages.formats.openai_responses import CUSTOM_INPUT
from hocket.messages.tool_calls import ToolCallChunk, tool_call_chunk
from hocket.outputs import ChatGenerationChunk
from hocket.remote.chat_completion import (
    FINISHES,
    answer_facts,
    completion_facts,
    decode_content,
    decode_token_usage,
)
from hocket.remote.chat_stream_decoder import ChatStreamDecoder
from hocket.remote.function_calls import fields_beside, read_call
from hocket.remote.reply import normalize_finish
from hocket.remote.stream_decoder import StreamDecoder

__all__ = ["ChatDecoder", "EventDecoder"]

T = TypeVar("T")

_USUAL = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint", "obfuscation"}
)
_USUAL_OF_ANSWER = frozenset({"index", "delta", "finish_reason", "logprobs"})


class EventDecoder(StreamDecoder[T], ABC, Generic[T]):
    """Reads a stream of the format's events: one JSON object each, and ``[DONE]``.

    Args:
        provider: its name.
        headers: of the reply.
        finishes: whether the server is known to send a finish reason.
        sends_done: whether it sends ``[DONE]``.
    """

    end_marker: ClassVar[bytes | None] = b"[DONE]"

    def __init__(
        self,
        provider: str,
        headers: Mapping[str, str] | None = None,
        *,
        finishes: bool = True,
        sends_done: bool = True,
    ) -> None:
        super().__init__(provider, headers)
        self.finishes: bool = finishes
        self.sends_done: bool = sends_done

    def find_error(self, data: Fields) -> object:
        """Return the part of an event that says that the request has failed. Groq has it in a field of its own."""
        if "choices" in data and "error" not in data and "x_groq" not in data:
            return None
        return next((place for place in (data, data.get("x_groq")) if has_failed(place)), None)

    def is_whole(self) -> bool:
        """Whether the answer is complete: some servers say so by ``[DONE]`` alone."""
        return self.ended or (self.done and not self.finishes)


class ChatDecoder(ChatStreamDecoder, EventDecoder[ChatGenerationChunk]):
    """Reads the stream of one chat completion.

    Args:
        provider, headers, finishes, sends_done: see `EventDecoder`.
        include_headers: whether to tell all headers.
    """

    def __init__(
        self,
        provider: str,
        headers: Mapping[str, str] | None = None,
        *,
        include_headers: bool = False,
        finishes: bool = True,
        sends_done: bool = True,
    ) -> None:
        super().__init__(provider, headers, include_headers=include_headers)
        self.finishes: bool = finishes
        self.sends_done: bool = sends_done
        self._is_named = False  # whether a chunk has said which model answers
        self._index: int | None = None
        self._called = self._refused = False
        self._custom: list[int | None] = []  # indices of calls whose arguments are text, and so far without an end

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one event says; None: nothing."""
        choices: list[Fields] | None = data.get("choices")
        usage: object = data.get("usage")
        if self.id is None and data.get("id"):
            self.id: str | None = str(data["id"])
        if not self._is_named or not data.keys() <= _USUAL:
            self.facts.update(completion_facts(data))
            of_groq: dict[str, object] = data.get("x_groq") or {}
            usage = usage or of_groq.get("usage")
        choice: Fields = self._choice(choices) if choices else {}
        content: Content = ""
        kwargs, calls, finish = None, None, None
        if delta := choice.get("delta"):
            content = decode_content(delta.get("content"))
            if not content or len(delta) > 1:
                kwargs = fields_beside(delta)
                if raw := delta.get("tool_calls"):
                    calls = [self._call(one) for one in raw]
                    self._called = True
                elif function := delta.get("function_call"):  # from before there were tools
                    calls = [read_call({"function": function, "index": 0})]
                    self._called = True
                self._refused = self._refused or "refusal" in kwargs
        if reason := choice.get("finish_reason"):
            finish = normalize_finish(reason, FINISHES, called=self._called, refused=self._refused)
            self.facts.update(completion_facts(data))
            calls = [*(calls or ()), *self._close_calls()]
            self.ended = True
        if choice and (choice.get("logprobs") or not choice.keys() <= _USUAL_OF_ANSWER):
            self.facts.update(answer_facts(choice))
        if usage:
            self.facts["token_usage"] = usage
        if not (content or kwargs or calls or finish or usage):
            return None
        self._is_named = True
        told = decode_token_usage(usage) if usage else None
        return self.make_chunk(content, beside=kwargs, calls=calls, usage=told, finish=finish)

    def read_end(self) -> Iterable[ChatGenerationChunk]:
        """Return what has not been told, and that ``[DONE]`` is missing where the server sends it."""
        if not self.done and self.sends_done:
            self.facts["stream_end"] = "no [DONE]"
        # of an answer that never came there is nothing to tell
        return [self.make_chunk("")] if self.facts and self._is_named else ()

    def _choice(self, choices: list[Fields]) -> Fields:
        choice = choices[0]
        index = choice.get("index") or 0
        if self._index is None:
            self._index = index
        if len(choices) > 1 or index != self._index:
            raise InvalidReply("the stream holds several answers at once; ask for them in one piece, or for n=1")
        return choice

    def _call(self, raw: Fields) -> ToolCallChunk:
        custom = raw.get("custom")
        if custom is None:
            return read_call(raw)
        index = raw.get("index")
        text = to_json(custom.get("input") or "")[1:-1].decode()
        if index in self._custom:
            return tool_call_chunk(args=text, index=index)
        self._custom.append(index)
        return {**read_call(raw), "args": f'{{"{CUSTOM_INPUT}":"{text}'}

    def _close_calls(self) -> list[ToolCallChunk]:
        """The ends of the calls whose arguments are text: their input is a JSON string that nothing has closed."""
        ends, self._custom = [tool_call_chunk(args='"}', index=index) for index in self._custom], []
        return ends
