"""How large an image is, out of the first bytes of its file, and how many tiles of OpenAI's that makes.

The formats are those that models read: PNG, GIF, WebP and JPEG. Nothing is decoded but the header.
"""

import math
import struct

__all__ = ["HEAD", "dimensions", "tiles"]

HEAD = 65_536
"""Bytes of a file that are looked at: a photo's camera data come before its size."""

_SIDE, _SHORT_SIDE, _TILE = 2048, 768, 512  # pixels


def tiles(width: int, height: int) -> int:
    """Return how many tiles of 512 pixels an image is cut into, by OpenAI's rule for high detail.

    It is first made to fit 2048 pixels, then to have no more than 768 on its shorter side; a small one stays as it is.
    """
    scale = min(1, _SIDE / max(width, height))
    scale = min(scale, _SHORT_SIDE / min(width, height))
    across, down = (max(1, math.ceil(round(side * scale) / _TILE)) for side in (width, height))
    return across * down


def dimensions(head: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels, of the image that begins with ``head``; None: they are not there."""
    try:
        found = _dimensions(head)
    except (struct.error, IndexError):
        return None
    return None if found is None or 0 in found else (found[0], found[1])


def _dimensions(head: bytes) -> tuple[int, ...] | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return struct.unpack(">II", head[16:24])
    if head.startswith((b"GIF87a", b"GIF89a")):
        return struct.unpack("<HH", head[6:10])
    if head.startswith(b"\xff\xd8"):
        return _jpeg(head)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp(head)
    return None


def _jpeg(head: bytes) -> tuple[int, ...] | None:
    """Go from segment to segment up to the one that opens a frame (ITU T.81, B.2.2)."""
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return struct.unpack(">HH", head[at + 5 : at + 9])[::-1]
        at += 1 if marker == 0xFF else 2 + struct.unpack(">H", head[at + 2 : at + 4])[0]
    return None


def _webp(head: bytes) -> tuple[int, ...] | None:
    """Read the header of each of the three kinds of WebP (RFC 9649, section 2)."""
    kind = head[12:16] if len(head) >= 30 else b""
    if kind == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None
