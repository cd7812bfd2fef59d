"""Whether a server cannot be reached, which another try may mend, or refuses, which it will not."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from urllib.parse import urlsplit
from uuid import uuid4

import anyio
import pytest

from hocket import Conversation, ScriptedChatModel, create_agent
from hocket.callbacks import BaseCallbackHandler
from hocket.chat_history import BaseChatMessageHistory, PostgresChatMessageHistory, RedisChatMessageHistory
from hocket.errors import HistoryError, HistoryLockLost, HistoryUnavailable

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


class Gate:
    """Stands before a server, and passes connections on; those that are open can be broken off, and the next ones refused.

    Attributes:
        refusals: how many connections are still to be refused.
        deaf_to: where a client sends this, the server gets it, and the connection breaks off before the answer.
    """

    def __init__(self, target: int) -> None:
        self.refusals = 0
        self.deaf_to: bytes | None = None
        self._target = target
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [start_thread(self._serve)]

    def break_off(self, refusals: int) -> None:
        self.refusals = refusals
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.break_off(0)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.refusals:
                self.refusals -= 1
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._target))
            self._open += [near, far]
            self._threads += [start_thread(self._pass_on, near, far), start_thread(self._pass_on, far, near)]

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65_536):
                if self.deaf_to is not None and self.deaf_to in piece:
                    source.shutdown(socket.SHUT_RDWR)  # first: the answer may be quick
                sink.sendall(piece)
        with source, suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


def start_thread(function: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=function, args=args)
    thread.start()
    return thread


@pytest.fixture(params=["redis", "postgres"])
def gate(request: pytest.FixtureRequest) -> Iterator[tuple[Gate, BaseChatMessageHistory]]:
    """A gate, and a history behind it."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    gate = Gate(urlsplit(url).port or 0)
    url = url.replace(f":{urlsplit(url).port}", f":{gate.port}")
    history: BaseChatMessageHistory
    if request.param == "redis":
        history = RedisChatMessageHistory(str(uuid4()), url, ttl=60)
    else:
        table = request.getfixturevalue("table")
        history = PostgresChatMessageHistory(table, uuid4(), url=f"{url}?sslmode=disable&gssencmode=disable")
    yield gate, history
    gate.refusals, gate.deaf_to = 0, None
    history.clear()
    history.close()
    gate.close()


class OnceAsked(BaseCallbackHandler):
    """Does something when a model has answered."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def on_llm_end(self, *args: object, **kwargs: object) -> None:
        self._act()


def interrupted(break_off: Callable[[], None]) -> ScriptedChatModel:
    """A model that has answered when the way to the store breaks off."""
    return ScriptedChatModel(script=["paid for"], callbacks=[OnceAsked(break_off)])


async def texts(history: BaseChatMessageHistory) -> list[str]:
    return [message.text for message in await history.aget_messages()]


async def test_a_turn_waits_for_a_store_that_is_away_for_a_moment(gate: tuple[Gate, BaseChatMessageHistory]) -> None:
    """What was paid for is stored, once, and nobody hears of it: by conversations, agents and sync callers alike."""
    door, history = gate
    talk = Conversation(interrupted(lambda: door.break_off(2)), history=history)
    assert (await talk.asend("hi")).text == "paid for"
    agent = create_agent(interrupted(lambda: door.break_off(2)))
    assert (await agent.ainvoke("hi", history=history)).output == "paid for"
    door.break_off(2)
    await anyio.to_thread.run_sync(history.add_user_message, "sync")
    assert await texts(history) == ["hi", "paid for", "hi", "paid for", "sync"]


async def test_an_answer_that_cannot_be_stored_is_on_the_error(gate: tuple[Gate, BaseChatMessageHistory]) -> None:
    """It has been paid for. The store was not reached, and says so."""
    door, history = gate
    talk = Conversation(interrupted(lambda: door.break_off(1_000)), history=history)
    agent = create_agent(interrupted(lambda: door.break_off(1_000)))
    for ask in (partial(talk.asend, "hi"), partial(agent.ainvoke, "hi", history=history)):
        with pytest.raises(HistoryUnavailable) as failure:
            await ask()
        assert failure.value.answer.text == "paid for"
        assert not failure.value.was_sent or isinstance(failure.value, HistoryLockLost)
        door.refusals = 0
        assert await texts(history) == []


async def test_a_turn_that_may_be_stored_is_not_sent_again(gate: tuple[Gate, BaseChatMessageHistory]) -> None:
    """The server has it, and its answer is lost: the caller is told, and the turn stands there once."""
    door, history = gate
    talk = Conversation(ScriptedChatModel(script=["paid for"]), history=history)
    door.deaf_to = b"paid for"
    with pytest.raises(HistoryUnavailable) as failure:
        await talk.asend("hi")
    assert failure.value.answer.text == "paid for" and failure.value.was_sent
    door.deaf_to = None
    stored: list[str] = []
    for _ in range(500):  # until the server has come to it
        if stored := await texts(history):
            break
        await anyio.sleep(0.01)
    assert stored == ["hi", "paid for"]
