"""A thread that does small jobs for tasks."""

import contextvars
import gc
import os
import subprocess
import sys
import threading
import weakref

import anyio
import pytest

from hocket._runtime.own_thread import start_thread
from hocket._runtime.worker import Worker

PATIENCE = 60.0


async def test_it_returns_and_raises_what_a_job_does() -> None:
    """In order, in one thread, whatever the number of tasks."""
    worker = Worker("test")
    done: list[int] = []
    threads: set[int] = set()

    async def do(number: int) -> None:
        def job() -> int:
            threads.add(threading.get_ident())
            done.append(number)
            return number

        assert await worker.run(job, PATIENCE) == number

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(do, number)
    assert sorted(done) == list(range(100))
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    with pytest.raises(ZeroDivisionError):
        await worker.run(lambda: 1 / 0, PATIENCE)
    assert await worker.run(lambda: 1, PATIENCE) == 1


async def test_a_slow_job_is_left_behind() -> None:
    """A caller without patience, or cancelled, does not wait; jobs that have not begun by then are never done."""
    worker, go_on = Worker("test"), threading.Event()
    done: list[str] = []

    async def be_cancelled() -> None:
        await worker.run(lambda: done.append("cancelled"), PATIENCE)

    with pytest.raises(TimeoutError):
        await worker.run(go_on.wait, 0.01)
    with pytest.raises(TimeoutError):
        await worker.run(lambda: done.append("late"), 0.01)
    async with anyio.create_task_group() as group:
        group.start_soon(be_cancelled)
        await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    go_on.set()
    await worker.run(lambda: done.append("next"), PATIENCE)
    assert done == ["next"]


async def test_it_ends_with_its_object() -> None:
    """The thread, too, and what the last job held."""
    worker = Worker("test that ends")
    kept = threading.Event()
    gone = weakref.ref(kept)
    await worker.run(kept.is_set, PATIENCE)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "test that ends"]
    del worker, kept
    gc.collect()
    with anyio.fail_after(PATIENCE):
        while thread.is_alive() or gone() is not None:  # noqa: ASYNC110 - nothing tells when a thread is gone
            await anyio.sleep(0.001)


def test_it_serves_several_loops() -> None:
    """One after another, and none of them is there any more."""
    worker = Worker("test")

    async def main() -> int:
        return await worker.run(threading.get_ident, PATIENCE)

    assert len({anyio.run(main, backend=backend) for backend in ("asyncio", "trio", "asyncio")}) == 1


FORK = """
import anyio, os, threading
from hocket._runtime.own_thread import start_thread
from hocket._runtime.worker import Worker

worker = Worker("test")

async def main():
    return await worker.run(lambda: os.getpid(), 60)

assert anyio.run(main) == os.getpid()
child = os.fork()
assert anyio.run(main) == os.getpid()
if not child:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_has_a_thread_of_its_own() -> None:
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=120)


def test_a_thread_of_our_own_begins_with_nothing_of_its_first_caller() -> None:
    """Not on a free-threaded Python either, where other threads take the context of whoever starts them."""
    mark, seen = contextvars.ContextVar("mark", default="none"), list[object]()
    mark.set("the first caller's")
    thread = start_thread("ours", lambda *given: seen.extend([*given, mark.get(), threading.current_thread().name]), 1)
    thread.join()
    assert seen == [1, "none", "ours"]
    assert thread.daemon
