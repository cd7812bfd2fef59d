"""A streamed reply of the Gemini API, event by event. It does no I/O and folds nothing.

Each event is a reply of its own, with some more parts. As long as there are only texts, they come as strings. From the
first other part on, each part names its ``index``: texts that go on share one, and a part with a signature, a call or a
picture has its own. There is no last event: the stream is whole with its finish reason, or with what blocked the prompt.
"""

from collections.abc import Mapping

from pydantic_core import to_json

from hocket.errors import InvalidReply
from hocket.messages.content import Fields
from hocket.messages.fast_chunk import fast_chunk
from hocket.messages.tool_calls import ToolCallChunk, tool_call_chunk
from hocket.outputs import ChatGenerationChunk
from hocket.providers.google.content import call_in
from hocket.providers.google.decode import decode_usage, finish_facts, id_of_call, name_reply, parts_of, reply_facts
from hocket.providers.google.service import PROVIDER
from hocket.remote.reply import read_headers
from hocket.remote.stream_decoder import StreamDecoder

__all__ = ["GoogleDecoder"]

_CONTENT = frozenset({"content", "index"})
_TEXT = frozenset({"text"})
_GROWING = frozenset({"text", "thought"})


class GoogleDecoder(StreamDecoder[ChatGenerationChunk]):
    """Reads one stream.

    Args:
        headers: of the reply.
        include_headers: whether to tell all of them.
    """

    def __init__(self, headers: Mapping[str, str] | None = None, *, include_headers: bool = False) -> None:
        super().__init__(PROVIDER, headers)
        self._facts = {"model_provider": PROVIDER, **read_headers(self.headers, include_headers)}  # for the next chunk
        self._id: str | None = None
        self._name = ""  # what ids of calls are made of
        self._usage: object = None
        self._count = 0  # of calls
        self._place = -1  # the index of the last part; -1: so far there are only texts
        self._growing: str | None = None  # what the last part is, where more of it may come

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one event says."""
        candidates: list[Fields] = data.get("candidates") or [{}]
        candidate = candidates[0]
        if len(candidates) > 1 or candidate.get("index"):
            raise InvalidReply("the stream holds several answers at once; ask for them in one piece, or for n=1")
        if self._id is None:
            self._id = data.get("responseId")
            self._name = self._id or self._name or name_reply(data, self._facts)
        content, calls = self._read_parts(parts_of(candidate))
        if self._facts or "promptFeedback" in data:
            self._facts |= reply_facts(data)
        finish: dict[str, str] = {}
        if not candidate or candidate.keys() - _CONTENT:  # it says more than most events do
            finish = finish_facts(candidate, data, called=self._count > 0)
            self._facts |= {**reply_facts(candidate), **finish}
            if finish:
                self.ended = True
        usage = data.get("usageMetadata")
        is_new = bool(usage) and usage != self._usage
        self._usage = usage or self._usage
        if self._usage and (finish or (is_new and self.ended)):
            self._facts["token_usage"] = self._usage
        facts, self._facts = self._facts, {}
        message = fast_chunk(
            content,
            self._id,
            response_metadata=facts,
            tool_call_chunks=calls,
            usage_metadata=decode_usage(usage) if is_new else None,  # a running total
        )
        if finish:
            return ChatGenerationChunk(message=message, generation_info=finish)
        return ChatGenerationChunk(message=message)

    def _read_parts(self, parts: list[Fields]) -> tuple[str | list[str | Fields], list[ToolCallChunk]]:
        if self._place < 0 and all(part.keys() == _TEXT for part in parts):
            return "".join([part["text"] for part in parts]), []
        placed: list[str | Fields] = []
        calls: list[ToolCallChunk] = []
        for part in parts:
            growing = None
            if part.keys() <= _GROWING:
                if not part["text"]:
                    continue
                growing = "thought" if part.get("thought") else "text"
            if growing is None or growing != self._growing:
                self._place += 1
            self._growing = growing
            placed.append({**part, "index": self._place})
            if (call := call_in(part)) is not None:
                id = id_of_call(call, self._name, self._count)
                arguments = to_json(call.get("args") or {}).decode()
                calls.append(tool_call_chunk(name=call["name"], args=arguments, id=id, index=self._place))
                self._count += 1
        return placed or "", calls
