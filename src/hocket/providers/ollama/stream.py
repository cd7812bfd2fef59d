"""A streamed reply of Ollama's, line by line. It does no I/O and folds nothing.

A call comes in one piece. The last line says that it is the last one (``done``), and what the answer cost; a line that has
``error`` ends the stream as well.
"""

from collections.abc import Mapping
from typing import ClassVar

from hocket.http.json_lines import JSONLines
from hocket.messages.content import Fields, FieldsView
from hocket.messages.tool_calls import ToolCallChunk
from hocket.outputs import ChatGenerationChunk
from hocket.providers.ollama.decode import decode_usage, finish_facts, reply_facts, with_id
from hocket.providers.ollama.service import PROVIDER
from hocket.remote.chat_stream_decoder import ChatStreamDecoder
from hocket.remote.function_calls import fields_beside, read_call
from hocket.remote.stream_decoder import Framing

__all__ = ["OllamaDecoder"]


class OllamaDecoder(ChatStreamDecoder):
    """Reads one stream.

    Args:
        headers: of the reply.
        include_headers: whether to tell all of them.
    """

    framing: ClassVar[type[Framing]] = JSONLines

    def __init__(self, headers: Mapping[str, str] | None = None, *, include_headers: bool = False) -> None:
        super().__init__(PROVIDER, headers, include_headers=include_headers)
        self._is_named = False  # whether a chunk has said which model answers
        self._calls = 0

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one line says; None: nothing. Lines that are not known say nothing."""
        done = data.get("done")
        message: Fields = data.get("message") or {}
        if not (message or done):
            return None
        if not self._is_named and data.get("model"):
            self._is_named, self.facts["model_name"] = True, data["model"]
        kwargs, calls = None, None
        if len(message) > 2:  # most have a role and a text
            kwargs = fields_beside(message)
            if raw := message.get("tool_calls"):
                calls = [self._read_call(call, data) for call in raw]
        content: str = message.get("content") or ""
        if not done:
            if logprobs := data.get("logprobs"):
                self.facts["logprobs"] = logprobs
            return self.make_chunk(content, beside=kwargs, calls=calls)
        self.done = self.ended = True
        self.facts.update(reply_facts(data))
        finish = finish_facts(data, bool(self._calls))
        return self.make_chunk(content, beside=kwargs, calls=calls, usage=decode_usage(data), finish=finish)

    def _read_call(self, raw: FieldsView, data: FieldsView) -> ToolCallChunk:
        """Return a call. Its place is counted here: some servers leave its ``index`` out, or 0 in every line."""
        call = read_call(with_id(raw, self._calls, data))
        call["index"] = self._calls
        self._calls += 1
        return call
