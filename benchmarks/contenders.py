"""Who calls a model over HTTP: hocket, LangChain's partner package, the official SDK, and a bare socket without a protocol.

Each has a method for a whole answer, one for a stream and one that closes it; making one is what a program does once, given
the address of the server's format. Nothing is imported before it is made. Who is not installed is no contender.
"""

import asyncio
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from operator import attrgetter
from typing import Any, Protocol

from .official import SDKS

__all__ = ["Bare", "Caller", "Model", "find_callers", "make_caller"]


AWS_KEYS = {
    "region_name": "eu-west-1",
    "aws_access_key_id": "AKID",
    "aws_secret_access_key": "secret",
    "aws_session_token": "token",
}
"""Who asks Bedrock."""


class Caller(Protocol):
    """A contender that is made."""

    async def call(self) -> None:
        """Ask for a whole answer."""

    async def stream(self) -> int:
        """Ask for a stream and read it; return the number of pieces that have a text."""
        ...

    async def aclose(self) -> None:
        """Close its connections."""


class Model:
    """A chat model: hocket's, or a partner package's, which has the same name and the same fields.

    Args:
        url: the address of the server's format.
        package: where the class is.
        name: the class.
        path: what its ``base_url`` has behind ``url``.
        fields: its further fields.
        close: its method that closes its connections; "": it has none.
    """

    def __init__(
        self, url: str, package: str, name: str, path: str, fields: Mapping[str, Any], close: str = "aclose"
    ) -> None:
        kind: Any = getattr(importlib.import_module(package), name)
        self._model = kind(model="m", base_url=url + path, **fields)
        self._close: Any = attrgetter(close)(self._model) if close else None

    async def call(self) -> None:
        """Ask for a whole answer."""
        assert (await self._model.ainvoke("hi")).text == "hello"

    async def stream(self) -> int:
        """Ask for a stream and read it; return the number of pieces that have a text."""
        count = 0
        async for piece in self._model.astream("hi"):
            count += bool(piece.content)
        return count

    async def aclose(self) -> None:
        """Close its connections, where the package has a way to."""
        if self._close is not None:
            await self._close()


class Bare:
    """asyncio's streams, a request that is made once, and a reply that nobody parses: the least it can cost."""

    def __init__(self, url: str) -> None:
        self._address = url.split("/")[2].split(":")
        self._path = "/" + url.split("/", 3)[3] + "/v1/chat/completions"
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def call(self) -> None:
        """Ask for a whole answer."""
        assert b"hello" in await self._ask(b"}", stream=False)

    async def stream(self) -> int:
        """Ask for a stream and read it; return the number of tokens."""
        return (await self._ask(b"\r\n0\r\n\r\n", stream=True)).count(b"word ")

    async def aclose(self) -> None:
        """Close its connections."""
        while self._idle:
            self._idle.pop()[1].close()

    async def _ask(self, end: bytes, *, stream: bool) -> bytes:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": stream})
        head = f"POST {self._path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        reader, writer = self._idle.pop() if self._idle else await asyncio.open_connection(*self._address)
        writer.write((head + body).encode())
        parts = [await reader.read(1 << 18)]
        while not parts[-1].endswith(end):
            parts.append(await reader.read(1 << 18))
        self._idle.append((reader, writer))
        return b"".join(parts)


@dataclass(frozen=True)
class _Names:
    """What a chat model is called, in hocket and in its partner package.

    Args:
        room: of ``hocket.providers``.
        name: of the class, in both.
        package: LangChain's; None: it cannot be compared.
        path: what its ``base_url`` has behind the address of the server's format.
        fields: its further fields.
        close: the partner package's way to close its connections; "": none.
    """

    room: str
    name: str
    package: str | None
    path: str = ""
    fields: Mapping[str, Any] = field(default_factory=lambda: {"api_key": "k"})
    close: str = ""


_MODELS: dict[str, _Names] = {
    "openai": _Names("openai", "ChatOpenAI", "langchain_openai", "/v1", close="root_async_client.close"),
    "responses": _Names(
        *("openai", "ChatOpenAI", "langchain_openai", "/v1"),
        fields={"api_key": "k", "use_responses_api": True},
        close="root_async_client.close",
    ),
    "anthropic": _Names("anthropic", "ChatAnthropic", "langchain_anthropic", close="_async_client.close"),
    "google": _Names(
        "google", "ChatGoogleGenerativeAI", None
    ),  # langchain-google-genai 3 speaks gRPC, 4 wants an older SDK
    "mistral": _Names("mistral", "ChatMistralAI", "langchain_mistralai", "/v1", close="async_client.aclose"),
    "cohere": _Names("cohere", "ChatCohere", "langchain_cohere"),
    "ollama": _Names("ollama", "ChatOllama", "langchain_ollama", fields={}),
    "bedrock": _Names("bedrock", "ChatBedrockConverse", "langchain_aws", fields=AWS_KEYS),
}


def find_callers(name: str) -> dict[str, Callable[[str], Caller]]:
    """Return what makes the contenders that are installed, by their names.

    Args:
        name: of the format, as in `REPLIES`.
    """
    packages = {"langchain": _MODELS[name].package, "peer": SDKS[name][0]}
    found = ["hocket", *(who for who, package in packages.items() if _is_installed(package))]
    return {who: partial(make_caller, name, who) for who in [*found, *(["bare"] if name == "openai" else [])]}


def make_caller(name: str, who: str, url: str) -> Caller:
    """Make a contender: of the format ``name``, called ``who``, for the server at ``url``."""
    if who == "bare":
        return Bare(url)
    if who == "peer":
        return SDKS[name][1](url)
    names = _MODELS[name]
    package, close = (f"hocket.providers.{names.room}", "aclose")
    if who == "langchain":
        package, close = names.package or "", names.close
    return Model(url, package, names.name, names.path, names.fields, close)


def _is_installed(package: str | None) -> bool:
    if package is None:
        return False
    parent = package.partition(".")[0]
    return find_spec(parent) is not None and find_spec(package) is not None
