"""A request to OpenAI's Responses API, read as messages and options. Pure functions.

Nothing is kept here from one request to the next, so what refers to something that the server would have kept is refused,
with the way out. Items stay as they came: hocket's messages hold items, too, and each provider reads them. What the model
has said in a row, reasoning and calls included, is one message.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import cast

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.base import Content
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats import read_block
from hocket.remote.message_parts import keep_standard
from hocket.serving.gateway.carried_reasoning import carries_reasoning, restore_reasoning
from hocket.serving.gateway.face import AnswerRequest
from hocket.serving.gateway.fields import check_part, find_field, read_object, read_tools, refuse_field, require_field
from hocket.serving.gateway.options import find_spare, read_options
from hocket.serving.refusals import Refusal

__all__ = ["read_responses_request"]

_KEPT: Mapping[str, str] = {
    "previous_response_id": "send the whole conversation in input",
    "conversation": "send the whole conversation in input",
    "background": "stream the answer, or wait for it",
    "prompt": "send its text in instructions and input",
}
"""Fields that need something that is kept, and what to do instead."""

_READ_HERE = frozenset(
    {
        *("model", "input", "instructions", "stream", "stream_options", "metadata", "tools", "tool_choice"),
        *("parallel_tool_calls", "max_output_tokens", "reasoning", "text", *_KEPT),
    }
)
_OWN = frozenset(
    {
        *("include", "truncation", "store", "reasoning", "reasoning_effort", "verbosity", "user", "text"),
        *("client_metadata", "context_management", "prompt_cache_key", "prompt_cache_retention", "safety_identifier"),
        *("max_tool_calls", "service_tier"),
    }
)
"""Options that are left out for models that do not take them: they change no word of the answer, or are OpenAI's own."""

