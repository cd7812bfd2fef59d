"""TypedDicts made fit for pydantic.

Before Python 3.12 pydantic takes none but those of typing_extensions; and LangChain's users write a default and a
description into an annotation, ``Annotated[int, 5, "how many"]``, and more descriptions into the docstring.
"""

from typing import Annotated, Any, NotRequired, Required, Union, get_args, get_origin

from pydantic import Field
from typing_extensions import ReadOnly, TypedDict, get_type_hints, is_typeddict

from hocket.errors import InvalidInput
from hocket.tools.docstrings import can_parse, parse_docstring

__all__ = ["fit_for_pydantic"]

_QUALIFIERS = (Required, NotRequired, ReadOnly)


def fit_for_pydantic(kind: Any) -> Any:
    """Return a type with every TypedDict in it rebuilt.

    Raises:
        InvalidInput: a TypedDict names a type that cannot be found, or its docstring a key that it does not have.
    """
    return _fit(kind, {})


def _fit(kind: Any, made: dict[object, object]) -> Any:
    if is_typeddict(kind):
        if kind not in made:
            made[kind] = kind  # one that holds itself stays as it is inside
            made[kind] = _rebuild(kind, made)
        return made[kind]
    arguments = get_args(kind)
    if not arguments:
        return kind
    if get_origin(kind) is Annotated:
        return Annotated[(_fit(arguments[0], made), *arguments[1:])]
    fitted = tuple(_fit(argument, made) for argument in arguments)
    if all(new is old for new, old in zip(fitted, arguments, strict=True)):
        return kind
    if isinstance(kind, type(int | str)):  # it cannot be subscripted
        return Union[fitted]  # noqa: UP007
    return get_origin(kind)[fitted]


def _rebuild(kind: Any, made: dict[object, object]) -> Any:
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise InvalidInput(
            f"a type in {kind.__name__} is unknown: {error}; define it at the top of the module"
        ) from None
    said = parse_docstring(kind, hints, (), strict=False) if kind.__doc__ and can_parse() else None
    fields: dict[str, Any] = {}
    for name, hint in hints.items():
        inner, extras = _unwrap(hint)
        plain = [extra for extra in extras if _is_plain(extra)]
        options = _read_options(name, plain)
        if said and name in said.parameters:
            options["description"] = said.parameters[name]
        kept = [extra for extra in extras if not _is_plain(extra)]
        inner = _fit(inner, made)
        if options or kept:
            inner = Annotated[(inner, *kept, Field(**options))]
        required = name in kind.__required_keys__ and "json_schema_extra" not in options
        fields[name] = Required[inner] if required else NotRequired[inner]
    make: Any = TypedDict  # past the type checkers, which want literal names
    rebuilt = make(kind.__name__, fields)
    rebuilt.__doc__ = said.description if said else kind.__doc__
    rebuilt.__module__ = kind.__module__
    return rebuilt


def _unwrap(hint: Any) -> tuple[Any, list[object]]:
    """Return a field's type, without what says whether it is required, and the extras of its annotations."""
    extras: list[object] = []
    while True:
        if get_origin(hint) in _QUALIFIERS:
            hint = get_args(hint)[0]
        elif get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            extras = [*more, *extras]
        else:
            return hint, extras


def _is_plain(extra: object) -> bool:
    """Whether an extra of an annotation is LangChain's, a default or a description, and not for pydantic."""
    return extra is ... or isinstance(extra, str | int | float | bool | list | dict | None)


def _read_options(name: str, plain: list[object]) -> dict[str, Any]:
    """Read LangChain's ``Annotated[T, default, description]``; a lone text is a description, ``...`` no default."""
    if not plain:
        return {}
    if len(plain) == 1 and isinstance(plain[0], str):
        return {"description": plain[0]}
    options: dict[str, Any] = {}
    if plain[0] is not ...:
        options["json_schema_extra"] = {"default": plain[0]}
    if len(plain) > 1:
        if not isinstance(plain[1], str):
            raise InvalidInput(
                f"the description of {name!r} is {plain[1]!r}; Annotated[type, default, description] needs text"
            )
        options["description"] = plain[1]
    return options
