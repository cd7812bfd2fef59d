"""Answers that outlive their readers: one order of events for all, a stop from anywhere, an end that is true."""

import json
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

from hocket import Conversation, FakeListChatModel, InMemoryChatMessageHistory
from hocket._runtime import clock
from hocket.errors import AnswerBusy, InvalidInput, ProviderUnavailable, StoreUnavailable
from hocket.serving import EventBody, LiveAnswers
from tests.kit.relay import relay_to
from tests.kit.stores import REDIS, need_server, postgres_schema, redis_names
from tests.kit.warm import Program

Open = Callable[..., LiveAnswers]


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with postgres_schema() as url:
        yield url


def open_address(kind: str, request: pytest.FixtureRequest) -> Iterator[tuple[str | None, str]]:
    """Return a store, and a name in it."""
    if kind == "redis":
        with redis_names("hocket:log:live:{") as (url, name):
            yield url, name
    elif kind == "postgres":
        yield request.getfixturevalue("postgres_url"), f"test-{uuid4().hex}"
    else:
        path: Path = request.getfixturevalue("tmp_path") / "live.db"
        yield None if kind == "memory" else f"sqlite:///{path}", f"test-{uuid4().hex}"


@pytest.fixture(params=["sqlite", "redis", "postgres"])
def shared(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """A store that processes share, and a name."""
    yield from open_address(request.param, request)  # type: ignore[misc]


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
def places(request: pytest.FixtureRequest) -> Iterator[tuple[LiveAnswers, LiveAnswers]]:
    """Two that share a store, as of two processes; in memory they are the same one."""
    for store, name in open_address(request.param, request):
        first = LiveAnswers(store, name=name, lease=2)
        yield first, first if store is None else LiveAnswers(store, name=name, lease=2)


@pytest.fixture
def live() -> LiveAnswers:
    return LiveAnswers()


class Script:
    """An answer whose words come when the test says so."""

    def __init__(self) -> None:
        self._words, self._ends = anyio.create_memory_object_stream[str](1_000)
        self.is_closed = False

    def say(self, *words: str) -> None:
        for word in words:
            self._words.send_nowait(word)

    def end(self) -> None:
        self._words.close()

    async def stream(self) -> AsyncGenerator[str, None]:
        try:
            async with aclosing(self._ends):
                async for word in self._ends:
                    yield word
        finally:
            self.is_closed = True
            self._words.close()


async def read(body: EventBody[bytes] | None) -> bytes:
    assert body is not None
    return b"".join([piece async for piece in body])


def texts(events: bytes) -> list[str]:
    """Return the words of an answer."""
    found = [line.removeprefix("data: ") for line in events.decode().splitlines() if line.startswith("data: ")]
    return [data["text"] for data in map(json.loads, found) if "text" in data]


def ids(events: bytes) -> list[str]:
    return [line.removeprefix("id: ") for line in events.decode().splitlines() if line.startswith("id: ")]


async def state_of(live: LiveAnswers, id: str) -> str | None:
    state = await live.state(id)
    return None if state is None else state.state


# -- readers


@pytest.mark.both_loops
async def test_all_readers_are_told_the_same(places: tuple[LiveAnswers, LiveAnswers]) -> None:
    """From its beginning or from any event on, in its process and in others, before its end and after it."""
    here, there = places
    script, told = Script(), dict[str, bytes]()

    async def follow(name: str, body: EventBody[bytes] | None) -> None:
        told[name] = await read(body)

    script.say("a", "b", "c")
    body = await here.start("chat", script.stream())
    async with anyio.create_task_group() as reading:
        reading.start_soon(follow, "first", body)
        reading.start_soon(follow, "elsewhere", await there.follow("chat"))
        script.say("d", "e")
        reading.start_soon(follow, "beside", await here.follow("chat"))
        script.end()
    whole = told["first"]
    assert texts(whole) == ["a", "b", "c", "d", "e"]
    assert whole.endswith(b"event: end\ndata: {}\nid: %b\n\n" % ids(whole)[-1].encode())
    assert told["elsewhere"] == told["beside"] == await read(await there.follow("chat")) == whole
    for number, id in enumerate(ids(whole), 1):
        assert id.endswith(f".{number}")
        rest = await read(await there.follow("chat", id))
        assert whole.endswith(rest) and len(ids(rest)) == len(ids(whole)) - number
    assert (await here.state("chat"), await state_of(here, "other")) == (await there.state("chat"), None)
    assert await state_of(there, "chat") == "done"


async def test_an_id_that_says_nothing_is_the_beginning(places: tuple[LiveAnswers, LiveAnswers]) -> None:
    here, there = places
    whole = await read(await here.start("chat", FakeListChatModel(responses=["Hi"]).astream("?")))
    token = ids(whole)[0].partition(".")[0]
    for after in (
        "",
        "x",
        "x.1",
        token,
        f"{token}.",
        f"{token}.-1",
        f"{token}.0",
        f"{token}.99",
        f"{token}.²",
        "9" * 99,
    ):
        assert await read(await there.follow("chat", after)) == whole, after
    again = await read(await here.start("chat", FakeListChatModel(responses=["Ho"]).astream("?")))
    assert await read(await there.follow("chat", ids(whole)[1])) == again != whole


@pytest.mark.both_loops
async def test_an_answer_goes_on_without_its_readers(places: tuple[LiveAnswers, LiveAnswers]) -> None:
    here, there = places
    script = Script()
    script.say("a")
    body = await here.start("chat", script.stream())
    await anext(body)
    await body.aclose()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await read(await here.follow("chat"))
    script.say("b")
    script.end()
    assert texts(await read(await there.follow("chat"))) == ["a", "b"]


async def test_a_reader_elsewhere_waits_through_silence(shared: tuple[str, str]) -> None:
    store, name = shared
    here, there = LiveAnswers(store, name=name), LiveAnswers(store, name=name, ping=0.05)
    script = Script()
    script.say("a")
    await here.start("chat", script.stream())
    pieces: list[bytes] = []
    follower = await there.follow("chat")
    assert follower is not None
    async for piece in follower:
        pieces.append(piece)
        if piece == b": ping\n\n" and pieces.count(piece) == 12:
            script.say("b")  # that is longer than it takes to look whether its process lives
            script.end()
    assert texts(b"".join(pieces)) == ["a", "b"]


async def test_one_answer_of_a_name_runs_at_a_time(places: tuple[LiveAnswers, LiveAnswers]) -> None:
    here, there = places
    script, second = Script(), Script()
    script.say("a")
    body = await here.start("chat", script.stream())
    with pytest.raises(AnswerBusy, match="'chat' is running: follow it, or stop it first"):
        await there.start("chat", second.stream())
    script.end()
    await read(body)
    second.say("b")
    second.end()
    assert texts(await read(await there.start("chat", second.stream()))) == ["b"]


# -- stops


@pytest.mark.both_loops
async def test_a_stop_from_anywhere_keeps_what_was_shown(places: tuple[LiveAnswers, LiveAnswers]) -> None:
    """The half in the history is what all readers saw."""
    here, there = places
    history = InMemoryChatMessageHistory()
    model = FakeListChatModel(responses=["a long answer " * 1_000], sleep=0.01)
    body = await here.start("chat", Conversation(model, history=history).astream("Tell me"))
    await anext(body)
    assert await there.stop("chat")
    assert await state_of(there, "chat") == "stopped"
    told = await read(await there.follow("chat"))
    question, answer = await history.aget_messages()
    assert (question.text, answer.text) == ("Tell me", "".join(texts(told)))
    assert answer.response_metadata["closed"] is True
    assert 0 < len(answer.text) < 14_000
    assert told.endswith(await read(body))
    assert not await there.stop("chat") and not await here.stop("chat") and not await here.stop("other")


async def test_a_stop_is_for_the_answer_that_it_found(shared: tuple[str, str]) -> None:
    """The mark of an old stop hurts no newer answer."""
    store, name = shared
    here, there = LiveAnswers(store, name=name), LiveAnswers(store, name=name)
    first = Script()
    first.say("a")
    await here.start("chat", first.stream())
    assert await there.stop("chat") and first.is_closed
    second = Script()
    second.say("b")
    body = await here.start("chat", second.stream())
    await anyio.sleep(1.2)  # some looks for marks later
    second.end()
    assert texts(await read(body)) == ["b"]


async def test_the_end_of_a_service_stops_what_runs(live: LiveAnswers) -> None:
    script = Script()
    script.say("a")
    body = await live.start("chat", script.stream())
    await live.aclose()
    assert script.is_closed and await state_of(live, "chat") == "stopped"
    assert texts(await read(body)) == ["a"]


# -- failures


async def test_a_failure_before_the_first_item_is_raised(places: tuple[LiveAnswers, LiveAnswers]) -> None:
    """When it is stored: whoever asks again at once, of whatever process, finds the chat free."""
    here, there = places

    async def fail() -> AsyncGenerator[str, None]:
        raise ProviderUnavailable("down")
        yield ""

    with pytest.raises(ProviderUnavailable):
        await here.start("chat", fail())
    assert await state_of(there, "chat") == "failed"
    script = Script()
    script.say("a")
    script.end()
    assert texts(await read(await there.start("chat", script.stream()))) == ["a"]


async def test_a_failure_is_the_last_event(places: tuple[LiveAnswers, LiveAnswers]) -> None:
    here, there = places

    async def fail() -> AsyncGenerator[str, None]:
        yield "a"
        raise ProviderUnavailable("a secret address")

    told = await read(await here.start("chat", fail()))
    assert told == await read(await there.follow("chat"))
    assert texts(told) == ["a"] and b"event: error" in told and b"secret" not in told
    assert await state_of(there, "chat") == "failed"


async def test_what_begins_while_a_service_ends_is_stopped_too() -> None:
    """Nobody would end it."""
    live, first, late, second = LiveAnswers(), Script(), Script(), Script()
    for script in (first, late, second):
        script.say("a")
    await live.start("one", first.stream())

    async def begin_late() -> AsyncGenerator[str, None]:
        try:
            async for word in late.stream():
                yield word
        finally:
            with anyio.CancelScope(shield=True):
                await live.start("two", second.stream())

    await live.start("late", begin_late())
    await live.aclose()
    assert second.is_closed and not await live.is_running("two")


async def test_whether_an_answer_is_made_is_found_without_its_events(places: tuple[LiveAnswers, LiveAnswers]) -> None:
    """Of it, and of what has ended, or never was."""
    here, there = places
    script = Script()
    script.say("a")
    body = await here.start("chat", script.stream())
    await anext(body)  # what is shown is stored
    assert await there.is_running("chat") and not await there.is_running("other")
    state = await here.state("chat")
    assert state is not None and state.events == 1 and state == await there.state("chat")
    await here.stop("chat")
    assert not await there.is_running("chat")


async def test_an_answer_that_is_too_large_ends(live: LiveAnswers) -> None:
    live = LiveAnswers(max_bytes=1_000)
    script = Script()
    script.say(*["twenty characters..."] * 100)
    told = await read(await live.start("chat", script.stream()))
    assert b'"code":"answer_too_large"' in told and len(told) < 1_400
    assert script.is_closed and await state_of(live, "chat") == "failed"


async def test_an_event_that_is_too_large_is_not_kept() -> None:
    live, script = LiveAnswers(max_bytes=1_000), Script()
    script.say("a", "x" * 1_000_000)
    told = await read(await live.start("chat", script.stream()))
    state = await live.state("chat")
    assert texts(told) == ["a"] and b'"code":"answer_too_large"' in told
    assert state is not None and state.size == len(told) < 1_000


PROGRAM = """
import sys, anyio
from hocket.serving import LiveAnswers

store, name = sys.argv[1:]

async def say():
    for number in range(10_000):
        yield f"word {number} "
        await anyio.sleep(0.02)

async def main():
    live = LiveAnswers(store, name=name, lease=1)
    async for piece in await live.start("chat", say()):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()

anyio.run(main)
"""


async def wait_for_words(live: LiveAnswers, id: str) -> None:
    """Wait until an answer has some."""
    while (state := await live.state(id)) is None or state.events < 5:  # noqa: ASYNC110  # another process's
        await anyio.sleep(0.02)


@pytest.mark.both_loops
async def test_the_readers_of_a_process_that_is_killed_are_told(shared: tuple[str, str]) -> None:
    """Once, and all the same; the name is free again."""
    store, name = shared
    live, other = LiveAnswers(store, name=name, lease=1), LiveAnswers(store, name=name, lease=1)
    with Program("-c", PROGRAM, store, name, stdout=subprocess.PIPE) as program:
        await wait_for_words(live, "chat")
        told: list[bytes] = []

        async def follow(live: LiveAnswers) -> None:
            told.append(await read(await live.follow("chat")))

        async with anyio.create_task_group() as reading:
            for one in (live, live, other, other):
                reading.start_soon(follow, one)
            await anyio.sleep(0.2)
            program.kill()
    first, *rest = told
    assert rest == [first] * 3
    assert first.count(b"event: error") == 1 and b'"code":"answer_lost"' in first
    assert await state_of(other, "chat") == "lost"
    assert not await other.stop("chat")
    script = Script()
    script.say("again")
    script.end()
    assert texts(await read(await other.start("chat", script.stream()))) == ["again"]


async def test_a_process_that_was_frozen_shows_nothing_more(shared: tuple[str, str]) -> None:
    """Beyond its lease another answer may have begun; its own reader is told what all were told."""
    store, name = shared
    live = LiveAnswers(store, name=name, lease=1)
    with Program("-c", PROGRAM, store, name, stdout=subprocess.PIPE) as program:
        await wait_for_words(live, "chat")
        program.send_signal(signal.SIGSTOP)
        told = await read(await live.follow("chat"))
        assert b'"code":"answer_lost"' in told
        program.send_signal(signal.SIGCONT)
        shown, _ = await anyio.to_thread.run_sync(program.communicate)
        assert shown == told == await read(await live.follow("chat"))


async def test_a_stop_of_an_answer_whose_process_is_gone_returns(shared: tuple[str, str]) -> None:
    store, name = shared
    live = LiveAnswers(store, name=name, lease=1)
    with Program("-c", PROGRAM, store, name, stdout=subprocess.PIPE) as program:
        await wait_for_words(live, "chat")
        program.kill()
    assert await live.stop("chat")
    assert await state_of(live, "chat") == "lost"


async def test_the_next_answer_ends_one_that_was_lost(shared: tuple[str, str]) -> None:
    store, name = shared
    live = LiveAnswers(store, name=name, lease=1)
    with Program("-c", PROGRAM, store, name, stdout=subprocess.PIPE) as program:
        await wait_for_words(live, "chat")
        follower = await live.follow("chat")
        program.kill()
    script = Script()
    script.say("new")
    script.end()
    while True:
        try:
            body = await live.start("chat", script.stream())
            break
        except AnswerBusy:
            await anyio.sleep(0.1)
    assert texts(await read(body)) == ["new"]
    assert b'"code":"answer_lost"' in await read(follower)


# -- a store that is away


async def test_a_store_that_comes_back_in_time_loses_nothing() -> None:
    need_server("Redis", 6379)
    with redis_names("hocket:log:live:{") as (_, name), relay_to(6379) as relay:
        url = f"redis://127.0.0.1:{relay.port}/0?socket_timeout=0.2"
        here, there = LiveAnswers(url, name=name), LiveAnswers(REDIS, name=name)
        script = Script()
        script.say("a")
        body = await here.start("chat", script.stream())
        await anext(body)
        relay.answers.clear()  # what it is asked is done; its answers are lost
        script.say("b", "c")
        await anyio.sleep(0.7)
        script.say("d")
        relay.answers.set()
        script.end()
        rest = await read(body)
        whole = await read(await there.follow("chat"))
        assert texts(whole) == ["a", "b", "c", "d"] and whole.endswith(rest)


async def test_a_store_that_stays_away_ends_the_answer() -> None:
    need_server("Redis", 6379)
    history = InMemoryChatMessageHistory()
    with redis_names("hocket:log:live:{") as (_, name), relay_to(6379) as relay:
        url = f"redis://127.0.0.1:{relay.port}/0?socket_timeout=0.2"
        live = LiveAnswers(url, name=name, lease=1)
        model = FakeListChatModel(responses=["a long answer " * 1_000], sleep=0.01)
        body = await live.start("chat", Conversation(model, history=history).astream("Tell me"))
        told = await anext(body)
        relay.cut()
        told += await read(body)
        assert b'"code":"store_unavailable"' in told
        for ask in (live.follow, live.stop, live.state):
            with pytest.raises(StoreUnavailable):
                await ask("chat")
        with pytest.raises(StoreUnavailable):
            await live.start("chat", model.astream("?"))
        while len(await history.aget_messages()) < 2:  # noqa: ASYNC110  # of a task that is no one's
            await anyio.sleep(0.01)
        _, half = await history.aget_messages()
        assert half.text.startswith("".join(texts(told)))


async def test_an_answer_is_kept_for_its_time(virtual_clock: Any) -> None:
    live = LiveAnswers(keep=600)
    await read(await live.start("chat", FakeListChatModel(responses=["Hi"]).astream("?")))
    await clock.current().sleep(590)
    assert await state_of(live, "chat") == "done"
    await clock.current().sleep(11)
    assert await live.state("chat") is None and await live.follow("chat") is None


async def test_an_answer_that_runs_for_long_is_kept(virtual_clock: Any) -> None:
    live = LiveAnswers(keep=10)
    script = Script()
    script.say("a")
    body = await live.start("chat", script.stream())
    for _ in range(60):
        await clock.current().sleep(1)
    script.say("b")
    script.end()
    assert texts(await read(body)) == ["a", "b"]
    assert texts(await read(await live.follow("chat"))) == ["a", "b"]


@pytest.mark.parametrize("id", ["", "a\nb", "a\0", "x" * 5_001, 7, "\ud800"])
async def test_ids_that_are_none_are_refused(live: LiveAnswers, id: Any) -> None:
    for ask in (live.follow, live.stop, live.state):
        with pytest.raises(InvalidInput, match=r"id is .* one line"):
            await ask(id)
    with pytest.raises(InvalidInput, match=r"id is .* one line"):
        await live.start(id, FakeListChatModel(responses=["Hi"]).astream("?"))


@pytest.mark.parametrize(
    "options", [{"keep": 0}, {"lease": 0.5}, {"max_bytes": 0}, {"name": ""}, {"ping": -1}, {"store": "live.db"}]
)
def test_options_that_are_none_are_refused(options: Any) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options)) if "store" not in options else "no address of live"):
        LiveAnswers(**options)
