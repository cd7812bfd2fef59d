"""Runnables of which something is chosen by the config of a call, under ``config["configurable"]``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar, cast

from pydantic import BaseModel, SkipValidation, ValidationError
from pydantic.fields import FieldInfo

from hocket.errors import InvalidInput
from hocket.runnables.base import AnyRunnable, Runnable
from hocket.runnables.config import RunnableConfig, ensure_config, merge_configs
from hocket.runnables.config_fields import (
    AnyConfigurableField,
    ConfigurableField,
    ConfigurableFieldSingleOption,
    ConfigurableFieldSpec,
)
from hocket.runnables.proxy import CallTarget, RunnableBinding, RunnableProxy

__all__ = ["RunnableConfigurableAlternatives", "RunnableConfigurableFields"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class _ConfigurableProxy(RunnableProxy[Input, Output], Generic[Input, Output]):
    """Stands for a runnable that is made again for a call, when the call's config asks for it."""

    default: SkipValidation[Runnable[Input, Output]]

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """What a call may choose is not written down: dump what it stands for."""
        return False

    def _choose(self, values: Mapping[str, object]) -> Runnable[Input, Output]:
        """Return the runnable for the values under ``configurable``."""
        raise NotImplementedError

    def _get_wrapped(self) -> list[Runnable[Input, Output]]:
        return [self.default]

    def _map_wrapped(self, change: Callable[[Runnable[Input, Output]], AnyRunnable]) -> AnyRunnable:
        return self.model_copy(update={"default": change(self.default)})

    def _resolve_target(self, config: RunnableConfig | None, kwargs: dict[str, object]) -> CallTarget[Input, Output]:
        return CallTarget(self._choose(_get_values(config)), config, kwargs)

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of the default."""
        return self.default.get_name(suffix, name=name or self.name)

    def _get_max_attempts(self, params: Mapping[str, object]) -> float:
        return self.default._get_max_attempts(params)


class RunnableConfigurableFields(_ConfigurableProxy[Input, Output], Generic[Input, Output]):
    """Stands for a runnable some of whose fields a call may set. Made by `configurable_fields`.

    Args:
        default: the runnable with the fields as they are otherwise.
        fields: its fields that a call may set, by name.
    """

    fields: SkipValidation[dict[str, AnyConfigurableField]]

    def configurable_fields(self, **kwargs: AnyConfigurableField) -> "RunnableConfigurableFields[Input, Output]":
        """Return one with more such fields."""
        fields = {**self.fields, **kwargs}
        return RunnableConfigurableFields(default=_check_fields(self.default, kwargs), fields=fields)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What may stand under ``config["configurable"]``."""
        return [_make_spec(field, getattr(self.default, name, None)) for name, field in self.fields.items()]

    def _choose(self, values: Mapping[str, object]) -> Runnable[Input, Output]:
        chosen = {
            name: _pick_value(field, values[field.id]) for name, field in self.fields.items() if field.id in values
        }
        return _replace_fields(self.default, chosen) if chosen else self.default


