"""The one-line constructors of content blocks."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from hocket.errors import InvalidInput
from hocket.messages.content import ContentBlock
from hocket.messages.content_factories import (
    create_audio_block,
    create_citation,
    create_file_block,
    create_image_block,
    create_non_standard_block,
    create_plaintext_block,
    create_reasoning_block,
    create_text_block,
    create_tool_call,
    create_video_block,
)
from hocket.messages.content_validate import validate_content_block

MEDIA: list[Callable[..., Any]] = [create_image_block, create_video_block, create_audio_block, create_file_block]


def everything() -> list[ContentBlock]:
    return [
        create_text_block("a", annotations=[create_citation(url="https://e.x", start_index=0, end_index=1)]),
        create_reasoning_block("because"),
        create_image_block(url="https://e.x/i.png"),
        create_video_block(base64="AA==", mime_type="video/mp4"),
        create_audio_block(file_id="f"),
        create_file_block(base64="AA==", mime_type="application/pdf", filename="a.pdf"),
        create_plaintext_block("notes", title="Notes"),
        create_tool_call("add", {"a": 1}),
        create_non_standard_block({"type": "zzz"}),
    ]


def test_every_factory_makes_a_valid_block() -> None:
    """What a factory makes passes the validator."""
    for block in everything():
        assert validate_content_block(block) is block


def test_ids_are_generated_with_langchains_prefix() -> None:
    """A block without an id gets a unique `lc_<uuid>`; a given id is kept."""
    ids = [str(block.get("id")) for block in everything()]
    assert len(set(ids)) == len(ids)
    assert all(id.startswith("lc_") and UUID(id.removeprefix("lc_")) for id in ids)
    assert create_text_block("a", id="mine").get("id") == "mine"


def test_text_block_holds_its_text() -> None:
    """A text block's form is LangChain's."""
    assert create_text_block("a", id="1", index=0) == {"type": "text", "text": "a", "id": "1", "index": 0}


def test_further_keywords_become_extras() -> None:
    """Unknown keywords go to extras, None among them does not, and extras= means the same."""
    assert create_image_block(url="u", detail="low", other=None).get("extras") == {"detail": "low"}
    assert "extras" not in create_text_block("a", other=None)
    assert create_text_block("a", extras={"x": 1}, y=2).get("extras") == {"x": 1, "y": 2}


@pytest.mark.parametrize("factory", MEDIA)
def test_data_block_takes_exactly_one_source(factory: Callable[..., Any]) -> None:
    """None, two or three sources raise a ValueError that names what was given."""
    with pytest.raises(ValueError, match="got none of them"):
        factory()
    with pytest.raises(InvalidInput, match="got url and file_id"):
        factory(url="https://e.x", file_id="f")
    with pytest.raises(InvalidInput, match=r"exactly one of url, base64 and file_id, and got url, base64 and file_id"):
        factory(url="https://e.x", base64="AA==", file_id="f", mime_type="x/y")


@pytest.mark.parametrize("factory", MEDIA)
def test_base64_needs_a_mime_type(factory: Callable[..., Any]) -> None:
    """Bytes of unknown kind raise, and the message does not repeat them."""
    with pytest.raises(InvalidInput, match="mime_type") as caught:
        factory(base64="U0VDUkVU")
    assert "U0VDUkVU" not in str(caught.value)


@pytest.mark.parametrize("factory", MEDIA)
def test_raw_bytes_are_encoded(factory: Callable[..., Any]) -> None:
    """Raw bytes become base64 text."""
    assert factory(base64=b"Hello, world!", mime_type="x/y")["base64"] == "SGVsbG8sIHdvcmxkIQ=="


def test_plaintext_takes_exactly_one_source() -> None:
    """Text counts as a source of its own; the MIME type is set."""
    block = create_plaintext_block("notes", context="of the meeting")
    assert (block["mime_type"], block.get("text"), block.get("context")) == ("text/plain", "notes", "of the meeting")
    assert create_plaintext_block(base64=b"hi").get("base64") == "aGk="
    with pytest.raises(InvalidInput, match="got none of them"):
        create_plaintext_block()
    with pytest.raises(InvalidInput, match="got text and url"):
        create_plaintext_block("notes", url="https://e.x")


def test_citation_and_reasoning_keep_zero_and_empty() -> None:
    """An index of 0 is an index, and reasoning without text is empty text."""
    assert create_citation(start_index=0).get("start_index") == 0
    assert create_reasoning_block().get("reasoning") == ""
