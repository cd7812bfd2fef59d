"""Every example runs: the python fences of README and docs, and the doctests of docstrings.

A fence may say more after ``python``: ``notest`` for one that cannot run here (it needs a key, say), ``continued`` for
one that goes on with the names of the fence before it, ``title="talk.py"`` for a file of its own, which runs as a
script, and is there for the fences that continue it; files of other languages have titles, too. A ``text`` fence right
after one is what it prints; ``...`` stands for anything. Top-level ``await`` works, as in a notebook. Test functions
without arguments are called, but for those of a file.

A comment before a fence, ``<!-- replies: ["Hello."] -->``, has `init_chat_model("openai:…")` ask a server on this
machine, which gives these replies in turn: a text, or the arguments of a `hocket.testing.Reply`. A mapping gives each
request the reply of the first key that its last message contains. So a page shows a real program, and it runs here.

A ``console`` fence that says ``continued`` is typed into a shell, where the files are; in a comment, a fence is a test
that no reader sees. A fence that imports a package that is not installed is skipped.
"""

import ast
import doctest
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from hocket.callbacks import run_listeners
from hocket.testing import OpenAIFormat, Reply, serve
from tests.measures.source import HAS_LANGCHAIN, HAS_MCP, HAS_OTEL, MODULES, ROOT

NEEDED = {"mcp": HAS_MCP, "langchain": HAS_LANGCHAIN, "tracing": HAS_OTEL}
LEFT_OUT = {page for page, is_here in NEEDED.items() if not is_here}
PAGES = [ROOT / "README.md", *(one for one in sorted((ROOT / "docs").rglob("*.md")) if one.stem not in LEFT_OUT)]

AT_NIGHT = {"docs/tutorials/three-day-order.md"}  # it starts eight programs, which import a database's library each

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$",
    re.MULTILINE | re.DOTALL,
)
REPLIES = re.compile(r"<!-- replies: (.*?) -->\s*(?:<!--\s*)?\Z", re.DOTALL)


@dataclass
class Example:
    """One fence of a page that runs."""

    page: str
    line: int
    code: str
    words: list[str]
    output: str | None = None
    language: str = "python"
    title: str | None = None
    replies: Any = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def examples(page: str, text: str) -> Iterator[Example]:
    """Yield the fences of a page that run, each with the output that follows it."""
    last: Example | None = None
    end_of_last = 0
    for fence in FENCE.finditer(text):
        language, *words = shlex.split(fence["info"]) or [""]
        title = next((word.removeprefix("title=") for word in words if word.startswith("title=")), None)
        body = re.sub(rf"^{fence['indent']}", "", fence["body"], flags=re.MULTILINE)
        if language == "python" or title or (language == "console" and "continued" in words):
            replies = REPLIES.search(text, end_of_last, fence.start())
            last = Example(
                page,
                line=text.count("\n", 0, fence.start()) + 1,
                code=body,
                words=[word for word in words if not word.startswith("title=")],
                language=language,
                title=title,
                replies=json.loads(replies[1]) if replies else None,
            )
            end_of_last = fence.end()
            yield last
        elif language == "text" and last is not None and text[end_of_last : fence.start()].strip() in ("", "-->"):
            last.output = body


EXAMPLES = [
    example for page in PAGES if page.exists() for example in examples(str(page.relative_to(ROOT)), page.read_text())
]


def group(fences: Iterable[Example]) -> list[list[Example]]:
    """Put those together that continue one another, which are one test; leave out what does not run."""
    groups: list[list[Example]] = []
    for fence in fences:
        if "notest" not in fence.words:
            if "continued" not in fence.words or not groups or groups[-1][0].page != fence.page:
                groups.append([])
            groups[-1].append(fence)
    return groups


