"""What the text style needs: how a conversation is shown to a model that calls no tools, and how its reply is read.

`ReActFormat` is one. Another prompter or parser is an object with the same methods.
"""

from collections.abc import Sequence
from typing import Protocol

from hocket.message_toolkit.repair import is_empty
from hocket.messages import AIMessage, BaseMessage, HumanMessage
from hocket.messages.base import copy_message
from hocket.tools import BaseTool
from hocket.tools.result_messages import cut_content

__all__ = ["FEEDBACK_NAME", "AnswerFilter", "TextFormat", "TextReply", "make_feedback"]

FEEDBACK_NAME = "format_feedback"
"""The ``name`` of a human message that tells the model why its reply could not be used: it asks no question."""


class TextReply(Protocol):
    """A reply, read."""

    @property
    def message(self) -> AIMessage:
        """The message that the reply stands for, with its tool calls."""
        ...

    @property
    def feedback(self) -> str | None:
        """What the model is told of a reply that could not be read; None: it could."""
        ...


class AnswerFilter(Protocol):
    """Lets through what the user is to see of a reply that is being written."""

    def feed(self, text: str) -> str:
        """Take a piece of the reply, and return what may be shown now."""
        ...

    def close(self) -> str:
        """Return what was held back, as far as it is to be shown."""
        ...


class TextFormat(Protocol):
    """How a conversation with tools is written as text. One object serves all runs, at once."""

    @property
    def stop(self) -> Sequence[str]:
        """Words before which the model is to stop, where it takes such."""
        ...

    def render(self, messages: Sequence[BaseMessage], tools: Sequence[BaseTool]) -> list[BaseMessage]:
        """Return what is sent instead of a conversation; without tools, it asks for the answer."""
        ...

    def read(self, reply: AIMessage, tools: Sequence[BaseTool]) -> TextReply:
        """Return a reply as it would have come from a model that calls tools."""
        ...

    def stream_filter(self) -> AnswerFilter:
        """Return a filter for one reply."""
        ...


def make_feedback(reply: AIMessage, feedback: str, max_chars: int | None) -> list[BaseMessage]:
    """Return what the model is shown of a reply that could not be read: the reply, unless it is empty, and what was wrong.

    Of the reply ``max_chars`` are shown; how many more there were is said.
    """
    shown: list[BaseMessage] = [] if is_empty(reply) else [reply]
    if shown and max_chars is not None:
        content, missing = cut_content(reply.content, max_chars)
        if missing:
            shown = [copy_message(reply, content=content)]
            feedback += f"\n[Your reply was too long: {missing} more characters are left out.]"
    return [*shown, HumanMessage(feedback, name=FEEDBACK_NAME)]
