"""What the tests of loaders share: files that are made here, and which of them are open."""

import io
import os
import zipfile
import zlib
from pathlib import Path

from hocket.document_loaders import BaseLoader
from hocket.documents import Document
from hocket.errors import DocumentError

TEXT_DATA = {
    "a.txt": b"One.\nTwo.\n",
    "b.md": b"# Boilers\n\nBleed them.\n",
    "c.csv": b"name,age\nAda,36\nBob,41\n",
    "d.json": b'[{"name": "Ada"}, {"name": "Bob"}]',
    "e.jsonl": b'{"name": "Ada"}\n{"name": "Bob"}\n',
}


def write(path: Path, data: bytes | str) -> str:
    """Write a file, and return its path as loaders name it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def list_open(path: str | Path) -> list[str]:
    """Return which files of this process are open at or below a path."""
    wanted = os.path.realpath(path)
    found: list[str] = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:  # the listing's own
            continue
        if target == wanted or target.startswith(f"{wanted}/"):
            found.append(target)
    return found


def load_until_error(loader: BaseLoader) -> tuple[list[Document], DocumentError | None]:
    """Return the documents that a loader gives, and the error that ends them."""
    documents: list[Document] = []
    try:
        for document in loader.lazy_load():
            documents.append(document)
    except DocumentError as error:
        return documents, error
    return documents, None


def contents(loader: BaseLoader) -> list[str]:
    """Return the texts of a loader's documents."""
    return [document.page_content for document in loader.load()]


def make_pdf(texts: list[str], *, compress: bool = True) -> bytes:
    """Return a PDF with a page for each text, as the standard has it, and nothing more."""
    count = len(texts)
    kids = " ".join(f"{4 + 2 * place} 0 R" for place in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for place, text in enumerate(texts):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % (5 + 2 * place)
        )
        shown = text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
        content = b"BT /F1 12 Tf 72 720 Td (" + shown.replace(b"\n", b") Tj 0 -14 Td (") + b") Tj ET"
        data = zlib.compress(content) if compress else content
        filter_ = b" /Filter /FlateDecode" if compress else b""
        objects.append(b"<< /Length %d%b >>\nstream\n%b\nendstream" % (len(data), filter_, data))
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places: list[int] = []
    for number, data in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%b\nendobj\n" % (number, data))
    xref = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, xref))
    return out.getvalue()


WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)


def make_docx(body: str, styles: str = "", title: str = "", **parts: str | bytes) -> bytes:
    """Return a Word document; ``parts`` replace parts by the last piece of their names, "document" for example."""
    document = (
        f'<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    )
    made: dict[str, str | bytes] = {"_rels/.rels": _RELATIONS, "word/document.xml": parts.get("document", document)}
    if styles:
        made["word/styles.xml"] = f'<w:styles xmlns:w="{WORD}">{styles}</w:styles>'
    if title:
        made["docProps/core.xml"] = (
            '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
            f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>Ada</dc:creator><dc:title>{title}</dc:title>'
            "</cp:coreProperties>"
        )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in made.items():
            archive.writestr(name, data)
    return out.getvalue()


def paragraph(text: str, properties: str = "") -> str:
    """Return a paragraph of Word's."""
    return f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
