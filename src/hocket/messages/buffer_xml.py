"""A message as an element of XML. LangChain's format, of any provider's content: it is read as standard blocks first.

Data and blocks that only their provider understands are left out; long ids, documents, and what a provider's own tools
were given and gave, are cut. The result is for reading, by people and models, not for reading back.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, cast
from xml.sax.saxutils import escape, quoteattr

from hocket.messages.ai import AIMessage
from hocket.messages.base import BaseMessage
from hocket.messages.content import FieldsView
from hocket.messages.formats.blocks import text_at
from hocket.messages.roles import function_call_of, role_of

__all__ = ["element"]

_LONGEST_ID = 64  # characters
_LONGEST_TEXT = 500


def element(message: BaseMessage, type: str) -> str:
    """Return ``<message type="…">`` with the content; tool calls, if there are any, are elements of their own."""
    if isinstance(message.content, str) and not message.additional_kwargs:
        content = escape(message.content)
    else:
        content = " ".join(text for block in message.content_blocks if (text := _block(block)))
    calls = _calls(cast(AIMessage, message)) if role_of(message) == "ai" else []
    if not calls:
        return f"<message type={quoteattr(type)}>{content}</message>"
    said = [f"  <content>{content}</content>"] if content else []
    return "\n".join([f"<message type={quoteattr(type)}>", *said, *calls, "</message>"])


def _calls(message: AIMessage) -> list[str]:
    if function := function_call_of(message):
        name, arguments = str(function.get("name") or ""), str(function.get("arguments") or "{}")
        return [f"  <function_call name={quoteattr(name)}>{escape(arguments)}</function_call>"]
    return [
        f"  <tool_call id={quoteattr(_cut(call['id'] or '', _LONGEST_ID))} name={quoteattr(call['name'])}>"
        f"{escape(_json(call['args']))}</tool_call>"
        for call in message.tool_calls
    ]


def _block(block: FieldsView) -> str:
    write = _WRITERS.get(block["type"])
    return "" if write is None else write(block)


def _reasoning(block: FieldsView) -> str:
    text = text_at(block, "reasoning")
    return f"<reasoning>{escape(text)}</reasoning>" if text else ""


def _media(block: FieldsView) -> str:
    url, file_id = text_at(block, "url"), text_at(block, "file_id")
    if url and not url.startswith("data:"):
        return f"<{block['type']} url={quoteattr(url)} />"
    return f"<{block['type']} file_id={quoteattr(file_id)} />" if file_id else ""


def _server_call(block: FieldsView) -> str:
    attributes = f"id={quoteattr(text_at(block, 'id') or '')} name={quoteattr(text_at(block, 'name') or '')}"
    args = escape(_cut(_json(block.get("args") or {}), _LONGEST_TEXT))
    return f"<server_tool_call {attributes}>{args}</server_tool_call>"


def _server_result(block: FieldsView) -> str:
    id, status = text_at(block, "tool_call_id") or "", text_at(block, "status") or ""
    output = escape(_cut(_json(block["output"]), _LONGEST_TEXT)) if block.get("output") else ""
    return f"<server_tool_result tool_call_id={quoteattr(id)} status={quoteattr(status)}>{output}</server_tool_result>"


_WRITERS: Mapping[str, Callable[[FieldsView], str]] = {
    "text": lambda block: escape(text_at(block, "text") or ""),
    "text-plain": lambda block: escape(_cut(text_at(block, "text") or "", _LONGEST_TEXT)),
    "reasoning": _reasoning,
    "image": _media,
    "audio": _media,
    "video": _media,
    "server_tool_call": _server_call,
    "server_tool_result": _server_result,
}


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + "..."


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
