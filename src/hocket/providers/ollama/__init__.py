"""Ollama's own API."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.ollama.chat_model import ChatOllama
    from hocket.providers.ollama.embeddings import OllamaEmbeddings

_HOMES = {"chat_model": "ChatOllama", "embeddings": "OllamaEmbeddings"}

__all__ = ["ChatOllama", "OllamaEmbeddings"]

__getattr__: Loader = loader(__name__, _HOMES)
