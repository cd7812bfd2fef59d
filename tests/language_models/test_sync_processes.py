"""The sync verbs in a process of their own: Ctrl-C, fork, and the end of the interpreter."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MODEL = """
import sys, threading, time
import anyio
from hocket import (AIMessage, AIMessageChunk, BaseCallbackHandler, BaseChatModel, ChatGeneration,
                    ChatGenerationChunk, ChatResult)

def say(*words):
    print(*words, flush=True)

class Telling(BaseCallbackHandler):
    run_inline = True
    def on_chat_model_start(self, *args, **details): say("start")
    def on_llm_end(self, *args, **details): say("end")
    def on_llm_error(self, error, **details): say("error", type(error).__name__)

class Model(BaseChatModel):
    seconds: float = 0
    async def _agenerate(self, messages, stop=None, **kwargs):
        try:
            if self.seconds:
                say("asked")
            await anyio.sleep(self.seconds)
            return ChatResult(generations=[ChatGeneration(message=AIMessage("yes"))])
        finally:
            say("hook closed")
    @property
    def _llm_type(self): return "model"

class SyncModel(BaseChatModel):
    def _generate(self, messages, stop=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("yes"))])
    @property
    def _llm_type(self): return "sync"
"""


def run(tmp_path: Path, script: str, *, interrupt: bool = False) -> tuple[int, list[str], float]:
    """Run a script; with ``interrupt``, send Ctrl-C when it says "asked". Returns code, lines and seconds to the end."""
    path = tmp_path / "script.py"
    path.write_text(MODEL + script)
    with subprocess.Popen(
        [sys.executable, "-W", "error", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        lines: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.strip())
            if lines[-1] == "over":
                began = time.monotonic()
            if interrupt and lines[-1] == "asked":
                time.sleep(0.02)
                process.send_signal(signal.SIGINT)
        code = process.wait(timeout=30)
        assert process.stderr is not None
        lines += process.stderr.read().splitlines()[-1:]
    return code, lines, time.monotonic() - (began if "over" in lines else time.monotonic())


@pytest.mark.skipif(os.name != "posix", reason="a console's Ctrl-C cannot be sent to a child on Windows")
def test_ctrl_c_cancels_the_hook_and_ends_the_run(tmp_path: Path) -> None:
    """KeyboardInterrupt reaches the caller of `invoke` after its async hook was cancelled and its run was told so."""
    script = 'Model(seconds=30, callbacks=[Telling()]).invoke("hi")\n'
    code, lines, _ = run(tmp_path, script, interrupt=True)
    assert code != 0
    assert lines[:3] == ["start", "asked", "hook closed"]
    assert lines[3].startswith("error Cancel")
    assert lines[4:] == ["KeyboardInterrupt"]


@pytest.mark.skipif(os.name != "posix", reason="a console's Ctrl-C cannot be sent to a child on Windows")
def test_the_kept_loop_survives_ctrl_c(tmp_path: Path) -> None:
    """After an interrupted call the next one works."""
    script = """
try:
    Model(seconds=30, callbacks=[Telling()]).invoke("hi")
except KeyboardInterrupt:
    say("interrupted")
say(Model().invoke("hi").content)
say("over")
"""
    code, lines, seconds = run(tmp_path, script, interrupt=True)
    assert (code, lines[4:]) == (0, ["interrupted", "hook closed", "yes", "over"])
    assert seconds < 5


EXITS = {
    "invoke": "Model().invoke('hi')",
    "a batch of sync hooks": "SyncModel().batch(['hi'] * 4)",
    "a stream left open": "stream = Model().stream('hi'); next(stream)",
    "a stream half read": "for chunk in Model().stream('hi'): break",
    "a call from a thread": "thread = threading.Thread(target=Model().invoke, args=('hi',)); thread.start(); thread.join()",
    "a call still under way": "threading.Thread(target=Model(seconds=30).invoke, args=('hi',), daemon=True).start()",
}


@pytest.mark.one_of(2)
@pytest.mark.parametrize("what", EXITS)
def test_the_interpreter_exits_at_once(tmp_path: Path, what: str) -> None:
    """The kept loop does not hold up the end of a program, whatever it has done before, and says nothing."""
    code, lines, seconds = run(tmp_path, f"{EXITS[what]}\nsay('over')\n")
    assert (code, lines[-1]) == (0, "over")
    assert seconds < 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_has_a_loop_of_its_own(tmp_path: Path) -> None:
    """A worker forked after the first call can call, too; parent and child do not disturb each other."""
    script = """
import os, warnings
say(Model().invoke("hi").content)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork of a process with threads
    child = os.fork()
if not child:
    say("child", Model().invoke("hi").content, len(Model().batch(["hi"] * 3)), SyncModel().batch(["hi"])[0].content)
    sys.exit(7)
_, status = os.waitpid(child, 0)
say("parent", Model().invoke("hi").content, os.waitstatus_to_exitcode(status))
say("over")
"""
    code, lines, seconds = run(tmp_path, script)
    said = [line for line in lines if line != "hook closed"]
    assert (code, said) == (0, ["yes", "child yes 3 yes", "parent yes 7", "over"])
    assert seconds < 5
