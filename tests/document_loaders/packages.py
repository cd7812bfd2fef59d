"""Office documents and books that are made here, part by part, as programs write them."""

import io
import zipfile
from collections.abc import Mapping

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="urn:p"'
ODF = "urn:oasis:names:tc:opendocument:xmlns"
NAMES = f'xmlns:office="{ODF}:office:1.0" xmlns:text="{ODF}:text:1.0" xmlns:table="{ODF}:table:1.0"'


def make_zip(parts: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def relate(**targets: str) -> str:
    """Return a list of what a part refers to; an id is its kind and, after ``_``, a number."""
    inside = "".join(
        f'<Relationship Id="{id}" Type="{OFFICE}/{id.partition("_")[0]}" Target="{target}"/>'
        for id, target in targets.items()
    )
    return f"<Relationships>{inside}</Relationships>"


def make_xlsx(sheets: Mapping[str, str], texts: str = "", styles: str = "", workbook: str = "") -> bytes:
    """Return a workbook of sheets, by name, each the rows of one."""
    listed = "".join(f'<sheet name="{name}" r:id="worksheet_{at}"/>' for at, name in enumerate(sheets))
    targets = {f"worksheet_{at}": f"worksheets/{at}.xml" for at in range(len(sheets))}
    return make_zip(
        {
            "_rels/.rels": relate(officeDocument="xl/workbook.xml"),
            "xl/workbook.xml": f'<workbook xmlns:r="{OFFICE}">{workbook}<sheets>{listed}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relate(**targets, sharedStrings="/xl/texts.xml", styles="styles.xml"),
            "xl/texts.xml": f"<sst>{texts}</sst>",
            "xl/styles.xml": f"<styleSheet>{styles}</styleSheet>",
            **{
                f"xl/worksheets/{at}.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>"
                for at, rows in enumerate(sheets.values())
            },
        }
    )


def make_shape(*texts: str, kind: str = "body") -> str:
    """Return a shape of a slide, a paragraph for each text."""
    inside = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in texts)
    return f'<p:sp><p:nvPr><p:ph type="{kind}"/></p:nvPr><p:txBody>{inside}</p:txBody></p:sp>'


def make_pptx(*slides: str, notes: str = "") -> bytes:
    """Return a presentation, of the shapes of each slide, which are stored in another order; the first has notes."""
    count = len(slides)
    listed = "".join(f'<p:sldId id="{at}" r:id="slide_{at}"/>' for at in range(count))
    targets = {f"slide_{at}": f"slides/{count - at}.xml" for at in range(count)}
    return make_zip(
        {
            "ppt/presentation.xml": f'<p:presentation {DRAWING} xmlns:r="{OFFICE}">{listed}</p:presentation>',
            "ppt/_rels/presentation.xml.rels": relate(**targets),
            f"ppt/slides/_rels/{count}.xml.rels": relate(notesSlide="../notes/1.xml"),
            "ppt/notes/1.xml": f"<p:notes {DRAWING}>{notes}</p:notes>",
            **{
                f"ppt/slides/{count - at}.xml": f"<p:sld {DRAWING}>{shapes}</p:sld>" for at, shapes in enumerate(slides)
            },
        }
    )


def make_odt(body: str, *, kind: str = "text", manifest: str = "", title: str = "") -> bytes:
    """Return a document of LibreOffice's."""
    dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    content = f"<office:document-content {NAMES}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return make_zip(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"{content}</office:document-content>",
            "META-INF/manifest.xml": f"<manifest>{manifest}</manifest>",
            "meta.xml": f"<meta {dc}><dc:title>{title}</dc:title></meta>",
        },
        zipfile.ZIP_STORED,
    )


def make_epub(pages: Mapping[str, str | bytes], spine: list[str] | None = None, opf: str = "package") -> bytes:
    """Return a book of pages, by their names, in the order of ``spine``."""
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml" properties="{name * (name == "nav")}"/>'
        for name in pages
    )
    refs = "".join(f'<itemref idref="{name}"/>' for name in (pages if spine is None else spine))
    title = '<dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">The Book</dc:title>'
    return make_zip(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="OPS/book.opf"/></container>',
            "OPS/book.opf": f"<{opf}>{title}<manifest>{items}</manifest><spine>{refs}</spine></{opf}>",
            **{f"OPS/{name}": text for name, text in pages.items()},
        },
        zipfile.ZIP_STORED,
    )
