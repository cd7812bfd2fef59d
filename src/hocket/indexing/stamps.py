"""Files that need not be opened again: those whose size and times are as they were when the store got their documents.

The record of them is a file beside the store. It is believed as far as the store says the same: of files that it does not
have as many documents of as were counted, and where the splitter or an option of the loader is another one, all is read. It
is written when a run has come to its end, so that a run that ends before it is made again.
"""

import functools
import json
import logging
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from hocket._json import JSON
from hocket._runtime.mode import ASYNC
from hocket.document_loaders import FilesLoader
from hocket.errors import InvalidInput
from hocket.text_splitters import TextSplitter
from hocket.vectorstores import VectorStore

__all__ = ["Stamps"]

_AT_ONCE = 1_000  # files that one filter names
_DEEPEST = 6  # objects within objects that are looked at

_log = logging.getLogger("hocket.indexing")


class Stamps:
    """What is known of the files of a loader.

    Args:
        path: of the record.
        docs: the loader.
        splitter: what cuts the documents.

    Raises:
        InvalidInput: ``docs`` is no loader of files.

    Attributes:
        loader: of the files that have to be read.
        kept: ids of the documents of the others.
    """

    def __init__(self, path: str | os.PathLike[str], docs: object, splitter: TextSplitter | None) -> None:
        if not isinstance(docs, FilesLoader):
            raise InvalidInput(f"stamps= is for a loader of files, as of open_documents, not {type(docs).__name__}")
        self._path, self._docs = Path(path), docs
        self._about = json.dumps(_describe([splitter, docs.make_loader]))
        self._now: dict[str, list[int]] = {}
        self._before: dict[str, list[int]] = {}
        self.loader: FilesLoader = docs
        self.kept: list[str] = []
        self._gone: list[str] = []

    async def look(self, store: VectorStore, source_id_key: str) -> None:
        """Find out which files have to be read."""
        await ASYNC.call_sync(self._read)
        same = [path for path, stamp in self._now.items() if stamp == self._before.get(path, [])[:-1]]
        passed_over: list[str] = []
        for start in range(0, len(same), _AT_ONCE):
            files = same[start : start + _AT_ONCE]
            ids = await store.alist_ids({source_id_key: {"$in": files}})
            if len(ids) == sum(self._before[path][-1] for path in files):
                passed_over += files
                self.kept += ids
        self.loader = self._docs.leave_out(passed_over)

    def list_gone(self) -> list[str]:
        """Return the files of the record that are gone."""
        has_failed = bool(self.loader.list_failed())
        others = self._before.keys() - self._now
        self._gone = [path for path in others if not has_failed or self.loader.has_lost(path)]
        return self._gone

    async def write(self, counts: Mapping[str, int]) -> None:
        """Keep what is true now, when all is stored; of a file that could not be looked at what was true before."""
        others = {*self._now, *self._gone}
        before = {path: facts for path, facts in self._before.items() if path not in others}
        known = {path: self._before[path][-1] for path in self.loader.left_out} | dict(counts)
        failed = self.loader.list_failed()
        files = {
            path: [*stamp, known[path]] for path, stamp in self._now.items() if path in known and path not in failed
        }
        await ASYNC.call_sync(self._write, before | files)

    def _read(self) -> None:
        self._now = {path: stamp for path, stamp in self._docs.stamp_files().items() if stamp}
        with suppress(OSError, ValueError, TypeError, AttributeError, LookupError):  # none yet, or damaged
            record = json.loads(self._path.read_text())
            files = cast("dict[str, list[int]]", record["files"])
            first = 0 if record["about"] == self._about else -1  # half a stamp equals none: the file is read
            self._before = {path: [int(one) for one in facts[first:]] for path, facts in files.items() if facts}

    def _write(self, files: Mapping[str, list[int]]) -> None:
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            beside.write_text(json.dumps({"about": self._about, "files": files}))
            beside.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            _log.warning("all files are read again the next time: %s cannot be written: %s", self._path, error.strerror)


def _describe(value: object, depth: int = 0) -> JSON:
    """Return as data what makes an object do what it does: its class, and its attributes; of a function its name."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_describe(one, depth + 1) for one in cast("list[object]", value)]
    if isinstance(value, Mapping):
        return {str(key): _describe(one, depth + 1) for key, one in cast("Mapping[object, object]", value).items()}
    if isinstance(value, re.Pattern):
        return str(cast("re.Pattern[str]", value).pattern)
    if isinstance(value, functools.partial):
        return [_describe(one, depth + 1) for one in (value.func, value.args, value.keywords)]
    if (name := getattr(value, "__qualname__", None)) is not None:
        return [f"{getattr(value, '__module__', '')}.{name}", _describe(getattr(value, "__self__", None), depth + 1)]
    facts = getattr(value, "__dict__", {}) if depth < _DEEPEST else {}
    return [type(value).__qualname__, _describe(facts, depth + 1)]
