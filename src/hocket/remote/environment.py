"""Fields of a provider's class that come from the environment. LangChain's names, for classes that were written for it.

    api_key: SecretStr = Field(default_factory=secret_from_env("EXAMPLE_API_KEY"))

A provider that is made with `RemoteService` needs none of them: its endpoint finds the key.
"""

import os
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, Literal, cast, overload

from pydantic import BaseModel, SecretStr, model_validator

from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView

__all__ = ["convert_to_secret_str", "from_env", "get_from_dict_or_env", "get_from_env", "pre_init", "secret_from_env"]


class _Missing(Enum):
    NO_DEFAULT = "no default"


_NO_DEFAULT: Final = _Missing.NO_DEFAULT
_Default = str | None | Literal[_Missing.NO_DEFAULT]


def convert_to_secret_str(value: SecretStr | str) -> SecretStr:
    """Return a text as a secret, which is not shown; a secret as it is."""
    return value if isinstance(value, SecretStr) else SecretStr(value)


def get_from_env(key: str, env_key: str, default: str | None = None) -> str:
    """Return the value of a variable of the environment; of one that is empty or not set, the default.

    Args:
        key: what it is for: the argument that can be given instead.
        env_key: the variable.
        default: instead of it; None: there has to be one.

    Raises:
        InvalidInput: there is neither a value nor a default.
    """
    if value := os.environ.get(env_key) or default:
        return value
    if default is not None:
        return default
    raise _make_refusal(key, env_key)


def get_from_dict_or_env(data: FieldsView, key: str | Sequence[str], env_key: str, default: str | None = None) -> str:
    """Return the first value that is not empty of some keys of a mapping, as text, else what `get_from_env` finds.

    Raises:
        InvalidInput: there is no value anywhere.
    """
    keys = [key] if isinstance(key, str) else list(key)
    found = next((str(data[one]) for one in keys if data.get(one)), None)
    return get_from_env(keys[0], env_key, default) if found is None else found


@overload
def from_env(
    key: str | Sequence[str], /, *, default: None, error_message: str | None = None
) -> Callable[[], str | None]: ...


@overload
def from_env(
    key: str | Sequence[str],
    /,
    *,
    default: str | Literal[_Missing.NO_DEFAULT] = _NO_DEFAULT,
    error_message: str | None = None,
) -> Callable[[], str]: ...


def from_env(
    key: str | Sequence[str], /, *, default: _Default = _NO_DEFAULT, error_message: str | None = None
) -> Callable[[], str | None]:
    """Return a function that looks a variable of the environment up, for a field's ``default_factory``.

    Args:
        key: the variable; of several the first that is set.
        default: what it returns if none is set.
        error_message: what the error says if none is set and there is no default.

    Raises:
        InvalidInput: by the function: none is set, and there is no default.
    """
    keys = [key] if isinstance(key, str) else list(key)

    def find() -> str | None:
        for one in keys:
            if one in os.environ:
                return os.environ[one]
        if default is _NO_DEFAULT:
            raise InvalidInput(error_message) if error_message else _make_refusal(keys[0].lower(), " or ".join(keys))
        return default

    return find


@overload
def secret_from_env(
    key: str | Sequence[str], /, *, default: None, error_message: str | None = None
) -> Callable[[], SecretStr | None]: ...


@overload
def secret_from_env(
    key: str | Sequence[str],
    /,
    *,
    default: str | Literal[_Missing.NO_DEFAULT] = _NO_DEFAULT,
    error_message: str | None = None,
) -> Callable[[], SecretStr]: ...


def secret_from_env(
    key: str | Sequence[str], /, *, default: _Default = _NO_DEFAULT, error_message: str | None = None
) -> Callable[[], SecretStr | None]:
    """Do as `from_env`, with a secret for the value."""
    find: Callable[[], str | None] = from_env(key, default=default, error_message=error_message)

    def find_secret() -> SecretStr | None:
        return None if (value := find()) is None else SecretStr(value)

    return find_secret


def pre_init(func: Callable[[Any, Fields], object]) -> Any:
    """Have a method of a pydantic class see, and change, the values that an instance is made of, before they are checked.

        @pre_init
        def find_key(cls, values):
            values["api_key"] = get_from_dict_or_env(values, "api_key", "EXAMPLE_API_KEY")
            return values

    Of the fields that were not given, or are None, it sees the defaults.
    """

    def fill(cls: type[BaseModel], values: Fields) -> object:
        filled = dict(values)
        for name, field in cls.model_fields.items():
            if cls.model_config.get("populate_by_name") and field.alias in filled:
                filled[name] = filled.pop(field.alias)
            if filled.get(name) is None and not field.is_required():
                filled[name] = field.get_default(call_default_factory=True, validated_data=filled)
        return func(cls, filled)

    return model_validator(mode="before")(cast(Any, classmethod(fill)))


def _make_refusal(key: str, variables: str) -> InvalidInput:
    return InvalidInput(f"there is no {key}: set {variables} in the environment, or pass {key}=")
