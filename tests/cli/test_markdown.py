"""Markdown on a terminal: what is shown of it, and that nothing flickers or is lost on the way."""

import io
import math
import os
import re
import string

import pytest
from hypothesis import assume, given, settings, strategies as st

from tests.kit import Screen, assert_linear

pytest.importorskip("rich", reason="rich makes the command prettier where it is there")

from hocket.cli.markdown import _UNDECIDED, MarkdownPart
from tests.kit.amount import limit_examples

STYLE = re.compile(r"\x1b\[[\d;]*m")


def write(pieces: list[str], width: int, lines: int = 1000, spent: float = -math.inf) -> str:
    out = io.StringIO()
    part = MarkdownPart(out, lambda _: os.terminal_size((width, lines)))
    part._spent = spent  # without a limit each piece is drawn, however slow the machine is
    for piece in pieces:
        part.write(piece)
    part.end()
    return out.getvalue()


def drawn(text: str, width: int = 40) -> str:
    return write([text], width, spent=math.inf).removesuffix("\n")


def shown(text: str, width: int = 40) -> str:
    return STYLE.sub("", drawn(text, width))


SHOWN = [
    ("Some **bold**, *it*, `co*de*` and ~~no~~", "Some bold, it, co*de* and no"),
    ("# Title\ntext\n\n## Part\n\ntext", "Title\n\ntext\n\nPart\n\ntext"),
    ("one\ntwo  \nthree", "one\ntwo\nthree"),
    ("- a\n- b\n  - c\n\ntext", " • a\n • b\n    • c\n\ntext"),
    ("3. a\n4. b\n\n   more", " 3 a\n 4 b\n   more"),
    ("- a line that is longer than the window is wide", " • a line that is longer than the window\n   is wide"),
    ("> said\n> so\n>\n> - a", "▌ said\n▌ so\n▌  • a"),
    ("-\n- b", " • b"),
    ("[docs](http://x.y/z), <http://a.b>", "docs (http://x.y/z), http://a.b"),
    ("![a cat](http://x.y/cat.png)", "a cat (http://x.y/cat.png)"),
    ("<b>bold</b> and List<int>", "<b>bold</b> and List<int>"),
    ("<div>\nhtml\n</div>", "<div>\nhtml\n</div>"),
    ("[one]: http://x.y", "[one]: http://x.y"),
    ("a\n\n---\n\nb", f"a\n\n{'─' * 40}\n\nb"),
    ("| a | b |\n|---|--:|\n| 1 | **中文** |", "a      b\n────────\n1   中文"),
    ("| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |", "a   b   c\n─────────\n1   2   3"),
    ("中文没有空格，所以必须在任何地方断行。这是一个长句", "中文没有空格，所以必须在任何地方断行。这\n是一个长句"),
    (r"\*one\* two\_three \[x\] C:\.git {\"a\"}", r"*one* two_three \[x\] C:\.git {\"a\"}"),
    ("| a | b |\n|---|---|\n| a || b | c |", "| a | b |\n|---|---|\n| a || b | c |"),
    ("**kwargs and 2 ** 3", "**kwargs and 2 ** 3"),
]


@pytest.mark.parametrize(("text", "expected"), SHOWN)
def test_what_is_shown(text: str, expected: str) -> None:
    """Marks become styles and lines; what is no Markdown stays as it is."""
    assert "\n".join(line.rstrip() for line in shown(text).split("\n")) == expected


def test_styles() -> None:
    """They are those that every terminal has, and each ends in its line."""
    assert drawn("# T\n\n**a** *b* `c`") == "\x1b[1;4mT\x1b[0m\n\n\x1b[1ma\x1b[0m \x1b[3mb\x1b[0m \x1b[36mc\x1b[0m"
    for line in drawn("**bold that is longer than the window is wide**", 20).split("\n"):
        assert line.startswith("\x1b[1m") and line.endswith("\x1b[0m")


CODE = 'def f(x):\n\tt = """one\n    two"""\n\n    return x  # a line that is longer than the window is wide'


@pytest.mark.parametrize("language", ["python", "", "no-such-language", "python title=x"])
def test_code_stays_as_it_is(language: str) -> None:
    """To be copied: tabs, empty lines and long ones too."""
    assert shown(f"```{language}\n{CODE}\n```") == CODE
    indented = CODE.replace("\n", "\n  ").replace("  \n", "\n")
    nested = shown(f"- ```{language}\n  {indented}\n  ```")
    assert "".join(nested.split()) == "•" + "".join(CODE.split())  # in a list it is broken, and whole
    assert "".join(shown("- ```sh\n  echo 'a line that is longer than the window'\n  ```").split()).endswith("window'")


