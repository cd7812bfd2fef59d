"""Events of the application's own, told to the handlers of the run that it is in."""

from collections.abc import Mapping
from typing import Any

from hocket.callbacks.base_manager import BaseCallbackManager
from hocket.callbacks.manager import AsyncCallbackManager, CallbackManager
from hocket.callbacks.run_listeners import current_parent, sync_face

__all__ = ["adispatch_custom_event", "dispatch_custom_event"]


async def _dispatch(cls: type[Any], name: str, data: object, config: Mapping[str, Any] | None) -> None:
    callbacks = (config or {}).get("callbacks")
    parent = current_parent.get() if callbacks is None else callbacks
    manager = cls.configure(
        parent, inheritable_tags=(config or {}).get("tags"), inheritable_metadata=(config or {}).get("metadata")
    )
    run_id = parent.parent_run_id if isinstance(parent, BaseCallbackManager) else None
    if run_id is None:
        raise RuntimeError(
            f"the custom event {name!r} belongs to no run: dispatch it from code that a runnable calls, "
            "or pass that run's config"
        )
    await AsyncCallbackManager.on_custom_event(manager, name, data, run_id=run_id)


async def adispatch_custom_event(name: str, data: object, *, config: Mapping[str, Any] | None = None) -> None:
    """Tell the handlers of the current run of an event (`BaseCallbackHandler.on_custom_event`).

    Args:
        name: of the event.
        data: anything; handed on as it is.
        config: the run's config, where the context does not have it.

    Raises:
        RuntimeError: there is no current run.
    """
    await _dispatch(AsyncCallbackManager, name, data, config)


def dispatch_custom_event(name: str, data: object, *, config: Mapping[str, Any] | None = None) -> None:
    """Tell the handlers of the current run of an event, from sync code. See `adispatch_custom_event`."""
    _step_dispatch(CallbackManager, name, data, config)


_step_dispatch = sync_face(_dispatch)
