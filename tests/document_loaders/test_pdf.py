"""PDF: a page is a document; what is cut, damaged or encrypted is an error and never a page less."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import NameObject, StreamObject

from hocket.document_loaders import PyPDFLoader, open_documents
from hocket.documents import Document
from hocket.errors import DocumentError, InvalidInput
from tests.document_loaders.files import contents, list_open, load_until_error, make_pdf, write

PAGES = ["One (1).\nTwo \\ three.", "Grüße", "Three"]
GOOD = make_pdf(PAGES)


def encrypt(algorithm: str, password: str) -> bytes:
    writer = PdfWriter(io.BytesIO(GOOD))
    writer.encrypt(password, owner_password="owner", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_page_is_a_document(tmp_path: Path) -> None:
    """Pages count from 1, as people count them."""
    path = write(tmp_path / "rules.pdf", GOOD)
    facts = [{"source": path, "page": page, "total_pages": 3, "title": "rules"} for page in (1, 2, 3)]
    assert PyPDFLoader(path).load() == [Document(text, metadata=one) for text, one in zip(PAGES, facts, strict=True)]


def test_the_title_is_the_files(tmp_path: Path) -> None:
    writer = PdfWriter(io.BytesIO(GOOD))
    writer.add_metadata({"/Title": "The rules"})
    out = io.BytesIO()
    writer.write(out)
    assert PyPDFLoader(write(tmp_path / "a.pdf", out.getvalue())).load()[0].metadata["title"] == "The rules"


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256"])
def test_an_encrypted_file_needs_its_password(tmp_path: Path, algorithm: str) -> None:
    path = write(tmp_path / "a.pdf", encrypt(algorithm, "sesame"))
    with pytest.raises(DocumentError, match=r"a\.pdf: it is encrypted; give its own by password="):
        PyPDFLoader(path).load()
    with pytest.raises(DocumentError, match=r"a\.pdf: the password is wrong; give its own by password="):
        PyPDFLoader(path, "Sesame").load()
    assert contents(PyPDFLoader(path, "sesame")) == contents(PyPDFLoader(path, "owner")) == PAGES
    assert contents(open_documents(path, password="sesame")) == PAGES
    assert list_open(path) == []


@pytest.mark.parametrize("password", [None, "anything"])
def test_a_file_that_anybody_may_read_needs_none(tmp_path: Path, password: str | None) -> None:
    """One that is only protected from changes; and a password too many does no harm, in a folder of many files."""
    for data in (GOOD, encrypt("AES-128", "")):
        assert contents(PyPDFLoader(write(tmp_path / "a.pdf", data), password)) == PAGES


def test_a_file_that_was_cut_is_refused_wherever(tmp_path: Path) -> None:
    """And before its first page; also if what is left was given an end."""
    for at in range(1, len(GOOD) - 6, 11):
        for data in (GOOD[:at], GOOD[:at] + b"\n%%EOF\n"):
            documents, error = load_until_error(PyPDFLoader(write(tmp_path / "a.pdf", data)))
            assert error is not None and not documents, at
            assert "cut or damaged" in error.problem or "it is no PDF" in error.problem


@pytest.mark.parametrize("size", [1, 16])
def test_damage_is_an_error_and_nothing_else(tmp_path: Path, size: int) -> None:
    """The page before it is given; an error names the page where it can."""
    refused = 0
    for at in range(9, len(GOOD) - size, 9):
        data = bytearray(GOOD)
        data[at : at + size] = bytes(255 - byte for byte in data[at : at + size])
        documents, error = load_until_error(PyPDFLoader(write(tmp_path / "a.pdf", bytes(data))))
        assert error is not None or len(documents) == 3
        refused += error is not None
    assert refused > 50


def test_a_page_that_cannot_be_expanded_is_an_error_with_its_number(tmp_path: Path) -> None:
    """pypdf would give what is left of its text, or none."""
    begins = [at + 7 for at in range(len(GOOD)) if GOOD[at : at + 7] == b"stream\n" and GOOD[at - 3 : at] != b"end"]
    for place in range(3, 30, 4):
        data = bytearray(GOOD)
        data[begins[1] + place] ^= 0xFF
        documents, error = load_until_error(PyPDFLoader(write(tmp_path / "a.pdf", bytes(data))))
        assert [document.page_content for document in documents] == PAGES[:1]
        assert error is not None and error.place == "page 2" and "cut or damaged" in error.problem


def test_a_page_whose_content_is_gone_is_an_error(tmp_path: Path) -> None:
    data = GOOD.replace(b"/Contents 7 0 R", b"/Contents 3 0 R")
    documents, error = load_until_error(PyPDFLoader(write(tmp_path / "a.pdf", data)))
    assert len(documents) == 1
    assert str(error).startswith(
        f"{tmp_path}/a.pdf, page 2: it is cut or damaged: its content is not there; download it again"
    )


def test_missing_pages_are_an_error(tmp_path: Path) -> None:
    data = GOOD.replace(b"/Count 3", b"/Count 4")
    with pytest.raises(DocumentError, match="3 of its 4 pages are there"):
        PyPDFLoader(write(tmp_path / "a.pdf", data)).load()


def test_scanned_pages_are_told(tmp_path: Path) -> None:
    """One page without text is nothing; a file without any is of no use to anybody."""
    assert contents(PyPDFLoader(write(tmp_path / "a.pdf", make_pdf(["", "x"])))) == ["", "x"]
    documents, error = load_until_error(PyPDFLoader(write(tmp_path / "a.pdf", make_pdf(["", ""]))))
    assert len(documents) == 2
    assert error is not None and "none of its pages has text; if they are images, run OCR" in error.problem


def test_fonts_that_name_no_characters_are_told(tmp_path: Path) -> None:
    data = GOOD.replace(b"/Font << /F1 3 0 R", b"/Fond << /F1 3 0 R")
    with pytest.raises(DocumentError, match="page 1: its fonts do not say which characters"):
        PyPDFLoader(write(tmp_path / "a.pdf", data)).load()


def test_characters_of_fonts_are_put_together(tmp_path: Path) -> None:
    """A font may give a character beyond 16 bits in two halves, and NUL for none at all."""
    table = (
        b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
        b"3 beginbfchar <41> <D83DDE00> <42> <0000> <43> <0043> endbfchar endcmap end"
    )
    writer = PdfWriter(io.BytesIO(make_pdf(["ABC" * 4])))
    stream = StreamObject()
    stream.set_data(table)
    font = writer.pages[0]["/Resources"]["/Font"]["/F1"]  # type: ignore[index]
    font[NameObject("/ToUnicode")] = writer._add_object(stream)
    out = io.BytesIO()
    writer.write(out)
    assert contents(PyPDFLoader(write(tmp_path / "a.pdf", out.getvalue()))) == ["\U0001f600C" * 4]


def test_too_many_pages_are_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", GOOD)
    with pytest.raises(DocumentError, match="it has 3 pages, and at most 2 are read; raise max_pages=, or split it"):
        PyPDFLoader(path, max_pages=2).load()
    assert len(PyPDFLoader(path, max_pages=3).load()) == 3


def test_a_page_that_unpacks_to_too_much_is_not_read(tmp_path: Path) -> None:
    """In ASCII85 a letter stands for four bytes; pypdf would take some 20 times these of memory."""
    writer = PdfWriter()
    content = StreamObject()
    content._data = b"z" * 1000 + b"~>"
    content[NameObject("/Filter")] = NameObject("/ASCII85Decode")
    writer.add_blank_page(100, 100)[NameObject("/Contents")] = writer._add_object(content)
    writer.write(path := tmp_path / "a.pdf")
    with pytest.raises(DocumentError, match=r"page 1: its content may have 4,002 bytes.*raise max_page_bytes="):
        PyPDFLoader(path, max_page_bytes=4_001).load()
    with pytest.raises(DocumentError, match="none of its pages has text"):
        PyPDFLoader(path, max_page_bytes=4_002).load()


@pytest.mark.parametrize("options", [{"max_pages": 0}, {"max_page_bytes": 0}, {"password": b"x"}], ids=repr)
def test_what_is_no_option_is_refused_at_once(options: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        PyPDFLoader("a.pdf", **options)  # type: ignore[arg-type]


def test_a_file_that_is_no_pdf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="it is no PDF"):
        PyPDFLoader(write(tmp_path / "a.pdf", "text")).load()


WITHOUT = """
import sys
sys.modules["pypdf"] = None
from hocket.document_loaders import PyPDFLoader
from hocket.errors import MissingDependency
try:
    PyPDFLoader(sys.argv[1]).load()
except MissingDependency as error:
    print(error)
"""


def test_without_pypdf_the_error_says_what_to_install(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", GOOD)
    done = subprocess.run([sys.executable, "-c", WITHOUT, path], capture_output=True, text=True, check=True)
    assert done.stdout == "PDF files are read by pypdf; run `pip install 'hocket[documents]'`\n"


WITHOUT_AES = """
import sys
sys.modules["cryptography"] = sys.modules["Crypto"] = None
from hocket.document_loaders import PyPDFLoader
from hocket.errors import DocumentError
try:
    PyPDFLoader(sys.argv[1], "sesame").load()
except DocumentError as error:
    print(error.problem)
"""


def test_without_a_package_for_aes_the_error_says_what_to_install(tmp_path: Path) -> None:
    """A folder goes on, so it is an error of the file."""
    path = write(tmp_path / "a.pdf", encrypt("AES-256", "sesame"))
    done = subprocess.run([sys.executable, "-c", WITHOUT_AES, path], capture_output=True, text=True, check=True)
    assert "it is encrypted with AES, for which pypdf needs a package" in done.stdout
    assert "pip install 'pypdf[crypto]'" in done.stdout
