"""The exam of the exam: a fault of a store fails the tests that are for it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

BROKEN = Path(__file__).with_name("broken.py")

FAILS = {
    "Products": {"test_scores_are_cosines", "test_scores_do_not_leave_their_range"},
    "FiltersAfterwards": {"test_filters_act_before_the_nearest_are_taken"},
    "FiltersTexts": {"test_filters_mean_what_they_mean_everywhere", "test_what_is_no_filter_is_refused"},
    "NewestFirst": {"test_equal_scores_come_in_the_order_in_which_they_were_added"},
    "AddsOneByOne": {"test_batches_of_many_tasks_stay_whole", "test_a_cancelled_addition_is_whole_or_not_at_all"},
    "AddsItLater": {"test_a_cancelled_addition_is_whole_or_not_at_all"},
    "GivesItsOwn": {"test_documents_are_copies"},
    "KeepsTheOld": {"test_a_document_takes_the_place_of_an_older_one"},
    "EmbedsAgain": {"test_a_text_is_embedded_once"},
    "Blocks": {"test_many_documents_leave_the_loop_free"},
}


@pytest.fixture
def failures(pytester: pytest.Pytester) -> Mapping[str, set[str]]:
    """Which of its tests each broken store fails."""
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


@pytest.mark.nightly
def test_each_fault_fails_its_own_tests(failures: Mapping[str, set[str]]) -> None:
    """No fault goes unseen by the tests that are for it."""
    assert failures == FAILS
