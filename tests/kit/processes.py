"""Runs tests in several processes, forked from the one that has collected them.

To collect 25,000 tests, and to import all that they import, takes a processor 13 seconds. The processes of pytest-xdist are
new interpreters: each of them collects, and the one that reports takes as long again. Here one process collects, forks the
others, and reports what they send; they take the next file that waits, until none does. They are the same tests, in the
same order: those of a file stay together and share its fixtures, and a fixture of the session is made in each process.

`pytest --processes 4`; without it pytest runs as ever, and so it does with ``--pdb``. Only on Linux: elsewhere what a system
library has done before a fork may end the forked process.
"""

import os
import random
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest

__all__ = ["pytest_addoption", "run_in_processes"]

Location = tuple[str, int | None, str]

NUMBER = 2  # bytes of the number of a group, in the pipe that they wait in


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
    processes: dict[Connection, int] = {}
    for _ in range(min(option.processes, len(groups))):
        connection, end = Pipe(duplex=False)
        sys.stdout.flush()
        if pid := os.fork():
            end.close()
            processes[connection] = pid
            continue
        for other in processes:
            other.close()
        _run_share(session, _take(groups, waiting), end)
        return True
    try:
        _report(session, processes)
    finally:
        for pid in processes.values():
            os.kill(pid, signal.SIGINT)
            os.waitpid(pid, 0)
    return True


def _take(groups: list[list[pytest.Item]], waiting: int) -> Iterator[pytest.Item]:
    """Yield the tests of one group that waits after the other."""
    while number := os.read(waiting, NUMBER):
        yield from groups[int.from_bytes(number, "big")]


def _run_share(session: pytest.Session, items: Iterator[pytest.Item], connection: Connection) -> None:
    """Run tests in a forked process as pytest's own loop does; the process ends as pytest does, but says nothing."""
    plugins = session.config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(_Sender(session.config, connection))
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
    """Sends what a forked process reports: the name of a test when it begins, its reports when it is over."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config, self._connection = config, connection
        self._reports: list[object] = []

    def pytest_runtest_logstart(self, nodeid: str, location: Location) -> None:
        self._connection.send((nodeid, location))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)

    def pytest_runtest_logfinish(self) -> None:
        self._connection.send(self._reports)
        self._reports = []


def _report(session: pytest.Session, processes: dict[Connection, int]) -> None:
    """Report what is sent until all have ended, and take out those that have; a test that ends its process fails."""
    terminal: Any = session.config.pluginmanager.getplugin("terminalreporter")
    terminal.showfspath = False  # they take turns
    hook = session.config.hook
    running: dict[Connection, tuple[str, Location]] = {}
    missing = {item.nodeid for item in session.items}
    while processes:
        for connection in wait(list(processes)):
            assert isinstance(connection, Connection)
            try:
                sent = connection.recv()
            except EOFError:
                _, status = os.waitpid(processes.pop(connection), 0)
                code = os.waitstatus_to_exitcode(status)
                if connection not in running and code in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
                    continue
                test = running.pop(connection, ("between two tests", ("", None, "")))
                message = f"a process of the tests ended here, with {code}; what it had taken has not run"
                reports = [pytest.TestReport(*test, {}, "failed", message, "call")]
            else:
                if isinstance(sent, tuple):
                    running[connection] = sent
                    continue
                test = running.pop(connection)
                reports = [hook.pytest_report_from_serializable(config=session.config, data=data) for data in sent]
            for report in reports:
                hook.pytest_runtest_logreport(report=report)
            hook.pytest_runtest_logfinish(nodeid=test[0], location=test[1])
            missing.discard(test[0])
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    if missing:
        session.shouldfail = f"{len(missing)} tests have not run, as {min(missing)}"
        raise session.Failed(session.shouldfail)
