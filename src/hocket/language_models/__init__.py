"""Models: the two families, and fakes of both. LangChain's names."""

from hocket.errors import FakeListLLMError
from hocket.language_models.base import (
    BaseLanguageModel,
    LangSmithParams,
    LanguageModelInput,
    LanguageModelLike,
    LanguageModelOutput,
)
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.fakes import (
    FakeChatModel,
    FakeListChatModel,
    FakeListLLM,
    FakeMessagesListChatModel,
    FakeStreamingListLLM,
    GenericFakeChatModel,
    ParrotFakeChatModel,
)
from hocket.language_models.llm import LLM
from hocket.language_models.llms import BaseLLM
from hocket.language_models.registry import init_chat_model
from hocket.language_models.scripted import Request, ScriptedChatModel, Turn
from hocket.language_models.simple import SimpleChatModel, agenerate_from_stream, generate_from_stream
from hocket.language_models.stream import ChatStream, SyncChatStream

__all__ = [
    "LLM",
    "BaseChatModel",
    "BaseLLM",
    "BaseLanguageModel",
    "ChatStream",
    "FakeChatModel",
    "FakeListChatModel",
    "FakeListLLM",
    "FakeListLLMError",
    "FakeMessagesListChatModel",
    "FakeStreamingListLLM",
    "GenericFakeChatModel",
    "LangSmithParams",
    "LanguageModelInput",
    "LanguageModelLike",
    "LanguageModelOutput",
    "ParrotFakeChatModel",
    "Request",
    "ScriptedChatModel",
    "SimpleChatModel",
    "SyncChatStream",
    "Turn",
    "agenerate_from_stream",
    "generate_from_stream",
    "init_chat_model",
]
