"""What every provider behind HTTP shares: an address and its key, replies and streams, and the models made of them."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import loader
from hocket.remote.service import RemoteService
from hocket.remote.stream_decoder import StreamDecoder

if TYPE_CHECKING:
    from hocket.remote.chat_model import RemoteChatModel
    from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
    from hocket.remote.llm import RemoteLLM

_HOMES = {
    "EmbeddingResult": "embeddings",
    "RemoteChatModel": "chat_model",
    "RemoteEmbeddings": "embeddings",
    "RemoteLLM": "llm",
}

__all__ = ["EmbeddingResult", "RemoteChatModel", "RemoteEmbeddings", "RemoteLLM", "RemoteService", "StreamDecoder"]

__getattr__ = loader(__name__, _HOMES)
