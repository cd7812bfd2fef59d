"""A cache on a database server, Redis or PostgreSQL: each operation once, over a sync client or one of asyncio's."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Concatenate, Generic, ParamSpec, TypeVar

from hocket._databases.server import DatabaseServer
from hocket._runtime.runtime import Runtime
from hocket.caches.fleet import AnswerStore

__all__ = ["ServerStore"]

T = TypeVar("T")
P = ParamSpec("P")
Client = TypeVar("Client")


class ServerStore(AnswerStore, Generic[Client]):
    """A store on a server. Subclasses say what to send."""

    def __init__(self, server: DatabaseServer[Client]) -> None:
        self._server = server

    @property
    def is_portable(self) -> bool:
        return self._server.url is not None

    async def read(self, runtime: Runtime, key: bytes) -> bytes | None:
        return await self._do(runtime, self._read, key)

    async def write(self, runtime: Runtime, key: bytes, value: bytes, ttl: float | None) -> None:
        await self._do(runtime, self._write, key, value, ttl)

    async def clear(self, runtime: Runtime) -> None:
        await self._do(runtime, self._clear)

    async def claim(self, runtime: Runtime, key: bytes, owner: str, lease: float) -> bool:
        return await self._do(runtime, self._claim, key, owner, lease)

    async def renew(self, runtime: Runtime, key: bytes, owner: str, lease: float) -> bool:
        return await self._do(runtime, self._renew, key, owner, lease)

    async def release(self, runtime: Runtime, key: bytes, owner: str) -> None:
        await self._do(runtime, self._release, key, owner)

    async def _do(
        self,
        runtime: Runtime,
        operation: Callable[Concatenate[Client, P], Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        if runtime.is_async:
            return await self._server.acall(operation, *args, **kwargs)
        return self._server.call(operation, *args, **kwargs)

    @abstractmethod
    async def _read(self, client: Client, key: bytes) -> bytes | None: ...

    @abstractmethod
    async def _write(self, client: Client, key: bytes, value: bytes, ttl: float | None) -> None: ...

    @abstractmethod
    async def _clear(self, client: Client) -> None: ...

    @abstractmethod
    async def _claim(self, client: Client, key: bytes, owner: str, lease: float) -> bool: ...

    @abstractmethod
    async def _renew(self, client: Client, key: bytes, owner: str, lease: float) -> bool: ...

    @abstractmethod
    async def _release(self, client: Client, key: bytes, owner: str) -> None: ...
