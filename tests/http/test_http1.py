"""The HTTP/1.1 parser: held against what was written, against itself cut elsewhere, and against h11."""

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import h11
import pytest
from hypothesis import given, strategies as st

from hocket.http.http1 import MAX_HEAD, MAX_LINE, ReplyParser, encode_head


class Outcome(NamedTuple):
    """What became of a reply: ``whole``, ``cut`` or ``bad``, and what was read of it."""

    end: str
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


def read(pieces: Iterable[bytes], method: str = "POST") -> tuple[Outcome, bool]:
    """Read a reply with hocket's parser; return what became of it, and whether its connection may be used again."""
    parser = ReplyParser(method)
    body = b""
    try:
        for piece in pieces:
            if not parser.is_complete:
                body += parser.feed(piece)
            elif piece:
                parser.is_reusable = False
    except ValueError:
        return Outcome("bad"), False
    reusable = parser.is_complete and parser.is_reusable
    if not parser.is_complete and not parser.close():
        return Outcome("cut"), False
    return Outcome("whole", parser.status, tuple(parser.headers.items()), body), reusable


def read_by_h11(data: bytes) -> Outcome:
    """Read a reply with h11."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
    connection.send(h11.Request(method="POST", target="/", headers=[("host", "x"), ("content-length", "0")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    head, body, is_over = None, b"", False
    while True:
        try:
            event = connection.next_event()
        except h11.RemoteProtocolError:
            return Outcome("cut" if is_over else "bad")
        if event is h11.NEED_DATA:
            if is_over:
                return Outcome("cut")
            connection.receive_data(b"")
            is_over = True
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            assert head is not None
            headers: dict[str, str] = {}
            for name, value in head.headers:
                key, text = name.decode(), value.decode("latin-1")
                headers[key] = f"{headers[key]}, {text}" if key in headers else text
            return Outcome("whole", head.status_code, tuple(headers.items()), body)
        elif not isinstance(event, h11.InformationalResponse):
            return Outcome("cut")


def framed(body: bytes, sizes: list[int], extension: bytes, trailers: bytes) -> bytes:
    """Write a body in chunks of these sizes, then the rest."""
    written = b""
    for size in [*sizes, len(body)]:
        piece, body = body[:size], body[size:]
        if piece:
            written += b"%X%b\r\n%b\r\n" % (len(piece), extension, piece)
    return written + b"0" + extension + b"\r\n" + trailers + b"\r\n"


names = st.sampled_from(["x-a", "X-B", "retry-after", "Set-Cookie"])
values = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_categories=["Cc", "Zs"]), max_size=20)


class Written(NamedTuple):
    """A reply as bytes, and what should be read from it."""

    data: bytes
    expected: Outcome
    reusable: bool


@st.composite
def replies(draw: st.DrawFn) -> Written:
    """Replies of every frame."""
    status = draw(st.sampled_from([200, 201, 302, 404, 429, 500]))
    pairs = draw(st.lists(st.tuples(names, values), max_size=4))
    body = draw(st.binary(max_size=200))
    frame = draw(st.sampled_from(["length", "chunks", "connection"]))
    closes = draw(st.booleans())
    end = draw(st.sampled_from(["\r\n", "\n"]))
    early = draw(st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 \r\nlink: x\r\n\r\n"]))
    if frame == "length":
        pairs.append(("Content-Length", str(len(body))))
    if frame == "chunks":
        pairs.append(("Transfer-Encoding", "chunked"))
    if closes:
        pairs.append(("connection", "Keep-Alive, Close"))
    lines = [
        f"HTTP/1.1 {status} Some Reason",
        *[f"{name}:{draw(st.sampled_from(['', ' ']))}{value}" for name, value in pairs],
    ]
    data = early + (end.join(lines) + end + end).encode("latin-1")
    if frame == "chunks":
        sizes = draw(st.lists(st.integers(1, 50), max_size=5))
        extension = draw(st.sampled_from([b"", b";a=b", b" "]))
        body_bytes = framed(body, sizes, extension, draw(st.sampled_from([b"", b"x: y\r\n"])))
    else:
        body_bytes = body
    headers: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return Written(
        data + body_bytes, Outcome("whole", status, tuple(headers.items()), body), not closes and frame != "connection"
    )


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Cut data at these places."""
    edges = sorted({0, len(data), *[place % (len(data) + 1) for place in places]})
    return [data[start:end] for start, end in itertools.pairwise(edges)]


places = st.lists(st.integers(0, 10_000), max_size=20)


@given(replies(), places)
def test_reply_is_read_as_it_was_written(written: Written, places: list[int]) -> None:
    """However it is cut on its way."""
    assert read(cut(written.data, places)) == (written.expected, written.reusable)


@given(replies())
def test_reply_is_read_byte_by_byte(written: Written) -> None:
    """A byte at a time is the hardest cut."""
    assert read(bytes([byte]) for byte in written.data) == (written.expected, written.reusable)


@given(replies())
def test_h11_reads_the_same(written: Written) -> None:
    """So the expectation itself is right."""
    assert read_by_h11(written.data) == written.expected


@given(replies(), places, st.data())
def test_damaged_reply(written: Written, places: list[int], data: st.DataObject) -> None:
    """A reply with a few bytes changed is whole, cut or bad, the same however it comes; what h11 reads too is the same."""
    damaged = bytearray(written.data)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        with_ = data.draw(st.sampled_from([b"", b"\r\n", b"\n", b" ", b":", b"0", b"f", b"\0", b"\xff"]))
        damaged[place : place + data.draw(st.integers(0, 2))] = with_ or b"a"

    outcome, reusable = read([bytes(damaged)])
    theirs = read_by_h11(bytes(damaged))

    assert read(cut(bytes(damaged), places)) == (outcome, reusable)
    if outcome.end == theirs.end == "whole":
        assert unframed(outcome) == unframed(theirs)


