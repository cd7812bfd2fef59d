"""Annotations that are text, as under ``from __future__ import annotations``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import BaseModel

from hocket.errors import InvalidInput
from hocket.runnables import RunnableConfig
from hocket.tools import InjectedToolArg, StructuredTool, convert_to_openai_tool, tool

if TYPE_CHECKING:
    from decimal import Decimal


class Point(BaseModel):
    x: int


@tool
def move(to: Point, user: Annotated[str, InjectedToolArg], config: RunnableConfig | None = None) -> Decimal:
    """Move."""
    return to.x, user, config is not None  # type: ignore[return-value]


def test_they_are_found_where_the_function_is() -> None:
    """Types, markers and the config; the type of the result, which may be unknown, is not looked at."""
    assert list(move.args) == ["to"]
    assert move.invoke({"to": {"x": 1}, "user": "me"}) == (1, "me", True)


def test_behind_wrappers_and_in_closures() -> None:
    """Of a wrapped function, a partial one, a method, a callable object; and local names that the function uses."""

    class Local(BaseModel):
        y: int

    def local(at: Local) -> Any:
        """Local."""
        return Local, at.y

    @functools.wraps(local)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return local(*args, **kwargs)

    class Object:
        def method(self, at: Point) -> int:
            """Method."""
            return at.x

        def __call__(self, at: Point) -> int:
            """Call."""
            return at.x

    assert tool(local).invoke({"at": {"y": 2}})[1] == 2
    assert tool(wrapper).invoke({"at": {"y": 2}})[1] == 2
    for made in (
        StructuredTool.from_function(Object().method),
        StructuredTool.from_function(Object(), name="object"),
        StructuredTool.from_function(functools.partial(Object.method, Object()), name="partial"),
    ):
        assert made.invoke({"at": {"x": 3}}) == 3


def test_a_type_that_cannot_be_found() -> None:
    """It is named, with what to do."""

    def pay(amount: Decimal) -> None:
        """Pay."""

    with pytest.raises(InvalidInput, match=r"'Decimal' is not defined. Define or import it at the top"):
        convert_to_openai_tool(pay)
