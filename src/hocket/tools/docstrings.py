"""What a docstring says of a function and of each parameter, in Google's style, NumPy's, or Sphinx's.

`docstring_parser` reads them: an optional dependency, imported when a docstring has to be read.
"""

import importlib.util
import inspect
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from hocket.errors import InvalidInput, MissingDependency

__all__ = ["Docstring", "can_parse", "parse_docstring"]


class Docstring(NamedTuple):
    """A docstring's text without its sections, and what it says of each parameter."""

    description: str
    parameters: dict[str, str]


_STYLES = {
    "NUMPYDOC": re.compile(r"^(Parameters|Returns|Other Parameters|Raises|Yields)\n-{3,}$", re.MULTILINE),
    "REST": re.compile(r"^:(param|type|returns?|rtype|raises?)\b.*:", re.MULTILINE),
    "GOOGLE": re.compile(r"^(Args|Arguments|Parameters|Params|Returns|Raises|Yields):$", re.MULTILINE),
}


def _find_style(text: str) -> str:
    """The style of a docstring, seen at a glance; the library would read it in each to see which gives most."""
    return next((name for name, mark in _STYLES.items() if mark.search(text)), "AUTO")


def can_parse() -> bool:
    """Whether the library that reads docstrings is installed."""
    return importlib.util.find_spec("docstring_parser") is not None


def parse_docstring(owner: object, known: Collection[str], described: Collection[str], *, strict: bool) -> Docstring:
    """Read the docstring of a function or class.

    Args:
        owner: what has the docstring.
        known: the parameters that it may speak of.
        described: those of which a reader wants to know.
        strict: whether a docstring that says nothing of any of these is an error.

    Raises:
        InvalidInput: it speaks of a parameter that there is not, or, if ``strict``, says nothing of those that there are.
        MissingDependency: the library that reads docstrings is not installed.
    """
    try:
        import docstring_parser
    except ImportError:
        raise MissingDependency(
            "reading parameters off a docstring needs docstring_parser: pip install 'hocket[tools]'"
        ) from None
    name = getattr(owner, "__qualname__", repr(owner))
    text = inspect.getdoc(owner) or ""
    try:
        parsed: Any = docstring_parser.parse(text, style=docstring_parser.DocstringStyle[_find_style(text)])
    except docstring_parser.ParseError as error:
        if strict:
            raise InvalidInput(
                f"the docstring of {name} cannot be read: {error}; mend it, or leave it unparsed"
            ) from None
        return Docstring(text, {})
    parameters = {
        one.arg_name.lstrip("*"): " ".join((one.description or "").split())
        for one in parsed.params
        if one.args[:1] != ["attribute"]
    }
    strangers = [one for one in parameters if one not in known]
    if strangers:
        raise InvalidInput(
            f"the docstring of {name} describes {', '.join(map(repr, strangers))}, which its signature does not have; "
            f"it has: {', '.join(map(repr, known)) or 'no parameters'}"
        )
    if strict and described and not any(one in parameters for one in described):
        raise InvalidInput(
            f"the docstring of {name} describes none of its parameters ({', '.join(map(repr, described))}): add an "
            "'Args:' section, or leave out parse_docstring, or say error_on_invalid_docstring=False"
        )
    return Docstring((parsed.description or "").strip(), {one: said for one, said in parameters.items() if said})
