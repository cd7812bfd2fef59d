"""What goes into runnables and comes out, as pydantic models and JSON schemas.

A type is what a class says where it is defined (``Runnable[str, int]``), or what a function is annotated with. What JSON
cannot say is anything in a schema.
"""

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ConfigDict, RootModel, create_model
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticOmit

__all__ = ["Fields", "get_object_fields", "make_object_schema", "make_schema", "write_json_schema"]

T = TypeVar("T")

Fields = dict[str, tuple[object, object]]
"""Fields of a schema: type and default (``...``: required) by name."""


class _Root(RootModel[T]):
    model_config = ConfigDict(arbitrary_types_allowed=True)


class _Writer(GenerateJsonSchema):
    """Takes what JSON cannot say for anything, and leaves defaults out that it cannot say."""

    ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012  # pydantic's own attribute

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        return {}

    def encode_default(self, dft: object) -> object:
        try:
            return super().encode_default(dft)
        except Exception as error:  # of a value that cannot be written
            raise PydanticOmit from error


def make_schema(name: str, type_: object) -> type[BaseModel]:
    """Return the model of a type: itself, if it is one."""
    if inspect.isclass(type_) and get_origin(type_) is None and issubclass(type_, BaseModel):
        return type_
    try:
        return create_model(name, __base__=_Root[type_])  # type: ignore[valid-type]
    except (PydanticUserError, NameError, TypeError):  # a type that pydantic cannot check
        return create_model(name, __base__=_Root[Any])


def make_object_schema(name: str, fields: Mapping[str, tuple[object, object]]) -> type[BaseModel]:
    """Return the model of an object with these fields."""
    made: dict[str, Any] = {key: (type_, default) for key, (type_, default) in fields.items()}
    try:
        return create_model(name, __config__=ConfigDict(arbitrary_types_allowed=True, protected_namespaces=()), **made)
    except (PydanticUserError, NameError, TypeError):  # a name or a type that pydantic does not take
        return create_model(name, __base__=_Root[dict[str, Any]])


def get_object_fields(schema: type[BaseModel]) -> Fields | None:
    """Return the fields of a model of an object; None, if it is of something else."""
    if issubclass(schema, RootModel):
        return None
    return {
        name: (field.annotation, ... if field.is_required() else field.default)
        for name, field in schema.model_fields.items()
    }


def write_json_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model."""
    return schema.model_json_schema(schema_generator=_Writer)
