"""DOCX: a file is a document. It is a ZIP archive of XML, which anybody may have made.

So nothing in it is trusted: what it expands to is limited before anything is expanded, parts go through the parser block
by block, and DTDs, with which an XML file can grow without bounds or read other files, are refused, as Word itself never
writes them. This needs no more than the standard library.
"""

import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import IO
from xml.parsers import expat

from hocket.document_loaders.docx_text import Attributes, DocumentText, Styles
from hocket.document_loaders.files import MAX_BYTES, FileLoader, FilePath, check_limit, describe, name_title
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["MAX_EXPANDED_BYTES", "DocxLoader"]

MAX_EXPANDED_BYTES = 200_000_000
"""How much of a file may be read when it is expanded, by default."""

_BLOCK = 65_536
_MAX_DIRECTORY = 5_000_000  # bytes of an archive's list of files, each of which takes ten times that in memory
_MAX_MARK = 1_000_000  # bytes of one tag: older parsers read it again for each block
_MAX_DEPTH = 1_000  # elements within elements
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    RuntimeError,  # encrypted, or compressed as Word does not
    LookupError,  # an encoding that Python does not know,
    ValueError,  # or the parser
    OSError,  # places before the beginning of the file
)


class DocxLoader(FileLoader):
    """Loads a Word document as one document.

    Paragraphs are set apart by empty lines; headings begin with ``#`` as in Markdown, items of lists with ``-``; a row of a
    table is a line, its cells set apart by `` | ``. Headers, footers, notes, comments and what was deleted under "track
    changes" are left out. ``title`` is the document's, else its first heading, else the name of the file without its suffix.

    Args:
        file_path: the file.
        max_bytes: the largest file that is taken; None: any.
        max_expanded_bytes: how large what is read of it may be when it is expanded; None: any size.

    Raises:
        InvalidInput: a limit is no positive number.
        DocumentError: by the verbs: it is no Word document, damaged, encrypted, too large, or has a DTD.
    """

    def __init__(
        self,
        file_path: FilePath,
        *,
        max_bytes: int | None = MAX_BYTES,
        max_expanded_bytes: int | None = MAX_EXPANDED_BYTES,
    ) -> None:
        super().__init__(file_path, max_bytes=max_bytes)
        self.max_expanded_bytes: int | None = check_limit(max_expanded_bytes, "max_expanded_bytes")

    def _read(self, file: io.BufferedReader) -> Iterator[Document]:
        package = _Package(file, self.file_path, self.max_expanded_bytes)
        main = package.find_main_part()
        styles, core = Styles(), _CoreProperties()
        package.parse(posixpath.join(posixpath.dirname(main), "styles.xml"), styles.start)
        package.parse("docProps/core.xml", core.start, core.end, core.characters)
        text = DocumentText(styles)
        if not package.parse(main, text.start, text.end, text.characters) or text.root != "document":
            raise DocumentError(
                self.file_path, "it is a ZIP archive, but no Word document; save it as DOCX, or unpack it"
            )
        title = core.title.strip() or text.heading or name_title(self.file_path)
        yield Document("\n\n".join(text.blocks), metadata={"source": self.file_path, "title": title})


class _Package:
    """The parts of a file."""

    def __init__(self, file: io.BufferedReader, path: str, max_expanded: int | None) -> None:
        self._path, self._max_expanded = path, max_expanded
        self._expanded = 0
        with self._refuse_damage(None):
            _check_directory(file, path)
            self._archive = zipfile.ZipFile(file)

    def find_main_part(self) -> str:
        """Return the name of the part that holds the text, as the package says, or as Word calls it."""
        found: list[str] = []

        def start(name: str, attributes: Attributes) -> None:
            if attributes.get("Type", "").endswith("/officeDocument"):
                found.append(attributes.get("Target", "").lstrip("/"))

        self.parse("_rels/.rels", start)
        return found[0] if found else "word/document.xml"

    def parse(
        self,
        name: str,
        start: Callable[[str, Attributes], None],
        end: Callable[[str], None] | None = None,
        characters: Callable[[str], None] | None = None,
    ) -> bool:
        """Have handlers told what a part holds; return whether there is one of that name."""
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            return False
        self._expanded += info.file_size
        if self._max_expanded is not None and self._expanded > self._max_expanded:
            raise DocumentError(
                self._path,
                f"it expands to {self._expanded:,} bytes, and at most {self._max_expanded:,} are read; "
                "raise max_expanded_bytes= if you trust it",
                name,
            )
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DocumentError(self._path, "it is compressed as no Word document is; save it anew", name)
        with self._refuse_damage(name), self._archive.open(info) as part:
            self._feed(self._make_parser(name, start, end, characters), part, name)
        return True

    def _make_parser(
        self,
        part: str,
        start: Callable[[str, Attributes], None],
        end: Callable[[str], None] | None,
        characters: Callable[[str], None] | None,
    ) -> expat.XMLParserType:
        depth = 0

        def start_element(name: str, attributes: Attributes) -> None:
            nonlocal depth
            depth += 1
            if depth > _MAX_DEPTH:
                raise DocumentError(
                    self._path, f"its elements are nested more than {_MAX_DEPTH:,} deep; save it anew", part
                )
            start(name, attributes)

        def end_element(name: str) -> None:
            nonlocal depth
            depth -= 1
            if end is not None:
                end(name)

        def refuse(*details: object) -> None:
            raise DocumentError(self._path, "it has a DTD or entities, which Word never writes; do not trust it", part)

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = start_element, end_element
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
        if characters is not None:
            parser.CharacterDataHandler = characters
        return parser

    def _feed(self, parser: expat.XMLParserType, part: IO[bytes], name: str) -> None:
        fed = 0
        while block := part.read(_BLOCK):
            parser.Parse(block, False)
            fed += len(block)
            if fed - parser.CurrentByteIndex > _MAX_MARK + _BLOCK:
                raise DocumentError(self._path, f"it has a tag of more than {_MAX_MARK:,} bytes; save it anew", name)
        parser.Parse(b"", True)

    @contextmanager
    def _refuse_damage(self, part: str | None) -> Generator[None]:
        try:
            yield
        except DocumentError:
            raise
        except expat.ExpatError as error:
            place = f"{part}, line {error.lineno}"
            raise DocumentError(
                self._path, f"it is damaged ({describe(error)}); save or fetch it anew", place
            ) from error
        except _DAMAGE as error:
            problem = f"it is cut, damaged or encrypted ({describe(error)}); save or fetch it anew, without a password"
            raise DocumentError(self._path, problem, part) from error


class _CoreProperties:
    """The title in ``docProps/core.xml``."""

    def __init__(self) -> None:
        self.title = ""
        self._in_title = False

    def start(self, name: str, attributes: Attributes) -> None:
        self._in_title = name == "http://purl.org/dc/elements/1.1/ title"

    def end(self, name: str) -> None:
        self._in_title = False

    def characters(self, text: str) -> None:
        if self._in_title:
            self.title += text


def _check_directory(file: io.BufferedReader, path: str) -> None:
    """Refuse an archive whose list of files is large: Python reads all of it at once."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 65_557))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    file.seek(0)
    if end < 0 or len(tail) < end + 22:
        raise DocumentError(path, "it is cut or damaged: a ZIP archive ends otherwise; fetch it anew")
    if int.from_bytes(tail[end + 12 : end + 16], "little") > _MAX_DIRECTORY or tail[:end][-20:-16] == b"PK\x06\x07":
        raise DocumentError(path, "it is an archive of more files than a Word document has; save it anew")
