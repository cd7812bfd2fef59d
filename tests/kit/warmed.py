"""The process that `tests.kit.warm` forks programs from: it has imported hocket, and made one run.

Its children leave without taking the modules apart, which would take longer than all that the programs do.
"""

import array
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import struct
import sys
import threading
import types
import warnings
from pathlib import Path
from typing import Any

# Doors load their modules when these are asked for, so it is the modules that are named.
PRELOADED = """
anyio._backends._asyncio anyio._backends._trio asyncio concurrent.futures decimal encodings.idna genai_prices
multiprocessing.pool psycopg pydantic.dataclasses redis.asyncio rich.console sqlite3 ssl tests.kit.caches uuid
hocket.agents.agent hocket.agents.approval hocket.agents.builtin.calculator hocket.agents.create hocket.batch.provider
hocket.batch.replay hocket.batch.run hocket.budgets hocket.caches.fleet hocket.chat_history hocket.cli.agent
hocket.cli.ask hocket.cli.batch hocket.cli.batch_rows hocket.cli.cassette hocket.cli.chat hocket.cli.completion
hocket.cli.keys hocket.cli.markdown hocket.cli.models hocket.cli.serve hocket.cli.usage hocket.evaluation.run hocket.http
hocket.http.asyncio_wire hocket.indexing hocket.language_models.simple hocket.ledger.sqlite hocket.messages.html
hocket.output_parsers.openai_tools hocket.output_parsers.xml hocket.profiles.tables hocket.providers.openai.batches
hocket.providers.openai.chat_model hocket.rate_limiters hocket.runnables.proxy hocket.testing hocket.tools.calculator
hocket.vectorstores
""".split()  # noqa: SIM905  # one a line they would be as long as the rest of this file


def main() -> None:
    """Warm up, fork a child for each program that is asked for, and be that child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the tests
    filters = warnings.filters[:]
    own = os.environ["PYTHONPATH"].split(os.pathsep)
    for name in PRELOADED:
        with contextlib.suppress(ModuleNotFoundError):  # of a package that has no wheels for a free-threaded Python
            importlib.import_module(name)
    _run_once()
    job, streams = _fork_for(int(sys.argv[1]), own)
    if "imports" in job:  # a warmed process, too, for programs that find or import more
        added = [*filter(None, job["path"].split(os.pathsep)), *own]
        sys.path[:0] = added
        registry = importlib.import_module("hocket.language_models.registry")
        vars(registry)["_installed"] = dict(registry._find_entry_points())  # what it has read when it was imported
        if job["imports"]:
            importlib.import_module(job["imports"])
        job, streams = _fork_for(streams[0], added)
    warnings.filters[:] = filters
    _become(job, streams)
    _leave(_execute(job["arguments"]))


def _fork_for(connection: int, own: list[str]) -> tuple[dict[str, Any], list[int]]:
    """Leave what was imported to the children, and fork them, as `_serve` says."""
    sys.path[:] = [path for path in sys.path if path not in own]
    caching = type(functools.cache(len))
    for one in gc.get_objects():
        if isinstance(one, caching) and str(getattr(one, "__module__", "")).startswith("hocket"):
            one.cache_clear()
    assert len(os.listdir("/proc/self/task")) == 1, "a thread does not survive a fork"
    gc.collect()
    gc.freeze()
    return _serve(socket.socket(fileno=connection))


def _run_once() -> None:
    """Make the run that imports what runs import, and have pydantic build the model that most programs make."""
    from hocket.cli import main
    from hocket.providers.openai import ChatOpenAI

    os.environ["HOCKET_TALKS"] = os.environ["HOCKET_HISTORY"] = ""
    ChatOpenAI(model="none", api_key="none")
    stdout = sys.stdout
    with open(os.devnull, "w") as sys.stdout:
        assert main(["-m", "fake:yes", "hi"]) == 0
    sys.stdout = stdout


def _serve(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork a child for each message; return, in the child alone, what it has to do and its streams."""
    connection.sendall(b"!")
    while True:
        head, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(3 * array.array("i").itemsize))
        if not head:
            os._exit(0)
        streams = array.array("i", ancillary[0][2])
        rest, body = struct.unpack("!I", head)[0], b""
        while len(body) < rest:
            body += connection.recv(rest - len(body))
        readable, writable = os.pipe()
        if first := os.fork():
            os.close(writable)
            for stream in streams:
                os.close(stream)
            os.waitpid(first, 0)  # from here on the second one is the child of who asked
            connection.sendall(os.read(readable, 4))
            os.close(readable)
        elif second := os.fork():
            os.write(writable, struct.pack("!I", second))
            os._exit(0)
        else:
            connection.close()
            return json.loads(body), list(streams)


def _become(job: dict[str, Any], streams: list[int]) -> None:
    """Be the process that was asked for: its session, streams, folder, environment and path."""
    if job["in_a_session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 256)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(job["folder"])
    environ = job["environ"]
    os.environ.clear()
    os.environ.update(environ)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        mode = "w" if number else "r"
        file = open(number, mode, encoding=before.encoding, errors=before.errors, closefd=False)  # noqa: SIM115 - it stays
        if number:
            file.reconfigure(line_buffering=number == 2 or file.isatty(), write_through="PYTHONUNBUFFERED" in environ)
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)
    sys.path[:0] = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    importlib.invalidate_caches()
    sys.dont_write_bytecode = bool(environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.warnoptions[:] = [option for option in environ.get("PYTHONWARNINGS", "").split(",") if option]


def _execute(arguments: list[str]) -> int | str | None:
    """Run a program as Python's command line names it; return what it exits with."""
    while arguments[0] == "-W":
        sys.warnoptions.append(arguments[1])
        arguments = arguments[2:]
    warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]
    try:
        if arguments[0] == "-c":
            sys.argv[:] = ["-c", *arguments[2:]]
            sys.path.insert(0, "")
            module = sys.modules["__main__"] = types.ModuleType("__main__")
            exec(compile(arguments[1], "<string>", "exec"), module.__dict__)
        elif arguments[0] == "-m":
            sys.argv[:] = arguments[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv[:] = arguments
            sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as error:
        return error.code
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        kind, error, traceback = sys.exc_info()
        sys.excepthook(kind, error, traceback and traceback.tb_next)  # without this function
        return 1
    return None


def _leave(code: int | str | None) -> None:
    """End as the interpreter does, as far as it can be seen from outside."""
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 120
    os._exit(code or 0)


if __name__ == "__main__":
    main()
