"""A JSON schema, rewritten for what a provider's strict mode can say. Pure functions.

What the provider cannot be held to, but a reader of the answer can check, is put in words where the dialect has none. What
changes the shape of an answer (keys that nobody has named, arrays whose items differ by place) is refused instead, when
the schema is bound and not when the first request fails.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn, cast

from hocket._schemas.dialects import OPENAI, SchemaDialect
from hocket._schemas.references import DEFINITIONS, resolved
from hocket.errors import InvalidInput
from hocket.messages.pieces import copied

__all__ = ["compile_schema", "schema_name"]

NAME_LENGTH = 64

_VALUES = frozenset({"enum", "const", "title", "description", "type"})
_NAMED = frozenset({"properties", *DEFINITIONS})
_LISTED = frozenset({"anyOf", "oneOf", "allOf"})
_SILENT = frozenset(
    {"$schema", "$id", "$comment", "discriminator", "readOnly", "writeOnly"}
)  # say nothing of the value
_TYPING = frozenset({"type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"})
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


def compile_schema(schema: Mapping[str, Any], dialect: SchemaDialect = OPENAI) -> dict[str, Any]:
    """Return ``schema`` in the words of ``dialect``; a copy.

    Args:
        schema: a JSON schema, with its definitions under ``$defs`` (or ``definitions``).
        dialect: the provider's.

    Raises:
        InvalidInput: the dialect cannot say it; the message names the place, the keyword and the way out.
    """
    compiler = _Compiler(schema, dialect)
    made = compiler.node(schema, "", ())
    if dialect.is_object and made.get("type") != "object":
        _refuse(dialect, "", f"is {_kind(made)}, and must be an object", "put it into a field of a model")
    return made


def schema_name(text: str) -> str:
    """Return a name as providers take it for a schema: at most 64 of ``A-Z a-z 0-9 _ -`` (OpenAI's reference)."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_")[:NAME_LENGTH] or "answer"


def _refuse(dialect: SchemaDialect, path: str, what: str, way_out: str) -> NoReturn:
    """Raise that a schema cannot be said."""
    place = f"the schema's {path}" if path else "the schema"
    raise InvalidInput(
        f"{place} {what}: {dialect.name}'s strict mode cannot say that; {way_out}, or ask with strict=False"
    )


def _kind(node: Mapping[str, Any]) -> str:
    kind = node.get("type")
    return f"of type {kind!r}" if kind else f"a choice ({', '.join(sorted(_TYPING & node.keys()))})"


class _Compiler:
    """One schema on its way into a dialect."""

    def __init__(self, root: Mapping[str, Any], dialect: SchemaDialect) -> None:
        self._root = root
        self._dialect = dialect

    def node(self, node: Any, path: str, inside: tuple[str, ...]) -> dict[str, Any]:
        """Return one schema of the tree. ``inside``: the definitions that are being written out around it."""
        dialect = self._dialect
        if not isinstance(node, Mapping):
            if node is True and not dialect.types:
                return {}
            _refuse(dialect, path, f"is {node!r}", "say of what type it is")
        held = cast("Mapping[str, Any]", node)
        if not dialect.merges_all and isinstance(parts := held.get("allOf"), list) and len(parts) == 1:
            rest = {key: value for key, value in held.items() if key != "allOf"}
            return self.node({**rest, **cast("Mapping[str, Any]", parts[0])}, path, inside)
        if "$ref" in held and dialect.references != "kept":
            return self._reference(held, path, inside)
        made: dict[str, Any] = {}
        words: dict[str, Any] = {}
        for key, value in held.items():
            self._keyword(key, value, made, words, path, inside)
        if words:
            said = f"{{{', '.join(f'{key}: {value}' for key, value in words.items())}}}"
            made["description"] = f"{made['description']}\n\n{said}" if made.get("description") else said
        if dialect.types and not _TYPING & made.keys():
            _refuse(dialect, path, "does not say of what type it is", "give it a type (a field of type Any has none)")
        if dialect.bare_enums and "enum" in made:
            made.pop("type", None)
        if made.get("type") == "object" or "properties" in made:
            self._object(held, made, path)
        return made

    def _reference(self, node: Mapping[str, Any], path: str, inside: tuple[str, ...]) -> dict[str, Any]:
        name = str(node["$ref"])
        target = resolved(name, self._root)
        if target is None:
            _refuse(self._dialect, path, f"refers to {name!r}, which is not in it", "put it under $defs")
        beside = {key: value for key, value in node.items() if key != "$ref"}
        if path and (not beside or self._dialect.references == "bare" or name in inside):
            return {"$ref": name}
        return self.node({**target, **beside}, path, (*inside, name))

    def _keyword(
        self, key: str, value: Any, made: dict[str, Any], words: dict[str, Any], path: str, inside: tuple[str, ...]
    ) -> None:
        """Take one keyword over into ``made``, or into ``words``."""
        dialect, at = self._dialect, f"{path}.{key}" if path else key
        if key in _NAMED and isinstance(value, Mapping):
            each = cast("Mapping[str, Any]", value)
            prefix = path if key == "properties" else at
            made[key] = {name: self.node(one, f"{prefix}.{name}".lstrip("."), inside) for name, one in each.items()}
        elif key in _LISTED and isinstance(value, list):
            if key == "allOf" and not dialect.merges_all:
                _refuse(dialect, path, "has the keyword 'allOf'", _WAYS_OUT["allOf"])
            key = "anyOf" if key == "oneOf" and dialect.splits_unions else key
            several = enumerate(value)
            made[key] = [self.node(one, f"{at}[{index}]", inside) for index, one in several]
        elif key == "items":
            made[key] = self.node(value, f"{path}[]", inside)
        elif key == "additionalProperties" and dialect.closes:
            if value is not False and self._is_strict:
                _refuse(dialect, path, "allows keys that it does not name (additionalProperties)", _WAYS_OUT[key])
        elif key in _SILENT and dialect.keeps is not None:
            pass
        elif key == "default" and value is None and dialect.requires_all:
            pass  # the null that stands for an absence
        elif key in _VALUES or key == "required" or self._understands(key, value):
            made[key] = copied(value)
        elif dialect.describes is None or key in dialect.describes or key in ("format", "pattern"):
            words[key] = json.dumps(value) if dialect.describes is not None else value
        else:
            way_out = _WAYS_OUT.get(key, "leave it out, and check the answer")
            _refuse(dialect, path, f"has the keyword {key!r}", way_out)

    @property
    def _is_strict(self) -> bool:
        """Whether the dialect is narrower than JSON schema."""
        return self._dialect.keeps is not None

    def _understands(self, key: str, value: Any) -> bool:
        dialect = self._dialect
        if dialect.keeps is None:
            return True
        if key == "format":
            return dialect.formats is None or value in dialect.formats
        if key == "minItems" and dialect.describes is None:
            return value in (0, 1)  # Anthropic's limit
        return key in dialect.keeps and not (key == "pattern" and _LOOKAROUND.search(str(value)))

    def _object(self, node: Mapping[str, Any], made: dict[str, Any], path: str) -> None:
        """Close an object, and require what it has."""
        dialect = self._dialect
        if not dialect.closes:
            return
        if self._is_strict and "properties" not in made and "additionalProperties" not in node:
            _refuse(dialect, path, "is an object without properties", "name its keys, as fields of a model")
        made["additionalProperties"] = copied(node.get("additionalProperties", False))
        properties: dict[str, Any] = made.get("properties", {})
        if dialect.requires_all:
            required = node.get("required") or ()
            for name, one in cast("Mapping[str, Any]", node.get("properties", {})).items():
                if name not in required and "default" not in one:
                    properties[name] = _nullable(properties[name])
            made["required"] = list(properties)


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    kind = node.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind) or None in node.get("enum", ()):
        return node
    choices = cast("list[dict[str, Any]]", node.get("anyOf", ()))
    if any(choice.get("type") == "null" for choice in choices):
        return node
    return {"anyOf": [node, {"type": "null"}]}
