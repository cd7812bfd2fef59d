"""JSON back to objects: a look-up in the register of classes, then ordinary pydantic validation.

The data is not trusted. Its ids only choose among classes that exist in this process, are serialisable and are allowed
by the caller; nothing is imported. Its secrets are names, looked up where the caller says. What is damaged, too deep or
not valid is refused with a :class:`~hocket.errors.LoadError`, whose text and cause leave out the values, since a secret
may be among them. A class that does something when it is built does it here too: for data from strangers allow
``"messages"`` or a list of classes, and nothing wider.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, TypeVar

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from hocket.errors import InvalidInput, LoadError
from hocket.load.dump import ESCAPE_KEY, MAX_DEPTH
from hocket.load.serializable import Serializable, find_class
from hocket.load.values import decode

__all__ = ["AllowedObjects", "InitValidator", "Loader", "load", "loads"]

AllowedObjects = Literal["core", "messages", "all"] | Iterable[type[Serializable]]
"""What data may build: hocket's own classes, its messages, every registered class, or exactly the classes listed."""

T = TypeVar("T", bound=Serializable)

InitValidator = Callable[[tuple[str, ...], dict[str, Any]], None]
"""Called with an object's id and kwargs before it is built; raises to refuse it."""

_MODULE_PREFIXES = {"core": "hocket.", "messages": "hocket.messages.", "all": ""}
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
    allowed = _allowed(allowed_objects)
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

    allowed: Any  # a word of `AllowedObjects`, classes by id, or one class: it and its subclasses
    secrets_map: Mapping[str, str] = field(default_factory=dict)
    secrets_from_env: bool = False
    ignore_unserializable_fields: bool = False
    init_validator: InitValidator | None = None
    used_secrets: list[str] = field(default_factory=list)

    def load(self, node: Any, depth: int = 0) -> Any:
        """Rebuild ``node``, which lies ``depth`` deep in the data."""
        is_list = isinstance(node, list)
        if not (is_list or isinstance(node, dict)):
            return node
        if depth >= MAX_DEPTH:
            raise LoadError(_TOO_DEEP)
        if is_list:
            return [self.load(item, depth + 1) for item in node]
        if "lc" in node:
            return self._revive(node, depth)
        if ESCAPE_KEY in node and len(node) == 1:
            node = node[ESCAPE_KEY]
            if not isinstance(node, dict):
                raise LoadError(f"damaged data: {ESCAPE_KEY!r} wraps a {type(node).__name__} instead of a dict")
        return {key: v if v.__class__ is str else self.load(v, depth + 1) for key, v in node.items()}

    def _revive(self, node: dict[str, Any], depth: int) -> Any:
        match node:
            case {"lc": 1, "type": "constructor", "id": [*lc_id], "kwargs": dict(kwargs)}:
                cls = self._find(lc_id)
                return self.build(cls, lc_id, {key: self.load(value, depth + 1) for key, value in kwargs.items()})
            case {"lc": 1, "type": "secret", "id": [str(variable)]}:
                return self._secret(variable)
            case {"lc": 1, "type": "value", "id": [str(name)], "value": payload}:
                return _decoded(name, self.load(payload, depth + 1))
            case {"lc": 1, "type": "not_implemented"}:
                if self.ignore_unserializable_fields:
                    return None
                raise LoadError(
                    f"the data stands for an object that could not be written, {_show(node.get('id'))}: "
                    "pass ignore_unserializable_fields=True to read it as None"
                )
        raise LoadError(
            f"damaged data: a dict with the key 'lc', the type {_show(node.get('type'))} and the keys "
            f"{_show(list(node))} is no node of version 1 (dumps() wraps dicts of your own that have that key)"
        )

    def _find(self, lc_id: list[Any]) -> type[Serializable]:
        shown, key = _show(lc_id), tuple(lc_id)
        if not all(isinstance(part, str) for part in key):
            raise LoadError(f"damaged data: the id {shown} is not a list of strings")
        if not isinstance(self.allowed, dict):
            cls, allowed = find_class(key), repr(self.allowed)
            if cls is None:
                raise LoadError(
                    f"no class is registered with the id {shown}: import the module that defines it before loading, "
                    "or name the id in the lc_aliases of the class that took its place"
                )
            if not self._admits(cls):
                cls = None
        else:
            cls, allowed = self.allowed.get(key), f"a list of {len(self.allowed)}"
        if cls is None:
            raise LoadError(
                f"the id {shown} is not allowed, allowed_objects being {allowed}: "
                "pass a list of classes that includes its class, if this data may build it"
            )
        if not cls.is_lc_serializable():
            raise LoadError(f"the class with the id {shown} cannot be loaded: its is_lc_serializable() is False")
        return cls

    def _admits(self, cls: type[Serializable]) -> bool:
        if isinstance(self.allowed, type):
            return issubclass(cls, self.allowed)
        return f"{cls.__module__}.".startswith(_MODULE_PREFIXES[self.allowed])

    def _secret(self, variable: str) -> str:
        value = self.secrets_map.get(variable)
        if value is None and self.secrets_from_env:
            value = os.environ.get(variable)
        if value is None:
            place = "set it in the environment" if self.secrets_from_env else "pass secrets_from_env=True"
            raise LoadError(f"the secret {_show(variable)} was not found: pass it in secrets_map, or {place}")
        self.used_secrets.append(value)
        return value

    def build(self, cls: type[T], lc_id: list[str], kwargs: dict[str, Any]) -> T:
        """Build an object of ``cls``, which the data calls ``lc_id``."""
        local = cls._local_fields & kwargs.keys()
        if local:
            names = ", ".join(sorted(local))
            raise LoadError(
                f"{_show(lc_id)} has {names}, which data may not set: it could lead requests elsewhere; set it afterwards"
            )
        if self.init_validator is not None:
            self.init_validator(tuple(lc_id), kwargs)
        try:
            return cls.model_validate(kwargs, by_alias=True, by_name=True)
        except Exception as error:
            failure = error
        self._refuse(_show(lc_id), failure)  # outside the handler: the original is to be no context either

    def _refuse(self, shown: str, failure: Exception) -> NoReturn:
        if isinstance(failure, ValidationError):
            bare = self._without_values(failure)
            raise LoadError(f"{shown} cannot be built: {bare}") from bare
        text = f"{shown} cannot be built: {type(failure).__name__}: {self._censored(str(failure))}"
        raise LoadError(text) from (None if self.used_secrets else failure)

    def _without_values(self, error: ValidationError) -> ValidationError:
        details: list[InitErrorDetails] = []
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            kind: Any = item["type"]
            message = PydanticCustomError(kind, "{text}", {"text": self._censored(item["msg"])})
            details.append(InitErrorDetails(type=message, loc=item["loc"], input=None))
        return ValidationError.from_exception_data(error.title, details, hide_input=True)

    def _censored(self, text: str) -> str:
        # pydantic's own messages hold no input; those of a class's own validators may.
        for secret in filter(None, self.used_secrets):
            text = text.replace(secret, "**********")
        return text


def _allowed(allowed_objects: object) -> str | dict[tuple[str, ...], type[Serializable]]:
    if isinstance(allowed_objects, str) and allowed_objects in _MODULE_PREFIXES:
        return allowed_objects
    if isinstance(allowed_objects, str) or not isinstance(allowed_objects, Iterable):
        raise InvalidInput(f"allowed_objects={_show(allowed_objects)}: pass 'core', 'messages', 'all' or classes")
    by_id: dict[tuple[str, ...], type[Serializable]] = {}
    for cls in allowed_objects:
        if not (isinstance(cls, type) and issubclass(cls, Serializable)):
            raise InvalidInput(f"allowed_objects contains {_show(cls)}: pass subclasses of Serializable")
        by_id |= {tuple(lc_id): cls for lc_id in (*vars(cls).get("lc_aliases", ()), cls.lc_id())}
    return by_id


def _decoded(name: str, payload: Any) -> Any:
    try:
        return decode(name, payload)
    except Exception:
        raise LoadError(f"damaged data: {_show(name)} is no value type, or its payload none of that type") from None


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
