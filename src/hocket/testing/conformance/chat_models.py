"""The exams of a chat model: of one that needs no server (a fake, an embedded model), and of one behind HTTP."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from hocket.language_models import BaseChatModel
from hocket.testing.conformance.answers import Answers
from hocket.testing.conformance.conversations import Conversations
from hocket.testing.conformance.failures import Failures
from hocket.testing.conformance.leaving import Leaving
from hocket.testing.conformance.loops import Loops
from hocket.testing.conformance.requests import Requests
from hocket.testing.conformance.streams import Streams

__all__ = ["ChatModelConformance", "RemoteChatModelConformance"]


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


class RemoteChatModelConformance(Conversations, Requests, Failures, Streams, Answers, Leaving, Loops):
    """Tests of a chat model behind HTTP, for its provider's suite to inherit: all of a model's, and those of the network.

        class TestChatParlour(RemoteChatModelConformance):
            format = ParlourFormat()
            has_tools = False

            def make(self, server_url: str) -> ChatParlour:
                return ChatParlour(model="small", base_url=server_url, api_key=self.api_key)

    See `RemoteSuite` and `Suite` for what to say of it. Deadlines and cancellation ask for async hooks: a sync one cannot be
    interrupted.
    """
