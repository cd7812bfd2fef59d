"""The official SDKs, with no model class above them: a client each, made by a function of the server's address."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

__all__ = ["SDKS", "Client", "make_aws_client"]

_MESSAGES: list[Any] = [{"role": "user", "content": "hi"}]


@dataclass(frozen=True)
class Client:
    """An SDK's client, and how it is asked.

    Args:
        ask: asks for a whole answer.
        open: asks for a stream.
        text: returns the text of an answer.
        piece: returns the text of an event; None, or "": it has none.
        aclose: closes its connections.
    """

    ask: Callable[[], Awaitable[Any]]
    open: Callable[[], Awaitable[AsyncIterator[Any]]]
    text: Callable[[Any], object]
    piece: Callable[[Any], object]
    aclose: Callable[[], Coroutine[Any, Any, None]]

    async def call(self) -> None:
        """Ask for a whole answer."""
        assert self.text(await self.ask()) == "hello"

    async def stream(self) -> int:
        """Ask for a stream and read it; return the number of pieces that have a text."""
        count, piece = 0, self.piece
        async for event in await self.open():
            count += bool(piece(event))
        return count


def _openai(url: str) -> Client:
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(base_url=f"{url}/v1", api_key="k")
    ask = partial(client.chat.completions.create, model="m", messages=_MESSAGES)
    return Client(
        ask,
        partial(ask, stream=True),
        lambda reply: reply.choices[0].message.content,
        lambda event: event.choices[0].delta.content,
        client.close,
    )


def _responses(url: str) -> Client:
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(base_url=f"{url}/v1", api_key="k")
    ask = partial(client.responses.create, model="m", input="hi")
    return Client(
        ask,
        partial(ask, stream=True),
        lambda reply: reply.output_text,
        lambda event: event.type == "response.output_text.delta" and event.delta,
        client.close,
    )


def _anthropic(url: str) -> Client:
    from anthropic import AsyncAnthropic

    client: Any = AsyncAnthropic(base_url=url, api_key="k")
    ask = partial(client.messages.create, model="m", max_tokens=1024, messages=_MESSAGES)
    return Client(
        ask,
        partial(ask, stream=True),
        lambda reply: reply.content[0].text,
        lambda event: event.type == "content_block_delta" and event.delta.text,
        client.close,
    )


def _google(url: str) -> Client:
    from google.genai import Client as GoogleClient

    client: Any = GoogleClient(api_key="k", http_options={"base_url": url}).aio
    question = {"model": "m", "contents": "hi"}
    return Client(
        partial(client.models.generate_content, **question),
        partial(client.models.generate_content_stream, **question),
        lambda reply: reply.text,
        lambda event: event.text,
        client.aclose,
    )


def _mistral(url: str) -> Client:
    from mistralai.client import Mistral

    client: Any = Mistral(api_key="k", server_url=url)
    question: Any = {"model": "m", "messages": _MESSAGES}
    return Client(
        partial(client.chat.complete_async, **question),
        partial(client.chat.stream_async, **question),
        lambda reply: reply.choices[0].message.content,
        lambda event: event.data.choices[0].delta.content,
        partial(client.__aexit__, None, None, None),
    )


def _cohere(url: str) -> Client:
    from cohere import AsyncClientV2

    client: Any = AsyncClientV2(api_key="k", base_url=url)
    question: Any = {"model": "m", "messages": _MESSAGES}

    async def open_stream() -> AsyncIterator[Any]:
        events: AsyncIterator[Any] = client.chat_stream(**question)
        return events

    return Client(
        partial(client.chat, **question),
        open_stream,
        lambda reply: reply.message.content[0].text,
        lambda event: event.type == "content-delta" and event.delta.message.content.text,
        partial(client.__aexit__, None, None, None),
    )


def _ollama(url: str) -> Client:
    from ollama import AsyncClient

    client: Any = AsyncClient(host=url)
    ask = partial(client.chat, model="m", messages=_MESSAGES)
    return Client(
        ask,
        partial(ask, stream=True),
        lambda reply: reply.message.content,
        lambda event: event.message.content,
        client._client.aclose,
    )


def make_aws_client(url: str) -> Any:
    """Return botocore's client of Bedrock, for a server at ``url``, as large as 128 threads want it."""
    from botocore.config import Config
    from botocore.session import Session

    session: Any = Session()
    session.set_credentials("AKID", "secret", "token")
    config = Config(retries={"max_attempts": 0}, max_pool_connections=200)
    return session.create_client("bedrock-runtime", region_name="eu-west-1", endpoint_url=url, config=config)


def _bedrock(url: str) -> Client:
    """It knows no event loop, and is called in its thread: that costs least."""
    client = make_aws_client(url)
    question: Any = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}

    async def ask() -> Any:
        return client.converse(**question)

    async def read(events: Iterator[Any]) -> AsyncIterator[Any]:
        for event in events:
            yield event

    async def open_stream() -> AsyncIterator[Any]:
        return read(client.converse_stream(**question)["stream"])

    async def close() -> None:
        client.close()

    return Client(
        ask,
        open_stream,
        lambda reply: reply["output"]["message"]["content"][0]["text"],
        lambda event: event.get("contentBlockDelta", {}).get("delta", {}).get("text"),
        close,
    )


SDKS: dict[str, tuple[str, Callable[[str], Client]]] = {
    "openai": ("openai", _openai),
    "responses": ("openai", _responses),
    "anthropic": ("anthropic", _anthropic),
    "google": ("google.genai", _google),
    "mistral": ("mistralai.client", _mistral),
    "cohere": ("cohere", _cohere),
    "ollama": ("ollama", _ollama),
    "bedrock": ("botocore", _bedrock),
}
"""The package and what makes its client, by the format's name."""
