"""Google's Gemini API."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.google.chat_model import ChatGoogleGenerativeAI
    from hocket.providers.google.embeddings import GoogleGenerativeAIEmbeddings

_HOMES = {
    "chat_model": "ChatGoogleGenerativeAI",
    "embeddings": "GoogleGenerativeAIEmbeddings",
}

__all__ = ["ChatGoogleGenerativeAI", "GoogleGenerativeAIEmbeddings"]

__getattr__: Loader = loader(__name__, _HOMES)
