"""What a forked child does first."""

import subprocess
import sys

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
