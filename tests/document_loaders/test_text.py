"""Text is read in its own encoding or refused, never repaired; Markdown knows its title."""

import codecs
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hocket.document_loaders import BaseLoader, MarkdownLoader, TextLoader
from hocket.documents import Document
from hocket.errors import DocumentError, InvalidInput
from tests.document_loaders.files import contents, list_open, load_until_error, write
from tests.kit import assert_linear

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff"), min_size=1)
MARKED = ["utf-8-sig", "utf-16", "utf-32"]


def test_a_file_is_a_document(tmp_path: Path) -> None:
    path = write(tmp_path / "rules.v2.txt", "One.\r\nTwo.\n")
    assert TextLoader(path).load() == [Document("One.\nTwo.\n", metadata={"source": path, "title": "rules.v2"})]


def test_the_source_is_the_path_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.txt", "x")
    monkeypatch.chdir(tmp_path)
    assert TextLoader(Path("a.txt")).load()[0].metadata["source"] == "a.txt"


@given(text=TEXT)
@pytest.mark.parametrize("encoding", ["utf-8", *MARKED])
def test_the_mark_says_the_encoding(tmp_path_factory: pytest.TempPathFactory, encoding: str, text: str) -> None:
    """UTF-8 needs none; whatever `encoding` says then does not matter."""
    path = write(tmp_path_factory.getbasetemp() / "marked.txt", text.encode(encoding))
    assert contents(TextLoader(path)) == [text]
    assert contents(TextLoader(path, encoding="cp1252")) == [text]


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE])
def test_the_other_byte_order_has_marks_too(tmp_path: Path, mark: bytes) -> None:
    encoding = "utf-16-be" if len(mark) == 2 else "utf-32-be"
    assert contents(TextLoader(write(tmp_path / "a.txt", mark + "Grüße".encode(encoding)))) == ["Grüße"]


ENCODINGS = ["latin-1", "cp1252", "koi8-r", "shift_jis", "gb18030", "utf-16-le", "utf-7", "iso2022_jp", "cp037", "hz"]
SAMPLES = {
    "koi8-r": "Привет, мир",
    "shift_jis": "日本語です",
    "gb18030": "中文，汉字",
    "iso2022_jp": "日本語です",
    "hz": "中文",
}


@pytest.mark.parametrize("at", [0, 1, 65_530, 65_534, 65_535, 65_536, 200_000])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_named_encoding_is_used(tmp_path: Path, encoding: str, at: int) -> None:
    """Wherever the first character beyond ASCII stands: also where a block ends."""
    text = "x" * at + SAMPLES.get(encoding, "Grüße, Ärger") + "\nend"
    path = write(tmp_path / "a.txt", text.encode(encoding))
    assert contents(TextLoader(path, encoding=encoding)) == [text]


@pytest.mark.parametrize("at", range(65_530, 65_538))
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_one_character_at_the_end_of_a_block_says_enough(tmp_path: Path, encoding: str, at: int) -> None:
    """Where it alone says whether a file is UTF-8, what follows is looked at, too."""
    for tail in ("é", "éa", "éé", "é" + "x" * 200_000):
        text = "x" * at + tail
        path = write(tmp_path / "a.txt", text.encode(encoding))
        assert contents(TextLoader(path, encoding="cp1252")) == [text]


@pytest.mark.parametrize("lines_before", [0, 3, 20_000])
def test_wrong_bytes_are_an_error_that_says_where(tmp_path: Path, lines_before: int) -> None:
    """Never a replacement character."""
    before = b"some line\n" * lines_before
    path = write(tmp_path / "a.txt", before + b"Gr\xfc\xdfe\n")
    with pytest.raises(DocumentError) as caught:
        TextLoader(path).load()
    error = caught.value
    assert (error.path, error.place) == (path, f"line {lines_before + 1}")
    assert f"byte 0xfc at offset {len(before) + 2:,} is not UTF-8; name the encoding" in error.problem
    assert list_open(path) == []


def test_what_begins_as_utf_8_does_not_change_over(tmp_path: Path) -> None:
    """A file in two encodings is damaged, whatever is named."""
    path = write(tmp_path / "a.txt", "ü" * 70_000 + "\n" + "x" * 70_000)
    with open(path, "ab") as file:
        file.write(b"\n\xfc")
    with pytest.raises(DocumentError, match=r"line 3: byte 0xfc at offset 210,002 is not UTF-8"):
        TextLoader(path, encoding="cp1252").load()


