"""Messages that change a conversation instead of continuing it."""

from typing import Any, Literal

from pydantic import Field

from hocket.messages.base import BaseMessage

__all__ = ["RemoveMessage"]


class RemoveMessage(BaseMessage, init=False):
    """An order to remove the message with this ``id`` from a stored conversation.

    Raises:
        ValueError: content is given; there is nothing to say. Or there is no id.
    """

    id: str = Field(coerce_numbers_to_str=True)  # pyright: ignore[reportIncompatibleVariableOverride]
    type: Literal["remove"] = "remove"  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, id: str, **kwargs: Any) -> None:
        if kwargs.pop("content", None):
            raise ValueError("RemoveMessage has no content")
        super().__init__("", id=id, **kwargs)
