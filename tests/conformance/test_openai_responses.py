"""`ChatOpenAI` passes the exam with OpenAI's Responses API."""

from hocket.language_models import BaseChatModel
from hocket.providers.openai import ChatOpenAI
from hocket.testing import OpenAIResponsesFormat, RemoteChatModelConformance


class TestChatOpenAIResponses(RemoteChatModelConformance):
    """It has everything but stop words."""

    format = OpenAIResponsesFormat()
    has_stop = False
    length_word = "max_output_tokens"

    def make(self, server_url: str) -> BaseChatModel:
        return ChatOpenAI(model="test-model", base_url=server_url, api_key=self.api_key, use_responses_api=True)
