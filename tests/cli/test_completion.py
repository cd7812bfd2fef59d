"""What the real shells complete with the scripts of `hocket completion`, typed at their prompts."""

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pty", reason="there are no pseudo-terminals here")

from hocket.cli import _build_parser
from hocket.cli.completion.tree import ROOT, Value, read_places

Run = Callable[..., subprocess.CompletedProcess[str]]
PATIENCE = 30

TYPED = [
    ("comp", ["completion"]),
    ("keys s", ["keys", "set"]),
    ("chat --sys", ["chat", "--system"]),
    ("--sys", ["--system"]),  # where chat was left out
    ("Why --sys", ["Why", "--system"]),
    ("--vers", ["--version"]),
    ("agent --style r", ["agent", "--style", "react"]),
    ("agent --style=r", ["agent", "--style=react"]),
    ("completion z", ["completion", "zsh"]),
    ("keys set mist", ["keys", "set", "mistral"]),
    ("keys set --deb", ["keys", "set", "--debug"]),
    ("mcp serve --ht", ["mcp", "serve", "--http"]),
    ("-m anth", ["-m", "anthropic:"]),
    ("serve loc", ["serve", "local"]),
    ("ask --embed coh", ["ask", "--embed", "cohere:"]),
    ("chat --tool c", ["chat", "--tool", "calculator"]),
    ("chat -a 'my pic", ["chat", "-a", "my picture.png"]),
    ("chat --system c", ["chat", "--system", "c"]),  # any text, so nothing is offered
]
START = {
    "bash": ["bash", "--noprofile", "--rcfile", "rc", "-i"],
    "zsh": ["zsh", "-d", "-i"],  # its rc is .zshrc in ZDOTDIR
    "fish": ["fish", "--no-config", "--init-command", "source rc", "-i"],
}
RC = {
    "bash": """PS1='$ '; hocket() { printf 'GOT'; printf '<%s>' "$@"; echo; }
source ./script; bind 'set enable-bracketed-paste off'; echo READY""",
    "zsh": """PS1='$ '; autoload -U compinit; compinit -D -u; hocket() { printf 'GOT'; printf '<%s>' "$@"; echo; }
source ./script; echo READY""",
    "fish": """function hocket; printf GOT; printf '<%s>' $argv; echo; end
function fish_prompt; echo '$ '; end; source script; echo READY""",
}
# The terminal is to be the shell's own, as in `conftest`.
IN_TERMINAL = "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execvp(sys.argv[1], sys.argv[1:])"


@pytest.mark.parametrize("shell", START)
def test_words_are_completed(hocket: Run, environ: dict[str, str], tmp_path: Path, shell: str) -> None:
    """Commands, options, their values, providers and files; each is typed in part, and Tab pressed."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    (tmp_path / "script").write_text(hocket("completion", shell).stdout)
    for name in ("rc", ".zshrc"):
        (tmp_path / name).write_text(RC[shell])
    (tmp_path / "my picture.png").touch()
    lines = [f"hocket {typed}\t\n" for typed, _ in TYPED]
    home = {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "PROMPT_EOL_MARK": ""}
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


@pytest.mark.parametrize("shell", START)
def test_no_model_is_loaded(shell: str) -> None:
    """Neither for the script, nor by it."""
    code = f"import sys; from hocket.cli import main; main(['completion', {shell!r}]); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert "python" not in done.stdout


def test_providers_are_those_of_the_registry() -> None:
    """Their names are read without it."""
    root, *_ = places = read_places(_build_parser())
    keys = next(place for place in places if place.name == "keys/set")
    code = "from hocket.language_models.registry import list_providers; print(*list_providers())"
    known = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert root.name == ROOT and keys.argument == Value(tuple(known.split()))


def test_every_option_is_offered_where_help_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The script and the help come from one parser."""
    parser = _build_parser()
    for place in read_places(parser):
        words = [] if place.name == ROOT else place.name.split("/")
        with pytest.raises(SystemExit):
            parser.parse_args([*words, "--help"])
        text = capsys.readouterr().out
        flags = [option.flags[-1] for option in place.options]
        assert [flag for flag in flags if flag not in text and words] == []
        assert text.count("\n  -") == len(flags) if words else "--version" in flags


def test_another_shell(hocket: Run) -> None:
    """Is misuse."""
    done = hocket("completion", "tcsh")
    assert done.returncode == 2 and "tcsh" in done.stderr
