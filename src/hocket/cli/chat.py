"""``hocket chat``: one question and its answer, or, without a question, a conversation."""

import argparse
import io
import os
import sys
from typing import TYPE_CHECKING, cast

from hocket.cli.arguments import parse_base_url, parse_count, parse_temperature

if TYPE_CHECKING:
    from hocket.chat_history import BaseChatMessageHistory

__all__ = ["HELP", "configure", "run"]

HELP = "Ask a model: one question, or several in a conversation."

_OPTIONS = ("max_tokens", "temperature", "seed")
_SESSION = "default"  # where no other is named, of a history that is the user's own


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this subcommand."""
    parser.add_argument(
        "question",
        nargs="*",
        help="what to ask, followed by what is piped in; `-`, or nothing while something is piped in: ask that; "
        "nothing on a terminal: a conversation",
    )
    parser.add_argument(
        "--model", help="provider:model, see `hocket models` (default: local, which runs in this process)"
    )
    parser.add_argument("--system", help="instructions that come before the question")
    parser.add_argument(
        "--history",
        metavar="WHERE",
        help="go on with the conversation that is kept there, and keep what is said: a file, or a directory/ with one for "
        "each session; sqlite:///..., redis://... or postgresql://...",
    )
    parser.add_argument(
        "--session",
        metavar="NAME",
        help=f"which of the conversations that are kept there (default: {_SESSION}; on a server, name yours)",
    )
    parser.add_argument(
        "--base-url",
        metavar="URL",
        type=parse_base_url,
        help="a server that speaks OpenAI's format; without --model, the one it serves",
    )
    parser.add_argument("--max-tokens", metavar="N", type=parse_count, help="tokens to answer with at most")
    parser.add_argument(
        "--temperature", metavar="X", type=parse_temperature, help="0 is steady; the higher, the more varied"
    )
    parser.add_argument("--seed", metavar="N", type=int, help="the same seed gives the same answer")
    parser.add_argument("--reasoning", action="store_true", default=None, help="show reasoning, also if piped")
    parser.add_argument("--stats", action="store_true", help="say on standard error how many tokens came, and how fast")


def run(arguments: argparse.Namespace) -> None:
    """Stream the answer to standard output as it comes, or hold a conversation.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped the answer.
        HocketError: the question is empty, the model unknown or not installed, the history cannot be read or written,
            or what the model itself raises.
    """
    stdout: object = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):
        cast("io.TextIOWrapper", stdout).reconfigure(
            errors="replace"
        )  # a character that cannot be shown is not worth an answer
    from hocket.cli.standard_input import read_question

    question = read_question(arguments.question)

    from hocket.cli.choice import choose_model, open_first_model
    from hocket.cli.interactive import Session
    from hocket.conversation import Conversation

    base_url: str | None = arguments.base_url
    options = {name: value for name in _OPTIONS if (value := getattr(arguments, name)) is not None}
    first = open_first_model(arguments.model, base_url, options)
    with _open_history(arguments.history, arguments.session) as history:
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


def _open_history(where: str | None, session: str | None) -> "BaseChatMessageHistory":
    """Return the history to go on with, tried: what cannot be read, or written, is told before anything is asked.

    Raises:
        InvalidInput: the address is none, its directory is not there or closed to us, or the session is missing or one
            too many.
        HistoryUnavailable: a server cannot be reached.
        HistoryError: it refuses, or the file is damaged.
    """
    from hocket._databases.urls import parse_address
    from hocket.chat_history import InMemoryChatMessageHistory, open_history
    from hocket.errors import InvalidInput

    if where is None:
        if session is not None:
            raise InvalidInput("--session names a conversation in a history: say which one, with --history")
        return InMemoryChatMessageHistory()
    kind, place = parse_address(where, "a history")
    if kind in ("sqlite", "file"):
        _check_place(place)
    if kind == "sqlite":
        session = session or _SESSION
    if kind in ("redis", "postgres") and session is None:
        raise InvalidInput("a server keeps the conversations of many: name yours, with --session NAME")
    history = open_history(where, session)
    history.messages  # noqa: B018  (a server may be down, a file damaged)
    return history


def _check_place(path: str) -> None:
    """Look whether a file can be written, or made where it is not there.

    Raises:
        InvalidInput: it cannot.
    """
    from hocket.errors import InvalidInput

    directory = os.path.dirname(path) or os.curdir
    if not os.path.isdir(directory):
        raise InvalidInput(f"--history {path}: there is no directory {directory}; make it first")
    if not os.access(path if os.path.exists(path) else directory, os.W_OK):
        raise InvalidInput(f"--history {path} cannot be written; what is said would be lost")
