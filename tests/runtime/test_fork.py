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
