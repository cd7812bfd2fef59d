"""A relay before a server, which a test can make slow, silent or dead."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Relay", "relay_to"]


class Relay:
    """Passes bytes on, both ways.

    Attributes:
        port: where it listens.
        answers: while it is not set, what the server says is held back.
        asked: set when a client has said something.
        is_away: whether new connections are closed at once.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.answers = threading.Event()
        self.answers.set()
        self.asked = threading.Event()
        self.is_away = False
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def go_away(self) -> None:
        """Break connections, and close new ones until ``is_away`` is False."""
        self.is_away = True
        self._close(self._sockets[1:])

    def cut(self) -> None:
        """Be gone: connections break, and new ones are refused."""
        self._close(self._sockets)
        self.answers.set()

    def _close(self, sockets: list[socket.socket]) -> None:
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.is_away:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, server]
                threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_answer:
                    self.answers.wait()
                target.sendall(data)
                if not is_answer:
                    self.asked.set()
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay_to(port: int) -> Iterator[Relay]:
    """Have a relay to a port of this machine."""
    relay = Relay(port)
    try:
        yield relay
    finally:
        relay.cut()
