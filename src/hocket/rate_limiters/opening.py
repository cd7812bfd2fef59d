"""Stores by their address."""

from hocket._databases.urls import parse_address
from hocket.errors import InvalidInput
from hocket.rate_limiters.store import Store

__all__ = ["open_store"]


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
    kind, place = parse_address(address, "a limit")
    if kind == "redis":
        from hocket.rate_limiters.redis import RedisStore

        return RedisStore(place, name)
    if kind == "postgres":
        from hocket.rate_limiters.postgres import PostgresStore

        return PostgresStore(place, name)
    if kind == "sqlite":
        from hocket.rate_limiters.sqlite import SQLiteStore

        return SQLiteStore(place, name)
    raise InvalidInput(f"{place!r} is no address of a limit: it is redis://…, postgresql://… or sqlite:///path")
