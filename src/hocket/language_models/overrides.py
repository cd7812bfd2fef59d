"""What a subclass of a model may override between verb and hook, found once a class.

LangChain's users override `_generate_with_cache`, `_convert_input` and `_should_stream`, and those are honoured. A verb
that answers many (`generate`, `generate_prompt` and their async forms) is asked by other verbs in LangChain, and by none
here: an override would be ignored in silence, and is refused.
"""

from typing import NamedTuple

from hocket._pipeline.hooks import is_defined
from hocket._runtime.definitions import asks, find_newest
from hocket.errors import InvalidHook

__all__ = ["Overrides", "refuse_overrides"]

_PARTS = (("_call", "_generate"), ("_acall", "_agenerate"))
"""Hooks that some models have for a text, and those that are made of them there."""

_REFUSED = ("generate", "agenerate", "generate_prompt", "agenerate_prompt")


class Overrides(NamedTuple):
    """Which methods between verb and hook a class defines itself; of the first two, the most derived."""

    generate_with_cache: bool = False
    agenerate_with_cache: bool = False
    convert_input: bool = False

    @classmethod
    def of(cls, model: type) -> "Overrides":
        """Find what ``model`` defines, over hocket's own classes.

        Raises:
            InvalidHook: it defines a plain attribute in place of a property.
        """
        for name in getattr(model, "__private_attributes__", {}):
            if any(isinstance(vars(base).get(name), property) for base in model.__mro__):
                raise InvalidHook(
                    f"{model.__name__}.{name} is a plain attribute, which pydantic hides behind the property of that "
                    f"name; write it as a property: @property def {name}(self): return ..."
                )
        caching = ("_generate_with_cache", "_agenerate_with_cache")
        owner = next((base for base in model.__mro__ if not vars(base).keys().isdisjoint(caching)), model)
        generate, agenerate = (name in vars(owner) and _is_overridden(model, name) for name in caching)
        return cls(generate, agenerate, _is_overridden(model, "_convert_input"))


def refuse_overrides(model: type) -> None:
    """Refuse a class that overrides what no verb would ask.

    Raises:
        InvalidHook: it does.
    """
    for name in _REFUSED:
        if _is_overridden(model, name):
            raise InvalidHook(
                f"{model.__name__}.{name} would be called by no verb but itself: `ainvoke` and `astream` do not go "
                f"through it; override `_agenerate_with_cache`, or the hook `_agenerate`"
            )
    for inner, outer in _PARTS:
        hook = getattr(model, outer, None)
        if (
            is_defined(model, outer)
            and find_newest(model, object, inner, outer) == frozenset({inner})
            and not asks(hook, {inner})
        ):
            raise InvalidHook(f"{model.__name__}.{inner} would be called by no verb: override `{outer}`")


def _is_overridden(model: type, name: str) -> bool:
    """Whether the class that defines a method is none of hocket's own bases of models."""
    for base in model.__mro__:
        if name in vars(base):
            return not base.__module__.startswith("hocket.")
    return False
