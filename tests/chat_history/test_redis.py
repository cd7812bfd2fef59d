"""The history in Redis."""

import pickle
import socket
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from uuid import uuid4

import anyio
import pytest
import redis
import redis.asyncio

from hocket.chat_history import RedisChatMessageHistory
from hocket.errors import DroppedStateWarning, HistoryError, InvalidInput, MissingDependency
from hocket.messages import AIMessage, BaseMessage, HumanMessage

TURN: list[BaseMessage] = [HumanMessage("one"), AIMessage("two")]
PREFIX = "hocket-test:"
PASSWORD = "canary-5e37"


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    """A client of the test's own."""
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def session(client: redis.Redis) -> Iterator[str]:
    """A session that is gone afterwards."""
    session = str(uuid4())
    yield session
    client.delete(PREFIX + session)


def test_an_element_is_a_message(client: redis.Redis, redis_url: str, session: str) -> None:
    """The list is there for others to read, the oldest first, under prefix and session; without a ttl it stays."""
    history = RedisChatMessageHistory(session, redis_url, PREFIX)
    history.add_messages(TURN)
    assert history.key == PREFIX + session
    first, second = client.lrange(history.key, 0, -1)
    assert b'"one"' in first
    assert b'"two"' in second
    assert client.ttl(history.key) == -1


def test_ttl_begins_anew_with_each_turn(client: redis.Redis, redis_url: str, session: str) -> None:
    """The conversation is forgotten so many seconds after its last turn."""
    history = RedisChatMessageHistory(session, redis_url, PREFIX, ttl=60)
    history.add_messages(TURN)
    client.expire(history.key, 5)
    assert len(history.messages) == 2
    assert client.ttl(history.key) <= 5
    history.add_user_message("three")
    assert 55 < client.ttl(history.key) <= 60


def test_ttl_may_be_a_fraction(redis_url: str, session: str) -> None:
    """Half a minute is 0.5 of one, and a tenth of a second is enough to see it end."""
    history = RedisChatMessageHistory(session, redis_url, PREFIX, ttl=0.1)
    history.add_messages(TURN)
    threading.Event().wait(0.15)
    assert history.messages == []


@pytest.mark.parametrize("ttl", [0, -1, float("nan")])
def test_ttl_must_be_above_0(ttl: float) -> None:
    """A conversation that is forgotten at once is a mistake."""
    with pytest.raises(InvalidInput, match="ttl is"):
        RedisChatMessageHistory("talk", ttl=ttl)


def test_a_given_client_serves_and_stays_open(client: redis.Redis, session: str) -> None:
    """A client of the caller's is used, by sync and async methods, and not closed."""
    with RedisChatMessageHistory(session, key_prefix=PREFIX, client=client) as history:
        history.add_messages(TURN)
        assert anyio.run(history.aget_messages, backend="trio") == TURN
    assert client.ping()


def test_a_client_of_asyncio_says_so_under_trio(session: str) -> None:
    """A client that only works on asyncio is refused on trio's loop, with the way out."""
    history = RedisChatMessageHistory(session, client=redis.asyncio.Redis())
    with pytest.raises(HistoryError, match=r"only works on asyncio.*give it a sync client or a URL"):
        anyio.run(history.aget_messages, backend="trio")


@pytest.mark.parametrize(
    "url",
    [
        f"http://u:{PASSWORD}@h/0",
        f"redis://u:{PASSWORD}@h:port/0",
        f"redis://h/0?socket_timeout=soon&password={PASSWORD}",
        f"redis://h/0?no_such_option=1&password={PASSWORD}",
        f"redis://{PASSWORD}@[bad:1/0",
    ],
    ids=["scheme", "port", "option", "name", "bracket"],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    """A URL that redis-py cannot read is refused at once, and shown without its password."""
    with pytest.raises(InvalidInput, match="is no URL of Redis") as refusal:
        RedisChatMessageHistory("talk", url)
    assert PASSWORD not in str(refusal.value)


def test_the_password_stays_inside() -> None:
    """Neither repr, nor an error with all that it holds, nor a pickle shows the URL's password."""
    history = RedisChatMessageHistory("talk", f"redis://user:{PASSWORD}@127.0.0.1:1/0?socket_timeout=2")
    with pytest.raises(HistoryError, match=r"127\.0\.0\.1:1") as failure:
        history.add_messages(TURN)
    with pytest.warns(DroppedStateWarning, match="password"):
        pickled = pickle.dumps(history)
    assert PASSWORD not in repr(history) + repr(vars(history)) + str(failure.value)
    assert PASSWORD.encode() not in pickled
    assert "user" in pickle.loads(pickled)._server.url.get_secret_value()
    error: BaseException | None = failure.value
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            own = trace.tb_frame.f_globals["__name__"] != __name__
            assert not own or PASSWORD not in repr(trace.tb_frame.f_locals)
            trace = trace.tb_next
        error = error.__cause__ or error.__context__


def test_nothing_is_sent_twice() -> None:
    """Where the answer to an append is lost, it is an error; the turn may be stored, and must not be stored twice."""
    received: list[bytes] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                while data := connection.recv(65_536):
                    received.append(data)
                    if b"RPUSH" in data:
                        break
                    connection.sendall(b"+OK\r\n" * data.count(b"CLIENT"))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        history = RedisChatMessageHistory("talk", f"redis://127.0.0.1:{listener.getsockname()[1]}/0?protocol=2")
        with pytest.raises(HistoryError):
            history.add_messages(TURN)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert b"".join(received).count(b"RPUSH") == 1


def test_a_connection_that_was_closed_meanwhile_is_replaced(client: redis.Redis, redis_url: str, session: str) -> None:
    """A server that was started anew costs nobody a turn."""
    name = f"hocket-{uuid4().hex}"
    history = RedisChatMessageHistory(session, f"{redis_url}?client_name={name}", PREFIX)
    history.add_messages(TURN)
    (own,) = (int(one["id"]) for one in client.client_list() if one["name"] == name)
    assert client.client_kill_filter(_id=own) == 1
    history.add_messages(TURN)
    assert len(history.messages) == 4
    history.close()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without redis-py the error says what to install."""
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "hocket.chat_history.redis")
    monkeypatch.delitem(sys.modules, "hocket._databases.redis")
    with pytest.raises(MissingDependency, match=r"pip install 'hocket\[redis\]'"):
        import_module("hocket.chat_history.redis")
