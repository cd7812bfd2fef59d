"""Google's Gemini API."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.google.chat_model import ChatGoogleGenerativeAI
    from hocket.providers.google.embeddings import GoogleGenerativeAIEmbeddings
    from hocket.providers.google.vertex import ChatVertexAI
    from hocket.providers.google.vertex_embeddings import VertexAIEmbeddings

_HOMES = {
    "chat_model": "ChatGoogleGenerativeAI",
    "embeddings": "GoogleGenerativeAIEmbeddings",
    "vertex": "ChatVertexAI",
    "vertex_embeddings": "VertexAIEmbeddings",
}

__all__ = ["ChatGoogleGenerativeAI", "ChatVertexAI", "GoogleGenerativeAIEmbeddings", "VertexAIEmbeddings"]

__getattr__: Loader = loader(__name__, _HOMES)
