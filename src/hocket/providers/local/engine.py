"""llama.cpp in this process: one loaded copy per file and settings, shared by every loop and thread.

The runtime is a wheel that blocks and calls back, so a few daemon threads of the engine's own do the waiting, as many
as the runtime answers requests at once; further requests queue here, where a caller who leaves costs nothing. A shared
thread pool would fill up with waiters, and a queue inside the runtime calls nobody back before a slot is free.

The wheel's habits that this file exists for:

- Loading keeps the interpreter's lock, so every thread and loop of the process stands still meanwhile: half a second
  for the default weights, once. `LocalEngine.load` lets a service choose when.
- Loading installs native handlers for SIGINT and SIGTERM, and Ctrl-C no longer reaches Python: put back at once.
- Destroying a copy before its loop has begun hangs for ever: loading ends with a question that only the loop answers.
- Prompts are evaluated without a call-back unless progress is asked for, and then one batch at a time: small batches
  are what makes a cancel prompt. 64 tokens take 0.4 s on one slow core; 128 are 4 % faster and take twice as long.
- An exception in the call-back is printed and swallowed: it is kept, and raised when the runtime has returned.
- A native thread that calls back while the interpreter shuts down aborts the process: everything ends in `atexit`.
- After a fork its threads are gone, and destroying the inherited copy waits for them for ever: it is leaked on purpose.
- It listens on a loopback port whatever one says: a random key locks that door.
"""

import atexit
import contextlib
import ctypes
import importlib
import importlib.util
import os
import queue
import secrets
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from hocket._runtime.fork import after_fork
from hocket._runtime.own_thread import start_thread
from hocket.errors import ContextLengthExceeded, LocalModelError, MissingDependency
from hocket.providers.local.weights import find_weights

__all__ = ["RUNTIME", "SLOTS", "LocalEngine", "missing_setup", "open_engine"]

RUNTIME = ("xllamacpp", "0.2.12")
"""The package that runs the model, and its version (llama.cpp b8156); newer builds ramble around a forced tool call."""

SLOTS = 2
"""Requests that are answered at once."""

BATCH = 64  # prompt tokens evaluated between two chances to cancel
EXIT_GRACE = 10.0  # seconds that the interpreter's exit waits for a batch, or a load, to end

_CUT: dict[str, object] = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
"""The last chunk of an answer that was cut."""

OnChunk = Callable[[dict[str, Any]], bool]


class _Server(Protocol):
    """What is used of the runtime's server; the wheel has no types."""

    def handle_chat_completions(self, body: Mapping[str, object], on_chunk: OnChunk) -> dict[str, Any] | None:
        """Answer a request; return what went wrong, if anything did."""
        ...

    def handle_metrics(self) -> object:
        """Return figures, once the server's loop runs."""
        ...


_engines: dict[tuple[str, int, int], "LocalEngine"] = {}
_lock = threading.Lock()  # guards _engines
_loading = threading.Lock()  # one load at a time: each puts signal handlers aside
_exiting = False


