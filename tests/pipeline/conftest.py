"""What the tests of the pipeline share: a handler that notes everything, and a look at what must never be left behind."""

import logging
from collections.abc import Iterator

import pytest

from hocket._pipeline import single_flight
from hocket.globals import set_llm_cache
from tests.kit import MODEL_EVENTS, AsyncRecorder


class PipelineRecorder(AsyncRecorder):
    """Records what happens to models; their tokens are not among the names."""

    def __init__(self) -> None:
        super().__init__(
            *MODEL_EVENTS, "on_llm_new_token", "on_first_token", "on_cache_hit", "on_limiter_wait", "on_retry"
        )

    @property
    def names(self) -> list[str]:
        return [name for name in super().names if name not in ("on_llm_new_token", "on_first_token")]


@pytest.fixture
def recorder() -> PipelineRecorder:
    """A handler that notes everything."""
    return PipelineRecorder()


@pytest.fixture
def recorders() -> type[PipelineRecorder]:
    """For tests that need several."""
    return PipelineRecorder


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
