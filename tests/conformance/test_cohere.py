"""`ChatCohere` passes the exam."""

from hocket.language_models import BaseChatModel
from hocket.providers.cohere import ChatCohere
from hocket.testing import CohereFormat, RemoteChatModelConformance


class TestChatCohere(RemoteChatModelConformance):
    """It has everything."""

    format = CohereFormat()
    length_word = "MAX_TOKENS"

    def make(self, server_url: str) -> BaseChatModel:
        return ChatCohere(model="test-model", base_url=server_url, api_key=self.api_key)
