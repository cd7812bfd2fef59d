"""JSON back to objects: a look-up in the register of classes, then ordinary pydantic validation.

The data is not trusted. Its ids only choose among classes that exist in this process, are serialisable and are allowed
by the caller; nothing is imported. Its secrets are names, looked up where the caller says. What is damaged, too deep or
not valid is refused with a :class:`~hocket.errors.LoadError`, whose text and cause leave out the values, since a secret
may be among them. A class that does something when it is built does it here too: for data from strangers allow
``"messages"`` or a list of classes, and nothing wider.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from hocket._json import JSON, JSONObject
from hocket.errors import InvalidInput, LoadError
from hocket.errors.hints import excerpt
from hocket.load.dump import ESCAPE_KEY, MAX_DEPTH
from hocket.load.serializable import Serializable, find_class, list_local_fields
from hocket.load.values import decode

__all__ = ["AllowedObjects", "InitValidator", "Loader", "load", "loads"]

AllowedObjects = Literal["core", "messages", "all"] | Iterable[type[Serializable]]
"""What data may build: hocket's own classes, its messages, every registered class, or exactly the classes listed."""

T = TypeVar("T", bound=Serializable)

_Classes = Mapping[tuple[str, ...], type[Serializable]]
_Allowed = Literal["core", "messages", "all"] | _Classes | tuple[type[Serializable], ...]
"""A word of `AllowedObjects`; classes by their ids; or a tuple of classes: these and their subclasses."""

InitValidator = Callable[[tuple[str, ...], dict[str, Any]], None]
"""Called with an object's id and kwargs before it is built; raises to refuse it."""

_MODULE_PREFIXES = {"core": "hocket.", "messages": "hocket.messages.", "all": ""}
_SHOWN = 200
"""Characters of damaged data that an error shows."""

_TOO_DEEP = f"the data is nested more than {MAX_DEPTH} deep, which dumps() never writes: flatten it, or refuse it"


def load(
    obj: Any,
    *,
    allowed_objects: AllowedObjects = "core",
    secrets_map: Mapping[str, str] | None = None,
    secrets_from_env: bool = False,
    ignore_unserializable_fields: bool = False,
    init_validator: InitValidator | None = None,
) -> Any:
    """Rebuild what :func:`~hocket.load.dumpd` wrote.

    Only classes that this process has already imported can be found.

    Args:
        obj: the data.
        allowed_objects: ``"core"`` for hocket's own classes, ``"messages"`` for its messages only, ``"all"`` for every
            registered class, or the classes themselves. Values of JSON and builtin types are always allowed.
        secrets_map: variable name → value, for the secrets that the data refers to.
        secrets_from_env: look secrets that are not in the map up in the environment. The data chooses the variable:
            only for data that you trust.
        ignore_unserializable_fields: read objects that could not be written as None instead of refusing them.
        init_validator: see :data:`InitValidator`; what it raises is passed on.

    Raises:
        LoadError: an id is unknown or not allowed, a secret is not found, or the data is damaged, not valid for its
            class, or nested more than 128 deep.
        InvalidInput: ``allowed_objects`` is neither one of the three words nor a series of Serializable classes.
    """
    allowed = _read_allowed(allowed_objects)
    loader = Loader(allowed, secrets_map or {}, secrets_from_env, ignore_unserializable_fields, init_validator)
    return loader.load(obj)


def loads(
    text: str | bytes,
    *,
    allowed_objects: AllowedObjects = "core",
    secrets_map: Mapping[str, str] | None = None,
    secrets_from_env: bool = False,
    ignore_unserializable_fields: bool = False,
    init_validator: InitValidator | None = None,
) -> Any:
    """Rebuild what :func:`~hocket.load.dumps` wrote; arguments and errors as in :func:`load`.

    Raises:
        LoadError: as in :func:`load`, or the text is not JSON.
    """
    try:
        obj = json.loads(text)
    except ValueError as error:
        raise LoadError(f"the text is not JSON: {error}") from error
    except RecursionError:
        raise LoadError(_TOO_DEEP) from None
    return load(
        obj,
        allowed_objects=allowed_objects,
        secrets_map=secrets_map,
        secrets_from_env=secrets_from_env,
        ignore_unserializable_fields=ignore_unserializable_fields,
        init_validator=init_validator,
    )


