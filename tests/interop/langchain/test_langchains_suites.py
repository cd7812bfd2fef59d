"""LangChain's own suites for chat models and vector stores, with hocket's in LangChain."""

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel

pytest.importorskip("langchain_tests", reason="scripts/interop installs LangChain's suites")

from langchain_tests.integration_tests import ChatModelIntegrationTests, VectorStoreIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from hocket.interop.langchain import from_langchain, to_langchain
from hocket.interop.langchain.hocket_model import HocketChatModel
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
