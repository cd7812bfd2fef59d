"""Caches that processes share, each in a place of its own, and a model that counts who asks it."""

import os
import socket
import sqlite3
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest
from pydantic import Field

from hocket import caches
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, BaseMessage
from hocket.outputs import ChatGeneration, ChatResult
from tests.kit.warm import Program

__all__ = ["KINDS", "AskingModel", "CachePlace", "open_place", "read_requests", "start_process"]

ROOT = Path(__file__).parents[2]
REDIS = "redis://127.0.0.1:6379/0"
POSTGRES = "postgresql://postgres@127.0.0.1:5432/test"

KINDS = ("sqlite", "redis", "postgres")

_ = caches.SQLiteCache, caches.RedisCache, caches.PostgresCache  # imported before a loop could be held up


class CachePlace(ABC):
    """Where a cache is kept, and what is done to it behind the back of the cache."""

    @abstractmethod
    def code(self, **options: Any) -> str:
        """Return the expression that opens the cache, in any process."""

    def open(self, **options: Any) -> caches.BaseCache:
        """Return the cache, opened anew."""
        cache: caches.BaseCache = eval(self.code(**options), {"caches": caches})
        return cache

    @abstractmethod
    def let_time_pass(self) -> None:
        """Have all that has a limit of time, answers and claims, be too old."""

    @abstractmethod
    def overwrite(self, value: bytes) -> int:
        """Put a value in place of every answer; return how many there were."""

    @abstractmethod
    def count_claims(self) -> int:
        """Return how many claims there are."""


class SQLitePlace(CachePlace):
    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "cache.db")

    def code(self, **options: Any) -> str:
        return f"caches.SQLiteCache({self.path!r}, **{options!r})"

    def run(self, statement: str, *parameters: Any) -> list[Any]:
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            with connection:
                return connection.execute(statement, parameters).fetchall()
        finally:
            connection.close()

    def let_time_pass(self) -> None:
        self.run("UPDATE hocket_cache SET expires = 1 WHERE expires IS NOT NULL")
        self.run("UPDATE hocket_claim SET until = 1")

    def overwrite(self, value: bytes) -> int:
        self.run("UPDATE hocket_cache SET value = ?", value)
        return self.run("SELECT count(*) FROM hocket_cache")[0][0]

    def count_claims(self) -> int:
        return self.run("SELECT count(*) FROM hocket_claim")[0][0]


class RedisPlace(CachePlace):
    def __init__(self) -> None:
        import redis

        self.prefix = f"hocket-test:{uuid4().hex}:"
        self.client = redis.Redis.from_url(REDIS)

    def code(self, **options: Any) -> str:
        return f"caches.RedisCache({REDIS!r}, prefix={self.prefix!r}, **{options!r})"

    def names(self) -> list[bytes]:
        return list(self.client.scan_iter(match=f"{self.prefix}*"))

    def let_time_pass(self) -> None:
        for name in self.names():
            if self.client.pttl(name) > 0:
                self.client.delete(name)

    def overwrite(self, value: bytes) -> int:
        names = [name for name in self.names() if not name.endswith(b":claim")]
        for name in names:
            self.client.set(name, value)
        return len(names)

    def count_claims(self) -> int:
        return sum(name.endswith(b":claim") for name in self.names())


class PostgresPlace(CachePlace):
    def __init__(self) -> None:
        self.table = f"hocket_test_{uuid4().hex}"

    def code(self, **options: Any) -> str:
        return f"caches.PostgresCache({POSTGRES!r}, table={self.table!r}, **{options!r})"

    def run(self, statement: str, *parameters: Any) -> Any:
        """Run a statement in which {cache} and {claim} stand for the tables; return the cursor's rows, or their number."""
        import psycopg

        tables = {"cache": f'"{self.table}"', "claim": f'"{self.table}_claim"'}
        with psycopg.connect(POSTGRES, autocommit=True) as connection:
            cursor = connection.execute(statement.format(**tables).encode(), parameters or None)
            return cursor.fetchall() if cursor.description else cursor.rowcount

    def let_time_pass(self) -> None:
        self.run("UPDATE {cache} SET expires = 'epoch' WHERE expires IS NOT NULL")
        self.run("UPDATE {claim} SET until = 'epoch'")

    def overwrite(self, value: bytes) -> int:
        rows: int = self.run("UPDATE {cache} SET value = %s", value)
        return rows

    def count_claims(self) -> int:
        return len(self.run("SELECT key FROM {claim}"))


def _need(name: str, port: int) -> None:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError as error:
        reason = f"{name} does not answer on port {port} ({error}); start it to run this test"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@contextmanager
def open_place(kind: str, folder: Path) -> Iterator[CachePlace]:
    """Make a place of one of `KINDS`, gone afterwards."""
    if kind == "sqlite":
        yield SQLitePlace(folder)
    elif kind == "redis":
        _need("Redis", 6379)
        place = RedisPlace()
        yield place
        if names := place.names():
            place.client.delete(*names)
        place.client.close()
    else:
        _need("PostgreSQL", 5432)
        table = PostgresPlace()
        yield table
        table.run("DROP TABLE IF EXISTS {cache}, {claim}")


class AskingModel(BaseChatModel):
    """A model of any process, which writes down each request in a file.

    Args:
        log: the file.
        pause: seconds that an answer takes; None: it never comes.
    """

    log: str
    pause: float | None = Field(default=0.0, exclude=True)

    @property
    def _llm_type(self) -> str:
        return "asking"

    def _note(self, messages: list[BaseMessage]) -> ChatResult:
        line = f"{messages[-1].text}\n".encode()
        file = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)  # a line is one write
        try:
            os.write(file, line)
        finally:
            os.close(file)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"{messages[-1].text}!"))])

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        result = await anyio.to_thread.run_sync(self._note, messages)
        await (anyio.sleep_forever() if self.pause is None else anyio.sleep(self.pause))
        return result

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        result = self._note(messages)
        time.sleep(1e6 if self.pause is None else self.pause)
        return result


def read_requests(log: str | Path) -> list[str]:
    """Return what the models of all processes were asked, in order."""
    return Path(log).read_text().splitlines() if os.path.exists(log) else []


_PROGRAM = """\
import asyncio, os, random, sys
from concurrent.futures import ThreadPoolExecutor
from hocket import caches
from hocket.caches import fleet
from tests.kit.caches import AskingModel
fleet.PATIENCE = 60.0  # a busy machine is slow, and these tests count
"""


def start_process(*lines: str) -> subprocess.Popen[str]:
    """Start a process that runs the lines; its output is to be read."""
    return Program("-W", "error", "-c", "\n".join((_PROGRAM, *lines)), stdout=subprocess.PIPE, text=True, cwd=ROOT)
