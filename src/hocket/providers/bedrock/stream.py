"""A streamed reply of the Converse API, event by event. It does no I/O and folds nothing.

The first block, where it is a text, comes as strings, since most answers are nothing else. Any other comes in pieces that
name its ``index``. The arguments of a call come beside the content, as pieces of JSON; its block stands in the content
when they are complete, as the API would have written it in one piece. The answer is whole with ``messageStop``; the
stream is over with ``metadata``, which says what it has cost.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from hocket.errors import InvalidInput
from hocket.http.event_stream import AWSEventStream
from hocket.messages.content import Fields
from hocket.messages.tool_calls import parse_tool_arguments, tool_call_chunk
from hocket.outputs import ChatGenerationChunk
from hocket.providers.bedrock.decode import FINISHES, PROVIDER, decode_usage, reply_facts
from hocket.remote.chat_stream_decoder import ChatStreamDecoder
from hocket.remote.reply import normalize_finish
from hocket.remote.stream_decoder import Framing

__all__ = ["ConverseDecoder"]


class ConverseDecoder(ChatStreamDecoder):
    """Reads one stream. `ChatStreamDecoder` tells the arguments."""

    framing: ClassVar[type[Framing]] = AWSEventStream

    def __init__(self, headers: Mapping[str, str] | None = None, *, include_headers: bool = False) -> None:
        super().__init__(PROVIDER, headers, include_headers=include_headers)
        self._open: dict[int, tuple[Fields, list[str]]] = {}  # calls, and the pieces of their arguments

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one event says; None: nothing. Events that are not known say nothing."""
        match event:
            case "contentBlockDelta":
                return self._read_delta(data["contentBlockIndex"], data["delta"])
            case "contentBlockStart":
                return self._start_block(data["contentBlockIndex"], data.get("start") or {})
            case "contentBlockStop":
                return self._stop_block(data["contentBlockIndex"])
            case "messageStop":
                self.ended: bool = True
                self.facts.update(reply_facts(data))
                return self.make_chunk("", finish=normalize_finish(data["stopReason"], FINISHES))
            case "metadata":
                self.done = True
                self.facts.update(reply_facts(data))
                return self.make_chunk("", usage=decode_usage(data.get("usage")))
            case _:
                return None

    def _start_block(self, index: int, start: Fields) -> ChatGenerationChunk | None:
        if (call := start.get("toolUse")) is None:
            return self.make_chunk([{**start, "index": index}]) if start else None
        self._open[index] = call, []
        if "type" in call:  # a tool on the server's side
            return None
        chunk = tool_call_chunk(name=call["name"], args="", id=call["toolUseId"], index=index)
        return self.make_chunk("", calls=[chunk])

    def _read_delta(self, index: int, delta: Fields) -> ChatGenerationChunk | None:
        [(kind, said)] = delta.items()
        match kind:
            case "text":
                return self.make_chunk(said if index == 0 else [{"text": said, "index": index}]) if said else None
            case "toolUse":
                (call, pieces), text = self._open[index], said["input"]
                pieces.append(text)
                if not text or "type" in call:
                    return None
                return self.make_chunk("", calls=[tool_call_chunk(args=text, index=index)])
            case "reasoningContent":
                return self._make_part(index, kind, said if "redactedContent" in said else {"reasoningText": said})
            case "toolResult":
                return self._make_part(index, kind, {"content": said})
            case "image":
                return self._make_part(index, kind, said)
            case "citation":
                return self.make_chunk([{"citationsContent": {"citations": [said]}}])
            case _:
                return None

    def _make_part(self, index: int, kind: str, said: Mapping[str, Any]) -> ChatGenerationChunk:
        return self.make_chunk([{kind: said, "index": index}])

    def _stop_block(self, index: int) -> ChatGenerationChunk | None:
        if index not in self._open:
            return None
        call, pieces = self._open.pop(index)
        text = "".join(pieces)
        try:
            arguments: object = parse_tool_arguments(text) if text else {}
        except InvalidInput:  # the message tells it among its invalid calls
            arguments = text
        return self._make_part(index, "toolUse", {**call, "input": arguments})
