"""The processes that run the tests: what becomes of one that says nothing any more."""

from pathlib import Path

import pytest

HANGING = """
import threading

def test_before():
    pass

def test_hangs():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
"""

CONFTEST = """
from tests.kit import processes
from tests.kit.processes import pytest_addoption

processes.SILENCE = 3.0

def pytest_runtestloop(session):
    return processes.run_in_processes(session, lambda name: name.partition("::")[0])
"""


def test_a_process_that_is_silent_is_ended_and_its_test_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """The failure has the name of the test, and where its threads stood."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(HANGING)
    result = pytester.runpytest_subprocess("--processes", "2")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*silent for 3 s*", "*in test_hangs*", "FAILED *::test_hangs*"])
