"""Words that errors share: the nearest known name, and a short excerpt of a long value.

What an error quotes of outside data goes through `excerpt`: a name may come from a model or a stranger, and be a megabyte.
"""

from collections.abc import Iterable, Sequence
from typing import cast

__all__ = ["LONGEST_NAME", "bridge_hint", "excerpt", "near_name", "near_name_hint", "shorten"]

LONGEST_NAME = 100
"""Characters of a name that are compared and shown."""

_WITHOUT_FORM = {f"langchain_core.{room}" for room in ("caches", "example_selectors", "rate_limiters", "stores")}


def near_name(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known name that is most like ``name``, or None if none is: 0 takes any, 1 the same name only."""
    import difflib  # only errors need it

    found = difflib.get_close_matches(name[:LONGEST_NAME], known, 1, likeness)
    return found[0] if found else None


def near_name_hint(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'temperature'?``, or, where no known name is near, ``known are: a, b``."""
    names = list(known)
    near = near_name(name, names)
    return f"did you mean {near!r}?" if near else f"known are: {', '.join(names) or 'none'}"


def excerpt(value: object, longest: int = LONGEST_NAME) -> str:
    """Return the first ``longest`` characters of a value's ``repr``, with ``…`` where some were left out."""
    return shorten(repr(value[: longest + 1] if isinstance(value, str | bytes) else value), longest)


def shorten(text: str, longest: int = 2_000) -> str:
    """Return the first ``longest`` characters of a text, with ``…`` where some were left out."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def bridge_hint(value: object) -> str:
    """Return how an object of LangChain's, or a list of them, becomes hocket's, to be put behind an error.

    "": there is none of its, or none that has a form in hocket.
    """
    given = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (value,)
    modules = {base.__module__ for one in given for base in type(one).__mro__}
    if any(module.startswith("langchain_core.") for module in modules) and modules.isdisjoint(_WITHOUT_FORM):
        return "; it is LangChain's: hocket.interop.langchain.from_langchain makes it hocket's"
    return ""
