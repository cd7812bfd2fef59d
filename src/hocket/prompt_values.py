"""What a model is asked, in a form that chat models and text models both can read."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

from pydantic import SerializeAsAny
from typing_extensions import TypedDict  # pydantic refuses typing's TypedDict before Python 3.12

from hocket.load.serializable import Serializable
from hocket.messages import AnyMessage, BaseMessage, HumanMessage, get_buffer_string

__all__ = [
    "ChatPromptValue",
    "ChatPromptValueConcrete",
    "ImagePromptValue",
    "ImageURL",
    "PromptValue",
    "StringPromptValue",
]


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


class ChatPromptValueConcrete(ChatPromptValue):
    """Messages of the classes that a JSON schema can name."""

    messages: Sequence[AnyMessage]  # pyright: ignore[reportIncompatibleVariableOverride]  # narrower


class ImageURL(TypedDict, total=False):
    """Where an image is, as OpenAI's chat completions say it.

    ``url`` may be a ``data:`` URL; ``detail`` tells how closely to look.
    """

    url: str
    detail: Literal["auto", "low", "high"]


class ImagePromptValue(PromptValue):
    """An image; as text its URL, as messages one of the user's. (LangChain's leaves out what the block is.)"""

    image_url: ImageURL
    type: Literal["ImagePromptValue"] = "ImagePromptValue"

    def to_string(self) -> str:
        """Return the URL."""
        return self.image_url.get("url", "")

    def to_messages(self) -> list[BaseMessage]:
        """Return one user message, which holds an image block."""
        return [HumanMessage([{"type": "image_url", "image_url": dict(self.image_url)}])]
