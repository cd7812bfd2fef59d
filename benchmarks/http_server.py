"""A server of chat models that costs next to nothing: ``python -m benchmarks.http_server``, in a process of its own.

It prints its port and serves until its input is closed. The first part of the path says how: ``/now/openai`` answers at
once, ``/slow/openai`` after 20 ms, ``/late/openai`` after half a second. The second is the format (`REPLIES`), and
whatever follows is the API's own path. A stream is sent whole at once, except under ``/paced-30/openai``, which sends 30
tokens, at 50 a second.
"""

import asyncio
import os
import sys

from .replies import REPLIES, Replies

__all__ = ["LATENCY", "PACE"]

PACE = 50
"""Tokens a second in a stream that is not sent at once."""

LATENCY = 0.02
"""Seconds that ``/slow`` takes."""

LATENCIES = {b"slow": LATENCY, b"late": 0.5}

STREAMS = {name: replies.stream for name, replies in REPLIES.items()}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until it is closed."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            body = await reader.readexactly(int(length or 0))
            _, place, name, path = head.partition(b" HTTP")[0].split(b"/", 3)
            way, _, tokens = place.partition(b"-")
            form = name.decode()
            if way in LATENCIES:
                await asyncio.sleep(LATENCIES[way])
            if b"stream" not in path and b'"stream":true' not in body.replace(b" ", b""):
                writer.write(REPLIES[form].whole)
            elif way == b"paced":
                await pace(writer, REPLIES[form], int(tokens))
            else:
                writer.write(STREAMS[form])
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def pace(writer: asyncio.StreamWriter, replies: Replies, tokens: int) -> None:
    """Send a stream token by token, each at its time."""
    loop = asyncio.get_running_loop()
    writer.write(replies.first)
    due = loop.time()
    for _ in range(tokens):
        due += 1 / PACE
        await asyncio.sleep(due - loop.time())
        writer.write(replies.token)
    writer.write(replies.last)


async def main() -> None:
    """Serve until whoever started this closes our input, or dies."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # there is nothing to clean up, and nobody to be told of connections that end here


if __name__ == "__main__":
    asyncio.run(main())
