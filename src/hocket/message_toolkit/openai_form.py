"""A conversation in OpenAI's words, whichever provider's its contents are written in.

What is no part of OpenAI's is read as standard blocks (`hocket.messages.content_view`), and these are written as its
parts; so whatever can be read can be converted. This is for handing a conversation to other code. A model of hocket's
writes its own requests.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, overload

from hocket.errors import InvalidInput
from hocket.message_toolkit.chat_parts import FILENAME, Part, part_of
from hocket.message_toolkit.steps import Conversation
from hocket.message_toolkit.turns import calls_of
from hocket.messages import BaseMessage, ChatMessage, ToolMessage, convert_to_messages
from hocket.messages.content_view import content_blocks_of
from hocket.messages.roles import Role, role_of

__all__ = ["convert_to_openai_messages"]

TextFormat = Literal["string", "block"]


@overload
def convert_to_openai_messages(  # type: ignore[overload-overlap]  # pyright: ignore  # a string is an iterable, too
    messages: BaseMessage | str | dict[str, Any],
    *,
    text_format: TextFormat = "string",
    include_id: bool = False,
    pass_through_unknown_blocks: bool = True,
) -> dict[str, Any]: ...
@overload
def convert_to_openai_messages(
    messages: Conversation,
    *,
    text_format: TextFormat = "string",
    include_id: bool = False,
    pass_through_unknown_blocks: bool = True,
) -> list[dict[str, Any]]: ...
def convert_to_openai_messages(
    messages: BaseMessage | str | dict[str, Any] | Conversation,
    *,
    text_format: TextFormat = "string",
    include_id: bool = False,
    pass_through_unknown_blocks: bool = True,
) -> dict[str, Any] | list[dict[str, Any]]:
    """Return messages as dicts in the form of OpenAI's chat completions.

    Reads content of OpenAI, Anthropic, Amazon's Converse API, Google's, and standard blocks. Tool calls in the content
    become ``tool_calls``; the results of tools in it, messages of their own, in front of what else their message says.
    Calls that could not be read are written as the model did.

    Args:
        messages: messages or message-likes, or a prompt value; or one message, string or mapping alone.
        text_format: "string": content of nothing but text is one string, blocks joined by line breaks; "block": content
            is always a list.
        include_id: whether a message's id is written, if it has one.
        pass_through_unknown_blocks: whether blocks that have no form in OpenAI's words stay as they are; or are refused.
            Reasoning always stays.

    Returns:
        a list of dicts; of a message alone, a dict.

    Raises:
        InvalidInput: an unknown text_format; a message of no role; a block without what it needs, or of an unknown kind,
            by its place; or a message alone that makes several.
    """
    if text_format not in ("string", "block"):
        raise InvalidInput(f"text_format {text_format!r} is unknown; it is 'string' or 'block'")
    form = _Form(text_format == "string", include_id, pass_through_unknown_blocks)
    written: list[dict[str, Any]] = []
    for index, message in enumerate(convert_to_messages(messages)):
        written.extend(form.write(message, index))
    if not isinstance(messages, BaseMessage | str | dict):
        return written
    if len(written) > 1:
        raise InvalidInput(f"the message holds results of tools, and makes {len(written)} messages; pass it in a list")
    return written[0]


_ROLES: dict[Role, str] = {
    "ai": "assistant",
    "human": "user",
    "system": "system",
    "tool": "tool",
    "function": "function",
}


@dataclass
class _Form:
    """How messages are to be written."""

    as_string: bool
    with_id: bool
    pass_unknown: bool

    def write(self, message: BaseMessage, index: int) -> list[dict[str, Any]]:
        """Return what a message, the one at ``index``, makes: the results of tools in it, and the rest."""
        role, kwargs = role_of(message), message.additional_kwargs
        made: dict[str, Any] = {"role": _ROLES.get(role)}
        if role == "chat":
            made["role"] = cast(ChatMessage, message).role
        elif role == "system" and kwargs:
            made["role"] = kwargs.get("__openai_role__", "system")  # LangChain's key for "developer"
        elif role == "nobody":
            raise InvalidInput(f"messages[{index}] is a {type(message).__name__}, which has no role in OpenAI's words")
        if message.name:
            made["name"] = message.name
        if calls := calls_of(message):
            made["tool_calls"] = [_call(call) for call in calls]
        if kwargs:
            made |= {name: kwargs[name] for name in ("refusal", "function_call") if kwargs.get(name)}
        if role == "tool":
            made["tool_call_id"] = cast(ToolMessage, message).tool_call_id
        if self.with_id and message.id:
            made["id"] = message.id
        content = message.content
        if isinstance(content, str):
            made["content"] = content if self.as_string else [{"type": "text", "text": content}] if content else []
            return [made]
        blocks = _Blocks(self, role, index, made)
        made["content"] = blocks.write(content)
        return blocks.results if blocks.results and not made["content"] else [*blocks.results, made]


class _Blocks:
    """The content of one message, of blocks, on its way into OpenAI's form.

    Attributes:
        results: the messages that the results of tools in it make.
    """

    def __init__(self, form: _Form, role: Role, index: int, made: dict[str, Any]) -> None:
        self.results: list[dict[str, Any]] = []
        self._form = form
        self._role = role
        self._index = index
        self._made = made

    def write(self, blocks: Sequence[str | dict[str, Any]]) -> str | list[Part]:
        """Return the content; calls in it go to the message that is being made."""
        parts: list[Part] = []
        for place, block in enumerate(blocks):
            try:
                parts.extend(self._parts(block))
            except (InvalidInput, KeyError) as error:
                why = f"it has no {error}" if isinstance(error, KeyError) else error
                raise InvalidInput(f"messages[{self._index}].content[{place}] cannot be converted: {why}") from None
        if self._form.as_string and all(part.get("type") == "text" for part in parts):
            return "\n".join(part["text"] for part in parts)
        return parts

    def _parts(self, block: str | dict[str, Any]) -> list[Part]:
        if isinstance(block, str):
            return [{"type": "text", "text": block}]
        kind = block.get("type")
        if kind == "text":
            return [{"type": "text", "text": block["text"]}]
        if kind in ("thinking", "reasoning"):
            return [block]
        if kind == "tool_result":
            result = ToolMessage(block.get("content") or "", tool_call_id=block["tool_use_id"])
            self.results.extend(self._form.write(result, self._index))
            return []
        if (native := _native(block) or _converse_text(block)) is not None:
            return [native]
        return self._read(block)

    def _read(self, block: dict[str, Any]) -> list[Part]:
        """Return the parts of a block that has to be read first; none of a tool call, which goes beside the content."""
        parts: list[Part] = []
        for read in content_blocks_of([block], additional_kwargs={}, response_metadata={}):
            if read["type"] in ("tool_call", "invalid_tool_call") and self._role == "ai":
                self._add_call(read)
            elif (part := part_of(read)) is not None:
                parts.append(part)
            elif read["type"] == "non_standard" and block.get("type") in ("image", "media"):
                raise InvalidInput(f"the data of a block of type {block['type']!r} cannot be found in it")
            elif self._form.pass_unknown:
                return [block]
            else:
                raise InvalidInput(f"a block of type {block.get('type')!r} has no form in OpenAI's words")
        return parts

    def _add_call(self, block: Mapping[str, Any]) -> None:
        calls = self._made.setdefault("tool_calls", [])
        if all(call["id"] != block["id"] for call in calls):
            calls.append(_call(block))


def _call(call: Mapping[str, Any]) -> Part:
    args = call["args"]
    text = args or "" if isinstance(args, str | None) else json.dumps(args, ensure_ascii=False)
    return {"type": "function", "id": call["id"], "function": {"name": call["name"] or "", "arguments": text}}


def _native(block: dict[str, Any]) -> Part | None:
    """The block itself if it is a part of OpenAI's; a file has a name then."""
    kind = block.get("type")
    if kind == "image_url":
        return {"type": "image_url", "image_url": block["image_url"]}
    inner = block.get(str(kind)) if kind in ("file", "input_audio") else None
    if not isinstance(inner, Mapping):
        return None
    if kind == "file" and "file_data" in inner and not inner.get("filename"):
        return {**block, "file": {**inner, "filename": FILENAME}}
    return block


def _converse_text(block: Mapping[str, Any]) -> Part | None:
    """What the Converse API has as JSON, or as text to guard against, as a text."""
    if block.get("type") == "json" or "json" in block:
        return {"type": "text", "text": json.dumps(block["json"])}
    if block.get("type") == "guard_content" or "guard_content" in block:
        text = block["guard_content"]["text"]
        return {"type": "text", "text": text["text"] if isinstance(text, Mapping) else text}
    return None
