"""A batch that was submitted, by this run or an earlier one, and the way to its end."""

import logging
import random
from collections.abc import Iterable

import anyio

from hocket.batch.entry import BatchEntry
from hocket.batch.patience import Patience, may_pass
from hocket.batch.results import NumberedRow
from hocket.errors import LLMError
from hocket.remote.batch_api import BatchState
from hocket.remote.batch_client import BatchClient

__all__ = ["BatchUnderWay", "wait_for_end"]

FIRST_POLL, GROWTH, LAST_POLL = 1.0, 1.5, 60.0
"""Seconds between two looks at a batch, and how they grow."""

_log = logging.getLogger("hocket.batch")


class BatchUnderWay:
    """A batch, and those of its rows that wait for their answers."""

    def __init__(self, entry: BatchEntry, client: BatchClient | None = None, rows: Iterable[NumberedRow] = ()) -> None:
        self.entry: BatchEntry = entry
        self.client: BatchClient | None = client
        self.rows: dict[int, NumberedRow] = {one.number: one for one in rows}
        self.is_begun: bool = client is not None
        self.is_looked_at: anyio.Event = anyio.Event()  # it is known whether it has ended, and its answers are read
        self.is_whole: bool = True  # whether all rows that wait were given to this run


async def wait_for_end(
    submission: BatchUnderWay, client: BatchClient, state: BatchState | None, patience: Patience
) -> BatchState | None:
    """Return the last state of a batch; None: its provider knows it no more."""
    entry, pause = submission.entry, FIRST_POLL
    while True:
        if state is not None:
            if state.state != "running":
                return state
            submission.is_looked_at.set()
            await patience.pause(pause * random.uniform(0.8, 1.2))
            pause = min(pause * GROWTH, LAST_POLL)
        try:
            state = await client.get(str(entry.id))
        except LLMError as error:
            if error.status == 404:
                _log.warning("the batch %s is gone; its rows are asked again, and budgets count them as paid", entry.id)
                return None
            if not may_pass(error):
                raise
            _log.warning("the batch %s cannot be asked for, and is later: %s", entry.id, error)
            await patience.pause(pause)
            pause = min(pause * GROWTH, LAST_POLL)
