"""AWS's event streams against botocore's own parser, however they are cut, and whatever bit of them is flipped."""

from itertools import pairwise
from struct import pack
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given, settings, strategies as st

from hocket.errors import InvalidReply
from hocket.http.event_stream import AWSEventStream
from hocket.testing.server import write_frame
from tests.kit import assert_linear
from tests.kit.amount import limit_examples

BODY = b"".join(
    (
        write_frame({"role": "assistant"}, "messageStart"),
        write_frame({"delta": {"text": "Grüße 😀"}, "contentBlockIndex": 0}, "contentBlockDelta"),
        write_frame(b"", "ping"),
        write_frame({"stopReason": "end_turn"}, "messageStop"),
    )
)
NAMES = ["messageStart", "contentBlockDelta", "ping", "messageStop"]


def parse(pieces: list[bytes]) -> list[tuple[str, bytes]]:
    parser = AWSEventStream()
    return [(event.event, event.data) for piece in pieces for event in parser.feed(piece)]


def parse_with_botocore(pieces: list[bytes]) -> list[tuple[str, bytes]]:
    buffer, events = EventStreamBuffer(), []
    for piece in pieces:
        buffer.add_data(piece)
        events += [(event.headers[":event-type"], event.payload or b"{}") for event in buffer]
    return events


def make_message(headers: bytes, payload: bytes = b"{}", *, total: int | None = None, size: int | None = None) -> bytes:
    """A message whose checksums are right, whatever its lengths say."""
    lengths = pack(
        ">II",
        16 + len(headers) + len(payload) if total is None else total,
        len(headers) if size is None else size,
    )
    message = lengths + pack(">I", crc32(lengths)) + headers + payload
    return message + pack(">I", crc32(message))


def text(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + pack(">H", len(value.encode())) + value.encode()


EVENT = text(":message-type", "event") + text(":event-type", "chunk")
OTHERS = [
    b"\x01a\x00",
    b"\x01b\x01",
    b"\x01c\x02\x07",
    b"\x01d\x03" + pack(">h", -2),
    b"\x01e\x04" + pack(">i", 7),
    b"\x01f\x05" + pack(">q", 7),
    b"\x01g\x06" + pack(">H", 3) + b"\x00\xff\x01",
    b"\x01h\x08" + pack(">q", 1_700_000_000_000),
    b"\x01i\x09" + bytes(range(16)),
]


@settings(max_examples=limit_examples(200))
@given(
    st.lists(st.tuples(st.binary(max_size=40), st.lists(st.sampled_from(OTHERS), unique=True)), max_size=6),
    st.lists(st.integers(0, 600), max_size=12),
)
def test_it_reads_what_botocore_reads(messages: list[tuple[bytes, list[bytes]]], places: list[int]) -> None:
    """Headers of every type, any payload, cut anywhere."""
    body = b"".join(make_message(b"".join([*others, EVENT]), payload) for payload, others in messages)
    bounds = [0, *sorted(min(place, len(body)) for place in places), len(body)]
    pieces = [body[start:end] for start, end in pairwise(bounds)]
    assert parse(pieces) == parse_with_botocore(pieces)


def test_every_cut_gives_the_same_events_and_half_a_message_gives_none() -> None:
    whole = parse([BODY])
    assert [name for name, _ in whole] == NAMES
    for at in range(len(BODY) + 1):
        assert parse([BODY[:at], BODY[at:]]) == whole
        assert parse([BODY[:at]]) == whole[: len(parse([BODY[:at]]))]
    assert parse([bytes([byte]) for byte in BODY]) == whole


def test_no_flipped_bit_goes_unseen() -> None:
    """It is an error, or an event is missing at the end: no event is another one."""
    whole = parse([BODY])
    errors = 0
    for at in range(len(BODY)):
        for bit in range(8) if at % 5 == 0 else (at % 8,):
            damaged = bytearray(BODY)
            damaged[at] ^= 1 << bit
            parser = AWSEventStream()
            try:
                events = [(event.event, event.data) for byte in damaged for event in parser.feed(bytes([byte]))]
            except InvalidReply as error:
                errors += 1
                assert "event stream is damaged" in str(error)
            else:
                assert len(events) < len(whole) and events == whole[: len(events)]
    assert errors > len(BODY)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (make_message(EVENT, total=16 + len(EVENT) - 1), "a message of"),
        (make_message(EVENT, total=2**31), "24 MiB of payload"),
        (make_message(EVENT, size=128 * 1024 + 1, total=2**18), "128 KiB"),
        (make_message(EVENT + b"\x01a\x0b\x00"), "cannot be read"),
        (make_message(EVENT + b"\x09a"), "cannot be read"),
        (make_message(EVENT + b"\x01a\x04\x00"), "longer than the headers"),
        (make_message(b"\x01\xff\x00"), "cannot be read"),
        (b"<html>a page instead of a stream</html>", "a page instead"),
        (make_message(EVENT)[:-1] + b"\x00", "the checksum of a message differs"),
    ],
    ids=["short", "long", "long headers", "type", "name", "value", "no UTF-8", "a page", "checksum"],
)
def test_what_is_no_message_is_refused(message: bytes, says: str) -> None:
    """Before its end is waited for."""
    with pytest.raises(InvalidReply, match=says):
        AWSEventStream().feed(message)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (write_frame({"message": "Slow down"}, "throttlingException", "exception"), b"Slow down"),
        (write_frame({"Message": "Slow down"}, "throttlingException", "exception"), b"Slow down"),
        (write_frame(b"Slow down", "throttlingException", "exception"), b"Slow down"),
        (write_frame([], "throttlingException", "exception"), b"throttlingException"),
        (
            make_message(
                text(":message-type", "error") + text(":error-code", "Oops") + text(":error-message", "Slow down"), b""
            ),
            b"Slow down",
        ),
        (make_message(b"", b""), b"null"),
    ],
)
def test_a_failure_of_the_stream_is_an_event_with_an_error(message: bytes, said: bytes) -> None:
    """In each of the forms that AWS has for it, and where it says nothing at all."""
    [event] = AWSEventStream().feed(message)
    assert event.event == "error" and event.data.startswith(b'{"error":{') and said in event.data


def test_a_payload_that_would_take_too_much_memory_is_refused() -> None:
    with pytest.raises(InvalidReply, match="parsed"):
        AWSEventStream().feed(write_frame(b"[" + b"{}," * 3_000_000 + b"{}]", "chunk"))


def test_the_cost_is_linear_in_the_size() -> None:
    """One large message in small pieces, and many small messages in one piece."""

    def feed_large(size: int) -> None:
        message, parser = write_frame(b"x" * size, "chunk"), AWSEventStream()
        for at in range(0, len(message), 64):
            parser.feed(message[at : at + 64])

    def feed_many(count: int) -> None:
        AWSEventStream().feed(write_frame({}, "chunk") * count)

    assert_linear(feed_large, 400_000)
    assert_linear(feed_many, 4_000)
