"""Which methods a class defines itself: where sync and async ones stand for each other, an override has to be seen."""

import functools
import inspect
from collections.abc import Set
from types import CodeType
from typing import Any, ClassVar, Self, cast

from hocket.errors import InvalidHook

__all__ = ["EitherVerb", "Twins", "asks", "find_newest", "has_own_definition", "has_parameter"]


def has_own_definition(cls: type, base: type, *names: str) -> bool:
    """Whether ``cls``, or a class between it and ``base``, defines one of these methods of ``base``."""
    return any(getattr(cls, name) is not getattr(base, name) for name in names)


@functools.lru_cache(maxsize=4096)  # a program may make classes without end
def find_newest(cls: type, base: type, *names: str) -> frozenset[str]:
    """Return those of ``names`` that the most derived class with any of them defines; none: no class below ``base`` does.

    One that a class takes up again, ``_call = Base._call``, is as if nobody had defined it.
    """
    missing = object()
    own = {name for name in names if inspect.getattr_static(cls, name, None) is not vars(base).get(name, missing)}
    for owner in cls.__mro__:
        if owner is base:
            break
        if found := own & {*vars(owner), *vars(owner).get("__annotations__", ())}:
            return frozenset(found)
    return frozenset()


@functools.lru_cache(maxsize=4096)  # a program may make classes without end
def has_parameter(cls: type, method: str, *names: str) -> bool:
    """Whether a method of a class has a parameter of one of these names."""
    found = getattr(cls, method, None)
    return found is not None and not inspect.signature(found).parameters.keys().isdisjoint(names)


class Twins:
    """A class some of whose methods answer for one another: what a subclass overrides of them, all callers must see.

    Such are a public verb and its async form, and those whose names stand together in ``_twins``. Where a subclass overrides
    one, and inherits another that does not ask it, that other is again what the base class makes of the overridden one.

    Raises:
        InvalidHook: by the definition of a class: that cannot be, since the base class has no such form, or the overridden
            method is itself made of the other.
    """

    _twins: ClassVar[tuple[tuple[str, ...], ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Have what the class overrides seen by all callers."""
        super().__init_subclass__(**kwargs)
        if not cls.__module__.startswith("hocket."):  # hocket's own are tested, and there are many
            for name in [*vars(cls)]:
                for twin in () if name.startswith("_") else (f"a{name}", name.removeprefix("a")):
                    if twin != name and hasattr(cls, twin):
                        _resolve_twins(cls, (name, twin))
            for names in cls._twins:
                _resolve_twins(cls, names)


class EitherVerb(Twins):
    """Has sync verbs and their async twins: of each two in ``_verbs`` a subclass defines one."""

    _verbs: ClassVar[tuple[str, ...]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse a class that does nothing.

        Raises:
            InvalidHook: of a verb it defines neither form.
        """
        kind: type = cls
        base = next(one for one in cls.__mro__ if "_verbs" in vars(one))
        for verb in cls._verbs:
            if not find_newest(kind, base, verb, f"a{verb}"):
                raise InvalidHook(f"{cls.__name__} does nothing: define a{verb} (async) or {verb} (sync)")
        return super().__new__(cls)


def _resolve_twins(cls: type, names: tuple[str, ...]) -> None:
    """Have the methods of an operation that a class does not override follow from those that it does."""
    owners = [owner for owner in cls.__mro__ if not vars(owner).keys().isdisjoint(names)]
    base = owners[-1] if owners else cls
    newest = find_newest(cls, base, *names)
    is_face = any(hasattr(vars(base).get(name), "__wrapped__") for name in newest)  # of the async verb: nobody asks it
    for name in names if newest else ():
        passes_by = is_face or find_newest(cls, base, name)
        if name in newest or not passes_by or asks(inspect.getattr_static(cls, name), newest):
            continue
        if any(asks(inspect.getattr_static(cls, one), {name}) for one in newest):
            continue  # its author knows of both
        inherited = cast(object, super(cls, cls))
        default, below = vars(base).get(name), [getattr(inherited, one, None) for one in newest]
        if is_face or not asks(default, newest) or any(asks(one, {name}) for one in below):
            raise InvalidHook(
                f"{cls.__name__} overrides {' and '.join(sorted(newest))}, and {name} would go by it: "
                f"override {name} as well, or instead"
            )
        setattr(cls, name, default)


def asks(method: object, names: Set[str]) -> bool:
    """Whether a method's code asks for one of these attributes."""
    reader = getattr(method, "fget", None) or getattr(type(method), "__get__", None)  # of a property, of a descriptor
    code = getattr(method, "__code__", None) or getattr(reader, "__code__", None)
    return code is not None and _mentions(code, names)


def _mentions(code: CodeType, names: Set[str]) -> bool:
    """Whether code asks for one of these attributes: by name, as a text, or in a function inside it."""
    return any(name in names for name in code.co_names) or any(
        _mentions(one, names) if isinstance(one, CodeType) else isinstance(one, str) and one in names
        for one in code.co_consts
    )
