"""What a call may say about how the model answers, in the Gemini API, beyond what all chat models have in common."""

from pydantic import Field

from hocket.language_models.options import ChatOptions, Count, LogprobOptions, PenaltyOptions
from hocket.messages.content import Fields

__all__ = ["GoogleOptions"]


class GoogleOptions(PenaltyOptions, LogprobOptions, ChatOptions):
    """The options of `ChatOptions`, `PenaltyOptions` and `LogprobOptions`, and those that only this API has.

    Args:
        model: its name, with or without ``models/``.
        n, candidate_count: how many answers; more than one only in one piece, not as a stream.
        response_mime_type: the API's way to say what ``response_format`` says; not together with it.
        thinking_level: minimal, low, medium, high, xhigh: how much to think; of Gemini 3 and later.
        thinking_budget: tokens to think with; 0: not at all; -1: the model decides. Of Gemini 2.5.
        include_thoughts: whether the answer tells a summary of its reasoning.
        safety_settings: categories of harm and from where on each is blocked, by name, or as the API has them:
            ``[{"category": ..., "threshold": ...}]``.
        cached_content: the name of a cached beginning of the conversation.
        response_modalities: what the answer is made of: TEXT, IMAGE, AUDIO.
        image_config, speech_config, media_resolution: as the API has them.
        labels: names and values for the bill, with Vertex.
        service_tier: flex, standard, priority.
        tool_config: what the API is to know of tools besides the choice: ``{"retrievalConfig": ...}``.

    ``reasoning_effort`` becomes a level or a budget, as the model has it. ``none`` is the least that it can: level
    minimal, or no budget at all. Fields of ``generationConfig`` in ``extra_body`` go over those that options make.
    """

    model: str = Field(min_length=1)
    n: Count | None = None
    candidate_count: Count | None = None
    response_mime_type: str | None = None
    thinking_level: str | None = None
    thinking_budget: int | None = Field(default=None, ge=-1)
    include_thoughts: bool | None = None
    safety_settings: dict[str, str] | list[Fields] | None = None
    cached_content: str | None = None
    response_modalities: list[str] | None = None
    image_config: Fields | None = None
    speech_config: Fields | None = None
    media_resolution: str | None = None
    labels: dict[str, str] | None = None
    service_tier: str | None = None
    tool_config: Fields | None = None
