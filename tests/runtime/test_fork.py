"""What a forked child does first."""

import subprocess
import sys
import threading
from pathlib import Path

from hocket._runtime.fork import ForkBarrier

PROGRAM = """
import os
from hocket._runtime.fork import after_fork, leave_to_parent

class Connection:
    def __del__(self):
        os.write(1, b"closed ")

calls, kept = [], Connection()

@after_fork
def first():
    global kept
    leave_to_parent(kept)
    kept = None
    calls.append("first")

after_fork(lambda: calls.append("second"))
child = os.fork()
if not child:
    os.write(1, f"child: {calls} ".encode())
    os._exit(0)
os.waitpid(child, 0)
os.write(1, f"parent: {calls} ".encode())
kept = None
"""


def test_a_child_begins_anew_and_leaves_the_parents_objects_alone() -> None:
    """What was registered is called in the child alone, in order; what is left to the parent is collected there alone."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "child: ['first', 'second'] parent: [] closed "


BUSY = """
import os, signal, threading, time
from hocket._runtime.fork import free_at_fork

lock = free_at_fork(threading.Lock())
is_over = threading.Event()

def hold():
    while not is_over.is_set():
        with lock:
            time.sleep(0.001)

threading.Thread(target=hold).start()
for _ in range(50):
    child = os.fork()
    if not child:
        signal.alarm(5)  # ends a child that waits for ever
        with lock:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
is_over.set()
"""


def test_a_lock_that_another_thread_holds_is_free_in_the_child() -> None:
    """The fork waits until it is; else no thread of the child could release it."""
    subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", BUSY], check=True)


WRITING = """
import os, sys, threading, time
from hocket._databases.sqlite import shared_database, transaction
from hocket.errors import StoreError

SCHEMA = "CREATE TABLE IF NOT EXISTS notes (number);"
is_over, written = threading.Event(), 0

def write(pause=0.0):  # with a connection of its own, closed afterwards
    with shared_database(sys.argv[1], patience=5).open(SCHEMA, StoreError) as connection, transaction(connection):
        connection.execute("INSERT INTO notes VALUES (1)")
        time.sleep(pause)

def go_on():
    global written
    while not is_over.is_set():
        write(pause=0.004)
        written += 1
        time.sleep(0.002)

thread = threading.Thread(target=go_on)
thread.start()
codes = set()
for _ in range(10):
    time.sleep(0.01)
    child = os.fork()
    if not child:
        try:
            for _ in range(5):
                write()
        except StoreError as error:
            os.write(2, f"{error}\\n".encode())
            os._exit(1)
        os._exit(0)
    codes.add(os.waitpid(child, 0)[1])
is_over.set()
thread.join()
with shared_database(sys.argv[1]).open(SCHEMA, StoreError) as connection:
    (count,) = connection.execute("SELECT count(*) FROM notes").fetchone()
assert codes == {0} and count == written + 50, (codes, count, written)
"""


def test_a_child_of_a_process_that_writes_can_write(tmp_path: Path) -> None:
    """SQLite would know the file in the child as the parent had it: locked for ever, or with memory that is gone."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", WRITING, str(tmp_path / "notes.db")], check=True)


FORKING = """
import os, time
from hocket._runtime.fork import fork_barrier

fork_barrier().enter()
began = time.monotonic()
child = os.fork()
if not child:
    fork_barrier().enter()  # the child's is free
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0 and 0.9 < time.monotonic() - began < 10
fork_barrier().enter()
fork_barrier().leave()
"""


def test_a_fork_inside_such_work_waits_a_second() -> None:
    """It is not refused, and nobody waits for ever."""
    subprocess.run([sys.executable, "-W", "error", "-c", FORKING], check=True, timeout=30)


WORKING = """
import os, sys, threading, time
from hocket._databases import sqlite
from hocket._runtime.fork import fork_barrier, free_at_fork
from hocket.errors import StoreError

lock = free_at_fork(threading.Lock())
is_over = threading.Event()

def read():  # two at once, so that one has the connection's turn while the fork has come
    with sqlite.shared_database(sys.argv[1]).open("", StoreError) as connection:
        connection.execute("SELECT 1")
        with fork_barrier(), lock:
            time.sleep(0.001)

def go_on():
    while not is_over.is_set():
        read()

database = sqlite.shared_database(sys.argv[1])
threads = [threading.Thread(target=go_on, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(20):
    time.sleep(0.01)
    began = time.monotonic()
    child = os.fork()
    if not child:
        os._exit(sum(connection.is_open for connection in sqlite._connections))
    assert time.monotonic() - began < 0.9
    assert os.waitpid(child, 0)[1] == 0
is_over.set()
for thread in threads:
    thread.join()
"""


def test_a_fork_waits_for_work_that_takes_locks_and_begins_other_work(tmp_path: Path) -> None:
    """It takes the locks after the work has ended, and closes a connection, too, for which a thread waits meanwhile: here a
    fork took a second, or left one open, and a child's or its parent's commits were lost.
    """
    subprocess.run([sys.executable, "-W", "ignore", "-c", WORKING, str(tmp_path / "notes.db")], check=True)


INTERRUPTED = """
import os, threading
from hocket._runtime.fork import before_fork, fork_barrier, free_at_fork

lock, calls = free_at_fork(threading.Lock()), []

@before_fork
def interrupt():
    calls.append(lock.locked())
    if len(calls) > 1:
        raise KeyboardInterrupt

for _ in range(3):
    child = os.fork()
    if not child:
        os._exit(lock.locked())
    assert os.waitpid(child, 0)[1] == 0 and not lock.locked()
    assert not fork_barrier()._forking
assert calls == [False] * 3
"""


def test_an_interrupted_fork_takes_its_locks_and_gives_them_back() -> None:
    """Python goes on with a fork whose preparation raises, and says so on the standard error."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True)
    assert done.stderr.count("KeyboardInterrupt") == 2 and "RuntimeError" not in done.stderr


def test_the_collector_of_garbage_may_run_inside_of_the_barrier() -> None:
    """It closes connections that nobody has any more, each of which enters: the thread must not wait for itself."""
    barrier = ForkBarrier()
    entered = threading.Event()

    def collect() -> None:
        with barrier._changed, barrier:  # as where an object is made in `enter`
            entered.set()

    threading.Thread(target=collect, daemon=True).start()
    assert entered.wait(10)
