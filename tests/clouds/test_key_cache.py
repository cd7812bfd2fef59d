"""The cache of keys: who fetches, who waits, when one is renewed, and what becomes of fetches that fail or hang."""

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial

import anyio
import anyio.to_thread
import pytest
import trio

from hocket._runtime.portal import run_in_portal
from hocket.clouds import key_cache
from hocket.clouds.aws import AWSCredentials, CredentialsSource
from hocket.clouds.key_cache import FOR_GOOD, FoundKey, get_key, reject_key
from hocket.errors import AuthenticationError
from hocket.testing import VirtualClock, virtual_clock

pytestmark = pytest.mark.both_loops


@pytest.fixture
def clock() -> Iterator[VirtualClock]:
    """Time that a test moves: fetches run in threads, which a clock that jumps does not see."""
    with virtual_clock(autojump=False) as clock:
        yield clock


class Vault:
    """Gives keys out that hold for an hour: k1, k2 … or fails, or keeps its callers waiting."""

    def __init__(self, clock: VirtualClock | None = None, life: float = 3600.0) -> None:
        self.clock, self.life = clock, life
        self.asked = self.given = 0
        self.is_open = threading.Event()
        self.is_open.set()
        self.failure: Exception | None = None

    def fetch(self) -> FoundKey[str]:
        self.asked += 1
        assert self.is_open.wait(30)
        if self.failure is not None:
            raise self.failure
        self.given += 1
        return FoundKey(f"k{self.given}", FOR_GOOD if self.clock is None else self.clock.time() + self.life)

    async def get(self) -> str:
        return await get_key(self, self.fetch)


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not condition():  # noqa: ASYNC110 - set in a thread
            await anyio.sleep(0.001)


def is_at_rest(vault: Vault) -> bool:
    return key_cache._entries[vault].flight is None


async def test_a_key_is_fetched_by_one_and_awaited_by_many_tasks_loops_and_threads() -> None:
    """None of them fetches a second one."""
    vault, got = Vault(), list[str]()
    vault.is_open.clear()

    async def take() -> None:
        got.append(await vault.get())

    async def take_many() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(take)

    async with anyio.create_task_group() as group:
        group.start_soon(take_many)
        for run in (partial(asyncio.run, take_many()), partial(trio.run, take_many), partial(run_in_portal, take_many)):
            group.start_soon(anyio.to_thread.run_sync, run)
        await until(lambda: vault.asked == 1)
        await anyio.sleep(0.02)
        vault.is_open.set()
    assert got == ["k1"] * 80
    assert (vault.asked, await vault.get()) == (1, "k1")


async def test_a_key_is_renewed_behind_the_back_and_waited_for_in_the_last_minute(clock: VirtualClock) -> None:
    """So a call that has a valid key does not wait for anything."""
    vault = Vault(clock)
    assert await vault.get() == "k1"
    clock.advance(3299)  # 301 s before its end
    assert await vault.get() == "k1" and vault.asked == 1
    clock.advance(1)
    vault.is_open.clear()
    assert [await vault.get() for _ in range(3)] == ["k1"] * 3
    await until(lambda: vault.asked == 2)
    vault.is_open.set()
    await until(lambda: is_at_rest(vault))
    assert await vault.get() == "k2" and vault.asked == 2

    clock.advance(3541)
    assert await vault.get() == "k3"


