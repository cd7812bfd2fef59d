"""What the commands have in common that ask for many things: their options, what they may spend, and how they end."""

import argparse
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from hocket.cli.arguments import OneLineParser, parse_count, parse_price, parse_seconds, require_writable
from hocket.cli.output import keep_line_open, note
from hocket.cli.progress import ProgressLine, note_pending
from hocket.cli.stop_signals import StopSignal
from hocket.errors import InvalidInput

if TYPE_CHECKING:
    from hocket.batch.progress import Listener

__all__ = ["add_bulk_options", "add_ledger_option", "run_bulk", "use_ledger", "use_price"]

Report = TypeVar("Report")


def add_bulk_options(parser: OneLineParser, things: str) -> None:
    """Add the options of a bulk run; ``things``: what it asks for."""
    parser.declare("--max-concurrency N", f"{things} asked for at once (default: 100)", type=parse_count, default=100)
    parser.declare("--budget USD", "stop before more than this is spent, in all runs on FILE: 5, 0.50")
    parser.declare(
        "--price IN,OUT",
        "what the model costs live, half by batch, in US dollars a million tokens of input, and of output: 1.25,10",
        type=parse_price,
    )
    add_ledger_option(parser)
    parser.declare(
        "--via",
        "live: at once (default); provider: by its batch endpoint, within a day, at half the price",
        choices=("live", "provider"),
        default="live",
    )
    again = f"where {things} are asked again that a batch left unanswered (default: as --via)"
    parser.declare("--retry-via", again, choices=("live", "provider"))
    parser.declare(
        "--wait SECONDS", "seconds to wait for batches; 0: submit, collect what is there, and end", type=parse_seconds
    )


def add_ledger_option(parser: OneLineParser) -> None:
    """Add the option that names a ledger."""
    parser.declare("--ledger LEDGER", "the ledger for all calls: a file, sqlite:///... or postgresql://...")


def use_ledger(address: str | None) -> None:
    """Have all models of the process book there; None: nowhere.

    Raises:
        InvalidInput: it is no address of a ledger, or a file that cannot be written.
        MissingDependency: it is one of a server whose client is not installed.
    """
    if address is None:
        return
    from hocket._databases.urls import parse_address
    from hocket.ledger import open_ledger, set_ledger

    ledger, found = open_ledger(address), parse_address(address, "a ledger")
    if found.kind in ("file", "sqlite"):
        if os.path.isdir(found.place):
            raise InvalidInput(f"--ledger {found.place} is a directory; name a file in it")
        require_writable("--ledger", found.place)
    set_ledger(ledger)


def use_price(price: tuple[str, str] | None, model: str = "*") -> None:
    """Have a model cost so much, live, and half by batch; "*": whatever its name is. None: what the tables say."""
    from hocket.prices import Price, set_prices

    if price is not None:
        set_prices({model: Price(*price, batch=Price(*price).halve())})


def run_bulk(
    ask: Callable[["Listener"], Awaitable[Report]],
    arguments: argparse.Namespace,
    count: int,
    *files: str,
    stop: StopSignal | None = None,
) -> Report:
    """Return what a bulk run comes to, within its budget and booked in its ledger.

    Args:
        ask: is told where to show how far it is.
        arguments: of the command.
        count: of what is asked for.
        files: where it writes, whose earlier runs count for the budget.
        stop: holds the first Ctrl-C or SIGTERM, which ``ask`` goes by; None: it breaks off what is in flight.

    Raises:
        KeyboardInterrupt, SystemExit: Ctrl-C, SIGTERM; what has come is in the files.
        HocketError: the budget or the ledger is none; or what ``ask`` raises.
    """
    from hocket._runtime.portal import run_in_portal
    from hocket.batch.replay import hold_for_files
    from hocket.budgets import Budget

    budget = None if arguments.budget is None else Budget(usd=arguments.budget, name="--budget")
    use_ledger(arguments.ledger)
    line = ProgressLine(count, is_begun=any(map(os.path.exists, files)))

    async def ask_within_budget() -> Report:
        async with hold_for_files(budget, *files):
            return await ask(line.show)

    try:
        with contextlib.nullcontext() if stop is None else stop.hold(), keep_line_open(line.end_row):
            return run_in_portal(ask_within_budget)
    except (KeyboardInterrupt, SystemExit):
        note("stopped; the same command goes on")
        note_pending(arguments)
        raise
    finally:
        line.finish()
