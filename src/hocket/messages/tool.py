"""What a tool answers."""

from collections.abc import Sequence
from typing import Any, Literal, cast
from uuid import UUID

from pydantic import Field, field_validator

from hocket.messages.base import BaseMessage, BaseMessageChunk, Content
from hocket.messages.content import Fields

__all__ = ["ToolMessage", "ToolMessageChunk"]


class ToolMessage(BaseMessage, init=False):
    """The result of one tool call.

    Args:
        tool_call_id: of the call that this answers; UUIDs and numbers become text.
        artifact: anything else that the tool made; never sent to a model.
        status: whether the tool succeeded.
    """

    type: Literal["tool"] = "tool"  # pyright: ignore[reportIncompatibleVariableOverride]
    tool_call_id: str
    artifact: Any = None
    status: Literal["success", "error"] = "success"
    additional_kwargs: Fields = Field(default_factory=dict, repr=False)
    response_metadata: Fields = Field(default_factory=dict, repr=False)

    @field_validator("tool_call_id", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, UUID | int | float) else value

    @field_validator("content", mode="before")
    @classmethod
    def _as_content(cls, value: Any) -> Content:
        """Take whatever a tool returned: tuples become lists, and everything else its text, as in LangChain."""
        if isinstance(value, list | tuple):
            items = cast("Sequence[object]", value)
            return [cast(Fields, item) if isinstance(item, str | dict) else str(item) for item in items]
        return value if isinstance(value, str) else str(value)


class ToolMessageChunk(ToolMessage, BaseMessageChunk, init=False):
    """A piece of a tool's result. In a sum, ``status`` "error" wins."""

    type: Literal["ToolMessageChunk"] = "ToolMessageChunk"  # type: ignore[assignment]

    def _join(self, other: BaseMessageChunk, fields: Fields) -> None:
        if not isinstance(other, ToolMessageChunk):
            return
        if other.tool_call_id != self.tool_call_id:
            raise ValueError(
                f"cannot add a result of tool call {other.tool_call_id!r} to one of call {self.tool_call_id!r}"
            )
        if other.status == "error":
            fields["status"] = "error"
        if other.artifact is not None:
            held, more = fields["artifact"], other.artifact
            if isinstance(held, list) and isinstance(more, list):
                fields["artifact"] = [*cast("list[object]", held), *cast("list[object]", more)]
            else:
                fields["artifact"] = more
