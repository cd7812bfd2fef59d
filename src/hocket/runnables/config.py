"""What a caller says about one call, beside its input."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any, cast
from uuid import UUID

from typing_extensions import TypedDict

from hocket.callbacks import BaseCallbackHandler, BaseCallbackManager
from hocket.callbacks.base_manager import as_own_manager
from hocket.callbacks.run_listeners import current_parent
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
    "refuse_config_keys",
    "set_config_context",
]


Callbacks = list[BaseCallbackHandler] | BaseCallbackManager


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


ConfigLike = Mapping[str, object]
"""A `RunnableConfig`, or a mapping that is checked to be one."""

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


class _ResolvedConfig(dict[str, object]):
    """A config that has been checked, and merged with that of the context: `ensure_config` returns it as it is."""


current_config: ContextVar[RunnableConfig] = ContextVar("hocket_config", default=_EMPTY)
"""The config of the current run, for the runs inside it."""


class set_config_context:  # LangChain's name
    """A context manager. Calls inside its block are made with ``config``; a call's own config is merged over it.

    It must be entered and left in one task or thread.
    """

    __slots__ = ("_config", "_config_token", "_parent_token")

    def __init__(self, config: RunnableConfig) -> None:
        self._config = config
        self._config_token: Token[RunnableConfig] | None = None
        self._parent_token: Token[BaseCallbackManager | None] | None = None

    def __enter__(self) -> None:
        if self._config:
            callbacks = self._config.get("callbacks")
            if isinstance(callbacks, BaseCallbackManager):
                self._parent_token = current_parent.set(callbacks)
            self._config_token = current_config.set(self._config)

    def __exit__(self, *exc: object) -> None:
        if self._config_token is not None:
            current_config.reset(self._config_token)
        if self._parent_token is not None:
            current_parent.reset(self._parent_token)


def ensure_config(config: ConfigLike | None = None) -> RunnableConfig:
    """Return the config of a call: the caller's, checked and merged over that of the context (`set_config_context`).

    Raises:
        InvalidInput: it is no mapping, a value is of the wrong type, or a key is unknown: a typo would otherwise do
            nothing, silently.
    """
    if type(config) is _ResolvedConfig:
        return cast(RunnableConfig, config)
    around = current_config.get()
    if not config:
        return around
    checked = _check_config(config)
    if around:
        callbacks = checked.get("callbacks")
        merged = merge_configs(around, checked)
        if isinstance(callbacks, BaseCallbackManager):  # of a run that the caller knows better
            merged["callbacks"] = callbacks
        return merged
    return mark_resolved(checked)


def read_config(config: ConfigLike | None) -> RunnableConfig:
    """Return the config of a call as `ensure_config` does, without a copy: for calls that pass it to no other."""
    around = current_config.get()
    if not config:
        return around
    return ensure_config(config) if around else _check_config(config)


def mark_resolved(config: ConfigLike) -> RunnableConfig:
    """Return a copy of a config that is checked and merged: `ensure_config` returns that as it is."""
    return cast(RunnableConfig, _ResolvedConfig(config))


def refuse_config_keys(kwargs: Mapping[str, object]) -> None:
    """Refuse arguments of a call whose names are keys of a config.

    Raises:
        InvalidInput: there is one: it would do nothing, silently.
    """
    for key in kwargs:
        if key in _KEYS:
            raise InvalidInput(f"{key} was given as an argument of its own; it goes into the config: {{{key!r}: …}}")


def _check_config(config: ConfigLike | None) -> RunnableConfig:
    if not config:
        return _EMPTY
    kind = type(config)
    if kind is _ResolvedConfig:
        return cast(RunnableConfig, config)
    if kind is not dict and not isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"config is {type(config).__name__}; it must be a mapping with keys of RunnableConfig")
    for key, value in config.items():
        expected = _TYPES.get(key)
        if expected is not None and value is not None and not isinstance(value, expected[0]):
            raise InvalidInput(f"{key} in config is {type(value).__name__} {value!r}; it must be {expected[1]}")
        if key == "max_concurrency" and isinstance(value, int) and value < 1:
            raise InvalidInput(f"max_concurrency is {value}; it must be at least 1")
        if key not in _KEYS:
            hint = near_name_hint(str(key), sorted(_KEYS))
            raise InvalidInput(
                f"unknown key {key!r} in config; {hint} (your own values go under 'configurable')",
                page="callbacks.md#attach-a-handler",
            )
    callbacks = config.get("callbacks")
    if callbacks is not None and not isinstance(callbacks, (list, BaseCallbackManager)):
        manager = as_own_manager(callbacks)
        if manager is not None:
            return cast(RunnableConfig, {**config, "callbacks": manager})
    return cast(RunnableConfig, config)


def patch_config(
    config: ConfigLike | None,
    *,
    callbacks: BaseCallbackManager | None = None,
    recursion_limit: int | None = None,
    max_concurrency: int | None = None,
    run_name: str | None = None,
    configurable: dict[str, Any] | None = None,
) -> RunnableConfig:
    """Return a copy of ``config`` with the values given here. New ``callbacks`` are another run's: name and id go.

    Args:
        config: the config to copy.
        callbacks, recursion_limit, max_concurrency, run_name: new values; None: as it was.
        configurable: values that are added to those under ``configurable``.
    """
    patched: dict[str, object] = {**ensure_config(config)}
    if callbacks is not None:
        patched.pop("run_name", None)
        patched.pop("run_id", None)
    changes: dict[str, object] = {
        "callbacks": callbacks,
        "recursion_limit": recursion_limit,
        "max_concurrency": max_concurrency,
        "run_name": run_name,
    }
    patched.update((key, value) for key, value in changes.items() if value is not None)
    if configurable is not None:
        patched["configurable"] = {**cast("dict[str, object]", patched.get("configurable", {})), **configurable}
    return mark_resolved(patched)


def merge_configs(*configs: ConfigLike | None) -> RunnableConfig:
    """Return one config: tags and callbacks are joined, metadata and configurable merged; of other keys the last wins."""
    merged: dict[str, object] = _ResolvedConfig() if any(type(config) is _ResolvedConfig for config in configs) else {}
    for config in configs:
        for key, value in _check_config(config).items():
            earlier = merged.get(key)
            if earlier is None or value is None:
                merged[key] = earlier if value is None else value
            elif key in ("metadata", "configurable"):
                merged[key] = {**cast("dict[str, object]", earlier), **cast("dict[str, object]", value)}
            elif key == "tags":
                merged[key] = list(dict.fromkeys([*cast("list[str]", earlier), *cast("list[str]", value)]))
            elif key == "callbacks":
                merged[key] = _join_callbacks(cast(Callbacks, earlier), cast(Callbacks, value))
            else:
                merged[key] = value
    return cast(RunnableConfig, merged)


def _join_callbacks(earlier: Callbacks, later: Callbacks) -> Callbacks:
    if isinstance(earlier, BaseCallbackManager):
        return earlier.merge(later) if isinstance(later, BaseCallbackManager) else _add_handlers(earlier, later)
    if isinstance(later, BaseCallbackManager):
        return _add_handlers(later, earlier)
    return [*earlier, *(handler for handler in later if handler not in earlier)]


def _add_handlers(manager: BaseCallbackManager, handlers: list[BaseCallbackHandler]) -> BaseCallbackManager:
    joined = manager.copy()
    for handler in handlers:
        joined.add_handler(handler)
    return joined


def get_config_list(config: ConfigLike | Sequence[ConfigLike] | None, length: int) -> list[RunnableConfig]:
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
