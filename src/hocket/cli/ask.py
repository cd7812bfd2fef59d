"""``hocket ask``: a question about files, answered with the passages that say it.

The answer goes to standard output as it comes, and after it the passages that it names, with their files and places. With
the embedded chat model the passages come first: it is small, and may say what they do not.
"""

import argparse
import os
from collections.abc import Sequence

from hocket.cli.arguments import OneLineParser, add_model_options, parse_count
from hocket.cli.exits import use_command_words
from hocket.cli.model_options import read_model_options
from hocket.cli.output import accept_any_text, note
from hocket.cli.standard_input import read_question
from hocket.errors import InvalidInput, MissingDependency

__all__ = ["HELP", "configure", "run"]

HELP = "Answer a question about files, with its sources."

_EXAMPLE = 'hocket ask rules.pdf handbook.docx "When is the boiler bled?"'


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("files FILE", "files and folders, and last the question, or `-`: what is piped in", nargs="+")
    add_model_options(parser)
    parser.declare("--embed NAME", "the embedding model, provider:model (default: local, which needs no key)")
    parser.declare(
        "--store WHERE",
        "keep the index there: a file, sqlite:///... or postgresql://... (default: in your cache folder)",
    )
    parser.declare("--encoding NAME", "of text that is not UTF-8: cp1252, latin-1")
    parser.declare("-k N", "passages to answer from (default: 5)", type=parse_count, default=5)
    parser.declare("--no-answer", "show the passages, and ask no model")
    parser.declare("--json", "print one JSON object: answer, citations, passages")


def run(arguments: argparse.Namespace) -> None:
    """Answer the question.

    Raises:
        KeyboardInterrupt: Ctrl-C; what was read until then is kept.
        HocketError: an argument is wrong, a file cannot be read, or what a model or the store raises.
    """
    accept_any_text()
    *files, question = arguments.files
    _check_words(files, question)
    if question == "-":
        question = read_question(["-"], _EXAMPLE) or ""

    from hocket._runtime.portal import run_in_portal
    from hocket.cli.ask_answer import Question
    from hocket.cli.ask_index import AskIndex, choose_embeddings
    from hocket.cli.choice import open_first_model

    index = AskIndex(files, choose_embeddings(arguments.embed), arguments.store, arguments.encoding)
    model = missing = None
    if not arguments.no_answer:
        try:
            model = open_first_model(arguments.model, arguments.base_url, read_model_options(arguments)).model
        except MissingDependency as error:
            if arguments.model is not None:  # that one was asked for
                raise
            missing = f"the passages are all: nobody can answer; {use_command_words(str(error))}"

    async def ask() -> None:
        asked = Question(question, await index.search(question, arguments.k))
        if arguments.json:
            await asked.print_json(model)
        elif model is None:
            asked.print_passages()
        else:
            await asked.print_answer(model)
        if missing is not None:
            note(missing)

    run_in_portal(ask)


def _check_words(files: Sequence[str], question: str) -> None:
    """Refuse what is no question about files.

    Raises:
        InvalidInput: there is no file, or no question.
    """
    if "-" in files:
        raise InvalidInput(
            f"what is piped in is the question, and - comes last; a file is given by its path: {_EXAMPLE}"
        )
    if not files or os.path.exists(question):
        missing = "question" if os.path.exists(question) else "file"
        raise InvalidInput(f"there is no {missing}; write  {_EXAMPLE}")
    if not question.strip():
        raise InvalidInput(f"the question is empty; write  {_EXAMPLE}")
