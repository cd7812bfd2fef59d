"""A chat model that answers in this process, from a GGUF file: no key, no server, no network."""

from hocket.providers.local.chat_model import ChatLocal

__all__ = ["ChatLocal"]
