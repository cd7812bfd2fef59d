"""Amazon Bedrock's Converse API."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.bedrock.chat_model import ChatBedrockConverse

_HOMES = {"chat_model": "ChatBedrockConverse"}

__all__ = ["ChatBedrockConverse"]

__getattr__: Loader = loader(__name__, _HOMES)
