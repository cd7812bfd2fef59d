"""The server: follows its script, keeps the book, and runs where it is wanted.

Its tasks belong to no task group of the test: what a test raises comes out as it is, and a fixture may start the server
in one task and stop it in another.
"""

import itertools
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Self

import anyio
from anyio.lowlevel import current_token

from hocket._runtime import clock
from hocket._runtime.detached import call_soon, spawn
from hocket.errors import InvalidInput, ScriptExhausted
from hocket.testing.server.batches import ScriptedBatches
from hocket.testing.server.behaviours import Behaviour, Reply, Status
from hocket.testing.server.connection import ServedConnection
from hocket.testing.server.format import Format
from hocket.testing.server.wire import ReceivedRequest, WireAnswer

__all__ = ["Script", "Server", "serve"]

Script = str | Behaviour | Iterable[str | Behaviour] | Callable[[ReceivedRequest], str | Behaviour]
"""What a server is to do: a behaviour for each request in turn; or one for all of them; or a function."""

BACKLOG = 1024


class Server:
    """A server on loopback that follows a script; made by `serve`.

    Attributes:
        requests: what it was asked, in the order in which it was answered.
        problems: why it answered 500 on its own account, or dropped a connection: the script was over, did not fit the
            request, or raised; no HTTP came. A client that tries again may hide these, so look.
        connections: how many were ever opened.
        open_connections: how many are open.
        tokens_billed: what the answers have cost: the prompt when an answer begins, a stream's output as it is sent.
        batches: what its batch endpoints do, and what was submitted to them.
    """

    def __init__(self, format: Format, script: Script) -> None:
        self.requests: list[ReceivedRequest] = []
        self.problems: list[Exception] = []
        self.connections: int = 0
        self.open_connections: int = 0
        self.tokens_billed: int = 0
        self.batches: ScriptedBatches = ScriptedBatches(format, partial(self._try, self._follow_script), self._bill)
        self._format = format
        self._next = _choose_behaviours(script)
        self._bells: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        self._port = 0
        self._sleep: Callable[[float], Awaitable[None]] = _sleep_by_the_clock
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], None] = lambda: None

    def __repr__(self) -> str:
        return (
            f"<Server {self.url}: {len(self.requests)} requests, {self.open_connections} of {self.connections} "
            f"connections open, {self.tokens_billed} tokens billed, {len(self.problems)} problems>"
        )

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """The base URL that a client of the format is given."""
        return self.origin + self._format.prefix

    async def wait_for(self, condition: Callable[["Server"], bool], within: float = 5.0) -> None:
        """Wait until ``condition`` holds: it is looked at whenever something changes here, not now and then.

        Args:
            condition: asked with the server.
            within: the longest wait, in real seconds.

        Raises:
            AssertionError: it did not hold in time.
        """
        token = current_token()
        with anyio.move_on_after(within):
            while True:
                changed = anyio.Event()
                self._call_at_change(partial(call_soon, token, changed.set))
                if condition(self):
                    return
                await changed.wait()
        if not condition(self):
            raise AssertionError(f"not within {within} s: {self!r}")

    def block_for(self, condition: Callable[["Server"], bool], within: float = 5.0) -> None:
        """Do the same in this thread, while the server runs in another.

        Raises:
            AssertionError: it did not hold in time.
        """
        until = time.monotonic() + within
        while True:
            changed = threading.Event()
            self._call_at_change(changed.set)
            if condition(self):
                return
            if not changed.wait(until - time.monotonic()):
                raise AssertionError(f"not within {within} s: {self!r}")

    async def wait_for_requests(self, count: int, within: float = 5.0) -> None:
        """Wait until ``count`` requests or more have come.

        Raises:
            AssertionError: they did not come in time.
        """
        await self.wait_for(lambda server: len(server.requests) >= count, within)

    async def wait_for_open_connections(self, count: int, within: float = 5.0) -> None:
        """Wait until exactly ``count`` connections are open.

        Raises:
            AssertionError: that did not happen in time.
        """
        await self.wait_for(lambda server: server.open_connections == count, within)

    async def __aenter__(self) -> Self:
        listener, self._stopped = self._listen(), anyio.Event()

        async def run() -> None:
            try:
                await self._accept(listener)
            finally:
                self._stopped.set()

        self._stop = spawn(run).cancel
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._stop()
        with anyio.CancelScope(shield=True):
            await self._stopped.wait()

    def __enter__(self) -> Self:
        listener, started = self._listen(), threading.Event()

        async def run() -> None:
            async with anyio.create_task_group() as tasks:
                self._stop = partial(call_soon, current_token(), tasks.cancel_scope.cancel)
                started.set()
                await self._accept(listener)

        self._sleep = anyio.sleep
        self._thread = threading.Thread(target=anyio.run, args=(run,), name="hocket test server", daemon=True)
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._thread is not None
        self._stop()
        self._thread.join()

    def _listen(self) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        listener.setblocking(False)
        self._port = listener.getsockname()[1]
        return listener

    async def _accept(self, listener: socket.socket) -> None:
        with listener:
            async with anyio.create_task_group() as tasks:
                while True:
                    await anyio.wait_readable(listener)
                    try:
                        sock, _ = listener.accept()
                    except OSError:  # the client has left again
                        continue
                    self.connections += 1
                    self.open_connections += 1
                    tasks.start_soon(self._attend, sock, self.connections)

    async def _attend(self, sock: socket.socket, number: int) -> None:
        self._ring_bells()
        connection = ServedConnection(sock, number, answer=self._answer, bill=self._bill, sleep=self._sleep)
        try:
            await connection.serve()
        except* Exception as group:
            self.problems.extend(_iterate_leaves(group))
        finally:
            self.open_connections -= 1
            self._ring_bells()

    def _answer(self, request: ReceivedRequest) -> WireAnswer:
        request = replace(request, at=clock.current().now(), serial=str(len(self.requests) + 1))
        self.requests.append(request)
        answer = self._try(self._choose_answer, request)
        self._ring_bells()
        return answer

    def _try(self, way: Callable[[ReceivedRequest], WireAnswer], request: ReceivedRequest) -> WireAnswer:
        try:
            return way(request)
        except Exception as error:
            self.problems.append(error)
            refusal = Status(500, f"the test server has a problem: {error!r}", headers={"x-should-retry": "false"})
            return refusal.answer(request, self._format)

    def _choose_answer(self, request: ReceivedRequest) -> WireAnswer:
        return self.batches.answer(request) or self._format.unscripted(request) or self._follow_script(request)

    def _follow_script(self, request: ReceivedRequest) -> WireAnswer:
        behaviour = self._next(request)
        if isinstance(behaviour, str):
            behaviour = Reply(behaviour)
        if not isinstance(behaviour, Behaviour):  # pyright: ignore[reportUnnecessaryIsInstance]  # types are not enforced
            raise InvalidInput(f"a script is made of behaviours and texts, not of {type(behaviour).__name__}")
        return behaviour.answer(request, self._format)

    def _bill(self, tokens: int) -> None:
        self.tokens_billed += tokens
        self._ring_bells()

    def _call_at_change(self, bell: Callable[[], object]) -> None:
        with self._lock:
            self._bells.append(bell)

    def _ring_bells(self) -> None:
        with self._lock:
            bells, self._bells = self._bells, []
        for bell in bells:
            bell()


