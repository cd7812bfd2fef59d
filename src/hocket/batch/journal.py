"""The output file of a bulk run, which is its journal: lines of JSON, one for each row that is done with.

Batches at a provider have lines of their own (`hocket.batch.entry`).

The first line names the model. A row is done when its line is in the file; what a crash has left of a last line never
happened, and any other line that cannot be read stays, is counted, and is passed over (`hocket.batch.lines`). The last
line of a row counts. In memory a row takes five bytes here: whether it is done, and a digest of what it asks, so that a
file is not gone on with for other rows.
"""

import os
import secrets
import threading
from array import array
from typing import Any, Literal

from hocket._databases.file_lock import try_lock_file
from hocket._databases.lines import append_lines
from hocket._databases.urls import check_path
from hocket.batch.entry import BatchEntry
from hocket.batch.errors import BatchBusy, BatchFileFailed, ResumeMismatch
from hocket.batch.lines import BEGINNINGS, FIRST, HEADER, LineData, format_line, read_cost, read_row, scan_lines
from hocket.batch.report import BatchReport, RetryFailed
from hocket.errors import InvalidInput

__all__ = ["BatchJournal", "MismatchPolicy"]

MismatchPolicy = Literal["raise", "redo"]
"""What becomes of a file that was written for other rows: an error, or its rows are asked again."""

FORMAT = 1

TODO, OK, FAILED, GIVEN_UP = 0, 1, 2, 3


