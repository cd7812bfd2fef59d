"""``hocket chat``: one question and its answer, or, without a question, a conversation."""

import argparse
from collections.abc import Sequence

from hocket.cli.arguments import (
    OneLineParser,
    add_history_options,
    add_model_options,
    add_schema_option,
    add_tool_options,
)
from hocket.cli.output import accept_any_text
from hocket.cli.standard_input import read_question
from hocket.cli.templates import save_template, use_template
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
        "attach a picture, a PDF, a recording or a text, or what is at an address; several times for several; -: standard "
        "input",
        dest="attachments",
    )
    parser.declare(
        "-f --fragment FILE ...",
        "text before the question: a file, a folder, a pattern, an address, or a repository, github:owner/name; several "
        "times for several; -: standard input",
        dest="fragments",
    )
    parser.declare("-t --template NAME", "ask as this template says, see `hocket templates`")
    parser.declare("-p --param NAME VALUE ...", "the value of a name in the template; several times for several")
    parser.declare("--save NAME", "keep the question and the options as a template, and ask nothing")
    parser.declare(
        "-x --extract", "print only the first block of code", action="store_const", const="first", dest="extract"
    )
    parser.declare("--xl --extract-last", "print only the last one", action="store_const", const="last", dest="extract")
    parser.declare("-c --continue", "go on with the last talk", dest="goes_on")
    parser.declare("-n --no-log", "do not store the messages", dest="is_kept", action="store_false")
    add_history_options(parser)
    add_schema_option(parser)
    add_tool_options(parser)
    parser.declare("--json", "print one JSON object: answer, usage, finish_reason, seconds")
    parser.declare("--reasoning", "show reasoning, also if piped", default=None)
    parser.declare("--stats", "print the number of tokens and the speed on standard error")


def run(arguments: argparse.Namespace) -> None:
    """Stream the answer to standard output as it comes, or hold a conversation.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped the answer.
        HocketError: the question is empty, the model unknown or not installed, the history cannot be read or written,
            or what the model itself raises.
    """
    accept_any_text()
    if arguments.save is not None:
        return save_template(arguments)
    if arguments.param and arguments.template is None:
        raise InvalidInput("-p is for the names in a template: say which one, with -t NAME")

    def read(words: Sequence[str]) -> str | None:
        return read_question(words, takes_input="-" not in (*arguments.attachments, *arguments.fragments))

    question = read(arguments.question) if arguments.template is None else use_template(arguments, read)
    if question is None and arguments.json:
        raise InvalidInput("--json is for one answer: give the question as well")

    from hocket.cli.chat.opening import check_options, open_session

    check_options(arguments)
    with open_session(arguments) as session:
        if question is None:
            session.run()
        elif session.answer(question).is_interrupted:
            raise KeyboardInterrupt
