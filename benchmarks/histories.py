"""Conversations that are kept: a turn with what was said before, and what each store takes to append and to read.

A turn is `RunnableWithMessageHistory` around a model that answers at once, with a history in memory of as many messages
before each turn; both libraries copy and look through all of them. Stores have no counterpart in langchain-core. Their
CPU time is what a process pays; what it waits for a disk or a server is not in it. Redis and PostgreSQL are measured
where they answer (``REDIS_URL``, ``POSTGRES_URL``, else the usual ports).
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from uuid import uuid4

from .bench import Bench, Case, awaiting, repeating
from .harness import Body, Target
from .library import Library, answering, library
from .table import Row

__all__ = ["CASES"]

SIZES = (10, 1_000)
SMALL, LARGE = 1_000, 10_000
TABLE = "hocket_benchmark"


def remembering(bench: Bench) -> Iterator[Row]:
    """A turn with so many messages before it."""
    for size, limit in zip(SIZES, (0.1, 0.3), strict=True):
        yield bench.compare(f"a turn after {size:,} messages", lambda lib, size=size: _turn(lib, size), Target(limit))  # type: ignore[misc]


def stores(bench: Bench) -> Iterator[Row]:
    """A turn of two messages appended, and a long conversation read, in each store."""
    for name, opened in _STORES.items():
        try:
            with opened() as make:
                yield from _rows(bench, name, make)
        except Exception as error:  # no server, or no client for it
            yield Row(bench.case, f"{name}: not measured", failure=type(error).__name__)


def _turn(lib: Library, size: int) -> Body:
    """Make a body of turns over a history that stays as long as it is."""
    where: Any = lib.runnables if lib.name == "hocket" else lib.runnables.history
    Base: Any = lib.chat_history.InMemoryChatMessageHistory

    class Constant(Base):  # type: ignore[misc]
        def add_messages(self, messages: Any) -> None:
            if not self.messages:
                super().add_messages(messages)

        async def aadd_messages(self, messages: Any) -> None:  # else the sync one is called in a thread
            self.add_messages(messages)

    history = Constant()
    history.add_messages(lib.conversation(size))
    with warnings.catch_warnings(action="ignore"):  # langchain-core's is deprecated, and has no successor there
        chain = where.RunnableWithMessageHistory(answering(lib), lambda: history)
    return awaiting(lambda: chain.ainvoke("hello"))


def _rows(bench: Bench, name: str, make: Callable[[], Any]) -> Iterator[Row]:
    """Rows of one store; ``make`` opens a conversation of its own each time."""

    def appending(lib: Library) -> Body:
        history, turn = make(), lib.conversation(2)
        return repeating(lambda: history.add_messages(turn))

    def reading(size: int) -> Body:
        history = make()
        history.add_messages(library("hocket").conversation(size))
        return repeating(lambda: history.messages)

    yield bench.compare(f"{name}: append a turn", appending, None, libraries=["hocket"])
    yield bench.compare(
        f"{name}: read {SMALL:,} messages, per message",
        lambda _: reading(SMALL),
        None,
        per=SMALL,
        libraries=["hocket"],
    )
    what = f"{name}: read a message of {LARGE:,}, to one of {SMALL:,}"
    yield bench.growth(what, lambda: reading(SMALL), lambda: reading(LARGE), 2, per=LARGE // SMALL)


Opened = AbstractContextManager[Callable[[], Any]]


@contextmanager
def _in_memory() -> Generator[Callable[[], Any]]:
    yield library("hocket").chat_history.InMemoryChatMessageHistory


@contextmanager
def _in_files() -> Generator[Callable[[], Any]]:
    with tempfile.TemporaryDirectory() as directory:
        yield lambda: library("hocket").chat_history.FileChatMessageHistory(f"{directory}/{uuid4()}.jsonl")


@contextmanager
def _in_sqlite() -> Generator[Callable[[], Any]]:
    with tempfile.TemporaryDirectory() as directory:
        yield lambda: library("hocket").chat_history.SQLiteChatMessageHistory(str(uuid4()), f"{directory}/talk.db")


@contextmanager
def _in_redis() -> Generator[Callable[[], Any]]:
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
    yield lambda: library("hocket").chat_history.RedisChatMessageHistory(
        str(uuid4()), url, "hocket:benchmark:", ttl=600
    )


@contextmanager
def _in_postgres() -> Generator[Callable[[], Any]]:
    url = os.environ.get("POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/test")
    store = library("hocket").chat_history.PostgresChatMessageHistory
    try:
        yield lambda: store(TABLE, str(uuid4()), url=url)
    finally:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            store.drop_table(connection, TABLE)


_STORES: dict[str, Callable[[], Opened]] = {
    "memory": _in_memory,
    "file": _in_files,
    "SQLite": _in_sqlite,
    "Redis": _in_redis,
    "PostgreSQL": _in_postgres,
}

CASES: dict[str, Case] = {"remembering": remembering, "stores": stores}
