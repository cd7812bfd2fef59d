"""What a person sees of `hocket chat` in a narrow window, with rich and without it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pty", reason="there are no pseudo-terminals here")

from tests.kit import Screen

Start = Callable[..., Any]
SIZE = (40, 24)
MARKDOWN = "On blue\n\nLight is scattered, 光は散乱する, and\nmore so if it is blue:\n\n • one"
WRITTEN = "# On **blue**\n\nLight is scattered, 光は散乱する, and **more** so if it is blue:\n\n- one"


def seen(terminal: Start, *arguments: str, code: int = 0, **environ: str) -> tuple[str, str]:
    """Return what is on the screen at the end, and all that was sent to it."""
    asked = terminal(*arguments, "Why is the sky blue?", size=SIZE, **environ)
    assert asked.end() == code, asked.said
    screen = Screen(*SIZE)
    screen.write(asked.raw)
    assert screen.widest <= SIZE[0]
    return screen.text, asked.raw


@pytest.fixture
def without_rich(environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The environment of a bare install."""
    (tmp_path / "rich.py").write_text("raise ModuleNotFoundError('no rich')")
    return {"PYTHONPATH": f"{tmp_path}:{environ['PYTHONPATH']}"}


def test_markdown(terminal: Start) -> None:
    """Styles stand for its marks, and lines break between words, wide letters counted as two."""
    pytest.importorskip("rich", reason="rich makes the command prettier where it is there")
    text, raw = seen(terminal, "-m", "acted:marks")
    assert text == MARKDOWN and "\x1b[1;4mblue\x1b[0m" in raw and "\x1b[1mmore\x1b[0m" in raw


def test_an_answer_that_breaks_off(terminal: Start) -> None:
    """What came is there, and the error has a line of its own."""
    text, _ = seen(terminal, "-m", "acted:breaks", code=7)
    assert text.startswith(MARKDOWN[: MARKDOWN.index("more")]) and "more\nhocket: acted: " in text


def test_no_colour(terminal: Start) -> None:
    """Where styles are not welcome the text is as the model wrote it."""
    _, raw = seen(terminal, "-m", "acted:marks", NO_COLOR="1")
    assert raw.replace("\r", "") == f"{WRITTEN}\n"


def test_a_bare_install(terminal: Start, without_rich: dict[str, str]) -> None:
    """The text is as the model wrote it."""
    _, raw = seen(terminal, "-m", "acted:marks", **without_rich)
    assert raw.replace("\r", "") == f"{WRITTEN}\n"


def test_a_dumb_terminal(terminal: Start) -> None:
    """Gets the text alone."""
    text, raw = seen(terminal, "-m", "acted:marks", TERM="dumb")
    assert "\x1b" not in raw and "# On **blue**" in text


def test_notes_break_between_words(terminal: Start) -> None:
    """As answers do."""
    text, _ = seen(terminal, "-m", "nobody:x", code=4)
    assert text.startswith("hocket: no provider is called 'nobody';\nthere are: ")


def test_a_tool_that_is_called(terminal: Start) -> None:
    """Is told in lines of its own, between those of the answer."""
    question = '[["calculator", {"expression": "17 * 23"}]]'
    asked = terminal("-m", "acted:caller", "--tool", "calculator", question)
    assert asked.end() == 0
    screen = Screen(80)
    screen.write(asked.raw)
    lines = screen.text.split("\n")
    assert lines[0].startswith('hocket: calculator({"expression"') or lines[0] == "Let me see."
    assert lines[-1] == "391" and "Let me see." in lines and all("see.hocket" not in line for line in lines)
