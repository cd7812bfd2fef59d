"""What a call may say about how the model answers, in Mistral's API, beyond what all chat models have in common."""

from pydantic import Field

from hocket.language_models.options import ChatOptions, Count, LogprobOptions, Number, PenaltyOptions
from hocket.messages.content import Fields

__all__ = ["MistralOptions"]


class MistralOptions(PenaltyOptions, LogprobOptions, ChatOptions):
    """The options of `ChatOptions`, `PenaltyOptions` and `LogprobOptions`, and those that only this API has.

    Args:
        model: its name.
        n: how many answers; more than one only in one piece, not as a stream.
        repetition_penalty: above 1 holds back what was just said.
        parallel_tool_calls: whether it may call several tools at once.
        safe_prompt: have the API put its own safety instructions before the conversation.
        prompt_mode: "reasoning" has the API put its own instructions to reason before the conversation.
        prediction: what the answer is likely to be: ``{"type": "content", "content": "..."}``.
        prompt_cache_key: names a prompt whose beginning is to be found in the cache.
        min_tokens: tokens to answer with at least.
        guardrails: checks of what is asked and answered, as the API has them.
        service_tier: auto, standard_only.
    """

    model: str = Field(min_length=1)
    n: Count | None = None
    repetition_penalty: Number | None = None
    parallel_tool_calls: bool | None = None
    safe_prompt: bool | None = None
    prompt_mode: str | None = None
    prediction: Fields | None = None
    prompt_cache_key: str | None = None
    min_tokens: int | None = Field(default=None, ge=0)
    guardrails: list[Fields] | None = None
    service_tier: str | None = None
