"""One run of a conversation at a time, among processes, and processes that die."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import anyio
import anyio.to_thread
import pytest

from hocket import chat_history
from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import HistoryBusy
from hocket.messages import HumanMessage
from tests.kit.warm import Program

PROCESSES = 3
TASKS = 3
RUNS = 4  # of each task
LONG = 60.0

OPEN = """\
import os, sys, time
import anyio
from hocket import chat_history
from hocket._databases import redis_lock
from hocket.messages import HumanMessage

redis_lock.LEASE, redis_lock.INTERVAL = 1.0, 0.2  # or the tests would wait for a lease of Redis's

async def run_alone(history, number):
    async with history.exclusive():
        for part in range(2):
            await history.aadd_messages([HumanMessage(f"{number} {part}")])

async def hold(history):
    async with history.exclusive():
        print("holds", flush=True)
        await anyio.sleep_forever()
"""


@dataclass
class Store:
    """A conversation that other processes open, too.

    Attributes:
        code: makes the history.
    """

    code: str

    def open(self) -> BaseChatMessageHistory:
        """Return the history here."""
        history: BaseChatMessageHistory = eval(self.code, {"chat_history": chat_history})
        return history


_CODES: dict[str, Callable[[pytest.FixtureRequest, Path], str]] = {
    "file": lambda request, path: f"chat_history.FileChatMessageHistory({str(path)!r})",
    "sqlite": lambda request, path: f"chat_history.SQLiteChatMessageHistory('talk', {str(path)!r})",
    "redis": lambda request, path: (
        f"chat_history.RedisChatMessageHistory({str(uuid4())!r}, {request.getfixturevalue('redis_url')!r}, 'hocket-test:')"
    ),
    "postgres": lambda request, path: (
        f"chat_history.PostgresChatMessageHistory({request.getfixturevalue('table')!r}, {str(uuid4())!r}, "
        f"url={request.getfixturevalue('postgres_url')!r})"
    ),
}


@pytest.fixture(params=list(_CODES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A conversation in each store that processes can share, gone afterwards."""
    made = Store(_CODES[request.param](request, tmp_path / "talk"))
    yield made
    history = made.open()
    history.clear()
    history.close()


def _start(*lines: str) -> "subprocess.Popen[str]":
    """Start a process that runs the lines."""
    return Program("-W", "error", "-c", "\n".join((OPEN, *lines)), stdout=subprocess.PIPE, text=True)


async def _hear(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdout is not None
    assert (await anyio.to_thread.run_sync(process.stdout.readline)).strip() == line


async def _end(process: "subprocess.Popen[str]", number: int = signal.SIGKILL) -> None:
    process.send_signal(number)
    await anyio.to_thread.run_sync(process.communicate)


async def test_one_run_at_a_time(store: Store) -> None:
    """Of many tasks of several processes each gets the conversation for itself, and nothing of it stays."""
    processes = [
        _start(
            "async def main():",
            "    async with anyio.create_task_group() as group:",
            f"        for task in range({TASKS}):",
            "            group.start_soon(run, task)",
            "async def run(task):",
            f"    history = {store.code}",
            f"    for number in range({RUNS}):",
            f"        await run_alone(history, ({process} * {TASKS} + task) * {RUNS} + number)",
            f"anyio.run(main, backend={'trio' if process % 2 else 'asyncio'!r})",
        )
        for process in range(PROCESSES)
    ]
    for process in processes:
        await anyio.to_thread.run_sync(process.communicate)
    assert [process.returncode for process in processes] == [0] * PROCESSES
    said = [message.text.split() for message in await store.open().aget_messages()]
    assert said == [[number, part] for number, _ in said[::2] for part in ("0", "1")], "two runs had the conversation"
    assert sorted(int(number) for number, _ in said[::2]) == list(range(PROCESSES * TASKS * RUNS))
    async with store.open().exclusive(timeout=LONG):
        pass


async def test_a_killed_holder_gives_the_conversation_back(store: Store) -> None:
    """While it lives it has it; after ``kill -9`` who waits gets it."""
    holder = _start(f"anyio.run(hold, {store.code})")
    await _hear(holder, "holds")
    history = store.open()
    with pytest.raises(HistoryBusy, match=r"another process.* has the conversation, and still had it after 0\.2 s"):
        async with history.exclusive(timeout=0.2):
            pass
    entered = anyio.Event()

    async def wait() -> None:
        async with history.exclusive(timeout=LONG):
            entered.set()
            await history.aadd_messages([HumanMessage("after")])

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.sleep(0.05)
        assert not entered.is_set()
        await _end(holder)
    assert [message.text for message in await history.aget_messages()] == ["after"]


async def test_a_killed_waiter_leaves_nothing(store: Store) -> None:
    """Though it was the next one."""
    history = store.open()
    async with history.exclusive():
        waiter = _start(
            "async def main():",
            f"    history = {store.code}",
            "    try:",
            "        async with history.exclusive(timeout=0.1): pass",
            "    except chat_history.exclusive.HistoryBusy: print('waits', flush=True)",
            "    await hold(history)",
            "anyio.run(main)",
        )
        await _hear(waiter, "waits")
        await _end(waiter)
    async with history.exclusive(timeout=LONG):
        pass


@pytest.mark.one_of(2)
async def test_a_child_does_not_keep_the_lock_of_its_killed_parent(store: Store) -> None:
    """A forked child has copies of all that is open, and goes on."""
    holder = _start(
        "async def main():",
        f"    async with ({store.code}).exclusive():",
        "        if not (child := os.fork()):",
        "            time.sleep(3600)",
        "        print(child, flush=True)",
        "        await anyio.sleep_forever()",
        "anyio.run(main)",
    )
    assert holder.stdout is not None
    child = int(await anyio.to_thread.run_sync(holder.stdout.readline))
    try:
        holder.kill()
        await anyio.to_thread.run_sync(holder.wait)
        async with store.open().exclusive(timeout=LONG):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        await anyio.to_thread.run_sync(holder.communicate)


def test_a_forked_child_has_a_line_of_its_own() -> None:
    """In memory a child has a conversation of its own, which nobody has to himself there."""
    family = _start(
        "async def main():",
        "    history = chat_history.InMemoryChatMessageHistory()",
        "    async with history.exclusive():",
        "        if not (child := os.fork()):",
        "            async with history.exclusive(timeout=0): os._exit(7)",
        "        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
        "anyio.run(main, backend='trio')",  # asyncio's loops do not go on in a child
    )
    family.communicate()
    assert family.returncode == 7


async def test_nobody_is_passed_over(store: Store) -> None:
    """Who takes a conversation again and again, and at once, lets who waits go before."""
    greedy = _start(
        "async def main():",
        f"    history = {store.code}",
        "    print('begins', flush=True)",
        "    while True:",
        "        async with history.exclusive():",
        "            await history.aadd_messages([HumanMessage('again')])",
        "            await anyio.sleep(0.2)",
        "anyio.run(main)",
    )
    await _hear(greedy, "begins")
    history = store.open()
    for _ in range(4):
        before = len(await history.aget_messages())
        async with history.exclusive(timeout=LONG):
            assert len(await history.aget_messages()) - before <= 3, "it went before, and before"
    await _end(greedy)
    async with history.exclusive(timeout=LONG):
        pass
