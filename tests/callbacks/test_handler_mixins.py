"""The groups of events that a handler is made of."""

from typing import Any

import pytest

from hocket._runtime.mode import BLOCKING
from hocket.callbacks import (
    AsyncCallbackHandler,
    BaseCallbackHandler,
    ChainManagerMixin,
    LLMManagerMixin,
    ToolManagerMixin,
)
from hocket.callbacks.events import listeners
from hocket.language_models import FakeListChatModel
from hocket.runnables import RunnableLambda


class Counting(LLMManagerMixin, ChainManagerMixin):
    """Counts the ends of models and chains; a base for handlers."""

    ends = 0

    def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        self.ends += 1

    def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
        self.ends += 1


class Handler(Counting, BaseCallbackHandler):
    """A handler with what another class brings."""


class AsyncHandler(Counting, AsyncCallbackHandler):
    """The same, for a handler whose other methods are coroutines."""


CHAIN = RunnableLambda(lambda text: f"{text}!") | FakeListChatModel(responses=["a"])


@pytest.mark.parametrize("kind", [Handler, AsyncHandler])
async def test_a_handler_hears_what_a_group_brings(kind: type[Handler] | type[AsyncHandler]) -> None:
    """Once for each run."""
    handler = kind()
    await CHAIN.ainvoke("hi", {"callbacks": [handler]})
    assert handler.ends == 3


def test_a_handler_hears_in_sync_runs_what_a_group_brings() -> None:
    """Once for each run, too."""
    handler = Handler()
    CHAIN.invoke("hi", {"callbacks": [handler]})
    assert handler.ends == 3


def test_a_method_of_a_group_that_nobody_overrides_is_never_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler of one event costs nothing at the others, wherever their methods stand."""

    handler = Handler()
    heard = [
        name for name in dir(BaseCallbackHandler) if name.startswith("on_") and listeners(BLOCKING, [handler], name)
    ]
    assert heard == ["on_chain_end", "on_llm_end"]


def test_a_handler_is_one_of_each_group() -> None:
    """For programs that ask with isinstance."""
    assert isinstance(BaseCallbackHandler(), ToolManagerMixin)
