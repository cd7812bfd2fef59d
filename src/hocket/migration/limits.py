"""What LangChain's models call a timeout: the longest silence of an attempt, which hocket's ``timeout=2`` is not.

There it goes to httpx, whose number holds for the connection and for each read: a stream may last as long as something
comes. Here a number is the time of all of a call. So a number is written as limits on silence; what is none is told.
"""

from typing import Literal

import libcst as cst

from hocket.language_models import BaseLanguageModel, init_chat_model
from hocket.migration.dotted import read_dotted
from hocket.timeouts import HTTP_TIMEOUT

__all__ = ["LIMITS", "is_timeout", "write_silence"]

LIMITS = "hocket.Timeout("
"""How limits begin that were written: the program imports hocket for them."""

_WRITE = f"write timeout={LIMITS}connect=x, first_token=x, idle=x), x being its seconds"
_SILENCE = "LangChain's number is the longest silence of an attempt"
_WHOLE = (
    f"{_SILENCE}, and so it is here of a stream; a whole answer has the total alone: give such a call its own timeout"
)


def is_timeout(name: str, target: object) -> bool:
    """Whether an argument of what is called in hocket is the timeout of a model of LangChain's."""
    is_model = isinstance(target, type) and issubclass(target, BaseLanguageModel)
    return (is_model or target is init_chat_model) and name in ("timeout", "request_timeout", "default_request_timeout")


def write_silence(value: cst.BaseExpression) -> tuple[cst.BaseExpression, str, Literal["left", "check"]]:
    """Return a timeout of LangChain's as hocket has it, what to tell of it ("": nothing), and of which kind that is."""
    match value:
        case cst.Name("None"):
            return value, "", "check"
        case cst.Integer(written) | cst.Float(written) if value.evaluated_value:
            total = max(HTTP_TIMEOUT.total or 0, value.evaluated_value)
            limits = f"{LIMITS}connect={written}, first_token={written}, idle={written}, total={total:g})"
            return cst.parse_expression(limits), _WHOLE, "check"
        case cst.Tuple():
            return value, f"hocket takes no tuple: {_WRITE}", "left"
        case cst.Call(func) if read_dotted(func)[-1:] == ["Timeout"]:
            return value, f"hocket takes no httpx.Timeout: {_WRITE}", "left"
        case _:
            return value, f"{_SILENCE}, hocket's the time of all attempts together: {_WRITE}", "check"
