"""Answers that outlive their readers.

The run of an answer is a task of the process that began it, and belongs to no request. Readers come and go, in any process:
beside the run they are fed from memory, elsewhere from the store. A lease in the store, renewed while the run goes on, says
that its process lives. Where it has run out, the first who asks writes the end of the answer: it is lost.
"""

import contextlib
import math
import re
import secrets
from collections.abc import AsyncIterable, Callable, Sequence
from functools import partial
from typing import TypeVar, cast

import anyio
from anyio.lowlevel import current_token

from hocket._databases.log_follower import LogFollower
from hocket._databases.opening import open_state_store
from hocket._databases.store import (
    AppendRows,
    ClaimLease,
    GetOwner,
    GetValue,
    Lease,
    Operation,
    PutValue,
    ReadRows,
    ReleaseLease,
    RenewLease,
)
from hocket._runtime import clock
from hocket._runtime.clock import Alarm
from hocket._runtime.detached import spawn
from hocket._runtime.mode import ASYNC
from hocket.errors import AnswerBusy, AnswerLost, InvalidInput, StoreError
from hocket.errors.hints import excerpt
from hocket.serving.event_body import PING_SECONDS, EventBody, as_stream, check_ping
from hocket.serving.live.head import Head, LivePlace, LiveState
from hocket.serving.live.reader import LiveReader, StoredEventWriter
from hocket.serving.live.run import LiveRun, number_events
from hocket.serving.live.runs import BEAT, LiveRuns
from hocket.serving.page_writer import StreamProtocol, check_id
from hocket.serving.server_sent_events import make_writer

__all__ = ["LiveAnswers"]

T = TypeVar("T")

LONGEST_ID = 5_000
"""Characters of an answer's name: a user and a chat of 200 characters each have fewer, percent-encoded."""

LONGEST_THREAD = 200


