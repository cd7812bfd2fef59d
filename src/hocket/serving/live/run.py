"""An answer that is being made in this process.

An event is numbered and stored before any reader sees it, so that none sees what another could not. What the answer says
while a write is under way goes into the next one.
"""

from collections.abc import Callable, Sequence

import anyio

from hocket._databases.store import AppendRows, Lease, Operation, PutValue, ReleaseLease
from hocket._runtime.detached import spawn
from hocket._runtime.stream import Stream
from hocket.errors import AnswerTooLarge, StreamTruncated
from hocket.serving.event_body import Snapshot, log_failure
from hocket.serving.live.head import ENDS, RUNNING, Head, LivePlace, State
from hocket.serving.page_writer import PageWriter

__all__ = ["LiveRun", "number_events"]

PIECE = 65_536
"""Bytes that a reader is given at once, or one event more: a reader who is slow holds little."""


class LiveRun:
    """Takes what a stream says, and writes it down, to its end.

    Args:
        place: in the store.
        head: as it is stored.
        stream: the answer.
        writer: writes its items as events.
        max_bytes: of all events.
        wake: says that there is something to store.

    Attributes:
        has_begun: set when it has said something, or has ended.
        is_over: set when nothing more comes of it here: its end is stored, or it is cut off.
        early_failure: what it failed of, before it said anything.
        is_cut: whether it is no longer this process's: its readers look into the store.
        cut_by: why, where the store is away.
        renewed_at: when its lease was renewed last.
    """

    def __init__(
        self,
        place: LivePlace,
        head: Head,
        stream: Stream[object],
        writer: PageWriter,
        max_bytes: int,
        wake: Callable[[], None],
    ) -> None:
        self.place: LivePlace = place
        self.head: Head = head
        self.lease: Lease = place.lease(head.token)
        self.has_begun: anyio.Event = anyio.Event()
        self.is_over: anyio.Event = anyio.Event()
        self.early_failure: Exception | None = None
        self.is_cut: bool = False
        self.cut_by: Exception | None = None
        self.renewed_at: float = 0.0
        self.kept_at: float = 0.0
        self._stream = stream
        self._writer = writer
        self._max_bytes = max_bytes
        self._wake = wake
        self._rows: list[bytes] = []  # that are stored
        self._waiting: list[bytes] = []  # that are not
        self._size = 0
        self._has_grown = anyio.Event()
        self._is_stopping = False
        self._append: AppendRows | None = None  # of the trip that is under way
        self._has_snapshot = False  # whether what waits ends with one, which the next one replaces

    # -- what is said

    async def tell(self) -> None:
        """Write down what the stream says."""
        stream = self._stream
        state: State = "done"
        try:
            async for item in stream:
                data = self._writer.write(item)
                if self._size + len(data) > self._max_bytes:  # before it is kept: one event may be as large as it likes
                    raise AnswerTooLarge(
                        f"the answer has more than {self._max_bytes} bytes of events; LiveAnswers(max_bytes=...) takes more"
                    )
                self._add(data)
            # What a stop meets in the middle of its last step may be dropped: then this is not all.
            is_whole = not (stream.was_left or self._is_stopping)
            state, end = ("done", self._writer.end()) if is_whole else ("stopped", self._writer.stop())
        except Exception as error:
            state, end = "failed", self._fail(error)
        except BaseException:  # the loop ends; or what makes the stream was cancelled, and nobody else would end it
            self._add(self._fail(StreamTruncated("what makes the answer was cancelled")), "failed")
            raise
        finally:
            await stream.aclose()
        self._add(end, state)

    def _fail(self, error: Exception) -> bytes:
        log_failure(error)
        if not self.has_begun.is_set():
            self.early_failure = error
        return self._writer.fail(error)

    def _add(self, data: bytes, state: State = "running") -> None:
        if isinstance(data, Snapshot) and self._has_snapshot and self._append is None:
            self._size -= len(self._waiting.pop()) - 1
        self._has_snapshot = isinstance(data, Snapshot)
        rows = number_events(data, self.head.token, len(self._rows) + len(self._waiting), state)
        if not rows:
            return
        self._size += sum(map(len, rows)) - len(rows)
        self._waiting += rows
        if state != "running":
            self.head = self.head.end(state, len(self._rows) + len(self._waiting), self._size)
        self.has_begun.set()
        self._wake()

    def stop(self) -> None:
        """Close the stream, as if its reader had left: a history keeps the half."""
        if not self._is_stopping:
            self._is_stopping = True
            spawn(self._stream.aclose)

    def move(self) -> None:
        """Make new events, for waiters in another loop: the one in which it ran is over."""
        self._has_grown = anyio.Event()
        if not self.is_over.is_set():
            self.is_over = anyio.Event()

    def cut(self, error: Exception | None = None) -> None:
        """Give it up: it is another process's now, or (``error``) its store is away. Nothing more of it is shown."""
        self.is_cut, self.cut_by = True, error
        self.stop()
        self._end()

    def _end(self) -> None:
        self.has_begun.set()
        self.is_over.set()
        self._has_grown.set()

    # -- what is stored

    @property
    def rows(self) -> Sequence[bytes]:
        """The events that are stored."""
        return self._rows

    @property
    def is_waiting(self) -> bool:
        """Whether there is something to store."""
        return bool(self._waiting)

    def write_operations(self, ttl: float, keep: float) -> list[Operation]:
        """Return what stores the events that wait.

        Args:
            ttl: seconds for which they are kept while the answer runs. keep: after its end.
        """
        log, rows = self.place.log(self.head.token), self._waiting.copy()
        has_ended = not self.head.is_running  # it has said all
        kept = keep if has_ended else None if self._rows else ttl
        self._append = AppendRows(log, rows, kept, len(self._rows), self.lease)
        operations: list[Operation] = [self._append]
        if has_ended:
            operations += [PutValue(self.place.key, self.head.write(), keep, self.lease), ReleaseLease(self.lease)]
        return operations

    def confirm(self) -> None:
        """Show what was stored."""
        append, self._append = self._append, None
        if append is None:
            return
        if not append.is_done:
            return self.cut()
        self._rows += append.rows
        del self._waiting[: len(append.rows)]
        self._has_snapshot = self._has_snapshot and bool(self._waiting)
        has_grown, self._has_grown = self._has_grown, anyio.Event()
        if self._rows[-1:] and self._rows[-1][:1] != RUNNING:
            self._end()
        has_grown.set()

    # -- what is read

    async def read(self, after: int) -> list[bytes]:
        """Return the events behind the first ``after``, about 64 kB of them at most, when there are any; none at the end."""
        while after >= len(self._rows):
            if self.is_over.is_set():
                return []
            await self._has_grown.wait()
        size, last = 0, after
        while last < len(self._rows) and size < PIECE:
            size += len(self._rows[last])
            last += 1
        return self._rows[after:last]


def number_events(data: bytes, token: str, count: int, state: State = "running") -> list[bytes]:
    """Return events as rows of a log, each with its id, by which a browser says what it has seen.

    Args:
        data: whole events.
        token: of the answer.
        count: how many events there are before them.
        state: what the last one says.
    """
    rows = [
        b"%b%b\nid: %b.%d\n\n" % (RUNNING, event, token.encode(), count + number)
        for number, event in enumerate((one for one in data.split(b"\n\n") if one), 1)
    ]
    if rows and state != "running":
        rows[-1] = ENDS[state] + rows[-1][1:]
    return rows
