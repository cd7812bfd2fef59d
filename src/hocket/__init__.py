"""hocket: the language-model layer for async Python services.

LangChain's vocabulary, async-first, with guarantees that a test can show. This is the one public door: every name below
may be imported from here, and is loaded when it is first used. So are some fakes, which `dir()` does not show.

Nothing two packages deep is imported here before a name is asked for. Python does not keep a thread that imports
`hocket.agents` waiting for this file, once another has begun to read it. Were both to import `hocket._runtime.lazy` then,
each would wait for a lock that the other one holds, which Python ends with an error.
"""

from typing import TYPE_CHECKING

from hocket._version import __version__ as __version__

if TYPE_CHECKING:
    from hocket.agents import Agent, AgentLimits, Resume, create_agent
    from hocket.batch import arun_batch, read_batch, run_batch
    from hocket.budgets import Budget, spending
    from hocket.caches import BaseCache, InMemoryCache
    from hocket.callbacks import (
        AsyncCallbackHandler,
        BaseCallbackHandler,
        CallbackManager,
        UsageMetadataCallbackHandler,
        get_usage_metadata_callback,
    )
    from hocket.chains import create_retrieval_chain, create_stuff_documents_chain
    from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory, open_history
    from hocket.conversation import Conversation
    from hocket.document_loaders import open_documents
    from hocket.documents import Document
    from hocket.embeddings import DeterministicFakeEmbedding, Embeddings, init_embeddings
    from hocket.errors import HocketError, LLMError
    from hocket.globals import get_llm_cache, set_debug, set_llm_cache, set_verbose
    from hocket.indexing import aindex, index
    from hocket.language_models import (
        LLM,
        BaseChatModel,
        BaseLanguageModel,
        BaseLLM,
        ChatStream,
        FakeChatModel as FakeChatModel,
        FakeListChatModel,
        FakeListLLM,
        FakeMessagesListChatModel as FakeMessagesListChatModel,
        FakeStreamingListLLM as FakeStreamingListLLM,
        GenericFakeChatModel as GenericFakeChatModel,
        ParrotFakeChatModel as ParrotFakeChatModel,
        ScriptedChatModel,
        SimpleChatModel,
        Turn as Turn,
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
        trim_messages,
    )
    from hocket.output_parsers import JsonOutputParser, PydanticOutputParser, StrOutputParser
    from hocket.outputs import (
        ChatGeneration,
        ChatGenerationChunk,
        ChatResult,
        Generation,
        GenerationChunk,
        LLMResult,
    )
    from hocket.prices import Price, price_of, set_prices
    from hocket.prompt_values import ChatPromptValue, PromptValue, StringPromptValue
    from hocket.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
    from hocket.providers.anthropic import ChatAnthropic, ChatAnthropicBedrock, ChatAnthropicVertex
    from hocket.providers.bedrock import BedrockEmbeddings, ChatBedrockConverse
    from hocket.providers.cohere import ChatCohere, CohereEmbeddings, CohereRerank
    from hocket.providers.google import (
        ChatGoogleGenerativeAI,
        ChatVertexAI,
        GoogleGenerativeAIEmbeddings,
        VertexAIEmbeddings,
    )
    from hocket.providers.mistral import ChatMistralAI, MistralAIEmbeddings
    from hocket.providers.ollama import ChatOllama, OllamaEmbeddings
    from hocket.providers.openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
    from hocket.rate_limiters import BaseRateLimiter, InMemoryRateLimiter
    from hocket.retries import RetryPolicy
    from hocket.runnables import (
        Runnable,
        RunnableConfig,
        RunnableLambda,
        RunnableParallel,
        RunnablePassthrough,
        RunnableWithMessageHistory,
    )
    from hocket.serving import SSE_HEADERS, sse
    from hocket.text_splitters import RecursiveCharacterTextSplitter
    from hocket.timeouts import Timeout
    from hocket.tools import BaseTool, arun_tool_calls, run_tool_calls, tool
    from hocket.vectorstores import InMemoryVectorStore, SQLiteVectorStore

