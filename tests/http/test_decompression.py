"""Compressed bodies: however they are cut, all of them is read, nothing else passes, and the cost is linear."""

import gzip
import zlib
from collections.abc import Iterable

import pytest

from hocket.errors import InvalidReply
from hocket.http.decompression import find_decompressor
from tests.kit import assert_linear

TEXT = bytes(range(256)) * 20
LIMIT = 10**6


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def decompress(encoding: str, pieces: Iterable[bytes], limit: int = LIMIT) -> bytes:
    """Decompress a body that comes in pieces."""
    decompressor = find_decompressor({"content-encoding": encoding})
    assert decompressor is not None
    text = b"".join(decompressor.feed(piece, limit) for piece in pieces)
    decompressor.close()
    return text


@pytest.mark.parametrize("size", [1, 2, 3, 17, 5_000, LIMIT])
@pytest.mark.parametrize(
    ("encoding", "body", "text"),
    [
        ("gzip", gzip.compress(TEXT), TEXT),
        (
            "gzip",
            gzip.compress(TEXT) + gzip.compress(b"more") + gzip.compress(b"") + gzip.compress(b"!"),
            TEXT + b"more!",
        ),
        ("deflate", zlib.compress(TEXT), TEXT),
        ("deflate", zlib.compress(TEXT, level=0), TEXT),
        ("deflate", raw_deflate(TEXT), TEXT),
        ("gzip", b"", b""),
        ("deflate", b"", b""),
    ],
)
def test_body_in_pieces(encoding: str, body: bytes, text: bytes, size: int) -> None:
    """Several members are one text (RFC 1952 §2.2); "deflate" is read with its zlib wrapper and without, cut anywhere."""
    assert decompress(encoding, cut(body, size)) == text


@pytest.mark.parametrize("size", [1, 7, LIMIT])
@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(TEXT) + b"rubbish"),
        ("gzip", gzip.compress(TEXT) + bytes(20)),
        ("gzip", gzip.compress(TEXT) + gzip.compress(TEXT)[:-1]),
        ("gzip", gzip.compress(TEXT) + b"\x1f"),
        ("gzip", b"no gzip"),
        ("deflate", zlib.compress(TEXT) + b"rubbish"),
        ("deflate", zlib.compress(TEXT)[:-1]),
        ("deflate", zlib.compress(TEXT)[:-5] + b"wrong"),
        ("deflate", raw_deflate(TEXT) + b"rubbish"),
        ("deflate", b"x"),
    ],
)
def test_what_does_not_belong_there(encoding: str, body: bytes, size: int) -> None:
    """Bytes behind the end, a part that is missing, and what is no such data at all."""
    with pytest.raises(InvalidReply, match=encoding):
        decompress(encoding, cut(body, size))


def test_more_than_the_limit_is_not_made() -> None:
    """One byte over it is enough to know; of many members, too."""
    for body in (gzip.compress(bytes(10**7)), gzip.compress(bytes(100)) * 100_000):
        decompressor = find_decompressor({"content-encoding": "gzip"})
        assert decompressor is not None
        assert len(decompressor.feed(body, 1_000)) == 1_001


def test_cost_is_linear() -> None:
    """Many short members in one piece: what is behind each is not copied again and again."""
    member = gzip.compress(b"x")

    def read(count: int) -> None:
        assert decompress("gzip", [member * count]) == b"x" * count

    assert_linear(read, 40_000)
