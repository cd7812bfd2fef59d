"""`ChatAnthropicBedrock` passes the exam."""

from hocket.providers.anthropic import ChatAnthropicBedrock
from hocket.testing import RemoteChatModelConformance
from tests.kit.anthropic_bedrock import AnthropicBedrockFormat


class TestChatAnthropicBedrock(RemoteChatModelConformance):
    """Anthropic's API in AWS's frames."""

    format = AnthropicBedrockFormat()
    length_word = "max_tokens"

    def make(self, server_url: str) -> ChatAnthropicBedrock:
        return ChatAnthropicBedrock(model="anthropic.test-model", base_url=server_url, api_key=self.api_key)
