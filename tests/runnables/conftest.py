"""A handler that records the runs of chains and of models, as a tree."""

from uuid import UUID

import pytest

from tests.kit import CHAIN_EVENTS, MODEL_EVENTS, AsyncRecorder, Event


class RunRecorder(AsyncRecorder):
    """Records how the runs of chains and models start and end."""

    def __init__(self) -> None:
        super().__init__(*CHAIN_EVENTS, *MODEL_EVENTS)

    @property
    def starts(self) -> list[Event]:
        """The starts of all runs, in order."""
        return [event for event in self.events if event.name.endswith("_start")]

    @property
    def run_names(self) -> dict[UUID, str]:
        """The name of each run, in the order of their starts."""
        return {event.details["run_id"]: event.details.get("name") or event.args[0]["name"] for event in self.starts}

    def outcomes(self) -> list[tuple[str, str]]:
        """Return the name of each run and how it ended, once: "end", "end closed" or "error"."""
        ends = self.ends()
        return [(name, how.rpartition("_")[2]) for run_id, name in self.run_names.items() for how in ends[run_id]]

    def check(self) -> None:
        """Check that every run ended, once, and that all but the first have a parent that started before."""
        self.assert_every_run_ended_once()
        ids = list(self.run_names)
        parents = [event.details["parent_run_id"] for event in self.starts]
        for index, parent in enumerate(parents):
            assert parent in ids[:index] if index else parent is None


@pytest.fixture
def new_recorder() -> type[RunRecorder]:
    """The class of the handler; a test may need several."""
    return RunRecorder
