"""What a call may say about how the model answers, in OpenAI's chat APIs, beyond what all chat models have in common."""

from typing import Any

from pydantic import Field

from hocket.language_models.options import ChatOptions, Count, LogprobOptions, SamplingOptions
from hocket.messages.content import Fields

__all__ = ["OF_COMPLETIONS", "OF_RESPONSES", "ModelOptions"]

OF_RESPONSES = frozenset(
    {
        *("reasoning", "text", "include", "truncation", "max_tool_calls", "context_management"),
        *("conversation", "previous_response_id", "use_previous_response_id"),
    }
)
"""Options that only the Responses API has."""

OF_COMPLETIONS = frozenset({"modalities", "audio", "prediction", "web_search_options"})
"""Options beyond those of all chat models that only chat completions have."""


class ModelOptions(SamplingOptions, LogprobOptions, ChatOptions):
    """The options of `ChatOptions`, `SamplingOptions` and `LogprobOptions`, and those that only these APIs have.

    Which of them a server takes, says its dialect: OpenAI's own takes no ``top_k``.

    Args:
        model: its name with the server; Azure: that of the deployment.
        n: how many answers; more than one only in one piece, not as a stream.
        min_length: tokens to answer with at least.
        logit_bias: what to add to a token's odds, by the token's id.
        parallel_tool_calls: whether it may call several tools at once.
        verbosity: low, medium, high.
        service_tier: auto, default, flex, priority …
        prompt_cache_key, prompt_cache_retention, prompt_cache_options: how prompts are cached.
        safety_identifier: a stable name of the end user, hashed.
        user: its predecessor.
        store: whether OpenAI keeps the answer.
        modalities, audio: whether to speak, and how. With chat completions only, as are the next two.
        prediction: what the answer is likely to be.
        web_search_options: how to search, for models that do.
        reasoning: how to reason, in the API's words: ``{"effort": "low", "summary": "auto"}``. With the Responses API
            only, as are all that follow.
        text: form and verbosity of the answer, in the API's words.
        include: what else the answer is to hold. With ``store=False`` the encrypted reasoning is asked for by itself.
        truncation: "auto" lets the server shorten a conversation that is too long.
        max_tool_calls: calls of the server's own tools at most.
        context_management: when the server is to condense the conversation.
        conversation: one that the server keeps, which this call goes on with.
        previous_response_id: an answer that the server keeps, which this call goes on from: of the messages, those after
            that answer are sent, or all, if it is not among them.
        use_previous_response_id: whether to go on so from the last answer of the messages that the server has named.
    """

    model: str = Field(min_length=1)
    n: Count | None = None
    min_length: int | None = Field(default=None, ge=0)
    logit_bias: dict[int | str, int | float] | None = None
    parallel_tool_calls: bool | None = None
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
    reasoning: Fields | None = None
    text: Fields | None = None
    include: list[str] | None = None
    truncation: str | None = None
    max_tool_calls: int | None = None
    context_management: list[Fields] | None = None
    conversation: str | Fields | None = None
    previous_response_id: str | None = None
    use_previous_response_id: bool | None = None
