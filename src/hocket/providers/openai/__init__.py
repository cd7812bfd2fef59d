"""OpenAI, and every server that speaks its formats. A class is loaded when it is first asked for."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.openai.chat_model import ChatOpenAI
    from hocket.providers.openai.completions import OpenAI
    from hocket.providers.openai.embeddings import OpenAIEmbeddings

_HOMES = {
    "chat_model": "ChatOpenAI",
    "completions": "OpenAI",
    "embeddings": "OpenAIEmbeddings",
}

__all__ = ["ChatOpenAI", "OpenAI", "OpenAIEmbeddings"]

__getattr__: Loader = loader(__name__, _HOMES)
