"""What users of LangGraph say in the config of an agent, which hocket's agents do not look at: they are warned."""

from collections.abc import Mapping
from typing import Any

from hocket._runtime.callers import warn_caller
from hocket.errors import HocketWarning
from hocket.runnables.config import current_config

__all__ = ["warn_of_unread"]

_NO_THREADS = (
    "an agent does not look at the thread_id of its config: this run remembers nothing of the last one, and the next one "
    "nothing of it; give each run its conversation: agent.invoke(message, history=open_history(url, session_id=thread_id))"
)
_NO_STEPS = (
    "an agent does not look at the recursion_limit of its config, LangGraph's steps of the model and of tools: its model "
    "may be asked as often as create_agent(..., limits=AgentLimits(model_calls=...)) says, about half of these steps"
)


def warn_of_unread(config: Mapping[str, Any] | None, *, has_history: bool) -> None:
    """Warn whoever called of a ``thread_id`` in place of a history, and of a ``recursion_limit``; but not inside of runs."""
    if not has_history and _read_thread(config) is not None and _read_thread(current_config.get()) is None:
        warn_caller(_NO_THREADS, HocketWarning)
    if type(config) is dict and "recursion_limit" in config:  # one that has gone through a run is that of functions
        warn_caller(_NO_STEPS, HocketWarning)


def _read_thread(config: Mapping[str, Any] | None) -> object:
    values: Mapping[str, object] = {} if config is None else config.get("configurable") or {}
    return values.get("thread_id")
