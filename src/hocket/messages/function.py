"""The result of a function call, as OpenAI's API had it before tools. Kept for old histories."""

import warnings
from typing import Any, Literal, cast

from pydantic import Field, model_validator

from hocket.messages.base import BaseMessage, BaseMessageChunk
from hocket.messages.content import Fields

__all__ = ["FunctionMessage", "FunctionMessageChunk"]


class FunctionMessage(BaseMessage, init=False):
    """The result of the function ``name``. Deprecated: use `ToolMessage`, which names the call that it answers."""

    type: Literal["function"] = "function"  # pyright: ignore[reportIncompatibleVariableOverride]
    name: str = Field()  # pyright: ignore[reportIncompatibleVariableOverride]  # required here

    @model_validator(mode="before")
    @classmethod
    def _warn(cls, values: Any) -> Any:
        if isinstance(values, dict):  # made now, not merely handed on
            warnings.warn(f"{cls.__name__} is deprecated; use ToolMessage", DeprecationWarning, stacklevel=3)
        return cast(Any, values)


class FunctionMessageChunk(FunctionMessage, BaseMessageChunk, init=False):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A piece of a `FunctionMessage`."""

    type: Literal["FunctionMessageChunk"] = "FunctionMessageChunk"  # type: ignore[assignment]

    def _join(self, other: BaseMessageChunk, fields: Fields) -> None:
        if isinstance(other, FunctionMessageChunk) and other.name != self.name:
            raise ValueError(f"cannot add a chunk of function {other.name!r} to one of function {self.name!r}")
