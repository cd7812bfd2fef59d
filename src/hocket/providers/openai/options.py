"""What a call may say about how the model answers, and where the saying counts.

An option may be given when the model is made, bound, and with the call: later beats earlier. None means unset, and an
option that is unset is not sent, so that the server's own default counts; 0 is a value like any other. What the format
gets from a server's own inventions goes through ``extra_body``.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hocket.errors import InvalidInput, Unsupported
from hocket.http.service import Headers
from hocket.providers.openai.dialects import Dialect

__all__ = ["CallOptions", "ModelOptions", "call_options", "set_options"]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Stop = Annotated[list[str], BeforeValidator(_as_list)]


class ModelOptions(BaseModel):
    """The options that a model may have as its own, too.

    Args:
        model: its name with the server; Azure: that of the deployment.
        temperature: 0 takes the likeliest token; the higher, the more varied. Reasoning models refuse it.
        max_tokens: tokens to answer with at most, reasoning included; goes out under the name that the server knows.
        top_p: sample among the likeliest tokens that make up this share.
        n: how many answers; more than one only in one piece, not as a stream.
        stop: end the answer before any of these strings.
        seed: the same seed gives mostly the same answer.
        frequency_penalty, presence_penalty: above 0 holds back what was said often, or at all.
        logit_bias: what to add to a token's odds, by the token's id.
        logprobs: report log probabilities; ``top_logprobs``: those of so many other tokens as well.
        reasoning_effort: none, minimal, low, medium, high …
        verbosity: low, medium, high.
        service_tier: auto, default, flex, priority …
        prompt_cache_key, prompt_cache_retention, prompt_cache_options: how prompts are cached.
        safety_identifier: a stable name of the end user, hashed; ``user``: its predecessor.
        store: whether OpenAI keeps the answer.
        extra_body: further fields of the body, as they are, over all others: what a server understands beyond this list,
            and the API's ``metadata``, since a model's own field of that name is for its runs.
    """

    model: str = Field(min_length=1)
    temperature: Number | None = None
    max_tokens: Count | None = None
    top_p: Number | None = None
    n: Count | None = None
    stop: Stop | None = None
    seed: int | None = None
    frequency_penalty: Number | None = None
    presence_penalty: Number | None = None
    logit_bias: dict[int | str, int | float] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    reasoning_effort: str | None = None
    verbosity: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    safety_identifier: str | None = None
    user: str | None = None
    store: bool | None = None
    extra_body: dict[str, Any] | None = None


class CallOptions(ModelOptions):
    """One call's options: those of the model, and what only a call or a binding says.

    Args:
        tools: what the model may call, as the format's dicts.
        tool_choice: auto, none, required (also any, or True), a tool's name, several names, or the format's dict.
        parallel_tool_calls: whether it may call several at once.
        response_format: the form of the answer: ``{"type": "json_object"}``, or a JSON schema in the format's dict.
        modalities, audio: whether to speak, and how.
        prediction: what the answer is likely to be.
        web_search_options: how to search, for models that do.
        functions, function_call: tools' deprecated predecessors.
        extra_headers: further headers of the request. A secret among them is best a `SecretStr`, which does not show in
            the frames of a traceback either.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tools: list[dict[str, Any]] | None = None
    tool_choice: str | bool | list[str] | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None
    modalities: list[str] | None = None
    audio: dict[str, Any] | None = None
    prediction: dict[str, Any] | None = None
    web_search_options: dict[str, Any] | None = None
    functions: list[dict[str, Any]] | None = None
    function_call: str | dict[str, Any] | None = None
    extra_headers: Headers | None = None


Options = TypeVar("Options", bound=BaseModel)

UNNAMED = frozenset({"model", "max_tokens", "stop", "tools", "tool_choice", "extra_body", "extra_headers"})
"""Options that do not simply go into the body of a chat completion under their names."""


def call_options(own: Mapping[str, Any], given: Mapping[str, Any], kind: type[Options]) -> Options:
    """Return one call's options, checked.

    Args:
        own: the model's.
        given: those of the call, which go over them; ``extra_body`` key by key.
        kind: what options there are.

    Raises:
        InvalidInput: an unknown name, or a value outside its limits; it names the first.
    """
    values = {**own, **given}
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


def set_options(options: BaseModel, dialect: Dialect) -> dict[str, Any]:
    """Return the options that are set.

    Raises:
        Unsupported: the server ignores one of them, or has no word for it.
    """
    given = {name: value for name, value in options.__dict__.items() if value is not None}
    if refused := dialect.refuses & given.keys():
        raise Unsupported(f"{dialect.name} knows no {', '.join(sorted(refused))}; leave it out", provider=dialect.name)
    return given
