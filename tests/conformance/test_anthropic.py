"""The exam of `ChatAnthropic` and `ChatAnthropicVertex`."""

import pytest

from hocket.providers.anthropic import ChatAnthropic, ChatAnthropicVertex
from hocket.testing import AnthropicFormat
from hocket.testing.conformance import RemoteChatModelConformance


class TestChatAnthropic(RemoteChatModelConformance):
    """It has everything."""

    format = AnthropicFormat()
    length_word = "max_tokens"

    def make(self, server_url: str) -> ChatAnthropic:
        return ChatAnthropic(model="test-model", base_url=server_url, api_key=self.api_key)


@pytest.mark.nightly
class TestChatAnthropicVertex(RemoteChatModelConformance):
    """Its key is an access token."""

    format = AnthropicFormat()
    length_word = "max_tokens"

    def make(self, server_url: str) -> ChatAnthropicVertex:
        return ChatAnthropicVertex(model="test-model", base_url=server_url, api_key=self.api_key, project="p")
