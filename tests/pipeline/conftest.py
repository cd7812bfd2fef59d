"""What the tests of the pipeline share: a handler that notes everything, and a look at what must never be left behind."""

import logging
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from hocket._pipeline import single_flight
from hocket.callbacks import AsyncCallbackHandler
from hocket.globals import set_llm_cache

STARTS = ("on_chat_model_start", "on_llm_start")
ENDS = ("on_llm_end", "on_llm_error")


class Recorder(AsyncCallbackHandler):
    """Notes every event of the models that it is told of: name, first argument, and details."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any, dict[str, Any]]] = []

    def names(self) -> list[str]:
        """Return what happened, in order, tokens left out."""
        return [name for name, _, _ in self.events if name not in ("on_llm_new_token", "on_first_token")]

    def told(self, name: str) -> list[Any]:
        """Return what each event of this name told first."""
        return [told for event, told, _ in self.events if event == name]

    def tokens(self) -> list[str]:
        """Return the texts of the chunks."""
        return self.told("on_llm_new_token")

    def ends(self) -> dict[UUID, list[str]]:
        """Return how each run that started ended; the promise is: once."""
        runs: dict[UUID, list[str]] = {}
        for name, _, details in self.events:
            if name in STARTS:
                assert details["run_id"] not in runs, "a run started twice"
                runs[details["run_id"]] = []
            elif name in ENDS:
                runs[details["run_id"]].append(name + (" closed" if details.get("closed") else ""))
        return runs

    def end(self) -> str:
        """Return how the only run ended."""
        ((only,),) = self.ends().values()
        return only

    async def on_chat_model_start(self, serialized: Any, messages: Any, **details: Any) -> None:
        self.events.append(("on_chat_model_start", messages, details))

    async def on_llm_start(self, serialized: Any, prompts: Any, **details: Any) -> None:
        self.events.append(("on_llm_start", prompts, details))

    async def on_llm_new_token(self, token: str, **details: Any) -> None:
        self.events.append(("on_llm_new_token", token, details))

    async def on_llm_end(self, response: Any, **details: Any) -> None:
        self.events.append(("on_llm_end", response, details))

    async def on_llm_error(self, error: BaseException, **details: Any) -> None:
        self.events.append(("on_llm_error", error, details))

    async def on_first_token(self, seconds: float, **details: Any) -> None:
        self.events.append(("on_first_token", seconds, details))

    async def on_cache_hit(self, **details: Any) -> None:
        self.events.append(("on_cache_hit", details.get("shared", False), details))

    async def on_limiter_wait(self, seconds: float, **details: Any) -> None:
        self.events.append(("on_limiter_wait", seconds, details))

    async def on_retry(self, retry_state: Any, **details: Any) -> None:
        self.events.append(("on_retry", retry_state, details))


@pytest.fixture
def recorder() -> Recorder:
    """A handler that notes everything."""
    return Recorder()


@pytest.fixture
def recorders() -> type[Recorder]:
    """For tests that need several."""
    return Recorder


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Fail if an equal call could still board a request of this test; unset the global cache."""
    yield
    set_llm_cache(None)
    assert not single_flight._requests


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What was logged, from INFO upwards."""
    caplog.set_level(logging.INFO)
    return caplog
