"""Words that errors share: the nearest known name, and a short excerpt of a long value.

What an error quotes of outside data goes through `excerpt`: a name may come from a model or a stranger, and be a megabyte.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import ParamSpec, TypeVar, cast

from hocket.errors.own import InvalidInput

__all__ = [
    "LONGEST_NAME",
    "arguments_instead",
    "bridge_hint",
    "excerpt",
    "explain_arguments",
    "make_line",
    "near_name",
    "near_name_hint",
    "shorten",
]

P = ParamSpec("P")
T = TypeVar("T")

_LIKENESS, _LIKENESS_OF_PARTS = 0.65, 0.6

LONGEST_NAME = 100
"""Characters of a name that are compared and shown."""

_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)))

_instead: dict[object, Mapping[str, str]] = {}

_WITHOUT_FORM = {f"langchain_core.{room}" for room in ("caches", "example_selectors", "rate_limiters", "stores")}


def near_name(name: str, known: Iterable[str], likeness: float | None = None) -> str | None:
    """Return the known name that is most like ``name``, or None if none is.

    ``likeness`` is how like it has to be: 0 takes any, 1 the same name only; None: as a mistake in typing, or a part of it.
    """
    import difflib  # only errors need it

    name = name[:LONGEST_NAME]
    found = difflib.get_close_matches(name, known, 3, _LIKENESS_OF_PARTS if likeness is None else likeness)
    if likeness is None:
        sure = difflib.get_close_matches(name, found, 3, _LIKENESS)
        found = [one for one in found if one in sure or one in name or name in one]
    return found[0] if found else None


def near_name_hint(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'temperature'?``, or, where no known name is near, ``known are: a, b``."""
    names = list(known)
    near = near_name(name, names)
    return f"did you mean {near!r}?" if near else f"known are: {', '.join(names) or 'none'}"


def excerpt(value: object, longest: int = LONGEST_NAME) -> str:
    """Return the first ``longest`` characters of a value's ``repr``, with ``…`` where some were left out."""
    return shorten(repr(value[: longest + 1] if isinstance(value, str | bytes) else value), longest)


def make_line(text: str) -> str:
    """Return a text as one line, without characters that steer a terminal: logs are read on one, line by line."""
    return " ".join(text.split()).translate(_CONTROLS)


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
        there = ", or to_langchain the model LangChain's" if "langchain_core.tools.base" in modules else ""
        return f"; it is LangChain's: hocket.interop.langchain.from_langchain makes it hocket's{there}"
    return ""


def explain_arguments(**instead: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a function, or a constructor, name the right word for an argument that it does not have.

    Args:
        instead: names that its arguments have elsewhere, in LangChain above all → the name here, or a few words on what
            to do. For other names the nearest is named.

    Raises, where it is called:
        InvalidInput: it has no such argument.
    """

    import inspect  # which the command's start does without

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        parameters = signature.parameters
        known = [one.name for one in parameters.values() if one.kind is not one.VAR_KEYWORD and one.name != "self"]
        is_open = len(known) + ("self" in parameters) < len(parameters)  # what it hands on is checked there

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            for name in kwargs:
                if name in instead or not (is_open or name in known):
                    word = instead.get(name) or near_name_hint(name, known)
                    hint = f"write {word}=..." if word in known else word
                    owner = function.__qualname__.removesuffix(".__init__")
                    raise InvalidInput(f"{owner} has no argument {name[:LONGEST_NAME]!r}; {hint}")
            return function(*args, **kwargs)

        vars(call)["__signature__"] = signature  # also for who follows no wrapper
        _instead[call] = instead
        return call

    return decorate


def arguments_instead(target: object) -> Mapping[str, str]:
    """Return what a function or a class that explains its arguments says instead of other names; others: nothing."""
    owner = getattr(target, "__self__", target)  # a class method hands its arguments on
    function = getattr(owner, "__init__", None) if isinstance(owner, type) else target
    return _instead.get(function, {}) if isinstance(function, FunctionType) else {}
