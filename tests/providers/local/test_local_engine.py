"""The engine: one loaded copy, cancellable, that leaves the process as it found it."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hocket.errors import ContextLengthExceeded, LocalModelError
from hocket.providers.local import engine as engines
from hocket.providers.local.engine import LocalEngine, open_engine

pytestmark = pytest.mark.usefixtures("embedded_model")

CAPITAL = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "temperature": 0.2}
LONG = {"messages": [{"role": "user", "content": "word " * 1500}], "max_tokens": 5}


@pytest.fixture(scope="module")
def engine() -> LocalEngine:
    return open_engine(None, 4096, 1)


def answered(engine: LocalEngine, request: dict[str, Any]) -> list[dict[str, Any]]:
    chunks: list[dict[str, Any]] = []

    def keep(chunk: dict[str, Any]) -> bool:
        chunks.append(chunk)
        return False

    engine.stream(request, keep)
    return chunks


def test_an_answer_comes_in_chunks_and_ends_with_usage(engine: LocalEngine) -> None:
    """Text comes piece by piece, then the finish reason, then what it took."""
    chunks = answered(engine, {**CAPITAL, "max_tokens": 20})

    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])
    assert len(text) > 5
    assert chunks[-2]["choices"][0]["finish_reason"] in ("stop", "length")
    assert chunks[-1]["usage"]["completion_tokens"] > 0


@pytest.mark.nightly
def test_racing_callers_share_one_copy() -> None:
    """Twenty threads that ask at once for settings nobody has loaded yet get the same engine and the same copy."""
    start = threading.Barrier(20)
    seen: list[tuple[LocalEngine, Any]] = []

    def race() -> None:
        start.wait()
        mine = open_engine(None, 512, 1)
        mine.stream({**CAPITAL, "max_tokens": 1}, lambda chunk: True)
        seen.append((mine, mine._server))

    threads = [threading.Thread(target=race) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 20
    assert len({(id(mine), id(copy)) for mine, copy in seen}) == 1
    assert seen[0][0].unload(grace=5)


def test_other_settings_are_another_engine(engine: LocalEngine) -> None:
    """The window and the threads belong to the copy."""
    assert open_engine(None, 4096, 1) is engine
    assert open_engine(None, 1024, 1) is not engine


def test_cancel_in_the_answer(engine: LocalEngine) -> None:
    """Returning True ends the answer at that token: not even the time of those before it passes any more."""
    tokens: list[float] = []

    def leave(chunk: dict[str, Any]) -> bool:
        if chunk.get("choices") and chunk["choices"][0]["delta"].get("content"):
            tokens.append(time.process_time())
        return len(tokens) == 6

    engine.stream({**CAPITAL, "max_tokens": 400}, leave)

    assert time.process_time() - tokens[-1] < tokens[-1] - tokens[0]
    assert len(tokens) == 6


def test_cancel_in_the_prompt(engine: LocalEngine) -> None:
    """A prompt of seconds is left after its first batch, and the next request does not wait for the rest of it."""
    batches: list[int] = []
    times: list[float] = []

    def leave(chunk: dict[str, Any]) -> bool:
        batches.append(chunk["prompt_progress"]["processed"])
        times.append(time.process_time())
        return len(batches) == 2

    engine.stream(LONG, leave)
    assert batches[0] < batches[-1] < 200

    start = time.process_time()
    answered(engine, {**CAPITAL, "max_tokens": 1})
    assert time.process_time() - start < 8 * (times[-1] - times[0])  # the rest is more than 20 batches


def test_too_long_a_prompt_is_explained() -> None:
    """The error has both numbers and the way out."""
    with pytest.raises(
        ContextLengthExceeded, match=r"\d{4} tokens long .* n_ctx=512: shorten .* raise ChatLocal\(n_ctx"
    ):
        answered(open_engine(None, 512, 1), LONG)


def test_a_failing_callback_is_raised(engine: LocalEngine) -> None:
    """The runtime swallows what a call-back raises; the engine does not."""

    def fail(chunk: dict[str, Any]) -> bool:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        engine.stream({**CAPITAL, "max_tokens": 50}, fail)


def test_a_request_that_the_runtime_refuses(engine: LocalEngine) -> None:
    """Its own words come in one line."""
    with pytest.raises(LocalModelError, match=r"refused the request: .*Missing tool type"):
        answered(engine, {**CAPITAL, "tools": [{"name": "weather"}]})


@pytest.mark.parametrize("kept", [4, 5000, 1_000_000])
def test_a_damaged_file_is_refused(tmp_path: Path, kept: int) -> None:
    """A GGUF that was cut short fails to load, in one line that names it, and is tried anew at the next call."""
    whole = open_engine(None, 4096, 1).path.read_bytes()
    path = tmp_path / "cut.gguf"
    path.write_bytes(whole[:kept])
    cut = open_engine(str(path), 512, 1)

    for _ in range(2):
        with pytest.raises(LocalModelError, match=r"cannot load .*cut\.gguf"):
            cut.stream(CAPITAL, lambda chunk: False)


@pytest.mark.nightly
def test_a_copy_can_be_dropped_as_soon_as_it_is_loaded() -> None:
    """Loading and unloading by turns neither hangs nor fails."""
    fresh = open_engine(None, 300, 1)
    for _ in range(5):
        fresh.load()
        assert fresh.unload(grace=5)


def test_signal_handlers_survive_loading() -> None:
    """Ctrl-C still reaches Python after a model was loaded."""
    get = ctypes.pythonapi.PyOS_getsig
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_int]
    before = [get(number) for number in (signal.SIGINT, signal.SIGTERM)]
    fresh = open_engine(None, 256, 1)
    fresh.stream({**CAPITAL, "max_tokens": 1}, lambda chunk: True)

    assert [get(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert fresh.unload(grace=5)


def test_the_http_listener_is_locked(engine: LocalEngine) -> None:
    """The runtime listens on loopback; nobody without its random key is answered."""
    import http.client

    answered(engine, {**CAPITAL, "max_tokens": 1})
    connection = http.client.HTTPConnection(engine._server.listening_address.removeprefix("http://"), timeout=5)
    try:
        connection.request("POST", "/v1/chat/completions", body="{}", headers={"Content-Type": "application/json"})
        assert connection.getresponse().status == 401
    finally:
        connection.close()


@pytest.mark.nightly
def test_unloading_waits_for_what_is_running(engine: LocalEngine) -> None:
    """Memory is not taken away from an answer, and the next request loads anew."""
    first = threading.Event()
    leave = threading.Event()

    def wait(chunk: dict[str, Any]) -> bool:
        first.set()
        return leave.is_set()

    thread = threading.Thread(target=engine.stream, args=({**CAPITAL, "max_tokens": 300}, wait))
    thread.start()
    first.wait()
    assert not engine.unload(grace=0.01)
    leave.set()
    assert engine.unload(grace=5)
    thread.join()

    assert answered(engine, {**CAPITAL, "max_tokens": 1})


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_a_fork_loads_its_own_copy() -> None:
    """A child of a process with a loaded model answers with a copy of its own and ends, by exit or by the short way."""
    code = """
