"""Threads that begin at once, and take turns as often as Python lets them."""

import sys
import sysconfig
import threading
from collections.abc import Callable
from typing import TypeVar

from hocket.testing.conformance.threads import run_in_threads

T = TypeVar("T")

THREADS = 8

KEEPS_CLASSES = bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info < (3, 14)
"""Whether this Python keeps every class for good, as the free-threaded 3.13 does once there is a second thread."""


def race(work: Callable[[int], T], threads: int = THREADS) -> list[T]:
    """Call ``work`` with 0, 1, … in threads that begin at the same moment; return what it returned, in that order.

    Where Python has its GIL, they interrupt one another at each turn; without it they run beside one another.
    """
    found: dict[int, T] = {}
    together = threading.Barrier(threads)

    def run(number: int) -> None:
        together.wait(60)
        found[number] = work(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        run_in_threads([lambda number=number: run(number) for number in range(threads)])
    finally:
        sys.setswitchinterval(interval)
    return [found[number] for number in range(threads)]
