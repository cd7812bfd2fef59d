"""hocket: the language-model layer for async Python services.

LangChain's vocabulary, async-first, with guarantees that a test can show. This is the one public door: every name below
may be imported from here, and is loaded when it is first used.
"""

import sys
from typing import TYPE_CHECKING

from hocket._runtime.lazy import loader

if TYPE_CHECKING:
    from hocket.caches import BaseCache, InMemoryCache
    from hocket.callbacks import (
        AsyncCallbackHandler,
        BaseCallbackHandler,
        UsageMetadataCallbackHandler,
        get_usage_metadata_callback,
    )
    from hocket.embeddings import DeterministicFakeEmbedding, Embeddings
    from hocket.errors import HocketError, LLMError
    from hocket.globals import get_llm_cache, set_debug, set_llm_cache, set_verbose
    from hocket.language_models import (
        LLM,
        BaseChatModel,
        BaseLanguageModel,
        BaseLLM,
        ChatStream,
        FakeChatModel,
        FakeListChatModel,
        FakeListLLM,
        FakeMessagesListChatModel,
        FakeStreamingListLLM,
        GenericFakeChatModel,
        ParrotFakeChatModel,
        ScriptedChatModel,
        SimpleChatModel,
        Turn,
        init_chat_model,
    )
    from hocket.load import dumpd, dumps, load, loads
    from hocket.messages import (
        AIMessage,
        AIMessageChunk,
        BaseMessage,
        ChatMessage,
        Collector,
        HumanMessage,
        SystemMessage,
        ToolMessage,
    )
    from hocket.outputs import (
        ChatGeneration,
        ChatGenerationChunk,
        ChatResult,
        Generation,
        GenerationChunk,
        LLMResult,
    )
    from hocket.prompt_values import ChatPromptValue, PromptValue, StringPromptValue
    from hocket.providers.openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
    from hocket.rate_limiters import BaseRateLimiter, InMemoryRateLimiter
    from hocket.retries import RetryPolicy
    from hocket.runnables import Runnable, RunnableConfig
    from hocket.timeouts import Timeout

__version__ = "0.1.0"

_ROOMS = {
    "caches": ("BaseCache", "InMemoryCache"),
    "callbacks": (
        "AsyncCallbackHandler",
        "BaseCallbackHandler",
        "UsageMetadataCallbackHandler",
        "get_usage_metadata_callback",
    ),
    "embeddings": ("DeterministicFakeEmbedding", "Embeddings"),
    "errors": ("HocketError", "LLMError"),
    "globals": ("get_llm_cache", "set_debug", "set_llm_cache", "set_verbose"),
    "language_models": (
        "BaseChatModel",
        "BaseLLM",
        "BaseLanguageModel",
        "ChatStream",
        "FakeChatModel",
        "FakeListChatModel",
        "FakeListLLM",
        "FakeMessagesListChatModel",
        "FakeStreamingListLLM",
        "GenericFakeChatModel",
        "LLM",
        "ParrotFakeChatModel",
        "ScriptedChatModel",
        "SimpleChatModel",
        "Turn",
        "init_chat_model",
    ),
    "load": ("dumpd", "dumps", "load", "loads"),
    "messages": (
        "AIMessage",
        "AIMessageChunk",
        "BaseMessage",
        "ChatMessage",
        "Collector",
        "HumanMessage",
        "SystemMessage",
        "ToolMessage",
    ),
    "outputs": (
        "ChatGeneration",
        "ChatGenerationChunk",
        "ChatResult",
        "Generation",
        "GenerationChunk",
        "LLMResult",
    ),
    "prompt_values": ("ChatPromptValue", "PromptValue", "StringPromptValue"),
    "providers.openai": ("ChatOpenAI", "OpenAI", "OpenAIEmbeddings"),
    "rate_limiters": ("BaseRateLimiter", "InMemoryRateLimiter"),
    "retries": ("RetryPolicy",),
    "runnables": ("Runnable", "RunnableConfig"),
    "timeouts": ("Timeout",),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "LLM",
    "AIMessage",
    "AIMessageChunk",
    "AsyncCallbackHandler",
    "BaseCache",
    "BaseCallbackHandler",
    "BaseChatModel",
    "BaseLLM",
    "BaseLanguageModel",
    "BaseMessage",
    "BaseRateLimiter",
    "ChatGeneration",
    "ChatGenerationChunk",
    "ChatMessage",
    "ChatOpenAI",
    "ChatPromptValue",
    "ChatResult",
    "ChatStream",
    "Collector",
    "DeterministicFakeEmbedding",
    "Embeddings",
    "FakeChatModel",
    "FakeListChatModel",
    "FakeListLLM",
    "FakeMessagesListChatModel",
    "FakeStreamingListLLM",
    "Generation",
    "GenerationChunk",
    "GenericFakeChatModel",
    "HocketError",
    "HumanMessage",
    "InMemoryCache",
    "InMemoryRateLimiter",
    "LLMError",
    "LLMResult",
    "OpenAI",
    "OpenAIEmbeddings",
    "ParrotFakeChatModel",
    "PromptValue",
    "RetryPolicy",
    "Runnable",
    "RunnableConfig",
    "ScriptedChatModel",
    "SimpleChatModel",
    "StringPromptValue",
    "SystemMessage",
    "Timeout",
    "ToolMessage",
    "Turn",
    "UsageMetadataCallbackHandler",
    "dumpd",
    "dumps",
    "get_llm_cache",
    "get_usage_metadata_callback",
    "init_chat_model",
    "load",
    "loads",
    "set_debug",
    "set_llm_cache",
    "set_verbose",
]


__getattr__ = loader(__name__, _ROOM_OF)


def __dir__() -> list[str]:
    return sorted({*vars(sys.modules[__name__]), *__all__})
