"""What a call may say about how the model answers, in Anthropic's API, beyond what all chat models have in common."""

from pydantic import Field

from hocket.language_models.options import ChatOptions
from hocket.messages.content import Fields

__all__ = ["AnthropicOptions"]


class AnthropicOptions(ChatOptions):
    """The options of `ChatOptions`, and those that only this API has.

    Args:
        model: its name.
        parallel_tool_calls: whether it may call several tools at once.
        thinking: ``{"type": "adaptive"}``, ``{"type": "enabled", "budget_tokens": 2048}``, ``{"type": "disabled"}``;
            with ``display`` and whatever else the API understands. Default: what ``reasoning_effort`` says.
        output_config: how much effort to make, and the form of the answer, in the API's words; what ``reasoning_effort``
            and ``response_format`` say goes over it.
        cache_control: a mark that has the whole prompt cached, such as ``{"type": "ephemeral"}``.
        user_id: a stable name of the end user, hashed: the API's ``metadata``.
        service_tier: auto, standard_only.
        speed: standard, fast.
        container, inference_geo, mcp_servers, context_management, diagnostics: as the API has them.
        betas: names of the API's betas to use, for the header ``anthropic-beta``: those of the model, of the call and of
            ``default_headers`` together. None in a call takes the model's back.
    """

    model: str = Field(min_length=1)
    parallel_tool_calls: bool | None = None
    thinking: Fields | None = None
    output_config: Fields | None = None
    cache_control: Fields | None = None
    user_id: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    container: str | Fields | None = None
    inference_geo: str | None = None
    mcp_servers: list[Fields] | None = None
    context_management: Fields | None = None
    diagnostics: Fields | None = None
    betas: list[str] | None = None
