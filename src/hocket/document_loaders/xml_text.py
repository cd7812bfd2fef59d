"""XML of any kind: a file is a document, an outline of what it says."""

import io
from collections.abc import Iterator

from hocket.document_loaders.files import FileLoader, name_title
from hocket.document_loaders.xml_events import Attributes, XMLEvents, read_events, strip_namespace
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["XMLLoader"]


class XMLLoader(FileLoader):
    """Loads an XML file as one document: a line for each element that has a text of its own, or attributes.

    The line is ``name attribute=value: text``. What stands within a text, such as emphasis, is part of it. ``title`` is the
    text of the first element called so, else the name of the file. It may name a DTD, which is not read; entities of its
    own are refused.
    """

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the document."""
        outline = _Outline()
        for _ in read_events(file, self.file_path, outline, may_have_dtd=True):
            pass
        if not outline.lines:
            raise DocumentError(self.file_path, "it has neither text nor attributes; leave it out")
        title = outline.title or name_title(self.file_path)
        yield Document("\n".join(outline.lines), metadata={"source": self.file_path, "title": title})


class _Element:
    def __init__(self, label: str, is_inside: bool) -> None:
        self.label = label
        self.is_inside = is_inside  # of a text
        self.pieces: list[str] = []
        self.has_text = False


class _Outline(XMLEvents):
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.title = ""
        self._open: list[_Element] = []

    def start(self, name: str, attributes: Attributes) -> None:
        parent = self._open[-1] if self._open else None
        facts = [f"{strip_namespace(key)}={' '.join(value.split())}" for key, value in attributes.items()]
        element = _Element(" ".join([strip_namespace(name), *facts]), parent is not None and parent.has_text)
        if facts and not element.is_inside:
            self.lines.append(element.label)
        if parent is not None and element.is_inside:
            element.pieces, element.has_text = parent.pieces, True
        self._open.append(element)

    def end(self, name: str) -> None:
        element = self._open.pop()
        if element.is_inside or not element.has_text:
            return
        text = " ".join("".join(element.pieces).split())
        if self.lines and self.lines[-1] == element.label:
            self.lines.pop()
        self.lines.append(f"{element.label}: {text}")
        if not self.title and strip_namespace(name) == "title":
            self.title = text

    def characters(self, text: str) -> None:
        if self._open:
            element = self._open[-1]
            element.pieces.append(text)
            element.has_text = element.has_text or not text.isspace()
