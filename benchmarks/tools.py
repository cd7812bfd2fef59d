"""Tools: describing them to a model, binding them, and running them."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from .bench import Bench, Case, awaiting, repeating
from .harness import Body, Target
from .library import Library
from .table import Row

__all__ = ["CASES"]


class Place(BaseModel):
    """A place on earth."""

    city: str
    country: Annotated[str, Field(description="two letters")] = "GB"


def tool_schema(bench: Bench) -> Iterator[Row]:
    """What a model is told of a tool: the first time, and every time after."""
    yield bench.compare("@tool on a function", _decorating, Target(0.5))
    yield bench.compare("@tool, and what the model is told", _describing_anew, Target(0.5))
    yield bench.compare("a function, with its docstring, described anew", _function_anew, Target(0.7))
    yield bench.compare("a function, described again", _again(lambda lib: _fresh()), Target(0.05))
    yield bench.compare("a tool, described again", _again(lambda lib: lib.tools.tool(_fresh())), Target(0.3))
    yield bench.compare("a pydantic model, described again", _again(lambda lib: Place), Target(0.1))


def tool_binding(bench: Bench) -> Iterator[Row]:
    """Giving a model its tools, as a program does for every request."""

    def build(lib: Library) -> Body:
        tools = [lib.tools.tool(f"tool_{at}")(_fresh()) for at in range(20)]
        convert = _converter(lib)
        return repeating(lambda: [convert(one) for one in tools])

    yield bench.compare("20 tools, for bind_tools, per tool", build, Target(0.3), per=20)


def tool_run(bench: Bench) -> Iterator[Row]:
    """A model's call, run, and answered with a message."""
    call = {"type": "tool_call", "name": "weather", "args": {"place": {"city": "York"}, "days": 3}, "id": "1"}

    def on_loop(lib: Library) -> Body:
        made = lib.tools.tool(_fresh_async())
        return awaiting(lambda: made.ainvoke(call))

    def in_thread(lib: Library) -> Body:
        made = lib.tools.tool(_fresh())
        return repeating(lambda: made.invoke(call))

    yield bench.compare("ainvoke of a tool call, async function", on_loop, Target(0.15))
    yield bench.compare("invoke of a tool call, sync function", in_thread, Target(0.15))


def _fresh() -> Callable[..., Any]:
    def weather(place: Place, days: Annotated[int, "at most ten"] = 3, unit: Literal["C", "F"] = "C") -> str:
        """Forecast the weather.

        Args:
            place: where
            days: for how many days
            unit: of the temperature
        """
        return "sunny"

    return weather


def _fresh_async() -> Callable[..., Any]:
    async def weather(place: Place, days: Annotated[int, "at most ten"] = 3, unit: Literal["C", "F"] = "C") -> str:
        """Forecast the weather."""
        return "sunny"

    return weather


def _converter(lib: Library) -> Callable[..., Any]:
    home: Any = lib.tools if lib.name == "hocket" else getattr(lib, "utils.function_calling")
    convert: Callable[..., Any] = home.convert_to_openai_tool
    return convert


def _decorating(lib: Library) -> Body:
    return repeating(lambda: lib.tools.tool(_fresh()))


def _describing_anew(lib: Library) -> Body:
    convert = _converter(lib)
    return repeating(lambda: convert(lib.tools.tool(_fresh())))


def _function_anew(lib: Library) -> Body:
    convert = _converter(lib)
    return repeating(lambda: convert(_fresh()))


def _again(make: Callable[[Library], Any]) -> Callable[[Library], Body]:
    def build(lib: Library) -> Body:
        convert, made = _converter(lib), make(lib)
        convert(made)
        return repeating(lambda: convert(made))

    return build


CASES: dict[str, Case] = {"tool-schema": tool_schema, "tool-binding": tool_binding, "tool-run": tool_run}
