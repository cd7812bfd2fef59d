"""What a model can take and give, as data, under LangChain's names."""

from pydantic import with_config
from typing_extensions import TypedDict

__all__ = ["ModelProfile", "ModelProfileRegistry"]


@with_config(extra="allow")  # as LangChain's: profiles grow
class ModelProfile(TypedDict, total=False):
    """What a model can take and give. A key that is absent says that it is not known.

    Attributes:
        name: for readers.
        status: such as ``deprecated``.
        release_date, last_updated: as ISO 8601 dates.
        open_weights: whether the weights are public.
        max_input_tokens: tokens that a conversation may have at most; where prompt and answer share one window, the window.
        max_output_tokens: tokens that an answer may have at most, reasoning included.
        system_messages: whether a message may be of the role ``system``, or ``developer``.
        text_inputs, image_inputs, image_url_inputs, pdf_inputs, audio_inputs, video_inputs: what a message may hold.
        image_tool_message, pdf_tool_message: what a tool's result may hold.
        text_outputs, image_outputs, audio_outputs, video_outputs: what an answer may hold.
        reasoning_output: whether it reasons before it answers.
        reasoning_effort_levels, reasoning_effort_default: what it can be told of how hard to think.
        tool_calling: whether it can be given tools.
        tool_choice: whether a call can be demanded.
        tool_call_streaming: whether calls come in pieces.
        mid_conversation_system_messages, mid_conversation_tools: what may come after the first turn.
        tool_search: whether tools can be kept out of the prompt until they are found (``defer_loading``).
        structured_output: whether the server can hold it to a JSON schema.
        attachment: whether files may be attached.
        temperature: whether it takes a temperature; a model that does not takes no other option of sampling either.
    """

    name: str
    status: str
    release_date: str
    last_updated: str
    open_weights: bool

    max_input_tokens: int
    system_messages: bool
    text_inputs: bool
    image_inputs: bool
    image_url_inputs: bool
    pdf_inputs: bool
    audio_inputs: bool
    video_inputs: bool
    image_tool_message: bool
    pdf_tool_message: bool

    max_output_tokens: int
    text_outputs: bool
    image_outputs: bool
    audio_outputs: bool
    video_outputs: bool
    reasoning_output: bool
    reasoning_effort_levels: list[str]
    reasoning_effort_default: str

    tool_calling: bool
    tool_choice: bool
    tool_call_streaming: bool
    mid_conversation_system_messages: bool
    mid_conversation_tools: bool
    tool_search: bool
    structured_output: bool
    attachment: bool
    temperature: bool


ModelProfileRegistry = dict[str, ModelProfile]
"""Profiles by the names of their models (LangChain's name)."""
