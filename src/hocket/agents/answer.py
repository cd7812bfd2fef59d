"""What a reply without calls says: the answer of the run, or why it is none."""

from typing import Any

from hocket.agents.model_call import FEEDBACK
from hocket.agents.structured import AnswerFormat
from hocket.errors import ContentFiltered, LLMError, OutputParserException
from hocket.language_models.structured.answers import find_obstacle
from hocket.message_toolkit.repair import is_empty
from hocket.messages import AIMessage

__all__ = ["is_broken_off", "is_paused", "is_silent", "read_answer"]

_EMPTY = "Your reply was empty. Call a tool, or give your answer."


def is_broken_off(error: BaseException) -> bool:
    """Whether an error is that an answer has begun and does not go on: too slow, or the connection broke."""
    return isinstance(error, LLMError) and error.partial is not None and not isinstance(error, ContentFiltered)


def is_paused(reply: AIMessage) -> bool:
    """Whether the provider stopped in the middle, since a tool of its own takes long: sent back, the reply goes on."""
    return reply.response_metadata.get("normalized_finish_reason") == "paused"


def read_answer(reply: AIMessage, answer: AnswerFormat[Any] | None) -> Any:
    """Return the answer of a reply: its text, which may be that of a refusal; or the object that the text has as JSON.

    Raises:
        OutputParserException: there is none, or it does not fit; ``observation`` says why, and what to do.
        ContentFiltered: the model refuses, and says nothing, or an object was asked for.
    """
    obstacle = find_obstacle(reply)
    text = reply.text or str(reply.additional_kwargs.get("refusal") or "")
    if isinstance(obstacle, ContentFiltered) and (answer is not None or not text):
        raise obstacle
    feedback = reply.response_metadata.get(FEEDBACK) or (_EMPTY if not text and is_silent(reply) else None)
    if feedback is not None:
        raise OutputParserException("the reply is no answer", observation=feedback, llm_output=text)
    return text if answer is None else answer.read_text(text)


def is_silent(reply: AIMessage) -> bool:
    """Whether a reply says nothing, or only what the model thought."""
    return is_empty(reply) or (not reply.text and all(block["type"] == "reasoning" for block in reply.content_blocks))
