"""The options that models have in common, each under one name whatever a server calls it.

An option may be given when a model is made, bound, and with a call: later beats earlier. None means unset: it is not
sent, and the server's own default counts; 0 is a value like any other. What an option is called on the wire is the
provider's data. A class of options has fields only for what its server takes: `ChatOptions` has what all take,
the other classes what some do; `hocket.language_models.option_policy` decides what becomes of the rest.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError
from pydantic_core import PydanticCustomError

from hocket._runtime.callers import warn_caller
from hocket.errors import InvalidInput, UnknownOption
from hocket.errors.hints import excerpt, near_name_hint

__all__ = [
    "INSTEAD",
    "OTHER_NAMES",
    "ChatOptions",
    "Count",
    "LogprobOptions",
    "Number",
    "PenaltyOptions",
    "PromptCache",
    "ResponseFormat",
    "SamplingOptions",
    "Stop",
    "TextOptions",
    "collect_options",
    "merge_options",
]


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _check_form(form: dict[str, Any]) -> dict[str, Any]:
    """Refuse a form that says of itself nothing that a server could go by. Which ones there are is the server's affair."""
    match form.get("type"), form.get("json_schema", form):  # some servers take the schema beside the type
        case "json_schema", {"schema": dict()}:
            return form
        case "json_schema", _:
            raise PydanticCustomError(_FORM, "a json_schema is {'name': ..., 'schema': ...}, the schema a dict")
        case str(), _:
            return form
        case _:
            raise PydanticCustomError(_FORM, "its 'type' is a text, such as json_object or json_schema")


_FORM = "response_format"
Number = Annotated[float, Field(allow_inf_nan=False)]
"""A number that is finite."""

Count = Annotated[int, Field(ge=1)]
"""A whole number, 1 at least."""

Stop = Annotated[list[str], BeforeValidator(_as_list)]
"""Texts that end the answer; one text is a list of one."""

ResponseFormat = Annotated[dict[str, Any], AfterValidator(_check_form)]
"""OpenAI's ``response_format``: a dict whose ``type`` is a text; a JSON schema has its name and the schema in it."""


PromptCache = Literal[True, False, "5m", "1h"]
"""Whether a prompt is to be kept in the provider's cache, or how long."""


class TextOptions(BaseModel, defer_build=True):
    """The options of whatever writes text.

    Args:
        temperature: 0 takes the likeliest token; the higher, the more varied.
        max_tokens: tokens to answer with at most, reasoning included.
        top_p: sample among the likeliest tokens that make up this share.
        top_k: sample among so many of the likeliest.
        stop: end the answer before any of these strings.
        extra_body: further fields of a request's body, as they are, over all others: what a server understands beyond
            these options, and an API's ``metadata``, since a model's own field of that name is for its runs.
    """

    temperature: Number | None = None
    max_tokens: Count | None = None
    top_p: Number | None = None
    top_k: int | None = None
    stop: Stop | None = None
    extra_body: dict[str, Any] | None = None

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return [(name, value) for name, value in super().__repr_args__() if value is not None]


class ChatOptions(TextOptions):
    """The options of all chat models: those of `TextOptions`, and these.

    Args:
        tools: what the model may call, as OpenAI's dicts; `bind_tools` makes them.
        tool_choice: auto, none, required (also any, or True), a tool's name, several names, or OpenAI's dict.
        functions, function_call: tools' deprecated predecessors.
        response_format: the form of the answer: ``{"type": "json_object"}``, or a JSON schema in OpenAI's dict.
        reasoning_effort: none, minimal, low, medium, high …
        prompt_cache: have the provider keep the prompt for the next call, which begins with it; "5m" and "1h" say how
            long, where a provider can be told. Nothing is sent where there is nothing to say.
    """

    tools: list[dict[str, Any]] | None = None
    tool_choice: str | bool | list[str] | dict[str, Any] | None = None
    functions: list[dict[str, Any]] | None = None
    function_call: str | dict[str, Any] | None = None
    response_format: ResponseFormat | None = None
    reasoning_effort: str | None = None
    prompt_cache: PromptCache | None = None


class PenaltyOptions(BaseModel, defer_build=True):
    """For a server that has these options: a class of options inherits this one, too.

    Args:
        seed: the same seed gives mostly the same answer.
        frequency_penalty, presence_penalty: above 0 holds back what was said often, or at all.
    """

    seed: int | None = None
    frequency_penalty: Number | None = None
    presence_penalty: Number | None = None


class SamplingOptions(PenaltyOptions):
    """For a server that has these options and those of `PenaltyOptions`, as most that run open weights do.

    Args:
        min_p: sample among those tokens that are at least this share as likely as the likeliest.
        repetition_penalty: above 1 holds back what was just said.
    """

    min_p: Number | None = None
    repetition_penalty: Number | None = None


class LogprobOptions(BaseModel, defer_build=True):
    """For a server that has these options.

    Args:
        logprobs: whether to report log probabilities.
        top_logprobs: report those of so many other tokens as well.
    """

    logprobs: bool | None = None
    top_logprobs: int | None = None


