"""A streamed reply of the Gemini API, event by event. It does no I/O and folds nothing.

Each event is a reply of its own, with some more parts. As long as there are only texts, they come as strings. From the
first other part on, each part names its ``index``: texts that go on share one, and a part with a signature, a call or a
picture has its own. There is no last event: the stream is whole with its finish reason, or with what blocked the prompt.
"""

from collections.abc import Iterator, Mapping

from pydantic_core import to_json

from hocket.errors import InvalidReply
from hocket.messages.content import Fields
from hocket.messages.tool_calls import ToolCallChunk, tool_call_chunk
from hocket.outputs import ChatGenerationChunk
from hocket.providers.google.content import call_in
from hocket.providers.google.decode import decode_usage, finish_facts, id_of_call, name_reply, parts_of, reply_facts
from hocket.providers.google.partial_call import PartialCall, begins_call
from hocket.providers.google.service import PROVIDER
from hocket.remote.chat_stream_decoder import ChatStreamDecoder

__all__ = ["GoogleDecoder"]

_CONTENT = frozenset({"content", "index"})
_TEXT = frozenset({"text"})
_GROWING = frozenset({"text", "thought"})


class GoogleDecoder(ChatStreamDecoder):
    """Reads one stream. `ChatStreamDecoder` tells the arguments."""

    def __init__(self, headers: Mapping[str, str] | None = None, *, include_headers: bool = False) -> None:
        super().__init__(PROVIDER, headers, include_headers=include_headers)
        self._name = ""  # what ids of calls are made of
        self._usage: object = None
        self._count = 0  # of calls
        self._place = -1  # the index of the last part; -1: so far there are only texts
        self._growing: str | None = None  # what the last part is, where more of it may come
        self._partial: PartialCall | None = None

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one event says."""
        candidates: list[Fields] = data.get("candidates") or [{}]
        candidate = candidates[0]
        if len(candidates) > 1 or candidate.get("index"):
            raise InvalidReply("the stream holds several answers at once; ask for them in one piece, or for n=1")
        if self.id is None:
            self.id: str | None = data.get("responseId")
            self._name = self.id or self._name or name_reply(data, self.facts)
        content, calls = self._read_parts(parts_of(candidate))
        if self.facts or "promptFeedback" in data:
            self.facts.update(reply_facts(data))
        finish: dict[str, str] = {}
        if not candidate or candidate.keys() - _CONTENT:  # it says more than most events do
            finish = finish_facts(candidate, data, called=self._count > 0)
            self.facts.update(reply_facts(candidate))
            if finish:
                self.ended = True
                calls += self._cut_call()
        usage = data.get("usageMetadata")
        is_new = bool(usage) and usage != self._usage
        self._usage = usage or self._usage
        if self._usage and (finish or (is_new and self.ended)):
            self.facts["token_usage"] = self._usage
        told = decode_usage(usage) if is_new else None  # a running total
        return self.make_chunk(content, calls=calls, usage=told, finish=finish)

    def _read_parts(self, parts: list[Fields]) -> tuple[str | list[str | Fields], list[ToolCallChunk]]:
        if self._place < 0 and all(part.keys() == _TEXT for part in parts):
            return "".join([part["text"] for part in parts]), []
        placed: list[str | Fields] = []
        calls: list[ToolCallChunk] = []
        for part in self._join_calls(parts):
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

    def _join_calls(self, parts: list[Fields]) -> Iterator[Fields]:
        """Yield parts, calls that come in pieces when they are whole."""
        for part in parts:
            call: Fields | None = part.get("functionCall")
            if call is None or (self._partial is None and not begins_call(call)):
                yield part
                continue
            if (
                self._partial is not None and call.get("name") and not call.get("partialArgs")
            ):  # the one before has ended without saying so
                yield self._partial.read_part()
                self._partial = None
            self._partial = self._partial or PartialCall()
            if self._partial.add(part):
                yield self._partial.read_part()
                self._partial = None

    def _cut_call(self) -> list[ToolCallChunk]:
        """Return the call that the end of the answer has cut, with arguments that are cut as well."""
        if self._partial is None:
            return []
        call, self._partial = self._partial.read_part()["functionCall"], None
        arguments = to_json(call["args"]).decode().removesuffix("}")
        id = id_of_call(call, self._name, self._count)
        return [tool_call_chunk(name=call["name"], args=arguments, id=id, index=self._place + 1)]
