"""The five stores that a run survives in, and agents whose tools leave traces."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from hocket import chat_history
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from tests.chat_history.conftest import postgres_url, redis_url, table

__all__ = ["STORES", "Store", "make_store", "postgres_url", "redis_url", "shared_store", "store", "table"]


@dataclass
class Store:
    """A conversation that is opened more than once.

    Attributes:
        code: makes the history, here and in other processes; empty: it is in the memory of this one.
    """

    code: str

    def __post_init__(self) -> None:
        self._in_memory = InMemoryChatMessageHistory()

    def open(self) -> BaseChatMessageHistory:
        """Return the history, as somebody else would open it."""
        if not self.code:
            return self._in_memory
        history: BaseChatMessageHistory = eval(self.code, {"chat_history": chat_history})
        return history


_SHARED: dict[str, Callable[[pytest.FixtureRequest, Path], str]] = {
    "file": lambda request, path: f"chat_history.FileChatMessageHistory({str(path)!r})",
    "sqlite": lambda request, path: f"chat_history.SQLiteChatMessageHistory('talk', {str(path)!r})",
    "redis": lambda request, path: (
        f"chat_history.RedisChatMessageHistory({str(uuid4())!r}, {request.getfixturevalue('redis_url')!r}, 'hocket-test:')"
    ),
    "postgres": lambda request, path: (
        f"chat_history.PostgresChatMessageHistory({request.getfixturevalue('table')!r}, {str(uuid4())!r}, "
        f"url={request.getfixturevalue('postgres_url')!r})"
    ),
}


def make_store(request: pytest.FixtureRequest, path: Path, kind: str = "") -> Iterator[Store]:
    """Yield a conversation in the store of a kind, by default that of the request; it is gone afterwards."""
    make = _SHARED.get(kind or request.param)
    made = Store(make(request, path / "talk") if make else "")
    yield made
    history = made.open()
    history.clear()
    history.close()


STORES = ["memory", *_SHARED]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A conversation in each store, gone afterwards."""
    yield from make_store(request, tmp_path)


@pytest.fixture(params=list(_SHARED))
def shared_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A conversation in each store that processes can share, gone afterwards."""
    yield from make_store(request, tmp_path)
