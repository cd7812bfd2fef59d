"""`ChatOllama` passes the exam."""

from hocket.language_models import BaseChatModel
from hocket.providers.ollama import ChatOllama
from hocket.testing import OllamaFormat
from hocket.testing.conformance import RemoteChatModelConformance


class TestChatOllama(RemoteChatModelConformance):
    """It has everything, but for a way to make the model call a tool."""

    format = OllamaFormat()
    has_forced_calls = False

    def make(self, server_url: str) -> BaseChatModel:
        return ChatOllama(model="test-model", base_url=server_url, api_key=self.api_key, num_ctx=131_072)
