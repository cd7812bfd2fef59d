"""A chat-completions server that costs next to nothing: ``python -m benchmarks.http_server``, in a process of its own.

It prints its port and serves until its input is closed. The first part of the path says how: ``/now/v1`` answers at
once, ``/slow/v1`` after 20 ms. A stream is sent whole at once, except under ``/paced-30/v1``, which sends 30 tokens, at
50 a second. Every event of a stream is an HTTP chunk of its own, as providers send them.
"""

import asyncio
import os
import sys

__all__ = ["CHUNKS", "LATENCY", "PACE"]

CHUNKS = 200
"""Tokens in a stream that is sent at once."""

PACE = 50
"""Tokens a second in one that is not."""

LATENCY = 0.02
"""Seconds that ``/slow`` takes."""

HEAD = '"id":"chatcmpl-123","created":1700000000,"model":"m","system_fingerprint":null'
REPLY = (
    "{" + HEAD + ',"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello",'
    '"refusal":null},"logprobs":null,"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":8,"completion_tokens":2,"total_tokens":10}}'
).encode()
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(REPLY), REPLY)
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(text: str) -> bytes:
    """Return one event as an HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(text) + 8, f"data: {text}\n\n".encode())


def event(delta: str, finish: str = "null") -> bytes:
    """Return one event of a stream."""
    choice = '{"index":0,"delta":{' + delta + '},"logprobs":null,"finish_reason":' + finish + "}"
    return chunk("{" + HEAD + ',"object":"chat.completion.chunk","choices":[' + choice + "]}")


FIRST = event('"role":"assistant","content":""')
TOKEN = event('"content":"word "')
LAST = event("", '"stop"') + chunk("[DONE]") + b"0\r\n\r\n"
AT_ONCE = STREAM + FIRST + TOKEN * CHUNKS + LAST


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until it is closed."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            body = await reader.readexactly(int(length or 0))
            way, _, tokens = head.split(b"/", 2)[1].partition(b"-")
            if way == b"slow":
                await asyncio.sleep(LATENCY)
            if b'"stream":true' not in body.replace(b" ", b""):
                writer.write(WHOLE)
            elif way == b"paced":
                await pace(writer, int(tokens))
            else:
                writer.write(AT_ONCE)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def pace(writer: asyncio.StreamWriter, tokens: int) -> None:
    """Send a stream token by token, each at its time."""
    loop = asyncio.get_running_loop()
    writer.write(STREAM + FIRST)
    due = loop.time()
    for _ in range(tokens):
        due += 1 / PACE
        await asyncio.sleep(due - loop.time())
        writer.write(TOKEN)
    writer.write(LAST)


async def main() -> None:
    """Serve until whoever started this closes our input, or dies."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)  # there is nothing to clean up, and nobody to be told of connections that end here


if __name__ == "__main__":
    asyncio.run(main())
