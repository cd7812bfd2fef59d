"""Cohere's API, version 2: chat, embeddings and reranking."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.cohere.chat_model import ChatCohere
    from hocket.providers.cohere.embeddings import CohereEmbeddings
    from hocket.providers.cohere.rerank import CohereRerank

_HOMES = {
    "chat_model": "ChatCohere",
    "embeddings": "CohereEmbeddings",
    "rerank": "CohereRerank",
}

__all__ = ["ChatCohere", "CohereEmbeddings", "CohereRerank"]

__getattr__: Loader = loader(__name__, _HOMES)
