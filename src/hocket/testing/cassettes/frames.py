"""Event streams of AWS's in a cassette: a message has lengths and a checksum, so that no byte of it changes by itself."""

from collections.abc import Callable, Sequence

from hocket.errors import InvalidReply
from hocket.http.event_stream import AWSEventStream, write_stream_message

__all__ = ["list_payloads", "mask_frames"]

Mask = Callable[[Sequence[bytes]], list[bytes]]

_HIGHEST = b"\x01"  # first byte of such a stream: a message begins with its length, of less than 2**25 bytes


def mask_frames(pieces: Sequence[bytes], mask: Mask) -> list[bytes] | None:
    """Return as many pieces of an event stream without secrets, each message in that in which it ended.

    Args:
        pieces: of a body.
        mask: takes secrets out of texts that follow one another.

    Returns:
        None: it is no such stream, or a secret stands beside the payloads.
    """
    if next(filter(None, pieces), b"")[:1] > _HIGHEST:
        return None
    parser = AWSEventStream()
    try:
        split = [parser.split(piece) for piece in pieces]
    except InvalidReply:
        return None
    heads = [headers for messages in split for headers, _ in messages]
    if not heads or mask(heads) != heads:
        return None
    masked = iter(mask([payload + b"\n" for messages in split for _, payload in messages]))
    framed = [
        b"".join([write_stream_message(headers, next(masked).removesuffix(b"\n")) for headers, _ in messages])
        for messages in split
    ]
    whole = sum(len(write_stream_message(*message)) for messages in split for message in messages)
    framed[-1] += b"".join(mask([b"".join(pieces)[whole:]]))  # a message that was cut
    return framed


def list_payloads(body: bytes) -> list[bytes]:
    """Return the payloads of an event stream; none: it is no such stream."""
    try:
        return [payload for _, payload in AWSEventStream().split(body)]
    except InvalidReply:
        return []
