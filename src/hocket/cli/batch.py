"""``hocket batch``: a model asked for each row of a file, into a file that a run which was stopped goes on with.

Nothing goes to standard output. A terminal shows how far the run is; where standard error is none, one last line tells.
"""

import argparse
import contextlib
import json
import signal
import threading
from collections.abc import AsyncIterator, Generator, Iterator
from typing import TYPE_CHECKING, TypeVar

from hocket.cli.arguments import (
    OneLineParser,
    add_model_options,
    add_schema_option,
    parse_count,
    parse_price,
    parse_seconds,
    require_writable,
)
from hocket.cli.exits import FAILED, use_command_words
from hocket.cli.model_options import read_model_options
from hocket.cli.output import keep_line_open, note
from hocket.cli.progress import ProgressLine, explain_stop, note_pending
from hocket.errors import InvalidInput

if TYPE_CHECKING:
    from hocket.batch import BatchReport
    from hocket.batch.route import Via
    from hocket.runnables import Runnable

__all__ = ["HELP", "configure", "run"]

Row = TypeVar("Row")

_NAMED = 3  # rows that failed
_VIA = ("live", "provider")

HELP = "Ask a model for each row of a file; a run that was stopped goes on where it was."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare(
        "rows IN",
        'a file, or - for standard input; a row a line: a JSON text, {"id": …, "input": …} or {"messages": […]}',
    )
    parser.declare("--out FILE", "where the answers go, as lines of JSON", required=True)
    add_model_options(parser)
    add_schema_option(parser)
    parser.declare("--max-concurrency N", "rows asked for at once (default: 100)", type=parse_count, default=100)
    parser.declare("--budget USD", "stop before more than this is spent, in all runs on FILE: 5, 0.50")
    parser.declare(
        "--price IN,OUT",
        "what the model costs live, half by batch, in US dollars a million tokens of input, and of output: 1.25,10",
        type=parse_price,
    )
    parser.declare(
        "--max-consecutive-failures N",
        "stop when so many rows in a row have failed (default: 100)",
        type=parse_count,
        default=100,
    )
    parser.declare("--no-retry-failed", "leave rows that failed in an earlier run")
    parser.declare("--redo", "ask again where the file is of another model, or a row has changed")
    parser.declare(
        "--via",
        "live: at once (default); provider: by its batch endpoint, within a day, at half the price",
        choices=_VIA,
    )
    parser.declare(
        "--retry-via", "where rows are asked again that a batch left unanswered (default: as --via)", choices=_VIA
    )
    parser.declare(
        "--wait SECONDS", "wait so long for batches; 0: submit, collect what is there, and end", type=parse_seconds
    )
    parser.declare("--cancel", "ask the provider to end the batches of FILE that are under way, and nothing else")


def run(arguments: argparse.Namespace) -> int:
    """Ask for the rows.

    Returns:
        the exit code: `FAILED` if a row failed, `LIMITED` if the budget was used up, `PAUSED` if batches are under way.

    Raises:
        KeyboardInterrupt: Ctrl-C; what was in flight has been finished.
        HocketError: an argument is wrong, a line is no row, or what the model raises that all rows would meet.
    """
    from hocket._runtime.portal import run_in_portal
    from hocket.batch.fingerprint import make_fingerprint
    from hocket.batch.replay import hold_for_files
    from hocket.batch.run import arun_batch
    from hocket.budgets import Budget
    from hocket.cli.batch_rows import InputFile
    from hocket.cli.choice import open_first_model
    from hocket.cli.schemas import parse_schema
    from hocket.prices import Price, set_prices

    require_writable("--out", arguments.out)
    schema = None if arguments.schema is None else parse_schema(arguments.schema)
    rows = InputFile(arguments.rows, arguments.system)
    rows.check()
    budget = None if arguments.budget is None else Budget(usd=arguments.budget, name="--budget")
    model = open_first_model(arguments.model, arguments.base_url, read_model_options(arguments)).model
    if arguments.price is not None:
        set_prices({"*": Price(*arguments.price, batch=Price(*arguments.price).halve())})  # whatever the name is
    version = make_fingerprint(model) + ("" if schema is None else f" {json.dumps(schema, sort_keys=True)}")
    if arguments.cancel:
        return _cancel(rows.prepare(model, schema), arguments.out)
    line = ProgressLine(rows.count)
    stop = threading.Event()
    via: Via = arguments.via or "live"

    async def ask() -> "BatchReport":
        async with hold_for_files(budget, arguments.out):
            return await arun_batch(
                rows.prepare(model, schema),
                _until(stop, rows.read()),
                arguments.out,
                id=rows.find_id,
                max_concurrency=arguments.max_concurrency,
                retry_failed=not arguments.no_retry_failed,
                max_consecutive_failures=arguments.max_consecutive_failures,
                on_mismatch="redo" if arguments.redo else "raise",
                progress=line.show,
                version=version,
                via=via,
                retry_via=arguments.retry_via,
                wait=arguments.wait,
            )

    try:
        # What is in flight ends within seconds, but not what is in a batch: Ctrl-C leaves that under way at once.
        with _finish_at_ctrl_c(stop) if via == "live" else contextlib.nullcontext(), keep_line_open(line.end_row):
            report = run_in_portal(ask)
    except KeyboardInterrupt:
        note_pending(arguments.out, can_cancel=True)
        raise
    finally:
        line.finish()
    _name_failures(report, arguments.out)
    if report.unreadable:
        note(f"{report.unreadable} lines of {arguments.out} could not be read; they stay there, and were not counted")
    if stop.is_set():
        raise KeyboardInterrupt
    code = explain_stop(report.stopped, arguments.out, can_cancel=True)
    return code if code is not None else FAILED if report.failed else 0


def _cancel(model: "Runnable[dict[str, object], object]", out: str) -> int:
    from hocket.batch import cancel_batch

    try:
        count = cancel_batch(model, out)
    except OSError as error:
        raise InvalidInput(f"--out is {out}, which cannot be read: {error.strerror or error}") from error
    note(f"{count} batches are asked to end; the same command without --cancel collects what they have answered")
    return 0


def _name_failures(report: "BatchReport", out: str) -> None:
    """Say which rows of this run failed, and of what: the first ones."""
    from hocket.batch.report import describe_row

    for row in report.failures[:_NAMED]:
        note(use_command_words(describe_row(row)))
    more = sum(report.errors.values()) - _NAMED
    if more > 0:
        counts = ", ".join(f"{count} {name}" for name, count in report.errors.items())
        note(f"and {more} more, which are in {out}; in all {counts}")


async def _until(stop: threading.Event, rows: Iterator[Row]) -> AsyncIterator[Row]:
    """Yield rows until Ctrl-C. Rows of a sync iterable would be read ahead, and those that were read are still asked."""
    for row in rows:
        if stop.is_set():
            return
        yield row


@contextlib.contextmanager
def _finish_at_ctrl_c(stop: threading.Event) -> Generator[None]:
    """Have the first Ctrl-C begin no further row, and the second one break off what is in flight."""

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        note("finishing what is in flight; Ctrl-C once more breaks it off")

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
