"""DOCX: paragraphs, headings and tables; and nothing that a hostile file can do."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hocket.document_loaders import DocxLoader
from hocket.errors import DocumentError, InvalidInput
from tests.document_loaders.files import WORD, list_open, load_until_error, make_docx, paragraph, write

STYLES = """
<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
<w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:styleId="Level"><w:name w:val="Level"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
"""


def read(tmp_path: Path, body: str, styles: str = STYLES, title: str = "") -> tuple[str, object]:
    (document,) = DocxLoader(write(tmp_path / "rules.docx", make_docx(body, styles, title))).load()
    return document.page_content, document.metadata["title"]


def cell(*paragraphs: str) -> str:
    return f"<w:tc>{''.join(paragraph(text) for text in paragraphs)}</w:tc>"


def test_paragraphs_headings_lists_and_tables(tmp_path: Path) -> None:
    body = (
        paragraph("Intro &amp; more")
        + paragraph("")
        + paragraph("Rules", '<w:pStyle w:val="berschrift2"/>')
        + paragraph("one", '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="3"/></w:numPr>')
        + paragraph("no item", '<w:numPr><w:numId w:val="0"/></w:numPr>')
        + f"<w:tbl><w:tr>{cell('a', 'b')}{cell('c')}</w:tr><w:tr>{cell('')}{cell('d')}</w:tr></w:tbl>"
        + paragraph("End")
    )
    expected = "Intro & more\n\n## Rules\n\n- one\n\nno item\n\na b | c\n | d\n\nEnd"
    assert read(tmp_path, body) == (expected, "Rules")


@pytest.mark.parametrize(
    ("properties", "mark"),
    [
        ('<w:pStyle w:val="Titel"/>', "# "),
        ('<w:pStyle w:val="Mine"/>', "## "),
        ('<w:pStyle w:val="Level"/>', "### "),
        ('<w:outlineLvl w:val="0"/>', "# "),
        ('<w:outlineLvl w:val="9"/>', ""),
        ('<w:pStyle w:val="Loop"/>', ""),
        ('<w:pStyle w:val="Unknown"/>', ""),
        ('<w:pPrChange><w:pPr><w:pStyle w:val="Titel"/></w:pPr></w:pPrChange>', ""),
        ('<w:tabs><w:tab w:val="left" w:pos="1"/></w:tabs>', ""),
    ],
)
def test_a_style_says_what_is_a_heading(tmp_path: Path, properties: str, mark: str) -> None:
    """In any language of Word, by its own name or the one that it is based on; not one that it had before."""
    assert read(tmp_path, paragraph("Text", properties)) == (f"{mark}Text", "Text" if mark else "rules")


MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
RUN = "<w:r><w:t>%s</w:t></w:r>"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>", "a\tb\nc-d"),
        (f"{RUN % 'a'}<w:del><w:r><w:delText>x</w:delText></w:r></w:del><w:ins>{RUN % 'b'}</w:ins>", "ab"),
        (f"<w:moveFrom>{RUN % 'x'}</w:moveFrom><w:moveTo>{RUN % 'a'}</w:moveTo>", "a"),
        ("<w:r><w:instrText>PAGE</w:instrText></w:r><w:hyperlink><w:r><w:t>a</w:t></w:r></w:hyperlink>", "a"),
        (
            f"<w:r><mc:AlternateContent {MC}><mc:Choice><w:txbxContent><w:p>{RUN % 'box'}</w:p></w:txbxContent></mc:Choice>"
            f"<mc:Fallback><w:p>{RUN % 'box'}</w:p></mc:Fallback></mc:AlternateContent><w:t>a</w:t></w:r>",
            "box\n\na",
        ),
    ],
)
def test_what_is_text_and_what_is_not(tmp_path: Path, inside: str, expected: str) -> None:
    assert read(tmp_path, f"<w:p>{inside}</w:p>")[0] == expected


def test_a_table_in_a_table_is_a_cell(tmp_path: Path) -> None:
    inner = f"<w:tbl><w:tr>{cell('x')}{cell('y')}</w:tr></w:tbl>"
    assert read(tmp_path, f"<w:tbl><w:tr><w:tc>{inner}</w:tc>{cell('b')}</w:tr></w:tbl>")[0] == "x | y | b"


def test_the_title_is_the_documents(tmp_path: Path) -> None:
    assert read(tmp_path, paragraph("x"), title="The &lt;rules&gt;")[1] == "The <rules>"


def test_the_strict_form_is_read_too(tmp_path: Path) -> None:
    """Its namespace is another."""
    body = make_docx(
        "",
        document='<w:document xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"><w:body>'
        + paragraph("Text")
        + "</w:body></w:document>",
    )
    assert DocxLoader(write(tmp_path / "a.docx", body)).load()[0].page_content == "Text"


DOCUMENT = f'<w:document xmlns:w="{WORD}"><w:body>%s</w:body></w:document>'
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>' + DOCUMENT % paragraph("&b;")
FILE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + DOCUMENT % paragraph("&a;")


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (LAUGHS, "it has a DTD or entities, which no office program writes"),
        (FILE, "it has a DTD or entities"),
        ("<!DOCTYPE x SYSTEM 'http://127.0.0.1/x.dtd'>" + DOCUMENT % "", "it has a DTD or entities"),
        (DOCUMENT % paragraph("&unknown;"), r"line 1: it is damaged \(undefined entity"),
        ("", "line 1: it is damaged"),
        (DOCUMENT % "<w:p>", r"it is damaged \(mismatched tag"),
        (DOCUMENT % ("<w:p>" * 2_000), "nested more than 1,000 deep"),
        (f'<a b="{"x" * 3_000_000}"/>', "a tag of more than 1,000,000 bytes"),
        (f"<a><!--{'x' * 3_000_000}--></a>", "a tag of more than 1,000,000 bytes"),
        ("<workbook/>", "it is a ZIP archive, but no Word document"),
        (DOCUMENT.encode("utf-8") + b"\xff", "it is damaged"),
        ('<?xml version="1.0" encoding="nonsense"?><a/>', "it is damaged .unknown encoding: nonsense"),
        ('<?xml version="1.0" encoding="shift_jis"?><a/>', "it is damaged .multi-byte encodings"),
        ('<?xml version="1.0" encoding="idna"?><a/>', "it is damaged"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_hostile_and_damaged_xml_is_refused(tmp_path: Path, document: str, problem: str) -> None:
    path = write(tmp_path / "a.docx", make_docx("", document=document))
    with pytest.raises(DocumentError, match=problem) as caught:
        DocxLoader(path).load()
    assert caught.value.path == path
    assert list_open(path) == []


def test_entities_in_other_parts_are_refused_too(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"word/styles\.xml: it has a DTD"):
        data = make_docx(paragraph("x"))
        out = io.BytesIO(data)
        with zipfile.ZipFile(out, "a") as archive:
            archive.writestr("word/styles.xml", LAUGHS)
        DocxLoader(write(tmp_path / "a.docx", out.getvalue())).load()


def test_any_archive_is_not_a_document(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("notes.txt", "x")
    with pytest.raises(DocumentError, match="it is a ZIP archive, but no Word document; save it as one, or unpack it"):
        DocxLoader(write(tmp_path / "a.docx", out.getvalue())).load()


GOOD = make_docx("".join(paragraph(f"Paragraph {number} of the rules.") for number in range(30)), STYLES, "Rules")


def test_a_file_that_was_cut_is_refused_wherever(tmp_path: Path) -> None:
    for at in range(1, len(GOOD), 7):
        documents, error = load_until_error(DocxLoader(write(tmp_path / "a.docx", GOOD[:at])))
        assert error is not None and not documents, at


def test_a_file_that_was_damaged_is_read_or_refused(tmp_path: Path) -> None:
    """Each part has a checksum, so what is read is what was written; nothing else is raised."""
    path = write(tmp_path / "a.docx", GOOD)
    (good,) = DocxLoader(path).load()
    refused = 0
    for at in range(0, len(GOOD), 3):
        broken = bytearray(GOOD)
        broken[at] ^= 0xFF
        documents, error = load_until_error(DocxLoader(write(tmp_path / "a.docx", bytes(broken))))
        refused += error is not None
        if error is None:
            assert documents[0].page_content.replace("## ", "").replace("# ", "") == good.page_content
    assert refused > len(GOOD) // 6


def test_other_compressions_are_refused(tmp_path: Path) -> None:
    """Python expands some of them in one piece."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("word/document.xml", DOCUMENT % paragraph("x"))
    with pytest.raises(DocumentError, match="its compression is not one of office programs"):
        DocxLoader(write(tmp_path / "a.docx", out.getvalue())).load()


