"""What becomes of a limit when something fails: the column of the limiter in the table of failures, row by row."""

import importlib
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from hocket._databases.circuit import PAUSE
from hocket._runtime import clock as seam
from hocket.errors import StoreUnavailable
from hocket.language_models import ScriptedChatModel
from hocket.rate_limiters import RateLimiter
from hocket.rate_limiters.shared_line import PATIENCE
from hocket.testing import VirtualClock, virtual_clock
from tests.kit.stores import REDIS, need_server, postgres_schema

for _kind in ("redis", "postgres", "sqlite"):  # a loop is no place to import them
    importlib.import_module(f"hocket.rate_limiters.{_kind}")


@pytest.fixture(params=["redis", "postgres"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a real store."""
    if request.param == "redis":
        need_server("Redis", 6379)
        yield REDIS  # whose keys forget themselves
    else:
        with postgres_schema() as url:
            yield url


@pytest.fixture
def clock() -> Iterator[VirtualClock]:
    """Time that passes when told to: stores have their own."""
    with virtual_clock(autojump=False) as clock:
        yield clock


@pytest.fixture
def silence() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


def nobody() -> int:
    """A port that nobody listens at."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port: int = server.getsockname()[1]
        return port


def dead(kind: str, path: Path) -> str:
    """The address of a store that is down."""
    if kind == "sqlite":
        return f"sqlite:///{path}/none/limits.db"
    return f"redis://127.0.0.1:{nobody()}" if kind == "redis" else f"postgresql://127.0.0.1:{nobody()}/test"


kinds = pytest.mark.parametrize("kind", ["redis", "postgresql", "sqlite"])


@kinds
async def test_store_down_local(
    kind: str, tmp_path: Path, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Each process keeps its share, which is told once; calls go on, and what they use is settled here."""
    store = dead(kind, tmp_path)
    limiter = RateLimiter(60, 10_000, store=store, name="test")
    limiter._line.processes = 3  # type: ignore[attr-defined]  # as it last heard
    model = ScriptedChatModel(script=["yes"], rate_limiter=limiter)
    await model.ainvoke("hi")
    for _ in range(2):
        async with anyio.create_task_group() as group:
            group.start_soon(limiter.areserve, 100)
            await anyio.wait_all_tasks_blocked()
            while limiter._line.waiting:
                await anyio.lowlevel.checkpoint()
            clock.advance(2.5)
            await anyio.wait_all_tasks_blocked()
            assert limiter._line._starts()  # it still waits: 60 a minute are 20 for each of three
            clock.advance(0.6)
    state = await limiter.astate()
    assert state.requests_per_minute == 20
    told = [record.message for record in caplog.records if "keeps a share of the limit" in record.message]
    assert sum(store.rpartition("//")[2] in one for one in told) == 1  # limiters of other tests may still be at it


@kinds
@pytest.mark.parametrize("verb", ["areserve", "reserve"])
async def test_store_down_raise(kind: str, verb: str, tmp_path: Path) -> None:
    """Or whoever asks gets the error, without the password."""
    address = dead(kind, tmp_path).replace("://127", "://user:hunter2@127")
    limiter = RateLimiter(60, store=address, name="test", if_store_fails="raise")
    with pytest.raises(Exception, match="test") as caught:
        await (limiter.areserve() if verb == "areserve" else anyio.to_thread.run_sync(limiter.reserve))
    assert type(caught.value).__name__ in ("StoreUnavailable", "StoreError")
    assert "hunter2" not in str(caught.value)
    assert limiter._line.waiting == 0


async def test_store_back(tmp_path: Path, clock: VirtualClock) -> None:
    """It is asked again five seconds after it was left alone."""
    limiter = RateLimiter(60_000, store=f"sqlite:///{tmp_path}/later/limits.db", name="test")
    for _ in range(5):
        assert await limiter.aacquire(blocking=False)
        clock.advance(0.1)
    (tmp_path / "later").mkdir()
    clock.advance(PAUSE + 1)
    permit = await limiter.areserve()
    assert permit is not None
    assert permit._held.turn.store is limiter._line.store  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["redis", "postgresql"])
@pytest.mark.parametrize("fails", ["local", "raise"])
async def test_slow_store(kind: str, fails: str, silence: int, clock: VirtualClock) -> None:
    """After two seconds it counts as down, for all who wait, also in a thread; and for who comes then, at once."""
    scheme = "redis://" if kind == "redis" else "postgresql://"
    limiter = RateLimiter(6000, store=f"{scheme}127.0.0.1:{silence}", name="test", if_store_fails=fails)  # type: ignore[arg-type]
    outcomes: list[object] = []

    async def ask() -> None:
        try:
            outcomes.append(await limiter.areserve())
        except StoreUnavailable as error:
            outcomes.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(ask)
        while limiter._line._busy_since is None:  # type: ignore[attr-defined]
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert not outcomes
        clock.advance(PATIENCE)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        clock.advance(1)
        await anyio.wait_all_tasks_blocked()
    assert [isinstance(one, StoreUnavailable) for one in outcomes] == [fails == "raise"] * 4


async def test_cancelled_waiter(address: str) -> None:
    """Its tokens are back at once, and its place, too, if it is the last."""
    limiter = RateLimiter(2, 1000, store=address, name=f"test-{uuid4().hex}", if_store_fails="raise")
    assert await limiter.areserve(10)
    async with anyio.create_task_group() as group:
        group.start_soon(limiter.areserve, 900)  # a place in half a minute
        while (await limiter.astate()).input_tokens < 910:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert (await limiter.astate()).input_tokens == 10
    async with anyio.create_task_group() as group:
        group.start_soon(limiter.areserve, 900)
        while not limiter._line._starts():
            await anyio.lowlevel.checkpoint()
        assert limiter._line._starts()[-1] <= seam.current().now() + 30  # it has the place of the one who left
        group.cancel_scope.cancel()


async def test_clock_skew(address: str, clock: VirtualClock) -> None:
    """A process whose clock stands still, or is ahead, is told how long to wait by the store's."""
    name = f"test-{uuid4().hex}"
    one = RateLimiter(6, store=address, name=name, if_store_fails="raise")
    other = RateLimiter(6, store=address, name=name, if_store_fails="raise")
    assert await one.areserve()
    clock.advance(3600)
    async with anyio.create_task_group() as group:
        group.start_soon(other.areserve)
        while not other._line._starts():
            await anyio.lowlevel.checkpoint()
        assert 0 < other._line._starts()[0] - clock.now() <= 10
        group.cancel_scope.cancel()
