"""Which conversation is gone on with: a history that the command line names, tried before anything is asked."""

from hocket._databases.urls import parse_address
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory, open_history
from hocket.cli.arguments import DEFAULT_SESSION, require_writable
from hocket.errors import InvalidInput

__all__ = ["open_kept_history"]


def open_kept_history(where: str | None, session: str | None) -> BaseChatMessageHistory:
    """Return the history to go on with, tried: what cannot be read, or written, is told before anything is asked.

    Raises:
        InvalidInput: the address is none, its directory is not there or closed to us, or the session is missing or one
            too many.
        HistoryUnavailable: a server cannot be reached.
        HistoryError: it refuses, or the file is damaged.
    """
    if where is None:
        if session is not None:
            raise InvalidInput("--session names a conversation in a history: say which one, with --history")
        return InMemoryChatMessageHistory()
    kind, place = parse_address(where, "a history")
    if kind in ("sqlite", "file"):
        require_writable("--history", place)
    if kind == "sqlite":
        session = session or DEFAULT_SESSION
    if kind in ("redis", "postgres") and session is None:
        raise InvalidInput("a server keeps the conversations of many: name yours, with --session NAME")
    history = open_history(where, session)
    history.messages  # noqa: B018  (a server may be down, a file damaged)
    return history
