"""A JSON schema, rewritten for what a provider's strict mode can say. Pure functions.

What the provider cannot be held to, but a reader of the answer can check, is put in words where the dialect has none. What
changes the shape of an answer (keys that nobody has named, arrays whose items differ by place) is refused instead, when
the schema is bound and not when the first request fails.
"""

import collections
import json
import re
from collections.abc import Mapping
from typing import NoReturn

from hocket._json import JSON, JSONObject
from hocket._schemas.dialects import OPENAI, SchemaDialect
from hocket._schemas.optional import find_optional
from hocket._schemas.references import DEFINITIONS, MOST_COPIES, MOST_INSIDE, Schema, as_list, as_object, resolve
from hocket._schemas.sound import IN_A_CIRCLE, check_schema
from hocket.errors import InvalidInput
from hocket.messages.pieces import copy_containers

__all__ = ["compile_schema", "make_schema_name"]

NAME_LENGTH = 64

_VALUES = frozenset({"enum", "const", "title", "description", "type"})
_NAMED = frozenset({"properties", *DEFINITIONS})
_LISTED = frozenset({"anyOf", "oneOf", "allOf"})
_SILENT = frozenset(
    {"$schema", "$id", "$comment", "discriminator", "readOnly", "writeOnly"}
)  # say nothing of the value
_TYPING = frozenset({"type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"})
_ANCHOR = frozenset("^$")
_LOOKAROUND = re.compile(r"\(\?<?[=!]")

_WAYS_OUT: Mapping[str, str] = {
    "additionalProperties": "name the keys, as fields of a model, or use a list of objects with a key and a value",
    "patternProperties": "name the keys, as fields of a model, or use a list of objects with a key and a value",
    "prefixItems": "instead of a tuple use a model with a field for each place",
    "allOf": "merge its schemas into one",
    "oneOf": "use anyOf",
    "not": "say what is allowed instead",
    "if": "use anyOf, with an object for each case",
}


def compile_schema(schema: Schema, dialect: SchemaDialect = OPENAI) -> JSONObject:
    """Return ``schema`` in the words of ``dialect``; a copy.

    Args:
        schema: a JSON schema, with its definitions under ``$defs`` (or ``definitions``).
        dialect: the provider's.

    Raises:
        InvalidInput: `check_schema` refuses it; or the dialect cannot say it, and the message names the place, the
            keyword and the way out.
    """
    check_schema(schema, warns=False)
    try:
        compiled = _Compiler(schema, dialect).compile(schema, "", ())
    except RecursionError:
        raise InvalidInput(IN_A_CIRCLE) from None
    if dialect.is_object and compiled.get("type") != "object":
        _refuse(dialect, "", f"is {_describe(compiled)}, and must be an object", "put it into a field of a model")
    return compiled


