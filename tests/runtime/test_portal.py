"""The kept loop behind the sync verbs: it survives whatever its guests raise, forks, Ctrl-C, and the end of the process."""

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import anyio
import anyio.lowlevel
import pytest

from hocket._runtime.portal import run_in_portal
from hocket.errors import BlockingCallWarning, SyncInLoop


class Stop(BaseException):
    """Like KeyboardInterrupt: not an Exception."""


async def greet() -> str:
    await anyio.lowlevel.checkpoint()
    return f"hello from {threading.current_thread().name}"


def run(script: str, *, expect: int = 0) -> str:
    """Run a script in a fresh process, which must end by itself, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stderr) == (expect, ""), done
    return done.stdout


def test_it_runs_async_code_and_returns_what_that_returns() -> None:
    """On one loop, in one daemon thread."""
    assert run_in_portal(greet) == run_in_portal(greet) == "hello from hocket"


def test_many_threads_may_call_at_once() -> None:
    """Each waits for its own."""

    async def later(number: int) -> int:
        await anyio.sleep(0.01)
        return number

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(lambda number: run_in_portal(lambda: later(number)), range(64))) == list(range(64))


@pytest.mark.parametrize("error", [ValueError("no"), Stop("no"), KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_an_error_is_the_callers_alone(error: BaseException) -> None:
    """It is raised where the call was made, as the object that it is; others on the loop do not notice."""
    running = threading.Event()

    async def fail() -> None:
        raise error

    async def innocent() -> str:
        running.set()
        await anyio.sleep(0.02)
        return "unharmed"

    with ThreadPoolExecutor(1) as pool:
        sibling = pool.submit(run_in_portal, innocent)
        running.wait()
        with pytest.raises(type(error)) as caught:
            run_in_portal(fail)
        assert caught.value is error
        assert sibling.result() == "unharmed"


def test_a_cancellation_out_of_nowhere_is_raised_too() -> None:
    """As the only thing that a thread can be told of it."""
    import asyncio

    async def stray() -> None:
        raise asyncio.CancelledError

    with pytest.raises(CancelledError):
        run_in_portal(stray)
    assert run_in_portal(greet) == "hello from hocket"


def test_waiting_for_oneself_is_refused() -> None:
    """A sync verb on the kept loop would wait for ever; the message says what to do."""

    async def inner() -> None:
        run_in_portal(greet)

    with pytest.raises(SyncInLoop, match="await its async twin"):
        run_in_portal(inner)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_stands_still_is_told_of(backend: str) -> None:
    """It works, and warns at the line of the caller."""

    async def main() -> None:
        with pytest.warns(BlockingCallWarning, match="holds up the event loop") as warned:
            assert run_in_portal(greet) == "hello from hocket"
        assert warned[0].filename == __file__

    anyio.run(main, backend=backend)


def test_the_process_ends_while_the_loop_is_there() -> None:
    """Nothing has to be closed for an exit, and a call that still runs does not hold it up."""
    script = """
        import threading, anyio
        from hocket._runtime.portal import run_in_portal

        async def greet():
            return "hello"

        print(run_in_portal(greet))
        threading.Thread(target=run_in_portal, args=(anyio.sleep_forever,), daemon=True).start()
    """
    assert run(script) == "hello\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_a_forked_child_has_a_loop_of_its_own() -> None:
    """And parent and child go on."""
    script = """
        import os
        from hocket._runtime.portal import run_in_portal

        async def greet():
            return "hello"

        run_in_portal(greet)
        child = os.fork()
        if not child:
            os._exit(0 if run_in_portal(greet) == "hello" else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), run_in_portal(greet))
    """
    if sys.version_info >= (3, 12):  # a fork beside a thread is worth a warning there
        script = "import warnings; warnings.simplefilter('ignore')\n" + textwrap.dedent(script)
    assert run(script) == "0 hello\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as on POSIX")
def test_ctrl_c_cancels_the_call_and_waits_for_its_end() -> None:
    """What was under way cleans up before KeyboardInterrupt is seen."""
    script = """
        import os, signal, sys, threading, anyio
        from hocket._runtime.portal import run_in_portal

        async def main():
            try:
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.02)
                print("cleaned up")

        try:
            run_in_portal(main)
        except KeyboardInterrupt:
            print("interrupted")
    """
    assert run(script) == "cleaned up\ninterrupted\n"


def test_a_remote_stream_left_open_does_not_hold_up_the_exit() -> None:
    """Finalisers that run while the interpreter ends wait for nobody."""
    script = """
        import anyio
        from hocket._runtime.stream import SyncStream

        async def produce(sink):
            sink.put("hello")
            await anyio.sleep_forever()

        stream = SyncStream(produce, stepped=False)
        print(next(stream))
    """
    assert run(script) == "hello\n"
