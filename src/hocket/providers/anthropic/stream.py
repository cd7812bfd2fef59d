"""A streamed reply of Anthropic's, event by event. It does no I/O and folds nothing.

The first block, where it is a text, comes as strings, since most answers are nothing else. Any other comes in pieces that
name its ``index``. The arguments of a call come beside the content, as pieces of JSON; its block stands in the content
when they are complete, as the API would have written it in one piece. The stream is whole with its ``stop_reason``.
"""

from collections.abc import Iterable, Mapping

from hocket.errors import InvalidInput
from hocket.messages import UsageMetadata
from hocket.messages.content import Fields
from hocket.messages.tool_calls import parse_tool_arguments, tool_call_chunk
from hocket.outputs import ChatGenerationChunk
from hocket.providers.anthropic.decode import PROVIDER, decode_usage, finish_facts, reply_facts
from hocket.remote.chat_stream_decoder import ChatStreamDecoder
from hocket.remote.relay import RelayFormat, match_texts

__all__ = ["RELAY_FORMAT", "AnthropicDecoder"]


_TOOLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def _is_plain(event: bytes) -> bool:
    """Whether an event tells of a block of the answer, and neither of its end nor of usage."""
    return event.startswith(b"event: content_block_")


RELAY_FORMAT = RelayFormat("messages", decode_usage, _is_plain, match_texts("text|thinking|partial_json"))
"""The format of requests that may go on as they came."""


class AnthropicDecoder(ChatStreamDecoder):
    """Reads one stream. `ChatStreamDecoder` tells the arguments."""

    def __init__(self, headers: Mapping[str, str] | None = None, *, include_headers: bool = False) -> None:
        super().__init__(PROVIDER, headers, include_headers=include_headers)
        self._usage: Fields = {}
        self._open: dict[int, Fields] = {}  # blocks of tools, until they are complete
        self._arguments: dict[int, list[str]] = {}

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one event says; None: nothing. Events that are not known say nothing."""
        match data.get("type"):
            case "content_block_delta":
                return self._read_delta(data["index"], data["delta"])
            case "content_block_start":
                return self._start_block(data["index"], data["content_block"])
            case "content_block_stop":
                return self._stop_block(data["index"])
            case "message_start":
                self._begin(data["message"])  # no part of the answer: what fails behind it can be tried again
            case "message_delta":
                return self._finish(data)
            case "message_stop":
                self.done = True
                self.ended: bool = True
            case _:
                pass
        return None

    def read_end(self) -> Iterable[ChatGenerationChunk]:
        """Return what nothing behind it has told: an answer may be empty."""
        return [self.make_chunk("")] if self.facts else ()

    def _begin(self, message: Fields) -> None:
        self.id: str | None = message.get("id")
        self._usage = dict(message.get("usage") or {})
        self.facts.update(reply_facts(message))
        self.usage: UsageMetadata | None = decode_usage(self._usage)
        self.tell_opening()

    def _start_block(self, index: int, block: Fields) -> ChatGenerationChunk | None:
        if block["type"] in _TOOLS:
            self._open[index], self._arguments[index] = block, []
            if block["type"] != "tool_use":
                return None
            call = tool_call_chunk(name=block["name"], args="", id=block["id"], index=index)
            return self.make_chunk("", calls=[call])
        if block["type"] == "text":
            return self._text(index, block["text"]) if block.get("text") else None
        return self.make_chunk([{**block, "index": index}])

    def _read_delta(self, index: int, delta: Fields) -> ChatGenerationChunk | None:
        match delta["type"]:
            case "text_delta":
                return self._text(index, delta["text"])
            case "input_json_delta":
                text = delta["partial_json"]
                if not text or index not in self._open:
                    return None
                self._arguments[index].append(text)
                if self._open[index]["type"] != "tool_use":
                    return None
                return self.make_chunk("", calls=[tool_call_chunk(args=text, index=index)])
            case "thinking_delta" | "signature_delta":
                said = {name: value for name, value in delta.items() if name in ("thinking", "signature")}
                return self.make_chunk([{"type": "thinking", **said, "index": index}])
            case "citations_delta":
                place = {} if index == 0 else {"index": index}  # the first text comes as strings, which have none
                return self.make_chunk([{"type": "text", "citations": [delta["citation"]], **place}])
            case _:
                return None

    def _text(self, index: int, text: str) -> ChatGenerationChunk:
        return self.make_chunk(text if index == 0 else [{"type": "text", "text": text, "index": index}])

    def _stop_block(self, index: int) -> ChatGenerationChunk | None:
        block = self._open.pop(index, None)
        if block is None:
            return None
        text = "".join(self._arguments.pop(index))
        try:
            whole = {**block, "input": parse_tool_arguments(text)} if text else block
        except InvalidInput:  # the message tells it among its invalid calls
            whole = {**block, "partial_json": text}
        return self.make_chunk([{**whole, "index": index}])

    def _finish(self, data: Fields) -> ChatGenerationChunk:
        usage: Fields = data.get("usage") or {}
        self._usage |= {name: value for name, value in usage.items() if value is not None}  # running totals
        finish = finish_facts(data["delta"])
        self.facts.update({**reply_facts(data["delta"]), "token_usage": self._usage})
        if finish:
            self.ended = True
        return self.make_chunk("", usage=decode_usage(self._usage), finish=finish)
