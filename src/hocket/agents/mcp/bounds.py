"""How large a message of a server may be, before the SDK parses it.

The SDK puts a message together piece by piece, however large it gets. A line without an end took all memory, and each piece
of it as long as all before. Of HTTP a limit can stand where a response begins. Of a process the one place is the encoding,
whose name the SDK takes: it gives whole lines, and in place of one that is too large the notification `TOO_LARGE`.
"""

import codecs
import json
import re
from collections.abc import AsyncIterator
from itertools import islice
from typing import cast

import httpx2

__all__ = ["BOUNDED_UTF8", "LARGEST_MESSAGE", "TOO_LARGE", "WHY_TOO_LARGE", "MessageGate", "bound_response"]

BOUNDED_UTF8 = "hocket_bounded_utf8"
"""The name of the encoding."""

LARGEST_MESSAGE = 64 * 2**20
"""Bytes of a message, which holds a whole result, pictures and all."""

MOST_VALUES = 1_000_000
"""Texts, commas and opening brackets in a message: as Python's objects they take up to fifty times the room."""

TOO_LARGE = "notifications/hocket/too_large"
"""Stands for a message that was too large."""

WHY_TOO_LARGE = f"a message of more than {LARGEST_MESSAGE // 2**20} MiB, or {MOST_VALUES:,} values"
"""Says of a message that it was too large."""

_NOTICE = json.dumps({"jsonrpc": "2.0", "method": TOO_LARGE}) + "\n"
_VALUE = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[,\[{]', re.DOTALL)
_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class MessageGate:
    """Holds bytes back until a message is whole.

    Args:
        ends: how messages may end; none: with the last byte.
    """

    def __init__(self, *ends: bytes) -> None:
        self._ends = ends
        self._held = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        """Take some bytes, and return the messages that are whole.

        Raises:
            ValueError: one is too large.
        """
        start = max(0, len(self._held) - 3)
        self._held += chunk
        cut = max((place + len(end) for end in self._ends if (place := self._held.rfind(end, start)) >= 0), default=0)
        whole = self._take(cut)
        if len(self._held) > LARGEST_MESSAGE:
            raise ValueError(f"it sent {WHY_TOO_LARGE}")
        return whole

    def finish(self) -> bytes:
        """Return what is left.

        Raises:
            ValueError: it is too large.
        """
        return self._take(len(self._held))

    def _take(self, cut: int) -> bytes:
        whole = bytes(self._held[:cut])
        del self._held[:cut]
        if _has_many_values(whole):
            raise ValueError(f"it sent {WHY_TOO_LARGE}")
        return whole


def _has_many_values(message: bytes) -> bool:
    """Whether a message has too many values; what is in its texts is none."""
    if len(message) <= MOST_VALUES or sum(map(message.count, (b",", b"[", b"{", b'"'))) <= MOST_VALUES:
        return False
    return sum(1 for _ in islice(_VALUE.finditer(message), MOST_VALUES + 1)) > MOST_VALUES


class _Decoder(codecs.IncrementalDecoder):
    """Gives what it has decoded at the end of each line."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._gate = MessageGate(b"\n")

    def decode(self, input: object, final: bool = False) -> str:
        try:
            return self._gate.feed(cast(bytes, input)).decode("utf-8", "replace")
        except ValueError:
            self._gate = MessageGate(b"\n")
            return _NOTICE


def _find(name: str) -> codecs.CodecInfo | None:
    if name != BOUNDED_UTF8:
        return None
    utf8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(utf8.encode, utf8.decode, incrementaldecoder=_Decoder, name=BOUNDED_UTF8)


codecs.register(_find)


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of a response, message by message."""

    def __init__(self, stream: httpx2.AsyncByteStream, is_events: bool) -> None:
        self._stream = stream
        self._gate = MessageGate(*(_EVENT_ENDS if is_events else ()))
        self._error = httpx2.SSEError if is_events else httpx2.StreamError

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                yield self._gate.feed(chunk)
            yield self._gate.finish()
        except ValueError as error:
            raise self._error(str(error)) from None

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound_response(response: httpx2.Response) -> None:
    """Have a response of HTTP give bounded messages; a hook of the client's.

    Raises:
        httpx2.DecodingError: it is compressed, which was not asked for: nobody knows how large it is.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("it sent a compressed answer, which was not asked for")
    is_events = response.headers.get("content-type", "").startswith("text/event-stream")
    response.stream = _BoundedStream(cast(httpx2.AsyncByteStream, response.stream), is_events)
