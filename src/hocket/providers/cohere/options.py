"""What a call may say about how the model answers, in Cohere's API, beyond what all chat models have in common."""

from pydantic import Field

from hocket.language_models.options import ChatOptions, PenaltyOptions
from hocket.messages.content import Fields

__all__ = ["CohereOptions"]


class CohereOptions(PenaltyOptions, ChatOptions):
    """The options of `ChatOptions` and `PenaltyOptions`, and those that only this API has.

    Args:
        model: its name.
        logprobs: whether to report log probabilities.
        thinking: ``{"type": "enabled", "token_budget": 2000}`` or ``{"type": "disabled"}``. Default: what
            ``reasoning_effort`` says.
        documents: what the answer is to be based on, and to cite: texts, or ``{"id": ..., "data": {...}}``.
        citation_options: such as ``{"mode": "FAST"}``.
        safety_mode: CONTEXTUAL, STRICT, OFF.
        strict_tools: whether calls are held to the tools' schemas. Default: if all tools say ``strict``.
        priority: 0, the default, is the highest: the higher the number, the later a request is dealt with under load.
    """

    model: str = Field(min_length=1)
    logprobs: bool | None = None
    thinking: Fields | None = None
    documents: list[str | Fields] | None = None
    citation_options: Fields | None = None
    safety_mode: str | None = None
    strict_tools: bool | None = None
    priority: int | None = None