_ROOMS = {
    "agents": "Agent AgentLimits Resume create_agent",
    "batch": "arun_batch read_batch run_batch",
    "budgets": "Budget spending",
    "caches": "BaseCache InMemoryCache",
    "callbacks": "AsyncCallbackHandler BaseCallbackHandler CallbackManager UsageMetadataCallbackHandler "
    "get_usage_metadata_callback",
    "chains": "create_retrieval_chain create_stuff_documents_chain",
    "chat_history": "BaseChatMessageHistory InMemoryChatMessageHistory open_history",
    "conversation": "Conversation",
    "document_loaders": "open_documents",
    "documents": "Document",
    "embeddings": "DeterministicFakeEmbedding Embeddings init_embeddings",
    "errors": "HocketError LLMError",
    "globals": "get_llm_cache set_debug set_llm_cache set_verbose",
    "indexing": "aindex index",
    "language_models": "BaseChatModel BaseLLM BaseLanguageModel ChatStream FakeChatModel FakeListChatModel "
    "FakeListLLM FakeMessagesListChatModel FakeStreamingListLLM GenericFakeChatModel LLM ParrotFakeChatModel "
    "ScriptedChatModel SimpleChatModel Turn init_chat_model",
    "load": "dumpd dumps load loads",
    "messages": "AIMessage AIMessageChunk BaseMessage ChatMessage Collector HumanMessage SystemMessage ToolMessage "
    "trim_messages",
    "output_parsers": "JsonOutputParser PydanticOutputParser StrOutputParser",
    "outputs": "ChatGeneration ChatGenerationChunk ChatResult Generation GenerationChunk LLMResult",
    "prices": "Price price_of set_prices",
    "prompt_values": "ChatPromptValue PromptValue StringPromptValue",
    "prompts": "ChatPromptTemplate MessagesPlaceholder PromptTemplate",
    "providers.anthropic": "ChatAnthropic ChatAnthropicBedrock ChatAnthropicVertex",
    "providers.bedrock": "BedrockEmbeddings ChatBedrockConverse",
    "providers.cohere": "ChatCohere CohereEmbeddings CohereRerank",
    "providers.google": "ChatGoogleGenerativeAI ChatVertexAI GoogleGenerativeAIEmbeddings VertexAIEmbeddings",
    "providers.mistral": "ChatMistralAI MistralAIEmbeddings",
    "providers.ollama": "ChatOllama OllamaEmbeddings",
    "providers.openai": "ChatOpenAI OpenAI OpenAIEmbeddings",
    "rate_limiters": "BaseRateLimiter InMemoryRateLimiter",
    "retries": "RetryPolicy",
    "runnables": "Runnable RunnableConfig RunnableLambda RunnableParallel RunnablePassthrough "
    "RunnableWithMessageHistory",
    "serving": "SSE_HEADERS sse",
    "text_splitters": "RecursiveCharacterTextSplitter",
    "timeouts": "Timeout",
    "tools": "BaseTool arun_tool_calls run_tool_calls tool",
    "vectorstores": "InMemoryVectorStore SQLiteVectorStore",
}

__all__ = [
    "LLM",
    "SSE_HEADERS",
    "AIMessage",
    "AIMessageChunk",
    "Agent",
    "AgentLimits",
    "AsyncCallbackHandler",
    "BaseCache",
    "BaseCallbackHandler",
    "BaseChatMessageHistory",
    "BaseChatModel",
    "BaseLLM",
    "BaseLanguageModel",
    "BaseMessage",
    "BaseRateLimiter",
    "BaseTool",
    "BedrockEmbeddings",
    "Budget",
    "CallbackManager",
    "ChatAnthropic",
    "ChatAnthropicBedrock",
    "ChatAnthropicVertex",
    "ChatBedrockConverse",
    "ChatCohere",
    "ChatGeneration",
    "ChatGenerationChunk",
    "ChatGoogleGenerativeAI",
    "ChatMessage",
    "ChatMistralAI",
    "ChatOllama",
    "ChatOpenAI",
    "ChatPromptTemplate",
    "ChatPromptValue",
    "ChatResult",
    "ChatStream",
    "ChatVertexAI",
    "CohereEmbeddings",
    "CohereRerank",
    "Collector",
    "Conversation",
    "DeterministicFakeEmbedding",
    "Document",
    "Embeddings",
    "FakeListChatModel",
    "FakeListLLM",
    "Generation",
    "GenerationChunk",
    "GoogleGenerativeAIEmbeddings",
    "HocketError",
    "HumanMessage",
    "InMemoryCache",
    "InMemoryChatMessageHistory",
    "InMemoryRateLimiter",
    "InMemoryVectorStore",
    "JsonOutputParser",
    "LLMError",
    "LLMResult",
    "MessagesPlaceholder",
    "MistralAIEmbeddings",
    "OllamaEmbeddings",
    "OpenAI",
    "OpenAIEmbeddings",
    "Price",
    "PromptTemplate",
    "PromptValue",
    "PydanticOutputParser",
    "RecursiveCharacterTextSplitter",
    "Resume",
    "RetryPolicy",
    "Runnable",
    "RunnableConfig",
    "RunnableLambda",
    "RunnableParallel",
    "RunnablePassthrough",
    "RunnableWithMessageHistory",
    "SQLiteVectorStore",
    "ScriptedChatModel",
    "SimpleChatModel",
    "StrOutputParser",
    "StringPromptValue",
    "SystemMessage",
    "Timeout",
    "ToolMessage",
    "UsageMetadataCallbackHandler",
    "VertexAIEmbeddings",
    "aindex",
    "arun_batch",
    "arun_tool_calls",
    "create_agent",
    "create_retrieval_chain",
    "create_stuff_documents_chain",
    "dumpd",
    "dumps",
    "get_llm_cache",
    "get_usage_metadata_callback",
    "index",
    "init_chat_model",
    "init_embeddings",
    "load",
    "loads",
    "open_documents",
    "open_history",
    "price_of",
    "read_batch",
    "run_batch",
    "run_tool_calls",
    "set_debug",
    "set_llm_cache",
    "set_prices",
    "set_verbose",
    "spending",
    "sse",
    "tool",
    "trim_messages",
]


def _explain(name: str) -> str:
    if name in ("rag", "retrieval", "search"):
        return "documents are found by hocket.vectorstores and hocket.retrievers, and read by hocket.document_loaders"
    is_model = name.startswith("Chat") or name.endswith(("LLM", "Embeddings"))
    return "init_chat_model('provider:model') makes the chat model of a provider" if is_model else ""


def __getattr__(name: str) -> object:
    from hocket._runtime.lazy import loader  # see above

    return loader(__name__, _ROOMS, explain=_explain)(name)


def __dir__() -> list[str]:
    import sys

    own, later = vars(sys.modules[__name__]), {name for names in _ROOMS.values() for name in names.split()}
    return sorted(({*own} - later) | {*__all__})  # not `globals()`: that is a room
