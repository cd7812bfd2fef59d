"""How text is broken to the width of a terminal."""

import pytest

from hocket.cli.word_wrap import WordWrap, count_cells, cut_line, find_breaks


def wrapped(text: str, width: int = 20) -> list[str]:
    return [*WordWrap().add(text, width, is_last=True).settled]


LINES = [
    ("a line that is longer than that", ["a line that is", "longer than that"]),
    ("short\n\nlines", ["short", "", "lines"]),
    ("", []),
    ("exactly twenty cells and", ["exactly twenty cells", "and"]),
    ("a-word-that-is-longer-than-a-line", ["a-word-that-is-longe", "r-than-a-line"]),
    ("see a-word-that-is-longer-than-a-line", ["see", "a-word-that-is-longe", "r-than-a-line"]),
    ("- an item that is longer", ["- an item that is", "  longer"]),
    ("  12. an item that is longer", ["  12. an item that", "      is longer"]),
    ("> said by a person at length", ["> said by a person", "  at length"]),
    ("中文没有空格。必须断行，任何地方。", ["中文没有空格。必须断", "行，任何地方。"]),
    ("一二三四五六七八九十。好", ["一二三四五六七八九", "十。好"]),  # no line begins with a stop
    ("tab\tand tab\tand tab", ["tab     and tab and", "tab"]),
]


@pytest.mark.parametrize(("text", "lines"), LINES)
def test_lines_break_between_words(text: str, lines: list[str]) -> None:
    """Items hang, long words break where they must, and ideographs anywhere but before a stop."""
    assert wrapped(text) == lines


CODE = "x = 'a line that is longer than the window'"


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{CODE}\n```",
        f"- ~~~~\n  {CODE}\n  ~~~\n  {CODE}\n  ~~~~",
        "| a table | that is wider | than that |",
    ],
)
def test_code_and_tables_are_not_broken(text: str) -> None:
    """They can be copied, and a fence inside a fence is a line of it."""
    assert wrapped(text) == text.split("\n")


def test_text_after_code_is_broken_again() -> None:
    """A fence ends."""
    assert wrapped(f"```\n{CODE}\n```\nand text that goes on") == ["```", CODE, "```", "and text that goes", "on"]


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("\x1b[1mb\x1b[0m", 1), ("👍", 2)]
)
def test_the_width_of_letters(text: str, cells: int) -> None:
    """Wide ones take two cells; accents and styles none."""
    assert count_cells(text) == cells


def test_a_window_of_one_column() -> None:
    """Is no reason to hang."""
    assert find_breaks("中文 ab", 1) == [1, 3, 4]


def test_pieces_make_the_same_lines() -> None:
    """However a text is cut; what has settled comes once."""
    text = f"one two three four five\n```\n{CODE}\n```\n- an item that is longer\nend"
    layout, lines = WordWrap(), []
    for letter in text:
        lines += layout.add(letter, 20).settled
    lines += layout.add("", 20, is_last=True).settled
    assert lines == wrapped(text)


def test_a_line_is_cut_to_a_width() -> None:
    """In cells, of which an ideograph takes two."""
    assert [cut_line("four", 4), cut_line("four", 3), cut_line("中文中文", 8), cut_line("中文中文", 6)] == [
        *("four", "fo…", "中文中文", "中文…"),
    ]
