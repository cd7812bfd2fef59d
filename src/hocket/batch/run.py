"""A bulk run, from its arguments to its report."""

import os
from collections.abc import AsyncIterable, Callable, Iterable
from typing import Any, Final, TypeVar

import anyio

from hocket._runtime.mode import ASYNC
from hocket._runtime.sync_twin import sync_function
from hocket.batch.fingerprint import make_fingerprint
from hocket.batch.journal import BatchJournal, MismatchPolicy
from hocket.batch.progress import Progress, make_listener
from hocket.batch.report import BatchReport, RetryFailed
from hocket.batch.route import Route, Via
from hocket.batch.rows import RowShape, RowSource
from hocket.batch.runner import BatchRun
from hocket.errors import InvalidInput
from hocket.runnables import Runnable

__all__ = ["arun_batch", "run_batch"]

Row = TypeVar("Row")


async def arun_batch(
    model: Runnable[Any, Any],
    rows: Iterable[Row] | AsyncIterable[Row],
    out: str | os.PathLike[str],
    *,
    id: str | Callable[[Row], object] | None = None,
    input: Callable[[Row], object] | None = None,
    write: Callable[[Row, Any, float], object] | None = None,
    max_concurrency: int = 100,
    retry_failed: RetryFailed = True,
    max_consecutive_failures: int | None = 100,
    progress: Progress | None = None,
    on_mismatch: MismatchPolicy = "raise",
    fsync: bool = False,
    version: str | None = None,
    via: Via = "live",
    retry_via: Via | None = None,
    wait: float | None = None,
) -> BatchReport:
    """Ask for each row, and write the answers into a file of JSON lines, in the order in which they come.

    A run that was killed, stopped or cancelled goes on where it was when it is called again with the same rows. Killed at
    any point, it has lost no row that is in the file, answers none twice, and asks twice at most what was in flight, and
    what came in the last 50 ms. The lines are read by `read_batch`, or any program.

    Args:
        model: a model, a chain, an agent: whatever is runnable.
        rows: what it is asked, one after another. They are not kept: there may be any number.
        out: the path of the file.
        id: each row's own, for its line: a key of rows that are mappings, or a function of a row; None: rows have none.
            The first row must have it, or nothing is asked; another one without it fails, and is not asked. A function
            may return None: that row has none.
        input: what the model is asked for a row, as a function of it; None: the row itself.
        write: what stands in the line as its ``output``, as a function of the row, the answer, and the seconds that it
            took; None: the answer.
        max_concurrency: rows that are asked at once.
        retry_failed: whether rows that failed in an earlier run are asked again, or a function of such a row that says it.
        max_consecutive_failures: the run ends when so many rows that were asked one after another have failed, whatever
            the errors are: the server is down, or the chain has a mistake. None: never.
        progress: told how far it is, twice a second and at its end: a function of the report, which may be async, or a
            progress bar, such as ``tqdm(total=len(rows))``, which writes the first failures, too.
        on_mismatch: what to do with a file of another model, or where a row has changed: "raise", or "redo", which asks
            again.
        fsync: whether to wait, at each write, until the disk has it; else a power cut may take the last seconds.
        version: what stands for the model in the file, alone: name the model in it. None: all that changes an answer, in
            the whole chain: models, prompts, schemas, tools, arguments. A function counts by its name and by the models
            and chains that it uses, not by its code; another object that cannot be written down by its class.

        via: "live": each row is a call, answered at once. "provider": rows go through the provider's batch endpoint, which
            answers within a day, mostly within an hour, at half the price or so. Steps before the model then run twice.
        retry_via: where a row is asked again that its batch left unanswered (it expired, was cancelled, or failed of what
            passes), and where a row's further requests go, as an agent's. "live": at once, at the full price. None: as
            ``via``: a row is in three batches at most, and makes one request.
        wait: seconds to wait for batches at most; 0: submit, collect what is there, and return. None: until their end.

    Returns:
        what the file holds now. ``stopped`` is set if a budget was used up: what was in flight has been finished; or if
        ``wait`` was over first (`BatchPending`): ``pending`` rows are under way, and the same call collects them.

    Raises:
        BatchBusy: another run writes to the file.
        BatchFailed: the provider refused a batch as a whole.
        Unsupported: the model, or the chain's, has no batch endpoint.
        ResumeMismatch: the file is of another model, or of other rows.
        InvalidInput: an argument is of no use, the first row has no such ``id``, the file is none of a batch, or a row
            holds an object that a later run could not know again.
        TooManyFailures: see ``max_consecutive_failures``; the next run asks again for what failed.
        HocketError: one that all rows would meet, as a key that is refused.
        BatchFileFailed: the file cannot be opened or written; it is an OSError, too.

    Examples:
        >>> import asyncio, os, tempfile
        >>> from hocket import FakeListChatModel
        >>> from hocket.batch import arun_batch, read_batch
        >>> path = os.path.join(tempfile.mkdtemp(), "answers.jsonl")
        >>> report = asyncio.run(arun_batch(FakeListChatModel(responses=["Yes."]), ["One?", "Two?"], path))
        >>> report.ok, report.failed, [row.output for row in read_batch(path)]
        (2, 0, ['Yes.', 'Yes.'])
    """
    if max_concurrency < 1:
        raise InvalidInput(f"max_concurrency is {max_concurrency}; it must be 1 or more")
    if max_consecutive_failures is not None and max_consecutive_failures < 1:
        raise InvalidInput(
            f"max_consecutive_failures is {max_consecutive_failures}; it must be 1 or more, or None: never"
        )
    if on_mismatch not in ("raise", "redo"):
        raise InvalidInput(f'on_mismatch is {on_mismatch!r}; it must be "raise" or "redo"')
    if not isinstance(model, Runnable):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"{type(model).__name__} is not runnable: give a model, a chain or an agent")
    route = Route.check(model, via, retry_via, wait)
    listener = make_listener(progress)
    source = RowSource(rows)
    fingerprint = version or make_fingerprint(model)
    journal = await ASYNC.acquire(lambda: BatchJournal(out, fingerprint, on_mismatch, retry_failed), BatchJournal.close)
    shape = RowShape(id, input, write)
    run = BatchRun(model, source, journal, shape, listener, fsync, max_consecutive_failures)
    try:
        if route.via == "live" and not journal.batches:
            return await run.run(max_concurrency)
        from hocket.batch.provider import ProviderBatches  # for live rows nothing of it is loaded
        from hocket.batch.wire import give_replies

        with give_replies():
            return await run.run(max_concurrency, ProviderBatches(run, route))
    finally:
        with anyio.CancelScope(shield=True):
            await ASYNC.call_sync(journal.close)


run_batch: Final = sync_function(arun_batch)
"""`arun_batch`, from sync code. Ctrl-C cancels it; the file can be gone on with."""
