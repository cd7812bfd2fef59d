"""What LangChain's models call a timeout: the longest silence of an attempt, which hocket's ``timeout=2`` is not.

There it goes to httpx, whose number holds for the connection and for each read: a stream may last as long as it likes, so
long as something comes. Here a number is the time for all of a call. So a number is written out as limits on silence,
and what is no number is told.
"""

import libcst as cst

from hocket.language_models.base import BaseLanguageModel
from hocket.migration.dotted import read_dotted
from hocket.timeouts import HTTP_TIMEOUT

__all__ = ["LIMITS", "describe_limits", "is_timeout", "write_limits"]

LIMITS = "hocket.Timeout("
"""How limits begin that were written: the program imports hocket for them."""

_NAMES = frozenset({"timeout", "request_timeout", "default_request_timeout"})
_WRITE = "write timeout=hocket.Timeout(connect=x, first_token=x, idle=x), x being its seconds"
_SILENCE = "LangChain's number is the longest silence of an attempt"


def is_timeout(name: str, target: object) -> bool:
    """Whether an argument of a model of LangChain's is its timeout.

    Args:
        name: the argument's.
        target: what is called in hocket.
    """
    is_model = isinstance(target, type) and issubclass(target, BaseLanguageModel)
    return name in _NAMES and (is_model or getattr(target, "__name__", "") == "init_chat_model")


def write_limits(value: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return hocket's limits for a number of LangChain's; None: it is no number above 0."""
    if not isinstance(value, cst.Integer | cst.Float) or not value.evaluated_value:
        return None
    total = max(HTTP_TIMEOUT.total or 0, value.evaluated_value)
    seconds = value.value
    written = f"{LIMITS}connect={seconds}, first_token={seconds}, idle={seconds}, total={total:g})"
    return cst.parse_expression(written)


def describe_limits(value: cst.BaseExpression) -> tuple[str, bool] | None:
    """Return what to tell of a timeout, and whether hocket would refuse it; None: nothing.

    Args:
        value: as LangChain's model is given it.
    """
    match value:
        case cst.Name("None"):
            return None
        case cst.Integer() | cst.Float():
            text = "an answer that comes whole is held by the total alone, so give such a call a timeout of its own"
            return f"{_SILENCE}, and here of a stream: {text}", False
        case cst.Tuple():
            return f"hocket takes no tuple, and has its own limits: {_WRITE}", True
        case cst.Call(func) if read_dotted(func)[-1:] == ["Timeout"]:
            return f"hocket takes no httpx.Timeout, and has its own limits: {_WRITE}", True
        case _:
            return f"{_SILENCE}, hocket's the time of all attempts together: {_WRITE}", False
