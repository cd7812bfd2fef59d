"""A request to Anthropic's messages API, read as messages and options. Pure functions.

Content stays as it came: hocket's messages hold blocks of any provider, and each provider reads them. What only Anthropic's
models understand (``thinking``, ``cache_control`` ...) goes to them, and is left out for others.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from hocket.messages.base import Content
from hocket.messages.content import Fields, FieldsView
from hocket.serving.gateway.carried_reasoning import carries_reasoning, restore_reasoning
from hocket.serving.gateway.face import AnswerRequest
from hocket.serving.gateway.fields import (
    check_parts,
    find_field,
    find_stop,
    read_object,
    read_tools,
    refuse_field,
    require_field,
)
from hocket.serving.gateway.options import find_spare, read_options
from hocket.serving.refusals import Refusal

__all__ = ["read_count_request", "read_messages_request"]

_READ_HERE = frozenset(
    {
        *("model", "messages", "system", "stream", "stop_sequences", "tools", "tool_choice", "metadata"),
        "output_config",
    }
)
_OWN = frozenset(
    {
        *("max_tokens", "thinking", "reasoning_effort", "cache_control", "context_management", "service_tier"),
        *("user_id", "container", "inference_geo", "speed", "diagnostics"),
    }
)
"""Options that are left out for models that do not take them: the format demands one, and the others are Anthropic's."""

_CLASSES: Mapping[str, type[BaseMessage]] = {"user": HumanMessage, "system": SystemMessage}


def read_messages_request(body: bytes) -> AnswerRequest:
    """Return what a body asks for.

    Raises:
        Refusal: it is no JSON, or no request for a message; it names the field.
    """
    fields = read_object(body)
    require_field(fields, "max_tokens", int, "a whole number above 0")
    options = _read_options(fields)
    tools, foreign = _read_tools(fields)
    return AnswerRequest(
        model=require_field(fields, "model", str, "the name of a model"),
        input=_read_conversation(fields),
        options=options,
        tools=tools,
        spare=find_spare({**options, **tools}, _OWN),
        stream=find_field(fields, "stream", bool, "true or false") or False,
        foreign=foreign,
        may_pass=not carries_reasoning(body),
        body=fields,
    )


def read_count_request(body: bytes) -> AnswerRequest:
    """Return whose tokens a body asks for: a conversation, and tools.

    Raises:
        Refusal: as `read_messages_request`.
    """
    fields = read_object(body)
    model = require_field(fields, "model", str, "the name of a model")
    tools, foreign = _read_tools(fields)
    return AnswerRequest(model=model, input=_read_conversation(fields), tools=tools, foreign=foreign)


def _read_options(fields: FieldsView) -> Fields:
    options = read_options(fields, _READ_HERE)
    if (stop := find_stop(fields, "stop_sequences")) is not None:
        options["stop"] = stop
    metadata = cast(Fields, find_field(fields, "metadata", dict, "an object") or {})
    if isinstance(user := metadata.get("user_id"), str):
        options["user_id"] = user
    config: Fields = dict(cast(Fields, find_field(fields, "output_config", dict, "an object") or {}))
    if isinstance(effort := config.pop("effort", None), str):
        options["reasoning_effort"] = effort
    form: object = config.pop("format", None)
    match form:
        case {"type": "json_schema", "schema": {}}:
            schema = cast(Fields, form)["schema"]
            options["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        case None:
            pass
        case _:
            raise refuse_field("output_config.format", form, "a json_schema with its schema")
    return options


def _read_tools(fields: FieldsView) -> tuple[Fields, list[Refusal]]:
    """Return the tools and the choice among them, as ``bind_tools`` takes them, and the foreign ones."""
    tools, foreign = read_tools(fields, "custom", _read_tool)
    choice = cast("Fields | None", find_field(fields, "tool_choice", dict, "an object"))
    if not tools:
        return {}, foreign
    if choice is None:
        return {"tools": tools}, foreign
    parallel: object = choice.get("disable_parallel_tool_use")
    match choice:
        case {"type": "auto" | "any" | "none" as word}:
            made: Fields = {"tools": tools, "tool_choice": word}
        case {"type": "tool", "name": str(name)}:
            made = {"tools": tools, "tool_choice": name}
        case _:
            raise refuse_field("tool_choice", choice, "of the type auto, any, none, or tool with its name")
    return (made if parallel is None else {**made, "parallel_tool_calls": not parallel}), foreign


def _read_tool(given: FieldsView) -> Fields | None:
    if not isinstance(name := given.get("name"), str):
        return None
    function: Fields = {"name": name, "parameters": given.get("input_schema") or {"type": "object", "properties": {}}}
    function |= {key: given[key] for key in ("description", "strict") if given.get(key) is not None}
    known = ("name", "input_schema", "description", "strict", "type")
    extras = {key: value for key, value in given.items() if key not in known and value is not None}
    return {"type": "function", "function": function, **({"extras": extras} if extras else {})}


def _read_conversation(fields: FieldsView) -> list[BaseMessage]:
    given = cast("list[object]", require_field(fields, "messages", list, "a list of messages"))
    messages: list[BaseMessage] = []
    if system := fields.get("system"):
        messages.append(SystemMessage(_read_content(system, "system")))
    for at, one in enumerate(given):
        message = cast(Fields, one) if isinstance(one, dict) else {}
        role: object = message.get("role")
        if "role" in message and role not in ("assistant", *_CLASSES):
            raise refuse_field(f"messages[{at}].role", role, "user, assistant or system")
        if not isinstance(role, str) or "content" not in message:
            raise refuse_field(f"messages[{at}]", given[at], "an object with a role and a content")
        read = _read_content(message["content"], f"messages[{at}].content")
        messages.append(_read_reply(read) if role == "assistant" else _CLASSES[role](read))
    return messages


def _read_content(content: object, place: str) -> Content:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise refuse_field(place, content, "a text, or a list of blocks")
    check_parts(cast("list[object]", content), place)
    return cast("list[str | Fields]", content)


def _read_reply(content: Content) -> AIMessage:
    """Return what the model has said; reasoning of another provider's model as that provider's own."""
    if isinstance(content, str):
        return AIMessage(content)
    blocks: list[str | Fields] = []
    provider = ""
    for block in cast("Sequence[Fields]", content):
        restored = restore_reasoning(block.get("signature"), str(block.get("thinking") or ""))
        if restored is None:
            blocks.append(block)
        else:
            provider = restored[0] or provider
            blocks.append(restored[1])
    return AIMessage(blocks, response_metadata={"model_provider": provider} if provider else {})