async def test_a_renewal_that_fails_is_a_log_line_and_rests_for_half_a_minute(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """While the old key holds; then its error is raised."""
    vault = Vault(clock)
    await vault.get()
    clock.advance(3545)
    vault.failure = ValueError("the vault is shut")
    assert [await vault.get() for _ in range(3)] == ["k1"] * 3
    clock.advance(29)
    assert await vault.get() == "k1" and vault.asked == 2
    clock.advance(1)
    assert await vault.get() == "k1" and vault.asked == 3
    assert caplog.messages == [
        f"a key could not be renewed; the old one is valid for {left} s more: the vault is shut" for left in (55, 25)
    ]
    clock.advance(25)
    for attempt in (4, 5):
        with pytest.raises(ValueError, match="the vault is shut"):
            await vault.get()
        assert vault.asked == attempt


class Odd(Exception):
    """One that cannot be copied."""

    def __init__(self, text: str, *, more: int) -> None:
        super().__init__(text)
        self.more = more


async def test_each_call_has_an_error_of_its_own() -> None:
    """With the cause of the first; what one call adds to it, or clears of its frames, is nothing to the others."""
    vault, caught = Vault(), list[BaseException]()
    vault.failure = AuthenticationError("the vault is shut", provider="aws")
    vault.failure.__cause__ = cause = OSError("no way in")

    async def fail() -> None:
        try:
            await vault.get()
        except Exception as error:
            caught.append(error)

    vault.is_open.clear()
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(fail)
        await until(lambda: vault.asked == 1)
        await anyio.wait_all_tasks_blocked()
        vault.is_open.set()
    assert len({id(error) for error in caught}) == 3 and vault.failure not in caught
    for error in caught:
        assert isinstance(error, AuthenticationError) and error.provider == "aws" and error.__cause__ is cause
        assert error.message == "the vault is shut"
    vault.failure = Odd("the vault is odd", more=1)
    with pytest.raises(AuthenticationError, match="Odd: the vault is odd"):
        await vault.get()


async def test_a_renewal_that_brings_a_key_that_ends_as_soon_rests_as_well(clock: VirtualClock) -> None:
    """A server that gives the same key until its end is not asked by each call."""
    vault = Vault(clock, life=200)
    assert [await vault.get() for _ in range(3)] == ["k1"] * 3
    clock.advance(30)
    assert await vault.get() == "k1"
    await until(lambda: is_at_rest(vault))
    assert await vault.get() == "k2" and vault.asked == 2


async def test_a_fetch_that_hangs_fails_its_calls_after_a_minute_and_the_next_begins_anew(clock: VirtualClock) -> None:
    """A minute since it began, for those who came later as well; what it brings at last is kept."""
    vault, failed = Vault(clock), list[str]()
    vault.is_open.clear()

    async def fail() -> None:
        with pytest.raises(AuthenticationError, match="has not answered for 60 s; the next call asks again") as caught:
            await vault.get()
        failed.append(str(caught.value))

    async with anyio.create_task_group() as group:
        group.start_soon(fail)
        await until(lambda: vault.asked == 1)
        clock.advance(59)
        group.start_soon(fail)
        await anyio.wait_all_tasks_blocked()
        assert not failed
        clock.advance(1)
        await until(lambda: len(failed) == 2)
    async with anyio.create_task_group() as group:
        group.start_soon(vault.get)
        await until(lambda: vault.asked == 2)
        vault.is_open.set()
    await until(lambda: vault.given == 2)
    assert await vault.get() in ("k1", "k2") and vault.asked == 2


async def test_a_hanging_renewal_in_the_last_minute_lets_the_old_key_go_on(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """For as long as it holds, and not a second longer."""
    vault, got = Vault(clock), list[object]()
    await vault.get()
    clock.advance(3600 - 60)
    vault.is_open.clear()

    async def take() -> None:
        try:
            got.append(await vault.get())
        except AuthenticationError:
            got.append("ended")

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        await until(lambda: vault.asked == 2)
        await anyio.wait_all_tasks_blocked()
        clock.advance(60)
    assert got == ["ended"] and not caplog.messages
    vault.is_open.set()


async def test_a_hanging_renewal_that_nobody_waits_for_is_begun_anew(clock: VirtualClock) -> None:
    """After a minute, by the next call, which has the old key at once."""
    vault = Vault(clock)
    await vault.get()
    clock.advance(3600 - 300)
    vault.is_open.clear()
    for seconds, asked in ((59, 2), (1, 2), (60, 3)):
        assert await vault.get() == "k1"
        await until(lambda asked=asked: vault.asked == asked)  # type: ignore[misc]
        clock.advance(seconds)
    vault.is_open.set()


async def test_the_call_that_began_a_fetch_may_leave() -> None:
    """The fetch goes on for the others; its own end comes at once."""
    vault, got = Vault(), list[str]()
    vault.is_open.clear()

    async def take() -> None:
        got.append(await vault.get())

    with anyio.CancelScope() as first:
        async with anyio.create_task_group() as group:
            group.start_soon(take)
            await until(lambda: vault.asked == 1)
            first.cancel()
    async with anyio.create_task_group() as group:
        group.start_soon(take)
        await anyio.wait_all_tasks_blocked()
        vault.is_open.set()
    assert got == ["k1"] and vault.asked == 1


async def test_where_the_loop_of_an_async_fetch_ends_the_others_may_ask_again() -> None:
    """Their error says so, and that an attempt may help."""
    name, begun = object(), threading.Event()

    async def hang() -> FoundKey[str]:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def begin() -> None:
        with anyio.move_on_after(0):
            await get_key(name, hang)
        is_over = threading.Event()
        ends.append(is_over)
        await anyio.to_thread.run_sync(is_over.wait)

    ends: list[threading.Event] = []
    thread = threading.Thread(target=asyncio.run, args=(begin(),))
    thread.start()
    assert await anyio.to_thread.run_sync(begun.wait, 30)

    async def expect() -> None:
        with pytest.raises(AuthenticationError, match="the event loop on which a key was fetched has ended") as caught:
            await get_key(name, hang)
        assert caught.value.retryable

    async with anyio.create_task_group() as group:
        group.start_soon(expect)
        await until(lambda: bool(ends))
        await anyio.wait_all_tasks_blocked()
        ends[0].set()
    await anyio.to_thread.run_sync(thread.join)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_wait_for_its_parents_fetch() -> None:
    """It asks anew, and has the keys that its parent had."""
    vault, kept = Vault(), Vault()
    vault.is_open.clear()

    async def begin() -> None:
        await kept.get()
        with anyio.move_on_after(0):
            await vault.get()
        await until(lambda: vault.asked == 1)

    asyncio.run(begin())
    gc.collect()
    child = os.fork()
    if child == 0:
        vault.is_open = threading.Event()
        vault.is_open.set()
        got = asyncio.run(vault.get()), asyncio.run(kept.get())
        os._exit(got != ("k1", "k1") or (vault.asked, kept.asked) != (2, 1))
    vault.is_open.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


tenant: ContextVar[str] = ContextVar("tenant")


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_function_whose_keys_have_no_end_is_asked_for_each_attempt(kind: str) -> None:
    """And in the context of that call: the keys of one tenant never sign for another."""
    asked: list[str] = []
    names = [str(number) for number in range(12)]

    def ask() -> AWSCredentials:
        asked.append(tenant.get())
        return AWSCredentials(f"AKIA{tenant.get()}", "s")

    async def ask_later() -> AWSCredentials:
        made = ask()
        if len(asked) > len(names):  # later on all ask at once, none after another
            with anyio.fail_after(30):
                while len(asked) < 2 * len(names):  # noqa: ASYNC110 - counted by the others
                    await anyio.sleep(0.001)
        return made

    source, got = CredentialsSource(ask if kind == "sync" else ask_later), list[tuple[str, str]]()

    async def call(name: str) -> None:
        tenant.set(name)
        got.append((name, (await source.get()).access_key))

    for _ in range(2):
        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(call, name)
    assert sorted(got) == sorted((name, f"AKIA{name}") for name in names * 2)
    assert sorted(asked) == sorted(names * 2)


async def test_a_function_whose_keys_end_is_asked_once(clock: VirtualClock) -> None:
    """Also one that has no hash; and one that returns something else is told."""

    class Ask:
        __hash__ = None  # type: ignore[assignment]

        def __init__(self) -> None:
            self.asked = 0

        async def __call__(self) -> AWSCredentials:
            self.asked += 1
            return AWSCredentials("AKIA", "s", expires_at=clock.time() + 3600)

    ask = Ask()
    assert [(await CredentialsSource(ask).get()).access_key for _ in range(5)] == ["AKIA"] * 5
    assert ask.asked == 1
    with pytest.raises(AuthenticationError, match="returned str instead of AWSCredentials"):
        await CredentialsSource(lambda: "AKIA").get()  # type: ignore[arg-type,return-value]


async def test_a_thousand_keys_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest leave first."""
    monkeypatch.setattr(key_cache, "MOST", 10)
    vaults = [Vault() for _ in range(25)]
    for vault in vaults:
        await vault.get()
    assert len(key_cache._entries) == 10
    assert list(key_cache._entries) == vaults[-10:]
    await vaults[0].get()
    assert vaults[0].asked == 2


async def test_a_rejected_key_is_replaced_once(clock: VirtualClock) -> None:
    """By one of all calls that were made with it; the one after it is believed for a minute."""
    vault = Vault(clock)

    def reject(key: str) -> bool:
        return reject_key(vault, lambda held: held == key)

    assert not reject("k1")  # nobody knows of it
    assert await vault.get() == "k1"
    assert [reject("k1"), reject("k1")] == [True, True]
    assert await vault.get() == "k2"
    assert [reject("k1"), reject("k2")] == [True, False]
    assert await vault.get() == "k2"
    clock.advance(60)
    assert reject("k2") and await vault.get() == "k3"


async def test_keys_without_an_end_are_replaced_once_as_well(clock: VirtualClock) -> None:
    """A function that gives the same ones again and again does not use all attempts up."""
    source = CredentialsSource(lambda: AWSCredentials("AKIA", "s", "token"))
    secrets = ["AKIA"]
    await source.get()
    assert source.reject(secrets)
    await source.get()
    assert not source.reject(secrets)
    assert not CredentialsSource(AWSCredentials("AKIA", "s")).reject(secrets)
