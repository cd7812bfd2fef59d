"""What a call may say about how the model answers, beyond the options that all chat models have in common.

`hocket.language_models.options` says where an option may be given, and which saying counts. What the format gets from a
server's own inventions goes through ``extra_body``.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field

from hocket.language_models.options import ChatOptions
from hocket.remote.service import Headers

__all__ = ["CallOptions", "ModelOptions", "encode_options"]


class ModelOptions(ChatOptions):
    """The options of `ChatOptions`, and those that only this format has.

    Args:
        model: its name with the server; Azure: that of the deployment.
        verbosity: low, medium, high.
        service_tier: auto, default, flex, priority …
        prompt_cache_key, prompt_cache_retention, prompt_cache_options: how prompts are cached.
        safety_identifier: a stable name of the end user, hashed; ``user``: its predecessor.
        store: whether OpenAI keeps the answer.
        modalities, audio: whether to speak, and how.
        prediction: what the answer is likely to be.
        web_search_options: how to search, for models that do.
    """

    model: str = Field(min_length=1)
    verbosity: str | None = None
    service_tier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prompt_cache_options: dict[str, Any] | None = None
    safety_identifier: str | None = None
    user: str | None = None
    store: bool | None = None
    modalities: list[str] | None = None
    audio: dict[str, Any] | None = None
    prediction: dict[str, Any] | None = None
    web_search_options: dict[str, Any] | None = None


class CallOptions(ModelOptions):
    """One call's options: those of the model, and ``extra_headers``, further headers of the request.

    A secret among the headers is best a `SecretStr`, which does not show in the frames of a traceback either.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    extra_headers: Headers | None = None


_ELSEWHERE = frozenset({"model", "stop", "tools", "tool_choice", "extra_body", "extra_headers"})
"""Options that do not simply go into the body under their names: see who encodes them."""


def encode_options(given: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Return options as fields of a body; ``words``: what the server calls those that have another name with it."""
    return {words.get(name, name): value for name, value in given.items() if name not in _ELSEWHERE}
