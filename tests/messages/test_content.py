"""The vocabulary of content blocks and its validator."""

import subprocess
import sys
from typing import Any

import pytest

from hocket.errors import InvalidInput
from hocket.messages.content import BLOCK_TYPES, KNOWN_BLOCK_TYPES, is_data_content_block
from hocket.messages.content_validate import validate_content_block

MINIMAL: dict[str, dict[str, Any]] = {
    "text": {"text": "hi"},
    "reasoning": {},
    "tool_call": {"id": None, "name": "add", "args": {}},
    "tool_call_chunk": {"id": None, "name": None, "args": None},
    "invalid_tool_call": {"id": None, "name": None, "args": "{", "error": None},
    "server_tool_call": {"id": "1", "name": "web_search", "args": {}},
    "server_tool_call_chunk": {},
    "server_tool_result": {"tool_call_id": "1", "status": "success"},
    "image": {"url": "https://e.x/i.png"},
    "video": {"file_id": "f"},
    "audio": {"base64": "UklG", "mime_type": "audio/wav"},
    "file": {"file_id": "f"},
    "text-plain": {"mime_type": "text/plain", "text": "hi"},
    "non_standard": {"value": {"type": "zzz"}},
}


def test_known_types_are_the_fourteen_of_langchain() -> None:
    """The vocabulary is complete: each of LangChain's block types has a definition."""
    assert set(MINIMAL) == KNOWN_BLOCK_TYPES == set(BLOCK_TYPES)


@pytest.mark.parametrize("kind", sorted(MINIMAL))
def test_every_block_type_has_a_validator(kind: str) -> None:
    """The least that a block of each type needs is accepted, and handed back as the same object."""
    block = {"type": kind, **MINIMAL[kind]}
    assert validate_content_block(block) is block


@pytest.mark.parametrize("kind", sorted(MINIMAL))
def test_common_fields_fit_every_block(kind: str) -> None:
    """Every block takes id and index; an id that is no string is refused, with the field's name."""
    block = {"type": kind, **MINIMAL[kind], "id": "lc_1", "index": 0}
    assert validate_content_block(block) is block
    with pytest.raises(InvalidInput, match="id"):
        validate_content_block({**block, "id": 7})


@pytest.mark.parametrize("kind", ["zzz", None, ["text"], "image_url"])
def test_unknown_type_is_refused_by_name(kind: object) -> None:
    """A type that is not in the vocabulary raises, and the message names it and the way out."""
    with pytest.raises(InvalidInput, match="Unknown content block type") as caught:
        validate_content_block({"type": kind})
    assert repr(kind) in str(caught.value)
    assert "non_standard" in str(caught.value)


@pytest.mark.parametrize(
    ("block", "field"),
    [
        ({"type": "text"}, "text"),
        ({"type": "text", "text": 5}, "text"),
        ({"type": "text", "text": "a", "annotations": [{"type": "citation", "start_index": "x"}]}, "start_index"),
        ({"type": "server_tool_result", "tool_call_id": "1", "status": "maybe"}, "status"),
        ({"type": "tool_call", "name": "add", "args": "{}", "id": None}, "args"),
        ({"type": "image", "base64": "aGk="}, "mime_type"),
    ],
)
def test_malformed_block_is_refused_by_field(block: dict[str, Any], field: str) -> None:
    """A missing or wrong field raises, and the message names it."""
    with pytest.raises(InvalidInput, match=field):
        validate_content_block(block)


def test_validation_error_does_not_repeat_the_data() -> None:
    """The content of a block, which may be secret or huge, stays out of the error."""
    with pytest.raises(InvalidInput) as caught:
        validate_content_block({"type": "image", "base64": ["SECRET"], "mime_type": "image/png"})
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "url": "https://e.x/i.png"},
        {"type": "video", "base64": "AA==", "mime_type": "video/mp4"},
        {"type": "text-plain", "text": "hi"},
        {"type": "file", "source_type": "base64", "data": "AA==", "mime_type": "application/pdf"},
        {"type": "image", "source_type": "id", "id": "f"},
        {"type": "file", "source_type": "text", "url": "hi"},
    ],
)
def test_data_blocks_of_both_versions_are_recognised(block: dict[str, Any]) -> None:
    """Standard data blocks and those of langchain-core 0.x count as data."""
    assert is_data_content_block(block) is True


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "hi"},
        {"type": "image"},
        {"type": "image", "source": {"type": "url", "url": "https://e.x"}},
        {"type": "image", "source_type": "base64", "id": "no data"},
        {"type": "image_url", "image_url": {"url": "https://e.x"}},
        {"type": ["image"], "url": "https://e.x"},
        {"url": "https://e.x"},
        {},
    ],
)
def test_other_blocks_are_not_data(block: dict[str, Any]) -> None:
    """Text, providers' own shapes and nonsense do not count as data."""
    assert is_data_content_block(block) is False


def test_no_validator_is_built_at_import() -> None:
    """Importing the vocabulary builds no pydantic adapter: they are made when a type is first checked."""
    code = (
        "import pydantic\n"
        "def refuse(*args, **kwargs): raise AssertionError('built at import')\n"
        "pydantic.TypeAdapter.__init__ = refuse\n"
        "import hocket.messages.content, hocket.messages.content_factories, hocket.messages.tool_calls\n"
        "import hocket.messages.content_validate, hocket.messages.formats\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