@dataclass(slots=True)
class Loader:
    """The arguments of :func:`load`, and the secrets that were looked up. Without secrets it may be used again."""

    allowed: _Allowed
    secrets_map: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets_from_env: bool = False
    ignore_unserializable_fields: bool = False
    init_validator: InitValidator | None = None
    used_secrets: list[str] = field(default_factory=list[str])

    def load(self, node: JSON, depth: int = 0) -> object:
        """Rebuild ``node``, which lies ``depth`` deep in the data.

        Raises:
            LoadError: as in :func:`load`.
        """
        if isinstance(node, list):
            if depth >= MAX_DEPTH:
                raise LoadError(_TOO_DEEP)
            return [self.load(item, depth + 1) for item in node]
        if not isinstance(node, dict):
            return node
        if depth >= MAX_DEPTH:
            raise LoadError(_TOO_DEEP)
        if "lc" in node:
            return self._revive(node, depth)
        if ESCAPE_KEY in node and len(node) == 1:
            inner = node[ESCAPE_KEY]
            if not isinstance(inner, dict):
                raise LoadError(f"damaged data: {ESCAPE_KEY!r} wraps a {type(inner).__name__} instead of a dict")
            node = inner
        return {key: v if v.__class__ is str else self.load(v, depth + 1) for key, v in node.items()}

    def _revive(self, node: JSONObject, depth: int) -> object:
        match node:
            case {"lc": 1, "type": "constructor", "id": [*lc_id], "kwargs": dict(kwargs)}:
                cls = self._find_class(lc_id)
                return self.build(cls, lc_id, {key: self.load(value, depth + 1) for key, value in kwargs.items()})
            case {"lc": 1, "type": "secret", "id": [str(variable)]}:
                return self._secret(variable)
            case {"lc": 1, "type": "value", "id": [str(name)], "value": payload}:
                return _decode(name, self.load(payload, depth + 1))
            case {"lc": 1, "type": "not_implemented"}:
                if self.ignore_unserializable_fields:
                    return None
                raise LoadError(
                    f"the data stands for an object that could not be written, {excerpt(node.get('id'), _SHOWN)}: "
                    "pass ignore_unserializable_fields=True to read it as None"
                )
            case _:
                pass
        raise LoadError(
            f"damaged data: a dict with the key 'lc', the type {excerpt(node.get('type'), _SHOWN)} and the keys "
            f"{excerpt(list(node), _SHOWN)} is no node of version 1 (dumps() wraps dicts of your own that have that key)"
        )

    def _find_class(self, lc_id: Sequence[JSON]) -> type[Serializable]:
        key = tuple([part for part in lc_id if isinstance(part, str)])
        if len(key) != len(lc_id):
            raise LoadError(f"damaged data: the id {excerpt(lc_id, _SHOWN)} is not a list of strings")
        if isinstance(self.allowed, str | tuple):
            cls = find_class(key)
            if cls is None:
                raise LoadError(
                    f"no class is registered with the id {excerpt(lc_id, _SHOWN)}: import the module that defines it "
                    "before loading, or name the id in the lc_aliases of the class that took its place"
                )
            if not self._is_allowed(cls, self.allowed):
                cls = None
        else:
            cls = self.allowed.get(key)
        if cls is None:
            allowed = repr(self.allowed) if isinstance(self.allowed, str | tuple) else f"a list of {len(self.allowed)}"
            raise LoadError(
                f"the id {excerpt(lc_id, _SHOWN)} is not allowed, allowed_objects being {allowed}: "
                "pass a list of classes that includes its class, if this data may build it"
            )
        if not cls.is_lc_serializable():
            shown = excerpt(lc_id, _SHOWN)
            raise LoadError(f"the class with the id {shown} cannot be loaded: its is_lc_serializable() is False")
        return cls

    def _is_allowed(self, cls: type[Serializable], allowed: str | tuple[type[Serializable], ...]) -> bool:
        if isinstance(allowed, tuple):
            return issubclass(cls, allowed)
        return f"{cls.__module__}.".startswith(_MODULE_PREFIXES[allowed])

    def _secret(self, variable: str) -> str:
        value = self.secrets_map.get(variable)
        if value is None and self.secrets_from_env:
            value = os.environ.get(variable)
        if value is None:
            place = "set it in the environment" if self.secrets_from_env else "pass secrets_from_env=True"
            raise LoadError(f"the secret {excerpt(variable, _SHOWN)} was not found: pass it in secrets_map, or {place}")
        self.used_secrets.append(value)
        return value

    def build(self, cls: type[T], lc_id: Iterable[object], kwargs: dict[str, object]) -> T:
        """Build an object.

        Args:
            cls: its class.
            lc_id: what the data calls the class, for errors.
            kwargs: its fields, with their objects already built.

        Raises:
            LoadError: a field is not valid, or one that data may not set.
        """
        local = list_local_fields(cls)
        if not local.isdisjoint(kwargs):
            names = ", ".join(sorted(local & kwargs.keys()))
            raise LoadError(
                f"{excerpt(lc_id, _SHOWN)} has {names}, which data may not set (requests could go elsewhere): set it later"
            )
        if self.init_validator is not None:
            self.init_validator(tuple(map(str, lc_id)), kwargs)
        try:
            # What `model_validate` calls, which takes longer to pass its arguments on than to check that they are free.
            made: T = cls.__pydantic_validator__.validate_python(kwargs, by_alias=True, by_name=True)
            return made
        except Exception as error:
            failure = error
        self._refuse(excerpt(lc_id, _SHOWN), failure)  # outside the handler: the original is to be no context either

    def _refuse(self, shown: str, failure: Exception) -> NoReturn:
        if isinstance(failure, ValidationError):
            bare = self._without_values(failure)
            raise LoadError(f"{shown} cannot be built: {bare}") from bare
        text = f"{shown} cannot be built: {type(failure).__name__}: {self._redact(str(failure))}"
        raise LoadError(text) from (None if self.used_secrets else failure)

    def _without_values(self, error: ValidationError) -> ValidationError:
        details: list[InitErrorDetails] = []
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            kind: Any = item["type"]
            message = PydanticCustomError(kind, "{text}", {"text": self._redact(item["msg"])})
            details.append(InitErrorDetails(type=message, loc=item["loc"], input=None))
        return ValidationError.from_exception_data(error.title, details, hide_input=True)

    def _redact(self, text: str) -> str:
        # pydantic's own messages hold no input; those of a class's own validators may.
        for secret in filter(None, self.used_secrets):
            text = text.replace(secret, "**********")
        return text


def _read_allowed(allowed_objects: object) -> _Allowed:
    if allowed_objects in ("core", "messages", "all"):
        return allowed_objects
    if isinstance(allowed_objects, str) or not isinstance(allowed_objects, Iterable):
        raise InvalidInput(
            f"allowed_objects={excerpt(allowed_objects, _SHOWN)}: pass 'core', 'messages', 'all' or classes"
        )
    by_id: dict[tuple[str, ...], type[Serializable]] = {}
    for given in cast("Iterable[object]", allowed_objects):
        cls = given
        if isinstance(cls, type) and issubclass(cls, Serializable):
            by_id |= {tuple(lc_id): cls for lc_id in (*vars(cls).get("lc_aliases", ()), cls.lc_id())}
        else:
            raise InvalidInput(f"allowed_objects contains {excerpt(given, _SHOWN)}: pass subclasses of Serializable")
    return by_id


def _decode(name: str, payload: object) -> object:
    try:
        return decode(name, payload)
    except Exception:
        shown = excerpt(name, _SHOWN)
        raise LoadError(f"damaged data: {shown} is no value type, or its payload none of that type") from None
