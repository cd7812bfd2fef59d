"""One run: workers take rows, ask, and add lines to the journal, which is written every 50 ms.

It ends when many rows have failed one after another.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar, cast

import anyio
from anyio.abc import TaskGroup
from pydantic import BaseModel

from hocket._metering.listeners import end_wait, wait_listener
from hocket._runtime import clock
from hocket._runtime.cancellation import only
from hocket._runtime.mode import ASYNC
from hocket.batch.digest import find_digest
from hocket.batch.errors import TooManyFailures
from hocket.batch.journal import BatchJournal
from hocket.batch.lines import LineData, read_row
from hocket.batch.meter import RowMeter, row_meter
from hocket.batch.progress import Listener
from hocket.batch.report import BatchReport
from hocket.batch.rows import RowShape, RowSource, find_id
from hocket.batch.streak import FailureStreak
from hocket.errors import (
    AuthenticationError,
    BudgetExceeded,
    BudgetStoreFailed,
    InvalidInput,
    MissingDependency,
    QuotaExceeded,
    RateLimitError,
    ResourceNotFound,
    Unpriceable,
)
from hocket.messages import AIMessage
from hocket.runnables import Runnable

__all__ = ["BatchRun", "Batches", "write_output"]

Row = TypeVar("Row")

TICK = 0.05
MOST_LINES = 256
PROGRESS_EVERY = 0.5

_FOR_ALL_ROWS = (
    AuthenticationError,
    QuotaExceeded,
    ResourceNotFound,
    MissingDependency,
    BudgetStoreFailed,
    Unpriceable,
)
"""Errors that the next row would meet as well: the run ends with them, and a file of a million failures is not written."""


class Batches(Protocol):
    """Batches at a provider, for rows that are not asked live."""

    async def start(self, waiting: TaskGroup, max_concurrency: int) -> None:
        """Begin: tasks that wait for batches are started there, and so many rows are read at once."""
        ...

    def adopt(self, number: int, digest: int, row: object) -> bool:
        """Take a row that waits for its answer in a batch of an earlier run; whether it is one.

        Raises:
            ResumeMismatch: it asks something else there.
        """
        ...

    async def put(self, number: int, digest: int, row: object) -> None:
        """Take a row that is to be asked."""
        ...

    async def submit_rest(self) -> None:
        """Submit what is left: there are no more rows."""
        ...

    def finish(self) -> None:
        """Put the rows still under way into the report."""
        ...


class BatchRun(Generic[Row]):
    """One run.

    Attributes:
        model: what is asked.
        shape: what a row asks, and what is written for it.
        journal: the file.
        stopping: set when no further row is begun, and nothing is waited for.
    """

    def __init__(
        self,
        model: Runnable[Any, object],
        rows: RowSource[Row],
        journal: BatchJournal,
        shape: RowShape[Row],
        listener: Listener | None,
        fsync: bool,
        max_consecutive_failures: int | None,
    ) -> None:
        self.model: Runnable[Any, object] = model
        self.shape: RowShape[Row] = shape
        self.journal: BatchJournal = journal
        self._rows = rows
        self._listener = listener
        self._fsync = fsync
        self._longest_streak = max_consecutive_failures
        self._streak = FailureStreak(max_consecutive_failures)
        self._failure: BaseException | None = None
        self._began_at = clock.current().now()
        self.stopping: anyio.Event = anyio.Event()

    async def run(self, max_concurrency: int, batches: Batches | None = None) -> BatchReport:
        """Do all rows, and return the content of the file; ``batches``: for rows that are not asked live."""
        try:
            async with anyio.create_task_group() as writing:
                writing.start_soon(self._write_often)
                async with anyio.create_task_group() as waiting:
                    if batches is not None:
                        await batches.start(waiting, max_concurrency)
                    async with anyio.create_task_group() as working:
                        for _ in range(max_concurrency):
                            working.start_soon(self._work, batches)
                    if batches is not None:
                        await batches.submit_rest()
                writing.cancel_scope.cancel()
        except BaseExceptionGroup as errors:
            raise only(errors) from None
        await ASYNC.call_sync(self._flush)
        if batches is not None:
            batches.finish()
        await self._tell()
        if self._failure is not None:
            raise self._failure
        return self.journal.report

    async def _work(self, batches: Batches | None) -> None:
        while True:
            try:
                taken = await self._rows.take()
                if taken is None:
                    return
                number, row = taken
                if number == 0:
                    self.find_id(number, row)  # before anything is asked: a wrong one is wrong for all
                digest = find_digest(number, row)
                is_adopted = batches is not None and batches.adopt(number, digest, row)
                if is_adopted or self.journal.is_done(number, digest):
                    continue
            except Exception as error:  # of the rows, or of the file: no row is to blame
                self.stop(error)
                return
            await (self.ask if batches is None else batches.put)(number, digest, row)
            if self.journal.waiting >= MOST_LINES:
                try:
                    await ASYNC.call_sync(self._flush)
                except OSError as error:
                    self.stop(error)
                    return

    async def ask(
        self,
        number: int,
        digest: int,
        row: Row,
        answer: Callable[[object], Awaitable[object]] | None = None,
        batches: int = 0,
        place: int | None = None,
    ) -> None:
        """Ask for a row, and write its line.

        Args:
            number, digest, row: the row.
            answer: returns the answer to what the row asks; what is no `Exception` goes through. None: the model does.
            batches: that the row was in, of which only the last one's attempt is counted.
            place: of the row among those that are asked for (`begin_row`). None: it is asked for now.
        """
        place = self.begin_row() if place is None else place
        meter = RowMeter()
        token, hearing = row_meter.set(meter), wait_listener.set(meter.hear_wait)
        data: LineData = {"row": number}
        failure: Exception | None = None
        try:
            if (id := self.find_id(number, row)) is not None:
                data["id"] = id
            began = clock.current().now()
            asked = self.shape.read_input(row)
            output = await (self._answer(asked, meter) if answer is None else answer(asked))
            seconds = clock.current().now() - began - meter.waited
            data["output"] = write_output(self.shape.write_answer(row, output, seconds))
        except BudgetExceeded as error:
            self.journal.report.stopped = error
            self.take_no_more()
            return
        except _FOR_ALL_ROWS as error:
            self.stop(error)
            return
        except Exception as error:
            data["error"] = {"type": type(error).__name__, "message": str(error)}
            failure = error
        finally:
            row_meter.reset(token)
            wait_listener.reset(hearing)
        cost = None if meter.cost is None else format(meter.cost, "f")
        data.update(usage=meter.usage, cost=cost, attempts=meter.attempts + max(batches - 1, 0))
        self.journal.report.add_usage(meter.usage, meter.cost, data["attempts"])
        self.journal.add(digest, data)
        if failure is not None:
            self.journal.report.add_failure(read_row(data))
            if self._streak.fail(place):
                self.stop(self._explain_streak(failure))

    async def _answer(self, asked: object, meter: RowMeter) -> object:
        """Return the answer to what a row asks, which waits for its turn as long as a limit wants.

        A limit that all rows share has no turn for some of them within the time that a call has. That is no failure of the
        row, and nothing was sent: it asks for a turn again.
        """
        while True:
            try:
                return await self.model.ainvoke(asked)
            except RateLimitError as error:
                if error.was_sent or error.retry_after is None or meter.attempts:
                    raise
                began = clock.current().now()
                await clock.current().sleep(max(error.retry_after, TICK))
                end_wait(began)

    def find_id(self, number: int, row: Row) -> object:
        """Return a row's own id; None: it has none.

        Raises:
            InvalidInput: it has to have one.
        """
        return None if self.shape.id is None else find_id(self.shape.id, number, row)

    def begin_row(self) -> int:
        """Return the place of a row that is asked for now: those that fail before and after it do not fail in a row."""
        return self._streak.begin()

    def _explain_streak(self, last: Exception) -> TooManyFailures:
        error = TooManyFailures(
            f"{self._longest_streak} rows in a row failed, the last one with {type(last).__name__}: {last}; when that is "
            "mended, run it again: it goes on where it was, and asks again for rows that failed; or raise "
            f"max_consecutive_failures={self._longest_streak}"
        )
        error.__cause__ = last
        return error

    def stop(self, error: BaseException) -> None:
        """Begin no further row; the run ends with this error when those in flight have ended."""
        self._failure = self._failure or error
        self.stopping.set()
        self.take_no_more()

    def take_no_more(self) -> None:
        """Begin no further row."""
        self._rows.stop()

    async def _write_often(self) -> None:
        told_at = self._began_at
        while True:
            await clock.current().sleep(TICK)
            try:
                if self.journal.waiting:  # a batch is waited for all day
                    await ASYNC.call_sync(self._flush)
                if clock.current().now() - told_at >= PROGRESS_EVERY:
                    told_at = clock.current().now()
                    await self._tell()
            except Exception as error:  # of the disk, or of the function that is told how far it is
                self.stop(error)

    def _flush(self) -> None:
        self.journal.flush(sync=self._fsync)

    async def _tell(self) -> None:
        report = self.journal.report
        report.seconds = clock.current().now() - self._began_at
        report.pending = self.journal.pending
        if self._listener is not None:
            returned = self._listener(report)
            if inspect.isawaitable(returned):
                await cast("Awaitable[object]", returned)


def write_output(output: object) -> object:
    """Return an answer as JSON data.

    Raises:
        InvalidInput: it is none.
    """
    if isinstance(output, AIMessage):
        if not output.tool_calls:
            return output.text
        return {"content": output.text, "tool_calls": [dict(call) for call in output.tool_calls]}
    if isinstance(output, BaseModel):
        return output.model_dump(mode="json")
    if output is None or isinstance(output, str | int | float | bool):
        return output
    if isinstance(output, Mapping):
        return {str(key): write_output(value) for key, value in cast("Mapping[object, object]", output).items()}
    if isinstance(output, list | tuple):
        return [write_output(one) for one in cast("list[object]", output)]
    raise InvalidInput(
        f"the answer is a {type(output).__name__}, which is no JSON; have the chain end with a text or data"
    )
