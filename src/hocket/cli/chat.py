"""``hocket chat``: one question and its answer, or, without a question, a conversation."""

import argparse

from hocket.cli.arguments import add_history_options, add_model_options
from hocket.cli.model_options import read_model_options
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
    add_history_options(parser)
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

    question = read_question(arguments.question)

    from hocket.cli.choice import choose_model, open_first_model
    from hocket.cli.history import open_kept_history
    from hocket.cli.interactive import Session
    from hocket.conversation import Conversation

    base_url: str | None = arguments.base_url
    options = read_model_options(arguments)
    first = open_first_model(arguments.model, base_url, options)
    with open_kept_history(arguments.history, arguments.session) as history:
        session = Session(
            Conversation(first.model, history=history, system=arguments.system),
            first.label,
            lambda name: choose_model(name, base_url, options),
            reasoning=arguments.reasoning,
            stats=arguments.stats,
            debug=arguments.debug,
        )
        if question is None:
            session.run()
        elif session.answer(question).is_interrupted:
            raise KeyboardInterrupt