class LiveAnswers:
    """Answers that go on without their readers, and that readers of any process follow, from any place, and stop.

        live = LiveAnswers("redis://localhost")
        body = await live.start("chat-1", agent.astream(question))

    Use one in each process of a service, with the same store. It serves one event loop at a time.

    Args:
        store: ``redis://…``, ``postgresql://…`` or ``sqlite:///path``, for all processes that use it; None: in this process.
        name: sets the answers of one service apart from those of others in the same store.
        keep: seconds for which an answer can be followed after its end.
        lease: seconds after which an answer is lost whose process has died.
        max_bytes: of the events of an answer; one with more fails.
        ping: seconds of silence after which a reader is sent a comment; None: never.

    Raises:
        InvalidInput: an argument cannot be used.
        MissingDependency: a package is missing.

    Examples:
        >>> import asyncio
        >>> from hocket import FakeListChatModel
        >>> from hocket.serving import LiveAnswers
        >>> async def main():
        ...     live = LiveAnswers()
        ...     await live.start("chat-1", FakeListChatModel(responses=["Hi"]).astream("Hello"))
        ...     body = await live.follow("chat-1")
        ...     return b"".join([piece async for piece in body]).count(b"data:")
        >>> asyncio.run(main())
        3
    """

    def __init__(
        self,
        store: str | None = None,
        *,
        name: str = "default",
        keep: float = 600.0,
        lease: float = 10.0,
        max_bytes: int = 10_000_000,
        ping: float | None = PING_SECONDS,
    ) -> None:
        check_ping(ping)
        for what, value, least in (("keep", keep, 1.0), ("lease", lease, 2 * BEAT), ("max_bytes", max_bytes, 1)):
            if not (type(value) in (int, float) and least <= value < math.inf):
                raise InvalidInput(f"{what} is {value!r}; it is a number, {least:g} or more")
        self.name: str = check_id("name", name)
        self._store = open_state_store(store, "live answers")
        self._keep = keep
        self._lease = lease
        self._max_bytes = max_bytes
        self._ping = ping
        self._runs = LiveRuns(self._store, self._lease, self._keep)
        self._follower = LogFollower(self._store)
        self._asked: dict[LivePlace, _AskedHead] = {}
        self._loop: object = None  # that uses it

    # -- what a service does

    async def start(
        self,
        id: str,
        stream: AsyncIterable[T],
        *,
        protocol: StreamProtocol = "hocket",
        encode: Callable[[T], object] | None = None,
        run_id: str = "",
        thread: str = "",
    ) -> EventBody[bytes]:
        """Read an answer to its end, with or without readers; return the body of its first reader.

        It waits for the first item, or until it is time for a ping.

        Args:
            id: the answer's name, such as a chat's: one answer of a name runs at a time.
            stream: what an ``astream`` returns.
            protocol: of the events, see `hocket.serving.sse`.
            encode: what is sent of an item, see `hocket.serving.sse`.
            run_id, thread: as ``id`` and ``thread`` of `hocket.serving.sse`; "": a new one, and the answer's name.

        Raises:
            AnswerBusy: an answer of this name is running. The stream is not touched.
            StoreUnavailable: the store cannot be reached. The model is not asked.
            InvalidInput: an argument cannot be used.
            Exception: the answer has failed before its first item.
        """
        place = self._find_place(id)
        head = Head(secrets.token_hex(6), protocol, clock.current().time())
        chosen = cast("Callable[[object], object] | None", encode)
        writer = make_writer(protocol, run_id or head.token, thread or id[:LONGEST_THREAD], chosen)
        run = LiveRun(place, head, as_stream(stream), writer, self._max_bytes, self._runs.wake)
        await ASYNC.run_shielded(self._begin(run))  # a caller who leaves meanwhile leaves a run that goes on
        with Alarm() as alarm:
            alarm.set(self._ping)
            await run.has_begun.wait()
        if run.early_failure is not None:
            await run.is_over.wait()  # who asks again at once finds no answer running
            raise run.early_failure
        return self._make_body(place, head, 0)

    async def follow(self, id: str, after: str | None = None) -> EventBody[bytes] | None:
        """Return a body with the events of an answer, from its beginning or from a place on, to its end.

        Args:
            id: the answer's name.
            after: the id of the last event that the reader has seen (``Last-Event-ID``). One of an older answer, or
                nonsense: from the beginning.

        Returns:
            the body; None: there is no such answer, or not any more.

        Raises:
            StoreUnavailable: the store cannot be reached.
        """
        place = self._find_place(id)
        if not isinstance(after, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]  # bytes of a header
            raise InvalidInput(f"after is {excerpt(after)}; it is the text of a Last-Event-ID, or None")
        head = await self._find_head(place)
        if head is None:
            return None
        return self._make_body(place, head, await self._count_seen(place, head, after or ""))

    async def _count_seen(self, place: LivePlace, head: Head, after: str) -> int:
        """Return how many events a reader has seen, by the id of the last one."""
        token, _, number = after.rpartition(".")
        if token != head.token or not re.fullmatch("[1-9][0-9]{0,8}", number):
            return 0
        last = ReadRows(place.log(token), int(number) - 1, most=1)
        await self._do(last)
        return int(number) if last.rows else 0

    async def stop(self, id: str) -> bool:
        """Stop an answer, in any process; return, when it has ended, whether it was running.

        Raises:
            StoreUnavailable: the store cannot be reached.
        """
        place = self._find_place(id)
        head = await self._find_head(place)
        if head is None or not head.is_running:
            return False
        token = head.token
        if (run := self._runs.find(token)) is not None:
            run.stop()
            await run.is_over.wait()
            return True
        await self._do(PutValue(place.stop_key(token), b"", self._runs.ttl))
        while head is not None and head.token == token and head.is_running:
            await clock.current().sleep(0.1)
            head = await self._find_head(place)
        return True

    async def is_running(self, id: str) -> bool:
        """Whether an answer is being made: `state` knows more, and has to read all of it for that.

        Raises:
            StoreUnavailable: the store cannot be reached.
        """
        head = await self._find_head(self._find_place(id))
        return head is not None and head.is_running

    async def state(self, id: str) -> LiveState | None:
        """Return how far an answer is; None: there is none, or not any more.

        Raises:
            StoreUnavailable: the store cannot be reached.
        """
        place = self._find_place(id)
        head = await self._find_head(place)
        if head is None:
            return None
        events, size = head.events, head.size
        if head.is_running:
            run = self._runs.find(head.token)
            rows = await self._read_log(place, head.token) if run is None else run.rows
            events, size = len(rows), sum(map(len, rows)) - len(rows)
        return LiveState(id, head.state, head.protocol, events, size, head.started_at)

    async def aclose(self, seconds: float = 5.0) -> None:
        """Stop what runs in this process, and wait for its end, so many seconds at most: for the end of a service."""
        with anyio.move_on_after(seconds):
            await self._runs.stop_all()

    # -- what is stored

    def _find_place(self, id: str) -> LivePlace:
        loop = current_token().native_token
        if loop is not self._loop and (self._runs.is_at_work or self._follower.is_looking):
            raise InvalidInput(
                "these LiveAnswers are at work in another event loop: make others with the same store for this one"
            )
        if loop is not self._loop:
            self._loop = loop
            self._runs.move()
        return LivePlace(self.name, check_id("id", id, LONGEST_ID))

    async def _do(self, *operations: Operation) -> None:
        await self._store.do(ASYNC, operations)

    async def _find_head(self, place: LivePlace) -> Head | None:
        """Return what is known of an answer; where its process is gone, its end is written before."""
        owner, found = GetOwner(place.key), GetValue(place.key)
        await self._do(owner, found)
        head = Head.read(found.value)
        if head is None or not head.is_running or owner.owner is not None:
            return head
        lease = place.lease(f"lost-{secrets.token_hex(6)}")
        with contextlib.suppress(AnswerBusy):  # somebody else is about it
            await ASYNC.run_shielded(self._take_over(place, lease, ReleaseLease(lease)))  # also if the caller leaves
        return await self._find_head(place)

    async def _find_head_together(self, place: LivePlace) -> Head | None:
        """As `_find_head`, once for all readers of this process who ask meanwhile: there may be thousands."""
        if (asked := self._asked.get(place)) is None:
            asked = self._asked[place] = _AskedHead()
            spawn(partial(self._ask, place, asked))
        await asked.is_there.wait()
        if asked.error is not None:
            raise asked.error
        return asked.head

    async def _ask(self, place: LivePlace, asked: "_AskedHead") -> None:
        try:
            asked.head = await self._find_head(place)
        except Exception as error:  # of any kind: waiting readers must get it
            asked.error = error
        finally:
            del self._asked[place]
            asked.is_there.set()

    async def _read_log(self, place: LivePlace, token: str) -> list[bytes]:
        found = ReadRows(place.log(token), most=10_000_000)
        await self._do(found)
        return [*found.rows]

    async def _begin(self, run: LiveRun) -> None:
        """Take the lease of an answer, and let it run."""
        head = PutValue(run.place.key, run.head.write(), self._runs.ttl, run.lease)
        await self._take_over(run.place, run.lease, head)
        self._runs.begin(run)

    async def _take_over(self, place: LivePlace, lease: Lease, operation: Operation) -> None:
        """Take the lease of an id, write the end of its answer, where that is lost, and do an operation with it.

        Raises:
            AnswerBusy: somebody has the lease.
        """
        claim, found = ClaimLease(lease, self._lease), GetValue(place.key)
        await self._do(claim, found)
        if not claim.is_done:
            raise AnswerBusy(f"an answer of {place.id!r} is running: follow it, or stop it first")
        try:
            ends = await self._list_ends(place, lease, Head.read(found.value))
            await self._do(*ends, operation)
        except Exception:
            with contextlib.suppress(StoreError):
                await self._do(ReleaseLease(lease))  # else nobody could ask before it is over
            raise

    async def _list_ends(self, place: LivePlace, lease: Lease, head: Head | None) -> list[Operation]:
        """Return what ends an answer as lost, if it is running, for the owner of a lease."""
        if head is None or not head.is_running:
            return []
        rows = await self._read_log(place, head.token)
        error = AnswerLost("the answer broke off: the server that wrote it is gone; ask again")
        ends = number_events(make_writer(head.protocol).fail(error), head.token, len(rows), "lost")
        size = sum(map(len, [*rows, *ends])) - len(rows) - len(ends)
        lost = head.end("lost", len(rows) + len(ends), size)
        return [
            RenewLease(lease, self._lease),  # first, as every trip of its own does: PostgreSQL locks it
            AppendRows(place.log(head.token), ends, self._keep, len(rows), lease),
            PutValue(place.key, lost.write(), self._keep, lease),
        ]

    # -- readers

    def _make_body(self, place: LivePlace, head: Head, after: int) -> EventBody[bytes]:
        writer = make_writer(head.protocol)
        source = LiveReader(partial(self._read_some, place, head, self._runs.find(head.token)), after)
        return EventBody(source, StoredEventWriter(writer), self._ping, writer.headers)

    async def _read_some(self, place: LivePlace, head: Head, run: LiveRun | None, after: int) -> Sequence[bytes]:
        """Return the rows behind the first ``after``, when there are any; none at the end."""
        if run is not None:
            if told := await run.read(after):
                return told
            if run.cut_by is not None:
                raise run.cut_by
            if not run.is_cut:
                return ()
        if not head.is_running and after >= head.events:
            return ()
        log, lease, is_live = place.log(head.token), place.lease(head.token), True
        while not (rows := await self._follower.read(log, after, lease)):
            if not is_live:
                raise AnswerLost(
                    "the rest of the answer is no longer in the store: it has outlived its time, or was deleted"
                )
            now = await self._find_head_together(place)
            # Where it is over, its end is in the log: that is read once more.
            is_live = now is not None and now.token == head.token and now.is_running
        return rows


class _AskedHead:
    """A head for which readers wait together."""

    def __init__(self) -> None:
        self.is_there = anyio.Event()
        self.head: Head | None = None
        self.error: Exception | None = None
