"""``hocket cassette``: recorded conversations of a test suite, shown, and checked before they are committed."""

import argparse
from pathlib import Path

from hocket.cli.arguments import OneLineParser, parse_count
from hocket.cli.exits import FAILED
from hocket.cli.output import note, print_lines
from hocket.errors import InvalidInput

__all__ = ["HELP", "configure", "run"]

HELP = "Show and check the cassettes of a test suite: recorded answers of models."
_SHOW = "Print who said what in a cassette."
_CHECK = "Look for secrets, and for recordings that are old or damaged."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    show = commands.add_parser("show", help=_SHOW, description=_SHOW)
    show.declare("file FILE", "the cassette", type=Path)
    show.set_defaults(act=_show)
    check = commands.add_parser("check", help=_CHECK, description=_CHECK)
    check.declare("places DIR", "a directory of cassettes, or one of them", nargs="+", type=Path)
    check.declare("--max-age DAYS", "recordings that are older are told (365)", type=parse_count, default=365)
    check.set_defaults(act=_check)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for.

    Returns:
        0; 1 if something is wrong with a cassette that was checked.

    Raises:
        InvalidInput: there is no such file, or it is no cassette.
    """
    code: int = arguments.act(arguments)
    return code


def _show(arguments: argparse.Namespace) -> int:
    from hocket.testing.cassettes.tape import read_tape
    from hocket.testing.cassettes.transcript import write_transcript

    try:
        tape = read_tape(arguments.file)
    except FileNotFoundError:
        raise InvalidInput(f"there is no {arguments.file}") from None
    if tape.recorded is not None:
        note(f"recorded on {tape.recorded:%Y-%m-%d} with hocket {tape.version}")
    print_lines(write_transcript(tape.exchanges))
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from hocket.testing.cassettes.review import find_cassettes, review_cassette

    checked = [path for place in arguments.places for path in find_cassettes(place)]
    faults = [f"{path}: {fault}" for path in checked for fault in review_cassette(path, arguments.max_age)]
    print_lines(faults)
    note(f"{len(checked)} cassettes, {len(faults)} faults")
    return FAILED if faults else 0
