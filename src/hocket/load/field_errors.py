"""What pydantic says of fields that do not fit, in hocket's words: near names, and no links to pydantic's pages.

The exception stays pydantic's `ValidationError`, which programs catch, with the types, places and inputs of its errors.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from hocket.errors.hints import LONGEST_NAME, bridge_hint, near_name_hint

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["explain_fields"]


def explain_fields(error: ValidationError, cls: type[BaseModel], renamed: Mapping[str, str]) -> ValidationError:
    """Return an error with the same details, and texts of hocket's.

    Args:
        error: what pydantic raised.
        cls: the class that was to be built.
        renamed: names of fields in other libraries → what to write instead.
    """
    details: list[InitErrorDetails] = []
    for one in _merge_kinds(error.errors(include_url=False)):
        kind: Any = one["type"]  # pydantic wants a literal
        context = {**one.get("ctx", {}), "text": _text(one, cls, renamed)}
        details.append(
            InitErrorDetails(type=PydanticCustomError(kind, "{text}", context), loc=one["loc"], input=one["input"])
        )
    hide_input = cls.model_config.get("hide_input_in_errors", False)
    return ValidationError.from_exception_data(error.title, details, hide_input=hide_input)


def _merge_kinds(errors: Iterable["ErrorDetails"]) -> list["ErrorDetails"]:
    """Return one error for a value that is of none of the kinds that a field takes; pydantic has one for each kind."""
    merged: dict[object, ErrorDetails] = {}
    for one in errors:
        is_kind = len(one["loc"]) == 2 and isinstance(one["loc"][1], str)
        first = merged.setdefault((one["loc"][0], id(one["input"])) if is_kind else len(merged), one)
        if first is not one and one["msg"] not in first["msg"]:
            first["loc"] = first["loc"][:1]
            first["msg"] += f" or {one['msg'].removeprefix('Input should be ')}"
    return list(merged.values())


def _text(one: "ErrorDetails", cls: type[BaseModel], renamed: Mapping[str, str]) -> str:
    """Return what one error says; pydantic's own words, if there are none better."""
    if one["type"] != "extra_forbidden" or len(one["loc"]) != 1:
        return f"{one['msg'].removeprefix('Value error, ')}{bridge_hint(one['input'])}"
    name = str(one["loc"][0])
    hint = f"write {renamed[name]}" if name in renamed else near_name_hint(name, _names(cls))
    return f"there is no field {name[:LONGEST_NAME]!r}; {hint}"


def _names(cls: type[BaseModel]) -> Iterator[str]:
    """Yield the names by which a class takes its fields."""
    for name, field in cls.model_fields.items():
        yield name
        alias = field.validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        yield from (choice for choice in choices if isinstance(choice, str))
