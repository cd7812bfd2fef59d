"""Models: the two families, and fakes of both. LangChain's names.

What only tests and start-up need is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.errors import FakeListLLMError
from hocket.language_models.base import (
    BaseLanguageModel,
    LangSmithParams,
    LanguageModelInput,
    LanguageModelLike,
    LanguageModelOutput,
)
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.stream import ChatStream, SyncChatStream
from hocket.profiles import ModelProfile, ModelProfileRegistry

if TYPE_CHECKING:
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
    from hocket.language_models.registry import init_chat_model, register_provider
    from hocket.language_models.scripted import ScriptedChatModel, ScriptedRequest, Turn
    from hocket.language_models.simple import (
        SimpleChatModel,
        agenerate_from_stream as agenerate_from_stream,
        generate_from_stream as generate_from_stream,
    )
    from hocket.language_models.structured import Partial, StructuredOutput, WithRaw
    from hocket.messages.openai_blocks import is_openai_data_block

_LATER = {
    ".messages.openai_blocks": "is_openai_data_block",
    "fakes": "FakeChatModel FakeListChatModel FakeListLLM FakeMessagesListChatModel FakeStreamingListLLM "
    "GenericFakeChatModel ParrotFakeChatModel",
    "llm": "LLM",
    "llms": "BaseLLM",
    "registry": "init_chat_model register_provider",
    "scripted": "ScriptedRequest ScriptedChatModel Turn",
    "simple": "SimpleChatModel agenerate_from_stream generate_from_stream",
    "structured": "Partial StructuredOutput WithRaw",
}

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
    "ModelProfile",
    "ModelProfileRegistry",
    "ParrotFakeChatModel",
    "Partial",
    "ScriptedChatModel",
    "ScriptedRequest",
    "SimpleChatModel",
    "StructuredOutput",
    "SyncChatStream",
    "Turn",
    "WithRaw",
    "init_chat_model",
    "is_openai_data_block",
    "register_provider",
]

__getattr__: Loader = loader(__name__, _LATER)
