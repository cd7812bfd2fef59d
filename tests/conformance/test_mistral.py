"""`ChatMistralAI` passes the exam."""

from hocket.language_models import BaseChatModel
from hocket.providers.mistral import ChatMistralAI
from hocket.testing import MistralFormat, RemoteChatModelConformance


class TestChatMistralAI(RemoteChatModelConformance):
    """It has everything."""

    format = MistralFormat()

    def make(self, server_url: str) -> BaseChatModel:
        return ChatMistralAI(model="test-model", base_url=server_url, api_key=self.api_key)
