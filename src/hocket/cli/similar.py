"""``hocket similar``: what in a collection is nearest in meaning to a text."""

import argparse
import json

from hocket.cli.arguments import OneLineParser, parse_count
from hocket.cli.collections import open_collection
from hocket.cli.output import accept_any_text, note, print_lines
from hocket.cli.standard_input import read_question

__all__ = ["HELP", "configure", "run"]

HELP = "Find the passages of a collection nearest in meaning to a text."

_EXAMPLE = 'hocket similar notes "when is the boiler bled"'
_QUOTE = 200  # characters of a passage that are shown


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("collection NAME", "of the collection, see `hocket collections list`")
    parser.declare("text", "the text; `-`: what is piped in", nargs="+")
    parser.declare("-n --count N", "passages to show (default: 10)", type=parse_count, default=10)
    parser.declare("--json", "print a JSON object for each: score, source, text")


def run(arguments: argparse.Namespace) -> None:
    """Print the passages, the nearest first, each with the cosine of its likeness.

    Raises:
        InvalidInput: there is no such collection, or no text.
        HocketError: its model cannot be used, or its database is damaged.
    """
    from hocket.chains.clean import clean_line
    from hocket.chains.passages import describe_source

    accept_any_text()
    text = read_question(arguments.text, _EXAMPLE) or ""
    with open_collection(arguments.collection) as store:
        found = store.similarity_search(text, arguments.count)
    if not found:
        note(f"there is nothing in {arguments.collection}")
    for one in found:
        if arguments.json:
            print_lines([json.dumps({**one.metadata, "score": one.score, "text": one.page_content})])
        else:
            print_lines([f"{one.score:.2f}  {describe_source(one)}: “{clean_line(one.page_content, _QUOTE)}”"])
