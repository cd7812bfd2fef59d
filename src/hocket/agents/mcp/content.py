"""Results of tools in both vocabularies: MCP's content, and hocket's blocks and artifacts."""

import base64
import json
import re
from typing import Literal, cast, get_type_hints

from mcp import Client
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    InputRequiredResult,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import TypeAdapter

from hocket._json import JSON
from hocket._schemas import check_schema, find_violations
from hocket._schemas.references import Schema
from hocket.errors import InvalidInput, ToolException
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.tools import BaseTool
from hocket.tools.structured import FunctionTool

__all__ = [
    "LARGEST_MEDIA",
    "call_tool",
    "check_result",
    "find_plain_type",
    "read_call_result",
    "read_error",
    "read_prompt_messages",
    "read_resource",
    "write_plain_schema",
    "write_result",
]

_PLAIN = {bool: "boolean", int: "integer", float: "number"}

_KINDS: dict[str, type[HumanMessage | AIMessage]] = {"user": HumanMessage, "assistant": AIMessage}

LARGEST_MEDIA = 20 * 2**20
"""Characters of base64 in a block; no provider takes a request with more."""

_MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+ *(;.*)?", re.ASCII)

_ANSWER: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)

_MEDIA: dict[str, Literal["image", "audio", "video", "file"]] = {"image": "image", "audio": "audio", "video": "video"}


async def call_tool(client: Client, name: str, arguments: Fields) -> CallToolResult:
    """Call a tool, without the SDK's check of the answer: a server's pattern can hold that up for ever."""
    request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments))
    try:
        request.model_dump_json()
    except ValueError as error:  # half a surrogate, for example, which would end the connection
        raise ToolException(f"the arguments cannot be written as JSON: {error}") from None
    result = await client.session.send_request(request, _ANSWER)
    if isinstance(result, InputRequiredResult):
        raise ToolException("it asks for input of a person or a model, which is not supported")
    return result


def check_result(result: CallToolResult, schema: Schema | None) -> None:
    """Check structured content by the schema that the server has for it, in bounded time."""
    if schema is None:
        return
    if result.structured_content is None:
        raise ToolException("its answer cannot be used: its structured content is missing")
    try:
        check_schema(schema, warns=False)
        found = find_violations(cast(JSON, result.structured_content), schema)
    except InvalidInput as error:
        raise ToolException(f"its answer cannot be checked: {error}") from None
    if found:
        raise ToolException(f"its answer cannot be used: {'; '.join(found)}")


def read_call_result(result: CallToolResult) -> tuple[str | list[Fields], object]:
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


def read_prompt_messages(result: GetPromptResult) -> list[BaseMessage]:
    """Return the messages of a prompt: those of the user, and of the assistant."""
    return [_KINDS[one.role](_simplify([_read_block(one.content)])) for one in result.messages]


def read_error(result: CallToolResult) -> str:
    """Return what a result says that is an error."""
    content, _ = read_call_result(result)
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
    except (ValueError, RecursionError):
        return None


def _read_block(block: ContentBlock) -> Fields:
    match block:
        case TextContent():
            return {"type": "text", "text": block.text}
        case ImageContent() | AudioContent():
            return _read_media("image" if isinstance(block, ImageContent) else "audio", block.data, block.mime_type)
        case ResourceLink():
            lines = [f"{block.title or block.name}: {block.uri}", block.description]
            return {"type": "text", "text": "\n".join(line for line in lines if line)}
        case EmbeddedResource():
            return _read_resource(block.resource)


def _read_resource(resource: TextResourceContents | BlobResourceContents) -> Fields:
    if isinstance(resource, TextResourceContents):
        return {"type": "text", "text": resource.text}
    mime_type = resource.mime_type or "application/octet-stream"
    return _read_media(_MEDIA.get(mime_type.partition("/")[0], "file"), resource.blob, mime_type)


def _read_media(kind: Literal["image", "audio", "video", "file"], data: str, mime_type: str) -> Fields:
    """Return a block of data, or a text in its place: what no provider takes would end each later run of a conversation."""
    is_own = kind == "file" or mime_type.startswith(f"{kind}/")
    if is_own and _MIME_TYPE.fullmatch(mime_type) and len(data) <= LARGEST_MEDIA and _is_base64(data, kind):
        return {"type": kind, "base64": data, "mime_type": mime_type}
    why = f"larger than {LARGEST_MEDIA:,} characters" if len(data) > LARGEST_MEDIA else "damaged, or of another type"
    return {"type": "text", "text": f"(a block of type {kind}, which is {why}, was left out)"}


def _is_base64(data: str, kind: str) -> bool:
    try:
        return bool(base64.b64decode(data, validate=True)) or kind == "file"
    except ValueError:
        return False


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
