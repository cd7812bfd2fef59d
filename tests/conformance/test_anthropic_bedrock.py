"""`ChatAnthropicBedrock` passes the exam."""

import pytest

from hocket.providers.anthropic import ChatAnthropicBedrock
from hocket.testing import RemoteChatModelConformance
from tests.kit.anthropic_bedrock import AnthropicBedrockFormat


@pytest.mark.nightly
class TestChatAnthropicBedrock(RemoteChatModelConformance):
    """Anthropic's API in AWS's frames."""

    format = AnthropicBedrockFormat()
    length_word = "max_tokens"

    def make(self, server_url: str) -> ChatAnthropicBedrock:
        return ChatAnthropicBedrock(model="anthropic.test-model", base_url=server_url, api_key=self.api_key)
