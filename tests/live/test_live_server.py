"""The server of this folder's tests, itself: it must not outlive them."""

import subprocess
import sys
from pathlib import Path

import pytest

from hocket.providers.local.weights import find_weights

SERVER = Path(__file__).with_name("server.py")
PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE)  # its output is ours
time.sleep(600)
"""


@pytest.mark.usefixtures("embedded_model")
def test_the_server_ends_with_a_parent_that_is_killed() -> None:
    """Even where no fixture could be torn down, nothing is left behind."""
    command = [sys.executable, "-c", PARENT, str(SERVER), str(find_weights()), "sk-unused", "256", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        address = parent.stdout.readline()
        parent.kill()
        rest = parent.stdout.read()  # ends when the last process that could write to it has ended

    assert (address.startswith("http://127.0.0.1:"), rest) == (True, "")
