"""Cache keys: a short hash of everything that changes the answer, and of nothing else.

Not in it: ids, token usage and response metadata of earlier messages, artifacts (never sent), the order of keys in a
mapping, secrets, and fields of a model that are left out of its dumped form. What cannot be written down (a client
object, a local function or class) counts by identity, by a mark that no other object of any process ever gets, as its
address would be: that can cost a hit, but never gives a wrong one. A key that holds such a mark is a `LocalKey`: no other
process makes an equal one.

To write a model down as JSON takes half of the time of a hit. So a model keeps its last key, together with all that the key
was made of, as `marshal` writes it: that takes a tenth of the time, and whatever changes, in a field, in a list inside of it
or in the call, is another state. Only plain data is kept, of which marshal loses nothing.
"""

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import json
import marshal
import re
import weakref
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, cast
from uuid import UUID

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import to_json

from hocket._runtime.clock import new_run_id
from hocket.load.serializable import get_fields
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from hocket.messages.base import is_bare

__all__ = ["KEPT_KEY", "LocalKey", "hash_bytes", "list_code", "model_key", "portable_key", "prompt_key", "value_key"]

_SPOKEN: Mapping[type, str] = {HumanMessage: "human", SystemMessage: "system", AIMessage: "ai"}
_SILENT = frozenset({"id", "response_metadata", "usage_metadata", "artifact", "chunk_position"})
_TEXTUAL = (date, time, timedelta, Decimal, UUID, PurePath)

_LEAVES = frozenset({type(None), bool, int, float, str})

KEPT_KEY = "_kept_cache_key"
"""Where a model keeps its last key, in its ``__dict__``, behind the state that it was made of."""

_WITHOUT_REFERENCES = 2
"""The version of marshal's format in which equal values are equal bytes, whether or not they are the same objects."""

_marks: dict[int, tuple[weakref.ref[Any], str]] = {}

_TILDE = b"~"
_HERE = f"~{new_run_id().hex}"
"""How every mark of this process begins, by which a key that holds one is known. The byte alone is found much faster."""

_MARK = re.compile(_HERE + "[0-9a-f]{32} ")


class LocalKey(str):
    """A key that only this process can make.

    Attributes:
        cause: the name of what was marked in it.
    """

    __slots__ = ("cause",)

    cause: str


