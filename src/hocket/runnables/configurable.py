"""Runnables of which something is chosen by the config of a call, under ``config["configurable"]``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

from pydantic import BaseModel, SkipValidation, ValidationError

from hocket.errors import InvalidInput
from hocket.runnables.base import Runnable
from hocket.runnables.binding import RunnableBinding
from hocket.runnables.config import RunnableConfig, ensure_config
from hocket.runnables.proxy import CallTarget, RunnableProxy

__all__ = [
    "AnyConfigurableField",
    "ConfigurableField",
    "ConfigurableFieldMultiOption",
    "ConfigurableFieldSingleOption",
    "ConfigurableFieldSpec",
    "RunnableConfigurableAlternatives",
    "RunnableConfigurableFields",
]

Input = TypeVar("Input")
Output = TypeVar("Output")


class ConfigurableField(NamedTuple):
    """A field whose value a call may give.

    Attributes:
        id: the key under ``config["configurable"]``.
        name, description, annotation: for readers.
        is_shared: whether the key stays as it is where others get a prefix (``prefix_keys``).
    """

    id: str
    name: str | None = None
    description: str | None = None
    annotation: Any = None
    is_shared: bool = False


class ConfigurableFieldSingleOption(NamedTuple):
    """A field whose value a call may choose, by name.

    Attributes:
        id, name, description, is_shared: as of a `ConfigurableField`.
        options: the values, by name.
        default: the name of one.
    """

    id: str
    options: Mapping[str, Any]
    default: str
    name: str | None = None
    description: str | None = None
    is_shared: bool = False


class ConfigurableFieldMultiOption(NamedTuple):
    """A field whose value is a list of which a call may choose the items, by name.

    Attributes:
        id, name, description, is_shared, options: as of a `ConfigurableFieldSingleOption`.
        default: names.
    """

    id: str
    options: Mapping[str, Any]
    default: Sequence[str]
    name: str | None = None
    description: str | None = None
    is_shared: bool = False


class ConfigurableFieldSpec(NamedTuple):
    """What may stand under ``config["configurable"]``, for readers."""

    id: str
    annotation: Any = None
    name: str | None = None
    description: str | None = None
    default: Any = None
    is_shared: bool = False
    dependencies: list[str] | None = None


AnyConfigurableField = ConfigurableField | ConfigurableFieldSingleOption | ConfigurableFieldMultiOption


class _ConfigurableProxy(RunnableProxy[Input, Output], Generic[Input, Output]):
    """Stands for a runnable that is made anew for each call, when the call's config asks for it."""

    default: SkipValidation[Runnable[Input, Output]]

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """What a call may choose is not written down: dump what it stands for."""
        return False

    def _choose(self, given: Mapping[str, Any]) -> Runnable[Input, Output]:
        """Return the runnable for what is ``given`` under ``configurable``."""
        raise NotImplementedError

    def _map_choices(self, change: Callable[[Runnable[Any, Any]], Any]) -> "_ConfigurableProxy[Any, Any]":
        """Return one like this, of what ``change`` makes of the runnables that it may stand for."""
        return self.model_copy(update={"default": change(self.default)})

    def _resolve_target(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> CallTarget:
        config = ensure_config(config)
        return CallTarget(self._choose(config.get("configurable") or {}), config, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        attribute = getattr(self.__dict__["default"], name)
        if not callable(attribute):
            return attribute

        def call(*args: Any, **kwargs: Any) -> Any:
            """Call the method; where it makes a runnable (``bind_tools``), that is configurable in the same way."""
            made = attribute(*args, **kwargs)
            if not isinstance(made, Runnable):
                return made
            return self._map_choices(lambda one: getattr(one, name)(*args, **kwargs))

        return call

    def get_name(self, suffix: str | None = None, *, name: str | None = None) -> str:
        """Return the name of the default."""
        return self.default.get_name(suffix, name=name or self.name)

    @property
    def _is_inline(self) -> bool:
        return self.default._is_inline

    @property
    def _can_take_arguments(self) -> bool:
        return self.default._can_take_arguments

    @property
    def _can_step(self) -> bool:
        return self.default._can_step

    @property
    def _is_cumulative(self) -> bool:
        return self.default._is_cumulative

    def _get_max_attempts(self, params: Mapping[str, Any]) -> float:
        return self.default._get_max_attempts(params)


class RunnableConfigurableFields(_ConfigurableProxy[Input, Output], Generic[Input, Output]):
    """Stands for a runnable some of whose fields a call may give. Made by `configurable_fields`.

    Args:
        default: the runnable as it is without.
        fields: which of its fields, each under which key.
    """

    fields: dict[str, Any]

    def configurable_fields(self, **kwargs: AnyConfigurableField) -> "RunnableConfigurableFields[Input, Output]":
        """Return one with more such fields."""
        fields = {**self.fields, **kwargs}
        return RunnableConfigurableFields(default=_check_fields(self.default, kwargs), fields=fields)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What may stand under ``config["configurable"]``."""
        return [_make_spec(field, getattr(self.default, name, None)) for name, field in self.fields.items()]

    def _choose(self, given: Mapping[str, Any]) -> Runnable[Input, Output]:
        values = {name: _pick_value(field, given[field.id]) for name, field in self.fields.items() if field.id in given}
        return _replace_fields(self.default, values) if values else self.default


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
    alternatives: SkipValidation[dict[str, Any]]
    default_key: str = "default"
    prefix_keys: bool = False

    def _choose(self, given: Mapping[str, Any]) -> Runnable[Input, Output]:
        chosen = given.get(self.which.id, self.default_key)
        if chosen == self.default_key:
            found: Any = self.default
        elif chosen in self.alternatives:
            found = self.alternatives[chosen]
        else:
            names = ", ".join([self.default_key, *self.alternatives])
            raise InvalidInput(f"{self.which.id} in configurable is {chosen!r}; it must be one of {names}")
        return cast("Runnable[Input, Output]", found if isinstance(found, Runnable) else found())

    def _resolve_target(self, config: RunnableConfig | None, kwargs: dict[str, Any]) -> CallTarget:
        runnable, config, kwargs = super()._resolve_target(config, kwargs)
        given = (config or {}).get("configurable")
        if self.prefix_keys and given:
            prefix = f"{self.which.id}=={given.get(self.which.id, self.default_key)}/"
            own = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
            config = ensure_config({**(config or {}), "configurable": {**given, **own}})
        return CallTarget(runnable, config, kwargs)

    def _map_choices(self, change: Callable[[Runnable[Any, Any]], Any]) -> "_ConfigurableProxy[Any, Any]":
        def changed(one: Any) -> Any:
            return change(one) if isinstance(one, Runnable) else lambda: change(one())

        others = {name: changed(one) for name, one in self.alternatives.items()}
        return self.model_copy(update={"default": change(self.default), "alternatives": others})

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What may stand under ``config["configurable"]``."""
        names = [self.default_key, *self.alternatives]
        return [ConfigurableFieldSpec(self.which.id, names, self.which.name, self.which.description, self.default_key)]

    @property
    def _can_step(self) -> bool:
        known = [one for one in self.alternatives.values() if isinstance(one, Runnable)]
        return len(known) == len(self.alternatives) and all(one._can_step for one in [self.default, *known])


def _make_spec(field: AnyConfigurableField, value: Any) -> ConfigurableFieldSpec:
    if isinstance(field, ConfigurableField):
        return ConfigurableFieldSpec(field.id, field.annotation, field.name, field.description, value)
    return ConfigurableFieldSpec(field.id, list(field.options), field.name, field.description, field.default)


def _pick_value(field: AnyConfigurableField, given: Any) -> Any:
    """Return the value that a call gives a field, or chooses."""
    if isinstance(field, ConfigurableField):
        return given
    names = [given] if isinstance(field, ConfigurableFieldSingleOption) else list(given)
    for name in names:
        if name not in field.options:
            raise InvalidInput(f"{field.id} in configurable is {name!r}; it must be of {', '.join(field.options)}")
    values = [field.options[name] for name in names]
    return values[0] if isinstance(field, ConfigurableFieldSingleOption) else values


def _check_fields(runnable: Runnable[Input, Output], fields: Mapping[str, Any]) -> Runnable[Input, Output]:
    """Return ``runnable``, if it has fields of these names; options that have a default put it in."""
    has: Any = getattr(type(_unwrap(runnable)), "model_fields", {})
    for name in fields:
        if name not in has:
            raise InvalidInput(f"{runnable.get_name()} has no field {name!r}; it has {', '.join(sorted(has))}")
    defaults = {
        name: _pick_value(field, field.default)
        for name, field in fields.items()
        if not isinstance(field, ConfigurableField)
    }
    return _replace_fields(runnable, defaults) if defaults else runnable


def _unwrap(runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
    while isinstance(runnable, RunnableBinding):
        runnable = runnable.bound
    return runnable


def _replace_fields(runnable: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of ``runnable``, or of what is bound in it, with other, checked values of fields."""
    if isinstance(runnable, RunnableBinding):
        return runnable.model_copy(update={"bound": _replace_fields(runnable.bound, values)})
    made: BaseModel = runnable.__copy__()
    for name, value in values.items():
        try:
            type(made).__pydantic_validator__.validate_assignment(made, name, value)
        except ValidationError as error:
            raise InvalidInput(f"{name} in configurable: {error}") from error
    return made
