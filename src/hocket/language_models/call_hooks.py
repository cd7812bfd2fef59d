"""The hooks of models that answer with a text, ``_acall`` and ``_call``: what `SimpleChatModel` and `LLM` share."""

from typing import Any

from pydantic import BaseModel

from hocket._pipeline.hooks import Hooks
from hocket._runtime.definitions import has_parameter
from hocket.errors import InvalidHook

__all__ = ["CALL_HOOKS", "add_run_manager", "check_text", "find_hooks"]

CALL_HOOKS = "_acall (async), _call (sync)"
"""The hooks, for the error that a model without one raises."""


def find_hooks(model: type) -> Hooks:
    """Return the hooks of ``model``; one that returns a text counts as the one that is built on it."""
    return Hooks.of(model, "_acall", "_call")


def add_run_manager(model: BaseModel, hook: str, run_manager: object, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return ``kwargs``, with ``run_manager`` if the model's hook of this name takes one."""
    return {**kwargs, "run_manager": run_manager} if has_parameter(type(model), hook, "run_manager") else kwargs


def check_text(model: BaseModel, hook: str, text: object) -> str:
    """Return what a hook returned.

    Raises:
        InvalidHook: it is no text.
    """
    if not isinstance(text, str):
        raise InvalidHook(f"{type(model).__name__}.{hook} returned {type(text).__name__}; it must return a str")
    return text
