"""The options that models have in common, each under one name whatever a server calls it.

An option may be given when a model is made, bound, and with a call: later beats earlier. None means unset: it is not
sent, and the server's own default counts; 0 is a value like any other. What an option is called on the wire, and which
ones a server has no word for, is the provider's data; `hocket.language_models.option_policy` decides what becomes of
those.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from hocket.errors import InvalidInput

__all__ = ["ChatOptions", "Count", "Number", "Stop", "TextOptions", "checked_options", "set_options"]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Stop = Annotated[list[str], BeforeValidator(_as_list)]


class TextOptions(BaseModel):
    """The options of whatever writes text.

    Args:
        temperature: 0 takes the likeliest token; the higher, the more varied.
        max_tokens: tokens to answer with at most, reasoning included.
        top_p: sample among the likeliest tokens that make up this share; ``top_k``: among so many; ``min_p``: among those
            that are at least this share as likely as the likeliest.
        seed: the same seed gives mostly the same answer.
        stop: end the answer before any of these strings.
        n: how many answers; more than one only in one piece, not as a stream. ``candidate_count``: Google's name of it.
        min_length, max_length: tokens to answer with at least and at most, with the few servers that have such limits.
        repetition_penalty: above 1 holds back what was just said.
        frequency_penalty, presence_penalty: above 0 holds back what was said often, or at all.
        logit_bias: what to add to a token's odds, by the token's id.
        extra_body: further fields of a request's body, as they are, over all others: what a server understands beyond
            these options, and an API's ``metadata``, since a model's own field of that name is for its runs.
    """

    temperature: Number | None = None
    max_tokens: Count | None = None
    top_p: Number | None = None
    top_k: int | None = None
    min_p: Number | None = None
    seed: int | None = None
    stop: Stop | None = None
    n: Count | None = None
    candidate_count: Count | None = None
    min_length: int | None = Field(default=None, ge=0)
    max_length: int | None = Field(default=None, ge=0)
    repetition_penalty: Number | None = None
    frequency_penalty: Number | None = None
    presence_penalty: Number | None = None
    logit_bias: dict[int | str, int | float] | None = None
    extra_body: dict[str, Any] | None = None

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return [(name, value) for name, value in super().__repr_args__() if value is not None]


class ChatOptions(TextOptions):
    """The options of chat models: those of `TextOptions`, and these.

    Args:
        tools: what the model may call, as OpenAI's dicts; `bind_tools` makes them.
        tool_choice: auto, none, required (also any, or True), a tool's name, several names, or OpenAI's dict.
        parallel_tool_calls: whether it may call several at once.
        functions, function_call: tools' deprecated predecessors.
        response_format: the form of the answer: ``{"type": "json_object"}``, or a JSON schema in OpenAI's dict.
        response_mime_type: Google's way to say so; not together with ``response_format``.
        reasoning_effort: none, minimal, low, medium, high …
        logprobs: report log probabilities; ``top_logprobs``: those of so many other tokens as well.
    """

    tools: list[dict[str, Any]] | None = None
    tool_choice: str | bool | list[str] | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    functions: list[dict[str, Any]] | None = None
    function_call: str | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    response_mime_type: str | None = None
    reasoning_effort: str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None


Options = TypeVar("Options", bound=BaseModel)


def set_options(holder: BaseModel, kind: type[BaseModel] | None = None) -> dict[str, Any]:
    """Return the options that are set: of a call's all, of a model's those of ``kind``."""
    fields = holder.__dict__
    names = fields if kind is None else kind.model_fields
    return {name: value for name in names if (value := fields[name]) is not None}


def checked_options(model: BaseModel, given: Mapping[str, Any], kind: type[Options]) -> Options:
    """Return one call's options, checked.

    Args:
        model: whose own options count where the call says nothing.
        given: what the call says; ``extra_body`` goes over the model's key by key.
        kind: what options there are.

    Raises:
        InvalidInput: an unknown name, or a value outside its limits; it names the first.
    """
    own = model.__dict__
    values = {name: value for name, has in _defaults(kind) if (value := own.get(name)) is not None or has}
    values.update(given)
    if own.get("extra_body") and given.get("extra_body"):
        values["extra_body"] = {**own["extra_body"], **given["extra_body"]}
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "option"
        if first["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields)
            raise InvalidInput(
                f"there is no option {name!r}; there are {known}; what only this server knows goes into extra_body"
            ) from error
        raise InvalidInput(f"{name}={first['input']!r} will not do: {first['msg']}") from error


@lru_cache
def _defaults(kind: type[BaseModel]) -> list[tuple[str, bool]]:
    """Return the names of options, and for each whether it has a default, which a None would have to take back."""
    return [(name, field.get_default() is not None) for name, field in kind.model_fields.items()]
