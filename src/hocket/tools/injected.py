"""Arguments that the application gives to a tool, and the model never sees.

A marker in a parameter's annotation hides it from JSON schemas by itself, wherever pydantic finds it: in a function's
signature, in a model, in a TypedDict.
"""

from typing import Annotated, NoReturn, get_args, get_origin

from pydantic_core import PydanticOmit

__all__ = ["InjectedToolArg", "InjectedToolCallId", "is_injected"]


class InjectedToolArg:
    """Marks an argument that the caller of the tool gives: ``user: Annotated[User, InjectedToolArg]``.

    It is part of what ``ainvoke`` takes, and of no schema that a model sees.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: object, handler: object) -> NoReturn:
        raise PydanticOmit


class InjectedToolCallId(InjectedToolArg):
    """Marks the argument that gets the id of the call: ``call_id: Annotated[str, InjectedToolCallId]``."""


def is_injected(annotation: object, marker: type[InjectedToolArg] = InjectedToolArg) -> bool:
    """Whether an annotation bears the marker, as a class or as an instance of it."""
    if get_origin(annotation) is not Annotated:
        return False
    return any(
        isinstance(extra, marker) or (isinstance(extra, type) and issubclass(extra, marker))
        for extra in get_args(annotation)[1:]
    )
