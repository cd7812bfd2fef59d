"""PPTX: a slide is a document, with its notes."""

import io
from collections.abc import Iterator

from hocket.document_loaders.block_text import BlockText
from hocket.document_loaders.files import name_title
from hocket.document_loaders.packages import Package, PackageLoader
from hocket.document_loaders.xml_events import Attributes, XMLEvents, strip_namespace
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["PptxLoader", "find_references"]


class PptxLoader(PackageLoader):
    """Loads a PowerPoint presentation, a slide a document: its title, its texts and tables, and its notes.

    ``slide`` counts from 1, ``total_slides`` says how many there are, and ``title`` is the presentation's, else that of its
    first slide that has one, else the name of the file. Charts and pictures are left out. A slide without text is a document
    without text; if that is true of all of them, the last is followed by an error.
    """

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield a document for each slide."""
        package = self._open_package(file)
        main = package.find_main_part("ppt/presentation.xml")
        slides = find_references(package, main, "sldId", "presentation")
        if slides is None:
            raise self._refuse_kind("PowerPoint presentation")
        total = self._check_count(len(slides), "slides")
        title = package.find_title()
        has_text = False
        for number, (_, part) in enumerate(slides, 1):
            slide = _SlideText()
            if not package.parse(part, slide):
                raise DocumentError(self.file_path, "a slide is not there; save it again", f"slide {number}")
            notes = _SlideText()
            for relation in package.find_relations(part).values():
                if relation.kind == "notesSlide":
                    package.parse(relation.target, notes)
            if notes.blocks:
                slide.blocks.append("\n\n".join(["Notes:", *notes.blocks]))
            title = title or slide.heading
            has_text = has_text or bool(slide.blocks)
            facts = {"source": self.file_path, "slide": number, "total_slides": total}
            yield Document("\n\n".join(slide.blocks), metadata={**facts, "title": title or name_title(self.file_path)})
        if not has_text:
            raise DocumentError(self.file_path, "none of its slides has a text; run OCR over it, or leave it out")


def find_references(package: Package, main: str, element: str, root: str) -> list[tuple[str, str]] | None:
    """Return the name and the part of each slide or sheet that the main part lists; None: it is another kind of file.

    Args:
        package: the file.
        main: the name of its main part.
        element: which elements of it refer to one.
        root: the name of its outermost element.
    """
    found = _References(element)
    if not package.parse(main, found) or found.root != root:
        return None
    relations = package.find_relations(main)
    return [(name, relations[id].target if id in relations else "") for name, id in found.pairs]


class _References(XMLEvents):
    def __init__(self, element: str) -> None:
        self.root = ""
        self.pairs: list[tuple[str, str]] = []
        self._element = element

    def start(self, name: str, attributes: Attributes) -> None:
        name = strip_namespace(name)
        self.root = self.root or name
        if name == self._element:
            id = next((value for key, value in attributes.items() if key.endswith("relationships id")), "")
            self.pairs.append((attributes.get("name", ""), id))


class _SlideText(BlockText):
    """The text of a slide; what its layout says on each slide (date, footer, number) is left out."""

    left_out = frozenset(("Fallback",))

    def __init__(self) -> None:
        super().__init__()
        self._kind = ""
        self.starts.update(
            {
                "sp": lambda attributes: self._set_kind(""),
                "ph": lambda attributes: self._set_kind(attributes.get("type", "")),
                "p": self._start,
            }
        )
        self.ends["sp"] = lambda: self._set_kind("")

    def _set_kind(self, kind: str) -> None:
        self._kind = kind

    def _start(self, attributes: Attributes) -> None:
        self.start_paragraph(attributes)
        self.set_level(1 if self._kind in ("title", "ctrTitle") else 0)

    def add(self, text: str) -> None:
        """Add text to the paragraph."""
        if self._kind not in ("dt", "ftr", "hdr", "sldNum"):
            super().add(text)
