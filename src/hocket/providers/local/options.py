"""What a call may say about how the embedded model answers, and the limits of each value.

The runtime ignores a name that it does not know and a value of the wrong type, so both are refused before it is asked.
"""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hocket.errors import InvalidInput

__all__ = ["CallOptions", "MaxTokens", "RepeatPenalty", "Seed", "Stop", "Temperature", "TopP", "call_options"]

RANDOM_SEED = 2**32 - 1  # LLAMA_DEFAULT_SEED: means "a new one each time" to the runtime


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _named(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for tool in tools:
        function: Any = tool.get("function")
        if not isinstance(function, dict) or not isinstance(cast("dict[str, Any]", function).get("name"), str):
            raise ValueError("a tool is a dict like {'type': 'function', 'function': {'name': ..., 'parameters': ...}}")
    return tools


Temperature = Annotated[float, Field(ge=0, allow_inf_nan=False)]
TopP = Annotated[float, Field(gt=0, le=1)]
RepeatPenalty = Annotated[float, Field(gt=0, le=2)]
MaxTokens = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=RANDOM_SEED)]
Stop = Annotated[list[Annotated[str, Field(min_length=1)]], BeforeValidator(_as_list)]
Tools = Annotated[list[dict[str, Any]], AfterValidator(_named)]


class CallOptions(BaseModel):
    """One call's options; `ChatLocal` says what they mean."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: Temperature
    top_p: TopP
    repeat_penalty: RepeatPenalty = 1.1
    max_tokens: MaxTokens | None
    seed: Seed | None = None
    stop: Stop | None = None
    tools: Tools | None = None
    tool_choice: str | bool | list[str] | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None


def call_options(values: Mapping[str, Any]) -> CallOptions:
    """Return the options, checked.

    Raises:
        InvalidInput: an unknown name, or a value outside its limits; it names the first.
    """
    try:
        return CallOptions.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = first["loc"][0] if first["loc"] else "option"
        if first["type"] == "extra_forbidden":
            known = ", ".join(CallOptions.model_fields)
            raise InvalidInput(f"the embedded model has no option {str(name)!r}; it takes {known}") from error
        raise InvalidInput(f"{name}={first['input']!r} will not do: {first['msg']}") from error
