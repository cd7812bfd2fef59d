"""The standard vocabulary of message content: one TypedDict for each kind of block.

Providers each have their own shapes for text, images, reasoning and tool calls. These are the shapes that hocket reads
them all into (``formats``) and renders them from. Names and fields are those of langchain-core 1.x. The blocks
stay plain dicts, so that content is JSON as it stands; ``content_factories`` builds them, ``content_validate`` checks
them.

Every block may carry ``id`` (the provider's own, or ``lc_<uuid>``), ``index`` (its place in a message that is being
streamed; blocks of equal index fold into one) and ``extras`` (what one provider alone understands).

Every block says its ``type``, so that type checkers can tell blocks apart by it. ``ToolCall`` and its kin are therefore
defined twice: here as blocks, and in ``tool_calls`` as a message's own records, where ``type`` may be left out.
"""

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict  # pydantic refuses typing's TypedDict before Python 3.12

__all__ = [
    "BLOCK_TYPES",
    "KNOWN_BLOCK_TYPES",
    "Annotation",
    "AudioContentBlock",
    "Citation",
    "ContentBlock",
    "DataContentBlock",
    "Fields",
    "FieldsView",
    "FileContentBlock",
    "ImageContentBlock",
    "InvalidToolCall",
    "NonStandardAnnotation",
    "NonStandardContentBlock",
    "PlainTextContentBlock",
    "ReasoningContentBlock",
    "ServerToolCall",
    "ServerToolCallChunk",
    "ServerToolResult",
    "TextContentBlock",
    "ToolCall",
    "ToolCallChunk",
    "ToolContentBlock",
    "VideoContentBlock",
    "is_data_content_block",
]


Fields: TypeAlias = dict[str, Any]
"""Values by name, as JSON has them: a block of content of any provider, or the fields of a message."""

FieldsView: TypeAlias = Mapping[str, Any]
"""The same, only to be read."""


class Citation(TypedDict):
    """Where a stretch of a text block comes from. The indices count characters of the answer, not of the source."""

    type: Literal["citation"]
    id: NotRequired[str]
    url: NotRequired[str]
    title: NotRequired[str]
    start_index: NotRequired[int]
    end_index: NotRequired[int]
    cited_text: NotRequired[str]
    extras: NotRequired[Fields]


class NonStandardAnnotation(TypedDict):
    """An annotation that only its provider understands, kept as it came."""

    type: Literal["non_standard_annotation"]
    id: NotRequired[str]
    value: Fields


Annotation = Citation | NonStandardAnnotation
"""What is said of a stretch of text: where it comes from, or what only one provider says."""


class _Block(TypedDict):
    id: NotRequired[str]
    index: NotRequired[int | str]


class _StandardBlock(_Block):
    extras: NotRequired[Fields]


class _DataBlock(_StandardBlock):
    url: NotRequired[str]
    base64: NotRequired[str]
    file_id: NotRequired[str]


class _MediaBlock(_DataBlock):
    mime_type: NotRequired[str]


class TextContentBlock(_StandardBlock):
    """Text that a person or a model wrote."""

    type: Literal["text"]
    text: str
    annotations: NotRequired[list[Annotation]]


class ReasoningContentBlock(_StandardBlock):
    """What a model thought before it answered, or a summary of it. Never part of the answer's text."""

    type: Literal["reasoning"]
    reasoning: NotRequired[str]


class ImageContentBlock(_MediaBlock):
    """An image: one of ``url``, ``base64`` (with ``mime_type``) or ``file_id`` in a provider's file store."""

    type: Literal["image"]


class VideoContentBlock(_MediaBlock):
    """A video: one of ``url``, ``base64`` (with ``mime_type``) or ``file_id`` in a provider's file store."""

    type: Literal["video"]


class AudioContentBlock(_MediaBlock):
    """A recording: one of ``url``, ``base64`` (with ``mime_type``) or ``file_id`` in a provider's file store."""

    type: Literal["audio"]


class FileContentBlock(_MediaBlock):
    """A file of another kind (a PDF, say): one of ``url``, ``base64`` (with ``mime_type``) or ``file_id``."""

    type: Literal["file"]


class PlainTextContentBlock(_DataBlock):
    """A plain-text document that a message carries along, with an optional title and context for the model."""

    type: Literal["text-plain"]
    mime_type: Literal["text/plain"]
    text: NotRequired[str]
    title: NotRequired[str]
    context: NotRequired[str]


