"""The `hocket` command itself."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from hocket.cli import _build_parser
from hocket.cli.arguments import OneLineParser

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_version_help_and_misuse(hocket: Run) -> None:
    """The usual options are there; no command, or a wrong one, is misuse."""
    assert hocket("--version").stdout.startswith("hocket ")
    assert "chat" in hocket("--help").stdout
    assert hocket().returncode == 2
    assert hocket("setup", "nothing").returncode == 2


LATER = {
    *("anyio", "asyncio", "httpx", "importlib.metadata", "markdown_it", "pydantic", "readline", "rich", "tenacity"),
    *("dataclasses", "difflib", "inspect", "traceback"),
}
"""What the command does not load before it has to."""


def test_the_start_is_quick() -> None:
    """The parser, with all of its help, needs few modules: none of a model, and few of the large ones of Python."""
    code = """
import sys
before = set(sys.modules)
from hocket.cli import _build_parser
_build_parser().format_help()
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()

    assert LATER & {*loaded} == set()
    own = [name for name in loaded if name.partition(".")[0] == "hocket"]
    assert {name for name in own if not name.startswith("hocket.cli")} <= {
        *("hocket", "hocket._runtime", "hocket._runtime.lazy", "hocket._version"),
        *(
            "hocket.errors",
            "hocket.errors.durable",
            "hocket.errors.hints",
            "hocket.errors.llm",
            "hocket.errors.own",
            "hocket.errors.stores",
        ),
    }
    assert len(own) <= 45


def test_what_is_piped_in_is_text(environ: dict[str, str]) -> None:
    """In UTF-8: anything else is refused with the way out, and nothing is sent."""
    command = [sys.executable, "-m", "hocket", "-m", "acted:echo", "-"]
    done = subprocess.run(command, input=b"caf\xe9", env=environ, capture_output=True, check=False)
    assert done.returncode == 2 and done.stdout == b""
    assert b"no UTF-8 text (byte 4)" in done.stderr and b"iconv" in done.stderr


def test_words_of_the_command(hocket: Run) -> None:
    """What is wrong is said with the command's options, and the beginning of an option means it."""
    assert "did you mean --temperature?" in hocket("--temp", "1", "Hi").stderr
    stream = hocket("-m", "openai:gpt-5.2", "-o", "n=2", "Hi", OPENAI_API_KEY="sk-none").stderr
    assert "give -o n=1" in stream and "ainvoke" not in stream


def test_help_tells_the_codes_of_its_command() -> None:
    """Those that it can end with, in its own words, within the terminal's width; there is no line without anything."""
    parsers = dict(_build_parser().find_commands())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "60")
        helps = {name: parser.format_help() for name, parser in parsers.items()}
        keys = dict(parsers["keys"].find_commands())["set"].format_help()
        whole = _build_parser().format_help()
    assert (
        "1    something is left to do, or failed for another" in helps["migrate"]
        and "key is missing" not in helps["migrate"]
    )
    assert "0    answered" in helps["chat"] and "8    " not in helps["chat"] and "8    " in helps["agent"]
    assert "4    no such provider" in keys and "7    " not in keys
    assert "commands:\n    agent" in whole and "141" not in whole
    for text in (*helps.values(), keys, whole):
        assert all(len(line) <= 60 for line in text.partition("exit codes:")[2].splitlines())


def test_help_of_no_command(hocket: Run) -> None:
    """Is not the help of `chat`."""
    done = hocket("schema", "--help")
    assert (done.returncode, done.stdout) == (2, "") and "there is no command 'schema'" in done.stderr


@pytest.mark.parametrize(
    ("usage", "words", "value"),
    [
        ("--json", [], False),
        ("--json", ["--json"], True),
        ("-j --json WHERE", ["-j", "here"], "here"),
        ("--json WHERE ...", [], []),
        ("--json WHERE ...", ["--json", "here", "--json", "there"], ["here", "there"]),
        ("json WHERE", ["here"], "here"),
    ],
)
def test_an_argument_is_declared_by_its_usage(usage: str, words: list[str], value: object) -> None:
    """A flag, an option with a value, one that may be given several times, and a word that has to be there."""
    parser = OneLineParser(prog="x")
    parser.declare(usage, "what it is for")
    assert vars(parser.parse_args(words)) == {"json": value}
    assert "what it is for" in parser.format_help() and ("WHERE" in usage) == ("WHERE" in parser.format_help())
