"""HTML: the text and nothing else, from any page, however malformed, in time that grows with its length."""

import html
import time
from encodings.aliases import aliases
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hocket.document_loaders import HTMLLoader
from hocket.errors import DocumentError
from tests.document_loaders.files import list_open, load_until_error, write

PAGE = """<!DOCTYPE html>
<html><head><title> The &lt;Rules&gt;
 of tea </title><style>p { color: red }</style><script>if (a < b) alert("</p>");</script></head>
<body><h1>Tea</h1><p>Boil <b>wat</b>er,<br>wait.</p><!-- <p>no</p> --><ul><li>one<li>two &amp; three</ul>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td> 2 </td></tr></table>
<pre>x
  y</pre><div>end</div></body></html>"""


def read(tmp_path: Path, source: str | bytes) -> tuple[str, object]:
    (document,) = HTMLLoader(write(tmp_path / "page.html", source)).load()
    return document.page_content, document.metadata["title"]


def test_a_page_is_its_text(tmp_path: Path) -> None:
    expected = "Tea\n\nBoil water,\nwait.\n\none\ntwo & three\n\na | b\n1 | 2\n\nx\n  y\n\nend"
    assert read(tmp_path, PAGE) == (expected, "The <Rules> of tea")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b and <3 &lt;i&gt;", "a < b and <3 <i>"),
        ("<p>a<p>b", "a\n\nb"),
        ("a<br><br><br>b", "a\n\nb"),
        ("<div>a<div>b</div></div>c", "a\nb\nc"),
        ("a <b> b</b>  <i>c</i>d , e", "a b cd , e"),
        ("<a href='x>y' title=\"<b>\">t</a>", "t"),
        ("<a href=x>t</a>", "t"),
        ("a<b", "a"),
        ('<a href="never closed>text', ""),
        ("<SCRIPT>x</script >y</p></p>", "y"),
        ("<script>never closed", ""),
        ("x<style>p</style", "x"),
        ("<!-->a<!--->b<!-- - -- --!>c<!-- never closed", "abc"),
        ("<![CDATA[x]]><!foo><?php y ?>a</ x>b</>c", "abc"),
        ("<td><p>a</p></td><td><p>b</p></td>", "a\n\nb"),
        ("<tr><td>a<td><td>b<tr><td>c", "a | b\nc"),
        ("&nbsp;&eacute&copy;&#233;&#xe9;&unknown;&", "\xa0é©éé&unknown;&"),
        ("&#38;lt;", "&lt;"),
        ("a&#0;&#xD800;&#x110000;&#99999999999;b", "ab"),
        ("<textarea>a <b></textarea>c", "a <b>c"),
        ("<template>x</template><iframe>y</iframe>z", "z"),
        ("<svg:rect/>a<x-y z>b</x-y>", "ab"),
        ("<pre>\n  a\n</pre>", "a"),
        ("<>a</>", "<>a"),
    ],
)
def test_odd_pages_are_read_as_browsers_read_them(tmp_path: Path, source: str, expected: str) -> None:
    assert read(tmp_path, source)[0] == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<title>A</title><title>B</title><h1>C</h1>", "A"),
        ("<h2>How to <i>bleed</i></h2><h1>Later</h1>", "How to bleed"),
        ("<title> </title><h1></h1><h2>C</h2>", "C"),
        ("<title>never closed", "never closed"),
        ("text", "page"),
    ],
)
def test_the_title_is_the_pages_or_its_first_heading(tmp_path: Path, source: str, expected: str) -> None:
    assert read(tmp_path, source)[1] == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('<meta charset="cp1252">Grüße'.encode("cp1252"), "Grüße"),
        ('<meta charset="cp1252">Grüße'.encode(), "Grüße"),
        ("<meta charset=latin-1>„Grüße“".encode("cp1252"), "„Grüße“"),
        ("<META http-equiv=x content='text/html; charset=koi8-r'>Привет".encode("koi8-r"), "Привет"),
        ("<meta charset=iso-2022-jp>日本".encode("iso-2022-jp"), "日本"),
        ('<?xml version="1.0" encoding="shift_jis"?><p>日本'.encode("shift_jis"), "日本"),
        ("<meta charset=utf-16>Grüße".encode(), "Grüße"),
        ("<meta charset=nonsense>Grüße".encode(), "Grüße"),
        ("<meta charset=hex>Grüße".encode(), "Grüße"),
        ("<meta charset=cp1252>Grüße".encode("utf-16"), "Grüße"),
        ("<meta charset=cp1252>Grüße".encode("utf-8-sig"), "Grüße"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_page_may_declare_its_encoding(tmp_path: Path, data: bytes, expected: str) -> None:
    """A mark is stronger, and so are bytes that are UTF-8."""
    assert read(tmp_path, data)[0] == expected


@pytest.mark.parametrize("encoding", sorted(set(aliases.values()) | {"undefined", "idna", "unicode_escape"}))
def test_any_declared_encoding_is_read_or_refused(tmp_path: Path, encoding: str) -> None:
    """Python knows a hundred; not all of them are for text, and some fail in ways of their own."""
    for data in (b"text", b"\xfc\xff", bytes(range(1, 256)), b"\\ud800+2AA-"):
        path = write(tmp_path / "a.html", f"<meta charset={encoding}>".encode() + data)
        documents, error = load_until_error(HTMLLoader(path))
        assert error is not None or "\ufffd" not in documents[0].page_content


def test_the_callers_encoding_is_stronger_than_the_declared_one(tmp_path: Path) -> None:
    path = write(tmp_path / "a.html", "<meta charset=cp1252>Привет".encode("koi8-r"))
    assert HTMLLoader(path, "koi8-r").load()[0].page_content == "Привет"


def test_undeclared_bytes_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.html", "<p>\nGrüße".encode("cp1252"))
    with pytest.raises(DocumentError, match=r"a\.html, line 2: byte 0xfc at offset 6 is not UTF-8"):
        HTMLLoader(path).load()
    assert list_open(path) == []


MARKS = ["<", ">", "</", "<!", "<!--", "-->", "<?", "<![", "]]>", "'", '"', "=", "/", "&", "&#", "&amp;", ";"]
TAGS = ["<p>", "<td>", "<pre>", "</pre>", "<script>", "</script>", "<title>", "</title>", "<h1>", "</h1>"]
PIECES = st.sampled_from([*MARKS, *TAGS, " ", "\n", "a", "p", "x", "é", "9"])
SLOW = [
    "<a",
    "<!--",
    "<![",
    '<a b="',
    "<a b = ",
    "&#",
    "&",
    "<script>",
    "<title>",
    "<pre> ",
    "<h1>",
    "< ",
    "</a",
    "<br>",
]


@given(pieces=st.lists(PIECES, min_size=1))
def test_no_page_fails(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    text, title = read(tmp_path_factory.getbasetemp(), "".join(pieces))
    assert text == text.strip(" \t\n")
    assert title


@given(words=st.lists(st.text("abcé&<>\"' ", min_size=1).filter(lambda word: word.strip()), min_size=1))
def test_escaped_text_comes_through(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    source = "".join(f"<p>{html.escape(word)}</p>" for word in words)
    text = read(tmp_path_factory.getbasetemp(), source)[0]
    assert text.split("\n\n") == [" ".join(word.split()) for word in words]


@pytest.mark.parametrize("piece", SLOW)
def test_half_a_megabyte_of_anything_takes_a_moment(tmp_path: Path, piece: str) -> None:
    """The scanner of Python's library took minutes for some."""
    source = write(tmp_path / "page.html", piece * (500_000 // len(piece)))
    began = time.thread_time()
    HTMLLoader(source).load()
    assert time.thread_time() - began < 5
