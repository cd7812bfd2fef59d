"""What a forked child does first.

A child has copies of its parent's objects and none of its threads: a lock may be held for ever, and a connection is the
parent's, who goes on using it. So a module that keeps such things makes new ones in the child.
"""

import os
from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["after_fork", "free_at_fork", "leave_to_parent"]

Reset = TypeVar("Reset", bound=Callable[[], object])


class _Lock(Protocol):
    def acquire(self) -> bool: ...

    def release(self) -> None: ...


LockT = TypeVar("LockT", bound=_Lock)

_inherited: list[object] = []


def after_fork(reset: Reset) -> Reset:
    """Have ``reset()`` called in every forked child, before the fork returns there. A decorator, too.

    Those of one process are called in the order in which they were registered. Windows has no fork, and calls none.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=reset)
    return reset


def free_at_fork(lock: LockT) -> LockT:
    """Have a fork wait for a lock that is held for moments, so that the child finds it free; return the lock.

    Only for one under which no other such lock is taken and no process is started: the fork would wait for ever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


def leave_to_parent(*objects: object) -> None:
    """Keep the parent's objects alive in a forked child for good: collected here, they might be closed there."""
    _inherited.extend(objects)
