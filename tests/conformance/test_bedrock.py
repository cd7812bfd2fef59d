"""`ChatBedrockConverse` passes the exam."""

from hocket.language_models import BaseChatModel
from hocket.providers.bedrock import ChatBedrockConverse
from hocket.testing import BedrockFormat, RemoteChatModelConformance


class TestChatBedrockConverse(RemoteChatModelConformance):
    """The chat model of Bedrock's Converse API."""

    format = BedrockFormat()
    length_word = "max_tokens"

    def make(self, server_url: str) -> BaseChatModel:
        return ChatBedrockConverse(model="anthropic.test-model", base_url=server_url, api_key=self.api_key)
