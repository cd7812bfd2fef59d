"""The providers with batch endpoints, each with its scripted server."""

from typing import Any

from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.google import ChatGoogleGenerativeAI
from hocket.providers.mistral import ChatMistralAI
from hocket.providers.openai import ChatOpenAI
from hocket.remote import RemoteChatModel
from hocket.testing import AnthropicFormat, GoogleFormat, MistralFormat, OpenAIFormat, OpenAIResponsesFormat
from tests.kit.batches import Provider


def make(cls: type[RemoteChatModel], model: str, **own: Any) -> Any:
    """Return what makes a model of a server."""
    return lambda url, **fields: cls(**{"model": model, "base_url": url, "api_key": "key", **own, **fields})


def read_content(message: Any) -> str:
    content = message["content"]
    return content if isinstance(content, str) else content[0]["text"]


PROVIDERS = [
    Provider("openai", OpenAIFormat, make(ChatOpenAI, "gpt-5.2"), lambda body: read_content(body["messages"][-1])),
    Provider(
        "responses",
        OpenAIResponsesFormat,
        make(ChatOpenAI, "gpt-5.2", use_responses_api=True),
        lambda body: read_content(body["input"][-1]) if isinstance(body["input"], list) else body["input"],
    ),
    Provider(
        "anthropic",
        AnthropicFormat,
        make(ChatAnthropic, "claude-sonnet-4-5"),
        lambda body: read_content(body["messages"][-1]),
    ),
    Provider(
        "google",
        GoogleFormat,
        make(ChatGoogleGenerativeAI, "gemini-2.5-flash"),
        lambda body: body["contents"][-1]["parts"][0]["text"],
    ),
    Provider(
        "mistral",
        MistralFormat,
        make(ChatMistralAI, "mistral-large-latest"),
        lambda body: read_content(body["messages"][-1]),
    ),
]
