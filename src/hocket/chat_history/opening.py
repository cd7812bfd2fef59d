"""A history by its address."""

import os
from urllib.parse import quote
from uuid import NAMESPACE_URL, UUID, uuid5

from hocket.chat_history.base import BaseChatMessageHistory
from hocket.errors import InvalidInput
from hocket.http.secrets import redact_url

__all__ = ["open_history"]

_SESSION = "default"
_ENDS = tuple(filter(None, (os.sep, os.altsep)))


def open_history(url_or_path: str | os.PathLike[str], session_id: str = _SESSION) -> BaseChatMessageHistory:
    """Return the history at an address. Nothing is opened before it is used.

    Args:
        url_or_path: ``redis://host:port/number`` (or ``rediss://``, ``unix://``); ``postgresql://host/database``, where
            the table is ``message_store``; ``sqlite:///relative/path`` or ``sqlite:////absolute/path``; else the path of a
            file of JSON lines, which holds one conversation, or, with a slash at its end, of a directory of such files.
        session_id: the conversation. PostgreSQL wants a UUID: any other name becomes a version 5 one.

    Raises:
        InvalidInput: the address is of another kind, or a session is named for a file, which holds but one.
        MissingDependency: a package is missing.
    """
    address = os.fspath(url_or_path)
    scheme, is_url, rest = address.partition("://")
    if not is_url:
        return _file(address, session_id)
    if scheme in ("redis", "rediss", "unix"):
        from hocket.chat_history.redis import RedisChatMessageHistory

        return RedisChatMessageHistory(session_id, address)
    if scheme in ("postgresql", "postgres"):
        from hocket.chat_history.postgres import PostgresChatMessageHistory

        return PostgresChatMessageHistory("message_store", _uuid(session_id), url=address)
    if scheme == "sqlite" and rest.startswith("/"):
        from hocket.chat_history.sqlite import SQLiteChatMessageHistory

        return SQLiteChatMessageHistory(session_id, rest[1:])
    raise InvalidInput(
        f"{redact_url(address)!r} is no address of a history: it is redis://…, postgresql://…, sqlite:///… or a path"
    )


def _file(path: str, session_id: str) -> BaseChatMessageHistory:
    from hocket.chat_history.file import FileChatMessageHistory

    if path.endswith(_ENDS):
        return FileChatMessageHistory(os.path.join(path, f"{quote(session_id, safe='')}.jsonl"))
    if session_id != _SESSION:
        raise InvalidInput(
            f"{path!r} is a file, which holds one conversation: for {session_id!r} name a directory, {path}/"
        )
    return FileChatMessageHistory(path)


def _uuid(session_id: str) -> UUID:
    try:
        return UUID(session_id)
    except ValueError:
        return uuid5(NAMESPACE_URL, f"hocket:history:{session_id}")
