"""Every example runs: the python fences of README and docs, and the doctests of docstrings.

A fence may say more after ``python``: ``notest`` for one that cannot run here (it needs a key, say), ``continued`` for
one that goes on with the names of the fence before it. A ``text`` fence right after one is what it prints; ``...``
stands for anything. Top-level ``await`` works, as in a notebook. Test functions without arguments are called.
"""

import ast
import doctest
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from hocket.callbacks import ambient
from tests.measures.source import HAS_LANGCHAIN, HAS_MCP, HAS_OTEL, MODULES, ROOT

NEEDED = {"mcp": HAS_MCP, "langchain": HAS_LANGCHAIN, "tracing": HAS_OTEL}
LEFT_OUT = {page for page, is_here in NEEDED.items() if not is_here}
PAGES = [ROOT / "README.md", *(one for one in sorted((ROOT / "docs").rglob("*.md")) if one.stem not in LEFT_OUT)]

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Example:
    """One python fence of a page."""

    page: str
    line: int
    code: str
    words: list[str]
    output: str | None = None
    before: "Example | None" = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def examples(page: str, text: str) -> Iterator[Example]:
    """Yield the python fences of a page, each with the output that follows it."""
    last: Example | None = None
    end_of_last = 0
    for fence in FENCE.finditer(text):
        words = fence["info"].split()
        body = re.sub(rf"^{fence['indent']}", "", fence["body"], flags=re.MULTILINE)
        if words[:1] == ["python"]:
            line = text.count("\n", 0, fence.start()) + 1
            last = Example(page, line, body, words[1:], before=last)
            end_of_last = fence.end()
            yield last
        elif words[:1] == ["text"] and last is not None and not text[end_of_last : fence.start()].strip():
            last.output = body


EXAMPLES = [
    example for page in PAGES if page.exists() for example in examples(str(page.relative_to(ROOT)), page.read_text())
]


def chain(example: Example) -> list[Example]:
    """Return the fences to run, those that this one continues first."""
    before = chain(example.before) if "continued" in example.words and example.before is not None else []
    return [*before, example]


def run(example: Example, names: dict[str, Any]) -> None:
    """Execute one fence; a traceback points at its line on the page."""
    code = compile(
        "\n" * example.line + example.code,
        example.page,
        "exec",
        flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
        dont_inherit=True,
    )
    if code.co_flags & inspect.CO_COROUTINE:
        anyio.run(types.FunctionType(code, names))
    else:
        exec(code, names)
    for name, value in list(names.items()):
        if name.startswith("test_") and inspect.isfunction(value) and not inspect.signature(value).parameters:
            anyio.run(value) if inspect.iscoroutinefunction(value) else value()


@pytest.mark.parametrize("example", [one for one in EXAMPLES if "notest" not in one.words], ids=str)
def test_the_examples_of_the_docs_run(
    example: Example, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A reader who copies an example sees what the page says."""
    module = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)  # where pickle and pydantic look a script's classes up
    monkeypatch.setattr(ambient, "_registrations", ())  # an example may have a handler hear the whole process
    monkeypatch.chdir(tmp_path)
    for fence in chain(example):
        capsys.readouterr()  # only what the last one prints is its output
        run(fence, vars(module))

    if example.output is not None:
        printed = capsys.readouterr().out
        same = doctest.OutputChecker().check_output(example.output, printed, doctest.ELLIPSIS)
        assert same, f"{example} printed:\n{printed}\ninstead of:\n{example.output}"


def test_what_a_fence_says_is_understood() -> None:
    """A misspelt word after ``python`` would silently change nothing."""
    assert [str(one) for one in EXAMPLES if not set(one.words) <= {"notest", "continued"}] == []


@pytest.mark.parametrize("module", [name for name, path in MODULES.items() if ">>>" in path.read_text()])
def test_the_examples_of_docstrings_run(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A docstring's example prints what it shows."""
    failed, tried = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried and not failed, capsys.readouterr().out


def test_fences_are_found_with_their_output() -> None:
    """The reader of pages itself: indented fences, directives, output, and text that is not output."""
    page = (
        "Words.\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```text\nnot output\n```\n"
        "- a list\n\n  ```python continued\n  print(2)\n  ```\n\n```python notest\nbroken(\n```\n"
    )
    first, second, third = examples("page.md", page)
    assert (first.line, first.code, first.output) == (3, "print(1)\n", "1\n")
    assert (second.code, second.words, second.output, second.before) == ("print(2)\n", ["continued"], None, first)
    assert third.words == ["notest"]


def test_a_fence_runs_as_in_a_notebook() -> None:
    """The runner itself: top-level `await`, names of the fence before, and test functions that are really called."""
    page = (
        "```python\nimport anyio\nawait anyio.sleep(0)\nseen = ['awaited']\n```\n"
        "```python continued\nasync def test_it():\n    seen.append('called')\n```\n"
        "```python\ndef test_it():\n    assert False, 'called'\n```\n"
    )
    _, second, third = examples("page.md", page)
    names: dict[str, Any] = {}
    for fence in chain(second):
        run(fence, names)
    assert names["seen"] == ["awaited", "called"]
    with pytest.raises(AssertionError, match="called"):
        run(third, {})
