"""What an image, a recording or a file costs in tokens: by its kind and its size, never by the length of its base64.

A model does not read base64. LangChain 1.7 counts it as text wherever it does not know the block, and takes a photo of
400 kB for 100,000 tokens (issue #40744). Nothing is downloaded here: what lies behind a URL or in a provider's file store
counts as something of ordinary size. All of these numbers are approximations.

Sources: OpenAI's documentation for images (85 tokens, and 170 a tile where the size is known and the detail is not low);
Gemini's for sound (32 tokens a second) and film (258 tokens a frame, one frame a second);
Anthropic's for documents (1,500 to 3,000 tokens a page). How many bytes make a second or a page is a usual value.

How large an image is, is read out of the first bytes of its file. The formats are those that models read: PNG, GIF, WebP
and JPEG. Nothing is decoded but the header.
"""

import base64
import math
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from hocket.messages.formats.blocks import text_at
from hocket.tokens.scripts import weight

__all__ = ["CALLS", "CHARACTERS", "HEAD", "Weighed", "beside_text", "dimensions", "tiles", "weigh_block"]

CHARACTERS = 4.0
"""Latin characters that make a token, by rule of thumb."""

_IMAGE, _TILE = 85, 170  # tokens: what OpenAI takes for an image, and for each tile of it in high detail

CALLS = frozenset({"tool_use", "tool_call", "function_call"})
"""Types of blocks that say what a reply's ``tool_calls`` say."""

_KINDS = {
    **dict.fromkeys(("image", "image_url", "input_image"), "image"),
    **dict.fromkeys(("audio", "input_audio"), "audio"),
    **dict.fromkeys(("video", "video_url", "input_video"), "video"),
    **dict.fromkeys(("file", "input_file", "document", "text-plain"), "file"),
}
_UNTYPED = frozenset(  # Gemini's and Bedrock's, which say by a key what they are
    {"inlineData", "inline_data", "fileData", "file_data", "image", "audio", "video", "document"}
)
_TEXTS = frozenset({"text", "input_text", "output_text"})
_SAID = CALLS | {"text"}
_MIME = frozenset({"mime_type", "mimeType", "media_type", "format"})
_DATA = frozenset({"base64", "data", "file_data", "bytes"})

_SECOND = {"wav": 48_000, "pcm": 48_000, "pcm16": 48_000, "flac": 30_000, "ogg": 8_000, "opus": 4_000}  # bytes
_MP3_SECOND = 16_000  # 128 kbit/s; what sound of any other format is taken for
_FILM_SECOND = 250_000  # 2 Mbit/s
_PAGE = 50_000  # bytes
_SOUND, _FILM, _READ = 32, 290, 1_500  # tokens for a second of sound, a second of film with sound, a page
_UNSEEN = {"audio": 60 * _SOUND, "video": 60 * _FILM, "file": _READ}  # of unknown size: a minute, a page

_ENCODED = re.compile(r"(?:data:[^,]{0,200},)?[A-Za-z0-9+/_=\r\n-]*")
_URL_SAFE = str.maketrans("-_", "+/")
_LONG = 200  # characters without a space, from which on a value is taken for data: no word is as long


class Weighed(NamedTuple):
    """A block of content: how many Latin characters its text weighs, and its tokens beside; images want a price yet."""

    characters: float
    tokens: float
    images: int


def weigh_block(block: Mapping[str, Any]) -> Weighed:
    """Weigh a block of any provider's. What is neither text nor media weighs what Python prints of it (LangChain's rule)."""
    if text_at(block, "type") in _TEXTS:
        return Weighed(weight(text_at(block, "text") or ""), 0, 0)
    media = _Media()
    rest = media.taken_out(block)
    return Weighed(media.characters + (0 if rest is None else weight(repr(rest))), media.tokens, media.images)


def beside_text(content: str | Sequence[str | Mapping[str, Any]]) -> float:
    """Return about how many tokens a message's content has that are neither its text nor its tool calls."""
    if isinstance(content, str):
        return 0
    others = [block for block in content if not isinstance(block, str) and text_at(block, "type") not in _SAID]
    weighed = map(weigh_block, others)
    return sum(one.characters / CHARACTERS + one.tokens + one.images * _IMAGE for one in weighed)