def hash_bytes(data: bytes) -> str:
    """Return 32 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _make_key(data: bytes) -> str:
    """Return the key of something that has been written down."""
    key = hash_bytes(data)
    at = data.find(_HERE.encode()) if _TILDE in data else -1
    if at < 0:
        return key
    local = LocalKey(key)
    local.cause = re.split(r'["\\]', data[at:].decode("utf-8", "surrogatepass"), maxsplit=1)[0].partition(" ")[2]
    return local


def prompt_key(prompt: str | Iterable[BaseMessage]) -> str:
    """Return the key of a text or of a conversation."""
    if isinstance(prompt, str):
        return hash_bytes(prompt.encode("utf-8", "surrogatepass"))
    parts: list[Any] = []
    for message in prompt:
        fields, role = get_fields(message), _SPOKEN.get(type(message))
        if role is not None and (is_bare(fields) or _is_text(message, fields)):
            parts += (role, fields["content"])
        else:
            parts.append([_canonical(_get_key_fields(message))])
    try:
        return _make_key(to_json(parts))
    except ValueError:  # text that is no valid Unicode (lone surrogates)
        return _make_key(_canonical(parts).encode("utf-8", "surrogatepass"))


def _is_text(message: BaseMessage, fields: Mapping[str, Any]) -> bool:
    """Whether the message says nothing but a text."""
    if type(fields["content"]) is not str:
        return False
    if fields["additional_kwargs"] or fields["name"] is not None or message.__pydantic_extra__:
        return False
    return not (type(message) is AIMessage and (fields["tool_calls"] or fields["invalid_tool_calls"]))


def _get_key_fields(message: BaseMessage) -> dict[str, Any]:
    _ = message.content  # a lazy sum of chunks becomes real
    said = {name: value for name, value in message.__dict__.items() if name not in _SILENT}
    return {**said, **(message.__pydantic_extra__ or {})}


def model_key(model: BaseModel, names: Iterable[str], more: Mapping[str, Any]) -> str:
    """Return the key of a model.

    Args:
        model: its class counts, and the fields called ``names``.
        more: what else counts: identifying parameters, stop words, the call's own parameters.
    """
    own = get_fields(model)
    cls = type(model)
    named = [_name(cls), _mark(cls) if _is_local(cls) else ""]
    said = [named, {name: own[name] for name in names}, model.__pydantic_extra__ or {}, more]
    try:
        state = marshal.dumps(said, _WITHOUT_REFERENCES)
    except ValueError:  # there is more in it than plain data
        return _make_key(_canonical(said).encode("utf-8", "surrogatepass"))
    kept: tuple[bytes, str] | None = own.get(KEPT_KEY)
    if kept is not None and kept[0] == state:
        return kept[1]
    key = _make_key(_canonical(said).encode("utf-8", "surrogatepass"))
    if _is_plain(said):
        own[KEPT_KEY] = state, key
    return key


def _is_plain(value: object) -> bool:
    """Whether there is nothing in a value but what marshal writes as what it is: of an array it writes the bytes."""
    rest = [value]
    while rest:
        one = rest.pop()
        kind = type(one)
        if kind is dict:
            items = cast("dict[object, object]", one)
            rest += items
            rest += items.values()
        elif kind is list or kind is tuple:
            rest += cast("Sequence[object]", one)
        elif kind not in _LEAVES:
            return False
    return True


def value_key(value: object) -> str:
    """Return the key of any value, the same in every process; a `LocalKey` if no other process could make it."""
    return _make_key(_canonical(value).encode("utf-8", "surrogatepass"))


def portable_key(value: object) -> str:
    """Return the key of any value, the same in every process: what only this one knows counts by its name."""
    return hash_bytes(_MARK.sub("", _canonical(value)).encode("utf-8", "surrogatepass"))


def list_code(code: CodeType) -> list[object]:
    """Return what tells some code from other code, wherever it stands."""
    inner = [list_code(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return [code.co_code, code.co_names, inner]


def _canonical(value: Any) -> str:
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, RecursionError):  # keys of several types, or something that contains itself
        pass
    try:
        return _encoder_anyhow.encode(_with_text_keys(value))
    except (TypeError, ValueError, RecursionError):
        return _new_mark("something that contains itself")  # never a hit


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {f"{type(key).__name__}:{key}": _with_text_keys(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [_with_text_keys(item) for item in cast("list[Any]", value)]
    return value


def _encode_value_anyhow(value: Any) -> Any:
    return _with_text_keys(_encode_value(value))


def _encode_value(value: Any) -> Any:
    """Write down what JSON has no word for, marked as what it is: the bytes ``b"ab"`` are not the text "6162"."""
    if isinstance(value, SecretStr | SecretBytes):
        return {"<secret>": ""}
    if isinstance(value, BaseMessage):
        return {_kind(value): _get_key_fields(value)}
    if isinstance(value, BaseModel):
        return {_kind(value): [value.__dict__, value.__pydantic_extra__]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {_kind(value): {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}}
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, FunctionType | BuiltinFunctionType):
        return _function(value)
    if isinstance(value, MethodType):
        return {"<method>": [value.__self__, value.__func__]}
    if isinstance(value, functools.partial):
        return {"<partial>": [value.func, value.args, value.keywords]}
    if isinstance(value, Enum):
        return {_kind(value): value.name}
    if isinstance(value, set | frozenset):
        return {"<set>": sorted(_canonical(item) for item in cast("set[Any]", value))}
    if isinstance(value, bytes | bytearray):
        return {"<bytes>": value.hex()}
    if isinstance(value, _TEXTUAL):
        return {_kind(value): str(value)}
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    return {_kind(value): _mark(value)}


def _class(cls: type) -> Any:
    """Write down a class: a schema by what it says; one that only its code tells apart from its namesakes, by name."""
    if issubclass(cls, BaseModel):
        try:
            return {f"<{_name(cls)}>": cls.model_json_schema()}
        except Exception:  # some of it has no schema
            return {f"<{_name(cls)}>": _mark(cls)}
    fields: dict[str, object] = inspect.get_annotations(cast(Any, cls))
    local = _mark(cls) if _is_local(cls) and not fields else ""
    return {f"<{_name(cls)}>": [cls.__doc__, {name: str(kind) for name, kind in fields.items()}, local]}


def _function(function: FunctionType | BuiltinFunctionType) -> Any:
    """Write down a function by its name and by what a model is told of it, were it a tool."""
    if _is_local(function):
        return {"<function>": _mark(function)}
    try:
        signature = str(inspect.signature(function))
    except ValueError:  # of some builtins
        signature = ""
    return {"<function>": [_name(function), signature, function.__doc__]}


def _mark(value: Any) -> str:
    """Return the mark of this very object, by which it is known as long as it lives."""
    held = _marks.get(id(value))
    if held is not None and held[0]() is value:
        return held[1]
    mark = _new_mark(
        _name(value) if isinstance(value, type | FunctionType | BuiltinFunctionType) else _name(type(value))
    )
    with contextlib.suppress(TypeError):  # no weak references: it is never known again, and never gives a hit
        made = weakref.ref(value, functools.partial(_forget, id(value))), mark
        held = _marks.setdefault(id(value), made)  # in one step: threads that mark it at once get the same
        if held[0]() is value:
            return held[1]
        _marks[id(value)] = made
    return mark


def _new_mark(name: str) -> str:
    return f"{_HERE}{new_run_id().hex} {name}"


def _forget(address: int, reference: object) -> None:
    held = _marks.get(address)
    if held is not None and held[0] is reference:
        del _marks[address]


def _is_local(named: Any) -> bool:
    """Whether there may be several of this name: made inside a function, or a lambda."""
    return "<" in named.__qualname__


def _kind(value: object) -> str:
    return f"<{_name(type(value))}>"


def _name(named: Any) -> str:
    return f"{named.__module__}.{named.__qualname__}"


_encoder = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), default=_encode_value
)  # made once: dumps makes one a call
_encoder_anyhow = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_encode_value_anyhow)
