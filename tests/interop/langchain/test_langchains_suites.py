"""LangChain's own suites for chat models, vector stores, retrievers, embeddings and tools, with hocket's in LangChain."""

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

pytest.importorskip("langchain_tests", reason="scripts/interop installs LangChain's suites")

from langchain_tests.integration_tests import (
    ChatModelIntegrationTests,
    EmbeddingsIntegrationTests,
    RetrieversIntegrationTests,
    ToolsIntegrationTests,
    VectorStoreIntegrationTests,
)
from langchain_tests.unit_tests import ChatModelUnitTests, EmbeddingsUnitTests, ToolsUnitTests

from hocket.embeddings import DeterministicFakeEmbedding
from hocket.interop.langchain import from_langchain, to_langchain
from hocket.interop.langchain.hocket_model import HocketChatModel
from hocket.tools import tool
from hocket.vectorstores import InMemoryVectorStore

from .oracle import Oracle


class _Facts:
    """What the model can do, as the suites ask it."""

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return HocketChatModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"hocket_model": Oracle()}

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def supports_model_override(self) -> bool:
        return True

    @property
    def model_override_value(self) -> str:
        return "oracle-2"

    @property
    def has_tool_choice(self) -> bool:
        return True


class TestUnits(_Facts, ChatModelUnitTests):
    """What a class of models is examined for without a server."""


class TestIntegration(_Facts, ChatModelIntegrationTests):
    """What a model is examined for that answers."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """LangChain runs on asyncio alone."""
        return "asyncio"


class TestVectorStore(VectorStoreIntegrationTests):
    """What a vector store is examined for."""

    @pytest.fixture
    def vectorstore(self) -> Any:
        return to_langchain(InMemoryVectorStore(from_langchain(self.get_embeddings())))

    @pytest.fixture
    def anyio_backend(self) -> str:
        """LangChain runs on asyncio alone."""
        return "asyncio"


def make_retriever(k: int = 4) -> Any:
    """Return a retriever of hocket's in LangChain."""
    store = InMemoryVectorStore.from_texts(["a", "b", "c", "d", "e"], DeterministicFakeEmbedding(size=8))
    return to_langchain(store.as_retriever(search_kwargs={"k": k}))


class TestRetriever(RetrieversIntegrationTests):
    """What a retriever is examined for."""

    @property
    def retriever_constructor(self) -> Any:
        return make_retriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {}

    @property
    def retriever_query_example(self) -> str:
        return "a"

    @pytest.fixture
    def anyio_backend(self) -> str:
        """LangChain runs on asyncio alone."""
        return "asyncio"


class _Embeddings:
    """An embedding model of hocket's in LangChain."""

    @property
    def embeddings_class(self) -> Any:
        return lambda size: to_langchain(DeterministicFakeEmbedding(size=size))

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"size": 8}


class TestEmbeddingUnits(_Embeddings, EmbeddingsUnitTests):
    """What a class of embedding models is examined for."""


class TestEmbeddings(_Embeddings, EmbeddingsIntegrationTests):
    """What an embedding model is examined for."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """LangChain runs on asyncio alone."""
        return "asyncio"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class _Tool:
    """A tool of hocket's in LangChain."""

    @property
    def tool_constructor(self) -> Any:
        return to_langchain(add)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"a": 1, "b": 2}


class TestToolUnits(_Tool, ToolsUnitTests):
    """What a tool is examined for without a call."""


class TestTool(_Tool, ToolsIntegrationTests):
    """What a tool is examined for that is called."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """LangChain runs on asyncio alone."""
        return "asyncio"
