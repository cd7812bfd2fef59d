"""The types that a class gives to the parameters of its generic base classes (``Runnable[str, int]``)."""

from typing import Any, TypeVar, cast, get_args, get_origin

__all__ = ["find_type"]


def find_type(cls: type, index: int, arguments: int = 2) -> object:
    """Return the type that a class gives to a parameter of a generic base class; `Any`, if it gives none.

    Args:
        cls: the class.
        index: which of the parameters.
        arguments: how many parameters that base class has.
    """
    for base in cls.__mro__:
        own = cast("dict[str, Any]", vars(base))
        said = [own.get("__pydantic_generic_metadata__", {}).get("args", ())]
        said += [get_args(one) for one in own.get("__orig_bases__", ()) if get_origin(one) is not None]
        for types in said:
            if len(types) == arguments and not isinstance(types[index], TypeVar | str):
                return cast(object, types[index])
    return Any
