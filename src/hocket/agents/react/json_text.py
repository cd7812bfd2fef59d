"""JSON as models write it: read where it stands in a text, never repaired.

Line breaks inside strings are taken as they are. What no message could hold is refused here: numbers that are none, data
that is nested too deep, halves of surrogate pairs.
"""

import json
from typing import Final, NamedTuple, NoReturn

from hocket._json import JSON
from hocket.errors import InvalidInput
from hocket.messages.pieces import check_depth

__all__ = ["Fault", "read_json", "read_json_object", "write_json"]


class Fault(NamedTuple):
    """What is wrong with a text that is no JSON, and how far it was read."""

    text: str
    end: int


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def read_json(text: str, start: int = 0) -> tuple[JSON, int] | Fault:
    """Return the value that starts at ``start``, and where it ends; or what is wrong, if it is no JSON."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        check_depth([value])
        if "\\u" in text[start:end]:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        line = text.count("\n", start, error.pos) + 1
        column = error.pos - max(start, text.rfind("\n", start, error.pos) + 1) + 1
        return Fault(f"{error.msg}, at line {line}, column {column} of it", error.pos)
    except (RecursionError, InvalidInput):
        return Fault("it is nested too deep", len(text))
    except UnicodeError:
        return Fault("it has half of a surrogate pair", len(text))
    except ValueError as error:
        return Fault(str(error), len(text))
    return value, end


def read_json_object(text: str) -> dict[str, JSON] | None:
    """Return the JSON object that ``text`` is, blanks aside; None: it is none."""
    text = text.strip()
    if not text.startswith("{"):
        return None
    read = read_json(text)
    if isinstance(read, Fault) or read[1] != len(text):
        return None
    return read[0] if isinstance(read[0], dict) else None


def write_json(value: object) -> str:
    """Return a value as JSON in one line, such that no tag of a thought can be seen in it."""
    return json.dumps(value, ensure_ascii=False, default=str).replace("<", "\\u003c")
