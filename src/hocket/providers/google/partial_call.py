"""A call of a tool whose arguments come piece by piece, as Vertex AI sends them where it is asked to.

    {"name": "cook", "willContinue": true}
    {"partialArgs": [{"jsonPath": "$.steps[0].text", "stringValue": "Bo", "willContinue": true}], "willContinue": true}
    {"partialArgs": [{"jsonPath": "$.steps[0].text", "stringValue": "il"}], "willContinue": true}
    {}

Texts go on where the same path comes again. A piece that does not say ``willContinue`` is the last one of its call. The
call is told when it is whole, as the API writes it in one piece, since only so can it go back.
"""

import re
from itertools import pairwise
from typing import cast

from hocket.messages.content import Fields, FieldsView
from hocket.messages.pieces import Text

__all__ = ["PartialCall", "begins_call"]

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]]+) | \[(?P<index>\d+)\] | \[(?P<quote>['"])(?P<quoted>(?:[^\\]|\\.)*?)(?P=quote)\]""",
    re.VERBOSE,
)


def begins_call(call: FieldsView) -> bool:
    """Whether more of a call is to come than is here."""
    return bool(call.get("willContinue") or call.get("partialArgs"))


class PartialCall:
    """One call so far."""

    def __init__(self) -> None:
        self._part: Fields = {}
        self._call: Fields = {}
        self._arguments: Fields = {}

    def add(self, part: FieldsView) -> bool:
        """Add a part that is a piece of the call, and return whether it was the last one.

        Raises:
            ValueError, TypeError, KeyError, IndexError: it is not what the API says it is.
        """
        call: FieldsView = part["functionCall"]
        self._part |= {name: value for name, value in part.items() if name != "functionCall"}
        self._call |= {name: value for name, value in call.items() if name not in ("partialArgs", "willContinue")}
        for piece in call.get("partialArgs") or ():
            self._put(_read_path(piece["jsonPath"]), piece)
        return not call.get("willContinue")

    def read_part(self) -> Fields:
        """Return the part that the call is, with its arguments so far."""
        return {"functionCall": {**self._call, "args": _close(self._arguments)}, **self._part}

    def _put(self, path: list[str | int], piece: FieldsView) -> None:
        holder: object = self._arguments
        for step, following in pairwise(path):
            holder = _enter(holder, step, [] if isinstance(following, int) else {})
        if "stringValue" in piece:
            text = _enter(holder, path[-1], Text())
            if not isinstance(text, Text):
                raise TypeError(f"{piece['jsonPath']!r} goes on with a text that is none")
            text.append(piece["stringValue"])
        else:
            _enter(holder, path[-1], piece.get("numberValue", piece.get("boolValue")))


def _read_path(path: str) -> list[str | int]:
    """Return the steps of a JSON path (RFC 9535) to one value: names, and indices of lists."""
    steps: list[str | int] = []
    at = 1
    while found := _STEP.match(path, at):
        name, index, quoted = found["name"], found["index"], found["quoted"]
        steps.append(name or (re.sub(r"\\(.)", r"\1", quoted) if index is None else int(index)))
        at = found.end()
    if not steps or path[:1] != "$" or at != len(path):
        raise ValueError(f"{path!r} leads to no single argument")
    return steps


def _enter(holder: object, step: str | int, new: object) -> object:
    """Return what a container has at a step; ``new``, where nothing is there so far. A list grows by its end only."""
    if isinstance(step, str) and type(holder) is dict:
        return cast(Fields, holder).setdefault(step, new)
    if isinstance(step, int) and type(holder) is list:
        items = cast("list[object]", holder)
        if step == len(items):
            items.append(new)
        return items[step]
    raise TypeError(f"an argument has no {step!r}")


def _close(value: object) -> object:
    """Return a value with its texts joined."""
    if isinstance(value, Text):
        return value.value()
    if isinstance(value, list):
        return [_close(item) for item in cast("list[object]", value)]
    return {name: _close(item) for name, item in cast(Fields, value).items()} if isinstance(value, dict) else value
