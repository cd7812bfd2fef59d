"""Who calls a model over HTTP: hocket, langchain-openai, OpenAI's own client, and a bare socket that knows no protocol.

Each is a class with a method for a whole answer, one for a stream and one that closes it; making one is what a program
does once.
"""

import asyncio
import json
from typing import Any

__all__ = ["CALLERS", "Bare", "Hocket", "LangChain", "OpenAI"]


class Hocket:
    """hocket's ChatOpenAI."""

    def __init__(self, url: str) -> None:
        from hocket.providers.openai import ChatOpenAI

        self._model = ChatOpenAI(model="m", base_url=url, api_key="k")

    async def call(self) -> None:
        """Ask for a whole answer."""
        assert (await self._model.ainvoke("hi")).content == "hello"

    async def stream(self) -> int:
        """Ask for a stream and read it; return the number of tokens."""
        count = 0
        async for piece in self._model.astream("hi"):
            count += piece.content == "word "
        return count

    async def aclose(self) -> None:
        """Close its connections."""
        await self._model.aclose()


class LangChain(Hocket):
    """langchain-openai's ChatOpenAI."""

    def __init__(self, url: str) -> None:
        from langchain_openai import ChatOpenAI

        self._model: Any = ChatOpenAI(model="m", base_url=url, api_key="k")

    async def aclose(self) -> None:
        """Close its connections."""
        await self._model.root_async_client.close()


class OpenAI:
    """OpenAI's own client, with no model class above it."""

    def __init__(self, url: str) -> None:
        from openai import AsyncOpenAI

        client: Any = AsyncOpenAI(base_url=url, api_key="k")
        self._ask = client.chat.completions.create
        self.aclose = client.close
        self._question: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}

    async def call(self) -> None:
        """Ask for a whole answer."""
        assert (await self._ask(**self._question)).choices[0].message.content == "hello"

    async def stream(self) -> int:
        """Ask for a stream and read it; return the number of tokens."""
        count = 0
        async for piece in await self._ask(**self._question, stream=True):
            count += piece.choices[0].delta.content == "word "
        return count


class Bare:
    """asyncio's streams, a request that is made once, and a reply that nobody parses: the least it can cost."""

    def __init__(self, url: str) -> None:
        self._address = url.split("/")[2].split(":")
        self._path = "/" + url.split("/", 3)[3] + "/chat/completions"
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


CALLERS: dict[str, Any] = {"hocket": Hocket, "langchain": LangChain, "openai": OpenAI, "bare": Bare}
