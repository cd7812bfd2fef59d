"""What a caller says about one call, beside its input."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any, cast
from uuid import UUID

from typing_extensions import TypedDict

from hocket.callbacks import BaseCallbackHandler, BaseCallbackManager
from hocket.callbacks.ambient import current_parent
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint

__all__ = [
    "RunnableConfig",
    "current_config",
    "ensure_config",
    "get_config_list",
    "mark_resolved",
    "merge_configs",
    "patch_config",
    "read_config",
    "set_config_context",
]


class RunnableConfig(TypedDict, total=False):
    """How one call is to be run and watched.

    Keys:
        tags, metadata, callbacks: for this run and the runs inside it.
        run_name: of this run; by default the name of what runs.
        run_id: of this run alone.
        max_concurrency: calls that a batch has in flight at once.
        recursion_limit: how deep runs may nest.
        configurable: values for fields that were made configurable.
    """

    tags: list[str]
    metadata: dict[str, Any]
    callbacks: list[BaseCallbackHandler] | BaseCallbackManager | None
    run_name: str
    max_concurrency: int | None
    recursion_limit: int
    configurable: dict[str, Any]
    run_id: UUID | None


_KEYS = frozenset(RunnableConfig.__annotations__)
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "tags": ((list, tuple), "a list of texts"),
    "metadata": ((dict, Mapping), "a mapping"),
    "configurable": ((dict, Mapping), "a mapping"),
    "run_name": ((str,), "a text"),
    "run_id": ((UUID,), "a uuid.UUID"),
    "max_concurrency": ((int,), "a whole number"),
    "recursion_limit": ((int,), "a whole number"),
}
_EMPTY: RunnableConfig = {}


class _Ready(dict[str, Any]):
    """A config that has been checked, and that the context has been asked for: nothing need be done again."""


current_config: ContextVar[RunnableConfig] = ContextVar("hocket_config", default=_EMPTY)
"""The config for runs inside the one whose code runs here."""


class set_config_context:  # LangChain's name
    """A context manager in whose block calls without a config of their own are made with ``config``.

    Where a call is given a config, too, that comes over this one. Entering and leaving must be in one task, or thread.
    """

    __slots__ = ("_config", "_parent", "_tokens")

    def __init__(self, config: RunnableConfig) -> None:
        self._config = config

    def __enter__(self) -> None:
        self._tokens: Any = None
        if self._config:
            callbacks = self._config.get("callbacks")
            self._parent = current_parent.set(callbacks) if isinstance(callbacks, BaseCallbackManager) else None
            self._tokens = current_config.set(self._config)

    def __exit__(self, *exc: object) -> None:
        if self._tokens is not None:
            current_config.reset(self._tokens)
            if self._parent is not None:
                current_parent.reset(self._parent)


def ensure_config(config: Mapping[str, Any] | None = None) -> RunnableConfig:
    """Return the config of a call: what the caller says, checked, over what the code is in says (`set_config_context`).

    Raises:
        InvalidInput: it is no mapping, a value is of the wrong type, or a key is unknown: a typo would otherwise do
            nothing, silently.
    """
    if type(config) is _Ready:
        return cast(RunnableConfig, config)
    around = current_config.get()
    if not config:
        return around
    checked = _checked(config)
    if around:
        given = checked.get("callbacks")
        merged = merge_configs(around, checked)
        if isinstance(given, BaseCallbackManager):  # of a run that the caller knows better
            merged["callbacks"] = given
        return merged
    return mark_resolved(checked)


def read_config(config: Mapping[str, Any] | None) -> RunnableConfig:
    """Return what `ensure_config` does, for whoever passes it on to nobody: what the caller gave is not copied."""
    return _checked(config) if config and not current_config.get() else ensure_config(config)


def mark_resolved(config: Mapping[str, Any]) -> RunnableConfig:
    """Return a copy of a config that needs no further look."""
    return cast(RunnableConfig, _Ready(config))


def _checked(config: Mapping[str, Any] | None) -> RunnableConfig:
    if not config:
        return _EMPTY
    if type(config) is _Ready:
        return cast(RunnableConfig, config)
    checked: Any = config
    if type(config) is not dict and not isinstance(config, Mapping):
        raise InvalidInput(f"config is {type(config).__name__}; it must be a mapping with keys of RunnableConfig")
    for key, value in config.items():
        expected = _TYPES.get(key)
        if expected is not None and value is not None and not isinstance(value, expected[0]):
            raise InvalidInput(f"{key} in config is {type(value).__name__} {value!r}; it must be {expected[1]}")
        if key not in _KEYS:
            hint = near_name_hint(str(key), sorted(_KEYS))
            raise InvalidInput(f"unknown key {key!r} in config; {hint} (your own values go under 'configurable')")
    return checked  # type: ignore[no-any-return]


def patch_config(
    config: Mapping[str, Any] | None,
    *,
    callbacks: BaseCallbackManager | None = None,
    recursion_limit: int | None = None,
    max_concurrency: int | None = None,
    run_name: str | None = None,
    configurable: dict[str, Any] | None = None,
) -> RunnableConfig:
    """Return a copy of ``config`` in which what is given here stands; new ``callbacks`` put an end to name and id."""
    patched: dict[str, Any] = {**ensure_config(config)}
    if callbacks is not None:
        patched.pop("run_name", None)
        patched.pop("run_id", None)
    given = {
        "callbacks": callbacks,
        "recursion_limit": recursion_limit,
        "max_concurrency": max_concurrency,
        "run_name": run_name,
    }
    patched.update((key, value) for key, value in given.items() if value is not None)
    if configurable is not None:
        patched["configurable"] = {**patched.get("configurable", {}), **configurable}
    return mark_resolved(patched)


def merge_configs(*configs: Mapping[str, Any] | None) -> RunnableConfig:
    """Return one config: tags are joined, metadata and configurable merged, callbacks added up; else the later wins."""
    merged: dict[str, Any] = _Ready() if any(type(config) is _Ready for config in configs) else {}
    for config in configs:
        for key, value in _checked(config).items():
            held = merged.get(key)
            if held is None or value is None:
                merged[key] = held if value is None else value
            elif key in ("metadata", "configurable"):
                merged[key] = {**held, **cast("dict[str, Any]", value)}
            elif key == "tags":
                merged[key] = list(dict.fromkeys([*held, *cast("list[str]", value)]))
            elif key == "callbacks":
                merged[key] = _joined(held, value)
            else:
                merged[key] = value
    return cast(RunnableConfig, merged)


def _joined(held: Any, added: Any) -> Any:
    if isinstance(held, BaseCallbackManager) and isinstance(added, BaseCallbackManager):
        return held.merge(added)
    if isinstance(added, BaseCallbackManager):
        held, added = added, held
    if isinstance(held, BaseCallbackManager):
        manager = held.copy()
        for handler in added:
            manager.add_handler(handler)
        return manager
    return [*held, *(handler for handler in added if handler not in held)]


def get_config_list(
    config: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, length: int
) -> list[RunnableConfig]:
    """Return one config for each of ``length`` inputs.

    Raises:
        InvalidInput: a list of another length was given.
    """
    if config is not None and not isinstance(config, Mapping):
        if len(config) != length:
            raise InvalidInput(f"config must be a list of the same length as the inputs: {len(config)} for {length}")
        return [ensure_config(one) for one in config]
    first = ensure_config(config)
    if "run_id" not in first or length < 2:
        return [first] * length
    rest = cast(RunnableConfig, {key: value for key, value in first.items() if key != "run_id"})
    return [first, *[mark_resolved(rest)] * (length - 1)]
