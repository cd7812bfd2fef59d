"""XML out of answers: what is read, what is shown in pieces, and what is refused."""

import contextlib
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.output_parsers import OutputParserException, XMLOutputParser
from tests.kit.growth import assert_linear

MOVIE = "<movie><title>Big</title><cast><actor>Tom</actor><actor/></cast></movie>"
READ: list[tuple[str, Any]] = [
    (MOVIE, {"movie": [{"title": "Big"}, {"cast": [{"actor": "Tom"}, {"actor": None}]}]}),
    (
        f"Sure!\n```xml\n{MOVIE}\n```\nEnjoy <3",
        {"movie": [{"title": "Big"}, {"cast": [{"actor": "Tom"}, {"actor": None}]}]},
    ),
    ("<?xml version='1.0' encoding='UTF-16'?>\n<a>é</a>", {"a": "é"}),
    ("<a>1 &lt; 2 &amp; 3 &#233;</a>", {"a": "1 < 2 & 3 é"}),
    ("<a><![CDATA[<b>]]></a>", {"a": "<b>"}),
    ("<a><!-- no --><b x='1'>y</b></a>", {"a": [{"b": "y"}]}),
    ("<p>Hello <b>you</b> there</p>", {"p": ["Hello ", {"b": "you"}, " there"]}),
    ("<a/>", {"a": []}),
    ("<ns:a>x</ns:a>", {"ns:a": "x"}),
    ("<a>x</a><b>y</b>", {"a": "x"}),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_the_first_element_is_read(text: str, value: Any) -> None:
    """Prose around it, entities of XML's own, text between elements: nothing of it is lost."""
    assert XMLOutputParser().invoke(text) == value


def test_innermost_elements_are_shown_as_they_end() -> None:
    """Each inside its tags, however the answer is cut."""
    expected = [
        {"movie": [{"title": "Big"}]},
        {"movie": [{"cast": [{"actor": "Tom"}]}]},
        {"movie": [{"cast": [{"actor": None}]}]},
    ]
    for size in (1, 3, 1000):
        text = f"Here: {MOVIE} Bye."
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        assert list(XMLOutputParser().transform(iter(pieces))) == expected


@given(st.sampled_from([text for text, _ in READ]), st.data())
def test_where_an_answer_is_cut_changes_nothing(text: str, data: st.DataObject) -> None:
    """Every split shows the same elements."""
    cut = data.draw(st.integers(min_value=0, max_value=len(text)))
    parser = XMLOutputParser()
    assert list(parser.transform(iter([text[:cut], text[cut:]]))) == list(parser.transform(iter([text])))


@pytest.mark.parametrize("beginning", ["<a b='", "<a>", "<!-- ", "<a>&"])
def test_a_long_answer_in_small_pieces_takes_time_with_its_length(beginning: str) -> None:
    """Also where it is one tag, of which expat reads nothing before its end."""

    def read(count: int) -> None:
        with contextlib.suppress(OutputParserException):
            list(XMLOutputParser().transform(iter([beginning, *["x>"] * count])))

    assert_linear(read, 20_000)


def test_an_element_is_seen_at_once_behind_a_long_tag() -> None:
    """What waits is read when the tag has ended, at the latest when the answer has."""
    text = f"<a><b c='{'x' * 50_000}'>1</b><b>2</b><b>3</b></a>"
    pieces = [text[start : start + 10] for start in range(0, len(text), 10)]
    assert list(XMLOutputParser().transform(iter(pieces))) == [{"a": [{"b": number}]} for number in "123"]


LAUGHS = "".join(
    f'<!ENTITY lol{level} "{f"&lol{level - 1};" * 10}">' if level else '<!ENTITY lol0 "lol">' for level in range(10)
)
ATTACKS = {
    "billion laughs": f"<!DOCTYPE lolz [{LAUGHS}]><lolz>&lol9;</lolz>",
    "quadratic blow-up": f'<!DOCTYPE a [<!ENTITY x "{"x" * 50_000}">]><a>{"&x;" * 5_000}</a>',
    "file": '<!DOCTYPE a [<!ENTITY x SYSTEM "file://{secret}">]><a>&x;</a>',
    "address": '<!DOCTYPE a [<!ENTITY x SYSTEM "http://127.0.0.1:{port}/">]><a>&x;</a>',
    "parameter entity": '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:{port}/"> %x;]><a/>',
    "external type": '<!DOCTYPE a SYSTEM "http://127.0.0.1:{port}/a.dtd"><a/>',
    "in small letters": '<!doctype a [<!ENTITY x "y">]><a>&x;</a>',
    "behind a declaration": "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
    "behind prose": "Sure: <!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
    "entity alone": '<!ENTITY x "y"><a>&x;</a>',
    "inside": "<a><!DOCTYPE a [<!ENTITY x 'y'>]>&x;</a>",
}


@pytest.mark.parametrize("size", [1, 7, 10_000_000])
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_document_types_and_entities_are_refused(attack: str, size: int, tmp_path: Path) -> None:
    """Nothing expands, no file is read and nobody is called."""
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        text = attack.replace("{secret}", str(secret)).replace("{port}", str(server.getsockname()[1]))
        text = text if size > 1 else text[:5_000]
        with pytest.raises(OutputParserException) as caught:
            list(XMLOutputParser().transform(iter([text[at : at + size] for at in range(0, len(text), size)])))
        assert "s3cret" not in str(caught.value)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("text", ["", "no xml", "1 < 2", "<a>", "<a></b>", "<a>&nope;</a>", "<a", "<a>\ud800</a>"])
def test_what_is_not_xml_is_refused(text: str) -> None:
    """Cut short, wrong, or not there at all: with the answer, whole or in pieces."""
    with pytest.raises(OutputParserException, match="not XML") as caught:
        XMLOutputParser().parse(text)
    assert caught.value.llm_output == text
    with pytest.raises(OutputParserException, match="not XML"):
        list(XMLOutputParser().transform(iter(text)))


def test_nesting_is_limited() -> None:
    """Two hundred deep is read, more is not."""
    assert XMLOutputParser().parse("<a>" * 200 + "x" + "</a>" * 200)
    with pytest.raises(OutputParserException, match="nested"):
        XMLOutputParser().parse("<a>" * 201)


def test_instructions_name_the_tags() -> None:
    """And show an element that is read."""
    text = XMLOutputParser(tags=["title", "year"]).get_format_instructions()
    assert "title, year" in text
    assert XMLOutputParser().parse(text) == {"answer": [{"item": "red"}, {"item": "green"}]}
