"""What the tests of models share: a handler that notes everything it is told, and settings put back after each test."""

from collections.abc import Iterator

import pytest

from hocket import set_debug, set_llm_cache, set_verbose
from tests.kit import MODEL_EVENTS, Recorder


@pytest.fixture
def recorder() -> Recorder:
    """A handler that records what happens to models, and what they tell."""
    events = ("on_llm_new_token", "on_cache_hit", "on_custom_event")
    return Recorder(*MODEL_EVENTS, *events)


@pytest.fixture(autouse=True)
def settings_as_they_were() -> Iterator[None]:
    """Undo what a test sets for the whole process."""
    yield
    set_llm_cache(None)
    set_verbose(False)
    set_debug(False)
