"""Live answers where something strikes at an unlucky moment, and what is given to them that cannot be used."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import redis
from hypothesis import assume, given, settings, strategies as st

from hocket import FakeListChatModel
from hocket._databases.store import (
    AppendRows,
    ClaimLease,
    GetOwner,
    MemoryStateStore,
    Operation,
    PutValue,
    ReadRows,
    StateStore,
)
from hocket._runtime import clock
from hocket._runtime.mode import ASYNC, Mode
from hocket.errors import InvalidInput, StoreUnavailable, StreamTruncated
from hocket.serving import EventBody, LiveAnswers
from hocket.serving.live.head import Head
from hocket.serving.live.run import number_events
from hocket.serving.pages.chat_input import make_key
from tests.kit.amount import limit_examples
from tests.kit.stores import postgres_schema, redis_names


def hi() -> Any:
    return FakeListChatModel(responses=["Hi"]).astream("?")


async def read(body: EventBody[bytes] | None) -> bytes:
    assert body is not None
    return b"".join([piece async for piece in body])


async def state_of(live: LiveAnswers, id: str = "chat") -> str | None:
    state = await live.state(id)
    return None if state is None else state.state


async def cancel_something() -> None:
    """Wait for a task that is cancelled meanwhile."""
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)  # whose tasks can be cancelled so
async def test_an_answer_that_is_cancelled_from_within_has_failed() -> None:
    """Its readers are told, and its name is free; it once ran for ever."""
    live = LiveAnswers()

    async def say() -> AsyncGenerator[str, None]:
        yield "a"
        await cancel_something()

    told = await read(await live.start("chat", say()))
    assert b"the answer broke off" in told and await state_of(live) == "failed"
    assert await read(await live.start("chat", hi()))

    async def say_nothing() -> AsyncGenerator[str, None]:
        await cancel_something()
        yield ""

    with pytest.raises(StreamTruncated):
        await live.start("other", say_nothing())


@pytest.mark.both_loops
async def test_a_stop_in_the_last_moment_is_no_whole_answer() -> None:
    """What comes with the end may be dropped by a stop: then the answer was stopped, and not "done" without it."""
    live, goes_on = LiveAnswers(), anyio.Event()

    async def say() -> AsyncGenerator[str, None]:
        yield "a"
        await goes_on.wait()
        yield "b"

    body = await live.start("chat", say())
    goes_on.set()
    assert await live.stop("chat")
    told = await read(body)
    assert (await state_of(live) == "done") == (b'"b"' in told)
    assert told.count(b"event: ") == 1


class LateStore(StateStore):
    """A store to which the marks of stops come late."""

    def __init__(self, store: StateStore) -> None:
        self.store = store
        self.goes_on = anyio.Event()

    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        if any(isinstance(one, PutValue) and ":stop" in one.key for one in operations):
            await self.goes_on.wait()
        await self.store.do(mode, operations)


async def test_a_late_stop_takes_no_newer_one_away(tmp_path: Path) -> None:
    """Two pages stop from two processes; the first one means an answer that has ended meanwhile."""
    store = f"sqlite:///{tmp_path / 'live.db'}"
    here, there, late = LiveAnswers(store), LiveAnswers(store), LiveAnswers(store)
    late._store = held = LateStore(late._store)
    ends = [anyio.Event(), anyio.Event()]

    async def say(end: anyio.Event) -> AsyncGenerator[str, None]:
        yield "a"
        await end.wait()

    async with anyio.create_task_group() as stopping:
        body = await here.start("chat", say(ends[0]))
        stopping.start_soon(late.stop, "chat")
        await anyio.sleep(0.1)
        ends[0].set()
        await read(body)
        await here.start("chat", say(ends[1]))
        stopping.start_soon(there.stop, "chat")
        await anyio.sleep(0.1)
        held.goes_on.set()
    assert await state_of(here) == "stopped"


class SharedStore(StateStore):
    """A store of this process for several `LiveAnswers`, which counts trips and reads, and may be slow, or fail."""

    def __init__(self, store: StateStore, seconds: float = 0.0) -> None:
        self.store = store
        self.seconds = seconds
        self.trips = 0
        self.reads = Counter[str]()
        self.failures: list[Exception] = []

    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        self.trips += 1
        self.reads.update(one.log for one in operations if isinstance(one, ReadRows))
        if self.failures:
            raise self.failures.pop()
        if self.seconds:
            await clock.current().sleep(self.seconds)
        await self.store.do(mode, operations)


@pytest.fixture
def open_live(monkeypatch: pytest.MonkeyPatch) -> Callable[..., LiveAnswers]:
    """Open live answers over a store that a test has made."""

    def open_store(store: StateStore, **options: Any) -> LiveAnswers:
        monkeypatch.setattr("hocket.serving.live.answers.open_state_store", lambda *_: store)
        return LiveAnswers(**options)

    return open_store


@pytest.mark.both_loops
async def test_readers_of_silence_share_their_looks(open_live: Any, virtual_clock: Any) -> None:
    """However many wait for an answer of another process: ten trips in a second, where each made four of its own."""
    memory, ends = MemoryStateStore(), anyio.Event()
    here, counting = open_live(memory), SharedStore(memory)
    there, told = open_live(counting), []

    async def say() -> AsyncGenerator[str, None]:
        yield "a"
        await ends.wait()

    async def follow() -> None:
        told.append(await read(await there.follow("chat")))

    await here.start("chat", say())
    async with anyio.create_task_group() as reading:
        for _ in range(30):
            reading.start_soon(follow)
        await clock.current().sleep(1)
        counting.trips = 0
        await clock.current().sleep(10)
        assert 20 <= counting.trips <= 105
        ends.set()
    assert [one.count(b"event: end") for one in told] == [1] * 30 and len({*told}) == 1


@pytest.mark.both_loops
async def test_a_reader_that_is_behind_catches_up_soon(open_live: Any, virtual_clock: Any) -> None:
    """A long answer is there in a moment, where 2,000 events a second came; those who wait for news are not looked for."""
    memory, ends = MemoryStateStore(), anyio.Event()
    here, counting = open_live(memory), SharedStore(memory)
    there = open_live(counting)

    async def say(count: int) -> AsyncGenerator[str, None]:
        for number in range(count):
            yield f"{number} "
        await ends.wait()

    await here.start("silent", say(1))
    body = await here.start("chat", say(10_000))
    async with anyio.create_task_group() as reading:
        reading.start_soon(read, await there.follow("silent"))
        await clock.current().sleep(10)
        follower, told, began = await there.follow("chat"), 0, clock.current().now()
        assert follower is not None
        counting.reads.clear()
        while told < 10_000:
            told += (await anext(follower)).count(b"data: ")
        assert clock.current().now() - began < 1
        assert sum(count for log, count in counting.reads.items() if "silent" in log) < 10
        ends.set()
    assert (await read(follower)).count(b"event: end") == (await read(body)).count(b"event: end") == 1


@pytest.mark.both_loops
async def test_a_process_with_a_slow_store_hears_of_a_stop(open_live: Any, virtual_clock: Any) -> None:
    """Also where answers are kept for a moment only."""
    memory, ends = MemoryStateStore(), anyio.Event()
    here, there = open_live(SharedStore(memory, seconds=1.5), keep=1), open_live(memory, keep=1)

    async def say() -> AsyncGenerator[str, None]:
        yield "a"
        await ends.wait()

    await here.start("chat", say())
    assert await there.stop("chat")


@pytest.mark.both_loops
async def test_a_reader_of_a_slow_store_misses_no_end(open_live: Any, virtual_clock: Any) -> None:
    memory = MemoryStateStore()
    here, there = open_live(memory), open_live(SharedStore(memory, seconds=1.5))
    ends = anyio.Event()

    async def say() -> AsyncGenerator[str, None]:
        yield "a"
        await ends.wait()

    async def end() -> None:
        await clock.current().sleep(7.2)
        ends.set()

    await here.start("chat", say())
    body = await there.follow("chat")
    async with anyio.create_task_group() as ending:
        ending.start_soon(end)
        assert (await read(body)).count(b"event: end") == 1


@pytest.mark.parametrize("what", ["*", "log:*"])
async def test_readers_of_what_a_store_has_lost_are_told(what: str) -> None:
    """Redis was flushed, or has thrown out the events, for want of memory."""
    with redis_names("hocket:log:live:{") as (url, name), redis.Redis.from_url(url) as client:
        here, there = LiveAnswers(url, name=name, lease=1), LiveAnswers(url, name=name, lease=1)

        async def say() -> AsyncGenerator[str, None]:
            for number in range(10_000):
                yield f"{number} "
                await anyio.sleep(0.01)

        async def follow(body: EventBody[bytes] | None) -> None:
            told.append(await read(body))

        told: list[bytes] = []
        async with anyio.create_task_group() as reading:
            reading.start_soon(follow, await here.start("chat", say()))
            reading.start_soon(follow, await there.follow("chat"))
            await anyio.sleep(0.3)
            client.delete(*client.scan_iter(match=f"hocket:{what}{name}*"))
        for one in told:
            assert one.count(b"event: error") == one.count(b'"answer_lost"') == 1
        assert await state_of(there) in (None, "lost")


@pytest.mark.both_loops
async def test_a_store_that_fails_in_an_unknown_way_ends_no_answer_at_once(open_live: Any, virtual_clock: Any) -> None:
    """No thread can be started, for one: the next trip may do better, and if none does, the readers are told."""
    store = SharedStore(MemoryStateStore())
    live: LiveAnswers = open_live(store)

    async def say() -> AsyncGenerator[str, None]:
        for number in range(100):
            yield f"{number} "
            await clock.current().sleep(0.5)

    body = await live.start("chat", say())
    store.failures = [RuntimeError("can't start new thread")] * 3
    assert (await read(body)).count(b"event: end") == 1
    body = await live.start("chat", say())
    store.failures = [RuntimeError("can't start new thread")] * 100_000
    assert b"event: error" in await read(body)


async def leave_running(store: StateStore, live: LiveAnswers, seconds: float = 0.0) -> None:
    """Have a store say that an answer is running whose process is gone; its lease is over after so many seconds."""
    here = Head("token", "hocket", 0.0)
    place = live._find_place("chat")
    rows = number_events(b"data: a\n\n", here.token, 0)
    operations: list[Operation] = [PutValue(place.key, here.write(), 60), AppendRows(place.log(here.token), rows, 60)]
    if seconds:
        operations.insert(0, ClaimLease(place.lease(here.token), seconds))
    await store.do(ASYNC, operations)


@pytest.mark.both_loops
async def test_all_readers_of_a_lost_answer_are_told_at_once(open_live: Any, virtual_clock: Any) -> None:
    """With a few trips to the store, however many they are: each made three of its own."""
    memory, told = MemoryStateStore(), list[bytes]()
    live: LiveAnswers = open_live(counting := SharedStore(memory))
    await leave_running(memory, live, seconds=3)

    async def follow() -> None:
        told.append(await read(await live.follow("chat")))

    async with anyio.create_task_group() as reading:
        for _ in range(200):
            reading.start_soon(follow)
        await clock.current().sleep(1)
        counting.trips = 0
    assert len(told) == 200 and told[0].count(b'"answer_lost"') == 1 and len({*told}) == 1
    assert counting.trips < 50


@pytest.mark.both_loops
async def test_who_leaves_while_an_answer_is_ended_holds_nothing_up(open_live: Any, virtual_clock: Any) -> None:
    """A page goes, or a reader is sent a ping, in the middle: the end is written, and the chat is free."""
    memory = MemoryStateStore()
    live: LiveAnswers = open_live(SharedStore(memory, seconds=1.0))
    await leave_running(memory, live)
    owner = GetOwner(live._find_place("chat").key)
    async with anyio.create_task_group() as leaving:
        leaving.start_soon(live.follow, "chat")
        while owner.owner is None:
            await clock.current().sleep(0.1)
            await memory.do(ASYNC, [owner])
        leaving.cancel_scope.cancel()
    await clock.current().sleep(4)
    assert await state_of(live) == "lost"
    assert await read(await live.start("chat", hi()))


class UnluckyStore(SharedStore):
    """A store that cannot be reached when the head of an answer is to be written."""

    async def do(self, mode: Mode, operations: Sequence[Operation]) -> None:
        if self.failures and any(isinstance(one, PutValue) for one in operations):
            raise self.failures.pop()
        await self.store.do(mode, operations)


async def test_a_failure_at_the_begin_of_an_answer_leaves_its_name_free(open_live: Any, virtual_clock: Any) -> None:
    """Whoever asks again when the store is back is answered."""
    store = UnluckyStore(MemoryStateStore())
    live: LiveAnswers = open_live(store)
    store.failures = [StoreUnavailable("away")]
    with pytest.raises(StoreUnavailable):
        await live.start("chat", hi())
    assert await read(await live.start("chat", hi()))


async def test_a_failure_at_the_end_of_a_lost_answer_leaves_its_lease_free(open_live: Any, virtual_clock: Any) -> None:
    """Whoever asks next writes the end."""
    store = UnluckyStore(MemoryStateStore())
    live: LiveAnswers = open_live(store)
    await leave_running(store, live)
    store.failures = [StoreUnavailable("away")]
    with pytest.raises(StoreUnavailable):
        await live.state("chat")
    assert await state_of(live) == "lost"


async def test_names_and_ids_do_not_meet(tmp_path: Path) -> None:
    """The answer of a service is not that of another one, whatever its users call their chats."""
    store = f"sqlite:///{tmp_path / 'live.db'}"
    await read(await LiveAnswers(store, name="chat").start("eu:c1", hi()))
    assert await state_of(LiveAnswers(store, name="chat:eu"), "c1") is None


@given(*[st.text(st.characters(codec="utf-8"), max_size=6)] * 4)
@settings(max_examples=limit_examples(400))
def test_keys_of_users_never_meet(user: str, id: str, other_user: str, other_id: str) -> None:
    """What a service gives for one user is never what it gives for another, or for another chat."""
    assume(id and other_id and bool(user) == bool(other_user))
    assert (make_key(user, id) == make_key(other_user, other_id)) == ((user, id) == (other_user, other_id))


def test_a_name_in_the_store_is_short() -> None:
    """PostgreSQL refuses one of more than 2,700 bytes."""
    id = "".join(chr(0x4E00 + 7 * number) for number in range(2_000))

    async def ask(url: str) -> None:
        live = LiveAnswers(url)
        assert await read(await live.start(id, hi())) == await read(await live.follow(id))
        assert await live.state(f"{id[:-1]}x") is None

    with postgres_schema() as url:
        asyncio.run(ask(url))


@pytest.mark.parametrize("after", [b"x.1", 7])
async def test_a_place_that_is_no_text_is_refused(after: Any) -> None:
    live = LiveAnswers()
    await read(await live.start("chat", hi()))
    with pytest.raises(InvalidInput, match="after is"):
        await live.follow("chat", after)


@pytest.mark.parametrize("options", [{"keep": "600"}, {"lease": None}, {"max_bytes": True}])
def test_numbers_that_are_none_are_refused(options: Any) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        LiveAnswers(**options)


async def test_another_loop_is_refused_while_one_is_served(tmp_path: Path) -> None:
    """Its readers would never wake. Elsewhere, and later, it may be used."""
    store = f"sqlite:///{tmp_path / 'live.db'}"
    live, other, ends = LiveAnswers(store), LiveAnswers(store), anyio.Event()

    async def say() -> AsyncGenerator[str, None]:
        yield "a"
        await ends.wait()

    async def follow(live: LiveAnswers) -> bytes:
        return await read(await live.follow("chat"))

    body = await live.start("chat", say())
    with pytest.raises(InvalidInput, match="another event loop"):
        await anyio.to_thread.run_sync(asyncio.run, follow(live))
    ends.set()
    told = await read(body)
    assert await anyio.to_thread.run_sync(asyncio.run, follow(other)) == told


def test_an_answer_ends_with_its_loop() -> None:
    """The next loop finds it failed, and its name free; it once was busy for as long as the process lived."""
    live = LiveAnswers()

    async def say() -> AsyncGenerator[str, None]:
        yield "a"
        await anyio.sleep_forever()

    async def begin() -> None:
        await live.start("chat", say())

    async def begin_again() -> bytes:
        await live.start("other", hi())
        while await state_of(live) == "running":  # noqa: ASYNC110  # its end is stored in a moment
            await anyio.sleep(0.01)
        return await read(await live.start("chat", hi()))

    asyncio.run(begin())
    assert b"event: end" in asyncio.run(begin_again())


@pytest.mark.parametrize("what", ["follow", "stop"])
def test_the_next_loop_is_told_of_an_answer_that_ended_with_its_own(what: str, tmp_path: Path) -> None:
    """As in a notebook, or in tests; whoever followed or stopped it waited for ever."""
    live = LiveAnswers(f"sqlite:///{tmp_path / 'live.db'}")

    async def say() -> AsyncGenerator[str, None]:
        yield "a"
        await anyio.sleep_forever()

    async def begin() -> None:
        await live.start("chat", say())
        async with anyio.create_task_group() as following:
            following.start_soon(read, await live.follow("chat"))
            await anyio.sleep(0.1)
            following.cancel_scope.cancel()

    async def go_on() -> None:
        if what == "stop":
            await live.stop("chat")  # it may find the end stored already
        told = await read(await live.follow("chat"))
        assert told.count(b'"text":"a"') == told.count(b"event: error") == 1 and b"broke off" in told
        assert await state_of(live) == "failed"

    asyncio.run(begin())
    asyncio.run(go_on())
