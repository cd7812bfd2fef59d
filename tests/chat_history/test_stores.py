"""Every store that hocket ships passes the exam that it ships."""

from pathlib import Path

import pytest

from hocket.chat_history import (
    FileChatMessageHistory,
    InMemoryChatMessageHistory,
    PostgresChatMessageHistory,
    RedisChatMessageHistory,
    SQLiteChatMessageHistory,
)
from hocket.testing import ChatHistoryConformance


class TestInMemory(ChatHistoryConformance):
    """A history in this process."""

    @pytest.fixture(autouse=True)
    def _store(self) -> None:
        self.kept: dict[str, InMemoryChatMessageHistory] = {}

    def make(self, session_id: str) -> InMemoryChatMessageHistory:
        return self.kept.setdefault(session_id, InMemoryChatMessageHistory())


class TestFile(ChatHistoryConformance):
    """A history in a file."""

    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        self.directory = tmp_path

    def make(self, session_id: str) -> FileChatMessageHistory:
        return FileChatMessageHistory(self.directory / session_id)


class TestSQLite(ChatHistoryConformance):
    """A history in an SQLite database."""

    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        self.path = tmp_path / "histories.db"

    def make(self, session_id: str) -> SQLiteChatMessageHistory:
        return SQLiteChatMessageHistory(session_id, self.path)


class TestRedis(ChatHistoryConformance):
    """A history in Redis, without and with a time to live by turns."""

    @pytest.fixture(autouse=True)
    def _store(self, redis_url: str) -> None:
        self.url = redis_url

    def make(self, session_id: str) -> RedisChatMessageHistory:
        return RedisChatMessageHistory(session_id, self.url, "hocket-test:")


class TestRedisWithTTL(TestRedis):
    """A history in Redis that is forgotten some day."""

    def make(self, session_id: str) -> RedisChatMessageHistory:
        return RedisChatMessageHistory(session_id, self.url, "hocket-test:", ttl=60)


class TestPostgres(ChatHistoryConformance):
    """A history in PostgreSQL."""

    @pytest.fixture(autouse=True)
    def _store(self, postgres_url: str, table: str) -> None:
        self.url, self.table = postgres_url, table

    def make(self, session_id: str) -> PostgresChatMessageHistory:
        return PostgresChatMessageHistory(self.table, session_id, url=self.url)
