"""How the cost of something grows: linear or worse, in time of the processor, on a machine that does other things too."""

import gc
import time
from collections.abc import Callable

TRIES = 12
AT_MOST = 2.5**2
"""What four times the work may cost: four times if it is linear, sixteen times if it is quadratic."""


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


def children_seconds() -> float:
    """Return the time of the processor that this process's children took, as far as they have ended and been waited for."""
    import resource  # not on Windows

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def assert_linear(do: Callable[[int], object], count: int) -> None:
    """Fail if ``do(count)`` costs more than about four times what ``do(count // 4)`` costs.

    The least of several tries counts: a busy machine makes some of them slow. The first that will do is the last.
    """
    quarter = whole = float("inf")
    for _ in range(TRIES):
        quarter = min(quarter, *(cpu_seconds(lambda: do(count // 4)) for _ in range(2)))
        whole = min(whole, cpu_seconds(lambda: do(count)))
        if whole <= AT_MOST * quarter:
            return
    raise AssertionError(f"{count // 4} take {quarter:.4f} s of the processor, and {count} {whole:.4f} s")
