"""What a model can, and where it comes from: what all tests of the exam ask, and a provider answers."""

import importlib.util
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, ClassVar

import pytest

from hocket.callbacks import BaseCallbackHandler
from hocket.errors import InvalidInput, Unsupported
from hocket.language_models import BaseChatModel

__all__ = ["BACKENDS", "IMAGE", "REFUSALS", "TOOL", "Ends", "Suite"]

REFUSALS = (Unsupported, InvalidInput, NotImplementedError)
"""How a model says that it cannot do something."""

BACKENDS = ["asyncio", *(["trio"] if importlib.util.find_spec("trio") else [])]
"""The event loops that a suite runs on: asyncio, and trio where it is installed."""

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
"""A declared tool, the weather in a city, in OpenAI's form."""

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE: dict[str, Any] = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
"""An image of one pixel, as a block of a message."""


class Ends(BaseCallbackHandler):
    """Notes how runs start and end: ``started``, ``ended``, ``closed`` (left by the consumer), ``failed``."""

    run_inline = True

    def __init__(self) -> None:
        self.noted: list[str] = []

    def on_chat_model_start(self, *args: Any, **details: Any) -> None:
        self.noted.append("started")

    def on_llm_end(self, *args: Any, **details: Any) -> None:
        self.noted.append("closed" if details.get("closed") else "ended")

    def on_llm_error(self, *args: Any, **details: Any) -> None:
        self.noted.append("failed")


class Suite:
    """What the provider says of its model. Every test starts with a model of its own.

    Attributes:
        question: what is asked where it does not matter what.
        long_question: a conversation of the length that users send: reading it must not hold up the event loop.
        repeatable: whether the same question gets the same answer, whatever is asked beside it.
        streams: whether a long answer comes in several chunks; if not, it comes in one.
        has_usage: whether answers report token usage.
        has_stream_usage: whether streamed ones do.
        has_tools: whether `bind_tools` works; if not, it refuses.
        has_forced_calls: whether a model with tools can be made to call one; if not, that is refused.
        has_stop: whether ``stop`` works; if not, it is refused.
        has_images: whether images are read; if not, they are refused.
        patience: seconds after which something that should happen at once is given up. The machine may be busy.
    """

    pytestmark: ClassVar[Any] = [pytest.mark.anyio]

    question: str = "Why is the sky blue?"
    long_question: str = "What do you make of this? " + "word " * 20_000
    repeatable: bool = True
    streams: bool = True
    has_usage: bool = True
    has_stream_usage: bool = True
    has_tools: bool = True
    has_forced_calls: bool = True
    has_stop: bool = True
    has_images: bool = True
    patience: float = 5

    def answering(self) -> AbstractAsyncContextManager[BaseChatModel]:
        """Return a context with a model that answers whatever it is asked."""
        raise NotImplementedError

    def answering_threads(self) -> AbstractContextManager[BaseChatModel]:
        """Return the same for sync code, and for event loops of any thread."""
        raise NotImplementedError
