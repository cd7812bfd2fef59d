"""The exam of the exam: a fault of a store fails the tests that are for it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

BROKEN = Path(__file__).with_name("broken.py")

FAILS = {
    "ReadsAndWritesBack": {"test_turns_of_many_threads_stay_whole"},
    "AddsOneByOne": {
        "test_turns_of_many_tasks_stay_whole",
        "test_turns_of_many_threads_stay_whole",
        "test_a_cancelled_append_is_whole_or_not_at_all",
        "test_a_turn_that_cannot_be_kept_is_refused_whole",
    },
    "AddsItLater": {"test_a_cancelled_append_is_whole_or_not_at_all"},
    "ReturnsWhatItHas": {"test_messages_are_copies"},
    "ForgetsUsage": {"test_what_goes_in_comes_out", "test_what_goes_in_comes_out_async"},
    "ForgetsEverybody": {"test_clear_forgets_one_session", "test_clear_forgets_one_session_async"},
    "BelongsToItsFirstLoop": {"test_one_history_in_many_loops"},
    "SaysItMid": {"test_a_turn_that_cannot_be_kept_is_refused_whole"},
}


@pytest.fixture
def failures(pytester: pytest.Pytester) -> Mapping[str, set[str]]:
    """Which of its tests each broken history fails."""
    pytester.makeini("[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makeconftest(
        """
        import pytest
        pytest_plugins = ["hocket.testing.plugin"]

        @pytest.fixture(scope="module")
        def anyio_backend():
            return "asyncio"
        """
    )
    pytester.makepyfile(test_broken=BROKEN.read_text())
    ids = [f"test_broken.py::Test{name}::{test}" for name, tests in FAILS.items() for test in tests]
    failed: dict[str, set[str]] = {name: set() for name in FAILS}
    for report in pytester.inline_run("-q", "--tb=no", *ids).getreports("pytest_runtest_logreport"):
        if report.failed:
            _, cls, test = report.nodeid.split("::")
            failed[cls.removeprefix("Test")].add(test.partition("[")[0])
    return failed


def test_each_fault_fails_its_own_tests(failures: Mapping[str, set[str]]) -> None:
    """No fault goes unseen by the tests that are for it."""
    assert failures == FAILS
