"""What seventy-five typical mistakes are answered with: what is wrong, where, and the way out.

The mistakes are those of people who come from other libraries, forget an `await`, or misspell a name. Where Python itself
speaks before any code of ours is asked, there is no way out in the text; this may be true of one in ten.
"""

import textwrap
import tomllib
import traceback
import warnings
from pathlib import Path
from typing import NotRequired, TypedDict

import pytest


class Mistake(TypedDict):
    """A program with a mistake, and parts of what its user must be told."""

    name: str
    program: str
    says: NotRequired[list[str]]


MISTAKES: list[Mistake] = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text())["mistake"]


def read_said(program: str) -> str:
    """Run a program as `main`, and return what its user is told: the warnings, and the exception with its notes."""
    names: dict[str, object] = {}
    source = f"import asyncio\nasync def main():\n{textwrap.indent(program, '    ')}\nasyncio.run(main())"
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(source, "program.py", "exec"), names)
        except Exception as error:
            told = [str(error), *getattr(error, "__notes__", [])]
            # Of it no more is kept: what the program forgot to await goes now, while warnings are caught.
            traceback.clear_frames(error.__traceback__)
    return "\n".join([*(str(warning.message) for warning in caught), *told])


@pytest.fixture(autouse=True)
def bare_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, and no file."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("mistake", [pytest.param(one, id=one["name"]) for one in MISTAKES if "says" in one])
def test_a_mistake_is_answered(mistake: Mistake) -> None:
    """It names the value, and what to write instead."""
    said = read_said(mistake["program"])
    assert [part for part in mistake["says"] if part not in said] == [], said


@pytest.mark.parametrize("mistake", [pytest.param(one, id=one["name"]) for one in MISTAKES if "says" not in one])
def test_a_mistake_that_python_answers_is_not_silent(mistake: Mistake) -> None:
    """Python says what is wrong and where."""
    assert read_said(mistake["program"]) != ""


def test_most_mistakes_are_answered() -> None:
    """69 of 75 are what was promised."""
    assert len(MISTAKES) == 75
    assert sum("says" in one for one in MISTAKES) >= 69