def test_code_has_colours() -> None:
    """Of the terminal's own sixteen."""
    assert "\x1b[94;49mdef\x1b[0m" in drawn("```python\ndef f(): ...\n```")


def test_a_table_that_is_too_wide() -> None:
    """Its cells break; where no column has room, its rows are lines."""
    text = shown("| name | what |\n|---|---|\n| one | " + "word " * 20 + "|", 20)
    assert text.count("word") == 20 and max(map(len, text.split("\n"))) <= 20
    many = [f"c{number}" for number in range(12)]
    assert shown(f"|{'|'.join(many)}|\n|{'-|' * 12}\n|{'|'.join(many)}|", 20).split() == " | ".join(many).split() * 2


WORDS = st.text(string.ascii_letters, min_size=1, max_size=12)
BLOCKS = ["\n- ", "\n  - ", "\n1. ", "\n> ", "\n# ", "\n---\n", "\n```\n", "\n    ", "\n| a | b |\n|---|---|\n| c | "]
INLINE = ["*", "**", "_", "`", "~~", "|", "[", "](", ")", "<", ">", "!", "\\", "中文", "é"]
MARKS = st.sampled_from([" ", " ", "\n", "\n\n", *BLOCKS, *INLINE])
TEXTS = st.lists(st.one_of(WORDS, MARKS), max_size=40).map("".join)


@given(TEXTS, st.integers(12, 60))
@settings(max_examples=limit_examples(300), deadline=None)
def test_no_letter_is_lost(text: str, width: int) -> None:
    """Whatever a model says; but for the name of a language, which the colours of code stand for."""
    assume(not re.search(r"(```|~~~) *\w", text))
    count = {letter: text.count(letter) for letter in string.ascii_letters + "中文é"}
    found = shown(text, width)
    assert {letter: found.count(letter) for letter in count} == count


@given(text=TEXTS, size=st.integers(1, 9), width=st.integers(12, 60))
@settings(max_examples=limit_examples(200), deadline=None)
def test_pieces_make_the_same_screen(text: str, size: int, width: int) -> None:
    """However an answer is cut, its end is what it would be if it had come at once."""
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    assert screen_of(pieces, width).text == screen_of([text], width).text


def screen_of(pieces: list[str], width: int, lines: int = 1000) -> Screen:
    screen = Screen(width, lines)
    screen.write(write(pieces, width, lines))
    return screen


def test_what_grows_is_not_drawn_again() -> None:
    """A word at the end is added to its line: nothing is cleared, so nothing flickers."""
    assert screen_of(["One ", "two ", "three", " four\n\n", "five ", "six"], 80).moves == []


def test_only_the_last_line_is_drawn_again() -> None:
    """Where a word moves to the next line, or a style begins."""
    pieces = [*(f"word{number} " for number in range(50)), "*end", "*"]
    assert set(screen_of(pieces, 20).moves) == {"J"}


def test_what_has_left_the_screen_stays() -> None:
    """A table that is longer than the window is drawn again as far as it is seen, and its rows are all there."""
    rows = [f"| row{number} | {'x' * (number // 10)} |\n" for number in range(40)]
    screen = screen_of(["| name | what |\n", "|---|---|\n", *rows], 40, lines=10)
    assert [line.split()[0] for line in screen.text.split("\n")][-40:] == [f"row{number}" for number in range(40)]


def test_what_is_finished_is_written_once() -> None:
    """However long an answer is: its paragraphs, lists and code are in the terminal's history once, in their order."""
    blocks = [f"Paragraph {number}.\n\n- item {number}\n\n```\ncode {number}\n```\n\n" for number in range(30)]
    text = "".join(blocks)
    pieces = [text[start : start + 7] for start in range(0, len(text), 7)]
    lines = [line.strip(" •") for line in screen_of(pieces, 30, lines=8).text.split("\n") if line]
    assert lines == [line for n in range(30) for line in (f"Paragraph {n}.", f"item {n}", f"code {n}")]


def test_blanks_without_end_are_looked_at_once() -> None:
    """A model may be told to write them: whether a line may yet become a mark is found in linear time."""
    assert_linear(lambda count: _UNDECIDED.match(" " * count + "x"), 20_000)
