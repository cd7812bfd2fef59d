"""Answers that nobody was asked for again, told to those that keep books of them."""

from collections.abc import Sequence
from typing import Any

from hocket._metering.ambient import HitListener, hit_listeners
from hocket._pipeline.call import Call
from hocket._pipeline.reservations import CallAttempt
from hocket.callbacks.run_listeners import is_silent

__all__ = ["record_hit"]


def record_hit(call: Call, result: Any, listeners: Sequence[HitListener], *, is_shared: bool = False) -> None:
    """Tell of a hit.

    Args:
        call: which had it.
        result: the answer, restored.
        listeners: the model's; those of the process are told, too.
        is_shared: whether it came out of an equal call in flight, not out of a cache.
    """
    if (listeners or hit_listeners) and not is_silent.get():
        attempt, usage = CallAttempt(call), call.answer.read_usage(result)
        for listener in (*listeners, *hit_listeners):
            listener(attempt, usage, is_shared)
