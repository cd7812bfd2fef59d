"""Models that run in this process, from a file: no key, no server, no network."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.local.chat_model import ChatLocal
    from hocket.providers.local.embeddings import LocalEmbeddings

__all__ = ["ChatLocal", "LocalEmbeddings"]

__getattr__: Loader = loader(__name__, {"chat_model": "ChatLocal", "embeddings": "LocalEmbeddings"})
