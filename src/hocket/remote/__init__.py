"""What every provider behind HTTP shares: an address and its key, replies and streams, and the models made of them."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket._secrets import Secret
from hocket.remote.endpoint import Endpoint
from hocket.remote.model_name import ModelName
from hocket.remote.service import RemoteService
from hocket.remote.stream_decoder import StreamDecoder

if TYPE_CHECKING:
    from hocket.remote.chat_model import RemoteChatModel
    from hocket.remote.embeddings import EmbeddingResult, RemoteEmbeddings
    from hocket.remote.environment import (
        convert_to_secret_str,
        from_env,
        get_from_dict_or_env,
        get_from_env,
        pre_init,
        secret_from_env,
    )
    from hocket.remote.llm import RemoteLLM
    from hocket.remote.reply import excerpt_reply as excerpt_reply, normalize_finish, read_headers, read_reply
    from hocket.remote.usage import count_of, counts_at, make_usage

_HOMES = {
    "chat_model": "RemoteChatModel",
    "embeddings": "EmbeddingResult RemoteEmbeddings",
    "environment": "convert_to_secret_str from_env get_from_dict_or_env get_from_env pre_init secret_from_env",
    "llm": "RemoteLLM",
    "reply": "excerpt_reply normalize_finish read_headers read_reply",
    "usage": "count_of counts_at make_usage",
}

__all__ = [
    "EmbeddingResult",
    "Endpoint",
    "ModelName",
    "RemoteChatModel",
    "RemoteEmbeddings",
    "RemoteLLM",
    "RemoteService",
    "Secret",
    "StreamDecoder",
    "convert_to_secret_str",
    "count_of",
    "counts_at",
    "from_env",
    "get_from_dict_or_env",
    "get_from_env",
    "make_usage",
    "normalize_finish",
    "pre_init",
    "read_headers",
    "read_reply",
    "secret_from_env",
]

__getattr__: Loader = loader(__name__, _HOMES)
