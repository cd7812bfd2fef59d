"""A handler that records the runs of chains."""

from typing import Any
from uuid import UUID

import pytest

from hocket import AsyncCallbackHandler


class Recording(AsyncCallbackHandler):
    """Keeps what it is told: starts and ends, by run."""

    def __init__(self) -> None:
        self.starts: list[UUID] = []
        self.ends: list[tuple[UUID, str]] = []
        self.parents: dict[UUID, UUID | None] = {}
        self.names: dict[UUID, str] = {}
        self.tags: dict[UUID, list[str]] = {}
        self.told: list[tuple[str, Any]] = []

    def _start(self, run_id: UUID, details: dict[str, Any]) -> None:
        self.starts.append(run_id)
        self.parents[run_id] = details["parent_run_id"]
        self.names[run_id] = details.get("name") or details["serialized"]["name"]
        self.tags[run_id] = details["tags"]

    async def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **details: Any) -> None:
        self.told.append(("in", inputs))
        self._start(run_id, {"serialized": serialized, **details})

    async def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **details: Any) -> None:
        self._start(run_id, {"serialized": serialized, **details})

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **details: Any) -> None:
        self.told.append(("out", outputs))
        self.ends.append((run_id, "closed" if details.get("closed") else "end"))

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **details: Any) -> None:
        self.ends.append((run_id, type(error).__name__))

    async def on_llm_end(self, response: Any, *, run_id: UUID, **details: Any) -> None:
        self.ends.append((run_id, "closed" if details.get("closed") else "end"))

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **details: Any) -> None:
        self.ends.append((run_id, type(error).__name__))

    def outcomes(self) -> dict[str, str]:
        """Return how each run ended, by name; the last of those with one name counts."""
        return {self.names[run_id]: how for run_id, how in self.ends}

    def check(self) -> None:
        """Check that every run that started ended, once, and that all but one have a parent that started before."""
        assert sorted(self.starts) == sorted(run_id for run_id, _ in self.ends)
        for index, run_id in enumerate(self.starts):
            parent = self.parents[run_id]
            assert (parent is None) == (index == 0)
            assert parent is None or parent in self.starts[:index]


@pytest.fixture
def new_recording() -> type[Recording]:
    """The class of the recording handler."""
    return Recording
