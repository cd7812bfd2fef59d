"""A calculator for models that reckon badly: `hocket.tools.calculator` as a tool."""

from hocket.errors import InvalidInput, ToolException
from hocket.tools import StructuredTool
from hocket.tools.arithmetic import FUNCTIONS
from hocket.tools.calculator import calculate

__all__ = ["calculate", "calculator_tool"]


def _answer(expression: str) -> str:
    try:
        return calculate(expression)
    except InvalidInput as error:
        raise ToolException(f"Not computed: {error}.") from error


calculator_tool: StructuredTool = StructuredTool.from_function(
    _answer,
    name="calculator",
    description=(
        "Compute an arithmetic expression, for example (3 + 4) * sqrt(2). It has numbers, + - * / // % (remainder), "
        "** (power), brackets, pi, e, tau and the functions "
        f"{', '.join(FUNCTIONS)}; log is the natural one, angles are in radians."
    ),
    handle_tool_error=True,
)
"""A tool that computes an arithmetic expression, such as ``(3 + 4) * sqrt(2)``, without running code."""