def unframed(outcome: Outcome) -> Outcome:
    """Leave out the headers of the frame, which h11 puts in order (``2, 2`` is ``2``)."""
    kept = [pair for pair in outcome.headers if pair[0] not in ("content-length", "transfer-encoding")]
    return outcome._replace(headers=tuple(kept))


@given(replies(), st.integers(1, 10_000))
def test_reply_that_is_cut_short(written: Written, missing: int) -> None:
    """It is never taken for whole, unless nothing but its end tells the end."""
    short = written.data[: -(missing % len(written.data)) or None]
    outcome, reusable = read([short])

    if short != written.data and (
        "content-length" in dict(written.expected.headers) or "transfer-encoding" in dict(written.expected.headers)
    ):
        assert outcome.end == "cut"
        assert not reusable


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok", "whole"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", "whole"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok!", "bad"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nok", "bad"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0x2\r\n\r\nok", "bad"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "bad"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n", "bad"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n", "bad"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1_0\r\n", "bad"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n", "bad"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"1" * 200_000, "bad"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + b"x: y\r\n" * 50_000, "bad"),
        (b"HTTP/1.1 200 OK\r\nx : y\r\n\r\n", "bad"),
        (b"HTTP/1.1 200 OK\r\nx: y\r\n z\r\ncontent-length: 0\r\n\r\n", "whole"),
        (b"HTTP/2 200 OK\r\ncontent-length: 0\r\n\r\n", "bad"),
        (b"HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n", "bad"),
    ],
)
def test_odd_replies(data: bytes, end: str) -> None:
    """Where servers and attackers go astray."""
    assert read([data])[0].end == end
    assert read_by_h11(data).end == end


def test_two_truths_about_the_length() -> None:
    """Chunks count, as RFC 9112 §6.3 has it; but what follows on that connection is not trusted."""
    data = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"

    outcome, reusable = read([data])

    assert (outcome.body, reusable) == (b"ok", False)


@pytest.mark.parametrize(
    ("method", "head"), [("HEAD", b"200 OK"), ("POST", b"204 No Content"), ("POST", b"304 Not Modified")]
)
def test_replies_without_a_body(method: str, head: bytes) -> None:
    """Whatever length they name."""
    outcome, reusable = read([b"HTTP/1.1 " + head + b"\r\ncontent-length: 5\r\n\r\n"], method)

    assert (outcome.end, outcome.body, reusable) == ("whole", b"", True)


def test_part_of_a_chunk_is_not_waited_for() -> None:
    """A long chunk is handed out as it comes."""
    parser = ReplyParser("POST")
    parser.feed(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")

    assert parser.feed(b"a\r\n01234") == b"01234"
    assert parser.feed(b"56") == b"56"
    assert parser.feed(b"789\r") == b"789"
    assert parser.feed(b"\n0\r\n\r") == b""
    assert not parser.is_complete
    assert parser.feed(b"\n") == b""
    assert parser.is_complete


def test_request_is_written() -> None:
    """Line by line; h11 reads it."""
    data = encode_head("POST", "/v1?x=%20", [("host", "h"), ("x-a", "a \t b"), ("x-b", ""), ("content-length", "2")])

    assert data == b"POST /v1?x=%20 HTTP/1.1\r\nhost: h\r\nx-a: a \t b\r\nx-b: \r\ncontent-length: 2\r\n\r\n"
    server = h11.Connection(h11.SERVER)
    server.receive_data(data)
    request = server.next_event()
    assert isinstance(request, h11.Request)
    assert (request.method, request.target) == (b"POST", b"/v1?x=%20")


@given(st.text(max_size=10), st.text(max_size=10))
def test_request_cannot_be_smuggled(name: str, value: str) -> None:
    """A header is refused, or is one line that h11 reads as it was given."""
    try:
        data = encode_head("GET", "/", [("host", "h"), (name, value)])
    except ValueError as error:
        assert str(error) == "a header"
        return
    assert data == f"GET / HTTP/1.1\r\nhost: h\r\n{name}: {value}\r\n\r\n".encode()
    assert data.count(b"\n") == 4


@pytest.mark.parametrize(
    ("method", "target"), [("GET /x", "/"), ("", "/"), ("GET", ""), ("GET", "/a b"), ("GET", "/ü")]
)
def test_request_line_cannot_be_smuggled(method: str, target: str) -> None:
    """Nor is there a second request in the first line."""
    with pytest.raises(ValueError, match="method or path"):
        encode_head(method, target, [])


@pytest.mark.parametrize("size", [7, 10_000, 10**6])
def test_interim_replies_without_end(size: int) -> None:
    """A few are passed over; thousands, in one read or in many, are a head that is too long."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    parser = ReplyParser("POST")
    data = interim * 1_000 + b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
    assert b"".join(parser.feed(data[at : at + size]) for at in range(0, len(data), size)) == b"ok"
    assert (parser.status, parser.headers) == (200, {"content-length": "2"})

    parser, data = ReplyParser("POST"), interim * 12_000
    with pytest.raises(ValueError, match="interim replies included"):
        for at in range(0, len(data), size):
            parser.feed(data[at : at + size])


def test_a_line_between_chunks_without_end() -> None:
    """It is read anew with each byte that comes, so there are not many."""
    parser = ReplyParser("GET")
    parser.feed(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;")
    with pytest.raises(ValueError, match="a chunk without its length"):
        for _ in range(MAX_LINE):
            parser.feed(b"x")
