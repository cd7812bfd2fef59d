"""Histories by their address: open one, list the sessions of a store, delete one."""

import os
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote
from uuid import NAMESPACE_URL, UUID, uuid5

from hocket._databases.urls import check_path, parse_address
from hocket._databases.writes import finish_write
from hocket._runtime.mode import ASYNC
from hocket.chat_history.base import BaseChatMessageHistory
from hocket.chat_history.records import check_session_id
from hocket.errors import HistoryError, InvalidInput

if TYPE_CHECKING:
    from hocket.chat_history.postgres import PostgresChatMessageHistory
    from hocket.chat_history.redis import RedisChatMessageHistory
    from hocket.chat_history.sqlite import SQLiteChatMessageHistory

__all__ = ["adelete_session", "alist_sessions", "delete_session", "list_sessions", "open_history"]

_DEFAULT = "default"  # the session of a directory that is opened without one
_SUFFIX = ".jsonl"
_NAMES = {"redis": "Redis", "postgres": "PostgreSQL", "sqlite": "SQLite"}
_ENDS = tuple(filter(None, (os.sep, os.altsep)))


def open_history(url_or_path: str | os.PathLike[str], session_id: str | None = None) -> BaseChatMessageHistory:
    """Return the history at an address. Nothing is opened before it is used.

    The driver of a server is imported here, which takes a tenth of a second: open it before the event loop runs.

    Args:
        url_or_path: ``redis://host:port/number`` (or ``rediss://``, ``unix://``); ``postgresql://host/database``, where
            the table is ``message_store``; ``sqlite:///relative/path`` or ``sqlite:////absolute/path``; else the path of a
            file of JSON lines, which holds one conversation, or, with a slash at its end, of a directory of such files, made
            with the first turn.
        session_id: the conversation. PostgreSQL needs a UUID: any other name becomes a version 5 one. A file has none, a
            directory may go without (its file is ``default.jsonl``); every database needs it, or all users of a
            program would share one conversation.

    Raises:
        InvalidInput: the address is of another kind; no session is named for a database; or one is for a file, which
            holds but one.
        MissingDependency: a package is missing.

    Examples:
        >>> import os, tempfile
        >>> from hocket import open_history
        >>> path = os.path.join(tempfile.mkdtemp(), "talk.jsonl")
        >>> open_history(path).add_user_message("I am Ada.")
        >>> open_history(path).messages[0].text
        'I am Ada.'
    """
    kind, place = parse_address(url_or_path, "a history")
    if session_id is not None:
        session_id = check_session_id(session_id)
    if kind == "file":
        return _open_file(place, session_id)
    if session_id is None:
        raise InvalidInput(
            f"a {_NAMES[kind]} database holds many conversations: say which one this is, "
            "open_history(address, session_id=...)",
            page="histories.md#sessions",
        )
    return _open_database(kind, place, session_id)


def _open_database(
    kind: Literal["redis", "postgres", "sqlite"], place: str, session_id: str
) -> "RedisChatMessageHistory | PostgresChatMessageHistory | SQLiteChatMessageHistory":
    if kind == "redis":
        from hocket.chat_history.redis import RedisChatMessageHistory

        return RedisChatMessageHistory(session_id, place)
    if kind == "postgres":
        from hocket.chat_history.postgres import PostgresChatMessageHistory

        return PostgresChatMessageHistory("message_store", _make_uuid(session_id), url=place)
    from hocket.chat_history.sqlite import SQLiteChatMessageHistory

    return SQLiteChatMessageHistory(session_id, place)


def list_sessions(url_or_path: str | os.PathLike[str], prefix: str = "") -> list[str]:
    """Return the conversations at an address that have messages, sorted: what `open_history` takes as ``session_id``.

    Args:
        url_or_path: of a database, or of a directory with a slash at its end. See `open_history`.
        prefix: what their names begin with: ``"ada/"``, where a program names sessions after its users. In PostgreSQL
            their names are UUIDs.

    Raises:
        InvalidInput: the address is of another kind, or of a file, which holds one conversation.
        HistoryError: the store cannot be read.
    """
    kind, place = parse_address(url_or_path, "a history")
    if kind == "file":
        return _list_files(check_path(place, "the path"), prefix)
    with _open_database(kind, place, _DEFAULT) as store:
        return store.list_sessions(prefix)


async def alist_sessions(url_or_path: str | os.PathLike[str], prefix: str = "") -> list[str]:
    """Return the conversations at an address: `list_sessions`, in a worker thread."""
    return await ASYNC.call_sync(list_sessions, url_or_path, prefix)


def delete_session(url_or_path: str | os.PathLike[str], session_id: str) -> None:
    """Delete a conversation with all its messages. One that is not there is no error.

    All of a user: ``for name in list_sessions(address, "ada/"): delete_session(address, name)``. In a directory the
    conversation's file stays, empty: a writer that waits for it would lose its turn.

    Args:
        url_or_path: of a database, or of a directory with a slash at its end. See `open_history`.
        session_id: the conversation.

    Raises:
        InvalidInput: the address is of another kind, or of a file, which holds one conversation.
        HistoryError: the store cannot be written.
    """
    with open_history(url_or_path, check_session_id(session_id)) as history:
        history.clear()


async def adelete_session(url_or_path: str | os.PathLike[str], session_id: str) -> None:
    """Delete a conversation: `delete_session`, in a worker thread. A caller that is cancelled waits for the end of it."""
    await finish_write(lambda: ASYNC.call_sync(delete_session, url_or_path, session_id))


def _open_file(path: str, session_id: str | None) -> BaseChatMessageHistory:
    from hocket.chat_history.file import FileChatMessageHistory

    if path.endswith(_ENDS):
        name = quote(session_id or _DEFAULT, safe="") + _SUFFIX
        return FileChatMessageHistory(os.path.join(path, name), make_directory=True)
    if session_id is not None:
        raise InvalidInput(
            f"{path!r} is a file, which holds one conversation: for {session_id!r} name a directory, {path}/"
        )
    return FileChatMessageHistory(path)


def _list_files(path: str, prefix: str) -> list[str]:
    if not path.endswith(_ENDS):
        raise InvalidInput(f"{path!r} is a file, which holds one conversation; a directory is {path}/")
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(_SUFFIX) and entry.stat().st_size]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror or error}") from error
    sessions = (unquote(name.removesuffix(_SUFFIX)) for name in names)
    return sorted(session for session in sessions if session.startswith(prefix))


def _make_uuid(session_id: str) -> UUID:
    try:
        return UUID(session_id)
    except ValueError:
        return uuid5(NAMESPACE_URL, f"hocket:history:{session_id}")
