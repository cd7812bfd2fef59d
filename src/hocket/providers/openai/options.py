"""What a call may say about how the model answers, beyond the options that all chat models have in common.

`hocket.language_models.options` says where an option may be given, and which one counts. A server's own inventions go
through ``extra_body``.
"""

from typing import Any

from pydantic import Field

from hocket.language_models.options import ChatOptions

__all__ = ["ModelOptions"]


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