import os, sys
from hocket.providers.local.engine import open_engine

def ask():
    said = []
    request = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3, "temperature": 0}
    open_engine(None, 512, 1).stream(request, lambda chunk: bool(said.append(chunk)))
    return len(said)

ask()
for answers in (True, False):
    child = os.fork()
    if not child:
        sys.exit(0 if not answers or ask() else 3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(ask() > 0)
"""
    done = run(code)

    assert done.stdout.split() == ["0", "0", "True"], done.stderr


def test_exit_during_an_answer() -> None:
    """An interpreter that exits while a thread is still answering ends at once, cleanly and without a word."""
    code = """
import os, threading
from hocket.providers.local.engine import open_engine

engine = open_engine(None, 2048, 1)
request = {"messages": [{"role": "user", "content": "Write a long story."}], "max_tokens": 1000}
begun = threading.Event()

def receive(chunk):
    begun.set()
    os.write(1, b".")
    return False

engine.submit(lambda: engine.stream(request, receive))
begun.wait()
"""
    done = run(code)

    assert (done.returncode, done.stdout.strip("."), done.stderr) == (0, "", "")
    assert 0 < len(done.stdout) < 300  # a chunk for each of 1000 tokens, had it not ended


def test_nothing_is_printed() -> None:
    """Loading and answering write nothing to stdout or stderr, native code included."""
    done = run(
        "from hocket.providers.local.engine import open_engine\n"
        "request = {'messages': [{'role': 'user', 'content': 'word ' * 900}], 'max_tokens': 2}\n"
        "try: open_engine(None, 512, 1).stream(request, lambda chunk: False)\n"
        "except Exception as error: print(type(error).__name__)\n"
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "ContextLengthExceeded\n", "")


def test_threads_do_not_spin() -> None:
    """OpenMP is told to wait passively before the runtime is imported, unless the user has said otherwise."""
    assert engines.SLOTS == 2
    answered(open_engine(None, 4096, 1), {**CAPITAL, "max_tokens": 1})
    assert os.environ["OMP_WAIT_POLICY"] == "passive"
