"""A streamed reply of Cohere's, event by event. It does no I/O and folds nothing.

The first part, where it is a text, comes as strings, since most answers are nothing else. Any other comes in pieces that
name its ``index``. Plan, calls and citations come beside the content. The stream is whole with ``message-end``, which may
also say that the answer has failed.
"""

from collections.abc import Mapping
from typing import ClassVar

from hocket.messages.content import Fields
from hocket.outputs import ChatGenerationChunk
from hocket.providers.cohere.decode import FINISHES, decode_usage, describe_failure
from hocket.providers.cohere.service import PROVIDER
from hocket.remote.chat_stream_decoder import ChatStreamDecoder
from hocket.remote.function_calls import read_call
from hocket.remote.reply import normalize_finish

__all__ = ["CohereDecoder"]


class CohereDecoder(ChatStreamDecoder):
    """Reads one stream.

    Args:
        headers: of the reply.
        include_headers: whether to tell all of them.
    """

    end_marker: ClassVar[bytes | None] = b"[DONE]"  # of some deployments

    def __init__(self, headers: Mapping[str, str] | None = None, *, include_headers: bool = False) -> None:
        super().__init__(PROVIDER, headers, include_headers=include_headers)
        self._called = False

    def find_error(self, data: Fields) -> object:
        """Return the part of an event that says that the request has failed: an end may do so."""
        if data.get("type") == "message-end":
            delta: Fields = data.get("delta") or {}
            if delta.get("error") or delta.get("finish_reason") == "ERROR":
                return describe_failure(delta.get("error"))
        return super().find_error(data)

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one event says; None: nothing. Events that are not known say nothing."""
        match data.get("type"):
            case "content-delta" | "content-start":
                if data.get("logprobs"):
                    self.facts["logprobs"] = [data["logprobs"]]
                return self._read_part(data.get("index") or 0, data["delta"]["message"]["content"])
            case "tool-plan-delta":
                return self.make_chunk("", beside={"tool_plan": str(data["delta"]["message"]["tool_plan"])})
            case "tool-call-start" | "tool-call-delta":
                raw: Fields = data["delta"]["message"]["tool_calls"]
                self._called = True
                return self.make_chunk("", calls=[read_call({**raw, "index": data.get("index")})])
            case "citation-start":
                found: object = data["delta"]["message"]["citations"]
                return self.make_chunk("", beside={"citations": found if isinstance(found, list) else [found]})
            case "message-start":
                if data.get("id"):
                    self.id: str | None = str(data["id"])
                    self.facts["id"] = self.id
            case "message-end":
                return self._finish(data["delta"])
            case _:
                pass
        return None

    def _read_part(self, index: int, part: Fields) -> ChatGenerationChunk | None:
        """Return a piece of a part. What it does not hold is absent, or null."""
        text, thought = part.get("text"), part.get("thinking")
        if not isinstance(text, str | None) or not isinstance(thought, str | None):
            raise TypeError("a part is not a text")
        if text:
            return self.make_chunk([{"type": "text", "text": text, "index": index}] if index else text)
        if thought:
            return self.make_chunk([{"type": "thinking", "thinking": thought, "index": index}])
        if part.get("type") in ("text", "thinking", None):
            return None
        return self.make_chunk([{**part, "index": index}])

    def _finish(self, delta: Fields) -> ChatGenerationChunk:
        self.done = self.ended = True
        finish = normalize_finish(delta.get("finish_reason"), FINISHES, called=self._called)
        usage: Fields | None = delta.get("usage")
        if usage:
            self.facts["token_usage"] = usage
        return self.make_chunk("", usage=decode_usage(usage), finish=finish)