class _Media:
    """The media of a block, at any depth: the result of a tool may hold images."""

    def __init__(self) -> None:
        self.characters: float = 0
        self.tokens: float = 0
        self.images = 0

    def taken_out(self, value: Any) -> Any:
        """Return a copy of ``value`` with None in place of media and of other data, and add up the media."""
        if isinstance(value, Mapping):
            block = cast("Mapping[str, Any]", value)
            kind = _kind(block)
            if kind is None:
                return {key: self.taken_out(item) for key, item in block.items()}
            self._add(kind, block)
            return None
        if isinstance(value, list | tuple):
            return [self.taken_out(item) for item in cast("Sequence[Any]", value)]
        return None if _is_data(value) else value

    def _add(self, kind: str, block: Mapping[str, Any]) -> None:
        source = _source(block)
        major, _, minor = source.format.rpartition("/")
        if kind == "file" and major in ("image", "audio", "video"):
            kind = major
        if kind == "image":
            self.images += 1
            size = None if source.in_low_detail else dimensions(source.head)
            self.tokens += 0 if size is None else _TILE * tiles(*size)
        elif source.text is not None:
            self.characters += weight(source.text)
        elif source.size is None:
            self.tokens += _UNSEEN[kind]
        elif kind == "audio":
            self.tokens += source.size / _SECOND.get(minor.removeprefix("x-"), _MP3_SECOND) * _SOUND
        elif kind == "video":
            self.tokens += source.size / _FILM_SECOND * _FILM
        elif major == "text" or minor in ("json", "txt", "md", "csv", "html"):
            self.characters += source.size
        else:
            self.tokens += max(1, source.size / _PAGE) * _READ


def _kind(block: Mapping[str, Any]) -> str | None:
    """Return the kind of media that a block is, or None."""
    kind = text_at(block, "type")
    if kind is None and len(block) == 1 and not _UNTYPED.isdisjoint(block):
        return next((_KINDS[key] for key in block if key in _KINDS), "file")
    if kind == "media":
        return "file"
    source = block.get("source")
    if kind == "document" and isinstance(source, Mapping) and "content" in source:  # made of blocks itself
        return None
    return None if kind is None else _KINDS.get(kind)


class _Source:
    """Where a block has its data: its size in bytes and how it begins, or the text that it is; neither, if elsewhere."""

    def __init__(self) -> None:
        self.size: int | None = None
        self.text: str | None = None
        self.format = ""
        self.in_low_detail = False
        self._data: str | bytes = b""

    def take(self, data: str | bytes) -> None:
        self._data = data
        self.size = len(data) * 3 // 4 if isinstance(data, str) else len(data)

    @property
    def head(self) -> bytes:
        """The first bytes of the data."""
        if not isinstance(self._data, str):
            return self._data[:HEAD]
        try:
            return base64.b64decode(self._data[: HEAD * 4 // 3].translate(_URL_SAFE) + "==")
        except ValueError:
            return b""


def _source(block: Mapping[str, Any], found: _Source | None = None) -> _Source:
    found = found or _Source()
    for key, value in block.items():
        if isinstance(value, Mapping):
            _source(cast("Mapping[str, Any]", value), found)
        elif isinstance(value, bytes | bytearray):
            found.take(bytes(value))
        elif not isinstance(value, str):
            continue
        elif key in _MIME:
            found.format = value
        elif key == "text" or (key == "data" and block.get("type") == "text"):
            found.text = value
        elif key == "detail":
            found.in_low_detail = value == "low"
        elif value.startswith("data:"):
            head, _, data = value.partition(",")
            found.take(data)
            found.format = found.format or head[5:].partition(";")[0]
        elif key in _DATA:
            found.take(value)
    return found


def _is_data(value: Any) -> bool:
    """Whether a value is data and no text: bytes, or base64."""
    if isinstance(value, str):
        return len(value) >= _LONG and _ENCODED.fullmatch(value) is not None
    return isinstance(value, bytes | bytearray)


HEAD = 65_536
"""Bytes of a file that are looked at: a photo's camera data come before its size."""

_SIDE, _SHORT_SIDE, _TILE_SIDE = 2048, 768, 512  # pixels


def tiles(width: int, height: int) -> int:
    """Return how many tiles of 512 pixels an image is cut into, by OpenAI's rule for high detail.

    It is first made to fit 2048 pixels, then to have no more than 768 on its shorter side; a small one stays as it is.
    """
    scale = min(1, _SIDE / max(width, height))
    scale = min(scale, _SHORT_SIDE / min(width, height))
    across, down = (max(1, math.ceil(round(side * scale) / _TILE_SIDE)) for side in (width, height))
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
