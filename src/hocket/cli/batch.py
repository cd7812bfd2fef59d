"""``hocket batch``: a model asked for each row of a file, into a file that a run which was stopped goes on with.

Nothing goes to standard output. A terminal shows how far the run is; where standard error is none, one last line tells.
"""

import argparse
import json
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import TYPE_CHECKING, TypeVar

from hocket.cli.arguments import OneLineParser, add_model_options, add_schema_option, parse_count, require_writable
from hocket.cli.bulk import add_bulk_options, run_bulk, use_price
from hocket.cli.exits import FAILED, use_command_words
from hocket.cli.model_options import read_model_options
from hocket.cli.output import note
from hocket.cli.progress import explain_stop
from hocket.cli.stop_signals import StopSignal
from hocket.errors import InvalidInput

if TYPE_CHECKING:
    from hocket.batch import BatchReport
    from hocket.batch.progress import Listener
    from hocket.runnables import Runnable

__all__ = ["HELP", "configure", "run"]

Row = TypeVar("Row")

_NAMED = 3  # rows that failed

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
    add_bulk_options(parser, "rows")
    parser.declare(
        "--max-consecutive-failures N",
        "stop after this number of failed rows in a row (default: 100)",
        type=parse_count,
        default=100,
    )
    parser.declare("--no-retry-failed", "leave rows that failed in an earlier run")
    parser.declare("--redo", "ask again where the file is of another model, or a row has changed")
    parser.declare("--cancel", "ask the provider to end the batches of FILE that are under way, and nothing else")


def run(arguments: argparse.Namespace) -> int:
    """Ask for the rows.

    Returns:
        the exit code: `FAILED` if a row failed, `LIMITED` if the budget was used up, `PAUSED` if batches are under way.

    Raises:
        KeyboardInterrupt, SystemExit: Ctrl-C, SIGTERM; what was in flight has been finished.
        HocketError: an argument is wrong, a line is no row, or what the model raises that all rows would meet.
    """
    from hocket.batch.fingerprint import make_fingerprint
    from hocket.batch.run import arun_batch
    from hocket.cli.batch_rows import InputFile
    from hocket.cli.choice import open_first_model
    from hocket.cli.schemas import parse_schema

    require_writable("--out", arguments.out)
    schema = None if arguments.schema is None else parse_schema(arguments.schema)
    rows = InputFile(arguments.rows, arguments.system)
    rows.check()
    model = open_first_model(arguments.model, arguments.base_url, read_model_options(arguments)).model
    use_price(arguments.price)
    version = make_fingerprint(model) + ("" if schema is None else f" {json.dumps(schema, sort_keys=True)}")
    asked = rows.prepare(model, schema)
    if arguments.cancel:
        return _cancel(asked, arguments.out)
    stop = StopSignal()

    def ask(progress: "Listener") -> "Awaitable[BatchReport]":
        return arun_batch(
            asked,
            _until(stop, rows.read()),
            arguments.out,
            id=rows.find_id,
            max_concurrency=arguments.max_concurrency,
            retry_failed=not arguments.no_retry_failed,
            max_consecutive_failures=arguments.max_consecutive_failures,
            on_mismatch="redo" if arguments.redo else "raise",
            progress=progress,
            version=version,
            via=arguments.via,
            retry_via=arguments.retry_via,
            wait=arguments.wait,
        )

    # What is in flight ends within seconds, but not what is in a batch: that is left under way at once.
    report = run_bulk(ask, arguments, rows.count, arguments.out, stop=stop if arguments.via == "live" else None)
    _name_failures(report, arguments.out)
    stop.raise_again()
    code = explain_stop(report.stopped, arguments)
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
    """Say which rows of this run failed, and of what: the first ones; and what of the file could not be read."""
    from hocket.batch.report import describe_row

    for row in report.failures[:_NAMED]:
        note(use_command_words(describe_row(row)))
    more = sum(report.errors.values()) - _NAMED
    if more > 0:
        counts = ", ".join(f"{count} {name}" for name, count in report.errors.items())
        note(f"and {more} more, which are in {out}; in all {counts}")
    if report.unreadable:
        note(f"{report.unreadable} lines of {out} could not be read; they stay there, and were not counted")


async def _until(stop: StopSignal, rows: Iterator[Row]) -> AsyncIterator[Row]:
    """Yield rows until Ctrl-C. Rows of a sync iterable would be read ahead, and those that were read are still asked."""
    for row in rows:
        if stop.number is not None:
            return
        yield row
