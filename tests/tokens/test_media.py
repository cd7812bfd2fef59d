"""Images, recordings and files: by kind and size, and never by the length of their base64."""

import base64
import struct
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.messages import HumanMessage, count_tokens_approximately
from hocket.tokens.media import dimensions, tiles

DATA = "QUJD" * 100_000  # 300 kB
URL = "data:{};base64," + DATA


def cost(block: dict[str, Any]) -> int:
    """Return what a block costs beside the message that it is in."""
    return count_tokens_approximately([HumanMessage([block])]) - count_tokens_approximately([HumanMessage("")])


def png(width: int, height: int) -> bytes:
    """Return the beginning of a PNG of that size."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 2, 0, 0, 0)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "image", "base64": DATA, "mime_type": "image/png"}, 85),
        ({"type": "image", "url": "https://example.org/cat.png"}, 85),
        ({"type": "image_url", "image_url": {"url": URL.format("image/png")}}, 85),
        ({"type": "input_image", "image_url": URL.format("image/jpeg")}, 85),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}, 85),
        ({"type": "media", "mime_type": "image/png", "data": DATA}, 85),
        ({"inline_data": {"mime_type": "image/png", "data": DATA}}, 85),
        ({"image": {"format": "png", "source": {"bytes": bytes(300_000)}}}, 85),
        ({"type": "audio", "base64": DATA, "mime_type": "audio/mp3"}, 600),
        ({"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}}, 200),
        ({"type": "audio", "url": "https://example.org/talk.mp3"}, 1_920),
        ({"type": "video", "base64": DATA, "mime_type": "video/mp4"}, 348),
        ({"type": "file", "base64": DATA, "mime_type": "application/pdf"}, 9_000),
        ({"type": "file", "file": {"file_data": URL.format("application/pdf"), "filename": "a.pdf"}}, 9_000),
        ({"type": "file", "file_id": "file-123"}, 1_500),
        ({"type": "file", "base64": DATA, "mime_type": "text/csv"}, 75_000),
        ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "word " * 400}}, 500),
    ],
    ids=[
        *("image", "image url", "chat", "responses", "anthropic", "media", "gemini", "bedrock"),
        *("mp3", "wav", "talk", "film", "pdf", "chat pdf", "stored", "csv", "plain"),
    ],
)
def test_media_cost_what_their_kind_and_size_say(block: dict[str, Any], expected: int) -> None:
    """The shapes of all providers count alike. 300 kB: LangChain says 100,000 for most of them."""
    assert abs(cost(block) - expected) <= 1


def test_media_inside_other_blocks_are_found() -> None:
    """The image that a tool's result holds is an image, and the text beside it text."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
    result = {"type": "tool_result", "tool_use_id": "x", "content": [image, {"type": "text", "text": "a cat"}]}
    assert 85 < cost(result) < 120


def test_data_of_unknown_blocks_is_no_text() -> None:
    """A signature is not read by the model; what stands beside it is."""
    block = {"type": "thinking", "thinking": "hmm " * 40, "signature": DATA}
    assert 40 < cost(block) < 70


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((10, 10), 1),
        ((512, 512), 1),
        ((513, 512), 2),
        ((1024, 1024), 4),
        ((2048, 4096), 6),
        ((4096, 8192), 6),
        ((1, 9000), 4),
    ],
    ids=str,
)
def test_tiles_follow_the_documented_rule(size: tuple[int, int], expected: int) -> None:
    """OpenAI's examples: 1024 x 1024 makes 4 tiles, 2048 x 4096 makes 6; nothing is made larger."""
    assert tiles(*size) == expected


def test_images_cost_their_size() -> None:
    """Where the size is known, 85 tokens and 170 a tile; with low detail 85 whatever the size."""
    block = {"type": "image", "base64": base64.b64encode(png(1024, 1024)).decode(), "mime_type": "image/png"}
    address = "data:image/png;base64," + base64.urlsafe_b64encode(png(2048, 4096)).decode()
    assert cost(block) == 765
    assert cost({"type": "image_url", "image_url": {"url": address, "detail": "high"}}) == 1105
    assert cost({"type": "image_url", "image_url": {"url": address, "detail": "low"}}) == 85


@pytest.mark.parametrize(
    "head",
    [
        png(640, 480),
        b"GIF89a" + struct.pack("<HH", 640, 480),
        b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xdb\x00\x02\xff\xc2\x00\x11\x08" + struct.pack(">HH", 480, 640),
        b"RIFF....WEBPVP8 ...." + bytes(6) + struct.pack("<HH", 640, 480),
        b"RIFF....WEBPVP8L....\x2f" + struct.pack("<I", 639 | 479 << 14) + bytes(5),
        b"RIFF....WEBPVP8X........" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
    ],
    ids=["png", "gif", "jpeg", "webp", "webp lossless", "webp extended"],
)
def test_dimensions_are_read_from_the_header(head: bytes) -> None:
    """Each format that models read says how large it is in its first bytes; half of those say nothing."""
    assert dimensions(head) == (640, 480)
    assert dimensions(head[: len(head) // 2]) is None


@given(
    st.sampled_from([b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF....WEBPVP8 "]), st.binary(max_size=60)
)
def test_a_damaged_header_has_no_size(start: bytes, rest: bytes) -> None:
    """Whatever comes in, the answer is a size above zero or none, never an error."""
    found = dimensions(start + rest)
    assert found is None or min(found) > 0
    if found is not None:
        assert tiles(*found) > 0
