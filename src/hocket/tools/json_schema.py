"""JSON schemas, as models are shown them: without titles, references write out. Pure functions."""

import collections
from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from hocket._json import JSON, JSONObject
from hocket._schemas.references import MOST_COPIES, MOST_INSIDE
from hocket.errors import InvalidInput
from hocket.messages.base import copy_containers

__all__ = ["SchemaWriter", "make_json_schema", "simplify_schema"]

_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_PLAIN = (str, int, bool)
_DATA = frozenset({"default", "const", "enum", "examples", "example"})
_DEFINITIONS = ("$defs", "definitions")


class SchemaWriter(GenerateJsonSchema):
    """pydantic's generator, without a title for each field, and silent about defaults that have no JSON."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # as pydantic declares it

    def field_title_should_be_set(self, schema: object) -> bool:
        """No: a title made from a field's name says nothing."""
        return False

    def encode_default(self, dft: Any) -> Any:
        """Return a default as JSON; what is JSON already costs pydantic an adapter each."""
        return dft if dft is None or dft.__class__ in _PLAIN else super().encode_default(dft)


def make_json_schema(kind: Any) -> JSONObject:
    """Return the JSON schema of a pydantic model, or of another type, as pydantic has it.

    Raises:
        InvalidInput: a field has a type that JSON cannot say.
    """
    try:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return kind.model_json_schema(schema_generator=SchemaWriter)
        return TypeAdapter[Any](cast("type", kind)).json_schema(schema_generator=SchemaWriter)
    except PydanticUserError as error:
        raise InvalidInput(
            f"{getattr(kind, '__name__', kind)} has a type that JSON schema cannot say: {error.message}\n"
            "Use a pydantic model or a plain type for it, or mark it with InjectedToolArg if the model is not to give it"
        ) from None


def simplify_schema(schema: Mapping[str, JSON]) -> JSONObject:
    """Return a copy of a JSON schema without titles and with references written out.

    Recursive ones stay, and more than `MOST_COPIES` to one definition, or `MOST_INSIDE` in one another.
    """
    return _Plain(schema).write()


class _Plain:
    """One schema on its way to being plain."""

    def __init__(self, schema: Mapping[str, JSON]) -> None:
        self._root = schema
        self._definitions: JSONObject = {}
        for key in _DEFINITIONS:
            definitions = schema.get(key)
            if isinstance(definitions, dict):
                self._definitions.update(definitions)
        self._targets = {name: {*_find_targets(one)} for name, one in self._definitions.items()}
        self._recursive = {name for name in self._definitions if self._reaches(name)}
        self._copies = collections.Counter[str]()
        self._depth = 0
        self._kept: dict[str, None] = {}

    def write(self) -> JSONObject:
        root = {key: value for key, value in self._root.items() if key not in _DEFINITIONS}
        name = _find_target(root)
        if name in self._definitions:  # the root of a recursive model is a reference to itself
            root = {**self._get_definition(name), **{key: value for key, value in root.items() if key != "$ref"}}
        plain, kept = self._walk_object(root), dict[str, JSON]()
        while len(kept) < len(self._kept):
            for name in [*self._kept][len(kept) :]:
                kept[name] = self._walk(self._definitions[name])
        return {**plain, "$defs": kept} if kept else plain

    def _walk(self, node: JSON) -> JSON:
        if isinstance(node, dict):
            return self._walk_object(node)
        return [self._walk(item) for item in node] if isinstance(node, list) else node

    def _walk_object(self, node: JSONObject) -> JSONObject:
        name = _find_target(node)
        if name in self._definitions:
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            self._copies[name] += 1
            if name not in self._recursive and self._copies[name] <= MOST_COPIES and self._depth < MOST_INSIDE:
                self._depth += 1
                plain = self._walk_object({**self._get_definition(name), **siblings})
                self._depth -= 1
                return plain
            self._kept[name] = None
            return {"$ref": f"#/$defs/{name}", **self._walk_object(siblings)}
        return {
            key: copy_containers(value)
            if key in _DATA
            else self._walk_named(value)
            if key in _BY_NAME
            else self._walk(value)
            for key, value in node.items()
            if key not in ("title", "discriminator")  # the latter is OpenAPI's, and speaks of references
        }

    def _get_definition(self, name: str) -> JSONObject:
        definition = self._definitions[name]
        return definition if isinstance(definition, dict) else {}

    def _walk_named(self, named: JSON) -> JSON:
        return {name: self._walk(one) for name, one in named.items()} if isinstance(named, dict) else named

    def _reaches(self, name: str) -> bool:
        """Whether a definition leads back to itself."""
        seen: set[str] = set()
        waiting = [*self._targets[name]]
        while waiting:
            one = waiting.pop()
            if one == name:
                return True
            if one not in seen and one in self._targets:
                seen.add(one)
                waiting.extend(self._targets[one])
        return False


def _find_target(node: Mapping[str, JSON]) -> str:
    """Return the name of the definition that a node refers to; "" if it refers to none."""
    reference = node.get("$ref")
    if isinstance(reference, str):
        for key in _DEFINITIONS:
            if reference.startswith(f"#/{key}/"):
                return reference.removeprefix(f"#/{key}/")
    return ""


def _find_targets(node: JSON) -> Iterable[str]:
    if isinstance(node, dict):
        if name := _find_target(node):
            yield name
        for value in node.values():
            yield from _find_targets(value)
    elif isinstance(node, list):
        for item in node:
            yield from _find_targets(item)
