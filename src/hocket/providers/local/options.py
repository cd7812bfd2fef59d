"""What can be said of how the embedded model answers, and the limits of each value.

The runtime ignores a name that it does not know and a value of the wrong type, so both are refused before it is asked.
"""

import os
from typing import Annotated, Any, ClassVar, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from hocket.language_models.options import PromptCache, ResponseFormat, SamplingOptions, TextOptions

__all__ = ["CallOptions", "ModelOptions"]

RANDOM_SEED = 2**32 - 1  # LLAMA_DEFAULT_SEED: means "a new one each time" to the runtime


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _as_text(path: object) -> object:
    return os.fspath(cast("os.PathLike[str]", path)) if isinstance(path, os.PathLike) else path


def _check_tools(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for tool in tools:
        function: Any = tool.get("function")
        if not isinstance(function, dict) or not isinstance(cast("dict[str, Any]", function).get("name"), str):
            raise ValueError("a tool is a dict like {'type': 'function', 'function': {'name': ..., 'parameters': ...}}")
    return tools


GgufPath = Annotated[str, BeforeValidator(_as_text), Field(min_length=1)]
Temperature = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]
Penalty = Annotated[float, Field(gt=0, le=2)]
Seed = Annotated[int, Field(ge=0, lt=RANDOM_SEED)]
Stop = Annotated[list[Annotated[str, Field(min_length=1)]], BeforeValidator(_as_list)]
Tools = Annotated[list[dict[str, Any]], AfterValidator(_check_tools)]


class ModelOptions(SamplingOptions, TextOptions):
    """The options that the embedded model takes; None: the runtime's own default.

    Args:
        model: path of a GGUF file. Default: the environment's ``HOCKET_LOCAL_MODEL``, else SmolLM2 from its wheel.
        temperature: 0 takes the likeliest token: the same question gets the same answer. The higher, the more varied.
        top_p, top_k, min_p: sample among the likeliest tokens only.
        repetition_penalty: above 1 holds back what was just said. Very small models then avoid the right word, too; the
            default weights have something better against going round in circles (docs/decisions/010).
        frequency_penalty, presence_penalty: above 0 holds back what was said often, or at all.
        max_tokens: tokens to answer with at most; None for as many as the window holds.
        seed: the same seed gives the same answer to the same conversation, unless another request runs beside it.
        stop: end the answer before any of these strings.
        tools, tool_choice, response_format: as OpenAI writes them.
        prompt_cache: as every chat model takes it. The runtime keeps the last prompt whatever it says.
        extra_body: further fields of the runtime's request, as they are.
    """

    model: GgufPath | None = None
    temperature: Temperature | None = 0
    top_p: Share | None = 0.9
    repetition_penalty: Penalty | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = 512
    seed: Seed | None = None
    stop: Stop | None = None
    tools: Tools | None = None
    tool_choice: str | bool | list[str] | dict[str, Any] | None = None
    response_format: ResponseFormat | None = None
    prompt_cache: PromptCache | None = None


class CallOptions(ModelOptions):
    """One call's options."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)
