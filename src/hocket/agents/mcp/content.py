"""Results of tools in both vocabularies: MCP's content, and hocket's blocks and artifacts. Pure functions."""

import json
from typing import Literal, cast, get_type_hints

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.tools import BaseTool
from hocket.tools.function_tool import FunctionTool

__all__ = [
    "convert_result",
    "find_plain_type",
    "read_error",
    "read_prompt",
    "read_resource",
    "write_plain_schema",
    "write_result",
]

_PLAIN = {bool: "boolean", int: "integer", float: "number"}

_KINDS: dict[str, type[HumanMessage | AIMessage]] = {"user": HumanMessage, "assistant": AIMessage}

_MEDIA: dict[str, Literal["image", "audio", "video"]] = {"image": "image", "audio": "audio", "video": "video"}


def convert_result(result: CallToolResult) -> tuple[str | list[Fields], object]:
    """Return a result's content, a text if it is one, and its structured content, the artifact.

    A result that has structured content alone is shown to the model as JSON.
    """
    structured: object = result.structured_content
    blocks = [_read_block(block) for block in result.content]
    if not blocks:
        return "" if structured is None else json.dumps(structured, ensure_ascii=False), structured
    return _simplify(blocks), structured


def read_resource(result: ReadResourceResult) -> list[Fields]:
    """Return the content blocks of a resource."""
    return [_read_resource(one) for one in result.contents]


def read_prompt(result: GetPromptResult) -> list[BaseMessage]:
    """Return the messages of a prompt: those of the user, and of the assistant."""
    return [_KINDS[one.role](_simplify([_read_block(one.content)])) for one in result.messages]


def read_error(result: CallToolResult) -> str:
    """Return what a result says that is an error."""
    content, _ = convert_result(result)
    if not isinstance(content, str):
        content = "\n".join(block["text"] for block in content if block["type"] == "text")
    return content or "it gave no reason"


def find_plain_type(tool: BaseTool) -> type | None:
    """Return the type of a tool's results, if its function is annotated with one of a number; None: it is another."""
    if not isinstance(tool, FunctionTool) or tool.response_format != "content":
        return None
    try:
        kind = get_type_hints(tool.choose_function(True)).get("return")
    except Exception:  # a name in it that is not there, or no function of Python's
        return None
    return kind if isinstance(kind, type) and kind in _PLAIN else None


def write_plain_schema(tool: BaseTool) -> Fields | None:
    """Return the schema of the structured content that `write_result` makes for a tool; None: it may make any."""
    kind = find_plain_type(tool)
    if kind is None:
        return None
    return {"type": "object", "properties": {"result": {"type": _PLAIN[kind]}}, "required": ["result"]}


def write_result(message: ToolMessage, kind: type | None = None) -> CallToolResult:
    """Return the message that answers a call as MCP's result.

    Structured content is an artifact that is a JSON object, or what the tool has returned, which is of the plain type
    ``kind``: its text is JSON.
    """
    content = message.content
    is_text, is_error = isinstance(content, str), message.status == "error"
    blocks = [{"type": "text", "text": content}] if is_text else cast("list[Fields]", message.content_blocks)
    artifact = message.artifact if kind is None else _read_plain(message.text)
    return CallToolResult(
        content=[_write_block(block) for block in blocks],
        structured_content=None if is_error else _read_object(artifact),
        is_error=is_error,
    )


def _read_plain(text: str) -> object:
    """Return what a tool has returned, wrapped; None: it is not of the type that it is said to be."""
    try:
        return {"result": json.loads(text)}
    except ValueError:
        return None


def _read_block(block: ContentBlock) -> Fields:
    match block:
        case TextContent():
            return {"type": "text", "text": block.text}
        case ImageContent() | AudioContent():
            return {"type": block.type, "base64": block.data, "mime_type": block.mime_type}
        case ResourceLink():
            lines = [f"{block.title or block.name}: {block.uri}", block.description]
            return {"type": "text", "text": "\n".join(line for line in lines if line)}
        case EmbeddedResource():
            return _read_resource(block.resource)


def _read_resource(resource: TextResourceContents | BlobResourceContents) -> Fields:
    if isinstance(resource, TextResourceContents):
        return {"type": "text", "text": resource.text}
    mime_type = resource.mime_type or "application/octet-stream"
    kind = _MEDIA.get(mime_type.partition("/")[0], "file")
    return {"type": kind, "base64": resource.blob, "mime_type": mime_type}


def _simplify(blocks: list[Fields]) -> str | list[Fields]:
    """Return a single text as one."""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else blocks


def _write_block(block: FieldsView) -> ContentBlock:
    kind, data, url = block["type"], block.get("base64"), block.get("url")
    mime_type = str(block.get("mime_type") or "application/octet-stream")
    if kind == "text":
        return TextContent(text=block["text"])
    if isinstance(data, str):
        if kind == "image":
            return ImageContent(data=data, mime_type=mime_type)
        if kind == "audio":
            return AudioContent(data=data, mime_type=mime_type)
        return EmbeddedResource(resource=BlobResourceContents(uri=f"hocket:{kind}", blob=data, mime_type=mime_type))
    if isinstance(url, str) and not url.startswith("data:"):
        return ResourceLink(name=kind, uri=url, mime_type=block.get("mime_type"))
    return TextContent(text=json.dumps(block, ensure_ascii=False, default=str))


def _read_object(artifact: object) -> object:
    """Return an artifact that is a JSON object, else None."""
    if not isinstance(artifact, dict):
        return None
    try:
        return cast("object", json.loads(json.dumps(artifact, allow_nan=False)))
    except (TypeError, ValueError, RecursionError):
        return None
