"""What a call may say about how the model answers, in Bedrock's Converse API, beyond what all chat models have in common."""

from typing import Annotated, Literal

from pydantic import Field

from hocket.language_models.options import ChatOptions
from hocket.messages.content import Fields

__all__ = ["BedrockOptions"]


class BedrockOptions(ChatOptions):
    """The options of `ChatOptions`, and those that only this API has.

    Args:
        model: its name, that of an inference profile (``eu.anthropic.claude-…``), or an ARN.
        guardrail_config: the guardrail to hold both sides to: ``{"guardrailIdentifier": ..., "guardrailVersion": "1"}``.
        additional_model_request_fields: what only this model understands. They go over what ``reasoning_effort`` and
            ``top_k`` make of it, which are for models of Anthropic's alone.
        additional_model_response_field_paths: JSON pointers to what else the reply is to say of the model's own, at most
            10; it stands in ``response_metadata["additional_model_response_fields"]``.
        performance_config: ``{"latency": "optimized"}``.
        service_tier: priority, default, flex, reserved; or the API's dict.
        request_metadata: names and values for the logs of the invocation, at most 16.
    """

    model: str = Field(min_length=1)
    guardrail_config: Fields | None = None
    additional_model_request_fields: Fields | None = None
    additional_model_response_field_paths: Annotated[list[str], Field(max_length=10)] | None = None
    performance_config: Fields | None = None
    service_tier: Literal["priority", "default", "flex", "reserved"] | Fields | None = None
    request_metadata: Annotated[dict[str, str], Field(max_length=16)] | None = None
