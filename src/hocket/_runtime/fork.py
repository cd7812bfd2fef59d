"""What a forked child does first.

A child has copies of its parent's objects and none of its threads: a lock may be held for ever, and a connection is the
parent's, who goes on using it. So a module that keeps such things makes new ones in the child.

What a library keeps for itself cannot be made again. SQLite has a table of the files that this process has open, their locks
and shared memory: a child that finds a file in it could never write there again, or would read what is no longer so. So a
fork waits for such work (`fork_barrier`), and then has closed what is open (`before_fork`); the next use opens it again.
"""

import os
import threading
from collections.abc import Callable, Sequence
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
    """Have ``close()`` called before each fork, when nobody is at work that the `fork_barrier` guards, or a second has gone
    by (`ForkBarrier.is_at_rest`). A decorator, too."""
    _closers.append(close)
    return close


_closers: list[Callable[[], object]] = []


def free_at_fork(lock: LockT) -> LockT:
    """Have a fork wait for a lock that is held for moments, so that the child finds it free; return the lock.

    Only for one under which no other such lock is taken, no process is started and no work begins that the `fork_barrier`
    guards: the fork would wait for ever. Such work may take the lock.
    """
    _locks.append(lock)
    return lock


_locks: list[_Lock] = []
_taken: Sequence[_Lock] = ()


class _Depth(threading.local):
    count = 0


class ForkBarrier:
    """Has a fork wait for work that has begun, for a second at most, and work that has not for the fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the collector of garbage may run in it, and close a connection, which enters
        self._changed = threading.Condition(self._lock)
        self._working = 0
        self._forking = 0
        self._inside = _Depth()

    def enter(self) -> None:
        """Begin work. It may be begun inside other work, too, which a fork waits for already."""
        with self._lock:
            if self._forking and not self._inside.count:
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
        self._inside.count += 1

    def __exit__(self, *error: object) -> None:
        self._inside.count -= 1
        self.leave()

    @property
    def is_at_rest(self) -> bool:
        """Whether nobody works."""
        return not self._working

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


def _prepare_fork() -> None:
    """Make a fork safe. The locks come last: who is at work may need one for an end."""
    global _taken
    try:
        _barrier.close()
        for close in _closers:
            close()
    finally:  # Ctrl-C does not stop a fork here, and what was not taken would be released after it
        taken = [*_locks]  # more may come meanwhile
        for lock in taken:
            lock.acquire()
        _taken = taken


def _go_on() -> None:
    for lock in _taken:
        lock.release()
    _barrier.open()


def _begin_in_child() -> None:
    global _barrier
    for lock in _taken:
        lock.release()
    _barrier = ForkBarrier()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_prepare_fork, after_in_parent=_go_on, after_in_child=_begin_in_child)


def leave_to_parent(*objects: object) -> None:
    """Keep the parent's objects alive in a forked child for good: collected here, they might be closed there."""
    _inherited.extend(objects)
