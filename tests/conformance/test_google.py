"""`ChatGoogleGenerativeAI` and `ChatVertexAI` pass the exam."""

import pytest

from hocket.language_models import BaseChatModel
from hocket.providers.google import ChatGoogleGenerativeAI, ChatVertexAI
from hocket.testing import GoogleFormat, RemoteChatModelConformance


class TestChatGoogleGenerativeAI(RemoteChatModelConformance):
    """It has everything."""

    format = GoogleFormat()
    length_word = "MAX_TOKENS"

    def make(self, server_url: str) -> BaseChatModel:
        return ChatGoogleGenerativeAI(model="test-model", base_url=server_url, api_key=self.api_key)


@pytest.mark.nightly
class TestChatVertexAI(RemoteChatModelConformance):
    """In express mode, whose key is a text."""

    format = GoogleFormat()
    length_word = "MAX_TOKENS"

    def make(self, server_url: str) -> BaseChatModel:
        return ChatVertexAI(model="test-model", base_url=server_url, api_key=self.api_key)