def serve(format: Format, script: Script) -> Server:
    """Return a server on loopback that answers as ``script`` says, to be entered.

    ``async with`` runs it in the test's own event loop, on asyncio or trio; ``with`` runs it in a thread, for sync tests
    and for clients on other loops:

        async with serve(OpenAIFormat(), [Status(429), Reply("Hello")]) as server:
            model = ChatOpenAI(model="m", base_url=server.url, api_key="k")
            assert (await model.ainvoke("Hi")).text == "Hello"
            assert len(server.requests) == 2

    Args:
        format: the provider's words.
        script: behaviours, used up one a request, in order (``itertools.repeat`` makes one last); or one behaviour, for
            every request; or a function that is given the request and returns a behaviour. A text stands for a `Reply`.
            A request too many is answered with 500, and noted in ``problems``.
    """
    return Server(format, script)


def _choose_behaviours(script: Script) -> Callable[[ReceivedRequest], str | Behaviour]:
    if isinstance(script, str | Behaviour):
        return lambda _: script
    if callable(script):
        return script
    behaviours = iter(script)
    numbers = itertools.count(1)

    def choose(_: ReceivedRequest) -> str | Behaviour:
        number = next(numbers)
        for behaviour in behaviours:
            return behaviour
        raise ScriptExhausted(
            f"the script has {number - 1} behaviours, and this is request {number}; "
            "add a behaviour, or find the call that is one too many"
        )

    return choose


def _iterate_leaves(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _iterate_leaves(error)
        else:
            yield error


async def _sleep_by_the_clock(seconds: float) -> None:
    await clock.current().sleep(seconds)
