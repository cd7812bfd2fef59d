"""Messages and options, written as the body of Anthropic's messages API. Pure functions.

The API has two speakers who take turns, and instructions beside them, so that all results of one round of calls are one
turn of the user's.
"""

import functools
from collections.abc import Sequence

from hocket.errors import InvalidInput
from hocket.language_models.options import collect_options
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.providers.anthropic.content import encode_content
from hocket.providers.anthropic.marks import check_marks, place_marks
from hocket.providers.anthropic.options import AnthropicOptions
from hocket.providers.anthropic.tools import encode_tools, list_references
from hocket.remote.claude_effort import encode_effort
from hocket.remote.options import read_schema_form, write_options
from hocket.remote.turns import join_turns, split_instructions

__all__ = ["encode_conversation", "encode_request"]

_ELSEWHERE = (
    *("reasoning_effort", "response_format", "parallel_tool_calls", "thinking", "output_config"),
    *("user_id", "betas", "max_tokens"),
)


def encode_request(
    messages: Sequence[BaseMessage], options: AnthropicOptions, max_tokens: int, *, stream: bool
) -> Fields:
    """Return the body of a request.

    Args:
        messages: the conversation.
        options: those of this call.
        max_tokens: of the answer; the API wants to be told.
        stream: whether the answer is to come in pieces.

    Raises:
        InvalidInput: more than four marks for the cache; a tool choice that names no tool; or see `encode_conversation`.
        Unsupported: content, or a form of answer, that the API has no place for.
    """
    offered = encode_tools(options.tools or (), options.tool_choice, options.parallel_tool_calls)
    said = encode_conversation(messages, list_references(offered))
    body: Fields = {"model": options.model, "max_tokens": max_tokens, **said}
    body.update(write_options(collect_options(options), {}, *_ELSEWHERE))
    if options.stop:
        body["stop_sequences"] = options.stop
    if options.user_id:
        body["metadata"] = {"user_id": options.user_id}
    body.update(offered)
    effort = options.reasoning_effort
    body.update(encode_effort(effort, options.model, max_tokens, options.thinking, options.output_config))
    if options.response_format:
        body["output_config"] = {**body.get("output_config", {}), "format": _encode_format(options.response_format)}
    if stream:
        body["stream"] = True
    further = options.extra_body or {}
    body = place_marks(body, further, options.prompt_cache)
    check_marks({**body, **further})
    return body


def encode_conversation(messages: Sequence[BaseMessage], deferred: frozenset[str] = frozenset()) -> Fields:
    """Return the fields ``system`` and ``messages``; a turn that is a plain text is written as one.

    Args:
        messages: the conversation.
        deferred: the names of the tools that it may refer to.

    Raises:
        InvalidInput: nothing is asked; a message is of a speaker that the API does not know; or see `encode_content`.
        Unsupported: see `encode_content`.
    """
    instructions, others = split_instructions(messages)
    write = functools.partial(encode_content, deferred=deferred)
    turns = [{"role": role, "content": _shorten(blocks)} for role, blocks in join_turns(others, write)]
    if not turns:
        raise InvalidInput("nothing is asked: the conversation has no message but system messages; add a HumanMessage")
    system = [block for message in instructions for block in encode_content(message)]
    return {**({"system": _shorten(system)} if system else {}), "messages": turns}


def _shorten(blocks: list[Fields]) -> str | list[Fields]:
    [only, *others] = blocks
    return only["text"] if not others and only.keys() == {"type", "text"} else blocks


def _encode_format(form: FieldsView) -> Fields:
    return {"type": "json_schema", "schema": read_schema_form(form, "anthropic").get("schema", {})}
