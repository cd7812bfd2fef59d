"""Office documents and books are ZIP archives of XML, which anybody may have made: one way to read the parts of all.

So nothing in one is trusted: what it expands to is limited before anything is expanded, and parts go through the parser
block by block. This needs no more than the standard library.
"""

import io
import posixpath
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from hocket.document_loaders.files import MAX_BYTES, FileLoader, FilePath, check_limit, describe
from hocket.document_loaders.xml_events import Attributes, XMLEvents, read_events, strip_namespace
from hocket.errors import DocumentError

__all__ = ["MAX_EXPANDED_BYTES", "MAX_PARTS", "Package", "PackageLoader", "Relation"]

MAX_EXPANDED_BYTES = 200_000_000
"""How much of a file may be read when it is expanded, by default."""

MAX_PARTS = 10_000
"""How many slides, sheets or chapters a file may have."""

_MAX_DIRECTORY = 5_000_000  # bytes of an archive's list of files, each of which takes ten times that in memory
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    RuntimeError,  # encrypted, or compressed as no office program does
    LookupError,  # an encoding that Python does not know,
    ValueError,  # or the parser
    OSError,  # places before the beginning of the file
)


class PackageLoader(FileLoader):
    """Loads a file that is a package of parts.

    Args:
        file_path: the file.
        max_bytes: the largest file that is taken; None: any.
        max_expanded_bytes: how large what is read of it may be when it is expanded; None: any size.

    Raises:
        InvalidInput: a limit is no positive number. By the verbs:
        DocumentError: it is of another kind, damaged, encrypted, too large, or has a DTD.
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

    def _open_package(self, file: io.BufferedReader) -> "Package":
        return Package(file, self.file_path, self.max_expanded_bytes)

    def _refuse_kind(self, kind: str) -> DocumentError:
        return DocumentError(self.file_path, f"it is a ZIP archive, but no {kind}; save it as one, or unpack it")

    def _check_count(self, count: int, parts: str) -> int:
        """Return how many parts there are.

        Raises:
            DocumentError: none, or too many.
        """
        if not 0 < count <= MAX_PARTS:
            remedy = f"at most {MAX_PARTS:,} are read; split it" if count else "leave it out, or save it again"
            raise DocumentError(self.file_path, f"it has {count or 'no'} {parts}; {remedy}")
        return count


class Relation(NamedTuple):
    """What a part refers to.

    Attributes:
        kind: the last word of its type: "slide".
        target: the name of the part.
    """

    kind: str
    target: str


class Package:
    """The parts of a file.

    Args:
        file: the open file.
        path: its name, for errors.
        max_expanded: how many bytes may be read of it, expanded.

    Raises:
        DocumentError: it is no ZIP archive, damaged, or has too many files.
    """

    def __init__(self, file: io.BufferedReader, path: str, max_expanded: int | None) -> None:
        self._path, self._max_expanded = path, max_expanded
        self._expanded = 0
        with self._refuse_damage(None):
            _check_directory(file, path)
            self._archive = zipfile.ZipFile(file)

    def has(self, name: str) -> bool:
        """Whether there is a part of that name."""
        return name in self._archive.NameToInfo

    def find_main_part(self, default: str) -> str:
        """Return the name of an office document's main part, as the package says, or as programs call it."""
        relations = self.find_relations("").values()
        return next((one.target for one in relations if one.kind == "officeDocument"), default)

    def find_title(self, name: str = "docProps/core.xml") -> str:
        """Return the title in the part that has a document's properties; "": it has none."""
        properties = _Title()
        self.parse(name, properties)
        return properties.title.strip()

    def find_relations(self, part: str) -> dict[str, Relation]:
        """Return what a part of an office document refers to inside of it, by id."""
        folder, name = posixpath.split(part)
        relations = _Relations(folder)
        self.parse(posixpath.join(folder, "_rels", f"{name}.rels"), relations)
        return relations.found

    def parse(self, name: str, events: XMLEvents) -> bool:
        """Tell what a part holds; return whether there is one of that name."""
        is_there = False
        for _ in self.iterate(name, events):
            is_there = True
        return is_there

    def iterate(self, name: str, events: XMLEvents) -> Iterator[None]:
        """Tell what a part holds, and yield after each block of it, if there is one of that name."""
        if (info := self._find(name)) is not None:
            with self._refuse_damage(name), self._archive.open(info) as part:
                yield from read_events(part, self._path, events, name)

    def read(self, name: str) -> bytes | None:
        """Return a part as it is; None: there is none of that name."""
        if (info := self._find(name)) is None:
            return None
        with self._refuse_damage(name), self._archive.open(info) as part:
            return part.read()

    def count(self, size: int, name: str) -> None:
        """Count bytes, or characters, that a part expands to.

        Raises:
            DocumentError: these are too many.
        """
        self._expanded += size
        if self._max_expanded is not None and self._expanded > self._max_expanded:
            raise DocumentError(
                self._path,
                f"it expands to {self._expanded:,} bytes, and at most {self._max_expanded:,} are read; "
                "raise max_expanded_bytes= if you trust it",
                name,
            )

    def _find(self, name: str) -> zipfile.ZipInfo | None:
        """Find a part, and count it."""
        try:
            info = self._archive.getinfo(name)
        except KeyError:
            return None
        self.count(info.file_size, name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DocumentError(self._path, "its compression is not one of office programs; save it again", name)
        return info

    @contextmanager
    def _refuse_damage(self, part: str | None) -> Generator[None]:
        try:
            yield
        except DocumentError:
            raise
        except _DAMAGE as error:
            problem = (
                f"it is cut, damaged or encrypted ({describe(error)}); save or download it again, without a password"
            )
            raise DocumentError(self._path, problem, part) from error


class _Title(XMLEvents):
    """The title of a document."""

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


class _Relations(XMLEvents):
    def __init__(self, folder: str) -> None:
        self.found: dict[str, Relation] = {}
        self._folder = folder

    def start(self, name: str, attributes: Attributes) -> None:
        if strip_namespace(name) == "Relationship" and attributes.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", self._folder, attributes.get("Target", ""))).lstrip("/")
            kind = attributes.get("Type", "").rpartition("/")[2]
            self.found[attributes.get("Id", "")] = Relation(kind, target)


def _check_directory(file: io.BufferedReader, path: str) -> None:
    """Refuse an archive whose list of files is large: Python reads all of it at once."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 65_557))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    file.seek(0)
    if end < 0 or len(tail) < end + 22:
        raise DocumentError(path, "it is cut or damaged: the end of the ZIP archive is missing; download it again")
    if int.from_bytes(tail[end + 12 : end + 16], "little") > _MAX_DIRECTORY or tail[:end][-20:-16] == b"PK\x06\x07":
        raise DocumentError(path, "it is an archive of more files than an office document has; save it again")