class BatchJournal:
    """The file of one run, which has it alone.

    Args:
        path: of the file, made if absent.
        fingerprint: stands for what is asked.
        policy: what becomes of a file of another model, and of rows that have changed.
        retry_failed: whether rows that failed are asked again, or what says it of such a row.

    Attributes:
        report: what the file holds.
        batches: those that have not come to their end, by their keys. Never changed but replaced: the loop goes over it
            while a thread writes down that one begins or ends.
        batch_ids: the servers' names of all that are known here.
        tries: how many batches, one after another, have left a row open that has no line since, by its number.
        allows_mismatch: whether a row that has changed is asked again.

    Raises:
        BatchBusy: another run writes to it.
        BatchFileFailed: it cannot be opened, or read.
        ResumeMismatch: it is of another model.
        InvalidInput: it is none of hocket's, or of a later version.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fingerprint: str,
        policy: MismatchPolicy,
        retry_failed: RetryFailed,
    ) -> None:
        self.path: str = check_path(path, "out")
        self.report: BatchReport = BatchReport()
        self.batches: dict[str, BatchEntry] = {}
        self.batch_ids: set[str] = set()
        self.tries: dict[int, int] = {}
        self.allows_mismatch: bool = policy == "redo"
        self._fingerprint = fingerprint
        self._reservations = ""
        self._policy: MismatchPolicy = policy
        self._retry_failed = retry_failed
        self._state = bytearray()
        self._digests = array("I")
        self._lines: list[bytes] = []
        self._changing = threading.Lock()  # held for a moment: the loop adds and counts while a thread does
        self._writing = threading.Lock()  # a write that its task has left goes on before the file is closed
        if os.path.isdir(self.path):
            raise InvalidInput(f"out is {self.path!r}, a directory; it must be a file's path, such as answers.jsonl")
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)  # a document of the user's
        except OSError as error:
            raise _explain(self.path, error) from error
        try:
            if not try_lock_file(self._file):
                raise BatchBusy(f"another run writes to {self.path}; wait for its end, or take another file")
            self._load()
        except BaseException:
            os.close(self._file)
            raise

    def _load(self) -> None:
        unreadable = number = 0
        is_ours: bool | None = None
        for number, data in enumerate(scan_lines(self.path), 1):
            if data is not None and HEADER in data:
                is_ours = self._check_header(data)
            elif data is None:
                unreadable += 1
            elif is_ours and "row" not in data:
                self._take_batch_line(data)
            elif is_ours:
                self.report.add_usage(data.get("usage"), read_cost(data), data.get("attempts", 1))
                self._mark(data["row"], self._judge(data) if data.get("error") else OK, data["digest"])
            if is_ours is None and number == FIRST:
                break
        if is_ours is None and number:
            raise InvalidInput(f"{self.path} is no file of a batch: it does not begin with a line that names the model")
        if not is_ours:
            self._reset()
            self._lines.append(format_line({HEADER: FORMAT, "fingerprint": self._fingerprint}))
        self.report.unreadable = unreadable

    def _judge(self, data: LineData) -> int:
        """Return the state of a row that failed in an earlier run."""
        asks_again = self._retry_failed(read_row(data)) if callable(self._retry_failed) else self._retry_failed
        return FAILED if asks_again else GIVEN_UP

    def _check_header(self, header: LineData) -> bool:
        """Whether the lines that follow are of this run."""
        if header.get(HEADER) != FORMAT:
            raise InvalidInput(
                f"{self.path} is of version {header[HEADER]}, which this hocket cannot read; take another file"
            )
        if header.get("fingerprint") == self._fingerprint:
            return True
        if self._policy == "raise":
            raise ResumeMismatch(
                f"{self.path} holds the answers of another model, server, prompt or schema, or of one with other options; "
                'take another file, or on_mismatch="redo" to ask again. Do its answers still hold? Then '
                f"version={header.get('fingerprint')!r} goes on"
            )
        self._reset()
        return False

    def _reset(self) -> None:
        self._state.clear()
        self.batches = {}
        self.tries.clear()
        del self._digests[:]
        self.report = BatchReport()

    def _mark(self, row: int, state: int, digest: int) -> None:
        missing = row + 1 - len(self._state)
        if missing > 0:
            self._state.extend(bytes(missing))
            self._digests.extend([0] * missing)
        self._count(row, state)
        self._digests[row] = digest
        self.tries.pop(row, None)
        for entry in self.batches.values():
            entry.finish(row)

    def _count(self, row: int, state: int) -> None:
        with self._changing:
            before, self._state[row] = self._state[row], state
            self.report.ok += (state == OK) - (before == OK)
            self.report.failed += (state in (FAILED, GIVEN_UP)) - (before in (FAILED, GIVEN_UP))

    def _take_batch_line(self, data: LineData) -> None:
        key = data.get("batch")
        if key is None:
            self._reservations = data["reservations"]
        elif "end" in data:
            ended = self._set_batch(key, None)
            if ended is not None and data.get("tried"):
                for row in ended.list_waiting():
                    self.tries[row] = self.tries.get(row, 0) + 1
        elif "sent_at" in data:
            if key in self.batches:
                self.batches[key].sent_at = float(data["sent_at"])
        else:
            entry = BatchEntry.read(data)
            if entry.id is not None:
                self.batch_ids.add(entry.id)
            if key in self.batches:
                self.batches[key].id = entry.id
                return
            for older in self.batches.values():  # whose rows are open again, if one is in both
                for row in entry.numbers:
                    older.finish(row)
            for row in entry.numbers:  # it is under way now, and no more what its line says
                if row < len(self._state):
                    self._count(row, TODO)
            self._set_batch(key, entry)

    def _set_batch(self, key: str, entry: BatchEntry | None) -> BatchEntry | None:
        """Put a batch in place of what is known by its key, None: nothing; return what was known."""
        with self._changing:
            batches = dict(self.batches)
            known = batches.pop(key, None)
            if entry is not None:
                batches[key] = entry
            self.batches = batches
        return known

    def begin_batch(self, entry: BatchEntry) -> None:
        """Write down a batch, before anything of it is sent."""
        self._add_batch_line(entry.write())
        self._set_batch(entry.key, entry)

    def name_batch(self, entry: BatchEntry, id: str) -> None:
        """Write down the server's name for a batch, and all that was known before: one of the two lines may be damaged."""
        entry.id = id
        self._add_batch_line(entry.write())

    def mark_sent(self, entry: BatchEntry) -> None:
        """Write down when the request is sent that makes a batch."""
        self._add_batch_line({"batch": entry.key, "sent_at": entry.sent_at})

    def end_batch(self, entry: BatchEntry, word: str, **more: Any) -> None:
        """Write down that all rows of a batch are done with, or open again.

        Args:
            entry: the batch.
            word: what became of it.
            more: ``tried``, if it counts as one that the rows were in which it has left open; ``lost``: units of US dollars
                that budgets have booked for rows whose answers are lost.
        """
        self._add_batch_line({"batch": entry.key, "end": word, **more})

    def name_reservations(self) -> str:
        """Return the name by which budgets know the rows of this file, in this run and in later ones."""
        if not self._reservations:
            self._add_batch_line({"reservations": secrets.token_hex(6)})
        return self._reservations

    def _add_batch_line(self, data: LineData) -> None:
        """Write a line, and wait until the disk has it."""
        with self._changing:
            self._lines.append(format_line(data))
        self.flush(sync=True)
        self._take_batch_line(data)

    @property
    def pending(self) -> int:
        """Rows in batches that have not come to their end."""
        return sum(entry.waiting for entry in self.batches.values())

    def find_batch(self, row: int) -> tuple[BatchEntry, int] | None:
        """Return the batch in which a row waits for its answer, and the digest of what it asks; None: in none."""
        for entry in self.batches.values():
            if (digest := entry.digest(row)) is not None:
                return entry, digest
        return None

    def is_done(self, row: int, digest: int) -> bool:
        """Whether a row is done with, and need not be asked.

        Raises:
            ResumeMismatch: the file has the answer to another row in this place.
        """
        if row >= len(self._state) or self._state[row] == TODO:
            return False
        if self._digests[row] != digest:
            if self._policy == "raise":
                raise ResumeMismatch(
                    f"row {row} of {self.path} is the answer to something else; give the rows of the first run, in its "
                    'order, or on_mismatch="redo" to ask again'
                )
            return False
        if self._state[row] == FAILED:
            return False
        self.report.skipped += 1
        return True

    def add(self, digest: int, data: LineData) -> None:
        """Add a row that is done with; `flush` writes it."""
        line = format_line({**data, "digest": digest})
        with self._changing:
            self._lines.append(line)
        self._mark(data["row"], FAILED if data.get("error") else OK, digest)

    @property
    def waiting(self) -> int:
        """Lines that are not written yet."""
        return len(self._lines)

    def flush(self, *, sync: bool) -> None:
        """Write the lines that have come, in one piece.

        Args:
            sync: whether to wait until the disk has them.

        Raises:
            BatchFileFailed: they cannot be written.
        """
        with self._writing:
            with self._changing:
                lines, self._lines = self._lines, []
            if not lines:
                return
            try:
                append_lines(self._file, b"".join(lines), *BEGINNINGS, sync=sync)
            except OSError as error:
                with self._changing:
                    self._lines[:0] = lines
                raise _explain(self.path, error) from error

    def close(self) -> None:
        """Write what is left, and let go of the file."""
        try:
            self.flush(sync=True)
        finally:
            os.close(self._file)


def _explain(path: str, error: OSError) -> BatchFileFailed:
    return BatchFileFailed(
        f"{path}: {error.strerror or error}; when that is mended, run it again: it goes on where it was"
    )
