"""Anthropic's messages API."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.providers.anthropic.bedrock import ChatAnthropicBedrock
    from hocket.providers.anthropic.chat_model import ChatAnthropic
    from hocket.providers.anthropic.vertex import ChatAnthropicVertex

_HOMES = {"bedrock": "ChatAnthropicBedrock", "chat_model": "ChatAnthropic", "vertex": "ChatAnthropicVertex"}

__all__ = ["ChatAnthropic", "ChatAnthropicBedrock", "ChatAnthropicVertex"]

__getattr__: Loader = loader(__name__, _HOMES)