class ToolCall(TypedDict):
    """A model's request to run one tool."""

    type: Literal["tool_call"]
    id: str | None
    name: str
    args: Fields
    index: NotRequired[int | str]
    extras: NotRequired[Fields]


class ToolCallChunk(TypedDict):
    """A fragment of a tool call while it streams: ``args`` is a piece of JSON text."""

    type: Literal["tool_call_chunk"]
    id: str | None
    name: str | None
    args: str | None
    index: NotRequired[int | str]
    extras: NotRequired[Fields]


class InvalidToolCall(TypedDict):
    """A tool call that could not be read: ``args`` is the model's own text, ``error`` what is wrong with it."""

    type: Literal["invalid_tool_call"]
    id: str | None
    name: str | None
    args: str | None
    error: str | None
    index: NotRequired[int | str]
    extras: NotRequired[Fields]


class ServerToolCall(TypedDict):
    """A tool call that the provider runs on its own side: web search, code execution and the like."""

    type: Literal["server_tool_call"]
    id: str
    name: str
    args: Fields
    index: NotRequired[int | str]
    extras: NotRequired[Fields]


class ServerToolCallChunk(_StandardBlock):
    """A fragment of a server tool call while it streams: ``args`` is a piece of JSON text."""

    type: Literal["server_tool_call_chunk"]
    name: NotRequired[str]
    args: NotRequired[str]


class ServerToolResult(_StandardBlock):
    """What a server tool call gave. ``tool_call_id`` is the ``id`` of the call."""

    type: Literal["server_tool_result"]
    tool_call_id: str
    status: Literal["success", "error"]
    output: NotRequired[Any]


class NonStandardContentBlock(_Block):
    """Content that only its provider understands: ``value`` is the block exactly as it came."""

    type: Literal["non_standard"]
    value: Fields


DataContentBlock = ImageContentBlock | VideoContentBlock | AudioContentBlock | PlainTextContentBlock | FileContentBlock
"""A part that is no plain speech: an image, a video, sound, a text file or another one."""

ToolContentBlock = ToolCall | ToolCallChunk | ServerToolCall | ServerToolCallChunk | ServerToolResult
"""A part that belongs to a call of a tool, ours or one that the provider runs."""

ContentBlock = (
    TextContentBlock
    | InvalidToolCall
    | ReasoningContentBlock
    | NonStandardContentBlock
    | DataContentBlock
    | ToolContentBlock
)
"""A part of a message in the standard form that all providers are translated to, told apart by its ``type``."""

BLOCK_TYPES: Mapping[str, type] = {
    "text": TextContentBlock,
    "reasoning": ReasoningContentBlock,
    "tool_call": ToolCall,
    "tool_call_chunk": ToolCallChunk,
    "invalid_tool_call": InvalidToolCall,
    "server_tool_call": ServerToolCall,
    "server_tool_call_chunk": ServerToolCallChunk,
    "server_tool_result": ServerToolResult,
    "image": ImageContentBlock,
    "video": VideoContentBlock,
    "audio": AudioContentBlock,
    "file": FileContentBlock,
    "text-plain": PlainTextContentBlock,
    "non_standard": NonStandardContentBlock,
}
"""The TypedDict of each value of ``type``."""

KNOWN_BLOCK_TYPES = frozenset(BLOCK_TYPES)
"""The values of ``type`` that are standard; a block of any other type belongs to one provider."""

_DATA_TYPES = frozenset({"image", "video", "audio", "file", "text-plain"})
_DATA_KEYS = frozenset({"url", "base64", "file_id", "text"})


def is_data_content_block(block: FieldsView) -> bool:
    """Tell whether ``block`` carries data (image, video, audio, file, plain text) and in a shape of LangChain's.

    True for the standard blocks above and for those of langchain-core 0.x (``source_type``); False for a provider's own
    shapes, even where they share the type's name (Anthropic's ``{"type": "image", "source": …}``).
    """
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _DATA_TYPES:
        return False
    if not _DATA_KEYS.isdisjoint(block):
        return True
    source_type = block.get("source_type")
    return (source_type == "base64" and "data" in block) or (source_type == "id" and "id" in block)
