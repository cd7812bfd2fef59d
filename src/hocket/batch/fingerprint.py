"""What stands for a model, or a whole chain, in a file's first line: all that changes its answers, in every process alike.

A model counts by its cache key, anything else by what it is made of: steps, templates, schemas, bound arguments. A function
counts by its name, and by the runnables that it uses; what cannot be written down, by the name of its class. What only says
how a call is made, traced or repeated does not count.
"""

# pyright: reportPrivateUsage=false
# What changes a model's answers is what its cache key says (`_get_llm_string`, LangChain's name).

import dataclasses
import functools
import operator
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, MethodType
from typing import TypeAlias, cast

from pydantic import BaseModel, SecretBytes, SecretStr

from hocket._pipeline.cache_key import LocalKey, portable_key
from hocket.language_models import BaseLanguageModel
from hocket.load.serializable import get_fields
from hocket.messages import BaseMessage
from hocket.retries import RetryPolicy
from hocket.runnables.proxy import RunnableBinding
from hocket.timeouts import Timeout

__all__ = ["find_models", "make_fingerprint"]

_SILENT = frozenset({"name", "run_name", "tags", "metadata", "callbacks", "verbose", "retry", "timeout"})
"""Fields and arguments that change no answer."""

_WRITTEN = (SecretStr, SecretBytes, BaseMessage, type, bytes, bytearray)
"""What a key says as it is, though it has parts."""

_NO_PART = (RetryPolicy, Timeout)

_BUILT_OF = (operator.itemgetter, operator.attrgetter, operator.methodcaller)

_Parts: TypeAlias = tuple[object, ...]


def make_fingerprint(model: object) -> str:
    """Return what stands for a model, a chain or an agent."""
    return f"{_name(type(model))} {_find_key(model) or portable_key(_describe(model, ()))}"


def find_models(chain: object) -> list[BaseLanguageModel[str]]:
    """Return the models in a chain, as far as they can be seen from outside."""
    found: list[BaseLanguageModel[str]] = []
    seen: set[int] = set()
    waiting = [chain]
    while waiting:
        value = waiting.pop()
        if value is None or isinstance(value, (str, int, float, *_WRITTEN)) or id(value) in seen:
            continue
        seen.add(id(value))
        waiting += _list_parts(value)
        if isinstance(value, BaseLanguageModel):
            found.append(cast("BaseLanguageModel[str]", value))
    return found


def _list_parts(value: object) -> Iterable[object]:
    if isinstance(value, BaseLanguageModel):
        return get_fields(cast("BaseLanguageModel[str]", value)).values()
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).values()
    if isinstance(value, list | tuple | set | frozenset):
        return cast("list[object]", value)
    if isinstance(value, FunctionType):
        return _list_runnables(value)
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    return (_find_parts(value) or {}).values()


def _describe(value: object, above: _Parts) -> object:
    """Return a value as plain data, as far as it can be said; ``above`` is what it is a part of."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, _NO_PART):
        return None
    if any(one is value for one in above):
        return "<above>"
    within = (*above, value)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {f"{key}": _describe(item, within) for key, item in items}
    if isinstance(value, list | tuple):
        return [_describe(item, within) for item in cast("list[object]", value)]
    if isinstance(value, set | frozenset):
        return sorted(portable_key(_describe(item, within)) for item in cast("set[object]", value))
    if isinstance(value, _WRITTEN):
        return value
    if isinstance(value, FunctionType):
        return [_name(value), [_describe(one, within) for one in _list_runnables(value)]]
    if isinstance(value, MethodType):
        return [_describe(value.__func__, within), _describe(value.__self__, within)]
    if isinstance(value, BuiltinFunctionType):  # "Label: {}".format, for one
        return [value.__qualname__, _describe(value.__self__, within)]
    if isinstance(value, MethodDescriptorType):
        return value.__qualname__
    if isinstance(value, functools.partial):
        return [_describe(one, within) for one in (value.func, value.args, value.keywords)]
    if isinstance(value, _BUILT_OF):
        return _describe(value.__reduce__(), within)
    return _describe_object(value, within)


def _describe_object(value: object, within: _Parts) -> object:
    """Return an object as the name of its class and its parts."""
    parts = _find_parts(value)
    return value if parts is None else [_name(type(value)), _describe(parts, within)]


def _find_parts(value: object) -> Mapping[str, object] | None:
    """Return what of an object changes answers; None: that cannot be known."""
    if isinstance(value, BaseLanguageModel):
        return _find_model_parts(cast("BaseLanguageModel[str]", value))
    if isinstance(value, RunnableBinding):
        bound = cast("RunnableBinding[object, object]", value)
        chosen = bound.config.get("configurable")
        return {"bound": bound.bound, "configurable": chosen, **_leave_out_silent(bound.kwargs)}
    if isinstance(value, BaseModel):
        excluded = {name for name, one in type(value).__pydantic_fields__.items() if one.exclude}
        fields = {**get_fields(value), **(value.__pydantic_extra__ or {})}
        return {name: one for name, one in _leave_out_silent(fields).items() if name not in excluded}
    if dataclasses.is_dataclass(value):
        return _leave_out_silent({one.name: getattr(value, one.name) for one in dataclasses.fields(value)})
    held: dict[str, object] = dict(getattr(value, "__dict__", {}))
    if hasattr(type(value), "ainvoke"):  # a runnable, or one of LangChain's
        return _leave_out_silent(held)
    if type(value).__module__.startswith("hocket."):  # its other attributes are what it has worked out
        return {name: one for name, one in _leave_out_silent(held).items() if not name.startswith("_")}
    return {name: one for name, one in held.items() if hasattr(type(one), "ainvoke")} or None  # it may count something


def _find_model_parts(model: BaseLanguageModel[str]) -> dict[str, object]:
    """Return a model's cache key; of one whose key no other process can make, what would be in it."""
    if (key := _find_key(model)) is not None:
        return {"key": key}
    fields = get_fields(model)
    return {**{name: fields[name] for name in model._key_fields}, **model.asdict()}


def _find_key(model: object) -> str | None:
    """Return a model's cache key; None: it is no model, or no other process can make the key."""
    if not isinstance(model, BaseLanguageModel):
        return None
    key = model._get_llm_string()
    return None if isinstance(key, LocalKey) else key


def _leave_out_silent(parts: Mapping[str, object]) -> dict[str, object]:
    return {name: one for name, one in parts.items() if name not in _SILENT}


def _name(named: type | FunctionType) -> str:
    return f"{named.__module__}.{named.__qualname__}"


def _list_runnables(function: FunctionType) -> Iterator[object]:
    """Yield the runnables that a function finds outside of itself, in the order of their names."""
    outside = {name: function.__globals__.get(name) for name in _list_names(function.__code__)}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            outside[name] = cell.cell_contents
        except ValueError:  # it has none yet
            continue
    for name in sorted(outside):
        one = outside[name]
        owner: object = one.__self__ if isinstance(one, MethodType) else one
        if hasattr(type(owner), "ainvoke"):
            yield owner


def _list_names(code: CodeType) -> Iterable[str]:
    """Return the names that some code looks up, that of its inner functions, too."""
    inner = [name for one in code.co_consts if isinstance(one, CodeType) for name in _list_names(one)]
    return [*code.co_names, *inner]
