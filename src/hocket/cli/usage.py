"""``hocket usage``: what a ledger says was used, and what it cost."""

import argparse
import json
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from hocket.cli.arguments import OneLineParser
from hocket.cli.output import accept_any_text, print_lines, write_columns
from hocket.errors import InvalidInput

if TYPE_CHECKING:
    from hocket.ledger import LedgerTotal

__all__ = ["HELP", "configure", "run"]

HELP = "Show the usage and the costs in a ledger."

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_COLUMNS = ("calls", "failed", "cached", "open", "input_tokens", "cached_share", "output_tokens", "cost")


def _parse_age(text: str) -> timedelta:
    """Return a length of time: 90s, 30m, 12h, 7d, 4w.

    Raises:
        ArgumentTypeError: it is none.
    """
    match = re.fullmatch(r"(\d+)([smhdw])", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time: 90s, 30m, 12h, 7d, 4w")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("ledger LEDGER", "a file (SQLite, or .jsonl), sqlite:///... or postgresql://...")
    parser.declare("--by NAMES", "columns or metadata to group by: model,tenant (default: model)", default="model")
    parser.declare("--since AGE", "only the last 90s, 30m, 12h, 7d, 4w", type=_parse_age)
    parser.declare("--json", "print a JSON object for each group")


def run(arguments: argparse.Namespace) -> None:
    """Print the totals.

    Raises:
        HocketError: there is no such ledger, or it cannot be read.
    """
    from hocket._databases.urls import parse_address
    from hocket.ledger import open_ledger

    accept_any_text()
    address = parse_address(arguments.ledger, "a ledger")
    if address.kind in ("file", "sqlite") and not os.path.exists(address.place):
        raise InvalidInput(f"there is no ledger at {address.place}")  # to open one would make it
    names = [name.strip() for name in arguments.by.split(",") if name.strip()]
    totals = open_ledger(arguments.ledger).total(by=names, since=arguments.since)
    if arguments.json:
        print_lines(json.dumps(_to_json(total), ensure_ascii=False) for total in totals)
    else:
        print_lines(_write_table(names, totals))


def _to_json(total: "LedgerTotal") -> dict[str, object]:
    said = {name: str(value) if isinstance(value, Decimal) else value for name, value in vars(total).items()}
    return {**said, "cached_share": total.cached_share}


def _write_table(names: list[str], totals: "list[LedgerTotal]") -> Iterator[str]:
    head = [*names, *(name.replace("_tokens", "") for name in _COLUMNS)]
    rows = [[*(str(total.group.get(name) or "-") for name in names), *_write_numbers(total)] for total in totals]
    return write_columns(head, rows, numbers=len(_COLUMNS))


def _write_numbers(total: "LedgerTotal") -> list[str]:
    """Return the numbers of a row; a cost that is not all is marked with a plus sign."""
    cost = f"${total.cost:.4f}" + ("+" if total.unpriced else "")
    share = "-" if total.cached_share is None else f"{total.cached_share:.0%}"
    return [*({"cost": cost, "cached_share": share}.get(name) or str(getattr(total, name)) for name in _COLUMNS)]
