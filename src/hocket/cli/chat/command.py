"""The arguments of ``hocket chat``, and what they begin."""

import argparse

from hocket.cli.arguments import add_history_options, add_model_options, add_schema_option, add_tool_options
from hocket.cli.output import accept_any_text

__all__ = ["HELP", "configure", "run"]

HELP = "Ask a model: one question, or several in a conversation."


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this subcommand."""
    parser.add_argument(
        "question",
        nargs="*",
        help="what to ask, followed by what is piped in; `-`, or nothing while something is piped in: ask that; "
        "nothing on a terminal: a conversation",
    )
    add_model_options(parser)
    parser.add_argument(
        "-a",
        "--attach",
        metavar="FILE",
        action="append",
        default=[],
        help="attach a picture, a PDF, a recording or a text; several times for several; -: standard input",
    )
    parser.add_argument("-c", "--continue", dest="goes_on", action="store_true", help="go on with the last talk")
    parser.add_argument("-n", "--no-log", dest="is_kept", action="store_false", help="do not keep what is said")
    add_history_options(parser)
    add_schema_option(parser)
    add_tool_options(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object: answer, usage, finish_reason, seconds"
    )
    parser.add_argument("--reasoning", action="store_true", default=None, help="show reasoning, also if piped")
    parser.add_argument("--stats", action="store_true", help="say on standard error how many tokens came, and how fast")


def run(arguments: argparse.Namespace) -> None:
    """Stream the answer to standard output as it comes, or hold a conversation.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped the answer.
        HocketError: the question is empty, the model unknown or not installed, the history cannot be read or written,
            or what the model itself raises.
    """
    accept_any_text()
    from hocket.cli.standard_input import read_question
    from hocket.errors import InvalidInput

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
