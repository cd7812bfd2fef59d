"""Messages and options, written as the body of a request to the Converse API. Pure functions.

The API has two speakers who take turns, and instructions beside them, so that all results of one round of calls are one
turn of the user's. What only one family of models understands goes into ``additionalModelRequestFields``.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from pydantic_core import to_json

from hocket.errors import InvalidInput
from hocket.language_models.options import collect_options
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.providers.bedrock.content import CACHE_POINT, encode_content, make_point
from hocket.providers.bedrock.options import BedrockOptions
from hocket.providers.bedrock.tools import encode_tools
from hocket.remote.claude_effort import encode_effort
from hocket.remote.options import read_schema_form
from hocket.remote.turns import join_turns, split_instructions

__all__ = ["encode_conversation", "encode_request", "is_anthropic"]

_INFERENCE = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP", "stop": "stopSequences"}
_WORDS = {
    "guardrail_config": "guardrailConfig",
    "additional_model_response_field_paths": "additionalModelResponseFieldPaths",
    "performance_config": "performanceConfig",
    "request_metadata": "requestMetadata",
}
_CACHING = re.compile(r"\b(anthropic\.|amazon\.nova)")
"""Models that take points of a cache; the second ones take none among tools."""


def is_anthropic(model: str) -> bool:
    """Whether a model is one of Anthropic's, by its name."""
    return "anthropic." in model


def encode_request(
    messages: Sequence[BaseMessage], options: BedrockOptions, choose_max_tokens: Callable[[], int]
) -> Fields:
    """Return the body of a request.

    Args:
        messages: the conversation.
        options: those of this call.
        choose_max_tokens: returns the tokens of an answer, where a budget for reasoning needs to know them.

    Raises:
        InvalidInput: a tool choice that names no tool; or see `encode_conversation`.
        Unsupported: content, or a form of answer, that the API has no place for.
    """
    values = collect_options(options)
    body = encode_conversation(messages, options.tools or (), options.tool_choice)
    inference = {word: values[name] for name, word in _INFERENCE.items() if name in values}
    further: Fields = {} if options.top_k is None else {"top_k": options.top_k}
    if options.reasoning_effort is not None:
        max_tokens = choose_max_tokens()
        further |= encode_effort(options.reasoning_effort, options.model, max_tokens)
        if "budget_tokens" in further.get("thinking", {}):
            inference["maxTokens"] = max_tokens
    further |= options.additional_model_request_fields or {}
    tier = {"type": options.service_tier} if isinstance(options.service_tier, str) else options.service_tier
    form = _encode_format(options.response_format) if options.response_format else {}
    said = {
        "inferenceConfig": inference,
        "additionalModelRequestFields": further,
        "outputConfig": form,
        "serviceTier": tier,
        **{word: values.get(name) for name, word in _WORDS.items()},
    }
    body |= {name: value for name, value in said.items() if value}
    if options.prompt_cache and _CACHING.search(options.model) and not any(_list_points(body)):
        lifetime = options.prompt_cache if options.prompt_cache == "1h" else None
        _place_points(body, make_point({"ttl": lifetime}), on_tools=is_anthropic(options.model))
    return body


def encode_conversation(
    messages: Sequence[BaseMessage], tools: Sequence[FieldsView] = (), choice: object = None
) -> Fields:
    """Return the fields ``messages``, ``system`` and ``toolConfig``.

    Args:
        messages: the conversation.
        tools, choice: what the model may call: see `encode_tools`.

    Raises:
        InvalidInput: nothing is asked; a message is of a speaker that the API does not know; or see `encode_content`.
        Unsupported: see `encode_content`.
    """
    instructions, others = split_instructions(messages)
    turns: list[Fields] = [{"role": role, "content": blocks} for role, blocks in join_turns(others, encode_content)]
    if not turns:
        raise InvalidInput("nothing is asked: the conversation has no message but system messages; add a HumanMessage")
    _name_documents(turns)
    system = [block for message in instructions for block in encode_content(message)]
    calls = (block["toolUse"] for turn in turns for block in turn["content"] if "toolUse" in block)
    called = [call["name"] for call in calls if "type" not in call]
    return {"messages": turns, **({"system": system} if system else {}), **encode_tools(tools, choice, called)}


def _name_documents(turns: Sequence[Fields]) -> None:
    """Give documents names as the API takes them, each another one. The blocks may be the user's: they are not changed."""
    seen: set[str] = set()

    def fit(blocks: list[Fields]) -> list[Fields]:
        return [_fit_document(block, seen) if "document" in block else block for block in blocks]

    for turn in turns:
        turn["content"][:] = [
            {"toolResult": {**block["toolResult"], "content": fit(block["toolResult"]["content"])}}
            if "toolResult" in block
            else block
            for block in fit(turn["content"])
        ]


def _fit_document(block: FieldsView, seen: set[str]) -> Fields:
    document = block["document"]
    words = re.sub(r"[^A-Za-z0-9\-()\[\]]+", " ", str(document.get("name") or "")).strip()[:190] or "document"
    number = next(number for number in range(1, len(seen) + 2) if f"{words} {number}" not in seen)
    seen.add(f"{words} {number}")
    return {"document": {**document, "name": words if number == 1 else f"{words} {number}"}}


def _encode_format(form: FieldsView) -> Fields:
    said = read_schema_form(form, "bedrock")
    named = {name: said[name] for name in ("name", "description") if said.get(name)}
    schema = {**named, "schema": to_json(said["schema"]).decode()}
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}


def _list_points(body: FieldsView) -> Iterator[bool]:
    """Yield for each block of a body whether it is a point of the cache."""
    tools = body.get("toolConfig", {}).get("tools", ())
    for blocks in (body.get("system", ()), tools, *(turn["content"] for turn in body["messages"])):
        yield from (CACHE_POINT in block for block in blocks)


def _place_points(body: Fields, point: FieldsView, *, on_tools: bool) -> None:
    """Add points after the tools, the instructions, the end of the request before and its own end: four is the most.

    The API looks for an older prompt at the points of a new one, so the end of the request before has one again.
    """
    if on_tools and "toolConfig" in body:
        body["toolConfig"]["tools"].append(point)
    if "system" in body:
        body["system"].append(point)
    turns: list[Fields] = body["messages"]
    reply = max((at for at, turn in enumerate(turns) if turn["role"] == "assistant"), default=0)
    for at in {max(0, reply - 1), len(turns) - 1}:
        turns[at]["content"].append(point)
