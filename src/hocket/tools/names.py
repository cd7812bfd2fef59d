"""What a tool may be called."""

import re

from hocket.errors import InvalidInput

__all__ = ["checked_name"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def checked_name(name: object) -> str:
    """Return a tool's name.

    Raises:
        InvalidInput: it is not 1 to 64 letters of ASCII, digits, ``_`` and ``-``: providers refuse other names (OpenAI's
            reference of chat completions).
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    fitting = re.sub(r"[^A-Za-z0-9_-]+", "_", str(name)).strip("_")[:64] or "tool"
    raise InvalidInput(
        f"{name!r} will not do as a tool's name: it must be 1 to 64 of A-Z, a-z, 0-9, _ and -, such as {fitting!r}"
    )
