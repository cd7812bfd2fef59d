"""How the cost of something grows: linear or worse, in time of the processor, on a machine that does other things too."""

import gc
import time
from collections.abc import Callable

TRIES = 12
AT_MOST = 2
"""What a work may cost, against its four quarters: as much if it is linear, four times as much if it is quadratic."""


def cpu_seconds(do: Callable[[], object]) -> float:
    """Return the time of the processor that this thread takes for it, the collection of everybody's garbage left out."""
    gc.collect()
    gc.disable()
    try:
        start = time.thread_time()
        do()
        return time.thread_time() - start
    finally:
        gc.enable()


def assert_linear(do: Callable[[int], object], count: int) -> None:
    """Fail if ``do(count)`` costs more than about as much as ``do(count // 4)`` four times.

    Both take equally long where it is linear, and in turns, so that what else the machine does slows down both alike: were
    the whole to stand against one quarter, it would be struck four times as often. The least of several tries counts, and
    the first that will do is the last.
    """
    quarters = whole = float("inf")

    def do_two_quarters() -> None:
        do(count // 4)
        do(count // 4)

    for _ in range(TRIES):
        before, this, behind = (
            cpu_seconds(do_two_quarters),
            cpu_seconds(lambda: do(count)),
            cpu_seconds(do_two_quarters),
        )
        quarters, whole = min(quarters, before + behind), min(whole, this)
        if whole <= AT_MOST * quarters:
            return
    raise AssertionError(f"four times {count // 4} take {quarters:.4f} s of the processor, and {count} {whole:.4f} s")
