"""The parser of AWS's binary event streams (``application/vnd.amazon.eventstream``). It does no I/O.

A message is its length, the length of its headers, and a checksum of these two; then headers, payload, and a checksum of
all. Numbers are big-endian. Both checksums are compared before a byte is believed. What the stream says of a failure, in
either of its two forms, becomes an event called ``error``, as other formats have it.
"""

from collections.abc import Mapping
from functools import lru_cache
from struct import pack, unpack_from
from typing import cast
from zlib import crc32

from pydantic_core import from_json, to_json

from hocket._secrets import redact
from hocket.errors import InvalidReply
from hocket.http.json_size import check_json_size
from hocket.http.sse import ServerSentEvent

__all__ = ["AWSEventStream", "write_stream_message"]

MAX_HEADERS = 128 * 2**10
MAX_PAYLOAD = 24 * 2**20
FRAME = 16  # bytes of a message beside headers and payload

TEXT = 7
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; those of bytes (6) and texts (7) stand before it."""


class AWSEventStream:
    """A parser of AWS's event streams: the type of an event is its name, its payload its data.

    A payload has at most 24 MiB, and the headers of a message 128 KiB, as AWS says.
    """

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """Return the events that end in ``data``, the next piece of the body. Raises as `split`."""
        return [_read_event(_read_headers(headers), payload) for headers, payload in self.split(data)]

    def split(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """Return the headers and payloads, as they came, of the messages that end in ``data``.

        Raises:
            InvalidReply: a checksum differs, a length cannot be, or the body is no such stream. It cannot be read further.
        """
        rest, at = self._rest, 0
        rest += data
        messages: list[tuple[bytes, bytes]] = []
        while len(rest) - at >= FRAME:
            total, header_size, checksum = unpack_from(">III", rest, at)
            if crc32(rest[at : at + 8]) != checksum:
                raise _make_error("the checksum of a message's lengths differs", rest[at:])
            if header_size > MAX_HEADERS or not 0 <= total - header_size - FRAME <= MAX_PAYLOAD:
                sizes = f"a message of {total:,} bytes has {header_size:,} bytes of headers"
                raise _make_error(f"{sizes} (at most {MAX_HEADERS >> 10} KiB, and {MAX_PAYLOAD >> 20} MiB of payload)")
            if len(rest) - at < total:
                break
            message = bytes(rest[at : at + total])
            if crc32(message[:-4]) != unpack_from(">I", message, total - 4)[0]:
                raise _make_error("the checksum of a message differs")
            split = 12 + header_size
            messages.append((message[12:split], message[split:-4]))
            at += total
        del rest[:at]
        return messages


def write_stream_message(headers: bytes, payload: bytes) -> bytes:
    """Return a message with its lengths and checksums."""
    lengths = pack(">II", FRAME + len(headers) + len(payload), len(headers))
    message = lengths + pack(">I", crc32(lengths)) + headers + payload
    return message + pack(">I", crc32(message))


def _make_error(what: str, start: bytes | bytearray = b"") -> InvalidReply:
    seen = f"; it goes on with {redact(start[:200].decode(errors='replace'))!r}" if start else ""
    return InvalidReply(f"the event stream is damaged: {what}{seen}")


@lru_cache(maxsize=32)  # those of an answer's pieces are equal
def _read_headers(data: bytes) -> Mapping[str, str]:
    """Return the headers of a message that are texts."""
    headers: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name, kind = data[at + 1 : name_end].decode(), data[name_end]
            at = name_end + 1
            if (size := _SIZES.get(kind)) is None:
                [size] = unpack_from(">H", data, at)
                at += 2
            if kind == TEXT:
                headers[name] = data[at : at + size].decode()
            at += size
    except Exception as error:
        raise _make_error("the headers of a message cannot be read") from error
    if at != len(data):
        raise _make_error("a header is longer than the headers of its message")
    return headers


def _read_event(headers: Mapping[str, str], payload: bytes) -> ServerSentEvent:
    match headers.get(":message-type"):
        case "event":
            check_json_size(payload)
            return ServerSentEvent(headers.get(":event-type", ""), payload or b"{}", None)
        case "exception":
            said = _read_exception(payload)
            kind, text = headers.get(":exception-type"), said.get("message") or said.get("Message") or ""
        case _:
            kind, text = headers.get(":error-code"), headers.get(":error-message", "")
    return ServerSentEvent("error", to_json({"error": {"type": kind, "message": text}}), None)


def _read_exception(payload: bytes) -> Mapping[str, object]:
    try:
        said: object = from_json(payload)
    except ValueError:
        said = None
    text = payload.decode(errors="replace")
    return cast("Mapping[str, object]", said) if isinstance(said, Mapping) else {"message": text}
