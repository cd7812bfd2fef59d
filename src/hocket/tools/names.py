"""What a tool may be called."""

import re
from typing import TypeGuard

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt

__all__ = ["check_name", "fit_name", "is_tool_name"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_tool_name(name: object) -> TypeGuard[str]:
    """Whether providers take ``name`` for the name of a tool (OpenAI's reference of chat completions)."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def fit_name(name: str) -> str:
    """Return a name as providers take it: an underscore for each other character, and cut; "unknown" for an empty one."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def check_name(name: object) -> str:
    """Return a tool's name.

    Raises:
        InvalidInput: it is not 1 to 64 letters of ASCII, digits, ``_`` and ``-``.
    """
    if is_tool_name(name):
        return name
    fitting = re.sub(r"[^A-Za-z0-9_-]+", "_", str(name)).strip("_")[:64] or "tool"
    raise InvalidInput(
        f"{excerpt(name)} will not do as a tool's name: it must be 1 to 64 of A-Z, a-z, 0-9, _ and -, such as {fitting!r}"
    )