def make_schema_name(text: str) -> str:
    """Return a name as providers take it for a schema: at most 64 of ``A-Z a-z 0-9 _ -`` (OpenAI's reference)."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_")[:NAME_LENGTH] or "answer"


def _refuse(dialect: SchemaDialect, path: str, what: str, way_out: str) -> NoReturn:
    """Raise that a dialect cannot say what a schema does.

    Args:
        dialect: the provider's.
        path: the place in the schema; "" for the whole.
        what: what is wrong there, as a predicate.
        way_out: what to write instead.
    """
    place = f"the schema's {path}" if path else "the schema"
    raise InvalidInput(
        f"{place} {what}: {dialect.name}'s strict mode cannot say that; {way_out}, or ask with strict=False"
    )


def _describe(node: Schema) -> str:
    kind = node.get("type")
    return f"of type {kind!r}" if kind else f"a choice ({', '.join(sorted(_TYPING & node.keys()))})"


class _Compiler:
    """Rewrites the nodes of one schema for one dialect."""

    def __init__(self, root: Schema, dialect: SchemaDialect) -> None:
        self._root = root
        self._dialect = dialect
        self._copies = collections.Counter[str]()

    def compile(self, node: JSON | Schema, path: str, inside: tuple[str, ...]) -> JSONObject:
        """Return one schema of the tree.

        Args:
            node: the schema as it was written.
            path: its place in the whole, for errors.
            inside: the names of the definitions that are being written out around it.
        """
        dialect = self._dialect
        if not isinstance(node, Mapping):
            if node is True and not dialect.types:
                return {}
            _refuse(dialect, path, f"is {node!r}", "say of what type it is")
        if not dialect.merges_all and len(parts := as_list(node.get("allOf"))) == 1:
            rest = {key: value for key, value in node.items() if key != "allOf"}
            return self.compile({**rest, **as_object(parts[0])}, path, inside)
        if "$ref" in node and dialect.references != "kept":
            return self._compile_reference(node, path, inside)
        compiled: JSONObject = {}
        words: JSONObject = {}
        for key, value in node.items():
            self._add_keyword(key, value, compiled, words, path, inside)
        if words:
            text = f"{{{', '.join(f'{key}: {value}' for key, value in words.items())}}}"
            compiled["description"] = f"{compiled['description']}\n\n{text}" if compiled.get("description") else text
        if dialect.types and not _TYPING & compiled.keys():
            _refuse(dialect, path, "does not say of what type it is", "give it a type (a field of type Any has none)")
        if dialect.bare_enums and "enum" in compiled:
            compiled.pop("type", None)
        if compiled.get("type") == "object" or "properties" in compiled:
            self._close_object(node, compiled, path)
        return compiled

    def _compile_reference(self, node: Schema, path: str, inside: tuple[str, ...]) -> JSONObject:
        name = str(node["$ref"])
        target = resolve(name, self._root)
        if target is None:
            _refuse(self._dialect, path, f"refers to {name!r}, which is not in it", "put it under $defs")
        beside = {key: value for key, value in node.items() if key != "$ref"}
        self._copies[name] += bool(beside)
        is_bare = not beside or self._dialect.references == "bare" or self._copies[name] > MOST_COPIES
        if path and (is_bare or name in inside or len(inside) == MOST_INSIDE):
            return {"$ref": name}
        return self.compile({**target, **beside}, path, (*inside, name))

    def _add_keyword(
        self, key: str, value: JSON, compiled: JSONObject, words: JSONObject, path: str, inside: tuple[str, ...]
    ) -> None:
        """Put one keyword into ``compiled``, or into ``words``, the keywords that are told in the description."""
        dialect, place = self._dialect, f"{path}.{key}" if path else key
        if key in _NAMED and isinstance(value, Mapping):
            prefix = path if key == "properties" else place
            compiled[key] = {
                name: self.compile(one, f"{prefix}.{name}".lstrip("."), inside) for name, one in value.items()
            }
        elif key in _LISTED and isinstance(value, list):
            if key == "allOf" and not dialect.merges_all:
                _refuse(dialect, path, "has the keyword 'allOf'", _WAYS_OUT["allOf"])
            key = "anyOf" if key == "oneOf" and dialect.splits_unions else key
            compiled[key] = [self.compile(one, f"{place}[{index}]", inside) for index, one in enumerate(value)]
        elif key == "items":
            compiled[key] = self.compile(value, f"{path}[]", inside)
        elif key == "additionalProperties" and dialect.closes:
            if value is not False and self._is_strict:
                _refuse(dialect, path, "allows keys that it does not name (additionalProperties)", _WAYS_OUT[key])
        elif key in _SILENT and dialect.keeps is not None:
            pass
        elif key == "default" and value is None and dialect.requires_all:
            pass  # the null that stands for an absence
        elif key in _VALUES or key == "required" or self._is_supported(key, value):
            compiled[key] = copy_containers(value)
        elif dialect.describes is None or key in dialect.describes or key in ("format", "pattern"):
            words[key] = json.dumps(value) if dialect.describes is not None else value
        else:
            way_out = _WAYS_OUT.get(key, "leave it out, and check the answer")
            _refuse(dialect, path, f"has the keyword {key!r}", way_out)

    @property
    def _is_strict(self) -> bool:
        """Whether the dialect is narrower than JSON schema."""
        return self._dialect.keeps is not None

    def _is_supported(self, key: str, value: JSON) -> bool:
        dialect = self._dialect
        if dialect.keeps is None:
            return True
        if key == "format":
            return dialect.formats is None or value in dialect.formats
        if key == "minItems" and dialect.describes is None:
            return key in dialect.keeps and value in (0, 1)  # Anthropic's limit
        if key == "pattern" and (
            _LOOKAROUND.search(str(value)) or not (dialect.anchors or _ANCHOR.isdisjoint(str(value)))
        ):
            return False
        return key in dialect.keeps

    def _close_object(self, node: Schema, compiled: JSONObject, path: str) -> None:
        """Forbid further properties of an object, and require those that it has, as far as the dialect wants that."""
        dialect = self._dialect
        if not dialect.closes:
            return
        properties = compiled.get("properties")
        if self._is_strict and properties is None and "additionalProperties" not in node:
            _refuse(dialect, path, "is an object without properties", "name its keys, as fields of a model")
        compiled["additionalProperties"] = copy_containers(node.get("additionalProperties", False))
        if dialect.requires_one and not compiled.get("required"):
            _refuse(dialect, path, "requires none of its properties", "give a field no default, so that it is required")
        if dialect.requires_all:
            nullable = find_optional(node)
            names = as_object(properties)
            if names:
                compiled["properties"] = {
                    name: _make_nullable(as_object(one)) if name in nullable else one for name, one in names.items()
                }
            compiled["required"] = list(names)


def _make_nullable(node: Schema) -> JSONObject:
    """Return a schema that admits what ``node`` admits, and null."""
    kind = node.get("type")
    choices = as_list(node.get("anyOf"))
    if (
        kind == "null"
        or "null" in as_list(kind)
        or None in as_list(node.get("enum"))
        or any(as_object(choice).get("type") == "null" for choice in choices)
    ):
        return dict(node)
    return {"anyOf": [dict(node), {"type": "null"}]}
