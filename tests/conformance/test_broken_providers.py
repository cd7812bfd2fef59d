"""The exam of the exam: a fault of a provider fails the one test that is for it, and no other."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.kit.amount import RUNS_ALL

BROKEN = Path(__file__).with_name("broken.py")

FAILS = {
    "Careless": {
        "LosesAChunk": "test_a_stream_folds_to_the_answer",
        "SwallowsCancellation": "test_a_cancellation_is_not_swallowed",
        "DropsStop": "test_what_is_asked_is_sent_or_refused",
        "DropsTheSeed": "test_an_option_is_sent_or_refused",
    },
    "Inventive": {
        "InventsAFinishReason": "test_a_cut_stream_is_truncated",
        "HasErrorsOfItsOwn": "test_a_status_has_its_error",
        "BreaksCharacters": "test_any_text_arrives",
    },
    "Forgetful": {
        "LeaksAConnection": "test_leaving_a_stream_closes_its_connection",
        "MixesAnswers": "test_a_batch_answers_in_order",
        "ShowsTheKey": "test_the_key_is_shown_nowhere",
    },
    "Busy": {
        "CountsUsageTwice": "test_usage_of_a_stream",
        "BlocksTheLoop": "test_the_event_loop_stays_free",
        "LeavesATask": "test_a_cancelled_call_leaves_nothing",
    },
    "Nervous": {
        "TakesPingsForChunks": "test_a_stream_that_falls_silent",
        "AsksAgain": "test_one_model_in_many_loops",
    },
}


@pytest.fixture
def failures(pytester: pytest.Pytester) -> Mapping[str, set[str]]:
    """Which tests each broken provider fails."""
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
    # Whether a fault fails nothing else takes a whole exam of each provider: that is for the night.
    own = (
        []
        if RUNS_ALL
        else [f"test_broken.py::Test{name}::{test}" for name, faults in FAILS.items() for test in faults.values()]
    )
    failed: dict[str, set[str]] = {name: set() for name in FAILS}
    for report in pytester.inline_run("-q", "--tb=no", *own).getreports("pytest_runtest_logreport"):
        if report.failed:
            _, cls, test = report.nodeid.split("::")
            failed[cls.removeprefix("Test")].add(test.partition("[")[0])
    return failed


def test_each_fault_fails_its_own_test(failures: Mapping[str, set[str]]) -> None:
    """No fault goes unseen, and none shows as a failure of something else."""
    assert failures == {provider: set(faults.values()) for provider, faults in FAILS.items()}
