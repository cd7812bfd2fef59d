"""``hocket chat``: one question and its answer, or, without a question, a conversation."""

import argparse
import io
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hocket.chat_history import BaseChatMessageHistory
    from hocket.language_models import BaseChatModel

__all__ = ["HELP", "configure", "run"]

HELP = "Ask a model: one question, or several in a conversation."

_OPTIONS = ("base_url", "max_tokens", "temperature", "seed")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this subcommand."""
    parser.add_argument(
        "question",
        nargs="?",
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
        "each session; redis://..., postgresql://... or sqlite:///...",
    )
    parser.add_argument("--session", metavar="NAME", help="which of the conversations that are kept there")
    parser.add_argument("--base-url", help="a server that speaks OpenAI's format; without --model, the one it serves")
    parser.add_argument("--max-tokens", type=int, help="tokens to answer with at most")
    parser.add_argument("--temperature", type=float, help="0 is steady; the higher, the more varied")
    parser.add_argument("--seed", type=int, help="the same seed gives the same answer")
    parser.add_argument("--reasoning", action="store_true", default=None, help="show reasoning, also if piped")
    parser.add_argument("--stats", action="store_true", help="say on standard error how many tokens came, and how fast")


def run(arguments: argparse.Namespace) -> None:
    """Stream the answer to standard output as it comes, or hold a conversation.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped the answer.
        HocketError: the question is empty, the model unknown or not installed, the history cannot be read or written,
            or what the model itself raises.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a character that cannot be shown is not worth an answer
    question = _question(arguments.question)

    from hocket.cli.interactive import Session
    from hocket.conversation import Conversation
    from hocket.errors import InvalidInput

    if question is not None and not question.strip():
        raise InvalidInput("the question is empty")
    options: dict[str, Any] = {name: value for name in _OPTIONS if (value := getattr(arguments, name)) is not None}
    name = arguments.model or _default(options.get("base_url"))
    with _history(arguments.history, arguments.session) as history:
        session = Session(
            Conversation(_open(name, options), history=history, system=arguments.system),
            name,
            lambda name: _open(name, options),
            reasoning=arguments.reasoning,
            stats=arguments.stats,
            debug=arguments.debug,
        )
        if question is None:
            session.run()
        elif session.answer(question).interrupted:
            raise KeyboardInterrupt


def _history(where: str | None, session: str | None) -> "BaseChatMessageHistory":
    """Return the history to go on with, tried: what cannot be read, or written, is told before anything is asked."""
    from hocket.chat_history import FileChatMessageHistory, InMemoryChatMessageHistory, open_history
    from hocket.errors import HistoryError, InvalidInput

    if where is None:
        if session is not None:
            raise InvalidInput("--session names a conversation in a history: say which one, with --history")
        return InMemoryChatMessageHistory()
    if session is None and "://" in where:
        session = "default"  # of a database, which must be told; the command is one person's
    history = open_history(where, session)
    if isinstance(history, FileChatMessageHistory):
        path = Path(history.file_path)
        directory = path.parent
        if not directory.is_dir():
            raise HistoryError(f"{path}: there is no directory {directory}; make it first")
        if not os.access(path if path.exists() else directory, os.W_OK):
            raise HistoryError(f"{path} cannot be written; what is said would be lost")
    history.messages  # noqa: B018  (a server may be down, a file damaged)
    return history


def _question(given: str | None) -> str | None:
    """Return what to ask; None: nothing yet, a person will type it."""
    from hocket.cli.terminal import whole

    if given is None and sys.stdin.isatty():
        return None
    if given in (None, "-"):
        return _piped()
    if not _is_piped():
        return whole(given)
    return "\n\n".join(filter(None, (whole(given), _piped().strip("\n"))))


def _is_piped() -> bool:
    """Whether somebody sends something: a terminal, and the null device, do not."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # closed, or none at all
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _piped() -> str:
    return sys.stdin.buffer.read().decode(errors="replace")


def _open(name: str, options: dict[str, Any]) -> "BaseChatModel":
    from hocket.language_models.registry import init_chat_model

    return init_chat_model(name, **options)


def _default(base_url: str | None) -> str:
    """Return the model to ask where none is named: the one that the server has, else the embedded one."""
    if base_url is None:
        return "local"
    from hocket.cli.models import served_models
    from hocket.errors import UnknownModel

    names = served_models("openai", base_url)
    if len(names) != 1:
        raise UnknownModel(f"{base_url} serves {len(names)} models; choose with --model: {', '.join(names) or 'none'}")
    return f"openai:{names[0]}"
