"""The context of a call: the object that says for whom an agent works. It is checked before anything is sent or stored."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from typing_extensions import is_typeddict

from hocket.errors import InvalidInput

__all__ = ["ContextSchema"]


class ContextSchema:
    """The class of an agent's contexts: a dataclass, a pydantic model class, a TypedDict, or any other class."""

    def __init__(self, kind: object) -> None:
        if not isinstance(kind, type):
            raise InvalidInput(f"context_schema is {kind!r}; it is a class: a dataclass, a pydantic model, a TypedDict")
        self.kind: type[object] = kind

    def read(self, given: object) -> object:
        """Return a context, made of a mapping if need be. An error does not quote its values."""
        is_dict = is_typeddict(self.kind)
        if not is_dict and isinstance(given, self.kind):
            return given
        name = self.kind.__name__
        if not isinstance(given, Mapping):
            what = "missing" if given is None else f"of the type {type(given).__name__}"
            way_out = f"{name}(...), or a mapping" if not is_dict else "a mapping"
            raise InvalidInput(f"the context is {what}; this agent has context_schema={name}: pass context={way_out}")
        try:
            return TypeAdapter[object](self.kind).validate_python(dict(cast("Mapping[str, Any]", given)))
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}"
                for one in error.errors(include_url=False, include_context=False, include_input=False)
            )
            raise InvalidInput(f"the context is no {name}: {wrong}") from None
        except PydanticUserError:
            raise InvalidInput(f"the context is a mapping, of which no {name} can be made; pass an instance") from None

    def accepts(self, other: "ContextSchema") -> bool:
        """Whether each context of another agent is one of this agent's, as far as the classes say."""
        return is_typeddict(self.kind) or is_typeddict(other.kind) or issubclass(other.kind, self.kind)
