"""Operations on a database server, each written once, for sync and async callers.

An operation is a coroutine function over a client. The client may be a sync one, on which the coroutine never suspends, or
one of asyncio's. A URL is served by the sync client: in the caller's thread for sync callers, in a worker thread for async
ones, on asyncio and trio alike. A client of asyncio's is opened by the user, and awaited on its loop.
"""

import inspect
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

import anyio
import anyio.lowlevel
from pydantic import SecretStr

from hocket._databases.clients import connection_limiter, shared_client
from hocket._databases.urls import drop_secrets, find_url_secrets
from hocket._runtime.mode import ASYNC, Mode, drive
from hocket._secrets import Secret, redact
from hocket.errors import DroppedStateWarning, HistoryUnavailable, HocketError

__all__ = ["DatabaseServer", "NotSent", "maybe_await"]

PATIENCE = 20.0
"""Seconds for which a task waits until one of the connections is free."""

T = TypeVar("T")
P = ParamSpec("P")
Client = TypeVar("Client")


class NotSent(Exception):
    """There was no connection: nothing of an operation reached the server, so that it may be tried again."""


@dataclass(frozen=True, kw_only=True, repr=False)
class DatabaseServer(Generic[Client]):
    """A server and the way to it: a URL, or clients that a user has opened.

    Args:
        owner: which store it serves, as errors show it, without secrets.
        error_type: what its failures become.
        unavailable_type: what they become where the server cannot be reached, broke off or took too long.
        failures: what the client's library raises.
        is_unavailable: whether one of these is such a failure.
        connect: makes the process's client for a URL.
        url: of the server; None: clients are given.
        max_connections: that a client for the URL opens; so many async callers of a loop use it at once, and others wait.
        client: a sync client; not closed here.
        async_client: one of asyncio's; not closed here.
    """

    owner: str
    error_type: type[HocketError]
    unavailable_type: type[HocketError]
    failures: tuple[type[Exception], ...]
    is_unavailable: Callable[[Exception], bool]
    connect: Callable[[str], Client]
    url: SecretStr | None
    max_connections: int
    client: Client | None = None
    async_client: Client | None = None

    def call(self, operation: Callable[Concatenate[Client, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation from sync code.

        Raises:
            HocketError: of type ``error_type`` or ``unavailable_type``: it failed. No text and no traceback in it shows
                the secrets of the URL.
        """
        return drive(self._run(operation, self.sync_client(), *args, **kwargs))

    async def acall(
        self, operation: Callable[Concatenate[Client, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run an operation from async code. See `call`."""
        if self._is_awaited_here():
            return await self._run(operation, cast(Client, self.async_client), *args, **kwargs)
        if self.url is None:
            return await ASYNC.call_sync(lambda: self.call(operation, *args, **kwargs))
        limiter = connection_limiter(self.url.get_secret_value(), self.max_connections)
        with anyio.move_on_after(PATIENCE) as patience:
            await limiter.acquire()
        if patience.cancelled_caught:
            raise self.unavailable_type(
                f"{self.owner}: none of {self.max_connections} connections became free within {PATIENCE:g} s; "
                "max_connections=... in the URL's query allows more"
            )
        try:
            return await ASYNC.call_sync(lambda: self.call(operation, *args, **kwargs))
        finally:
            limiter.release()

    async def run(
        self, mode: Mode, operation: Callable[Concatenate[Client, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run an operation from code that serves both modes. See `call`."""
        if mode.is_async:
            return await self.acall(operation, *args, **kwargs)
        return self.call(operation, *args, **kwargs)

    def sync_client(self) -> Client:
        """Return the sync client.

        Raises:
            HocketError: of type ``error_type``: there is none.
        """
        if self.client is not None:
            return self.client
        if self.url is None:
            raise self.error_type(
                f"{self.owner} has no sync client: give it one, or a URL; or await the async methods, on asyncio, if it has "
                "a client of asyncio"
            )
        return shared_client(self.connect, Secret(self.url.get_secret_value()))

    def _is_awaited_here(self) -> bool:
        """Whether the client of asyncio's serves on the running loop; else the sync one does, in a worker thread."""
        if self.async_client is None:
            return False
        if hasattr(anyio.lowlevel.current_token().native_token, "create_task"):  # asyncio's loop
            return True
        if self.client is not None:
            return False
        raise self.error_type(
            f"{self.owner} was given a client that only works on asyncio, and this loop is trio's: give it a sync client "
            "or a URL, which work on both"
        )

    async def _run(
        self,
        operation: Callable[Concatenate[Client, P], Awaitable[T]],
        client: Client,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        try:
            return await operation(client, *args, **kwargs)
        except self.failures as failure:
            error, cause = self._convert(_strip(failure))
        raise error from cause  # outside the handler: the failure is to be no context either

    def _convert(self, failure: Exception) -> tuple[HocketError, Exception | None]:
        """Return an error that shows no secret, and its cause, unless that shows one."""
        secrets = [] if self.url is None else find_url_secrets(self.url.get_secret_value())
        text = str(failure).strip() or type(failure).__name__
        redacted = redact(text, secrets)
        error_type = self.unavailable_type if self.is_unavailable(failure) else self.error_type
        error = error_type(f"{self.owner}: {redacted}")
        if isinstance(error, HistoryUnavailable):
            error.was_sent = not isinstance(failure, NotSent)
        return error, failure if redacted == text else None

    # -- copies and pickles

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "client": None, "async_client": None}
        dropped = [] if self.client is None and self.async_client is None else ["client"]
        if self.url is not None and (bare := drop_secrets(url := self.url.get_secret_value())) != url:
            state["url"] = SecretStr(bare)
            dropped.append("password")
        if dropped:
            warnings.warn(
                f"pickling {self.owner} leaves its {' and '.join(dropped)} behind; make it again after loading",
                DroppedStateWarning,
                stacklevel=2,
            )
        return state


async def maybe_await(value: Awaitable[T] | T) -> T:
    """Return what a method of a client returned: a sync client's as it is, asyncio's awaited."""
    return await cast(Awaitable[T], value) if inspect.isawaitable(value) else value


def _strip(error: Exception) -> Exception:
    """Return ``error`` without the frames that it passed, whose locals may hold a password, and without what led to it."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
