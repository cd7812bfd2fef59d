"""ODT: a file is a document."""

import io
import re
from collections.abc import Iterator

from hocket.document_loaders.block_text import BlockText
from hocket.document_loaders.files import name_title
from hocket.document_loaders.packages import PackageLoader
from hocket.document_loaders.xml_events import Attributes, XMLEvents, strip_namespace
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["OdtLoader"]

_SPACE = re.compile(r"[ \t\r\n]+")


class OdtLoader(PackageLoader):
    """Loads a text document of LibreOffice or OpenOffice as one document, in the form of `DocxLoader`'s."""

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the document."""
        package = self._open_package(file)
        manifest, text = _Manifest(), _OdtText()
        package.parse("META-INF/manifest.xml", manifest)
        if manifest.is_encrypted:
            raise DocumentError(self.file_path, "it is encrypted; save it again, without a password")
        if not package.parse("content.xml", text) or not text.is_text:
            raise self._refuse_kind("OpenDocument text")
        title = package.find_title("meta.xml") or text.heading or name_title(self.file_path)
        yield Document("\n\n".join(text.blocks), metadata={"source": self.file_path, "title": title})


class _Manifest(XMLEvents):
    """Whether a document is encrypted."""

    is_encrypted = False

    def start(self, name: str, attributes: Attributes) -> None:
        self.is_encrypted = self.is_encrypted or strip_namespace(name) == "encryption-data"


class _OdtText(BlockText):
    left_out = frozenset(("annotation", "note", "tracked-changes", "forms"))

    def __init__(self) -> None:
        super().__init__()
        self.is_text = False
        self._is_first = False  # in an item of a list
        self.starts = {
            "text": self._start_text,
            "p": self._start,
            "h": self._start,
            "tab": lambda attributes: self.add("\t"),
            "line-break": lambda attributes: self.add("\n"),
            "s": lambda attributes: self.add(" "),
            "list-item": self._start_item,
            "table": self.start_table,
            "table-cell": self.start_cell,
        }
        self.ends = {
            "p": self.end_paragraph,
            "h": self.end_paragraph,
            "table-cell": self.end_cell,
            "table-row": self.end_row,
            "table": self.end_table,
        }

    def _start_text(self, attributes: Attributes) -> None:
        self.is_text = True

    def _start_item(self, attributes: Attributes) -> None:
        self._is_first = True

    def _start(self, attributes: Attributes) -> None:
        self.start_paragraph(attributes)
        level = next((value for name, value in attributes.items() if name.endswith(" outline-level")), "")
        self.set_level(int(level) if level.isdecimal() else 0)
        self.set_item(self._is_first and not level)
        self._is_first = False

    def characters(self, text: str) -> None:
        """Take characters."""
        self._in_run = self._in_text = True
        super().characters(_SPACE.sub(" ", text))
