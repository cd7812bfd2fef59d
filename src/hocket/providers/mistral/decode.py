"""Replies of Mistral's chat API, whole and streamed, brought to the common form of chat completions, and read as such.

Two things differ. A call may come without an id, or with one that says "null", and gets one here, the same each time it
is read. And content may be a list of parts, in a stream, too, where a piece of reasoning is a list and a piece of text a
text; each then names the part that it belongs to.
"""

from collections.abc import Mapping

from hocket.http.request import HTTPReply
from hocket.messages.content import Fields, FieldsView
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.remote.chat_completion import read_completion
from hocket.remote.chat_completion_stream import ChatDecoder
from hocket.remote.handover import make_call_id
from hocket.remote.reply import read_headers, read_reply

__all__ = ["PROVIDER", "MistralDecoder", "decode_reply"]

PROVIDER = "mistralai"

_NO_ID = ("null", "", None)
_GROWING = frozenset({"text", "thinking"})
_TEXT = {"type", "text"}


def decode_reply(reply: HTTPReply, *, include_headers: bool = False) -> ChatResult:
    """Return what a reply says: a candidate for each choice.

    Raises:
        InvalidReply: it is not what the format says, or has no choices.
        LLMError: it says that the request failed, although its status is that of a good one.
    """
    headers = read_headers(reply.headers, include_headers)

    def read(data: FieldsView) -> ChatResult:
        for choice in data["choices"]:
            message: Fields = choice["message"]
            if isinstance(message.get("content"), list):
                message["content"] = _shorten(message["content"])
            for place, call in enumerate(message.get("tool_calls") or ()):
                _identify(call, data.get("id"), choice.get("index"), place)
        return read_completion(data, PROVIDER, headers)

    return read_reply(reply, PROVIDER, read, "chat completion")


def _shorten(parts: list[Fields]) -> str | list[Fields]:
    """Return parts that are nothing but text as one text."""
    return "".join(part["text"] for part in parts) if all(part.keys() == _TEXT for part in parts) else parts


def _identify(call: Fields, *names: object) -> None:
    """Give a call an id that has none. The same reply always gets the same ones."""
    if call.get("id") in _NO_ID:
        call["id"] = make_call_id(f"{names}")


class MistralDecoder(ChatDecoder):
    """Reads one stream. `ChatStreamDecoder` tells the arguments."""

    def __init__(self, headers: Mapping[str, str] | None = None, *, include_headers: bool = False) -> None:
        super().__init__(PROVIDER, headers, include_headers=include_headers)
        self._calls = 0
        self._outer, self._inner = _Places(), _Places()

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one event says; None: nothing."""
        for choice in data.get("choices") or ():
            delta: Fields = choice.get("delta") or {}
            content = delta.get("content")
            if content and (self._outer.kind is not None or not isinstance(content, str)):
                delta["content"] = self._place(content)
            for call in delta.get("tool_calls") or ():
                function: FieldsView = call.get("function") or {}
                if function.get("name"):  # where there is none, it goes on with the call before
                    _identify(call, data.get("id"), choice.get("index"), self._calls)
                    self._calls += 1
                elif call.get("id") in _NO_ID:
                    call["id"] = None
        return super().read(data, event)

    def _place(self, content: str | list[Fields]) -> str | list[Fields]:
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        short = _shorten(parts) if self._outer.kind is None else parts
        return short if isinstance(short, str) else [self._place_part(part) for part in parts]

    def _place_part(self, part: Fields) -> Fields:
        before = self._outer.index
        placed = {**part, "index": self._outer.find(part)}
        if isinstance(part.get("thinking"), list):
            if self._outer.index != before:
                self._inner = _Places()
            placed["thinking"] = [{**piece, "index": self._inner.find(piece)} for piece in part["thinking"]]
        return placed


class _Places:
    """Tells which part of a list a piece belongs to: texts and reasoning go on, and anything else is a part by itself."""

    def __init__(self) -> None:
        self.kind: object = None  # of the last part
        self.index = -1

    def find(self, part: FieldsView) -> int:
        """Return the index of the part that this is a piece of."""
        kind = part.get("type")
        if kind != self.kind or kind not in _GROWING:
            self.kind = kind
            self.index += 1
        return self.index
