"""A tool's arguments: read and checked by its schema, whatever kind of schema that is."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, cast

from pydantic import AliasChoices, BaseModel, TypeAdapter
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError
from typing_extensions import get_type_hints, is_typeddict

from hocket._json import JSONObject
from hocket._schemas import check_schema, drop_nulls, find_violations, has_optional
from hocket._schemas.references import as_object
from hocket.errors import InvalidInput
from hocket.messages.base import copy_containers
from hocket.tools.inferred import InferredArguments
from hocket.tools.injected import InjectedToolCallId, is_injected
from hocket.tools.json_schema import make_json_schema
from hocket.tools.runtime import is_runtime
from hocket.tools.signature import Memo, Parameter
from hocket.tools.typed_dicts import fit_for_pydantic

__all__ = ["JSON_SCHEMA", "ArgsSchema", "Arguments", "make_arguments"]

JSON_SCHEMA = "json_schema"
"""The type of pydantic's errors of arguments that a JSON schema does not admit; they say all in their text."""

ArgsSchema = type[Any] | dict[str, Any]
"""A pydantic model, a TypedDict, a dataclass, or a JSON schema of an object."""


_written: Memo[JSONObject] = Memo()

Check = Callable[[Mapping[str, object]], dict[str, object]]
"""Returns arguments as the schema types them, or raises pydantic's ValidationError."""


