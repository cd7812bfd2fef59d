"""Python programs that tests start, forked from a process that has imported hocket already: 20 ms instead of 380.

`Program` and `run` take what `subprocess.Popen` and `subprocess.run` take, with the arguments of Python for a command. What
they start is a child of this process like any other: its pid, signals, exit code, streams, terminal, folder and environment
are its own. It differs from a new interpreter in what is imported already, and shares its hash seed with its siblings:
where a test is about that, about memory, or about how the interpreter starts and ends, it starts `sys.executable` itself,
or says that the program may not be warm. It is not either elsewhere than on Linux, with a variable that only the start of
an interpreter reads, and when everything runs (`HOCKET_TESTS=all`).
"""

import array
import atexit
import ctypes
import functools
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kit.amount import RUNS_ALL

__all__ = ["Program", "run"]

ROOT = Path(__file__).parents[2]
# What programs read while they are imported, or what is a matter of the person who runs the tests.
PRIVATE = re.compile("KEY|TOKEN|BASE_URL|HOCKET|COLOR|PROXY|COV|XDG", re.IGNORECASE)
# What the interpreter reads when it starts; of its variables these can be kept later, too.
FOR_THE_START = re.compile("PYTHON|LC_|LANG$")
KEPT_LATER = ("PYTHONPATH", "PYTHONWARNINGS", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
STREAMS = (0, 1, 2)
PR_SET_CHILD_SUBREAPER = 36
IS_WARM = sys.platform == "linux" and not RUNS_ALL


class Program(subprocess.Popen[Any]):
    """A program of Python: `Program("-c", code, stdout=PIPE)`, `Program("-m", "hocket")`, `Program("script.py")`.

    ``imports`` names a module that it imports, beside those that many do: it is imported when it starts.
    """

    def __init__(self, *arguments: str, may_be_warm: bool = True, imports: str = "", **options: Any) -> None:
        self._imports = imports
        plain = options.keys() <= {"stdin", "stdout", "stderr", "env", "cwd", "text", "encoding", "start_new_session"}
        may_be_warm &= not any(
            "os.fork(" in word for word in arguments
        )  # what a fork takes along is what they are about
        self._is_warm = IS_WARM and may_be_warm and plain and _is_for_a_later_start(options.get("env"))
        super().__init__([sys.executable, *arguments], **options)

    def _execute_child(self, args: Any, *rest: Any) -> None:
        """Have a child forked in place of starting one: what `subprocess.Popen` does on Unix."""
        if not self._is_warm:
            super()._execute_child(args, *rest)  # type: ignore[misc]  # typeshed does not have it
            return
        _, _, _, _, cwd, env, _, _, _, *ends, _, _, _, _, _, start_new_session, _ = rest
        environ = dict(os.environ if env is None else env)
        inputs = (ends[0], ends[3], ends[5])  # the child's ends of the pipes; -1: as this process has it
        self.pid = _find_parent(environ.get("PYTHONPATH", ""), self._imports).fork(
            {
                "arguments": args[1:],
                "environ": environ,
                "folder": os.fspath(cwd or os.getcwd()),
                "in_a_session": start_new_session,
            },
            [stream if end == -1 else end for stream, end in zip(STREAMS, inputs, strict=True)],
        )
        self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


def run(
    *arguments: str, input: str | None = None, timeout: float = 120, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as `subprocess.run` does; nothing is piped in unless `input` is given."""
    if options.pop("capture_output", False):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options.setdefault("stdin", subprocess.DEVNULL if input is None else subprocess.PIPE)
    with Program(*arguments, **{"encoding": "utf-8"} | options) as program:
        try:
            stdout, stderr = program.communicate(input, timeout)
        except BaseException:
            program.kill()
            raise
    done = subprocess.CompletedProcess(program.args, program.returncode, stdout, stderr)
    if check:
        done.check_returncode()
    return done


def _is_for_a_later_start(env: dict[str, str] | None) -> bool:
    """Whether an environment says nothing that only the start of an interpreter reads."""
    if env is None:
        return True
    names = {name for name in {**env, **os.environ} if FOR_THE_START.match(name) and name not in KEPT_LATER}
    return all(env.get(name) == os.environ.get(name) for name in names)


class _Parent:
    """The warmed process. It forks children that become this process's own.

    Args:
        path: PYTHONPATH. What is on it decides what the programs find, so each has its own warmed process.
        imports: a module that few programs import, and these do; "": none.
        parent: that it is forked from; None: it is a new interpreter, with neither.
    """

    def __init__(self, path: str = "", imports: str = "", parent: "_Parent | None" = None) -> None:
        self._socket, other = socket.socketpair()
        env = {name: value for name, value in os.environ.items() if not PRIVATE.search(name)}
        command = [sys.executable, "-P", "-m", "tests.kit.warmed", str(other.fileno())]
        with other:
            if parent is None:
                process = subprocess.Popen(
                    command,
                    pass_fds=[other.fileno()],
                    stdin=subprocess.DEVNULL,
                    env={**env, "PYTHONPATH": str(ROOT)},
                )
                self._wait: Callable[[], object] = process.wait
            else:
                job = {"path": path, "imports": imports}
                self._wait = functools.partial(os.waitpid, parent.fork(job, [other.fileno()]), 0)
        assert self._socket.recv(1), "the warmed process did not start; what it wrote says why"
        atexit.register(self.end)

    def fork(self, job: dict[str, Any], streams: list[int]) -> int:
        """Have a child run a program; return its process id."""
        body = json.dumps(job).encode("utf-8", "surrogateescape")
        descriptors = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))]
        # A child's parent is who has it forked; when that one ends, this process is, if it says so in time.
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            self._socket.sendmsg([struct.pack("!I", len(body))], descriptors)
            self._socket.sendall(body)
            (pid,) = struct.unpack("!I", self._socket.recv(4))
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        return int(pid)

    def end(self) -> None:
        self._socket.close()
        self._wait()


_parents: dict[tuple[str, str], _Parent] = {}
_lock = threading.Lock()


def _find_parent(path: str, imports: str) -> _Parent:
    with _lock:
        if ("", "") not in _parents:
            _parents["", ""] = _Parent()
        if (path, imports) not in _parents:
            _parents[path, imports] = _Parent(path, imports, _parents["", ""])
    return _parents[path, imports]
