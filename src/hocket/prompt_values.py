"""What a model is asked, in a form that chat models and text models both can read."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

from pydantic import SerializeAsAny

from hocket.load.serializable import Serializable
from hocket.messages import BaseMessage, HumanMessage, get_buffer_string

__all__ = ["ChatPromptValue", "PromptValue", "StringPromptValue"]


class PromptValue(Serializable, ABC):
    """A prompt that can be read as messages and as text."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Prompts travel as data."""
        return True

    @abstractmethod
    def to_string(self) -> str:
        """Return the prompt as text."""

    @abstractmethod
    def to_messages(self) -> list[BaseMessage]:
        """Return the prompt as messages."""


class StringPromptValue(PromptValue):
    """A text; as messages, one of the user's."""

    text: str
    type: Literal["StringPromptValue"] = "StringPromptValue"

    def to_string(self) -> str:
        """Return the text."""
        return self.text

    def to_messages(self) -> list[BaseMessage]:
        """Return one user message."""
        return [HumanMessage(self.text)]


class ChatPromptValue(PromptValue):
    """Messages; as text, one line ``Role: text`` each."""

    messages: Sequence[SerializeAsAny[BaseMessage]]

    def to_string(self) -> str:
        """Return the messages as one text (`hocket.messages.get_buffer_string`)."""
        return get_buffer_string(self.messages)

    def to_messages(self) -> list[BaseMessage]:
        """Return the messages, in a list of their own."""
        return list(self.messages)
