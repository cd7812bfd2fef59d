"""What stands for a model, or a whole chain, in a file's first line: all that changes its answers, in every process alike.

A model counts by its cache key, anything else by what it is made of: steps, templates, schemas, bound arguments. A function
counts by its name, and by the runnables that it uses; what cannot be written down, by the name of its class. What only says
how a call is made, traced or repeated does not count.
"""

# pyright: reportPrivateUsage=false
# What changes a model's answers is what its cache key says (`_get_llm_string`, LangChain's name).

import dataclasses
import dis
import functools
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, MethodType, ModuleType
from typing import TypeAlias, cast

from pydantic import BaseModel, SecretBytes, SecretStr

from hocket._pipeline.cache_key import LocalKey, list_code, portable_key
from hocket.language_models import BaseLanguageModel
from hocket.load.serializable import get_fields
from hocket.messages import BaseMessage
from hocket.retries import RetryPolicy
from hocket.runnables.proxy import RunnableBinding
from hocket.timeouts import Timeout

__all__ = ["find_models", "make_code_key", "make_fingerprint"]

_SILENT = frozenset({"name", "run_name", "tags", "metadata", "callbacks", "verbose", "retry", "timeout"})
"""Fields and arguments that change no answer."""

_WRITTEN = (SecretStr, SecretBytes, BaseMessage, type, bytes, bytearray)
"""What a key says as it is, though it has parts."""

_NO_PART = (RetryPolicy, Timeout)

_BUILT_OF = (operator.itemgetter, operator.attrgetter, operator.methodcaller)

_CONSTANTS = (str, bytes, int, float, tuple, frozenset, type(None))

_PLACES = [os.path.dirname(os.path.dirname(__file__)), os.path.dirname(os.__file__)]  # hocket's code, and Python's
_NOT_OWN = (*_PLACES, "site-packages", "dist-packages", "<frozen", "<string>")  # the last is of dataclasses

_Parts: TypeAlias = tuple[object, ...]


def make_fingerprint(model: object) -> str:
    """Return what stands for a model, a chain or an agent."""
    return f"{_name(type(model))} {_find_key(model) or portable_key(_describe(model, ()))}"


def find_models(chain: object) -> list[BaseLanguageModel[str]]:
    """Return the models in a chain, as far as they can be seen from outside."""
    parts = _walk(chain, _list_parts)
    return [cast("BaseLanguageModel[str]", one) for one in parts if isinstance(one, BaseLanguageModel)]


def make_code_key(chain: object) -> str:
    """Return what stands for the code of the user's functions in a chain, with the functions, classes, texts and numbers
    that they name or hold, but not with what they set themselves, or what is in lists and objects; "": there are none."""
    functions = [one for one in _walk(chain, _list_code) if isinstance(one, FunctionType) and _is_own(one)]
    written = [[list_code(one.__code__), _list_named(one, _CONSTANTS)] for one in functions]
    return portable_key(written) if written else ""


def _walk(value: object, list_parts: Callable[[object], Iterable[object]]) -> Iterator[object]:
    seen: dict[int, object] = {}
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if value is None or isinstance(value, str | int | float) or id(value) in seen:
            continue
        seen[id(value)] = value
        waiting += list_parts(value)
        yield value


def _list_code(value: object) -> Iterable[object]:
    """Return what may have code in a value; of what a function names, and is neither code nor runnable, the class."""
    if isinstance(value, FunctionType):
        named = _list_named(value, object).values()
        return [one if callable(one) or hasattr(type(one), "ainvoke") else type(one) for one in named]
    if isinstance(value, type):
        # Of a static method; a question to one that pydantic makes late has it put what it makes into the class.
        held = [getattr(one, "__wrapped__", one) for one in [*vars(value).values()]]
        return [one for one in held if isinstance(one, FunctionType) and _is_own(one)]
    return [*_list_parts(value), type(value), getattr(value, "__wrapped__", None)]


def _list_named(function: FunctionType, kinds: type | tuple[type, ...]) -> dict[str, object]:
    """Return what of some kinds a function holds, and names if it is the user's own."""
    code, outside = function.__code__, function.__globals__
    found: dict[str, object] = {f"={place}": one for place, one in enumerate(function.__defaults__ or ())}
    found |= function.__kwdefaults__ or {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # it has none yet
            found[name] = cell.cell_contents
    names = {*_list_names(code)} if _is_own(function) else set[str]()
    found |= {name: outside[name] for name in names & outside.keys()}
    for module in [one for one in found.values() if isinstance(one, ModuleType) and _is_own(one)]:
        found |= {f"{module.__name__}.{name}": vars(module)[name] for name in names & vars(module).keys()}
    changed = {one.argval for one in dis.get_instructions(code) if one.opname in ("STORE_GLOBAL", "STORE_DEREF")}
    return {name: found[name] for name in sorted(found.keys() - changed) if isinstance(found[name], kinds)}


def _is_own(value: FunctionType | ModuleType) -> bool:
    is_function = isinstance(value, FunctionType)
    file = value.__code__.co_filename if is_function else getattr(value, "__file__", None) or "<frozen"
    return not any(one in file for one in _NOT_OWN)


def _list_parts(value: object) -> Iterable[object]:
    if isinstance(value, _WRITTEN):
        return ()
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
