"""Presentations, workbooks, OpenDocument texts and books: what they say, where it stands, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from hocket.document_loaders import open_documents
from hocket.errors import DocumentError
from hocket.text_splitters import SplitterByKind
from tests.document_loaders.files import write
from tests.document_loaders.packages import make_epub, make_odt, make_pptx, make_shape, make_xlsx, make_zip

TABLE = "<p:graphicFrame><a:tbl><a:tr>{}</a:tr></a:tbl></p:graphicFrame>".format(
    "".join(f"<a:tc><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:tc>" for text in ("a", "b"))
)


def read(tmp_path: Path, name: str, data: bytes, **options: Any) -> list[tuple[str, dict[str, object]]]:
    path = write(tmp_path / name, data)
    documents = open_documents(path, **options).load()
    assert all(document.metadata.pop("source") == path for document in documents)
    return [(document.page_content, document.metadata) for document in documents]


def test_a_slide_is_a_document_with_its_notes(tmp_path: Path) -> None:
    """In the order of the presentation; without the number and the footer that the layout puts on each."""
    first = (
        make_shape("Boilers", kind="title") + make_shape("Bleed them.", "Then rest.") + make_shape("7", kind="sldNum")
    )
    data = make_pptx(first, TABLE, "", notes=make_shape("Mention the pump."))
    assert read(tmp_path, "a.pptx", data) == [
        (
            "# Boilers\n\nBleed them.\n\nThen rest.\n\nNotes:\n\nMention the pump.",
            {"slide": 1, "total_slides": 3, "title": "Boilers"},
        ),
        ("a | b", {"slide": 2, "total_slides": 3, "title": "Boilers"}),
        ("", {"slide": 3, "total_slides": 3, "title": "Boilers"}),
    ]


STYLES = '<numFmts><numFmt numFmtId="170" formatCode="dd/mm/yyyy hh:mm"/>'
STYLES += '<numFmt numFmtId="171" formatCode="0 &quot;d&quot;"/></numFmts>'
STYLES += '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>'
STYLES += "".join(f'<xf numFmtId="{id}"/>' for id in (0, 170, 171, 14, 21)) + "</cellXfs>"
TEXTS = "<si><t>Item</t></si><si><r><t>Pri</t></r><r><t>ce</t></r><rPh><t>x</t></rPh></si><si><t>Pump</t></si>"


def test_a_row_is_a_document_that_knows_its_columns(tmp_path: Path) -> None:
    """Cells of every kind; empty ones take nothing, and a row has the number that Excel shows."""
    rows = (
        '<row r="2"><c r="B2" t="s"><v>0</v></c><c r="C2" t="s"><v>1</v></c></row>'
        '<row r="3"><c r="A3" s="1"/></row>'
        '<row r="9"><c r="B9" t="s"><v>2</v></c><c r="C9"><v>0.30000000000000004</v></c><c r="AB9" t="b"><v>1</v></c></row>'
        '<row r="10"><c r="B10" t="inlineStr"><is><t>Inline</t></is></c><c r="C10"><f>B2*2</f></c></row>'
        '<row r="1048576"><c t="str"><f>A1</f><v>result</v></c><c><v>7</v></c><c t="e"><v>#N/A</v></c></row>'
    )
    data = make_xlsx(
        {"Costs": rows, "Empty": '<row><c s="1"/></row>', "Note": "<row><c><v>1</v></c></row>"}, TEXTS, STYLES
    )
    assert read(tmp_path, "a.xlsx", data) == [
        ("Item: Pump\nPrice: 0.3\ncolumn AB: TRUE", {"title": "a", "sheet": "Costs", "row": 9}),
        ("Item: Inline\nPrice: =B2*2", {"title": "a", "sheet": "Costs", "row": 10}),
        ("column A: result\nItem: 7\nPrice: #N/A", {"title": "a", "sheet": "Costs", "row": 1_048_576}),
        ("1", {"title": "a", "sheet": "Note", "row": 1}),
    ]


@pytest.mark.parametrize(
    ("number", "style", "workbook", "shown"),
    [
        ("45415.604166666664", 1, "", "2024-05-03 14:30:00"),
        ("45415", 3, "", "2024-05-03"),
        ("1", 3, "", "1900-01-01"),
        ("43953", 3, '<workbookPr date1904="1"/>', "2024-05-03"),
        ("0.30208333333333331", 4, "", "07:15:00"),
        ("45415", 2, "", "45415"),
        ("99999999999", 3, "", "99999999999"),
        ("1E3", 0, "", "1000"),
        ("12", 99, "", "12"),
    ],
)
def test_a_number_is_shown_as_its_style_says(
    tmp_path: Path, number: str, style: int, workbook: str, shown: str
) -> None:
    data = make_xlsx({"S": f'<row><c s="{style}"><v>{number}</v></c></row>'}, styles=STYLES, workbook=workbook)
    assert read(tmp_path, "a.xlsx", data)[0][0] == shown


def test_an_opendocument_text_is_read_as_words_is(tmp_path: Path) -> None:
    """Comments, notes and what was deleted are left out."""
    body = (
        '<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="2">Heating</text:h>'
        "<text:p>Bleed the<text:s/><text:span>boiler</text:span> in \n May.<text:note><text:p>x</text:p></text:note>"
        "<text:line-break/>Rest.</text:p>"
        "<text:list><text:list-item><text:p>one</text:p><text:p>more</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
        "<table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>"
    )
    text = "## Heating\n\nBleed the boiler in May.\nRest.\n\n- one\n\nmore\n\na | b"
    assert read(tmp_path, "a.odt", make_odt(body)) == [(text, {"title": "Heating"})]
    assert read(tmp_path, "b", make_odt(body, title="Handbook")) == [(text, {"title": "Handbook"})]


def test_a_chapter_is_a_document(tmp_path: Path) -> None:
    """In the order of the book; without the table of contents, and pages that have no text."""
    pages = {
        "two.xhtml": "<h1>Two</h1><p>Caf\xe9",
        "nav": "<p>One Two",
        "one.xhtml": "<p>One&nbsp;&amp; all",
        "cover": "<img/>",
    }
    data = make_epub(
        {**pages, "latin": "<?xml encoding='latin-1'?><p>\xe9".encode("latin-1")}, [*pages, "latin", "picture"]
    )
    assert read(tmp_path, "a.epub", data) == [
        ("# Two\n\nCafé", {"part": 1, "title": "The Book"}),
        ("One\xa0& all", {"part": 3, "title": "The Book"}),
        ("é", {"part": 5, "title": "The Book"}),
    ]
    assert read(tmp_path, "a", data)[0][0] == "# Two\n\nCafé"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "<p>a</p><h2 class='x'>Chapter 2<br/>\n<i>The</i> Pump</h2><p>b<br/>c</p>",
            "a\n\n## Chapter 2 The Pump\n\nb\nc",
        ),
        ("<h1><img/></h1><p>a</p>", "a"),
        ("<h1><div>One</div></h1>a", "# One\n\na"),
        ("<h3>One<p>a<br/>b", "One\n\na\nb"),  # it is not closed
        ("<section><header><h1>One</h1></header></section><h6>Two</h6>", "# One\n\n###### Two"),
    ],
)
def test_headings_of_a_book_are_lines_with_a_mark(tmp_path: Path, source: str, expected: str) -> None:
    assert read(tmp_path, "a.epub", make_epub({"a": source}))[0][0] == expected


def test_a_book_is_cut_at_its_headings(tmp_path: Path) -> None:
    chapter = "".join(f"<h2>Part {number}</h2><p>{'word ' * 12}</p>" for number in range(3))
    (tmp_path / "a.epub").write_bytes(make_epub({"a": chapter}))
    pieces = SplitterByKind(chunk_size=100, chunk_overlap=0).split_documents(open_documents(tmp_path / "a.epub").load())
    assert [piece.page_content.partition("\n")[0] for piece in pieces] == ["## Part 0", "## Part 1", "## Part 2"]


ROW = "<row><c><v>1</v></c></row>"


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("a.pptx", make_xlsx({"S": ROW}), "it is a ZIP archive, but no PowerPoint presentation"),
        ("a.xlsx", make_pptx(""), "it is a ZIP archive, but no Excel workbook"),
        ("a.odt", make_odt("", kind="spreadsheet"), "its name says ODT|no OpenDocument text"),
        ("a.epub", make_zip({"mimetype": "application/epub+zip"}), "its name says EPUB|no EPUB book"),
        ("a.epub", make_odt("<text:p>x</text:p>"), "its name says EPUB, but it is a ZIP archive"),
        ("a.epub", make_epub({"a": "x"}, opf="html"), "but no EPUB book"),
        ("a.pptx", make_pptx(), "it has no slides"),
        ("a.pptx", make_pptx(*[""] * 3), "none of its slides has a text"),
        ("a.pptx", make_pptx(*["x"] * 10_001), "it has 10001 slides; at most 10,000 are read; split it"),
        ("a.xlsx", make_xlsx({}), "it has no sheets"),
        (
            "a.xlsx",
            make_xlsx({"S": ROW}).replace(b"worksheets/0.xml", b"worksheets/9.xml"),
            "sheet S: a sheet is not there",
        ),
        ("a.xlsx", make_xlsx({"S": "<row/>"}), "none of its sheets has a value"),
        (
            "a.xlsx",
            make_xlsx({"S": '<row><c t="s"><v>9</v></c></row>'}),
            r"xl/worksheets/0.xml, line 1: it is damaged \(list",
        ),
        ("a.xlsx", make_xlsx({"S": f'<row r="{"9" * 5_000}">'}), "it is damaged"),
        ("a.xlsx", make_xlsx({"S": '<row><c r="XFE1"><v>9</v></c></row>'}), "column 16,385, and Excel has 16,384"),
        ("a.xlsx", make_xlsx({"S": "<!DOCTYPE a>"}), "it is damaged"),
        ("a.xlsx", make_zip({"xl/workbook.xml": "<!DOCTYPE a [<!ENTITY a 'x'>]><workbook/>"}), "a DTD or entities"),
        ("a.odt", make_odt("", manifest="<encryption-data/>"), "it is encrypted; save it again, without a password"),
        ("a.epub", make_epub({"a": b"\x00\x9f\x8c" * 99}), "OPS/a: it is damaged, or protected from copying"),
        ("a.epub", make_epub({"a": "<img/>"}), "none of its chapters has a text"),
        ("a.epub", make_epub({"a": "x"}, ["a"] * 10_001), "it has 10001 chapters; at most 10,000"),
        ("a.xlsx", make_xlsx({"S": ROW})[:-30], "the end of the ZIP archive is missing"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_damaged_or_misnamed_is_refused(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    """In one error that names the file; a folder goes on with the next one."""
    path = write(tmp_path / name, data)
    write(tmp_path / "z.txt", "Last.")
    with pytest.raises(DocumentError, match=problem) as caught:
        open_documents(path).load()
    assert caught.value.path == path
    assert open_documents(tmp_path, on_error="skip").load()[-1].page_content == "Last."


def test_a_long_text_that_many_cells_name_is_counted(tmp_path: Path) -> None:
    """And so is a part that is read many times: small files do not become large texts."""
    cell = '<row><c t="s"><v>0</v></c></row>'
    data = make_xlsx({"S": cell * 100}, f"<si><t>{'x' * 10_000}</t></si>")
    with pytest.raises(DocumentError, match="at most 500,000 are read; raise max_expanded_bytes="):
        read(tmp_path, "a.xlsx", data, max_expanded_bytes=500_000)
    data = make_epub({"a": "x" * 10_000}, ["a"] * 100)
    with pytest.raises(DocumentError, match="at most 500,000 are read"):
        read(tmp_path, "a.epub", data, max_expanded_bytes=500_000)


def test_a_sheet_is_read_as_its_documents_are(tmp_path: Path) -> None:
    """Its first row is there before the last one is looked at."""
    rows = "".join(f'<row r="{row}"><c><v>{row}</v></c></row>' for row in range(1, 20_000))
    documents = open_documents(write(tmp_path / "a.xlsx", make_xlsx({"S": rows + "<damage>"}))).lazy_load()
    assert [next(documents).page_content for _ in range(3)] == ["1: 2", "1: 3", "1: 4"]
    with pytest.raises(DocumentError, match="mismatched tag"):
        list(documents)
