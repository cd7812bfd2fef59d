"""What a server says reaches no terminal as more than text, by whichever way it comes."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hocket.cli
from hocket.cli.output import make_printable
from hocket.testing import OpenAIFormat, Status, serve

Run = Callable[..., Any]

TITLE, BELL, CLEAR, C1, OVERRIDE = "\x1b]0;title\x07", "\x07", "\x1b[2J", "\x9b2J", "\u202e"
HOSTILE = f"evil{TITLE}{BELL}{CLEAR}{C1}{OVERRIDE}\u2066model"
PLAIN = "evil]0;title[2J2Jmodel"


def assert_harmless(text: str) -> None:
    """Look for anything but text; a terminal shows our own style, a carriage return and the prompt's marks."""
    for allowed in ("\x1b[2m", "\x1b[0m"):
        text = text.replace(allowed, "")
    assert [mark for mark in (*TITLE[:1], BELL, "\x9b", OVERRIDE, "\u2066") if mark in text] == []


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["a line", "a traceback"])
def test_in_an_error(inside: Run, debug: list[str]) -> None:
    """In the line that says it, and in its traceback."""
    with serve(OpenAIFormat(), Status(401, HOSTILE)) as server:
        done = inside("chat", "hi", "--base-url", server.url, "--model", "m", *debug)
    assert done.returncode == 3 and PLAIN in done.stderr
    assert_harmless(done.stderr)


def test_in_the_names_of_models(inside: Run) -> None:
    """Listed, counted, and in the table; a name has a line of its own whatever is in it."""
    with serve(OpenAIFormat(models=(f"{HOSTILE}\nb", "c")), "unheard") as server:
        listed = inside("models", "--base-url", server.url)
        counted = inside("chat", "hi", "--base-url", server.url)
        table = inside("models", VLLM_BASE_URL=server.url)
    assert listed.stdout == f"{PLAIN} b\nc\n"
    assert counted.returncode == 4 and f"{PLAIN} b, c" in counted.stderr
    assert f" {PLAIN} b, c " in " ".join(table.stdout.split())  # however the table breaks its lines
    assert_harmless(counted.stderr + table.stdout)


def test_in_a_session(terminal: Run) -> None:
    """Where the command says who is listening, and who is asked; and the model gets its name as the server has it."""
    with serve(OpenAIFormat(models=(HOSTILE,)), "Good\u202e day\x07") as server:
        session = terminal("--base-url", server.url)
        session.wait_for("is listening")
        session.wait_for("> ")
        session.type("/model\n")
        session.wait_for(f"{PLAIN} at {server.url} is asked")
        session.wait_for("> ")
        session.type("hello\n")
        session.wait_for("Good day")
        assert server.requests[-1].json["model"] == HOSTILE
    assert_harmless(session.said)


def test_all_is_written_through_the_one_door() -> None:
    """No other file of the command prints, or writes to a standard stream, on its own."""
    found: list[str] = []
    for path in sorted(Path(hocket.cli.__file__).parent.glob("*.py")):
        if path.name == "output.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            is_print = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
            is_write = isinstance(node, ast.Call) and ast.unparse(node.func) in ("sys.stdout.write", "sys.stderr.write")
            if is_print or is_write or (isinstance(node, ast.Attribute) and node.attr.startswith("print_exc")):
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_text_stays() -> None:
    """Tabs, new lines, writing from right to left, and emoji made of several characters."""
    text = "a\tb\n\u05e9\u05dc\u05d5\u05dd \U0001f468\u200d\U0001f469 é"
    assert make_printable(text) == text
