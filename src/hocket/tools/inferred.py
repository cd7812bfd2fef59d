"""A schema inferred from a function's signature: a pydantic model, as in LangChain, built when it is first needed."""

import inspect
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, ClassVar, Unpack, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from hocket._runtime.fork import after_fork
from hocket.errors import InvalidInput
from hocket.load.late_build import LateModel
from hocket.tools.docstrings import parse_docstring
from hocket.tools.injected import is_injected
from hocket.tools.runtime import is_runtime
from hocket.tools.signature import Memo, Parameter, read_signature
from hocket.tools.typed_dicts import fit_for_pydantic

__all__ = ["InferredArguments", "create_schema_from_function", "infer_schema"]


class InferredArguments(LateModel):
    """What schemas inferred from signatures derive from: unknown arguments are refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True, protected_namespaces=()
    )


_TAKEN = frozenset(dir(BaseModel))


_kept: Memo[list[tuple[tuple[str, str | None], type[BaseModel]]]] = Memo()
"""For each function the name and the docstring of the schema that was made last, and the schema."""

_making = threading.RLock()


@after_fork
def _renew_lock() -> None:
    global _making
    _making = threading.RLock()


def infer_schema(model_name: str, func: Callable[..., object]) -> type[BaseModel]:
    """Do as `create_schema_from_function`, once for a function, as long as it lives, under its name and docstring."""
    key = model_name, func.__doc__
    with _making:
        kept = _kept.get(func, list[tuple[tuple[str, str | None], type[BaseModel]]])
        if not kept or kept[0][0] != key:
            kept[:] = [(key, create_schema_from_function(model_name, func))]
        return kept[0][1]


def create_schema_from_function(
    model_name: str,
    func: Callable[..., object],
    *,
    filter_args: Sequence[str] | None = None,
    parse_docstring: bool = False,
    error_on_invalid_docstring: bool = False,
    include_injected: bool = True,
) -> type[BaseModel]:
    """Return a pydantic model with the parameters of ``func``.

    ``*args: T`` becomes a list, ``**kwargs: T`` allows further arguments of that type. What hocket fills (the config,
    a `Runtime`, ``run_manager``, ``callbacks``) is not in it; what is injected is, but not in its JSON schema.

    Args:
        model_name: of the model.
        filter_args: parameters to leave out.
        parse_docstring: whether to read descriptions off the docstring; else the model has the whole docstring.
        error_on_invalid_docstring: whether it is an error if that says nothing of the parameters.
        include_injected: whether injected parameters are validated.

    Raises:
        InvalidInput: the signature, or the docstring, cannot be read.
        MissingDependency: the library that reads docstrings is not installed.
    """
    parameters = [
        one
        for one in _list_own_parameters(func)
        if one.name not in (filter_args or ())
        and not is_runtime(one.annotation)
        and (include_injected or not is_injected(one.annotation))
    ]
    if parse_docstring:
        description, said = _read_docstring(func, parameters, strict=error_on_invalid_docstring)
    else:
        description, said = inspect.getdoc(func) or "", {}
    fields: dict[str, Any] = {}
    base: type[BaseModel] = InferredArguments
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            base = _make_open_base(parameter.annotation)
        else:
            fields[_make_field_name(parameter.name, fields)] = _make_field(parameter, said.get(parameter.name))
    made: type[BaseModel] = create_model(
        model_name, __base__=base, __module__=getattr(func, "__module__", None) or __name__, **fields
    )
    made.__doc__ = description
    return made


def _read_docstring(
    func: Callable[..., object], parameters: Sequence[Parameter], *, strict: bool
) -> tuple[str, dict[str, str]]:
    known: Collection[str] = inspect.signature(func).parameters
    shown = [one.name for one in parameters if not is_injected(one.annotation)]
    return parse_docstring(func, known, shown, strict=strict)


def _list_own_parameters(func: Callable[..., object]) -> Sequence[Parameter]:
    """The parameters of a function; of one defined in a class, without the first, which is the instance."""
    parameters = read_signature(func).parameters
    path = getattr(func, "__qualname__", "").split(".")
    in_class = inspect.isfunction(func) and len(path) > 1 and path[-2] != "<locals>"
    if in_class and parameters and parameters[0].name in ("self", "cls"):
        return parameters[1:]
    return parameters


def _make_field_name(name: str, fields: Collection[str]) -> str:
    """A name that pydantic takes for a field: its own are taken, and none may start with an underscore."""
    if not name.startswith("_") and name not in _TAKEN:
        return name
    made = f"argument_{name.strip('_')}"
    while made in fields:
        made += "_"
    return made


def _make_field(parameter: Parameter, description: str | None) -> tuple[Any, Any]:
    name, kind, annotation, default = parameter
    annotation = fit_for_pydantic(annotation)
    options: dict[str, Any] = {"description": description or _find_description(annotation)}
    if name.startswith("_") or name in _TAKEN:
        options["alias"] = name
    if kind is inspect.Parameter.VAR_POSITIONAL:
        return list[annotation], Field(  # type: ignore[valid-type]
            default_factory=list, **options
        )
    if not parameter.is_required:
        if isinstance(default, FieldInfo):
            raise InvalidInput(
                f"the default of parameter {name!r} is a Field: write Annotated[..., Field(...)] instead"
            )
        options["default"] = default
    return annotation, Field(**{key: value for key, value in options.items() if key == "default" or value is not None})


def _find_description(annotation: object) -> str | None:
    """The description in an annotation: a text, or that of a `Field`."""
    if get_origin(annotation) is Annotated:
        for extra in get_args(annotation)[1:]:
            if isinstance(extra, str):
                return extra
            if isinstance(extra, FieldInfo) and extra.description:
                return extra.description
    return None


def _make_open_base(annotation: Any) -> type[BaseModel]:
    """Return a base for functions with ``**kwargs`` of this type."""
    kind = Any if get_origin(annotation) is Unpack else annotation

    class OpenArguments(InferredArguments):
        model_config = ConfigDict(extra="allow")
        __pydantic_extra__: dict[str, kind]  # type: ignore[valid-type]

    return OpenArguments
