"""Mistral's API: chat and embeddings."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.mistral.chat_model import ChatMistralAI
    from hocket.providers.mistral.embeddings import MistralAIEmbeddings

_HOMES = {"chat_model": "ChatMistralAI", "embeddings": "MistralAIEmbeddings"}

__all__ = ["ChatMistralAI", "MistralAIEmbeddings"]

__getattr__: Loader = loader(__name__, _HOMES)
