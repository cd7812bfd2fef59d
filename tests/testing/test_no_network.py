"""The closed network: this machine can be reached, the world cannot, and the door opens again."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hocket.testing import no_network

# TEST-NET-1 and the documentation prefix: nobody is there, should a guard ever fail.
WORLD_4 = ("192.0.2.1", 80)
WORLD_6 = ("2001:db8::1", 80)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A listener on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
@pytest.mark.parametrize("peer", [WORLD_4, WORLD_6, ("example.org", 443)])
def test_a_connection_to_the_world_is_refused(method: str, peer: tuple[str, int]) -> None:
    """The error names the address and says what to do instead."""
    family = socket.AF_INET6 if ":" in peer[0] else socket.AF_INET
    with no_network(), socket.socket(family) as sock, pytest.raises(RuntimeError) as refusal:
        getattr(sock, method)(peer)
    assert repr(peer) in str(refusal.value)
    assert "127.0.0.1" in str(refusal.value)


def test_a_datagram_to_the_world_is_refused() -> None:
    """UDP needs no connection, so sending is guarded too, with and without flags."""
    with no_network(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        with pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
            sock.sendto(b"hello", WORLD_4)
        with pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
            sock.sendto(b"hello", 0, WORLD_4)


@pytest.mark.parametrize("look_up", ["getaddrinfo", "gethostbyname", "gethostbyname_ex"])
def test_a_look_up_of_a_name_is_refused(look_up: str) -> None:
    """Asking for a host's address already leaves the machine."""
    port = (443,) if look_up == "getaddrinfo" else ()
    with no_network():
        for host in ("example.org", b"example.org"):
            if isinstance(host, bytes) and look_up != "getaddrinfo":
                continue
            with pytest.raises(RuntimeError, match=r"host b?'example\.org'"):
                getattr(socket, look_up)(host, *port)


def test_this_machine_can_be_reached(server: socket.socket, tmp_path: Path) -> None:
    """Loopback by address and by name, unix sockets, and look-ups that ask nobody."""
    port = server.getsockname()[1]
    with no_network():
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, port)).close()
        assert socket.getaddrinfo("127.0.0.53", port)
        assert socket.getaddrinfo(None, port)
        assert socket.getaddrinfo("0.0.0.0", port, flags=socket.AI_PASSIVE)
        assert socket.getaddrinfo("192.0.2.1", port)  # a number: connecting to it is another matter
        with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
            listener.bind(str(tmp_path / "unix"))
            listener.listen()
            client.connect(str(tmp_path / "unix"))
        with socket.socket(socket.AF_INET6) as sock:
            assert sock.connect_ex(("::1", 1)) != 0  # tried, and nobody there
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            assert sock.sendto(b"hello", ("127.0.0.1", port)) == 5


async def test_async_connections_are_guarded(server: socket.socket) -> None:
    """asyncio and trio connect through the same doors."""
    port = server.getsockname()[1]
    with no_network():
        stream = await anyio.connect_tcp("127.0.0.1", port)
        await stream.aclose()
        with pytest.raises(RuntimeError, match=r"example\.org"):
            await anyio.connect_tcp("example.org", 443)


def test_the_door_opens_again() -> None:
    """The functions are the very same ones afterwards, also after an error and when nested."""

    def doors() -> list[object]:
        return [socket.getaddrinfo, socket.gethostbyname, socket.socket.connect, socket.socket.sendto]

    # This suite's own guard is in place: what counts is that nothing is added to it or taken away.
    before = doors()
    with pytest.raises(KeyError), no_network(), no_network():
        raise KeyError
    assert doors() == before
    assert refused()


@pytest.mark.allow_network
def test_without_a_guard_the_functions_are_the_originals() -> None:
    """`allow_network` lifts the suite's own ban, so that opening and closing can be seen from outside."""
    before = (socket.getaddrinfo, socket.socket.connect, dict(vars(socket.socket)))
    assert not refused()
    with no_network():
        assert refused()
        with no_network():
            assert refused()
        assert refused()
    assert not refused()
    assert (socket.getaddrinfo, socket.socket.connect, dict(vars(socket.socket))) == before


@pytest.mark.allow_network
def test_the_last_thread_out_opens_the_door() -> None:
    """Blocks that overlap in several threads close the network once, and open it once."""
    entered, leave = threading.Barrier(2), threading.Event()

    def other() -> None:
        with no_network():
            entered.wait()
            leave.wait()

    thread = threading.Thread(target=other)
    with no_network():
        thread.start()
        entered.wait()
    assert refused()
    leave.set()
    thread.join()
    assert not refused()


def refused() -> bool:
    """Tell whether the network is closed, without touching it: the guards wear the mark of `functools.wraps`."""
    return hasattr(socket.getaddrinfo, "__wrapped__") and hasattr(socket.socket.connect, "__wrapped__")