def test_an_archive_of_very_many_files_is_refused(tmp_path: Path) -> None:
    """Python would hold them all."""
    data = bytearray(GOOD)
    end = data.rfind(b"PK\x05\x06")
    data[end + 12 : end + 16] = (6_000_000).to_bytes(4, "little")
    with pytest.raises(DocumentError, match="more files than an office document has"):
        DocxLoader(write(tmp_path / "a.docx", bytes(data))).load()


MEASURE = """
import sys, time
from hocket.document_loaders import DocxLoader
from hocket.errors import DocumentError

began = time.process_time()
try:
    DocxLoader(sys.argv[1]).load()
except DocumentError as error:
    print(error)
print(time.process_time() - began)
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """400 MB in two."""
    out = io.BytesIO()
    archive = zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with archive, archive.open("word/document.xml", "w") as part:
        part.write(b"<a>")
        for _ in range(400):
            part.write(b" " * 1_000_000)
    return out.getvalue()


@pytest.mark.parametrize("is_honest", [True, False], ids=["honest", "lying"])
def test_a_bomb_is_refused_in_seconds_and_little_memory(tmp_path: Path, bomb: bytes, is_honest: bool) -> None:
    """Whether or not it says how large it is."""
    data = bytearray(bomb)
    if not is_honest:
        entry = data.rfind(b"PK\x01\x02")
        data[entry + 24 : entry + 28] = (1_000).to_bytes(4, "little")
    path = write(tmp_path / "bomb.docx", bytes(data))
    done = subprocess.run([sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True)
    message, seconds, kilobytes = done.stdout.splitlines()
    assert ("it expands to 400,000,003 bytes, and at most 200,000,000 are read" in message) == is_honest
    assert is_honest or "damaged" in message
    assert float(seconds) < 3
    assert int(kilobytes) < 150_000


@pytest.mark.parametrize("limit", [0, -1, "1", 1.5, True])
def test_what_is_no_limit_is_refused_at_once(limit: int) -> None:
    with pytest.raises(InvalidInput, match="max_expanded_bytes is a positive int"):
        DocxLoader("a.docx", max_expanded_bytes=limit)
