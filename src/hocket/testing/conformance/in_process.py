"""The exam of a model that needs no server: a fake, an embedded model."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from hocket.language_models import BaseChatModel
from hocket.testing.conformance.answers import Answers
from hocket.testing.conformance.leaving import Leaving
from hocket.testing.conformance.loops import Loops

__all__ = ["ChatModelConformance"]


class ChatModelConformance(Answers, Leaving, Loops):
    """Tests of a chat model, for its provider's suite to inherit. See `Suite` for what to say of it.

    class TestChatParrot(ChatModelConformance):
        has_tools = has_usage = has_stream_usage = False

        def make(self) -> ChatParrot:
            return ChatParrot()
    """

    def make(self) -> BaseChatModel:
        """Return a new model, which answers however often it is asked."""
        raise NotImplementedError(f"{type(self).__name__} must define make()")

    @asynccontextmanager
    async def answering(self) -> AsyncGenerator[BaseChatModel]:
        """Return a context with a new model."""
        yield self.make()

    @contextmanager
    def answering_threads(self) -> Generator[BaseChatModel]:
        """Return a context with a new model."""
        yield self.make()
