"""Histories that several processes share, and processes that die."""

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from hocket import chat_history
from hocket.chat_history import BaseChatMessageHistory
from hocket.messages import HumanMessage
from tests.kit.warm import Program

PARTS = 5  # messages of a turn, of 4,000 characters each
PROCESSES = 2
THREADS = 25
TURNS = 2

OPEN = f"""\
import os, sys, threading
from hocket import chat_history
from hocket.messages import HumanMessage

def turn(writer, number):
    return [HumanMessage(f"{{writer}} {{number}} {{part}} " + "x" * 4000) for part in range({PARTS})]

def write(history, writer, turns):
    for number in turns:
        history.add_messages(turn(writer, number))
        print(number, flush=True)
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

    def turns(self) -> list[tuple[int, int]]:
        """Return writer and number of each turn, all of which must be whole."""
        history = self.open()
        said = [tuple(map(int, message.text.split()[:3])) for message in history.messages]
        history.close()
        turns = [(writer, number) for writer, number, part in said if part == 0]
        assert said == [(*turn, part) for turn in turns for part in range(PARTS)]
        return turns


def _codes() -> dict[str, Callable[[pytest.FixtureRequest, str], str]]:
    def path(request: pytest.FixtureRequest, session: str) -> str:
        directory: Path = request.getfixturevalue("tmp_path")
        return str(directory / session)

    return {
        "file": lambda request, session: f"chat_history.FileChatMessageHistory({path(request, session)!r})",
        "sqlite": lambda request, session: (
            f"chat_history.SQLiteChatMessageHistory({session!r}, {path(request, session)!r})"
        ),
        "redis": lambda request, session: (
            f"chat_history.RedisChatMessageHistory({session!r}, {request.getfixturevalue('redis_url')!r}, 'hocket-test:')"
        ),
        "postgres": lambda request, session: (
            f"chat_history.PostgresChatMessageHistory({request.getfixturevalue('table')!r}, {session!r}, "
            f"url={request.getfixturevalue('postgres_url')!r})"
        ),
    }


@pytest.fixture(params=["file", "sqlite", "redis", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A conversation in each store that processes can share, gone afterwards."""
    made = Store(_codes()[request.param](request, str(uuid4())))
    yield made
    history = made.open()
    history.clear()
    history.close()


def _start(*lines: str) -> subprocess.Popen[str]:
    """Start a process that runs the lines."""
    return Program("-W", "error", "-c", "\n".join((OPEN, *lines)), stdout=subprocess.PIPE, text=True)


def test_turns_of_many_processes_stay_whole(store: Store) -> None:
    """Fifty writers, in threads of several processes, lose nothing and mix nothing."""
    writers = [
        _start(
            f"threads = [threading.Thread(target=write, args=({store.code}, {process} * {THREADS} + n, range({TURNS})))",
            f"    for n in range({THREADS})]",
            "for thread in threads: thread.start()",
            "for thread in threads: thread.join()",
        )
        for process in range(PROCESSES)
    ]
    seen: list[tuple[int, int]] = []
    while any(writer.poll() is None for writer in writers):
        now = store.turns()
        assert now[: len(seen)] == seen, "a turn appeared before others that had been seen"
        seen = now
        time.sleep(0.05)
    assert [writer.communicate()[0].count("\n") for writer in writers] == [THREADS * TURNS] * PROCESSES
    assert sorted(store.turns()) == [
        (writer, number) for writer in range(PROCESSES * THREADS) for number in range(TURNS)
    ]


def test_a_killed_writer_loses_at_most_its_unacknowledged_turn(store: Store) -> None:
    """After ``kill -9`` all acknowledged turns are there, at most one more, all whole, and the next turn follows them."""
    writer = _start(f"write({store.code}, 0, range(1_000_000))")
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(10)]
    time.sleep(random.uniform(0, 0.02))
    writer.send_signal(signal.SIGKILL)
    acknowledged += [int(line) for line in writer.communicate()[0].splitlines()]

    history = store.open()
    history.add_messages([HumanMessage(f"1 0 {part}") for part in range(PARTS)])
    history.close()
    expected = [(0, number) for number in acknowledged]
    *turns, last = store.turns()
    assert turns in (expected, [*expected, (0, len(expected))])
    assert last == (1, 0)


