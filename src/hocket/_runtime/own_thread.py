"""Threads of hocket's own, which outlive the call that needs them first.

A free-threaded Python, from 3.14 on, has a thread begin with the context of whoever starts it. What serves all calls must
not go on under the handlers, the budget and the span of the first one, nor keep them.
"""

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVarTuple

__all__ = ["start_thread"]

Args = TypeVarTuple("Args")


def start_thread(name: str, target: Callable[[*Args], object], *args: *Args) -> threading.Thread:
    """Start a daemon thread that calls ``target(*args)`` in a context with nothing in it, and return it."""
    thread = threading.Thread(target=contextvars.Context().run, args=(target, *args), name=name, daemon=True)
    thread.start()
    return thread
