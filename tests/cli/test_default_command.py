"""`hocket "question"` asks, and what is nearly a command or an option is told which one."""

import subprocess
from collections.abc import Callable

import pytest

from hocket.cli import _COMMANDS
from hocket.cli.default_command import find_mistyped, name_command

Run = Callable[..., subprocess.CompletedProcess[str]]

QUESTION_WORDS = """what why who when where how is are can do explain write translate tell give list show make hello hi
which use name define describe compare set say thanks please will would should find fix code count test Chat Models chat?"""


def test_a_question_alone(hocket: Run) -> None:
    """As a text, as words, behind the options of `hocket chat`, and piped in."""
    env = {"HOCKET_MODEL": "fake:Yes."}
    for arguments in (
        ["Is it so?"],
        ["is", "it", "so?"],
        ["-m", "fake:Yes.", "Is it so?"],
        ["--system", "x", "Is it?"],
    ):
        assert hocket(*arguments, **env).stdout == "Yes.\n"
    assert hocket(stdin="Is it so?", **env).stdout == "Yes.\n"
    assert hocket("-m", "fake:No.", "Is it so?", **env).stdout == "No.\n"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["modles"], "did you mean models?"),
        (["caht", "Why is the sky blue?"], "did you mean chat?"),
        (["key", "set", "openai"], "did you mean keys?"),
        (["chat", "--sytem", "x", "Hi"], "there is no option --sytem; did you mean --system?"),
        (["--modle=fake:Yes.", "Hi"], "there is no option --modle; did you mean --model?"),
        (["keys", "sett"], "there is no 'sett'; did you mean set?"),
        (["keys", "lost", "x"], "there is no 'lost'; did you mean list?"),
        (["completion", "tcsh"], "there is no 'tcsh'; there are: bash, zsh, fish"),
        (["agent", "--style", "reakt", "Hi"], "argument --style: there is no 'reakt'; did you mean react?"),
        (["Hi", "--seed", "x"], "argument --seed: 'x' is no whole number"),
        (["keys"], "name a command: set, list, path, remove"),
        (["mcp", "x"], "there is no 'x'; there are: serve"),
        (["models", "one", "two"], "'two' is one argument too many"),
        (["chat", "Hi", "-o", "top_p"], "'top_p' is no option of a model"),
        (["chat", "Hi", "-o", "base-url=x"], "say it with --base-url"),
    ],
)
def test_a_mistake_is_misuse(hocket: Run, arguments: list[str], meant: str) -> None:
    """One line, that names what was meant, and nothing is asked."""
    done = hocket(*arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert meant in done.stderr


def test_help_is_a_command() -> None:
    """Of the command and of each; with other words it begins a question."""
    assert name_command(_COMMANDS, ["help"]) == ["--help"]
    assert name_command(_COMMANDS, ["help", "chat"]) == ["chat", "--help"]
    assert name_command(_COMMANDS, ["help", "me"]) == ["chat", "help", "me"]


def test_questions_are_not_mistaken_for_commands() -> None:
    """How they begin, in words of their own; and each command with a letter wrong is."""
    for word in QUESTION_WORDS.split():
        assert find_mistyped(_COMMANDS, [word, "x"]) is None, word
    for name in _COMMANDS:
        for mistyped in (name + "x", name[0] + name[2] + name[1] + name[3:]) if len(name) > 3 else (name + "x",):
            assert find_mistyped(_COMMANDS, [mistyped]) == name, mistyped
