"""Files of all formats, and folders of them: each file's loader is chosen when the file's turn comes.

The walk is our own: `pathlib` passes over folders that may not be read, and an index that is brought up to date would
then lose their files.
"""

import copy
import hashlib
import logging
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from hocket.document_loaders.base import BaseLoader, StreamLoader
from hocket.document_loaders.files import FilePath, check_file_path, check_limit, is_address
from hocket.documents import Document
from hocket.errors import DocumentError, InvalidInput

__all__ = ["FilesLoader", "OnError", "PathFacts"]

OnError: TypeAlias = Literal["raise", "skip"] | Callable[[DocumentError], object]
"""What becomes of a file that cannot be read: see `FilesLoader`."""

PathFacts: TypeAlias = Callable[[Path], Mapping[str, object]]
"""What the path of a file says, as metadata of its documents: see `FilesLoader`."""

_log = logging.getLogger("hocket.document_loaders")


class FilesLoader(StreamLoader):
    """Loads files and the files in folders, one after another.

    Folders are read in the order of their names, by code points, a folder's files and folders mixed. Names that begin with
    a dot are passed over, and so are links to folders and links out of the folder.

    Args:
        paths: files and folders, which must be there, whatever ``on_error`` is. A file that is named here is loaded
            whatever it is called. ``source`` of a document begins with the path as it is written here.
        make_loader: returns the loader of a file; it may raise `DocumentError`. It is called in a worker thread.
        glob: which files of a folder are loaded, by their path below it with ``/``: ``*``, ``?`` and ``[...]`` stand for
            anything but ``/``, and ``**/`` for any folders. Of several patterns one is enough.
        exclude: which files of a folder, and which folders below it, are left out after all: patterns as of ``glob``.
        max_depth: how many folders deep a file may be, 1: in the folder itself; None: any.
        load_hidden: whether names that begin with a dot are loaded, too.
        on_error: "raise" ends the load at the first `DocumentError`. "skip" logs it, keeps it in `skipped`, and goes on
            with the next file; documents that came before it are out already. A function gets it instead of the log, and
            may raise.
        metadata: gets a file's path, as in ``source``, in a worker thread, and returns what goes over the metadata of its
            documents, but for ``source``: ``lambda path: {"team": path.parts[1]}``. Pages on the web have no path.

    Raises:
        InvalidInput: an argument that nothing could be loaded with; by the verbs: ``metadata`` returned no mapping.
        DocumentError: by the verbs: a path is not there; if ``on_error`` is "raise", a file cannot be read, or a folder
            cannot be listed.

    Attributes:
        skipped: the errors that the load that was begun last has passed over, in order.
        read_files: the files that it has read to their end, also those that nothing is in.
        left_out: files that are not read: see `leave_out`.
    """

    def __init__(
        self,
        paths: Iterable[FilePath],
        make_loader: Callable[[str], BaseLoader],
        *,
        glob: str | Sequence[str] = "**/*",
        exclude: str | Sequence[str] = (),
        max_depth: int | None = None,
        load_hidden: bool = False,
        on_error: OnError = "raise",
        metadata: PathFacts | None = None,
    ) -> None:
        self.paths: list[str] = [check_file_path(path) for path in paths]
        if not self.paths:
            raise InvalidInput("no path was given")
        if not callable(on_error) and on_error not in ("raise", "skip"):
            raise InvalidInput(f"on_error is 'raise', 'skip' or a function, not {on_error!r}")
        self.glob: str | Sequence[str] = glob
        self.exclude: str | Sequence[str] = exclude
        self.max_depth: int | None = check_limit(max_depth, "max_depth")
        self.load_hidden: bool = load_hidden
        self.on_error: OnError = on_error
        self.metadata: PathFacts | None = metadata
        self.skipped: list[DocumentError] = []
        self.read_files: set[str] = set()
        self.make_loader: Callable[[str], BaseLoader] = make_loader
        self.left_out: frozenset[str] = frozenset()
        self._origin: FilesLoader | None = None
        self._pattern = _compile_globs(glob, "glob")
        self._left_out = _compile_globs(exclude, "exclude")

    def list_files(self) -> list[str]:
        """Return the paths of the files that a load would read now, in order. None of them is opened.

        Raises:
            DocumentError: a path is not there; if ``on_error`` is "raise", a folder cannot be listed.
        """
        self._check_paths()
        return [file for path in self.paths for file in self._find_files(path, self.skipped)]

    def stamp_files(self) -> dict[str, list[int] | None]:
        """Return the size of each file that a load would read now, and when its content and its inode were changed, in
        nanoseconds; and, if there is ``metadata``, a number that stands for what it says of the file.

        None: it is an address, or cannot be looked at. Folders that cannot be listed are passed over in silence.

        Raises:
            DocumentError: a path is not there.
        """
        self._check_paths()
        quiet = copy.copy(self)
        quiet.on_error = bool
        return {file: self._stamp(file) for path in self.paths for file in quiet._find_files(path, [])}

    def leave_out(self, files: Iterable[str]) -> "FilesLoader":
        """Return a loader that does not read some files; what it skips, this one has skipped, too."""
        other = copy.copy(self)
        other._origin = self
        other.left_out = self.left_out.union(files)
        return other

    def has_lost(self, source: str) -> bool:
        """Whether a file below the paths is no longer there; False where the load that was begun last could not look."""
        return (
            not is_address(source)
            and any(_is_within(source, path) for path in self.paths)
            and not any(_is_within(source, error.path) for error in self.skipped)
            and not os.path.lexists(source)
        )

    def list_failed(self) -> set[str]:
        """Return the files and folders that the load that was begun last could not read."""
        return {error.path for error in self.skipped if not error.is_empty}

    def lazy_load(self) -> Generator[Document]:
        """Yield the documents of every file; the file that they come from is open meanwhile."""
        skipped: list[DocumentError] = []  # of this load: another may begin before it ends
        self.skipped, self.read_files = skipped, set()
        if self._origin is not None:
            self._origin.skipped = skipped
        self._check_paths()
        for path in self.paths:
            for file in self._find_files(path, skipped):
                if file in self.left_out:
                    continue
                try:
                    documents = iter(self.make_loader(file).lazy_load())
                except DocumentError as error:
                    self._report(error, skipped)
                    continue
                yield from self._load_file(file, documents, skipped)

    def _load_file(self, file: str, documents: Iterator[Document], skipped: list[DocumentError]) -> Generator[Document]:
        facts = self.read_path(file)
        try:
            while True:
                try:
                    document = next(documents)
                except StopIteration:
                    self.read_files.add(file)
                    return
                except DocumentError as error:
                    self._report(error, skipped)
                    return
                document.metadata |= facts
                yield document
        finally:
            getattr(documents, "close", bool)()

    def read_path(self, file: str) -> dict[str, object]:
        """Return what ``metadata`` says of a file; nothing of an address. `InvalidInput`: it returned no mapping."""
        if self.metadata is None or is_address(file):
            return {}
        facts = self.metadata(Path(file))
        if not isinstance(facts, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"metadata returned {facts!r} for {file}; it must return a mapping, such as a dict")
        return {name: value for name, value in facts.items() if name != "source"}

    def _stamp(self, file: str) -> list[int] | None:
        if is_address(file):
            return None
        try:
            facts = os.stat(file)
        except OSError:  # its loader says what is wrong
            return None
        stamp = [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns]  # `cp -p` and `touch -r` keep all but the last
        if self.metadata is not None:
            said = repr(self.read_path(file)).encode("utf-8", "surrogatepass")
            stamp.append(int.from_bytes(hashlib.blake2b(said, digest_size=12).digest(), "big"))
        return stamp

    def _check_paths(self) -> None:
        for path in self.paths:
            if is_address(path):
                continue
            try:
                os.stat(path)
            except (FileNotFoundError, NotADirectoryError) as error:
                raise DocumentError(path, "there is no such file or folder; check the path") from error
            except (OSError, ValueError):  # it is there, perhaps: its turn will come
                continue

    def _find_files(self, path: str, skipped: list[DocumentError]) -> Iterator[str]:
        if is_address(path) or not os.path.isdir(path):
            yield path
            return
        for name in self._walk(path, "", 1, skipped):
            if self._pattern.fullmatch(name):
                yield os.path.join(path, *name.split("/"))

    def _walk(self, top: str, folder: str, depth: int, skipped: list[DocumentError]) -> Iterator[str]:
        """Yield the paths of all files below a folder, relative to the top, with ``/``."""
        place = os.path.join(top, folder)
        try:
            with os.scandir(place) as entries:
                found = sorted(
                    (entry.name, entry.is_dir(follow_symlinks=False), _leads_away(entry, top)) for entry in entries
                )
        except OSError as error:
            problem = f"the folder cannot be listed ({error.strerror or error}); check its permissions"
            self._report(DocumentError(place, problem), skipped)
            return
        for name, is_folder, leads_away in found:
            if (name.startswith(".") and not self.load_hidden) or self._left_out.fullmatch(folder + name):
                continue
            if is_folder:
                if self.max_depth is None or depth < self.max_depth:
                    yield from self._walk(top, f"{folder}{name}/", depth + 1, skipped)
            elif not leads_away:
                yield folder + name

    def _report(self, error: DocumentError, skipped: list[DocumentError]) -> None:
        if self.on_error == "raise":
            raise error
        if callable(self.on_error):
            self.on_error(error)
        else:
            _log.warning("skipped: %s", error)
        skipped.append(error)
        if error.is_empty:
            self.read_files.add(error.path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.paths))})"