_CALLS = frozenset({"function_call", "custom_tool_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_CLASSES: Mapping[str, type[BaseMessage]] = {
    "user": HumanMessage,
    "system": SystemMessage,
    "developer": SystemMessage,
}


def read_responses_request(body: bytes) -> AnswerRequest:
    """Return what a body asks for.

    Raises:
        Refusal: it is no JSON, or no request for a response, or needs what nobody keeps; it names the field.
    """
    fields = read_object(body)
    for name, way_out in _KEPT.items():
        if fields.get(name):
            raise Refusal(status=400, message=f"{name} is not served: nothing is kept here; {way_out}", param=name)
    options = _read_options(fields)
    tools, foreign = _read_tools(fields)
    return AnswerRequest(
        model=require_field(fields, "model", str, "the name of a model"),
        input=_read_input(fields),
        options=options,
        tools=tools,
        spare=find_spare({**options, **tools}, _OWN),
        stream=find_field(fields, "stream", bool, "true or false") or False,
        metadata=cast("Fields | None", find_field(fields, "metadata", dict, "an object")),
        foreign=foreign,
        may_pass=not carries_reasoning(body),
        body=fields,
    )


def _read_options(fields: FieldsView) -> Fields:
    options = read_options(fields, _READ_HERE)
    if (limit := find_field(fields, "max_output_tokens", int, "a whole number")) is not None:
        options["max_tokens"] = limit
    reasoning: Fields = dict(cast(Fields, find_field(fields, "reasoning", dict, "an object") or {}))
    if (effort := reasoning.pop("effort", None)) is not None:
        options["reasoning_effort"] = effort
    if reasoning := {name: value for name, value in reasoning.items() if value is not None}:
        options["reasoning"] = reasoning
    text = cast(Fields, find_field(fields, "text", dict, "an object") or {})
    if (verbosity := text.get("verbosity")) is not None:
        options["verbosity"] = verbosity
    form: object = text.get("format")
    match form:
        case None | {"type": "text"}:
            pass
        case {"type": "json_object"}:
            options["response_format"] = form
        case {"type": "json_schema", "schema": {}}:
            schema = {name: value for name, value in cast(Fields, form).items() if name != "type"}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        case _:
            raise refuse_field("text.format", form, "text, json_object, or json_schema with a schema")
    return options


def _read_tools(fields: FieldsView) -> tuple[Fields, list[Refusal]]:
    """Return the tools and the choice among them, as ``bind_tools`` takes them, and the foreign ones."""
    tools, foreign = read_tools(fields, "function", _read_tool)
    if not tools:
        return {}, foreign
    choice: object = fields.get("tool_choice")
    match choice:
        case {"type": "function", "name": str(name)}:
            choice = name
        case None | "auto" | "none" | "required":
            pass
        case _:
            raise refuse_field("tool_choice", choice, "auto, none, required, or a function by its name")
    made: Fields = {"tools": tools, "tool_choice": choice}
    made["parallel_tool_calls"] = find_field(fields, "parallel_tool_calls", bool, "true or false")
    return made, foreign


def _read_tool(tool: FieldsView) -> Fields | None:
    if not isinstance(tool.get("name"), str):
        return None
    function = {name: value for name, value in tool.items() if name != "type" and value is not None}
    return {"type": "function", "function": function}


def _read_input(fields: FieldsView) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    if instructions := find_field(fields, "instructions", str, "a text"):
        messages.append(SystemMessage(instructions))
    given = fields.get("input")
    if isinstance(given, str) and given:
        return [*messages, HumanMessage(given)]
    items = cast("list[object]", require_field(fields, "input", list, "a text, or a list of items"))
    numbered = [(f"input[{at}]", _check_item(item, f"input[{at}]")) for at, item in enumerate(items)]
    for is_reply, group in groupby(numbered, lambda one: _is_of_model(one[1])):
        if is_reply:
            messages.append(_read_reply([item for _, item in group]))
        else:
            messages += [_read_said(item, place) for place, item in group]
    return messages


def _check_item(item: object, place: str) -> Fields:
    match item:
        case {"type": "item_reference"}:
            expected = "an item itself, as many clients send it with store: false: nothing is kept here to refer to"
            raise refuse_field(place, item, expected)
        case {"type": object()} | {"role": str()}:
            check_part({"type": "message", **cast(Fields, item)}, place)
            return cast(Fields, item)
        case _:
            raise refuse_field(place, item, "an item with a type, or a message with a role")


def _is_of_model(item: FieldsView) -> bool:
    return item.get("type") in _CALLS or item.get("type") == "reasoning" or item.get("role") == "assistant"


def _read_reply(items: Sequence[Fields]) -> AIMessage:
    """Return what the model has said: items as they came, or, with another provider's reasoning, as standard blocks."""
    restored = [restore_reasoning(item.get("encrypted_content"), _join_summary(item)) for item in items]
    providers = [one[0] for one in restored if one is not None]
    if not providers:
        match items:
            case [{"role": _, "content": str(text)}]:
                return AIMessage(text)
            case _:
                return AIMessage([_as_item(item) for item in items])
    content: list[str | Fields] = []
    for item, reasoning in zip(items, restored, strict=True):
        content += [reasoning[1]] if reasoning is not None else map(keep_standard, read_block(_as_item(item)))
    return AIMessage(content, response_metadata={"model_provider": providers[-1]} if providers[-1] else {})


def _as_item(item: Fields) -> Fields:
    """Return an item in full: a message may say neither its type nor that its content is a list."""
    if "role" not in item:
        return item
    said: object = item.get("content")
    parts: object = [{"type": "output_text", "text": said}] if isinstance(said, str) else said
    return {"type": "message", **item, "content": parts}


def _join_summary(item: FieldsView) -> str:
    parts: object = item.get("summary")
    return "\n\n".join(_read_texts(cast("list[object]", parts))) if isinstance(parts, list) else ""


def _read_texts(parts: Iterable[object]) -> Iterator[str]:
    for part in parts:
        match part:
            case {"text": str(text)}:
                yield text
            case _:
                pass


def _read_said(item: FieldsView, place: str) -> BaseMessage:
    """Return what anybody but the model says: a person, the program, or a tool."""
    kind, role = item.get("type", "message"), item.get("role")
    if kind in _RESULTS:
        id, output = item.get("call_id"), item.get("output")
        if not isinstance(id, str) or not id:
            raise refuse_field(f"{place}.call_id", id, "the id of the call that it answers")
        return ToolMessage(_read_content(output, f"{place}.output"), tool_call_id=id)
    cls = _CLASSES.get(role) if isinstance(role, str) else None
    if kind != "message" or cls is None:
        raise refuse_field(place, dict(item), "a message, a function_call, its function_call_output, or reasoning")
    message = cls(_read_content(item.get("content"), f"{place}.content"))
    if role == "developer":
        message.additional_kwargs["__openai_role__"] = role  # LangChain's key for it
    return message


def _read_content(content: object, place: str) -> Content:
    match content:
        case str():
            return content
        case [{"type": "input_text", "text": str(text)}]:
            return text
        case list():
            return cast("list[str | Fields]", content)
        case _:
            raise refuse_field(place, content, "a text, or a list of parts with a type")
