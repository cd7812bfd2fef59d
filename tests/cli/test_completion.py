"""What is completed, and that the real shells do so with the scripts of `hocket completion`, typed at their prompts."""

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pty", reason="there are no pseudo-terminals here")

pytest.importorskip("argcomplete", reason="argcomplete completes words where it is there")

from hocket.cli.completion import _list_names
from hocket.language_models.registry import list_providers

Run = Callable[..., subprocess.CompletedProcess[str]]
PATIENCE = 30

COMPLETED = [
    ("comp", "completion"),
    ("keys s", "set"),
    ("chat --sys", "--system"),
    ("--sys", "--system"),  # where chat was left out
    ("Why --sys", "--system"),
    ("--vers", "--version"),
    ("agent --style r", "react"),
    ("agent --style=r", "--style=react"),
    ("completion z", "zsh"),
    ("keys set mist", "mistral"),
    ("keys set --deb", "--debug"),
    ("mcp serve --ht", "--http"),
    ("runs sig", "signal"),
    ("runs list --status wai", "waiting"),
    ("runs decide order-7 call-1 app", "approve"),
    ("-m cer", "cerebras:"),
    ("serve loc", "local"),
    ("ask --embed coh", "cohere:"),
    ("chat --tool c", "calculator"),
    ("-t do", "dog"),
    ("templates show d", "dog"),
    ("similar no", "notes"),
    ("logs --sho", "--short"),
    ("-f 'my pic", "my picture.png"),
    ("chat -a 'my pic", "my picture.png"),
    ("chat --system c", ""),  # any text, so nothing is offered
]
TYPED = [
    ("comp", ["completion"]),
    ("-m cer", ["-m", "cerebras:"]),
    ("Why --sys", ["Why", "--system"]),
    ("chat -a my\\ pic", ["chat", "-a", "my picture.png"]),
    ("chat --system c", ["chat", "--system", "c"]),
]
START = {
    "bash": ["bash", "--noprofile", "--rcfile", "rc", "-i"],
    "zsh": ["zsh", "-d", "-i"],  # its rc is .zshrc in ZDOTDIR
    "fish": ["fish", "--no-config", "--init-command", "source rc", "-i"],
}
RC = {
    "bash": """PS1='$ '; source ./script; bind 'set enable-bracketed-paste off'; echo READY""",
    "zsh": """PS1='$ '; autoload -U compinit; compinit -D -u; source ./script; echo READY""",
    "fish": """function fish_prompt; echo '$ '; end; source script; echo READY""",
}
COMMAND = f"""#!/bin/sh
if [ -n "$_ARGCOMPLETE" ]; then exec {sys.executable} -m hocket "$@"; fi
printf GOT; printf '<%s>' "$@"; echo
"""
ASKED = """
import json, os, sys
from hocket.cli import _build_parser
from hocket.cli.completion import complete
os.environ |= {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": "answer", "_ARGCOMPLETE_SUPPRESS_SPACE": "1"}
for line in json.load(sys.stdin):
    os.environ |= {"COMP_LINE": line, "COMP_POINT": str(len(line))}
    complete(_build_parser(), end=lambda code: None)
    print(open("answer").read())
print("pydantic" in sys.modules)
"""


def test_what_is_completed(environ: dict[str, str], tmp_path: Path) -> None:
    """Commands, options, their values, providers and files; and no model is loaded for it."""
    (tmp_path / "my picture.png").touch()
    for name in ("templates/dog.json", "collections/notes.local.sqlite"):
        (tmp_path / "hocket" / name).parent.mkdir(parents=True)
        (tmp_path / "hocket" / name).touch()
    environ |= {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    lines = json.dumps([f"hocket {typed}" for typed, _ in COMPLETED])
    command = [sys.executable, "-W", "ignore", "-c", ASKED]  # argcomplete leaves the file of its answer open
    done = subprocess.run(command, input=lines, env=environ, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [*(expected for _, expected in COMPLETED), "False"]


# The terminal is to be the shell's own, as in `conftest`.
IN_TERMINAL = "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execvp(sys.argv[1], sys.argv[1:])"


@pytest.mark.parametrize("shell", START)
def test_a_shell_completes(hocket: Run, environ: dict[str, str], tmp_path: Path, shell: str) -> None:
    """Each is typed in part, and Tab pressed: one word, one that ends with a colon, one with a blank, and nothing."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    (tmp_path / "script").write_text(hocket("completion", shell).stdout)
    for name in ("rc", ".zshrc"):
        (tmp_path / name).write_text(RC[shell])
    (tmp_path / "my picture.png").touch()
    (tmp_path / "hocket").write_text(COMMAND)
    (tmp_path / "hocket").chmod(0o755)
    lines = [f"hocket {typed}\t\n" for typed, _ in TYPED]
    home = {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "PROMPT_EOL_MARK": ""}
    home["PATH"] = f"{tmp_path}{os.pathsep}{environ['PATH']}"
    said = list(type_lines(START[shell], lines, tmp_path, {**environ, **home}))
    assert [answer.rstrip().strip("<>").split("><") for answer in said] == [expected for _, expected in TYPED]


def type_lines(command: list[str], lines: list[str], folder: Path, environ: dict[str, str]) -> Iterator[str]:
    """Type lines into a shell in a terminal, each once it has answered the one before; yield its answers."""
    import pty

    screen, inside = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", IN_TERMINAL, *command],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env=environ,
        cwd=folder,
        start_new_session=True,
    )
    os.close(inside)
    said = ""

    def wait_for(text: str) -> str:
        nonlocal said
        while text not in said or "\n" not in said.split(text, 1)[1]:
            assert select.select([screen], [], [], PATIENCE)[0], f"waited for {text!r}; this came: {said!r}"
            said += os.read(screen, 4096).decode(errors="replace").replace("\r", "")
        answer, said = said.split(text, 1)[1].split("\n", 1)
        return answer

    try:
        wait_for("READY")
        for line in lines:
            os.write(screen, line.encode())
            yield wait_for("GOT")
    finally:
        process.kill()
        process.wait(PATIENCE)
        os.close(screen)


def test_providers_are_those_of_the_registry() -> None:
    """Their names are read without it."""
    names = {*_list_names("providers")}
    assert {"fake", "local", "openai"} < names and names <= {*list_providers()}


def test_without_the_extra(hocket: Run, tmp_path: Path, environ: dict[str, str]) -> None:
    """It is named."""
    (tmp_path / "argcomplete.py").write_text("raise ModuleNotFoundError('no argcomplete')")
    done = hocket("completion", "bash", PYTHONPATH=f"{tmp_path}:{environ['PYTHONPATH']}")
    assert done.returncode == 1 and "pip install 'hocket[cli]'" in done.stderr


def test_another_shell(hocket: Run) -> None:
    """Is misuse."""
    done = hocket("completion", "tcsh")
    assert done.returncode == 2 and "tcsh" in done.stderr
