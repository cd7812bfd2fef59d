"""The exam of a model behind HTTP."""

from hocket.testing.conformance.answers import Answers
from hocket.testing.conformance.conversations import Conversations
from hocket.testing.conformance.failures import Failures
from hocket.testing.conformance.leaving import Leaving
from hocket.testing.conformance.loops import Loops
from hocket.testing.conformance.requests import Requests
from hocket.testing.conformance.streams import Streams

__all__ = ["RemoteChatModelConformance"]


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