class LocalEngine:
    """A GGUF model, loaded when first used. Make it with `open_engine`.

    Args:
        path: the GGUF file.
        n_ctx: the window of one request, in tokens; the runtime caps it at what the weights were trained for.
        n_threads: threads to compute with.
    """

    def __init__(self, path: Path, n_ctx: int, n_threads: int) -> None:
        self.path = path
        self.n_ctx = n_ctx
        self.n_threads = n_threads
        self._server: _Server | None = None
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._workers: list[threading.Thread] = []
        self._idle = threading.Condition()
        self._busy = 0

    def submit(self, job: Callable[[], None]) -> None:
        """Have one of the engine's threads run ``job``, which must not raise, in its turn."""
        self._jobs.put(job)
        with self._idle:
            if len(self._workers) < SLOTS:
                self._workers.append(start_thread("hocket local model", self._work))

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            job()
            del job  # it holds the caller's request

    def stream(self, request: Mapping[str, object], on_chunk: OnChunk) -> None:
        """Answer ``request``, an OpenAI chat completion as a dict. Blocks until the answer has ended.

        A text beside tools that is cut, by ``max_tokens`` or the window, ends with the finish reason "length", and without
        usage: the runtime cannot read its end.

        Args:
            request: the body of the request; streaming and usage are switched on here.
            on_chunk: gets every chunk as a dict, in this thread, those with ``prompt_progress`` included, and returns
                True to stop. What it raises stops the answer and is raised here.

        Raises:
            LocalModelError: the file cannot be loaded, the model refused the request, or the answer was cut within a call of
                a tool.
            ContextLengthExceeded: the prompt is too long for the window.
            MissingDependency: the runtime is not installed.
        """
        failures: list[BaseException] = []
        has_calls = False

        def receive(chunk: dict[str, Any]) -> bool:
            nonlocal has_calls
            try:
                has_calls = has_calls or _has_calls(chunk)
                if "error" in chunk and not has_calls and _is_cut(chunk["error"]):
                    on_chunk(_CUT)
                    return True
                if "error" in chunk:
                    failures.append(_read_refusal(chunk["error"]))
                return bool(failures) or _exiting or on_chunk(chunk)
            except BaseException as failure:
                failures.append(failure)
                return True

        body = {**request, "stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
        with self._count_as_busy():
            if _exiting:
                raise LocalModelError("the interpreter is shutting down")
            server = self.load()
            try:
                returned = server.handle_chat_completions(body, receive)
            except (RuntimeError, TypeError, ValueError) as error:
                raise LocalModelError(f"the embedded model refused the request: {_read_first_line(error)}") from error
        if failures:
            raise failures[0]
        if returned and "error" in returned:
            raise _read_refusal(returned["error"])

    @contextlib.contextmanager
    def _count_as_busy(self) -> Generator[None, None, None]:
        with self._idle:
            self._busy += 1
        try:
            yield
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def load(self) -> _Server:
        """Load the model unless it is loaded, and return the runtime's server. Blocks.

        Raises:
            LocalModelError: the file cannot be loaded.
            MissingDependency: the runtime is not installed.
        """
        with _loading:
            if self._server is None:
                self._server = _load(self.path, self.n_ctx, self.n_threads)
            return self._server

    def unload(self, grace: float) -> bool:
        """Free the memory once nothing is being answered; return False if that takes longer than ``grace`` seconds."""
        with self._idle:
            if not self._idle.wait_for(lambda: not self._busy, grace):
                return False
            self._server = None
            return True


def open_engine(model: str | None, n_ctx: int, n_threads: int) -> LocalEngine:
    """Return the process's one engine for these weights and settings. It loads at its first request.

    Looks at the disk, so it belongs in a worker thread.

    Raises:
        LocalModelError, MissingDependency: see `find_weights`.
    """
    path = find_weights(model)
    key = (str(path.resolve()), n_ctx, n_threads)
    with _lock:
        if key not in _engines:
            _engines[key] = LocalEngine(path, n_ctx, n_threads)
        return _engines[key]


def missing_setup() -> str | None:
    """Return why the default model cannot be loaded, with the way out; None: nothing is missing. Looks at the disk."""
    try:
        find_weights()
    except (MissingDependency, LocalModelError) as error:
        return str(error)
    is_there = importlib.util.find_spec(RUNTIME[0]) is not None
    return None if is_there else "the embedded model's runtime is not installed; run `hocket setup local`"


def _load(path: Path, n_ctx: int, n_threads: int) -> _Server:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read once, at import: spinning threads starve a busy machine
    try:
        xllamacpp = importlib.import_module(RUNTIME[0])  # it has no type stubs
    except ImportError as error:
        raise MissingDependency(
            f"the embedded model's runtime cannot be imported ({_read_first_line(error)}); run `hocket setup local`"
        ) from error
    try:
        params = _set_parameters(xllamacpp.CommonParams(), path, n_ctx, n_threads)
        with _keep_signal_handlers():
            server: _Server = xllamacpp.Server(params)
        server.handle_metrics()  # waits until its loop runs
        return server
    except (AttributeError, TypeError) as error:
        raise LocalModelError(
            f"xllamacpp {xllamacpp.__version__} differs from the {RUNTIME[1]} that hocket knows "
            f"({_read_first_line(error)}); run `hocket setup local`"
        ) from error
    except RuntimeError as error:
        raise LocalModelError(
            f"llama.cpp cannot load {str(path)!r}: the file is damaged or cut short, its architecture is newer than "
            f"xllamacpp {xllamacpp.__version__}, or memory is short for n_ctx={n_ctx}"
        ) from error


def _set_parameters(params: Any, path: Path, n_ctx: int, n_threads: int) -> Any:
    params.model.path = str(path)
    params.n_parallel = SLOTS
    params.n_ctx = n_ctx * SLOTS  # the runtime divides it among the slots
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = n_threads
    params.fit_params = False  # no guessing of settings from the free memory
    params.warmup = False  # 0.1 s that the first request does not need
    params.cache_ram_mib = 0  # a slot remembers its last prompt; no further copies
    params.verbosity = -1  # nothing on stderr
    params.api_keys = [secrets.token_urlsafe(32)]
    params.webui = params.endpoint_slots = False
    params.endpoint_metrics = True  # for the question at the end of loading
    params.n_threads_http = 1
    return params


@contextlib.contextmanager
def _keep_signal_handlers() -> Generator[None, None, None]:
    """Put back the process's handlers, from any thread: `signal.signal` works in the main thread only."""
    get, put = ctypes.pythonapi.PyOS_getsig, ctypes.pythonapi.PyOS_setsig
    get.restype = put.restype = ctypes.c_void_p
    get.argtypes, put.argtypes = [ctypes.c_int], [ctypes.c_int, ctypes.c_void_p]
    before = {number: get(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            put(number, handler)


def _has_calls(chunk: Mapping[str, object]) -> bool:
    choices = cast("list[Mapping[str, Mapping[str, object] | None]]", chunk.get("choices") or [])
    return any((choice.get("delta") or {}).get("tool_calls") for choice in choices)


def _is_cut(error: Mapping[str, object]) -> bool:
    """Whether the runtime could not put the end of an answer together with what it had sent of it.

    With tools it writes JSON, and has shown a part of that as text, or as a call; at the end of JSON that ``max_tokens``, or
    the window, has cut, it takes all of it for text, and finds that this is something else.
    """
    return str(error.get("message", "")).startswith("Invalid diff")


def _read_refusal(error: Mapping[str, Any]) -> LocalModelError | ContextLengthExceeded:
    if error.get("type") == "exceed_context_size_error":
        return ContextLengthExceeded(
            f"the prompt is {error.get('n_prompt_tokens')} tokens long and the model's window holds "
            f"n_ctx={error.get('n_ctx')}: shorten the conversation, or raise ChatLocal(n_ctx=...) "
            "if the weights allow for more",
            provider="local",
        )
    if _is_cut(error):
        return LocalModelError(
            "the answer was cut within a call of a tool, by max_tokens or by the window: raise max_tokens, or n_ctx"
        )
    return LocalModelError(f"the embedded model refused the request: {error.get('message', error)}")


def _read_first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


@atexit.register
def _unload_all() -> None:
    global _exiting
    _exiting = True
    until = time.monotonic() + EXIT_GRACE
    for engine in _engines.values():
        engine.unload(max(0.0, until - time.monotonic()))


@after_fork
def _start_anew() -> None:
    global _engines, _lock, _loading
    for engine in _engines.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
    _engines, _lock, _loading = {}, threading.Lock(), threading.Lock()
