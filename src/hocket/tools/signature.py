"""What a function takes, seen as a tool: what the model gives, and what its caller adds.

Parameters are called by name where that is possible. ``*args`` is one argument, a list; ``**kwargs`` takes whatever the
model makes up. Three kinds of parameters are no part of any schema: one with the type `RunnableConfig`, and those named
``run_manager`` and ``callbacks`` (LangChain's names).

What was found out about a function is kept as long as the function lives (`Memo`).
"""

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import FunctionType
from typing import Any, Generic, NamedTuple, TypeGuard, TypeVar, Union, cast, get_args, get_origin
from weakref import WeakKeyDictionary

from typing_extensions import get_type_hints

from hocket.callbacks import AsyncRunManager, RunManager
from hocket.errors import InvalidInput
from hocket.runnables import RunnableConfig

__all__ = ["FILTERED_ARGS", "Memo", "Parameter", "Signature", "is_async", "read_signature"]

FILTERED_ARGS = ("run_manager", "callbacks")
"""Parameters of these names are filled by hocket."""

T = TypeVar("T")

_EMPTY = inspect.Parameter.empty
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Parameter(NamedTuple):
    """One parameter. ``annotation`` is resolved, and Any where there is none."""

    name: str
    kind: Any
    annotation: Any
    default: object

    @property
    def is_required(self) -> bool:
        """Whether a call must give it."""
        return self.default is _EMPTY and self.kind not in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        )


class Signature(NamedTuple):
    """A function's parameters.

    Attributes:
        parameters: all but those that hocket fills.
        config: the names of those that take the run's config.
        filled: which of `FILTERED_ARGS` there are.
        ordered: the parameters before a ``/`` or a ``*args``, which may have to be given by position.
        variadic: the name of ``*args``, if there is one.
    """

    parameters: tuple[Parameter, ...]
    config: tuple[str, ...]
    filled: tuple[str, ...]
    ordered: tuple[Parameter, ...]
    variadic: str | None

    def bind(self, values: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """Return the positional and named arguments of a call that gives these values by name."""
        named = dict(values)
        if not self.ordered and self.variadic is None:
            return [], named
        rest = cast("Sequence[object]", named.pop(self.variadic, ())) if self.variadic else ()
        positional: list[object] = []
        for parameter in self.ordered:
            if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY and not rest:
                break
            if parameter.name in named:
                positional.append(named.pop(parameter.name))
            elif parameter.default is not _EMPTY:
                positional.append(parameter.default)
            else:
                break  # Python says best what is missing
        return [*positional, *rest], named

    def fill(self, config: RunnableConfig, run: AsyncRunManager | RunManager) -> dict[str, object]:
        """Return the arguments that hocket fills: the config, the run's manager, and that of the runs inside it."""
        filled: dict[str, object] = dict.fromkeys(self.config, config)
        if "run_manager" in self.filled:
            filled["run_manager"] = run
        if "callbacks" in self.filled:
            filled["callbacks"] = run.get_child()
        return filled


class Memo(Generic[T]):
    """Remembers one value for each function or class, weakly. A value must not refer to its key: it would keep it."""

    def __init__(self) -> None:
        self._held: WeakKeyDictionary[FunctionType | type[object], T] = WeakKeyDictionary()

    def get(self, key: object, make: Callable[[], T]) -> T:
        """Return the value of ``key``, made at the first time; at every time, if it is no function and no class."""
        if not isinstance(key, FunctionType | type):
            return make()
        held = self._held.get(key)
        if held is None:
            held = self._held.setdefault(key, make())  # the same for two threads that are the first
        return held


_signatures: Memo[Signature] = Memo()
_bound_signatures: Memo[Signature] = Memo()


def read_signature(function: Callable[..., object]) -> Signature:
    """Return what ``function``, or any other callable, takes; remembered for functions and methods.

    Raises:
        InvalidInput: it has no signature, or names a type that cannot be found.
    """
    if inspect.ismethod(function):
        return _bound_signatures.get(function.__func__, lambda: _read(function))
    return _signatures.get(function, lambda: _read(function))


def is_async(function: Callable[..., object]) -> TypeGuard[Callable[..., Coroutine[object, object, object]]]:
    """Whether calling ``function`` gives a coroutine, as far as can be seen."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _read(function: Callable[..., object]) -> Signature:
    try:
        found = inspect.signature(function)
    except (ValueError, NameError) as error:
        raise InvalidInput(
            f"the signature of {function!r} cannot be read: {error}; give the tool an args_schema"
        ) from None
    hints = _resolve_hints(function, found.parameters)
    parameters: list[Parameter] = []
    config: list[str] = []
    filled: list[str] = []
    for name, parameter in found.parameters.items():
        annotation = hints.get(name, Any)
        if _is_config(annotation):
            config.append(name)
        elif name in FILTERED_ARGS:
            filled.append(name)
        else:
            parameters.append(Parameter(name, parameter.kind, annotation, parameter.default))
    variadic = next((one.name for one in parameters if one.kind is inspect.Parameter.VAR_POSITIONAL), None)
    ordered = [
        Parameter(name, one.kind, Any, one.default) for name, one in found.parameters.items() if one.kind in _POSITIONAL
    ]
    if variadic is None:
        ordered = [one for one in ordered if one.kind is inspect.Parameter.POSITIONAL_ONLY]
    return Signature(tuple(parameters), tuple(config), tuple(filled), tuple(ordered), variadic)


def _resolve_hints(function: Callable[..., object], parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Return the annotations of the parameters, with those that are text resolved. That of the result is not looked at."""
    annotations = {name: one.annotation for name, one in parameters.items() if one.annotation is not _EMPTY}
    if not any(isinstance(annotation, str) for annotation in annotations.values()):
        return annotations
    owner = _find_annotated(function)

    def holder() -> None: ...

    holder.__annotations__ = annotations
    cells = zip(owner.__code__.co_freevars, owner.__closure__ or (), strict=False)
    local = {name: cell.cell_contents for name, cell in cells}
    try:
        return get_type_hints(holder, owner.__globals__, local, include_extras=True)
    except NameError as error:
        raise InvalidInput(
            f"a type in the signature of {function!r} is unknown: {error}. Define or import it at the top of the module, "
            "and not under TYPE_CHECKING"
        ) from None


def _find_annotated(function: Any) -> Any:
    """Return the Python function that bears the annotations."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type):
        made = [vars(base).get(name) for base in function.__mro__ for name in ("__new__", "__init__")]
        function = next((one for one in made if inspect.isfunction(one)), _find_annotated)
    elif not inspect.isroutine(function):
        function = type(function).__call__
    function = inspect.unwrap(function)
    return getattr(function, "__func__", function)


def _is_config(annotation: object) -> bool:
    if annotation is RunnableConfig:
        return True
    kinds = get_args(annotation)
    return RunnableConfig in kinds and (get_origin(annotation) is Union or type(None) in kinds)
