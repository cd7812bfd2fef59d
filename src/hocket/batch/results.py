"""The results of a batch, read as they come, and the chain run for each row that has its reply."""

import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple

import anyio
from pydantic_core import from_json

from hocket.batch.entry import BatchEntry
from hocket.batch.patience import NotNow, Patience, may_pass
from hocket.batch.runner import BatchRun
from hocket.batch.wire import GivingWire, RowUnanswered, run_row
from hocket.errors import LLMError
from hocket.http.request import HTTPReply
from hocket.remote.batch_api import BatchState
from hocket.remote.batch_client import BatchClient, ResultLine

__all__ = ["MOST_TRIES", "NumberedRow", "ResultReader"]

MOST_TRIES = 3
"""Batches that a row may be in, and times that its results are fetched."""

_log = logging.getLogger("hocket.batch")


class NumberedRow(NamedTuple):
    """A row that waits for its answer: its place among the rows, what it asks as a number, and itself."""

    number: int
    digest: int
    row: object


class ResultReader:
    """Reads the results of one batch.

    Args:
        run: writes the lines of the rows.
        entry: of the batch.
        client: asks the provider.
        rows: that wait for their replies, by their numbers.
        make_wire: returns what gives a row its reply.
        patience: how long is waited.
        places: of rows that are read at once.

    Attributes:
        rest: rows that the batch left open.
        lost: those of them that the provider has answered, and whose answers are not in its results.
    """

    def __init__(
        self,
        run: BatchRun[Any],
        entry: BatchEntry,
        client: BatchClient,
        rows: Mapping[int, NumberedRow],
        make_wire: Callable[[int, HTTPReply], tuple[GivingWire, int]],
        patience: Patience,
        places: anyio.Semaphore,
    ) -> None:
        self.rest: list[NumberedRow] = []
        self.lost: list[NumberedRow] = []
        self._run = run
        self._entry = entry
        self._client = client
        self._left = dict(rows)
        self._make_wire = make_wire
        self._patience = patience
        self._places = places
        self._unreached: set[int] = set()

    async def read(self, state: BatchState) -> list[NumberedRow]:
        """Read all there is; return the rows that are open.

        Raises:
            NotNow: the run ends first.
            LLMError: the provider refuses to give the results.
        """
        count = len(self._left)
        for number in range(MOST_TRIES):
            if number:
                await self._patience.rest(2.0**number)
            for place in state.results:
                error = await self._fetch(place)
                if error is not None:
                    _log.warning("the results of the batch %s broke off: %s", self._entry.id, error)
            if count - len(self._left) + len(self._unreached) >= min(state.done, count):
                break
        else:
            self.lost = [one for number, one in self._left.items() if number not in self._unreached]
            _log.warning(
                "%d rows of the batch %s are not in its results; they are asked again, and budgets count them as paid",
                len(self.lost),
                self._entry.id,
            )
        return [*self.rest, *self._left.values()]

    async def _fetch(self, place: str) -> LLMError | None:
        """Read one file of results; return what it broke off with."""
        async with anyio.create_task_group() as reading:
            try:
                async with aclosing(self._client.fetch(place)) as lines:
                    async for line in lines:
                        found = self._read_line(line)
                        if found is not None:
                            await self._places.acquire()
                            reading.start_soon(self._read_row, *found)
                        if self._run.stopping.is_set():
                            break
            except LLMError as error:
                if error.status == 404 or may_pass(error):
                    return error
                self._run.stop(error)
        if self._run.stopping.is_set():
            raise NotNow
        return None

    def _read_line(self, line: ResultLine) -> tuple[NumberedRow, HTTPReply] | None:
        """Return a row that waits, and the reply that a line has for it; None: the line has none."""
        id = self._entry.id
        try:
            custom_id, reply = self._client.api.read_line(from_json(line) if isinstance(line, bytes) else line)
            key, _, text = custom_id.rpartition("-")
            number = int(text)
        except Exception:  # of whatever shape it is, it costs no other row
            _log.warning("a line of the results of the batch %s cannot be read", id)
            return None
        if key != self._entry.key or not self._entry.has(number):
            _log.warning("the results of the batch %s have an unknown row %s", id, custom_id)
            return None
        if number not in self._left:  # it is there twice, or an earlier run has read it
            return None
        if reply is None:
            self._unreached.add(number)
            return None
        return self._left.pop(number), reply

    async def _read_row(self, one: NumberedRow, reply: HTTPReply) -> None:
        """Run the chain for a row that has its reply."""
        wire, tries = self._make_wire(one.number, reply)
        try:
            await self._run.ask(*one, lambda asked: run_row(self._run.model, asked, wire), tries)
        except RowUnanswered:
            self.rest.append(one)
        finally:
            if wire.is_passed_by:
                _log.warning(
                    "row %d asks something else than was submitted in the batch %s: its answer there is paid, and not used",
                    one.number,
                    self._entry.id,
                )
            self._places.release()
