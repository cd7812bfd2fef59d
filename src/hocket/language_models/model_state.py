"""What a model, or an embedding model, keeps beside its fields, and what becomes of it in a copy and in a pickle.

Under names of its own in a model's ``__dict__`` lie the pipeline composed of its fields, the places of its calls in flight,
what was learned of its prompts, and its last cache key. They are this object's alone: a copy makes its own. Cache, limiter
and handlers are shared by copies. A pickle takes those that say of themselves, by a true attribute ``is_portable``, that
they mean the same in another process, as those that were made from an address do; it leaves the others behind.
"""

import warnings
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from hocket._pipeline.cache_key import KEPT_KEY
from hocket._pipeline.reservations import CORRECTION
from hocket.errors import DroppedStateWarning

__all__ = ["PIPELINE", "PLACES", "keep_shared", "pickle_state", "without_own_state"]

Model = TypeVar("Model", bound=object)

PIPELINE = "_composed_pipeline"
"""The key of what a pipeline was composed of, and of the pipeline."""

PLACES = "_places_in_flight"
"""The key of the places of a model's calls in flight."""

_OWN = (PIPELINE, PLACES, CORRECTION, KEPT_KEY)
_SHARED = ("cache", "rate_limiter", "budget", "ledger", "callbacks")


def pickle_state(name: str, state: dict[str, Any]) -> dict[str, object]:
    """Return the state of a model for a pickle: its fields, without those that are shared and cannot travel.

    Args:
        name: of its class, for the warning.
        state: pydantic's.
    """
    fields = {key: value for key, value in state["__dict__"].items() if key not in _OWN}
    kept = {key: _keep_portable(fields[key]) for key in _SHARED if key in fields}
    dropped = [key for key, value in kept.items() if value is not fields[key]]
    if dropped:
        warnings.warn(
            f"pickling {name} leaves its {', '.join(dropped)} behind; set them again where it is loaded",
            DroppedStateWarning,
            stacklevel=3,
        )
    return {**state, "__dict__": {**fields, **kept}}


def _keep_portable(value: object) -> object:
    """Return a value, or those of a list of budgets, that can travel."""
    if value is None or isinstance(value, bool) or getattr(value, "is_portable", False) is True:
        return value
    if not isinstance(value, list | tuple):
        return None
    several = cast("Sequence[object]", value)
    portable = [one for one in several if getattr(one, "is_portable", False) is True]
    return several if len(portable) == len(several) else portable or None


def keep_shared(model: object, memo: dict[int, object]) -> dict[int, object]:
    """Have a deep copy of ``model`` share what copies share. Returns the memo of the copy."""
    for key in (*_SHARED, *_OWN):
        value = vars(model).get(key)
        memo[id(value)] = value
    return memo


def without_own_state(model: Model) -> Model:
    """Return a copy, just made, without what is the original's alone."""
    for key in _OWN:
        vars(model).pop(key, None)
    return model
