"""The exam of `ChatAnthropic`."""

from hocket.providers.anthropic import ChatAnthropic
from hocket.testing import AnthropicFormat
from hocket.testing.conformance import RemoteChatModelConformance


class TestChatAnthropic(RemoteChatModelConformance):
    """It has everything."""

    format = AnthropicFormat()
    length_word = "max_tokens"

    def make(self, server_url: str) -> ChatAnthropic:
        return ChatAnthropic(model="test-model", base_url=server_url, api_key=self.api_key)
