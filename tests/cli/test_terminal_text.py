"""What is printed to a terminal and to a pipe, and how several lines are typed."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.cli.standard_input import replace_undecodable
from hocket.cli.terminal import Printer, find_history_file, read_lines
from hocket.language_models import ScriptedChatModel, Turn


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def styles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that can show them."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def printed(out: io.StringIO, turn: Turn, reasoning: bool | None = None) -> str:
    printer = Printer(out, reasoning=reasoning)
    for chunk in ScriptedChatModel(script=[turn]).stream("hi"):
        printer.show(chunk)
    printer.end()
    return out.getvalue()


THINKS = Turn(reasoning="hm", text=["so ", "be it"])
OUTPUT = [
    (Screen, None, "\x1b[2mhm\n\x1b[0m\nso be it\n"),
    (io.StringIO, None, "so be it\n"),
    (io.StringIO, True, "hm\n\nso be it\n"),
]


@pytest.mark.parametrize(("out", "reasoning", "expected"), OUTPUT)
def test_reasoning(out: Callable[[], io.StringIO], reasoning: bool | None, expected: str) -> None:
    """Dimmed on a terminal; elsewhere only on request, and plain."""
    assert printed(out(), THINKS, reasoning) == expected


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_styles_on_request(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    """The conventions of terminals are kept."""
    monkeypatch.setenv(variable, value)
    assert printed(Screen(), THINKS) == "hm\n\nso be it\n"


def test_reasoning_that_is_cut_off_leaves_no_style() -> None:
    """The prompt after it is in plain letters."""
    assert printed(Screen(), Turn(reasoning="hm")) == "\x1b[2mhm\x1b[0m\n"


@pytest.mark.parametrize(("text", "expected"), [("a\n", "a\n"), ("a\n\n", "a\n\n"), ("", ""), ("a", "a\n")])
def test_an_answer_ends_its_line(text: str, expected: str) -> None:
    """With one new line, unless it brings its own."""
    assert printed(io.StringIO(), Turn(text=text)) == expected


def test_a_model_cannot_steer_the_terminal() -> None:
    """Control characters do not reach it; a pipe gets the answer as it is."""
    text = "\x1b]0;title\x07tab\t\x9b2J\U0001f600\r\n"
    assert printed(Screen(), Turn(text=text)) == "]0;titletab\t2J\U0001f600\n"
    assert printed(io.StringIO(), Turn(text=text)) == text


TYPED = [
    (["one"], "one"),
    (["one\\", "two\\", "three"], "one\ntwo\nthree"),
    (['"""', "one", "", "two\\", '"""'], "one\n\ntwo\\"),
    (['  """one', 'two"""  '], "one\ntwo"),
    (['"""one"""'], "one"),
    (['say """this"""'], 'say """this"""'),
    ([""], ""),
]


@pytest.mark.parametrize(("lines", "question"), TYPED)
def test_several_lines(lines: list[str], question: str) -> None:
    """A backslash goes on in the next line; three quotes begin and end a text."""
    rest = iter(lines)
    assert read_lines(lambda _: next(rest)) == question
    assert next(rest, None) is None


def test_where_the_history_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the XDG base directories, unless `HOCKET_HISTORY` says otherwise; empty, it says: nowhere."""
    for variable in ("HOCKET_HISTORY", "XDG_STATE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    assert find_history_file() == Path.home() / ".local/state/hocket/history"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert find_history_file() == tmp_path / "hocket/history"
    monkeypatch.setenv("HOCKET_HISTORY", "~/asked")
    assert find_history_file() == Path.home() / "asked"
    monkeypatch.setenv("HOCKET_HISTORY", "")
    assert find_history_file() is None


def test_undecodable_bytes() -> None:
    """What Python keeps of them cannot be sent."""
    assert replace_undecodable("caf\udce9 é \U0001f600") == "caf� é \U0001f600"
