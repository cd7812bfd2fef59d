"""What the tests of models share: a handler that notes everything it is told, and settings put back after each test."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from hocket import BaseCallbackHandler, set_debug, set_llm_cache, set_verbose


class Recorder(BaseCallbackHandler):
    """Notes every event of the models it is told of: name, what was told, and of which run."""

    run_inline = True

    def __init__(self) -> None:
        self.events: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def names(self) -> list[str]:
        """Return what happened, in order."""
        return [name for name, _, _ in self.events]

    def told(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Return what was told of each event of this name."""
        return [(args, details) for event, args, details in self.events if event == name]

    def details(self, name: str) -> dict[str, Any]:
        """Return the details of the only event of this name."""
        ((_, details),) = self.told(name)
        return details

    def ends_of(self, run_id: UUID) -> list[str]:
        """Return how a run ended; the promise is: once."""
        ends = ("on_llm_end", "on_llm_error")
        return [name for name, _, details in self.events if name in ends and details["run_id"] == run_id]

    def started(self) -> list[UUID]:
        """Return the runs that started, in order."""
        starts = ("on_chat_model_start", "on_llm_start")
        return [details["run_id"] for name, _, details in self.events if name in starts]

    def assert_every_run_ended_once(self) -> None:
        """Fail if a run has no end, or two."""
        assert {run_id: len(self.ends_of(run_id)) for run_id in self.started()} == dict.fromkeys(self.started(), 1)

    def on_chat_model_start(self, *args: Any, **details: Any) -> None:
        self.events.append(("on_chat_model_start", args, details))

    def on_llm_start(self, *args: Any, **details: Any) -> None:
        self.events.append(("on_llm_start", args, details))

    def on_llm_new_token(self, *args: Any, **details: Any) -> None:
        self.events.append(("on_llm_new_token", args, details))

    def on_llm_end(self, *args: Any, **details: Any) -> None:
        self.events.append(("on_llm_end", args, details))

    def on_llm_error(self, *args: Any, **details: Any) -> None:
        self.events.append(("on_llm_error", args, details))

    def on_cache_hit(self, *args: Any, **details: Any) -> None:
        self.events.append(("on_cache_hit", args, details))

    def on_custom_event(self, *args: Any, **details: Any) -> None:
        self.events.append(("on_custom_event", args, details))


@pytest.fixture
def recorder() -> Recorder:
    """A handler that notes everything."""
    return Recorder()


@pytest.fixture(autouse=True)
def settings_as_they_were() -> Iterator[None]:
    """Undo what a test sets for the whole process."""
    yield
    set_llm_cache(None)
    set_verbose(False)
    set_debug(False)
