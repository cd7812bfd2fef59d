"""Streams: what a chunk costs on its way from the hook to the consumer, and as an event for a page."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from .bench import Bench, Case, awaiting, repeating
from .harness import Body, Target
from .library import Library, handler, streaming
from .table import Row

__all__ = ["CASES"]

CHUNKS = 200


def astream(bench: Bench) -> Iterator[Row]:
    """An async stream, read to its end."""
    for what, kinds, limit in (("no handler", [], 0.4), ("1 async handler", ["async"], 0.15)):

        def build(lib: Library, kinds: list[str] = kinds) -> Body:
            model = streaming(lib, CHUNKS)
            config = {"callbacks": [handler(lib, kind) for kind in kinds]} if kinds else None

            async def read() -> None:
                async for _ in model.astream("hi", config=config):
                    pass

            return awaiting(read)

        yield bench.compare(f"astream, {what}, per chunk", build, Target(limit), bare=awaiting(_aread), per=CHUNKS)


def stream(bench: Bench) -> Iterator[Row]:
    """A stream read from synchronous code."""

    def build(lib: Library) -> Body:
        model = streaming(lib, CHUNKS)

        def read() -> None:
            for _ in model.stream("hi"):
                pass

        return repeating(read)

    yield bench.compare("stream, sync hook, per chunk", build, Target(0.5), bare=repeating(_read), per=CHUNKS)


def page_events(bench: Bench) -> Iterator[Row]:
    """A piece of text as an event of each protocol; *bare* is the same event, written by ``json`` for each piece."""
    from hocket.messages import AIMessageChunk
    from hocket.serving.server_sent_events import make_writer

    def write_bare() -> bytes:
        return f"data: {json.dumps({'type': 'text-delta', 'id': 'run-1', 'delta': 'word '})}\n\n".encode()

    for protocol in ("hocket", "vercel", "ag-ui"):

        def build(_: Library, protocol: Any = protocol) -> Body:
            writer, chunk = make_writer(protocol), AIMessageChunk("word ")
            writer.write(AIMessageChunk("word "))  # what begins is written once
            return repeating(lambda: writer.write(chunk))

        what = f"a piece of text as an event, {protocol}"
        yield bench.compare(what, build, Target(1, over="bare"), bare=repeating(write_bare), libraries=["hocket"])


async def _aread() -> None:
    """Read a bare async generator."""

    async def chunks() -> AsyncIterator[str]:
        for _ in range(CHUNKS):
            yield "word "

    async for _ in chunks():
        pass


def _read() -> None:
    """Read a bare generator."""
    for _ in (text for text in ["word "] * CHUNKS):
        pass


CASES: dict[str, Case] = {"astream": astream, "stream": stream, "page_events": page_events}
