"""Counting tokens without a tokenizer: characters, weighed by script, over characters per token."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from hocket.errors import InvalidInput
from hocket.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    MessageLikeRepresentation,
    ToolMessage,
    convert_to_messages,
)
from hocket.messages.formats.blocks import text_at
from hocket.messages.roles import role_of
from hocket.tokens.media import CALLS, weigh_block
from hocket.tokens.scripts import weight

__all__ = ["count_tokens_approximately", "openai_role", "written_tools"]

_ROLES = {"human": "user", "ai": "assistant"}
_ROLE_LENGTHS: dict[str, int] = {"human": 4, "ai": 9, "tool": 4}  # of those whose role in OpenAI's form never changes


def count_tokens_approximately(
    messages: Iterable[MessageLikeRepresentation],
    *,
    chars_per_token: float = 4.0,
    extra_tokens_per_message: float = 3.0,
    count_name: bool = True,
    tokens_per_image: int = 85,
    use_usage_metadata_scaling: bool = False,
    tools: Sequence[Any] | None = None,
) -> int:
    """Return about how many tokens ``messages`` have, at some nanoseconds a character and without any download.

    For Latin text the result is langchain-core's: of each message, the characters of its text, role, name and tool calls
    over ``chars_per_token``, rounded up, and ``extra_tokens_per_message``. Characters of other scripts count as several
    (see `hocket.tokens.scripts`; a Chinese one as 4), recordings, films and files by kind and size, and base64 never as
    text, all of which LangChain takes for Latin text.

    Args:
        messages: messages or message-likes.
        chars_per_token: Latin characters that make a token.
        extra_tokens_per_message: what the wrapping of a message costs.
        count_name: whether names count.
        tokens_per_image: what an image costs; 85 is OpenAI's price. One that is given as data and not in low detail costs
            170 more for each tile of 512 pixels, as with OpenAI; LangChain counts all alike.
        use_usage_metadata_scaling: multiply by what the last reply with usage really had over what is counted up to it,
            by 1 to 1.25; only if all replies name the same ``model_provider`` in their ``response_metadata``.
        tools: described along with the messages; a dict is counted as it is, anything else as OpenAI's functions.

    Raises:
        InvalidInput: ``chars_per_token`` is not above 0; ``messages`` or ``tools`` are none.
    """
    if not chars_per_token > 0:
        raise InvalidInput(f"chars_per_token must be above 0, not {chars_per_token!r}")
    total: float = math.ceil(weight("".join(written_tools(tools))) / chars_per_token) if tools else 0
    providers: set[Any] = set()
    reported: tuple[int, float] | None = None  # by the last reply with usage: its total; and our count up to there
    known = convert_to_messages(messages)
    for message in known:
        characters, tokens, images = _weigh(message, count_name)
        total += math.ceil(characters / chars_per_token) + tokens + images * tokens_per_image + extra_tokens_per_message
        if use_usage_metadata_scaling and isinstance(message, AIMessage):
            provider = message.response_metadata.get("model_provider")
            if provider is not None or providers:
                providers.add(provider)
            if message.usage_metadata is not None:
                reported = message.usage_metadata["total_tokens"], total
    if reported is not None and reported[1] > 0 and len(known) > 1 and len(providers) == 1:
        total *= min(1.25, max(1.0, reported[0] / reported[1]))
    return math.ceil(total)


def _weigh(message: BaseMessage, count_name: bool) -> tuple[float, float, int]:
    """Return what a message weighs: Latin characters, tokens beside, and images."""
    role = role_of(message)
    characters: float = _ROLE_LENGTHS.get(role) or len(openai_role(message))
    tokens: float = 0
    images = 0
    content = message.content
    tells_calls = False
    if isinstance(content, str):
        characters += len(content) if content.isascii() else weight(content)
    else:
        for block in content:
            if isinstance(block, str):
                characters += weight(block)
                continue
            weighed = weigh_block(block)
            characters, tokens = characters + weighed.characters, tokens + weighed.tokens
            images += weighed.images
            tells_calls = tells_calls or text_at(block, "type") in CALLS
    if role == "ai":
        calls = cast(AIMessage, message).tool_calls
        if calls and not tells_calls:
            characters += weight(repr(calls))
    elif role == "tool":
        characters += len(cast(ToolMessage, message).tool_call_id)
    if count_name and message.name:
        characters += weight(message.name)
    return characters, tokens, images


def openai_role(message: BaseMessage) -> str:
    """Return the role of a message as OpenAI writes it."""
    role = role_of(message)
    if role == "system":
        return str(message.additional_kwargs.get("__openai_role__", role))
    if role == "chat":
        return cast(ChatMessage, message).role
    return _ROLES.get(role, role)


def written_tools(tools: Sequence[Any]) -> list[str]:
    """Return tools as the JSON that a server is sent, about: a dict as it is, anything else as OpenAI's functions."""
    written: list[str] = []
    for tool in tools:
        if not isinstance(tool, Mapping):
            from hocket.tools import convert_to_openai_function  # only now: most conversations have no tools

            tool = convert_to_openai_function(tool)
        written.append(json.dumps(cast("Mapping[str, Any]", tool), ensure_ascii=False, default=str))
    return written
