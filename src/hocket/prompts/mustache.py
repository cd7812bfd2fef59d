"""Mustache templates, filled in by the package ``pystache``.

pystache follows any attribute of an object, and calls what it finds; it reads partials out of files. A value may be a
stranger's, so here values are turned into plain data before it sees them, and partials and other delimiters are refused.
As in LangChain, and as the format says, ``{{name}}`` escapes the signs of HTML, and ``{{{name}}}`` and ``{{&name}}`` do not.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from hocket.errors import InvalidInput, MissingDependency

__all__ = ["find_names", "read_template"]

_TAG = re.compile(r"\{\{\{\s*(?P<raw>.*?)\s*\}\}\}|\{\{\s*(?P<sign>[#^/&!>=]?)\s*(?P<name>.*?)\s*\}\}", re.DOTALL)
_ESCAPES = str.maketrans({"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;"})


def read_template(template: str) -> Callable[[Mapping[str, object]], str]:
    """Return the function that fills ``template`` in.

    Raises:
        InvalidInput: a section is not closed, or there is a partial or a change of delimiters.
    """
    opened: list[str] = []
    for sign, name in _iterate_tags(template):
        if sign in (">", "="):
            what = "a partial" if sign == ">" else "a change of delimiters"
            raise InvalidInput(f"{{{{{sign}{name}}}}} is {what}, which mustache templates here do not have")
        if sign in ("#", "^"):
            opened.append(name)
        elif sign == "/" and (not opened or opened.pop() != name):
            raise InvalidInput(f"{{{{/{name}}}}} closes no section of the mustache template: {template!r}")
    if opened:  # pystache would leave its rest out
        raise InvalidInput(f"the section {{{{#{opened[-1]}}}}} of the mustache template is not closed: {template!r}")
    pystache = _load_pystache()
    renderer = pystache.Renderer(escape=_escape, search_dirs=[], partials={}, missing_tags="ignore")
    parsed = pystache.parse(template)

    def fill(values: Mapping[str, object]) -> str:
        return cast(str, renderer.render(parsed, _simplify(values) or {}))

    return fill


@functools.cache
def _load_pystache() -> Any:
    try:
        import pystache  # pyright: ignore[reportMissingTypeStubs, reportMissingImports]  # it has no types
    except ImportError:
        raise MissingDependency(
            "mustache templates need pystache, which is not installed: pip install 'hocket[mustache]'"
        ) from None
    return cast(Any, pystache)


def find_names(template: str) -> set[str]:
    """Return the names of the values that ``template`` needs: those outside of sections, up to the first dot."""
    found: set[str] = set()
    depth = 0
    for sign, name in _iterate_tags(template):
        if sign == "/":
            depth -= 1
        elif sign not in ("!", ">", "="):
            if depth == 0 and name != ".":
                found.add(name.partition(".")[0])
            depth += sign in ("#", "^")
    return found


def _iterate_tags(template: str) -> Iterator[tuple[str, str]]:
    for match in _TAG.finditer(template):
        yield (match["sign"] or "", match["name"] or "") if match["raw"] is None else ("&", match["raw"])


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)


def _simplify(value: object) -> object:
    """Return ``value`` as texts, numbers, dicts and lists; None, and what is empty, is nothing."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return {str(key): _simplify(one) for key, one in cast("Mapping[object, object]", value).items()} or ""
    if isinstance(value, list | tuple):
        return [_simplify(one) for one in cast("list[object]", value)] or ""
    if type(value) in (str, int, float, bool):
        return value
    return str(value)
