"""Messages and options, written as the body of Anthropic's messages API. Pure functions.

Two rules shape it. The API has two speakers who take turns, and instructions beside them, so that all results of one
round of calls are one turn of the user's. And how much to think is said in two ways: newer models take an effort and
decide themselves (``adaptive``), older ones take a budget of tokens.
"""

import functools
import re
from collections.abc import Sequence

from hocket.errors import InvalidInput, Unsupported
from hocket.language_models.options import collect_options
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.providers.anthropic.content import encode_content
from hocket.providers.anthropic.marks import check_marks, place_marks
from hocket.providers.anthropic.options import AnthropicOptions
from hocket.providers.anthropic.tools import encode_tools, list_references
from hocket.remote.options import write_options
from hocket.remote.turns import join_turns, split_instructions

__all__ = ["encode_conversation", "encode_request", "encode_thinking"]

_ELSEWHERE = (
    *("reasoning_effort", "response_format", "parallel_tool_calls", "thinking", "output_config"),
    *("user_id", "betas", "max_tokens"),
)
_BUDGETED = re.compile(r".*claude-(3-7|(sonnet|opus)-4(?!-[5-9]\b)|(sonnet|haiku)-4-5)")
"""Models that think within a budget, and know no effort."""

_SHARES = {"minimal": 10, "low": 20, "medium": 50, "high": 80, "xhigh": 90, "max": 95}
"""The budget of each effort, in percent of the tokens of an answer."""

MIN_BUDGET, MAX_BUDGET = 1024, 128_000
"""The least budget that the API takes, and as many tokens as its models answer with at most."""


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
    body.update(encode_thinking(options, max_tokens))
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


def encode_thinking(options: AnthropicOptions, max_tokens: int) -> Fields:
    """Return what a body says of how much to think."""
    thinking, config, effort = options.thinking, dict(options.output_config or {}), options.reasoning_effort
    if effort == "none":
        thinking = thinking or {"type": "disabled"}
    elif effort is not None and _BUDGETED.match(options.model):
        thinking = thinking or {"type": "enabled", "budget_tokens": _compute_budget(effort, max_tokens)}
    elif effort is not None:
        thinking = thinking or {"type": "adaptive"}
        config["effort"] = "low" if effort == "minimal" else effort
    return {**({"thinking": thinking} if thinking else {}), **({"output_config": config} if config else {})}


def _compute_budget(effort: str, max_tokens: int) -> int:
    """Return the tokens to think with; a budget has to leave some of ``max_tokens`` for the answer.

    Raises:
        InvalidInput: there is no such effort, or there are too few tokens to think at all.
    """
    if effort not in _SHARES:
        raise InvalidInput(f"reasoning_effort={effort!r} is none of none, {', '.join(_SHARES)}")
    if max_tokens <= MIN_BUDGET:
        raise InvalidInput(
            f"reasoning_effort={effort!r} needs at least {MIN_BUDGET} tokens to think with, and max_tokens={max_tokens} "
            "leaves none for the answer; raise max_tokens"
        )
    return min(MAX_BUDGET, max(MIN_BUDGET, max_tokens * _SHARES[effort] // 100))


def _encode_format(form: FieldsView) -> Fields:
    if form.get("type") != "json_schema":
        raise Unsupported(
            f"an answer of the form {form.get('type')!r} cannot be asked for: the API takes a JSON schema; use "
            "with_structured_output(schema)",
            options=("response_format",),
            provider="anthropic",
        )
    return {"type": "json_schema", "schema": form.get("json_schema", form).get("schema", {})}
