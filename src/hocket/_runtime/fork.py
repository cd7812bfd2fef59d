"""What a forked child does first.

A child has copies of its parent's objects and none of its threads: a lock may be held for ever, and a connection is the
parent's, who goes on using it. So a module that keeps such things makes new ones in the child.

What a library keeps for itself cannot be made again. SQLite has a table of the files that this process has open, their locks
and shared memory: a child that finds a file in it could never write there again, or would read what is no longer so. So a
fork waits for such work (`fork_barrier`), and then has closed what is open (`before_fork`); the next use opens it again.
"""

import os
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

__all__ = ["ForkBarrier", "after_fork", "before_fork", "fork_barrier", "free_at_fork", "leave_to_parent"]

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


def before_fork(close: Reset) -> Reset:
    """Have ``close()`` called before each fork, when nobody is at work that the `fork_barrier` guards. A decorator, too."""
    _closers.append(close)
    return close


_closers: list[Callable[[], object]] = []


def free_at_fork(lock: LockT) -> LockT:
    """Have a fork wait for a lock that is held for moments, so that the child finds it free; return the lock.

    Only for one under which no other such lock is taken and no process is started: the fork would wait for ever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


class ForkBarrier:
    """Has a fork wait for work that has begun, for a second at most, and work that has not for the fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the collector of garbage may run in it, and close a connection, which enters
        self._changed = threading.Condition(self._lock)
        self._working = 0
        self._forking = 0

    def enter(self) -> None:
        """Begin work. It may be begun inside other work, too."""
        with self._lock:
            if self._forking:
                self._changed.wait_for(lambda: not self._forking, _PATIENCE)
            self._working += 1

    def leave(self) -> None:
        """End it, in any thread."""
        with self._lock:
            self._working -= 1
            if self._forking:
                self._changed.notify_all()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *error: object) -> None:
        self.leave()

    def close(self) -> None:
        """Wait for those that work, and have others wait until `open`."""
        with self._changed:
            self._forking += 1
            self._changed.wait_for(lambda: not self._working, _PATIENCE)

    def open(self) -> None:
        """Let others work again."""
        with self._changed:
            self._forking -= 1
            self._changed.notify_all()


_PATIENCE = 1.0  # seconds: who forks may be in the middle of such work itself
_barrier = ForkBarrier()


def fork_barrier() -> ForkBarrier:
    """Return this process's barrier."""
    return _barrier


@after_fork
def _make_barrier() -> None:
    global _barrier
    _barrier = ForkBarrier()


def _prepare_fork() -> None:
    _barrier.close()
    for close in _closers:
        close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_prepare_fork, after_in_parent=lambda: _barrier.open())


def leave_to_parent(*objects: object) -> None:
    """Keep the parent's objects alive in a forked child for good: collected here, they might be closed there."""
    _inherited.extend(objects)
