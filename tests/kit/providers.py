"""The providers behind HTTP, each with the format of its scripted server."""

import functools
from collections.abc import Callable
from typing import NamedTuple

from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.bedrock import ChatBedrockConverse
from hocket.providers.cohere import ChatCohere
from hocket.providers.google import ChatGoogleGenerativeAI
from hocket.providers.mistral import ChatMistralAI
from hocket.providers.ollama import ChatOllama
from hocket.providers.openai import ChatOpenAI
from hocket.remote import RemoteChatModel
from hocket.testing import (
    AnthropicFormat,
    BedrockFormat,
    CohereFormat,
    GoogleFormat,
    MistralFormat,
    OllamaFormat,
    OpenAIFormat,
    OpenAIResponsesFormat,
)
from hocket.testing.server import Format

__all__ = ["PROVIDERS", "Provider"]


class Provider(NamedTuple):
    """A provider: its server's format, and a model that asks such a server."""

    format: Format
    make: Callable[..., RemoteChatModel]


PROVIDERS = {
    "openai": Provider(OpenAIFormat(), ChatOpenAI),
    "openai_responses": Provider(OpenAIResponsesFormat(), functools.partial(ChatOpenAI, use_responses_api=True)),
    "anthropic": Provider(AnthropicFormat(), ChatAnthropic),
    "ollama": Provider(OllamaFormat(), ChatOllama),
    "google": Provider(GoogleFormat(), ChatGoogleGenerativeAI),
    "mistral": Provider(MistralFormat(), ChatMistralAI),
    "cohere": Provider(CohereFormat(), ChatCohere),
    "bedrock": Provider(BedrockFormat(), functools.partial(ChatBedrockConverse, region_name="eu-west-1")),
}
