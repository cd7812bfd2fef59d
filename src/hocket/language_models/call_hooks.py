"""The hooks of models that answer with a text, ``_acall`` and ``_call``: what `SimpleChatModel` and `LLM` share."""

from typing import Any

from hocket._pipeline.hooks import Hooks, is_defined, takes_run_manager
from hocket.errors import InvalidHook

__all__ = ["CALL_HOOKS", "arguments_of", "checked_text", "hooks_of"]

CALL_HOOKS = "_acall (async), _call (sync)"
"""The hooks, for the error that a model without one raises."""


def hooks_of(model: type) -> Hooks:
    """Return the hooks that ``model`` defines; one that returns a text counts as the one that is built on it."""
    hooks = Hooks.of(model)
    return hooks._replace(
        agenerate=hooks.agenerate or is_defined(model, "_acall"), generate=hooks.generate or is_defined(model, "_call")
    )


def arguments_of(model: Any, hook: str, run_manager: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return ``kwargs``, with the run if the hook takes it."""
    cls: type = type(model)
    return {**kwargs, "run_manager": run_manager} if takes_run_manager(cls, hook) else kwargs


def checked_text(model: Any, hook: str, text: Any) -> str:
    """Return what a hook returned.

    Raises:
        InvalidHook: it is no text.
    """
    if not isinstance(text, str):
        raise InvalidHook(f"{type(model).__name__}.{hook} returned {type(text).__name__}; it must return a str")
    return text