class Arguments:
    """Reads and checks a tool's arguments by its schema.

    Attributes:
        schema: a class or a JSON schema, as `ArgsSchema` has it.
        injected: the names of the arguments that the model never sees.
        call_ids: the names of injected arguments that take the id of the call.
        runtimes: the names of those that take a `Runtime`.
        required_injected: the names of injected arguments that the application has to give.
        required_runtimes: the names of those that take a `Runtime`, and have no default.
    """

    def __init__(
        self,
        schema: object,
        check: Check,
        hints: Mapping[str, object],
        parameters: Iterable[Parameter],
        aliases: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> None:
        self.schema = schema
        self._check = check
        own = {one.name: one for one in parameters if is_injected(one.annotation) or is_runtime(one.annotation)}
        hidden = {name: hint for name, hint in hints.items() if is_injected(hint)}
        self._undescribed = own.keys() - hidden.keys()  # the function's, of which a schema of its own says nothing
        hidden |= {name: one.annotation for name, one in own.items()}
        self.injected: frozenset[str] = frozenset(hidden).union(*(aliases.get(name, ()) for name in hidden))
        self.call_ids: frozenset[str] = frozenset(
            name for name, hint in hidden.items() if is_injected(hint, InjectedToolCallId)
        )
        self.runtimes: frozenset[str] = frozenset(name for name, hint in hidden.items() if is_runtime(hint))
        required = frozenset(name for name, one in own.items() if one.is_required)
        self.required_injected: frozenset[str] = required - self.call_ids - self.runtimes
        self.required_runtimes: frozenset[str] = required & self.runtimes

    def read(self, given: Mapping[str, object]) -> dict[str, object]:
        """Check arguments, and return them as the schema types them.

        Raises:
            pydantic.ValidationError: they do not fit.
        """
        beyond = {name: given[name] for name in self._undescribed if name in given}
        if beyond:
            given = {name: value for name, value in given.items() if name not in beyond}
        return {**self._check(given), **beyond}

    def drop_nulls(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return a model's arguments without the nulls that stand for absent ones, which strict modes make it write."""
        if not self._is_partial:
            return dict(given)
        shown = {name: value for name, value in given.items() if name not in self.injected}
        hidden = {name: value for name, value in given.items() if name in self.injected}
        return {**drop_nulls(cast("JSONObject", shown), self.json_schema), **hidden}

    @functools.cached_property
    def _is_partial(self) -> bool:
        try:
            return has_optional(self.json_schema)
        except InvalidInput:  # no model can be shown it: the caller is none
            return False

    @functools.cached_property
    def json_schema(self) -> JSONObject:
        """Its JSON schema, without what is injected."""
        if isinstance(self.schema, dict):
            return copy_containers(self.schema)  # type: ignore[no-any-return]
        schema = self.schema
        if isinstance(schema, type) and issubclass(schema, InferredArguments):  # several tools may have it
            kept = _written.get(schema, lambda: make_json_schema(schema))
            return cast("JSONObject", copy_containers(kept))
        return make_json_schema(self.schema)

    @functools.cached_property
    def visible(self) -> tuple[str, ...]:
        """The names of the arguments that the model sees."""
        return tuple(as_object(self.json_schema.get("properties")))


def make_arguments(schema: Any, parameters: Iterable[Parameter] = ()) -> Arguments:
    """Return the reader of arguments for a schema and a function with these parameters.

    Raises:
        InvalidInput: it is none of the kinds of `ArgsSchema`, or `check_schema` refuses it.
    """
    if isinstance(schema, dict):
        json_schema = cast("JSONObject", schema)
        check_schema(json_schema)
        return Arguments(json_schema, _make_json_check(json_schema), {}, parameters)
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return Arguments(schema, _make_model_check(schema), _list_hints(schema), parameters, _list_aliases(schema))
    if is_typeddict(cast("object", schema)):
        fit: Any = fit_for_pydantic(schema)
        return Arguments(fit, _make_adapter_check(fit, dict), get_type_hints(schema, include_extras=True), parameters)
    if isinstance(schema, type) and dataclasses.is_dataclass(schema):
        names = [field.name for field in dataclasses.fields(schema)]
        hints = get_type_hints(schema, include_extras=True)
        return Arguments(
            schema,
            _make_adapter_check(schema, lambda made: {name: getattr(made, name) for name in names}),
            hints,
            parameters,
        )
    raise InvalidInput(
        f"args_schema is {schema!r}; it must be a pydantic (v2) model class, a TypedDict, a dataclass, or a JSON schema "
        "of type 'object' as a dict"
    )


def _make_adapter_check(kind: Any, unpack: Callable[[Any], dict[str, object]]) -> Check:
    validate = functools.cache(lambda: TypeAdapter[Any](kind).validate_python)  # built at the first call
    return lambda given: unpack(validate()(dict(given)))


def _make_model_check(schema: type[BaseModel]) -> Check:
    fields = schema.model_fields
    is_inferred = issubclass(schema, InferredArguments)

    def check(given: Mapping[str, object]) -> dict[str, object]:
        made = schema.model_validate(dict(given), by_alias=True, by_name=True)  # what is injected has either name
        values = {
            (field.alias or name) if is_inferred else name: getattr(made, name)
            for name, field in fields.items()
            # what a signature has as its default is left to the function: pydantic would make a copy of it
            if name in made.model_fields_set or not (is_inferred or field.is_required())
        }
        return {**values, **(made.__pydantic_extra__ or {})}

    return check


def _list_hints(schema: type[BaseModel]) -> dict[str, object]:
    """The fields' annotations; pydantic keeps what was in ``Annotated`` apart."""
    return {
        name if not field.alias else field.alias: Annotated[(field.annotation, *field.metadata)]
        for name, field in schema.model_fields.items()
        if field.metadata
    }


def _list_aliases(schema: type[BaseModel]) -> dict[str, set[str]]:
    """By what other names a field may be given: what is injected must not come in by the back door."""
    found: dict[str, set[str]] = {}
    for name, field in schema.model_fields.items():
        said = field.validation_alias
        choices = said.choices if isinstance(said, AliasChoices) else [said]
        found[field.alias or name] = {name, *(one for one in choices if isinstance(one, str))}
    return found


def _make_json_check(schema: JSONObject) -> Check:
    if schema.get("type", "object") != "object":
        raise InvalidInput(
            f"args_schema is a JSON schema of type {schema['type']!r}; arguments have names: use 'object'"
        )

    def check(given: Mapping[str, object]) -> dict[str, object]:
        found = [
            InitErrorDetails(type=PydanticCustomError(JSON_SCHEMA, "{what}", {"what": what}), loc=(), input=dict(given))
            for what in find_violations(cast("JSONObject", dict(given)), schema)
        ]
        if found:
            raise ValidationError.from_exception_data(str(schema.get("title", "arguments")), found)
        return dict(given)

    return check
