"""Amazon Bedrock: its Converse API, and its embedding models."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.bedrock.chat_model import ChatBedrockConverse
    from hocket.providers.bedrock.embeddings import BedrockEmbeddings

_HOMES = {"chat_model": "ChatBedrockConverse", "embeddings": "BedrockEmbeddings"}

__all__ = ["BedrockEmbeddings", "ChatBedrockConverse"]

__getattr__: Loader = loader(__name__, _HOMES)
