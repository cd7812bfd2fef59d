"""What is printed of an answer: to a terminal, to a pipe, and in the order in which things happen."""

import io
from collections.abc import Callable

import pytest

from hocket.cli.output import note
from hocket.cli.printer import Printer
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import AIMessageChunk
from tests.kit import Screen


class Terminal(io.StringIO):
    """A terminal of eighty columns."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def styles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that can show them."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def printed(out: io.StringIO, turn: Turn, reasoning: bool | None = None) -> str:
    with Printer(out, reasoning=reasoning) as printer:
        for chunk in ScriptedChatModel(script=[turn]).stream("hi"):
            printer.show(chunk)
    return out.getvalue()


THINKS = Turn(reasoning="hm", text=["so ", "be it"])
OUTPUT = [
    (Terminal, None, "\x1b[2mhm\n\x1b[0m\nso be it\n"),
    (io.StringIO, None, "so be it\n"),
    (io.StringIO, True, "hm\n\nso be it\n"),
]


@pytest.mark.parametrize(("out", "reasoning", "expected"), OUTPUT)
def test_reasoning(out: Callable[[], io.StringIO], reasoning: bool | None, expected: str) -> None:
    """Dimmed on a terminal; elsewhere only on request, and plain."""
    assert printed(out(), THINKS, reasoning) == expected


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_styles_on_request(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    """The conventions of terminals are kept; where there are no styles, the marks of Markdown stay."""
    monkeypatch.setenv(variable, value)
    assert printed(Terminal(), THINKS) == "hm\n\nso be it\n"
    assert printed(Terminal(), Turn(text=["# so\n", "**be** it"])) == "# so\n**be** it\n"


def test_reasoning_that_is_cut_off_leaves_no_style() -> None:
    """The prompt after it is in plain letters."""
    assert printed(Terminal(), Turn(reasoning="hm")) == "\x1b[2mhm\n\x1b[0m"


@pytest.mark.parametrize(("text", "expected"), [("a\n", "a\n"), ("a\n\n", "a\n\n"), ("", ""), ("a", "a\n")])
def test_an_answer_ends_its_line(text: str, expected: str) -> None:
    """With one new line, unless it brings its own."""
    assert printed(io.StringIO(), Turn(text=text)) == expected


def test_a_model_cannot_steer_the_terminal() -> None:
    """Control characters do not reach it; a pipe gets the answer as it is."""
    text = "\x1b]0;title\x07tab\t\x9b2J\U0001f600\r\n"
    assert printed(Terminal(), Turn(text=text)) == "]0;titletab     2J\U0001f600\n"
    assert printed(io.StringIO(), Turn(text=text)) == text


def test_markdown_is_for_terminals() -> None:
    """A pipe gets it as the model wrote it."""
    turn = Turn(text="**so** be it")
    assert printed(Terminal(), turn) == "\x1b[1mso\x1b[0m be it\n"
    assert printed(io.StringIO(), turn) == "**so** be it\n"


def test_an_object_is_no_markdown() -> None:
    """JSON is printed as it is, also in a terminal."""
    out = Terminal()
    with Printer(out, is_prose=False) as printer:
        printer.show(AIMessageChunk('{"a": "*b* _c_"}'))
    assert out.getvalue() == '{"a": "*b* _c_"}\n'


def test_an_answer_that_breaks_off_is_whole_until_there() -> None:
    """Whatever happens in between, all that came is on the screen, and the next line is a new one."""
    out = Terminal()
    with pytest.raises(ZeroDivisionError), Printer(out) as printer:
        for text in ("one **two", " three\n\n- ", "four\n- fi", "ve\n1"):
            printer.show(AIMessageChunk(text))
        raise ZeroDivisionError
    screen = Screen(80)
    screen.write(out.getvalue())
    assert screen.text == "one **two three\n\n • four\n • five\n   1"
    assert out.getvalue().endswith("\n")


def test_a_note_has_lines_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is written while an answer comes, as of a tool that is called, nothing is lost and nothing comes twice."""
    out = Terminal()
    monkeypatch.setattr("sys.stderr", out)
    with Printer(out) as printer:
        printer.show(AIMessageChunk("Let me *see"))
        note("calculator(1)")
        printer.show(AIMessageChunk("*: it is\n\none."))
    screen = Screen(80)
    screen.write(out.getvalue())
    assert screen.text == "Let me *see\nhocket: calculator(1)\n*: it is\n\none."


def test_a_flood_is_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes half of the time at most, however fast pieces come; what was left out comes with the next."""
    now = iter(range(10**6))
    monkeypatch.setattr("time.monotonic", lambda: next(now))  # a second passes each time that one looks
    out = Terminal()
    with Printer(out) as printer:
        for number in range(150):
            printer.show(AIMessageChunk(f"**{number}** "))
    screen = Screen(80)
    screen.write(out.getvalue())
    assert screen.text.split() == [str(number) for number in range(150)]
    assert len(screen.moves) < 125
