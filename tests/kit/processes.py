"""Runs tests in several processes, forked from the one that has collected them.

To collect 25,000 tests, and to import all that they import, takes a processor 13 seconds. The processes of pytest-xdist are
new interpreters: each of them collects, and the one that reports takes as long again. Here one process collects, forks the
others, and reports what they send; they take the next file that waits, until none does. They are the same tests, in the
same order: those of a file stay together and share its fixtures, and a fixture of the session is made in each process.

A process that says nothing for a quarter of an hour is ended, and the test at which it stood fails, with the stacks of its
threads: what a test's own limit on time cannot end, such as a wait in C, would else hold up all of them for ever.

`pytest --processes 4`; without it pytest runs as ever, and so it does with ``--pdb``. Only on Linux: elsewhere what a system
library has done before a fork may end the forked process.
"""

import faulthandler
import os
import random
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest
from _pytest._io import TerminalWriter  # pytest offers it nowhere else

__all__ = ["pytest_addoption", "run_in_processes"]

Location = tuple[str, int | None, str]

SILENCE = 900.0
"""Seconds without any report after which a process is ended; a test's own limit on time is shorter."""

NUMBER = 2  # bytes of the number of a group, in the pipe that they wait in


@dataclass
class _Process:
    """A forked process.

    Attributes:
        stacks: the file in which are the stacks of its threads, should it end by a signal.
        heard_at: when it has reported last, in seconds by the monotonic clock.
        test: that it runs now: its name, and its place.
    """

    pid: int
    stacks: int
    heard_at: float = field(default_factory=time.monotonic)
    test: tuple[str, Location] | None = None

    def take_out(self, *, is_silent: bool) -> pytest.TestReport | None:
        """Take it out, and report the test at which it has ended; None: it has ended as it should. A silent one is ended."""
        if is_silent:
            os.kill(self.pid, signal.SIGABRT)
            os.kill(self.pid, signal.SIGCONT)  # one that was stopped goes on, to its end
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if self.test is None and code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return None
        why = f"was silent for {SILENCE:g} s, and was ended" if is_silent else f"ended here, with {code}"
        said = f"a process of the tests {why}; what it had taken has not run\n\n{os.pread(self.stacks, 100_000, 0).decode()}"
        return pytest.TestReport(*(self.test or ("between two tests", ("", None, ""))), {}, "failed", said, "call")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--processes", type=int, default=1, help="run tests in so many forked processes")


def run_in_processes(session: pytest.Session, scope_of: Callable[[str], str]) -> bool | None:
    """Run the collected tests, as `pytest_runtestloop` does; None: pytest shall, in this process.

    Args:
        scope_of: makes of the name of a test what it shares with those that must stay in the same process.
    """
    option = session.config.option
    if option.processes < 2 or option.collectonly or option.usepdb or session.testsfailed:
        return None
    scopes: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in session.items:
        scopes[scope_of(item.nodeid)].append(item)
    groups = [*scopes.values()]
    waiting, numbers = os.pipe()
    os.write(numbers, b"".join(number.to_bytes(NUMBER, "big") for number in range(len(groups))))
    os.close(numbers)
    assert threading.active_count() == 1, "a thread does not survive a fork"  # numpy's own are started again
    processes: dict[Connection, _Process] = {}
    for _ in range(min(option.processes, len(groups))):
        connection, end = Pipe(duplex=False)
        stacks = os.memfd_create("stacks")
        sys.stdout.flush()
        if pid := os.fork():
            end.close()
            processes[connection] = _Process(pid, stacks)
            continue
        faulthandler.enable(stacks)
        for other in processes:
            other.close()
        _run_share(session, _take(groups, waiting), end)
        return True
    try:
        _report(session, processes)
    finally:
        for process in processes.values():
            os.kill(process.pid, signal.SIGINT)
            os.waitpid(process.pid, 0)
    return True


def _take(groups: list[list[pytest.Item]], waiting: int) -> Iterator[pytest.Item]:
    """Yield the tests of one group that waits after the other."""
    while number := os.read(waiting, NUMBER):
        yield from groups[int.from_bytes(number, "big")]


def _run_share(session: pytest.Session, items: Iterator[pytest.Item], connection: Connection) -> None:
    """Run tests in a forked process as pytest's own loop does; the process ends as pytest does, but says nothing."""
    plugins = session.config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(_Sender(session.config, connection), name="terminalreporter")  # some ask for one by its name
    capture: Any = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()  # its files are those of all processes
    capture.start_global_capturing()
    capture.suspend_global_capture()
    random.seed()
    item = next(items, None)
    while item is not None and not (session.shouldfail or session.shouldstop):
        following = next(items, None)  # the fixtures that it has, too, stay
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following


class _Sender:
    """Sends what a forked process reports: the name of a test when it begins, its reports when it is over.

    What others write on pytest's terminal, such as the stacks of threads when a test takes too long, is captured.
    """

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config, self._connection = config, connection
        self._reports: list[object] = []

    @property
    def _tw(self) -> TerminalWriter:  # so does pytest's own reporter call it
        return TerminalWriter(sys.stderr)

    def pytest_runtest_logstart(self, nodeid: str, location: Location) -> None:
        self._connection.send((nodeid, location))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)

    def pytest_runtest_logfinish(self) -> None:
        self._connection.send(self._reports)
        self._reports = []


def _report(session: pytest.Session, processes: dict[Connection, _Process]) -> None:
    """Report what is sent until all have ended, and take out those that have; a test that ends its process fails."""
    terminal: Any = session.config.pluginmanager.getplugin("terminalreporter")
    terminal.showfspath = False  # they take turns
    hook = session.config.hook
    missing = {item.nodeid for item in session.items}
    while processes:
        until = min(process.heard_at for process in processes.values()) + SILENCE
        ready = wait([*processes], max(0.0, until - time.monotonic()))
        now = time.monotonic()
        for connection, process in [*processes.items()]:
            is_silent = now - process.heard_at >= SILENCE
            if connection not in ready and not is_silent:
                continue
            try:
                sent = connection.recv() if connection in ready else None
            except EOFError:
                sent, is_silent = None, False
            if isinstance(sent, tuple):
                process.test, process.heard_at = sent, now
                continue
            if sent is None:
                del processes[connection]
                report = process.take_out(is_silent=is_silent)
                reports = [] if report is None else [report]
            else:
                process.heard_at = now
                reports = [hook.pytest_report_from_serializable(config=session.config, data=data) for data in sent]
            for report in reports:
                hook.pytest_runtest_logreport(report=report)
            if process.test is not None:
                hook.pytest_runtest_logfinish(nodeid=process.test[0], location=process.test[1])
                missing.discard(process.test[0])
                process.test = None
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    if missing:
        session.shouldfail = f"{len(missing)} tests have not run, as {min(missing)}"
        raise session.Failed(session.shouldfail)
