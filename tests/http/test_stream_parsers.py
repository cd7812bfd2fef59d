"""The parsers against a slow, obvious one, over recorded and random streams, however they are cut into pieces."""

import json
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st
from pydantic_core import from_json

from hocket.errors import InvalidReply
from hocket.http.json_lines import JSONLines
from hocket.http.sse import ServerSentEvent, ServerSentEvents
from tests.kit import assert_linear

STREAMS = Path(__file__).parent / "streams"
REPLIES = Path(__file__).parents[1] / "fixtures"


def recorded() -> dict[str, bytes]:
    """Every recorded body of server-sent events."""
    bodies = {path.name: path.read_bytes() for path in STREAMS.glob("*.sse")}
    for path in REPLIES.glob("openai_*/*.json"):
        response = json.loads(path.read_bytes())["response"]
        if "sse" in response:
            bodies[path.name] = response["sse"].encode()
    return bodies


RECORDED = recorded()


def reference(body: bytes) -> list[ServerSentEvent]:
    """The rules of the standard, one after the other, over a body that is whole."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    *lines, _unterminated = re.split(rb"\r\n|\r|\n", body)
    events: list[ServerSentEvent] = []
    name, data, last_id = "", b"", None
    for line in lines:
        if line == b"":
            if data.removesuffix(b"\n"):
                events.append(ServerSentEvent(name, data.removesuffix(b"\n"), last_id))
            name, data = "", b""
            continue
        field, colon, value = line.partition(b":")
        if colon and value.startswith(b" "):
            value = value[1:]
        if field == b"event":
            name = value.decode("utf-8", "replace")
        elif field == b"data":
            data += value + b"\n"
        elif field == b"id" and b"\0" not in value:
            last_id = value.decode("utf-8", "replace")
    return events


def parsed(pieces: Iterable[bytes]) -> list[ServerSentEvent]:
    parser = ServerSentEvents()
    return [event for piece in pieces for event in parser.feed(piece)]


def lines_of(pieces: Iterable[bytes]) -> list[bytes]:
    parser = JSONLines()
    return [line for piece in pieces for line in parser.feed(piece)] + parser.close()


def cut(body: bytes, places: Iterable[int]) -> list[bytes]:
    bounds = [0, *sorted(min(place, len(body)) for place in places), len(body)]
    return [body[start:end] for start, end in pairwise(bounds)]


def one_by_one(body: bytes) -> list[bytes]:
    return [body[index : index + 1] for index in range(len(body))]


def event(data: bytes, name: str = "", id: str | None = None) -> ServerSentEvent:
    return ServerSentEvent(name, data, id)


@pytest.mark.parametrize(
    ("body", "events"),
    [
        pytest.param(b"data: x\n\n", [event(b"x")], id="one"),
        pytest.param(b"data:x\n\n", [event(b"x")], id="no space"),
        pytest.param(b"data:  x \n\n", [event(b" x ")], id="only one space is stripped"),
        pytest.param(b"data: x\r\n\r\ndata: y\r\rdata: z\n\n", [event(b"x"), event(b"y"), event(b"z")], id="line ends"),
        pytest.param(b"data: x\r\n\ndata: y\n\r\n", [event(b"x"), event(b"y")], id="mixed line ends"),
        pytest.param(b"event: a\r\ndata: x\r\ndata: y\r\n\r\n", [event(b"x\ny", "a")], id="CRLF is one line end"),
        pytest.param(b"data: x\r\n\rdata: y\n\n", [event(b"x"), event(b"y")], id="CRLF, then CR"),
        pytest.param(b"data: x\n\r\ndata: y\n\n", [event(b"x"), event(b"y")], id="LF, then CRLF"),
        pytest.param(b"data: x\ndata: y\ndata\n\n", [event(b"x\ny\n")], id="data lines are joined"),
        pytest.param(b"data\n\ndata:\n\ndata: \n\nevent: ping\n\n", [], id="empty data is dropped"),
        pytest.param(b"data\ndata\n\n", [event(b"\n")], id="two empty lines are a line end"),
        pytest.param(b": PROCESSING\n\n:\n\ndata: x\n: ping\n\n", [event(b"x")], id="comments"),
        pytest.param(
            b"event: a\ndata: x\n\ndata: y\n\n", [event(b"x", "a"), event(b"y")], id="a name is for one event"
        ),
        pytest.param(b"event: a\n\ndata: y\n\n", [event(b"y")], id="nor does a dropped one leave it"),
        pytest.param(b"id: 1\ndata: x\n\ndata: y\n\n", [event(b"x", id="1"), event(b"y", id="1")], id="an id stays"),
        pytest.param(b"id: 1\n\ndata: y\n\n", [event(b"y", id="1")], id="also of an event without data"),
        pytest.param(b"id: 1\ndata: x\nid\n\n", [event(b"x", id="")], id="an empty id takes it back"),
        pytest.param(b"id: 1\0\ndata: x\n\n", [event(b"x")], id="no id with NUL"),
        pytest.param(b"retry: 10\nDATA: x\ndata : y\n data: z\ndata: w\n\n", [event(b"w")], id="unknown fields"),
        pytest.param(b"\xef\xbb\xbfdata: x\n\n", [event(b"x")], id="a BOM"),
        pytest.param(b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\ndata: y\n\n", [event(b"y")], id="only one BOM"),
        pytest.param(b"data: x\n\n\xef\xbb\xbfdata: y\n\n", [event(b"x")], id="a BOM only at the start"),
        pytest.param(b"data: x\n\ndata: y\n", [event(b"x")], id="an unterminated event is dropped"),
        pytest.param(b"data: x\n\ndata: y", [event(b"x")], id="an unterminated line is dropped"),
        pytest.param(b"\n\n\ndata: x\n\n\n\n\ndata: y\n\n\n", [event(b"x"), event(b"y")], id="empty lines"),
        pytest.param(b"event: \xff\ndata: \xff\n\n", [event(b"\xff", "\ufffd")], id="bad UTF-8"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_the_rules(body: bytes, events: list[ServerSentEvent]) -> None:
    assert parsed([body]) == events
    assert parsed(one_by_one(body)) == events
    assert reference(body) == events


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1d", "\x1e"])
def test_what_only_looks_like_a_line_end_is_data(separator: str) -> None:
    text = f'{{"a":"b{separator}c"}}'
    assert parsed([f"data: {text}\n\n".encode()]) == [event(text.encode())]
    assert lines_of([f"{text}\n".encode()]) == [text.encode()]


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_stream_cut_anywhere_gives_the_same_events(name: str) -> None:
    body = RECORDED[name]
    expected = reference(body)
    assert expected
    assert parsed(one_by_one(body)) == expected
    step = 199  # the places of one turn lie several events apart, and each place is in one turn
    for first in range(step):
        assert parsed(cut(body, range(first, len(body) + 1, step))) == expected


# Little beside what a parser could stumble over.
LINE_ENDS = st.sampled_from([b"\n", b"\r", b"\r\n"])
FIELDS = [b"data: x", b"data:", b"data", b"data: a: b", b"event: e", b"id: 7", b"id", b": c", b"retry: 1", b"", b" "]
ODDITIES = [b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"data: \xc3\xa9", b"data: \0", b"id: \0", b"\xff"]
FRAGMENTS = st.sampled_from([*FIELDS, *ODDITIES])
BODIES = st.lists(st.one_of(FRAGMENTS, LINE_ENDS, LINE_ENDS), max_size=40).map(b"".join)
PLACES = st.lists(st.integers(0, 200), max_size=12)


@given(BODIES, PLACES)
@example(b"data: x\r\n\r\n", [8, 9, 10])
@example(b"\xef\xbb\xbfdata: x\n\n", [1, 2])
def test_random_streams_in_random_pieces(body: bytes, places: list[int]) -> None:
    expected = reference(body)
    assert parsed(cut(body, places)) == expected
    assert parsed(one_by_one(body)) == expected


@given(BODIES, PLACES, st.integers(1, 40))
def test_what_is_too_large_does_not_depend_on_the_pieces(body: bytes, places: list[int], limit: int) -> None:
    def outcome(pieces: Iterable[bytes]) -> object:
        parser = ServerSentEvents(max_event=limit)
        try:
            return [event for piece in pieces for event in parser.feed(piece)]
        except InvalidReply:
            return InvalidReply

    assert outcome(cut(body, places)) == outcome([body])


@given(BODIES, PLACES)
def test_random_lines_in_random_pieces(body: bytes, places: list[int]) -> None:
    lines = (line.strip(b" \t\r") for line in body.removeprefix(b"\xef\xbb\xbf").split(b"\n"))
    assert lines_of(cut(body, places)) == [line for line in lines if line]


def test_an_event_comes_with_the_piece_that_ends_it() -> None:
    parser = ServerSentEvents()
    assert parser.feed(b"data: x\r\n\r") == [event(b"x")]
    assert parser.feed(b"\ndata: y\n") == []
    assert parser.feed(b"\n") == [event(b"y")]


@pytest.mark.parametrize("path", sorted(STREAMS.glob("*.ndjson")), ids=lambda path: path.name)
def test_recorded_lines_cut_anywhere_give_the_same_documents(path: Path) -> None:
    body = path.read_bytes()
    expected = body.splitlines()
    assert all(isinstance(from_json(line), dict) for line in expected)
    assert lines_of(one_by_one(body)) == expected
    for place in range(len(body) + 1):
        assert lines_of([body[:place], body[place:]]) == expected


def test_lines_end_with_lf_or_crlf_and_the_last_one_with_the_body() -> None:
    parser = JSONLines()
    assert parser.feed(b'\xef\xbb\xbf{"a":1}\r\n\n \r\n[2') == [b'{"a":1}']
    assert parser.feed(b"]") == []
    assert parser.close() == [b"[2]"]
    assert parser.close() == []


LIMIT = 20
EVENT = b"data: 12345678901234"  # exactly as large as the limit
AT_LIMIT = [EVENT + b"\n\n", EVENT + b"\r\n\r\n", EVENT + b"\n\n" + EVENT + b"\n\n", EVENT + b"\n", b"\n\n" * LIMIT]
OVER_LIMIT = [EVENT + b"5\n\n", EVENT + b"5", EVENT + b"\n:", b"data: x\n\n" + EVENT + b"5\n\n", EVENT + b"\n:\n\n"]
LINES_OVER_LIMIT = [b"1" * (LIMIT + 1), b"1" * (LIMIT + 1) + b"\n", b"1\n" + b"2" * (LIMIT + 1)]


def every_cut(body: bytes) -> list[list[bytes]]:
    return [one_by_one(body), *([body[:place], body[place:]] for place in range(len(body)))]


@pytest.mark.parametrize("body", AT_LIMIT)
def test_an_event_may_be_as_large_as_the_limit(body: bytes) -> None:
    for pieces in every_cut(body):
        parser = ServerSentEvents(max_event=LIMIT)
        assert [event for piece in pieces for event in parser.feed(piece)] == reference(body)


@pytest.mark.parametrize(
    ("feed", "option", "body"),
    [
        *((lambda: ServerSentEvents(max_event=LIMIT).feed, "max_event", body) for body in OVER_LIMIT),
        *((lambda: JSONLines(max_line=LIMIT).feed, "max_line", body) for body in LINES_OVER_LIMIT),
    ],
)
def test_a_larger_one_is_an_invalid_reply(
    feed: Callable[[], Callable[[bytes], object]], option: str, body: bytes
) -> None:
    for pieces in every_cut(body):
        give = feed()
        with pytest.raises(InvalidReply, match=rf"limit of 20 bytes.*`{option}`"):
            for piece in pieces:
                give(piece)


def test_the_cost_of_a_large_event_grows_with_its_size_and_not_with_its_square() -> None:
    """No piece costs a search, or a copy, of what came before it."""
    piece = b"x" * 1024

    def read(pieces: int) -> None:
        parser = ServerSentEvents()
        parser.feed(b"data: ")
        for _ in range(pieces):
            parser.feed(piece)
        (large,) = parser.feed(b"\n\n")
        assert len(large.data) == pieces * len(piece)

    assert_linear(read, 8 * 1024)
