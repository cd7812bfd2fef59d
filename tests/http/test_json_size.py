"""JSON that is small as text and large in memory is refused before it is parsed."""

from typing import Any

import pytest

from hocket.errors import InvalidReply
from hocket.http.clients import ClientSettings
from hocket.http.exchange import open_stream, send
from hocket.http.json_lines import JSONLines
from hocket.http.json_size import check_json_size
from hocket.http.sse import ServerSentEvents


def json_of(value: bytes, size: int = 9 * 2**20) -> bytes:
    """Return an array of that many bytes, of nothing but this value."""
    return b"[" + value * (size // len(value)) + b"0]"


@pytest.mark.parametrize("value", [b"{},", b"[],", b'{"a":{}},', b"[[[[]]]],"])
def test_objects_without_end(value: bytes) -> None:
    """Nine megabytes of them would take 220 to 320."""
    with pytest.raises(InvalidReply, match=r"would take some \d+ MB parsed, more than the limit of 256 MB"):
        check_json_size(json_of(value))
    check_json_size(json_of(value, 2**20))
    check_json_size(json_of(value), 256 * 2**20)
    check_json_size(json_of(value), None)


@pytest.mark.parametrize(
    "value",
    [
        b"-0.0123456789,",  # an embedding
        b'"' + b"x" * 10_000 + b'",',
        b'{"token":"abcd","logprob":-0.12345,"bytes":[97,98,99,100],"top_logprobs":[]},',
    ],
)
def test_what_servers_send_passes(value: bytes) -> None:
    check_json_size(json_of(value, 20 * 2**20))


async def test_a_reply_and_an_event_are_checked(serve: Any, settings: ClientSettings) -> None:
    """Whole replies, those of streams that come as one document, and each event of a stream."""
    body = json_of(b"{},")
    server = serve.answering(serve.reply(body))

    with pytest.raises(InvalidReply, match="MB parsed"):
        await send(server.request(), settings)
    stream = await open_stream(server.request(), settings, max_bytes=len(body))
    with pytest.raises(InvalidReply, match="MB parsed"):
        await stream.read()
    await stream.aclose()
    for parser, text in ((ServerSentEvents(), b"data: " + body + b"\n\n"), (JSONLines(), body + b"\n")):
        with pytest.raises(InvalidReply, match="MB parsed"):
            for at in range(0, len(text), 2**18):
                parser.feed(text[at : at + 2**18])
