"""Single data blocks in OpenAI's forms, for programs that write requests themselves. LangChain's names.

Whole messages are converted by `hocket.messages.convert_to_openai_messages`, and models convert what they send.
"""

from collections.abc import Mapping
from typing import Final, Literal, cast

from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import ContentFormat, native_content, normalize_input_content, openai_chat
from hocket.messages.formats.blocks import Reader

__all__ = ["convert_to_openai_data_block", "convert_to_openai_image_block", "is_openai_data_block"]

_FORMATS: Final[Mapping[str, ContentFormat]] = {
    "chat/completions": "openai_chat",
    "responses": "openai_responses_input",
}
_KINDS: Final[Mapping[str, tuple[str, Reader]]] = {
    "image_url": ("image", openai_chat.image),
    "input_audio": ("audio", openai_chat.audio),
    "file": ("file", openai_chat.file),
}


def convert_to_openai_data_block(
    block: FieldsView, api: Literal["chat/completions", "responses"] = "chat/completions"
) -> Fields:
    """Return a picture, a file or a recording as a part of what OpenAI's API is sent.

    Args:
        block: a standard block, or one of LangChain's version 0 (``source_type``).
        api: of which API.

    Raises:
        InvalidInput: it is no such block, has no data, or base64 data of unknown type; or there is no such API.
        Unsupported: the API does not take it: the address of a file, say, in a chat completion.
    """
    if api not in _FORMATS:
        raise InvalidInput(f"api={api!r}: it is 'chat/completions' or 'responses'")
    if (kind := block.get("type")) not in ("image", "file", "audio"):
        raise InvalidInput(f"a block of type {kind!r} is no data; image, file and audio are converted")
    blocks: list[str | Fields] = [dict(block)]
    (standard,) = normalize_input_content(blocks)
    return native_content([cast(FieldsView, standard)], _FORMATS[api])[0]


def convert_to_openai_image_block(block: FieldsView) -> Fields:
    """Return a picture as a part of a chat completion: ``{"type": "image_url", …}``.

    Raises:
        InvalidInput: it is no picture, has no data, or base64 data of unknown type.
        Unsupported: it is the id of a file, which a chat completion does not take.
    """
    return convert_to_openai_data_block({**block, "type": block.get("type", "image")})


def is_openai_data_block(block: FieldsView, filter_: Literal["image", "audio", "file"] | None = None) -> bool:
    """Whether a block is a picture, a recording or a file in the form of OpenAI's chat completions.

    Args:
        block: the block.
        filter_: which of the three; None: any.
    """
    kind, read = _KINDS.get(str(block.get("type")), ("", _read_nothing))
    return filter_ in (None, kind) and read(block) is not None


def _read_nothing(block: FieldsView) -> None:
    """Read a block of no known type."""