def missing_packages(example: Example) -> set[str]:
    """Return the packages that a fence imports and that are not installed; files of the page are no packages."""
    if example.language != "python":
        return set()
    nodes = list(ast.walk(ast.parse(example.code)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    packages = {name.partition(".")[0] for name in names} - {Path(one.title).stem for one in EXAMPLES if one.title}
    return {package for package in packages if importlib.util.find_spec(package) is None}


def run(example: Example, names: dict[str, Any]) -> None:
    """Execute one python fence; a traceback points at its line on the page."""
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
    for name, value in () if example.title else list(names.items()):
        if name.startswith("test_") and inspect.isfunction(value) and not inspect.signature(value).parameters:
            anyio.run(value) if inspect.iscoroutinefunction(value) else value()


def run_console(example: Example) -> None:
    """Type the commands of a fence into a shell, and compare what they print."""
    commands = "\n".join(re.findall(r"^\$ (.*)", example.code, re.MULTILINE))
    expected = re.sub(r"^\$ .*\n", "", example.code, flags=re.MULTILINE)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shell = subprocess.run(
        ["sh", "-c", f"exec 2>&1 </dev/null\n{commands}"],
        # Of pytest's plugins only the one that a reader has, too: the others take most of its time.
        env={**os.environ, "PATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p anyio"},
        capture_output=True,
        text=True,
    )
    compare(example, expected, shell.stdout)


def compare(example: Example, expected: str, printed: str) -> None:
    """Fail where an example has not printed what the page says."""
    same = doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)
    assert same, f"{example} printed:\n{printed}\ninstead of:\n{expected}"


class Replies:
    """What a server answers: the replies of the fence that runs."""

    def __init__(self) -> None:
        self.of_fence: Any = None
        self.turns: Iterator[Any] = iter(())

    def begin(self, example: Example) -> None:
        """Take the replies of a fence; one without goes on with those before."""
        if example.replies is not None:
            self.of_fence, self.turns = example.replies, iter(example.replies)

    def __call__(self, request: Any) -> Reply:
        if isinstance(self.of_fence, dict):
            said = json.dumps(request.json["messages"][-1], ensure_ascii=False)
            reply = next(reply for key, reply in self.of_fence.items() if key in said)
        else:
            reply = next(self.turns)
        return Reply(reply) if isinstance(reply, str) else Reply(**reply)


@pytest.mark.parametrize(
    "fences",
    [
        # A shell starts processes, which take their time on a busy machine.
        pytest.param(one, marks=[pytest.mark.timeout(600)] if any(x.language == "console" for x in one) else [])
        if one[0].page not in AT_NIGHT
        else pytest.param(one, marks=[pytest.mark.timeout(600), pytest.mark.nightly])
        for one in group(EXAMPLES)
    ],
    ids=lambda fences: str(fences[0]),
)
def test_the_examples_of_the_docs_run(
    fences: list[Example], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A reader who copies an example sees what the page says."""
    if missing := set().union(*map(missing_packages, fences)):
        pytest.skip(f"it needs {', '.join(sorted(missing))}, which is not installed here")
    monkeypatch.setattr(run_listeners, "_registrations", ())  # an example may have a handler hear the whole process
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    replies = Replies()
    with ExitStack() as stack:
        if any(fence.replies is not None for fence in fences):
            server = stack.enter_context(serve(OpenAIFormat(), replies))
            monkeypatch.setenv("OPENAI_API_KEY", "a-key")
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        names: dict[str, Any] = {}
        for fence in fences:
            replies.begin(fence)
            if fence.title:
                monkeypatch.delitem(sys.modules, Path(fence.title).stem, raising=False)  # of another page
                (tmp_path / fence.title).write_text(fence.code)
            if fence.title or not names:
                module = types.ModuleType("__main__")
                monkeypatch.setitem(sys.modules, "__main__", module)  # where pickle and pydantic look classes up
                names = vars(module)
            capsys.readouterr()  # only what this one prints is its output
            if fence.language == "console":
                run_console(fence)
            elif fence.language == "python":
                run(fence, names)
            if fence.output is not None:
                compare(fence, fence.output, capsys.readouterr().out)


def test_what_a_fence_says_is_understood() -> None:
    """A misspelt word after ``python`` would silently change nothing."""
    assert [str(one) for one in EXAMPLES if not set(one.words) <= {"notest", "continued"}] == []


@pytest.mark.parametrize("module", [name for name, path in MODULES.items() if ">>>" in path.read_text()])
def test_the_examples_of_docstrings_run(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A docstring's example prints what it shows."""
    failed, tried = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried and not failed, capsys.readouterr().out


# What people call most: `module.name`, of what `hocket` offers or a room, has an example.
CALLED_MOST = (
    *("init_chat_model", "FakeListChatModel", "ScriptedChatModel", "Conversation", "open_history", "trim_messages"),
    *("BaseChatModel.ainvoke", "BaseChatModel.invoke", "BaseChatModel.astream", "BaseChatModel.bind_tools"),
    *("BaseChatModel.with_structured_output", "BaseChatModel.with_retry", "BaseChatModel.with_fallbacks"),
    *("tool", "arun_tool_calls", "agents.create_agent", "Timeout", "RetryPolicy", "rate_limiters.RateLimiter"),
    *("Budget", "spending", "InMemoryCache", "caches.SQLiteCache", "batch.arun_batch", "serving.sse"),
    *("ChatPromptTemplate", "PromptTemplate", "MessagesPlaceholder", "RunnableLambda", "RunnableParallel"),
    *("RunnablePassthrough", "StrOutputParser", "JsonOutputParser", "PydanticOutputParser", "dumps"),
)


@pytest.mark.parametrize("name", CALLED_MOST)
def test_what_people_call_most_has_an_example(name: str) -> None:
    """Who asks for help on it sees how it is used."""
    assert ">>>" in (inspect.getdoc(pkgutil.resolve_name(f"hocket.{name}")) or "")


def test_files_and_replies_of_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of pages itself: files, replies, hidden fences, sessions that continue; and a session that differs."""
    page = (
        '```csv title="a.csv"\nx\n```\n<!-- replies: ["Hi.", {"text": "a\nb"}] -->\n```python title="b.py" continued\n'
        "import absent_package, os\n```\n<!--\n```python continued\nfrom b import x\n```\n-->\n"
        "```console\n$ not run\n```\n```console continued\n$ echo one; echo two\none\n...\n```\n"
    ).replace("a\nb", r"a\nb")
    file, script, hidden, session = examples("page.md", page)
    assert (file.language, file.title, file.code) == ("csv", "a.csv", "x\n")
    assert (script.title, script.words, script.replies) == ("b.py", ["continued"], ["Hi.", {"text": "a\nb"}])
    assert missing_packages(script) == {"absent_package"}
    assert (hidden.code, hidden.replies) == ("from b import x\n", None)
    run_console(session)
    with pytest.raises(AssertionError, match=r"one\s+two"):
        run_console(replace(session, code="$ echo one; echo two\none\n"))


def test_fences_are_found_with_their_output() -> None:
    """The reader of pages itself: indented fences, directives, output, and text that is not output."""
    page = (
        "Words.\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```text\nnot output\n```\n"
        "- a list\n\n  ```python continued\n  print(2)\n  ```\n\n```python notest\nbroken(\n```\n"
    )
    first, second, third = examples("page.md", page)
    assert (first.line, first.code, first.output) == (3, "print(1)\n", "1\n")
    assert (second.code, second.words, second.output) == ("print(2)\n", ["continued"], None)
    assert third.words == ["notest"]
    assert group([first, third, second, first]) == [[first, second], [first]]


def test_a_fence_runs_as_in_a_notebook() -> None:
    """The runner itself: top-level `await`, names of the fence before, and test functions that are really called."""
    page = (
        "```python\nimport anyio\nawait anyio.sleep(0)\nseen = ['awaited']\n```\n"
        "```python continued\nasync def test_it():\n    seen.append('called')\n```\n"
        "```python\ndef test_it():\n    assert False, 'called'\n```\n"
    )
    first, second, third = examples("page.md", page)
    names: dict[str, Any] = {}
    run(first, names)
    run(second, names)
    assert names["seen"] == ["awaited", "called"]
    with pytest.raises(AssertionError, match="called"):
        run(third, {})
