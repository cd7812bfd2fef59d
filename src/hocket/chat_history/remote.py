"""What the histories on servers have in common.

Each operation is written once, as a coroutine over a client, which may be a sync one, on which it never suspends, or one
of asyncio's. A URL is served by the sync client: in the caller's thread under the sync methods, in a worker thread under
the async ones, on asyncio and trio alike. A client of asyncio's is the caller's to open, and is awaited on its loop.
"""

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Self, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

import anyio.lowlevel
from pydantic import SecretStr

from hocket._runtime.runtime import drive
from hocket.chat_history.base import BaseChatMessageHistory
from hocket.chat_history.finishing import finish
from hocket.chat_history.records import messages_of, records_of
from hocket.errors import DroppedStateWarning, HistoryError
from hocket.http.secrets import Secret, is_sensitive, redact, redact_url
from hocket.messages import BaseMessage

__all__ = ["RemoteHistory", "settled"]

T = TypeVar("T")


class RemoteHistory(BaseChatMessageHistory, ABC):
    """A history on a server.

    Args:
        url: of the server; None: clients are given.
        client: a sync client; not closed here.
        async_client: one of asyncio's; not closed here.
    """

    def __init__(self, url: str | None, client: Any, async_client: Any) -> None:
        self._url = None if url is None else SecretStr(url)
        self._client = client
        self._async_client = async_client

    @abstractmethod
    async def _read(self, client: Any) -> Sequence[str | bytes]:
        """Return the records, oldest first."""

    @abstractmethod
    async def _append(self, client: Any, records: Sequence[str]) -> None:
        """Store the records of a turn: at once, and together."""

    @abstractmethod
    async def _clear(self, client: Any) -> None:
        """Forget the session."""

    @abstractmethod
    def _opened(self, url: str) -> Any:
        """Return the process's client for ``url``."""

    @abstractmethod
    def _failures(self) -> tuple[type[Exception], ...]:
        """Return what the client's library raises."""

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        return messages_of(drive(self._done(self._read, self._sync())), repr(self))

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages, oldest first."""
        if (client := self._here()) is None:
            return await super().aget_messages()
        return messages_of(await self._done(self._read, client), repr(self))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn."""
        if records := records_of(messages):
            drive(self._done(self._append, self._sync(), records))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn. A caller that is cancelled meanwhile waits for the end of it, 5 seconds at most."""
        if (client := self._here()) is None:
            await super().aadd_messages(messages)
        elif records := records_of(messages):
            await finish(partial(self._done, self._append, client, records))

    def clear(self) -> None:
        """Forget all messages of the session."""
        drive(self._done(self._clear, self._sync()))

    async def aclear(self) -> None:
        """Forget all messages of the session."""
        if (client := self._here()) is None:
            await super().aclear()
        else:
            await finish(partial(self._done, self._clear, client))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name()})"

    def _name(self) -> str:
        """Return what tells this history from another, secrets left out."""
        return "" if self._url is None else f"url={redact_url(self._url.get_secret_value())!r}"

    def _sync(self) -> Any:
        """Return the sync client."""
        if self._client is not None:
            return self._client
        if self._url is None:
            raise HistoryError(
                f"{self!r} has no sync client: give it one, or a URL; or await the async methods, on asyncio, if it has a "
                "client of asyncio"
            )
        return self._opened(Secret(self._url.get_secret_value()))

    def _here(self) -> Any:
        """Return the client to await on the running loop, or None: the sync one serves, in a worker thread."""
        if self._async_client is None:
            return None
        if hasattr(anyio.lowlevel.current_token().native_token, "create_task"):  # asyncio's loop
            return self._async_client
        if self._client is not None:
            return None
        raise HistoryError(
            f"{self!r} was given a client that only works on asyncio, and this loop is trio's: give it a sync client or a "
            "URL, which work on both"
        )

    async def _done(self, operation: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Return what ``operation`` does.

        Raises:
            HistoryError: it failed. No text and no traceback in it shows the URL's secrets.
        """
        try:
            return await operation(*args)
        except self._failures() as error:
            told, cause = self._told(_bare(error))
        raise told from cause  # outside the handler: the failure is to be no context either

    def _told(self, failure: Exception) -> tuple[HistoryError, Exception | None]:
        """Return an error that shows no secret, and its cause, unless that shows one."""
        secrets = [] if self._url is None else _secrets_of(self._url.get_secret_value())
        text = str(failure).strip() or type(failure).__name__
        shown = redact(text, secrets)
        return HistoryError(f"{self!r}: {shown}"), failure if shown == text else None

    # -- copies and pickles

    def __copy__(self) -> Self:
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo: Any) -> Self:
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        dropped: list[str] = []
        if self._client is not None or self._async_client is not None:
            state["_client"] = state["_async_client"] = None
            dropped.append("client")
        if self._url is not None and (bare := _without_secrets(url := self._url.get_secret_value())) != url:
            state["_url"] = SecretStr(bare)
            dropped.append("password")
        if dropped:
            warnings.warn(
                f"pickling {self!r} leaves its {' and '.join(dropped)} behind; make it anew where it is loaded",
                DroppedStateWarning,
                stacklevel=2,
            )
        return state


async def settled(value: Any) -> Any:
    """Return what a method of a client returned: a sync client's as it is, asyncio's awaited."""
    return await value if inspect.isawaitable(value) else value


def _bare(error: Exception) -> Exception:
    """Return ``error`` without the frames that it passed, whose locals may hold a password, and without what led to it."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _secrets_of(url: str) -> list[str]:
    """Return the password, and the values of parameters that are secret, as written and as meant."""
    parts = urlsplit(url)
    written = [parts.password or "", *(value for name, value in _parameters(parts.query) if is_sensitive(name))]
    return [text for secret in written if secret for text in (secret, unquote(secret))]


def _without_secrets(url: str) -> str:
    """Return ``url`` without its password and without parameters that are secret."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    query = "&".join(f"{name}={value}" for name, value in _parameters(parts.query) if not is_sensitive(name))
    return urlunsplit(parts._replace(netloc=f"{name}@{host}" if name else host, query=query))


def _parameters(query: str) -> list[tuple[str, str]]:
    """Return the names and values of a query, as written."""
    return [(name, value) for name, _, value in (pair.partition("=") for pair in query.split("&")) if name]
