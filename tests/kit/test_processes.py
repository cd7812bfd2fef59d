"""The processes that run the tests: what becomes of one that says nothing any more, and of a test that takes too long."""

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

SLOW = """
import threading
import pytest

@pytest.mark.timeout(1)
def test_is_slow():
    other = threading.Thread(target=threading.Event().wait, name="the other", daemon=True)
    other.start()
    other.join()
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


def test_a_test_that_takes_too_long_says_so_and_where_its_threads_stood(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """As it does without processes."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(SLOW)
    result = pytester.runpytest_subprocess("--processes", "2")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *Timeout*", "*Stack of the other*", "FAILED *::test_is_slow*"])
