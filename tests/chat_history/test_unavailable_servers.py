"""Whether a server cannot be reached, which another try may mend, or refuses, which it will not."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from hocket.chat_history import BaseChatMessageHistory, PostgresChatMessageHistory, RedisChatMessageHistory
from hocket.errors import HistoryError, HistoryUnavailable

WRONG_PASSWORD = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0"
POSTGRES_REFUSAL = b"E" + (4 + len(WRONG_PASSWORD)).to_bytes(4) + WRONG_PASSWORD
REDIS_REFUSAL = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"


def redis_history(port: int) -> BaseChatMessageHistory:
    return RedisChatMessageHistory("talk", f"redis://ada:secret@127.0.0.1:{port}/0")


def postgres_history(port: int) -> BaseChatMessageHistory:
    return PostgresChatMessageHistory("t", uuid4(), url=f"postgresql://ada:secret@127.0.0.1:{port}/d?sslmode=disable")


@contextmanager
def answering_server(answer: bytes) -> Iterator[int]:
    """Answer the first bytes of each connection, and close it; gives the port."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("make_history", [redis_history, postgres_history])
def test_a_missing_server_is_unavailable(
    make_history: Callable[[int], BaseChatMessageHistory],
) -> None:
    """So is one that breaks off: its error says that another try may do better."""
    with pytest.raises(HistoryUnavailable, match=r"127\.0\.0\.1:1|port 1\b"):
        list(make_history(1).messages)
    with answering_server(b"") as port, pytest.raises(HistoryUnavailable, match="closed"):
        list(make_history(port).messages)


@pytest.mark.parametrize(
    ("make_history", "answer", "reason"),
    [
        (redis_history, REDIS_REFUSAL, "invalid username-password pair"),
        (postgres_history, POSTGRES_REFUSAL, "password authentication failed"),
    ],
)
def test_a_server_that_refuses_is_not_unavailable(
    make_history: Callable[[int], BaseChatMessageHistory], answer: bytes, reason: str
) -> None:
    """A wrong password stays wrong."""
    with answering_server(answer) as port, pytest.raises(HistoryError, match=reason) as refusal:
        list(make_history(port).messages)
    assert type(refusal.value) is HistoryError
