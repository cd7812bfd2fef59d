"""Rows that a provider's batches answer: written, submitted, waited for, looked for, read.

A batch is in the journal before anything of it is sent. No provider takes a key by which it would know a request that comes
twice, so whatever is not clearly refused may have been taken: who does not know looks at the provider's list first, and
submits again only what is not there. What a batch left unanswered is open again when the batch has ended, and goes into
another one.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Any

import anyio
from anyio.abc import TaskGroup

from hocket._metering.batch_row import BatchPlace
from hocket._pipeline.reservations import release_ahead, reserve_ahead
from hocket._runtime import clock
from hocket._runtime.mode import ASYNC
from hocket.batch.chunks import Chunk, Chunks
from hocket.batch.entry import BatchEntry
from hocket.batch.errors import BatchExpired, BatchFailed, BatchPending, ResumeMismatch
from hocket.batch.lookup import explain_refusal, find_batch, is_refused
from hocket.batch.patience import NotNow, Patience
from hocket.batch.results import MOST_TRIES, NumberedRow, ResultReader
from hocket.batch.route import Route, find_client
from hocket.batch.runner import BatchRun
from hocket.batch.submission import BatchUnderWay, wait_for_end
from hocket.batch.wire import GivingWire, RequestTaken, TakingWire, run_row, take_request
from hocket.errors import BudgetError, BudgetExceeded, InvalidInput, LLMError
from hocket.http.request import HTTPReply
from hocket.remote.batch_api import BatchState
from hocket.remote.batch_client import BatchClient

__all__ = ["ProviderBatches"]

FULL_PAUSE = 300.0
"""Seconds until a batch is submitted again that a provider had no room for."""

_log = logging.getLogger("hocket.batch")


class ProviderBatches:
    """The batches of one run (`hocket.batch.runner.Batches`).

    Args:
        run: the run.
        route: how rows are asked. If live, only batches of earlier runs are followed to their end.
    """

    _waiting: TaskGroup
    _places: anyio.Semaphore
    _reservations: str

    def __init__(self, run: BatchRun[Any], route: Route) -> None:
        self._run = run
        self._route = route
        self._journal = run.journal
        self._patience = Patience(route.wait, run.stopping)
        self._chunks = Chunks()
        self._earlier = {key: BatchUnderWay(entry) for key, entry in run.journal.batches.items()}
        self._turn = anyio.Lock()  # what is filled, and then submitted, is in memory: one batch of a kind at a time
        self._room = anyio.Event()
        self._has_all_rows = False

    # -- rows (`hocket.batch.runner.Batches`)

    async def start(self, waiting: TaskGroup, max_concurrency: int) -> None:
        """Begin."""
        self._reservations = await ASYNC.call_sync(self._journal.name_reservations)
        self._waiting = waiting
        self._places = anyio.Semaphore(max_concurrency, fast_acquire=True)
        for earlier in self._earlier.values():
            if not earlier.entry.waiting:  # all its rows have their lines, and only its own last one is missing
                waiting.start_soon(self._guard, self._end, earlier, "read")

    def adopt(self, number: int, digest: int, row: object) -> bool:
        """Take a row that waits for its answer in a batch of an earlier run; whether it is one."""
        found = self._journal.find_batch(number)
        if found is None or found[0].key not in self._earlier:
            return False
        entry, expected = found
        if digest != expected:
            if not self._journal.allows_mismatch:
                raise ResumeMismatch(
                    f"row {number} of {self._journal.path} asks something else than in the batch {entry.id or entry.key} "
                    'that is under way; give the rows of the first run, in its order, or on_mismatch="redo" to ask again'
                )
            entry.finish(number)
            return False
        earlier = self._earlier[entry.key]
        earlier.rows[number] = NumberedRow(number, digest, row)
        if len(earlier.rows) == entry.waiting:
            self._follow_earlier(earlier)
        return True

    async def put(self, number: int, digest: int, row: object) -> None:
        """Take a row that is to be asked."""
        await self._guard(self._put, NumberedRow(number, digest, row))

    async def submit_rest(self) -> None:
        """Submit what is left, and follow the batches of earlier runs of which not all rows were given."""
        self._has_all_rows = True
        for earlier in self._earlier.values():
            if earlier.rows and not earlier.is_begun:
                self._follow_earlier(earlier)
        await self._guard(self._submit_all)
        if self._run.stopping.is_set():
            for chunk in self._chunks.take_all():
                await self._give_back_all(one for one, *_ in chunk.rows)

    def finish(self) -> None:
        """Put the rows still under way into the report."""
        report = self._journal.report
        report.pending = self._journal.pending
        if report.pending and report.stopped is None:
            count = sum(bool(entry.waiting) for entry in self._journal.batches.values())
            report.stopped = BatchPending(
                f"{report.pending} rows are under way in {count} batch{'es' * (count > 1)} at the provider; the same call "
                "collects them, and cancel_batch ends them"
            )

    async def _guard(self, work: Callable[..., Awaitable[None]], *args: object) -> None:
        """Do something, and have an error end the run. What is under way is then left to the next run."""
        try:
            if not self._run.stopping.is_set():
                await work(*args)
        except NotNow:
            pass
        except Exception as error:
            self._run.stop(error)

    # -- from a row to a batch

    async def _put(self, one: NumberedRow) -> None:
        number, digest, row = one
        tries = self._journal.tries.get(number, 0)
        if self._route.via == "live" or (tries and self._route.retry_via == "live"):  # an earlier run was to ask it
            if tries:
                await self._give_back(one)
            return await self._run.ask(number, digest, row, batches=tries + 1)
        taken: RequestTaken | None = None
        place = self._run.begin_row()
        with contextlib.suppress(Exception):  # it is raised again, for all to hear
            self._run.find_id(number, row)
            taken = await take_request(self._run.model, self._run.shape.read_input(row))
        if taken is None:  # a cache has the answer, or a step fails
            try:
                return await self._run.ask(
                    number, digest, row, lambda asked: run_row(self._run.model, asked, TakingWire()), place=place
                )
            except RequestTaken as error:  # the cache has lost it
                taken = error
        await self._add(one, taken)

    async def _add(self, one: NumberedRow, taken: RequestTaken) -> None:
        if self._chunks.set_aside(one, taken):
            return
        try:
            held = await self._reserve(one, taken)
            async with self._turn:
                is_set_aside = self._chunks.set_aside(one, taken)  # an equal row may have come meanwhile
                full = None if is_set_aside else self._chunks.add(one, taken, held)
                if full is not None:
                    await self._submit(full)
        except (BudgetError, InvalidInput) as error:
            return await self._fail(one, error)
        if is_set_aside:
            await self._give_back(one)

    async def _reserve(self, one: NumberedRow, taken: RequestTaken) -> int:
        """Have budgets hold what a row may come to, after what they hold for batches that have ended by now is settled."""
        unread = [
            earlier for earlier in self._earlier.values() if earlier.is_begun and not earlier.is_looked_at.is_set()
        ]
        try:
            return await reserve_ahead(taken.call, self._place(one.number))
        except BudgetExceeded:
            if not unread:
                raise
        for earlier in unread:
            await earlier.is_looked_at.wait()
        return await reserve_ahead(taken.call, self._place(one.number))

    async def _submit_all(self) -> None:
        async with self._turn:
            for chunk in self._chunks.take_all():
                await self._submit(chunk)

    async def _submit(self, chunk: Chunk) -> None:
        """Write a batch down and submit it."""
        chunk.rows.sort(key=lambda one: one[0].number)
        rows, requests, lines, held = ([*column] for column in zip(*chunk.rows, strict=True))
        chunk.rows.clear()
        numbers, digests = [one.number for one in rows], [one.digest for one in rows]
        entry = BatchEntry(chunk.key, chunk.provider, numbers, digests, requests, clock.current().time(), held=held)
        await ASYNC.call_sync(self._journal.begin_batch, entry)
        submission = BatchUnderWay(entry, chunk.client, rows)
        state = await self._create(submission, chunk.client, lines)
        self._waiting.start_soon(self._guard, self._follow, submission, chunk.client, state)

    async def _create(self, submission: BatchUnderWay, client: BatchClient, lines: list[bytes]) -> BatchState:
        """Return the state of a batch that is there now: made, or found where it is not known whether one was made."""
        entry, tries = submission.entry, 0
        while True:
            try:
                file = await client.upload(entry.key, lines)
                entry.sent_at = clock.current().time()
                await ASYNC.call_sync(self._journal.mark_sent, entry)
                state = await client.create(entry.key, lines, file)
                break
            except LLMError as error:
                is_full = error.provider_code in client.api.full_words
                if not is_full and is_refused(error):
                    await self._end(submission, "refused")
                    await self._give_back_all(submission.rows.values(), entry)
                    raise explain_refusal(error) from error
                tries += not is_full
                if tries > MOST_TRIES:
                    raise
                pause = error.retry_after or 2.0**tries
            try:
                await (self._wait_for_room() if is_full else self._patience.pause(pause))
            except NotNow:
                self._run.take_no_more()  # the next batch would not go, either
                raise
            if (found := await find_batch(client, entry, self._journal, self._patience)) is not None:
                state = found
                break
        await ASYNC.call_sync(self._journal.name_batch, entry, state.id)
        return state

    # -- from a batch to its rows

    def _follow_earlier(self, earlier: BatchUnderWay) -> None:
        earlier.is_begun, earlier.is_whole = True, len(earlier.rows) == earlier.entry.waiting
        self._waiting.start_soon(self._look_at, earlier)

    async def _look_at(self, earlier: BatchUnderWay) -> None:
        try:
            await self._guard(self._find_earlier, earlier)
        finally:
            earlier.is_looked_at.set()

    async def _find_earlier(self, earlier: BatchUnderWay) -> None:
        """Follow a batch of an earlier run, if it was made; else its rows are open."""
        entry = earlier.entry
        client = find_client(self._run.model, entry.provider)
        if client is None:
            raise InvalidInput(
                f"the batch {entry.id or entry.key} in {self._journal.path} is one of {entry.provider}, and the chain has "
                "no model of that provider that could be asked for it"
            )
        state: BatchState | None = None
        if entry.id is None:
            state = await find_batch(client, entry, self._journal, self._patience)
            if state is None:
                await self._end(earlier, "not sent")
                return await self._ask_again(earlier.rows.values(), entry, is_try=False)
            await ASYNC.call_sync(self._journal.name_batch, entry, state.id)
        await self._follow(earlier, client, state)

    async def _follow(self, submission: BatchUnderWay, client: BatchClient, state: BatchState | None) -> None:
        """Wait for the end of a batch, read what it has, and ask again for the rest."""
        entry = submission.entry
        state = await wait_for_end(submission, client, state, self._patience)
        if state is not None and state.state == "failed":
            await self._end(submission, state.word or "failed")
            if state.word not in client.api.full_words:
                await self._give_back_all(submission.rows.values(), entry)
                raise BatchFailed(
                    f"{entry.provider} refused a batch of {len(entry.numbers)} rows: {state.message or state.word}; its "
                    "rows are open: when that is mended, run it again"
                )
            try:
                await self._wait_for_room()
            except NotNow:  # with no time to wait there may be room now, or in the next run
                if self._run.stopping.is_set():
                    raise
            return await self._ask_again(submission.rows.values(), entry, is_try=False)
        rest = lost = [*submission.rows.values()]
        if state is not None:
            rest, lost = await self._collect(submission, client, state)
        if self._run.stopping.is_set():
            return
        await self._give_back_all(lost, entry, is_paid=True)
        sum_lost = sum(entry.find_held(one.number) for one in lost)
        await self._end(
            submission,
            "gone" if state is None else state.word or "ended",
            tried=True,
            **({"lost": sum_lost} if sum_lost else {}),
        )
        submission.is_looked_at.set()
        await self._ask_again(rest, entry)
        await self._ask_again(self._chunks.release(entry.key), entry, is_try=False)

    async def _collect(
        self, submission: BatchUnderWay, client: BatchClient, state: BatchState
    ) -> tuple[list[NumberedRow], list[NumberedRow]]:
        """Read the results of a batch; return the rows that it left open, and which of these have lost their answers."""
        entry, is_live = submission.entry, self._route.retry_via == "live"

        def make_wire(number: int, reply: HTTPReply) -> tuple[GivingWire, int]:
            tries = self._journal.tries.get(number, 0) + 1
            is_last = not is_live and tries >= MOST_TRIES
            digest, place = entry.find_request(number), self._place(number, entry)
            return GivingWire(reply, digest, place, is_live=is_live, is_last=is_last), tries

        reader = ResultReader(self._run, entry, client, submission.rows, make_wire, self._patience, self._places)
        return await reader.read(state), reader.lost

    async def _ask_again(self, rows: Iterable[NumberedRow], entry: BatchEntry, *, is_try: bool = True) -> None:
        """Ask for rows that a batch left open, where they are asked again; ``is_try``: whether they have been asked."""
        is_live = (self._route.retry_via if is_try else self._route.via) == "live"
        async with anyio.create_task_group() as asking:
            for one in rows:
                tries = self._journal.tries.get(one.number, 0)
                if is_live:
                    await self._places.acquire()
                    asking.start_soon(self._ask_live, one, entry, tries)
                elif tries < MOST_TRIES:
                    await self._put(one)
                else:
                    await self._fail(
                        one, BatchExpired(f"{tries} batches ended before the provider ran this row; run it again")
                    )
        if self._has_all_rows:
            await self._submit_all()

    async def _ask_live(self, one: NumberedRow, entry: BatchEntry, tries: int) -> None:
        try:
            await self._give_back(one, entry)
            await self._run.ask(*one, batches=tries + 1)
        finally:
            self._places.release()

    async def _fail(self, one: NumberedRow, error: Exception) -> None:
        """Write an error for a row, and give back what budgets hold for it."""
        await self._give_back(one)

        async def fail(row: object) -> None:
            raise error

        await self._run.ask(*one, fail)

    async def _give_back_all(
        self, rows: Iterable[NumberedRow], entry: BatchEntry | None = None, is_paid: bool = False
    ) -> None:
        """Give back what budgets hold for the rows of a batch that is none, or book it, where the answers are lost."""
        left = iter(rows)
        if (first := next(left, None)) is None or not await self._give_back(first, entry, is_paid):
            return
        while part := [*islice(left, 100)]:
            async with anyio.create_task_group() as giving:
                for one in part:
                    giving.start_soon(self._give_back, one, entry, is_paid)

    async def _give_back(self, one: NumberedRow, entry: BatchEntry | None = None, is_paid: bool = False) -> bool:
        """Give back what budgets hold for a row, or book it; ``entry``: of the batch that it was in.

        Returns:
            whether there are budgets that hold.
        """
        with contextlib.suppress(Exception):
            if (taken := await take_request(self._run.model, self._run.shape.read_input(one.row))) is not None:
                return await release_ahead(taken.call, self._place(one.number, entry), is_paid=is_paid)
        return False

    # -- what all share

    def _place(self, number: int, entry: BatchEntry | None = None) -> BatchPlace:
        """Return the name by which budgets know a row, and, of one that has its reply, its batch."""
        row_id = f"{self._reservations}-{number}"
        return (
            BatchPlace("", row_id, clock.current().time()) if entry is None else BatchPlace(entry.key, row_id, entry.at)
        )

    async def _end(self, submission: BatchUnderWay, word: str, **more: Any) -> None:
        """Write down the end of a batch, after the lines of its rows. One whose rows were not all given stays open."""
        if submission.is_whole:
            await ASYNC.call_sync(lambda: self._journal.end_batch(submission.entry, word, **more))
        self._room.set()
        self._room = anyio.Event()

    async def _wait_for_room(self) -> None:
        """Wait until a batch of this run has ended, or for five minutes."""
        await self._patience.pause(FULL_PAUSE, self._room)