def test_a_writer_killed_in_the_middle_of_a_line(tmp_path: Path) -> None:
    """A process that dies between two halves of its line leaves nothing of it."""
    store = Store(f"chat_history.FileChatMessageHistory({str(tmp_path / 'talk')!r})")
    store.open().add_messages([HumanMessage(f"0 0 {part}") for part in range(PARTS)])
    dying = _start(
        "whole = os.write",
        "def half(file, data):",
        "    whole(file, data[: len(data) // 2])",
        "    os.kill(os.getpid(), 9)",
        "os.write = half",
        f"write({store.code}, 1, range(1))",
    )
    assert dying.communicate()[0] == ""
    assert dying.returncode == -signal.SIGKILL
    assert (tmp_path / "talk").read_bytes()[-1:] != b"\n"
    assert store.turns() == [(0, 0)]
    store.open().add_messages([HumanMessage(f"2 0 {part}") for part in range(PARTS)])
    assert store.turns() == [(0, 0), (2, 0)]


def test_a_writer_killed_before_its_commit(tmp_path: Path) -> None:
    """A process that dies with all rows inserted, and not committed, leaves nothing of them, and no lock."""
    store = Store(f"chat_history.SQLiteChatMessageHistory('talk', {str(tmp_path / 'talk.db')!r})")
    store.open().add_messages([HumanMessage(f"0 0 {part}") for part in range(PARTS)])
    dying = _start(
        "import sqlite3",
        "connect = sqlite3.connect",
        "def traced(*args, **kwargs):",
        "    connection = connect(*args, **kwargs)",
        "    connection.set_trace_callback(lambda sql: os.kill(os.getpid(), 9) if sql == 'COMMIT' else None)",
        "    return connection",
        "sqlite3.connect = traced",
        f"write({store.code}, 1, range(1))",
    )
    assert dying.communicate()[0] == ""
    assert dying.returncode == -signal.SIGKILL
    assert store.turns() == [(0, 0)]
    store.open().add_messages([HumanMessage(f"2 0 {part}") for part in range(PARTS)])
    assert store.turns() == [(0, 0), (2, 0)]


@pytest.mark.one_of(2, 1)
def test_a_forked_child_has_connections_of_its_own(store: Store) -> None:
    """Parent and child of a fork go on with the same history, and neither harms the other's connections."""
    family = _start(
        f"history = {store.code}",
        "write(history, 0, range(1))",
        "if os.fork() == 0:",
        "    write(history, 1, range(2))",
        "    history.close()",
        "    os._exit(0)",
        "os.wait()",
        "write(history, 0, range(1, 3))",
    )
    family.communicate()
    assert family.returncode == 0
    assert store.turns() == [(0, 0), (1, 0), (1, 1), (0, 1), (0, 2)]


def test_a_fork_in_the_middle_of_turns(store: Store) -> None:
    """A thread of the parent goes on writing: nobody waits for ever, and nothing that was stored is lost."""
    family = _start(
        "import threading, time",
        "is_over, turns = threading.Event(), 0",
        "def go_on():",
        "    global turns",
        "    while not is_over.is_set():",
        f"        write({store.code}, 0, range(turns, turns + 1))",
        "        turns += 1",
        "thread = threading.Thread(target=go_on)",
        "thread.start()",
        "while not turns:  # what it imports is there then: a fork in the middle of an import leaves Python's lock taken",
        "    time.sleep(0.01)",
        "codes = []",
        "for number in range(1, 5):",
        "    time.sleep(0.05)",
        "    if os.fork() == 0:",
        f"        write({store.code}, number, range(3))",
        "        os._exit(0)",
        "    codes.append(os.wait()[1])",
        "is_over.set()",
        "thread.join()",
        "assert codes == [0] * 4, codes",
        "print('done', turns)",
    )
    told, _ = family.communicate()
    assert family.returncode == 0
    turns = int(told.split("done ")[1])
    assert sorted(store.turns()) == sorted(
        [(0, at) for at in range(turns)] + [(number, at) for number in range(1, 5) for at in range(3)]
    )