class RunnableConfigurableAlternatives(_ConfigurableProxy[Input, Output], Generic[Input, Output]):
    """Stands for one of several runnables, which a call may choose. Made by `configurable_alternatives`.

    Args:
        which: the key of the choice.
        default: the runnable without one.
        alternatives: the others by name; or functions that make them, when they are chosen.
        default_key: the name of the default.
        prefix_keys: whether the keys of an alternative's own fields start with ``"<which>==<name>/"``.
    """

    which: ConfigurableField
    alternatives: SkipValidation[dict[str, Runnable[Input, Output] | Callable[[], Runnable[Input, Output]]]]
    default_key: str = "default"
    prefix_keys: bool = False

    def _choose(self, values: Mapping[str, object]) -> Runnable[Input, Output]:
        name = cast(str, values.get(self.which.id, self.default_key))
        if name == self.default_key:
            return self.default
        if name not in self.alternatives:
            names = ", ".join([self.default_key, *self.alternatives])
            raise InvalidInput(f"{self.which.id} in configurable is {name!r}; it must be one of {names}")
        chosen = self.alternatives[name]
        return chosen if isinstance(chosen, Runnable) else chosen()  # pyright: ignore[reportUnknownVariableType]  # a function that is a Runnable, too, is one

    def _resolve_target(self, config: RunnableConfig | None, kwargs: dict[str, object]) -> CallTarget[Input, Output]:
        runnable, config, kwargs = super()._resolve_target(config, kwargs)
        values = _get_values(config)
        if self.prefix_keys and values:
            prefix = f"{self.which.id}=={values.get(self.which.id, self.default_key)}/"
            own = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
            config = merge_configs(config, {"configurable": {**values, **own}})
        return CallTarget(runnable, config, kwargs)

    def _map_wrapped(self, change: Callable[[Runnable[Input, Output]], AnyRunnable]) -> AnyRunnable:
        def change_alternative(
            one: Runnable[Input, Output] | Callable[[], Runnable[Input, Output]],
        ) -> AnyRunnable | Callable[[], AnyRunnable]:
            return change(one) if isinstance(one, Runnable) else lambda: change(one())  # pyright: ignore[reportUnknownArgumentType]  # as above

        others = {name: change_alternative(one) for name, one in self.alternatives.items()}
        return self.model_copy(update={"default": change(self.default), "alternatives": others})

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What may stand under ``config["configurable"]``."""
        names = [self.default_key, *self.alternatives]
        return [ConfigurableFieldSpec(self.which.id, names, self.which.name, self.which.description, self.default_key)]

    @property
    def _can_step(self) -> bool:
        others = self.alternatives.values()
        return self.default._can_step and all(isinstance(one, Runnable) and one._can_step for one in others)


def _get_values(config: RunnableConfig | None) -> Mapping[str, object]:
    return ensure_config(config).get("configurable") or {}


def _make_spec(field: AnyConfigurableField, value: object) -> ConfigurableFieldSpec:
    if isinstance(field, ConfigurableField):
        return ConfigurableFieldSpec(field.id, field.annotation, field.name, field.description, value)
    return ConfigurableFieldSpec(field.id, list(field.options), field.name, field.description, field.default)


def _pick_value(field: AnyConfigurableField, value: object) -> object:
    """Return the field's value for the one under ``configurable``: that itself, or the option that it names."""
    if isinstance(field, ConfigurableField):
        return value
    is_single = isinstance(field, ConfigurableFieldSingleOption)
    names = [cast(str, value)] if is_single else list(cast("Sequence[str]", value))
    for name in names:
        if name not in field.options:
            raise InvalidInput(f"{field.id} in configurable is {name!r}; it must be of {', '.join(field.options)}")
    values = [field.options[name] for name in names]
    return values[0] if is_single else values


def _check_fields(
    runnable: Runnable[Input, Output], fields: Mapping[str, AnyConfigurableField]
) -> Runnable[Input, Output]:
    """Return ``runnable``, if it has fields of these names; of a field with options it gets the default."""
    known: Mapping[str, FieldInfo] = getattr(type(_unwrap(runnable)), "model_fields", {})
    for name in fields:
        if name not in known:
            raise InvalidInput(f"{runnable.get_name()} has no field {name!r}; it has {', '.join(sorted(known))}")
    defaults = {
        name: _pick_value(field, field.default)
        for name, field in fields.items()
        if not isinstance(field, ConfigurableField)
    }
    return _replace_fields(runnable, defaults) if defaults else runnable


def _unwrap(runnable: AnyRunnable) -> AnyRunnable:
    while isinstance(runnable, RunnableBinding):
        runnable = runnable.bound
    return runnable


def _replace_fields(runnable: Runnable[Input, Output], values: Mapping[str, object]) -> Runnable[Input, Output]:
    """Return a copy of ``runnable``, or of what is bound in it, with other, checked values of fields."""
    if isinstance(runnable, RunnableBinding):
        bound = runnable
        return bound.model_copy(update={"bound": _replace_fields(bound.bound, values)})
    copied = cast(BaseModel, runnable).__copy__()
    for name, value in values.items():
        try:
            type(copied).__pydantic_validator__.validate_assignment(copied, name, value)
        except ValidationError as error:
            raise InvalidInput(f"{name} in configurable: {error}") from error
    return cast("Runnable[Input, Output]", copied)
