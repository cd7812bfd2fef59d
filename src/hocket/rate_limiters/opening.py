"""Stores by their address."""

from collections.abc import Callable

from hocket._databases.drivers import may_open_here
from hocket._databases.urls import parse_shared_address
from hocket.errors import InvalidInput
from hocket.rate_limiters.limits import RateLimits
from hocket.rate_limiters.store import Exchange, ExchangeReply, Figures, Store

__all__ = ["LaterStore", "open_store"]


def open_store(address: str, name: str) -> Store:
    """Return the place of a limit. Nothing is opened before it is used.

    Args:
        address: of the store.
        name: of the limit.

    Raises:
        InvalidInput: the address is of another kind, or the name is empty.
        MissingDependency: a package is missing.
    """
    if not name or "\0" in name:
        raise InvalidInput(f"name is {name!r}; it must be a text that names the limit")
    kind, place = parse_shared_address(address, "a limit")

    def open_place() -> Store:
        return _open(kind, place, name)

    return open_place() if may_open_here(kind) else LaterStore(open_place)


def _open(kind: str, place: str, name: str) -> Store:
    if kind == "redis":
        from hocket.rate_limiters.redis import RedisStore

        return RedisStore(place, name)
    if kind == "postgres":
        from hocket.rate_limiters.postgres import PostgresStore

        return PostgresStore(place, name)
    from hocket.rate_limiters.sqlite import SQLiteStore

    return SQLiteStore(place, name)


class LaterStore:
    """A store that is opened at its first use: in the one thread that uses it, which may wait for an import.

    Args:
        open_place: returns the store.
    """

    is_shared = True

    def __init__(self, open_place: Callable[[], Store]) -> None:
        self._open = open_place
        self._opened: Store | None = None

    @property
    def is_open(self) -> bool:
        """Whether what it needs is imported."""
        return self._opened is not None

    def open(self) -> Store:
        """Import what it needs, unless that was done: two seconds, on a busy machine."""
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    @property
    def _store(self) -> Store:
        return self.open()

    def configure(self, limits: RateLimits) -> RateLimits | None:
        return self._store.configure(limits)

    def exchange(self, exchange: Exchange) -> ExchangeReply | None:
        return self._store.exchange(exchange)

    def learn(self, found: tuple[float, float, float, float], pause: float, *, probes: bool = False) -> None:
        self._store.learn(found, pause, probes=probes)

    def slow_down(self, pause: float) -> None:
        self._store.slow_down(pause)

    def read(self) -> Figures | None:
        return self._store.read()
