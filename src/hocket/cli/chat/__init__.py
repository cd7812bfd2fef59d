"""``hocket chat``: one question and its answer, or, without a question, a conversation."""

import argparse

from hocket.cli.arguments import (
    OneLineParser,
    add_history_options,
    add_model_options,
    add_schema_option,
    add_tool_options,
)
from hocket.cli.output import accept_any_text
from hocket.cli.standard_input import read_question
from hocket.errors import InvalidInput

__all__ = ["HELP", "configure", "run"]

HELP = "Ask a model: one question, or several in a conversation."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare(
        "question",
        "what to ask, followed by what is piped in; `-`, or nothing while something is piped in: ask that; nothing on a "
        "terminal: a conversation",
        nargs="*",
    )
    add_model_options(parser)
    parser.declare(
        "-a --attach FILE ...",
        "attach a picture, a PDF, a recording or a text; several times for several; -: standard input",
    )
    parser.declare("-c --continue", "go on with the last talk", dest="goes_on")
    parser.declare("-n --no-log", "do not keep what is said", dest="is_kept", action="store_false")
    add_history_options(parser)
    add_schema_option(parser)
    add_tool_options(parser)
    parser.declare("--json", "print one JSON object: answer, usage, finish_reason, seconds")
    parser.declare("--reasoning", "show reasoning, also if piped", default=None)
    parser.declare("--stats", "say on standard error how many tokens came, and how fast")


def run(arguments: argparse.Namespace) -> None:
    """Stream the answer to standard output as it comes, or hold a conversation.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped the answer.
        HocketError: the question is empty, the model unknown or not installed, the history cannot be read or written,
            or what the model itself raises.
    """
    accept_any_text()
    question = read_question(arguments.question, takes_input="-" not in arguments.attach)
    if question is None and arguments.json:
        raise InvalidInput("--json is for one answer: give the question as well")

    from hocket.cli.chat.opening import check_options, open_session

    check_options(arguments)
    with open_session(arguments) as session:
        if question is None:
            session.run()
        elif session.answer(question).is_interrupted:
            raise KeyboardInterrupt
