"""Cache keys: a short hash of everything that changes the answer, and of nothing else.

Not in it: ids, token usage and response metadata of earlier messages, artifacts (never sent), the order of keys in a
mapping, secrets, and fields of a model that are left out of its dumped form. A value that cannot be written down (a
client object, a local function) counts by identity: that can cost a hit, but never gives a wrong one.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from enum import Enum
from types import BuiltinFunctionType, FunctionType
from typing import Any, cast

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import to_json

from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

__all__ = ["hashed", "model_key", "prompt_key"]

_SPOKEN = frozenset({HumanMessage, SystemMessage, AIMessage})
_SILENT = frozenset({"id", "response_metadata", "usage_metadata", "artifact", "invalid_tool_calls", "chunk_position"})


def hashed(data: bytes) -> str:
    """Return 32 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def prompt_key(prompt: str | Iterable[BaseMessage]) -> str:
    """Return the key of a text or of a conversation."""
    if isinstance(prompt, str):
        return hashed(prompt.encode("utf-8", "surrogatepass"))
    parts: list[Any] = []
    for message in prompt:
        fields = message.__dict__
        if message.__class__ in _SPOKEN and fields["content"].__class__ is str and _is_bare(message, fields):
            parts += (fields["type"], fields["content"])
        else:
            parts.append([_canonical(_said(message))])
    try:
        return hashed(to_json(parts))
    except ValueError:  # text that is no valid Unicode (lone surrogates)
        return hashed(_canonical(parts).encode("utf-8", "surrogatepass"))


def _is_bare(message: BaseMessage, fields: Mapping[str, Any]) -> bool:
    """Whether the message says nothing beside its text."""
    return not (fields["additional_kwargs"] or fields["name"] or message.__pydantic_extra__ or fields.get("tool_calls"))


def _said(message: BaseMessage) -> dict[str, Any]:
    _ = message.content  # a lazy sum of chunks becomes real
    said = {name: value for name, value in message.__dict__.items() if name not in _SILENT}
    return {**said, **(message.__pydantic_extra__ or {})}


def model_key(model: BaseModel, names: Iterable[str], more: Mapping[str, Any]) -> str:
    """Return the key of a model.

    Args:
        model: its class counts, and the fields called ``names``.
        more: what else counts: identifying parameters, stop words, the call's own parameters.
    """
    fields = {name: model.__dict__[name] for name in names}
    return hashed(_canonical([_name(type(model)), fields, more]).encode("utf-8", "surrogatepass"))


def _canonical(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_written)
    except TypeError:  # keys of several types
        return json.dumps(_with_text_keys(value), sort_keys=True, separators=(",", ":"), default=_written)


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        items = value.items()
        return {f"{type(key).__name__}:{key}": _with_text_keys(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [_with_text_keys(item) for item in cast("list[Any]", value)]
    return value


def _written(value: Any) -> Any:
    """Write down what JSON has no word for."""
    if isinstance(value, SecretStr | SecretBytes):
        return "secret"
    if isinstance(value, BaseModel):
        return [_name(type(value)), {name: item for name, item in value.__dict__.items() if name not in _SILENT}]
    if isinstance(value, type):
        schema = value.model_json_schema() if issubclass(value, BaseModel) else None
        return [_name(value), schema]
    if isinstance(value, FunctionType | BuiltinFunctionType) and "<" not in value.__qualname__:
        return _name(value)
    if isinstance(value, Enum):
        return [_name(type(value)), value.name]
    if isinstance(value, set | frozenset):
        return sorted(_canonical(item) for item in cast("set[Any]", value))
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, Mapping):
        return dict(value)
    return f"{_name(type(value))}@{id(value)}"


def _name(named: Any) -> str:
    return f"{named.__module__}.{named.__qualname__}"