@given(data=st.binary(min_size=1))
def test_any_bytes_are_text_or_an_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """And what is read is what the strict codec reads."""
    path = write(tmp_path_factory.getbasetemp() / "any.txt", data)
    documents, error = load_until_error(TextLoader(path))
    if error is None:
        (document,) = documents
        assert "\0" not in document.page_content
        if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8)):
            assert document.page_content == re.sub("\r\n?", "\n", data.decode("utf-8"))
    else:
        assert error.path == path and not documents


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "it is empty"),
        (codecs.BOM_UTF8, "it is empty but for its byte order mark"),
        (codecs.BOM_UTF16_LE, "it is empty but for its byte order mark"),
        (b"a\nb\0c", "line 2: it has NUL characters, so it is binary, or UTF-16 without its mark"),
        ("Grüße".encode("utf-16-le"), "it has NUL|is not UTF-8"),
        (codecs.BOM_UTF16_LE + b"a\0\0\0", "it has NUL characters"),
        (codecs.BOM_UTF16_LE + b"a\0b", "byte 0x62 at offset 4 is not UTF-16-LE"),
        (codecs.BOM_UTF16_LE + b"\0\xd8a\0", "is not UTF-16-LE"),
        (b"%PDF-1.7\n...", "it is a PDF, and text is wanted"),
        (b"\x89PNG\r\n\x1a\n", "it is a PNG image"),
        (b"abc\xe2\x82", "line 1: byte 0xe2 at offset 3 is not UTF-8"),
    ],
    ids=repr,
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, problem: str) -> None:
    path = write(tmp_path / "a.txt", data)
    with pytest.raises(DocumentError, match=problem) as caught:
        TextLoader(path).load()
    assert caught.value.path == path
    assert list_open(path) == []


def test_there_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"nowhere\.txt: there is no such file; check the path"):
        TextLoader(tmp_path / "nowhere.txt").load()
    with pytest.raises(DocumentError, match="it is a directory, and a file is wanted"):
        TextLoader(tmp_path).load()


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """To open one that nobody writes to would never end."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DocumentError, match="it is no regular file"):
        TextLoader(tmp_path / "pipe").load()


@pytest.mark.skipif(
    not os.path.exists("/proc/self/mem"), reason="Linux has a file that cannot be read from its beginning"
)
def test_a_disk_that_fails_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"/proc/self/mem: it cannot be read \(Input/output error\)"):
        TextLoader("/proc/self/mem").load()


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """Sparse, so that it costs nothing."""
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.truncate(100_000_001)
    with pytest.raises(DocumentError, match=r"100,000,001 bytes, and at most 100,000,000 are read; raise max_bytes="):
        TextLoader(path).load()
    path.write_bytes(b"12345")
    assert contents(TextLoader(path, max_bytes=5)) == ["12345"]
    with pytest.raises(DocumentError, match="at most 4"):
        TextLoader(path, max_bytes=4).load()


@pytest.mark.parametrize("path", ["", "a\0b", 3, b"a.txt", None], ids=repr)
def test_what_is_no_path_is_refused_at_once(path: str) -> None:
    with pytest.raises(InvalidInput):
        TextLoader(path)


NO_ENCODINGS = ["utf-9", "hex", "idna", "undefined", "unicode_escape", "a\0b", ""]
NO_OPTIONS = [{"max_bytes": 0}, {"max_bytes": "1"}, *({"encoding": one} for one in NO_ENCODINGS)]


@pytest.mark.parametrize("options", NO_OPTIONS, ids=repr)
def test_what_is_no_option_is_refused_at_once(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        TextLoader("a.txt", **options)  # type: ignore[arg-type]


def title(tmp_path: Path, text: str) -> object:
    loader: BaseLoader = MarkdownLoader(write(tmp_path / "notes.md", text))
    (document,) = loader.load()
    assert document.page_content == text
    return document.metadata["title"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Boilers\n\ntext", "Boilers"),
        ("text\n\n## How to bleed ##\n# Later", "How to bleed"),
        ("```\n# a comment\n```\n# Title", "Title"),
        ("~~~sh\n# a comment\n```\n# still\n~~~\n# Title", "Title"),
        ("````\n```\n# no\n```\n````\n# Title", "Title"),
        ("```\n# never closed", "notes"),
        ("    # code\n\n# Title", "Title"),
        ("Title\n=====\n", "Title"),
        ("- item\n---\n# Title", "Title"),
        ("\n---\n# Title", "Title"),
        ("#hashtag\n", "notes"),
        ("#\n# Title", "Title"),
        ("plain", "notes"),
        ('---\nauthor: Ada\ntitle: "The Rules"\n---\n# Other', "The Rules"),
        ("---\n# a comment\n---\n# Title", "Title"),
        ("---\nnever closed\n# Title", "Title"),
    ],
    ids=repr,
)
def test_the_title_is_the_first_heading(tmp_path: Path, text: str, expected: str) -> None:
    assert title(tmp_path, text) == expected


@pytest.mark.parametrize("begin", ["# a", "---\ntitle: a"])
def test_a_title_is_found_in_linear_time(tmp_path: Path, begin: str) -> None:
    """A file may be a stranger's, and a line of it as long as he likes."""
    path = tmp_path / "a.md"

    def load(count: int) -> None:
        path.write_text(f"{begin}{' ' * count}b\n---\n")
        assert MarkdownLoader(path).load()[0].metadata["title"].endswith("  b")

    assert_linear(load, 200_000)
