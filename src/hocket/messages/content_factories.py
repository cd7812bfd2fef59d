"""One-line constructors for content blocks, checked as they are built.

They set ``type``, give the block an id (``lc_<uuid4>``) unless it has one, and put every further keyword into
``extras`` (``create_image_block(url=…, detail="low")``); a keyword that is None counts as not given. langchain-core
accepts a data block with several sources, or with bytes of unknown type, and lets the provider fail on it: here both
raise at once.
"""

from base64 import b64encode
from collections.abc import Iterable
from typing import Any, TypeVar, cast
from uuid import uuid4

from hocket.errors import InvalidInput
from hocket.messages.content import (
    Annotation,
    AudioContentBlock,
    Citation,
    Fields,
    FileContentBlock,
    ImageContentBlock,
    NonStandardContentBlock,
    PlainTextContentBlock,
    ReasoningContentBlock,
    TextContentBlock,
    ToolCall,
    VideoContentBlock,
)

__all__ = [
    "create_audio_block",
    "create_citation",
    "create_file_block",
    "create_image_block",
    "create_non_standard_block",
    "create_plaintext_block",
    "create_reasoning_block",
    "create_text_block",
    "create_tool_call",
    "create_video_block",
]

_Made = TypeVar("_Made")


def create_text_block(
    text: str,
    *,
    id: str | None = None,
    annotations: list[Annotation] | None = None,
    index: int | str | None = None,
    **kwargs: Any,
) -> TextContentBlock:
    """Return a text block; ``annotations`` are its citations."""
    return _block(TextContentBlock, "text", id, kwargs, text=text, annotations=annotations, index=index)


def create_reasoning_block(
    reasoning: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **kwargs: Any,
) -> ReasoningContentBlock:
    """Return a reasoning block; without text it is empty (a provider may keep its reasoning in ``extras`` only)."""
    return _block(ReasoningContentBlock, "reasoning", id, kwargs, reasoning=reasoning or "", index=index)


def create_image_block(
    *,
    url: str | None = None,
    base64: str | bytes | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **kwargs: Any,
) -> ImageContentBlock:
    """Return an image block.

    Args:
        url: Address of the image, or a ``data:`` URL.
        base64: The image itself: base64 text, or raw bytes that are encoded here.
        file_id: Its id in a provider's file store.
        mime_type: For example ``image/png``. Required with ``base64``.
        id: The block's own id, generated if not given.
        index: Its place in a message that is being streamed.

    Raises:
        InvalidInput: Not exactly one of ``url``, ``base64`` and ``file_id`` was given, or ``base64`` came without
            ``mime_type``.
    """
    source = _source("create_image_block", mime_type, url=url, base64=base64, file_id=file_id)
    return _block(ImageContentBlock, "image", id, kwargs, **source, index=index)


def create_video_block(
    *,
    url: str | None = None,
    base64: str | bytes | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **kwargs: Any,
) -> VideoContentBlock:
    """Return a video block. Arguments and errors as for ``create_image_block``."""
    source = _source("create_video_block", mime_type, url=url, base64=base64, file_id=file_id)
    return _block(VideoContentBlock, "video", id, kwargs, **source, index=index)


def create_audio_block(
    *,
    url: str | None = None,
    base64: str | bytes | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **kwargs: Any,
) -> AudioContentBlock:
    """Return an audio block. Arguments and errors as for ``create_image_block``."""
    source = _source("create_audio_block", mime_type, url=url, base64=base64, file_id=file_id)
    return _block(AudioContentBlock, "audio", id, kwargs, **source, index=index)


def create_file_block(
    *,
    url: str | None = None,
    base64: str | bytes | None = None,
    file_id: str | None = None,
    mime_type: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **kwargs: Any,
) -> FileContentBlock:
    """Return a block for a file that is no image, recording, video or plain text.

    Arguments and errors as for ``create_image_block``; some providers ask for ``filename=`` besides.
    """
    source = _source("create_file_block", mime_type, url=url, base64=base64, file_id=file_id)
    return _block(FileContentBlock, "file", id, kwargs, **source, index=index)


def create_plaintext_block(
    text: str | None = None,
    url: str | None = None,
    base64: str | bytes | None = None,
    file_id: str | None = None,
    title: str | None = None,
    context: str | None = None,
    id: str | None = None,
    index: int | str | None = None,
    **kwargs: Any,
) -> PlainTextContentBlock:
    """Return a block for a plain-text document, with an optional title and context for the model.

    Raises:
        InvalidInput: Not exactly one of ``text``, ``url``, ``base64`` and ``file_id`` was given.
    """
    source = _source("create_plaintext_block", "text/plain", text=text, url=url, base64=base64, file_id=file_id)
    return _block(PlainTextContentBlock, "text-plain", id, kwargs, **source, title=title, context=context, index=index)


def create_tool_call(
    name: str,
    args: Fields,
    *,
    id: str | None = None,
    index: int | str | None = None,
    **kwargs: Any,
) -> ToolCall:
    """Return a tool call with an id, generated if not given (``tool_call()`` leaves it to the caller)."""
    return _block(ToolCall, "tool_call", id, kwargs, name=name, args=args, index=index)


def create_citation(
    *,
    url: str | None = None,
    title: str | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    cited_text: str | None = None,
    id: str | None = None,
    **kwargs: Any,
) -> Citation:
    """Return a citation for a text block's ``annotations``. The indices count characters of that text block."""
    return _block(
        Citation,
        "citation",
        id,
        kwargs,
        url=url,
        title=title,
        start_index=start_index,
        end_index=end_index,
        cited_text=cited_text,
    )


def create_non_standard_block(
    value: Fields,
    *,
    id: str | None = None,
    index: int | str | None = None,
) -> NonStandardContentBlock:
    """Return a block around ``value``, which only one provider understands."""
    return _block(NonStandardContentBlock, "non_standard", id, {}, value=value, index=index)


def _block(made: type[_Made], kind: str, id: str | None, extras: Fields, **fields: Any) -> _Made:
    """A block of ``kind``. ``made`` only tells the type checker what it is."""
    block: Fields = {"type": kind, "id": id or f"lc_{uuid4()}"}
    block.update((name, value) for name, value in fields.items() if value is not None)
    given = extras.pop("extras", None)  # `extras={…}` and loose keywords mean the same
    extras = {**(given or {}), **{name: value for name, value in extras.items() if value is not None}}
    if extras:
        block["extras"] = extras
    return cast(_Made, block)


def _source(factory: str, mime_type: str | None, **sources: str | bytes | None) -> Fields:
    """The one source that was given, as the fields of a block."""
    given = [name for name, value in sources.items() if value]
    if len(given) != 1:
        got = _enumerate_names(given) if given else "none of them"
        raise InvalidInput(
            f"{factory}() takes exactly one of {_enumerate_names(sources)}, and got {got}; make a block for each"
        )
    name = given[0]
    value = sources[name]
    if name == "base64" and not mime_type:
        raise InvalidInput(f"{factory}() got base64 without mime_type; say what the bytes are, such as 'image/png'")
    return {name: b64encode(value).decode() if isinstance(value, bytes) else value, "mime_type": mime_type}


def _enumerate_names(names: Iterable[str]) -> str:
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