OTHER_NAMES: Mapping[str, str] = {
    "k": "top_k",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "max_tokens_to_sample": "max_tokens",
    "num_predict": "max_tokens",
    "p": "top_p",
    "random_seed": "seed",
    "repeat_penalty": "repetition_penalty",
    "stop_sequences": "stop",
}
"""Other libraries' names of options that mean the same, and hocket's."""

INSTEAD: Mapping[str, str] = {
    "background": "nothing: a call waits for its answer; timeout=... gives it the time that it needs",
    "disabled_params": "unsupported='drop', which leaves out what the model cannot take",
    "generation_config": "its entries as options of their own; what hocket has no name for goes into extra_body",
    "max_length": "max_tokens=..., the tokens of the answer",
    "json_mode": "response_format={'type': 'json_object'}",
    "metadata": "extra_body={'metadata': ...} to send it, or config={'metadata': ...} to tell handlers",
    "model_kwargs": "its entries as options of their own; what hocket has no name for goes into extra_body",
    "output_version": "nothing: reply.content_blocks shows any content in one form",
    "reasoning": "reasoning_effort=...; further fields of it go into extra_body",
    "response_json_schema": "response_format={'type': 'json_schema', 'json_schema': {...}}, or with_structured_output",
    "response_schema": "response_format={'type': 'json_schema', 'json_schema': {...}}, or with_structured_output",
    "use_responses_api": "ChatOpenAI(use_responses_api=True), when the model is made: it is no option of a call",
}
"""Other libraries' names that have no equal here, and what to write instead."""

Options = TypeVar("Options", bound=BaseModel)


def collect_options(holder: BaseModel, kind: type[BaseModel] | None = None) -> dict[str, Any]:
    """Return the options that are set: of a call's all, of a model's those of ``kind``."""
    fields = holder.__dict__
    names = fields if kind is None else kind.model_fields
    return {name: value for name in names if (value := fields[name]) is not None}


def merge_options(model: BaseModel, params: Mapping[str, Any], kind: type[Options]) -> Options:
    """Return one call's options, checked: those of the model, and over them those of the call.

    Tools are checked as `bind_tools` checks them. ``functions`` and ``function_call`` become tools and their choice.

    Args:
        model: whose own options count where the call says nothing.
        params: what the call says; ``extra_body`` goes over the model's key by key.
        kind: what options there are.

    Raises:
        InvalidInput: an unknown name, a value outside its limits, or something that is no tool; it names the first.
    """
    own = model.__dict__
    values = {name: value for name, has_default in _names(kind) if (value := own.get(name)) is not None or has_default}
    for name, value in params.items():
        values[OTHER_NAMES.get(name, name)] = value
    if own.get("extra_body") and params.get("extra_body"):
        values["extra_body"] = {**own["extra_body"], **params["extra_body"]}
    if values.get("functions") or values.get("function_call") or values.get("tools"):
        _check_tools(values)
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        unknown = tuple(str(one["loc"][0]) for one in faults if one["type"] == "extra_forbidden")
        first = faults[0]
        name = str(first["loc"][0]) if first["loc"] else "option"
        if first["type"] == "extra_forbidden":
            message = f"there is no option {excerpt(name)}; {_suggest(name, kind.model_fields)}"
            raise UnknownOption(message, unknown) from error
        raise InvalidInput(f"{name}={excerpt(first['input'])} will not do: {first['msg']}") from error


def _suggest(name: str, known: Collection[str]) -> str:
    """Return what to write instead of an unknown option."""
    if name in INSTEAD and ("extra_body" in known or "extra_body" not in INSTEAD[name]):
        return f"write {INSTEAD[name]}"
    if "extra_body" in known:
        return f"{near_name_hint(name, known)}; what only this server knows goes into extra_body"
    return f"known are: {', '.join(known)}" if name == "extra_body" else near_name_hint(name, known)


def _check_tools(values: dict[str, Any]) -> None:
    """Bring tools to one form, and their deprecated predecessors to tools."""
    from hocket.tools import convert_to_openai_tools  # a program without tools need not load them

    functions, choice = values.pop("functions", None), values.pop("function_call", None)
    if functions or choice:
        warn_caller("functions and function_call are deprecated; use tools and tool_choice", DeprecationWarning)
        described = [{"type": "function", "function": function} for function in functions or ()]
        values["tools"] = [*(values.get("tools") or ()), *described] or None
        if choice and values.get("tool_choice") is None:
            named = cast("Mapping[str, object]", choice).get("name") if isinstance(choice, Mapping) else choice
            values["tool_choice"] = named
    tools: Any = values.get("tools")
    if tools:
        values["tools"] = convert_to_openai_tools(tools)


@lru_cache
def _names(kind: type[BaseModel]) -> list[tuple[str, bool]]:
    """Return the names of options, and for each whether it has a default, which a None would have to take back."""
    return [(name, field.get_default() is not None) for name, field in kind.model_fields.items()]
