"""One reader of a live answer: what `EventBody` asks of a source, without a task of its own, for there may be thousands."""

from collections.abc import Awaitable, Callable, Sequence

from hocket._runtime.clock import Alarm
from hocket.serving.live.head import RUNNING
from hocket.serving.page_writer import PageWriter

__all__ = ["LiveReader", "StoredEventWriter"]


class LiveReader:
    """Reads the rows of an answer, from a place on.

    Args:
        read: returns the rows behind so many, when there are any; none at the end.
        after: how many the reader has seen.
    """

    was_left = False

    def __init__(self, read: Callable[[int], Awaitable[Sequence[bytes]]], after: int) -> None:
        self._read = read
        self._after = after
        self._rows: Sequence[bytes] | None = None  # that wait to be taken; None: they have to be read
        self._error: Exception | None = None
        self._is_over = False

    @property
    def has_next(self) -> bool:
        """Whether there is more to be taken at once: no, each piece is all that there was."""
        return False

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for the next events, or the end, for so many seconds at most; whether they have come."""
        with Alarm() as alarm:
            alarm.set(seconds)
            await self._fetch()
            return True
        return False

    async def __anext__(self) -> bytes:
        await self._fetch()
        if self._error is not None:
            error, self._error, self._is_over = self._error, None, True
            raise error
        rows, self._rows = self._rows or (), None
        if not rows:
            raise StopAsyncIteration
        self._after += len(rows)
        self._is_over = rows[-1][:1] != RUNNING
        return b"".join([row[1:] for row in rows])

    async def _fetch(self) -> None:
        if self._is_over:
            self._rows = ()
        if self._rows is None and self._error is None:
            try:
                self._rows = await self._read(self._after)
            except Exception as error:  # raised where it is taken
                self._error = error
            self._is_over = not self._rows and self._error is None

    async def aclose(self) -> None:
        """Read no more."""
        self._is_over, self._rows, self._error = True, (), None


class StoredEventWriter:
    """Hands on events as they are stored; a failure is one of the reader's own."""

    def __init__(self, writer: PageWriter) -> None:
        self._writer = writer

    def fail(self, error: Exception) -> bytes:
        """Return what says that the reading broke off."""
        return self._writer.fail(error)

    def write(self, item: bytes) -> bytes:
        """Return events."""
        return item

    def end(self) -> bytes:
        """Return nothing: the end is stored, too."""
        return b""
