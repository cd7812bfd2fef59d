"""What an answer must be: one object, by a pydantic model, a TypedDict, a dataclass, or a JSON schema."""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import is_typeddict

from hocket._schemas import check_schema, compile_schema, drop_nulls, find_violations, has_optional, make_schema_name
from hocket._schemas.dialects import SchemaDialect
from hocket.errors import InvalidInput, OutputParserException
from hocket.errors.hints import bridge_hint
from hocket.messages.base import copy_containers
from hocket.tools.json_schema import simplify_schema
from hocket.tools.signature import Memo
from hocket.tools.typed_dicts import fit_for_pydantic

__all__ = ["OutputSchema"]

R = TypeVar("R")
T = TypeVar("T")

_NO_NAME = "answer"

_results: Memo[dict[object, Any]] = Memo()


class _Writer(GenerateJsonSchema):
    """pydantic's generator, silent about defaults that have no JSON."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # pydantic's name


class OutputSchema(Generic[T]):
    """The schema of an answer.

    Args:
        kind: a pydantic model class, a TypedDict, a dataclass; a JSON schema of an object; or a dict in one of OpenAI's
            forms, which hold a name and such a schema.

    Attributes:
        name: as providers take it.
        description: of the whole; "": there is none.
        json_schema: as pydantic has it, or as it was given.

    Raises:
        InvalidInput: it is none of these, holds a type that JSON cannot say, or is one that `check_schema` refuses.
    """

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self._results = _results.get(kind, dict)
        name = getattr(kind, "__name__", _NO_NAME)
        if isinstance(kind, dict):
            name, json_schema = _split_name(cast("dict[str, Any]", kind))
        elif inspect.isclass(kind) and (
            issubclass(kind, BaseModel) or is_typeddict(kind) or dataclasses.is_dataclass(kind)
        ):
            json_schema = self._once("json_schema", self._write_json_schema)
        else:
            raise InvalidInput(
                f"an answer cannot be {kind!r}: it is an object, so give a pydantic (v2) model class, a TypedDict, a "
                "dataclass, or a JSON schema of type 'object'; put anything else into a field of one"
                f"{bridge_hint(kind)}",
                page="structured-output.md",
            )
        self.name: str = make_schema_name(name)
        self.json_schema: dict[str, Any] = json_schema
        self.description: str = json_schema.get("description", "")
        self._has_nulls = False

    def compile(self, dialect: SchemaDialect | None) -> dict[str, Any]:
        """Return the JSON schema in a strict dialect; None: as it is. From now on, answers are read accordingly.

        Raises:
            InvalidInput: the dialect cannot say it.
        """
        return copy_containers(self._compile(dialect))  # type: ignore[no-any-return]

    def _compile(self, dialect: SchemaDialect | None) -> dict[str, Any]:
        """Do what `compile` does. What is returned must not be changed."""
        if dialect is None:
            return self.json_schema
        self._has_nulls = dialect.requires_all and self._once("optional", lambda: has_optional(self.json_schema))
        return self._once(dialect, lambda: compile_schema(self.json_schema, dialect))

    def function(self, dialect: SchemaDialect | None) -> dict[str, Any]:
        """Return it as the one function that a model is to call, in OpenAI's words. See `compile`."""
        said = {"description": self.description} if self.description else {}
        held = {} if dialect is None else {"strict": True}
        compiled = self._compile(dialect)
        parameters = copy_containers(self._once(("plain", dialect), lambda: simplify_schema(compiled)))
        parameters.pop("description", None)
        return {"type": "function", "function": {"name": self.name, **said, "parameters": parameters, **held}}

    def _once(self, key: object, make: Callable[[], R]) -> R:
        """Return the result of ``make``, made once for each type and ``key``. It must not be changed."""
        if key not in self._results:
            self._results[key] = make()
        return cast(R, self._results[key])

    def partial(self, value: Any) -> Any:
        """Return an unfinished value without the nulls that stand for absent fields."""
        return drop_nulls(value, self.json_schema) if self._has_nulls else value

    def price(self, length: int) -> int:
        """Return what `partial` costs for a text of so many characters, in values copied."""
        return length if self._has_nulls else 0

    def read(self, value: Any) -> T:
        """Return the answer that ``value``, as it came out of JSON, stands for.

        Raises:
            OutputParserException: it does not fit the schema; ``observation`` says why.
        """
        value = self.partial(value)
        if isinstance(self.kind, dict):
            wrong = find_violations(value, self.json_schema)
            if wrong:
                raise self._make_misfit(value, wrong)
            return cast(T, value)
        try:
            return cast(T, self._validator.validate_json(json.dumps(value)))  # JSON has a laxer reading than Python's
        except ValidationError as error:
            raise self._make_misfit(value, _describe_errors(error)) from error

    def _make_misfit(self, value: object, wrong: list[str]) -> OutputParserException:
        told = "; ".join(wrong)
        return OutputParserException(
            f"the answer is no {self.name}: {told}",
            observation=f"This does not fit the schema of {self.name}: {told}.",
            llm_output=json.dumps(value, ensure_ascii=False),
        )

    @functools.cached_property
    def _validator(self) -> Any:
        return self.kind.__pydantic_validator__ if self._is_model else TypeAdapter(self._fit)

    @property
    def _is_model(self) -> bool:
        return issubclass(self.kind, BaseModel)

    @property
    def _fit(self) -> Any:
        """The type as pydantic takes it."""
        return fit_for_pydantic(self.kind) if is_typeddict(self.kind) else self.kind

    def _write_json_schema(self) -> dict[str, Any]:
        try:
            if self._is_model:
                return cast("dict[str, Any]", self.kind.model_json_schema(schema_generator=_Writer))
            return TypeAdapter(self._fit).json_schema(schema_generator=_Writer)
        except PydanticUserError as error:
            raise InvalidInput(
                f"{self.kind.__name__} cannot be written as a JSON schema: {error.message}; use a pydantic model or a plain "
                "type for what it holds"
            ) from None

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key != "_validator"}
        return {**state, "_results": {}}


def _describe_errors(error: ValidationError) -> list[str]:
    """What is wrong, a line each."""
    return [
        f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def _split_name(schema: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
    """Return name and JSON schema of a dict: a schema with a title, or OpenAI's forms around one."""
    inner: object = schema
    for key in ("json_schema", "function"):
        if schema.get("type") == key:
            inner = schema.get(key)
    outer: Mapping[str, object] = cast("Mapping[str, object]", inner) if isinstance(inner, Mapping) else {}
    name = outer.get("name") or outer.get("title") or _NO_NAME
    if isinstance(inner, Mapping) and "name" in inner:
        form = cast("Mapping[str, object]", inner)
        description = {"description": form["description"]} if form.get("description") else {}
        inner = next((form[key] for key in ("schema", "parameters", "input_schema") if key in form), None)
        inner = {**description, **cast("Mapping[str, object]", inner)} if isinstance(inner, Mapping) else None
    found: Mapping[str, object] = cast("Mapping[str, object]", inner) if isinstance(inner, Mapping) else {}
    if not {"type", "properties", "$ref", "anyOf", "allOf"} & found.keys():
        raise InvalidInput(
            f"the schema of an answer is {schema!r}; a dict must be a JSON schema, with 'type': 'object' and 'properties'"
        )
    json_schema = cast("dict[str, Any]", found)
    check_schema(json_schema)
    return str(name), copy_containers(dict(json_schema))