def _leads_away(entry: os.DirEntry[str], top: str) -> bool:
    """Whether an entry is a link to a folder, or out of the folder that is loaded: its author may have made one."""
    if not entry.is_symlink():
        return False
    return os.path.isdir(entry.path) or not _is_within(os.path.realpath(entry.path), os.path.realpath(top))


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))


def _compile_globs(globs: str | Sequence[str], name: str) -> re.Pattern[str]:
    """Return a pattern of what one of the patterns stands for; of none, one that nothing matches."""
    try:
        parts = [_translate_glob(one, name) for one in ([globs] if isinstance(globs, str) else globs)]
        return re.compile("|".join(parts) or "(?!)")
    except re.error as error:
        raise InvalidInput(f"{name}={globs!r} is no pattern of paths ({error})") from error


def _translate_glob(glob: str, name: str = "glob") -> str:
    r"""Return the regular expression of a pattern of paths.

    Examples:
        >>> _translate_glob("**/*.md")
        '(?s:(?:[^/]+/)*[^/]*\\.md)'
    """
    if not isinstance(glob, str) or not glob or glob.startswith("/"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{name}={glob!r} is no pattern of paths below a folder, such as '**/*.md'")
    parts: list[str] = []
    for piece in re.split(r"(\*\*/|\*+|\?|\[[^/\]]+\])", glob):
        if piece == "**/":
            parts.append("(?:[^/]+/)*")
        elif piece == "**":
            parts.append(".*")
        elif piece.startswith("*"):
            parts.append("[^/]*")
        elif piece == "?":
            parts.append("[^/]")
        elif piece.startswith("[") and len(piece) > 2 and piece != "[!]":
            inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", piece[1:-1])
            parts.append(f"(?!/)[{'^' + inside[1:] if inside[0] == '!' else inside}]")
        else:
            parts.append(re.escape(piece))
    return f"(?s:{''.join(parts)})"
