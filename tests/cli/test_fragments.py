"""`hocket -f`: files, folders, patterns and repositories before the question, and what is cut out of the answer."""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket.cli.chat import fragments
from hocket.cli.chat.fragments import read_fragments
from hocket.cli.code_blocks import Which, _Cutter, cut_code
from hocket.errors import InvalidInput, ProviderUnavailable
from hocket.testing import OpenAIFormat, serve

Inside = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working tree, with a file that git ignores, one that is no text, and a link out of it."""
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    place = tmp_path / "tree"
    for name, text in (("docs/a.md", "# A"), ("src/m.py", "x = 1\n"), (".gitignore", "*.log\n"), ("run.log", "no")):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    (place / "b.bin").write_bytes(b"\0\1")
    (place / "out.md").symlink_to("/etc/passwd")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for words in (
        ("config", "--global", f"url.file://{place}.insteadOf", "https://github.com/ada/tree"),
        ("config", "--global", "--add", f"url.file://{place}.insteadOf", "https://example.com/tree.git"),
        ("config", "--global", "user.email", "ada@example.com"),
        ("config", "--global", "user.name", "Ada"),
        ("init", "-q", str(place)),
        ("-C", str(place), "add", "-A"),
        ("-C", str(place), "commit", "-qm", "One"),
    ):
        subprocess.run(["git", *words], check=True)
    return place


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("github:ada/tree", [".gitignore:\n*.log\n", "docs/a.md:\n# A", "src/m.py:\nx = 1\n"]),
        ("https://example.com/tree.git:docs", ["docs/a.md:\n# A"]),
        ("github:ada/tree:**/*.py", ["src/m.py:\nx = 1\n"]),
    ],
)
def test_a_repository(folder: Path, name: str, found: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """All of its texts, those of a folder, or those that a pattern means."""
    assert read_fragments([name]) == found
    assert ("passed over 1 files that are no UTF-8 text" in capsys.readouterr().err) == (len(found) == 3)


def test_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a working tree what git does not ignore; no link is followed out of it; a pattern means what it says."""
    monkeypatch.chdir(folder.parent)
    in_tree = ["tree/.gitignore:\n*.log\n", "tree/docs/a.md:\n# A", "tree/src/m.py:\nx = 1\n"]
    assert read_fragments(["tree"]) == in_tree
    assert read_fragments(["tree/**/*.md"]) == ["tree/docs/a.md:\n# A"]
    assert read_fragments(["tree/docs", "tree/run.log"]) == ["tree/docs/a.md:\n# A", "run.log:\nno"]


def test_what_is_no_fragment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, with the reason and the way out."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(fragments, "MOST_BYTES", 20)
    for name, says in (
        ("docs/*.txt", "no text was found there; check the path"),
        ("none.md", "No such file"),
        ("b.bin", "is no picture, PDF, recording or UTF-8 text"),
        (".", "the fragments have more than 0 MB; name a part"),
        ("github:ada/tree:none", "did not match any files"),
    ):
        with pytest.raises(InvalidInput, match=says):
            read_fragments([name])
    with pytest.raises(ProviderUnavailable, match="git says"):
        read_fragments(["https://127.0.0.1:9/x.git"])


@pytest.mark.skipif(sys.platform != "linux", reason="a file's name is UTF-8 elsewhere")
def test_a_name_that_is_not_utf8_is_shown_as_text(inside: Inside, tmp_path: Path) -> None:
    """In a folder, by itself, and attached."""
    (tmp_path / os.fsdecode(b"b\xff.txt")).write_text("six")
    for words in (
        ("-f", str(tmp_path)),
        ("-f", f"{tmp_path}/b*.txt"),
        ("-a", str(tmp_path / os.fsdecode(b"b\xff.txt"))),
    ):
        done = inside("-m", "fake:yes", *words, "What?")
        assert (done.returncode, done.stdout) == (0, "yes\n"), done.stderr
    [text] = read_fragments([str(tmp_path / os.fsdecode(b"b\xff.txt"))])
    assert text == "b\ufffd.txt:\nsix"


def test_fragments_come_before_the_question(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, each under its name; a dash is standard input, which is no part of the question then."""
    (tmp_path / "notes.md").write_text("It was blue.")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"piped")))
    with serve(OpenAIFormat(), "Blue.") as server:
        files = ("-f", str(tmp_path / "notes.md"), "-f", "-")
        assert inside("--base-url", server.url, "-m", "small", *files, "What colour?").stdout == "Blue.\n"
    assert server.requests[0].json["messages"][-1]["content"] == (
        "notes.md:\nIt was blue.\n\nstandard input:\npiped\n\nWhat colour?"
    )


ANSWER = "So:\n```python\nx = 1\n\n```\nor\n1. so\n   ~~~~\n   y = `2`\n   ~~~\n   ~~~~\nDone ```no``` more.\n"


@pytest.mark.parametrize(
    ("text", "which", "code"),
    [
        (ANSWER, "first", "x = 1\n\n"),
        ("So:\n  ~~~~\n  y\n  ~~~\n  ~~~~ \nend", "first", "y\n~~~\n"),
        ("```\na\n```\n```\nb\n```", "last", "b\n"),
        ("```\r\na\r\n```\r\n", "first", "a\r\n"),
        ("```py\nnot closed", "first", "not closed"),
        ("```\na\n```\n```\nnot closed", "last", "not closed"),
        ("no ```code``` here", "first", "no ```code``` here"),
        ("```\n```", "first", ""),
        ("", "last", ""),
    ],
)
def test_code_is_cut_out(text: str, which: Which, code: str) -> None:
    """The same in one piece and letter by letter."""
    assert cut_code(text, which) == code
    cutter = _Cutter(which)
    assert "".join(map(cutter.feed, text)) + cutter.end() == code


def test_code_comes_as_it_is_said() -> None:
    """A line of the first block is out when it has ended."""
    cutter = _Cutter("first")
    assert [cutter.feed(piece) for piece in ("So:\n``", "`\nx ", "= 1\ny", "\n```\nz\n")] == ["", "", "x = 1\n", "y\n"]


def test_extract(inside: Inside) -> None:
    """Code alone goes to standard output; that there is none is told, and it goes with no object."""
    fake = ("-m", f"fake:{ANSWER}")
    assert inside(*fake, "-x", "Hi")[:2] == (0, "x = 1\n\n")
    assert inside(*fake, "--xl", "Hi").stdout == "y = `2`\n~~~\n"
    none = inside("-m", "fake:No.", "-x", "Hi")
    assert none == (0, "No.\n", "hocket: the answer has no block of code; this is all of it\n")
    assert "give one of them" in inside(*fake, "-x", "--json", "Hi").stderr


CODE = (
    "import math\nfrom math import floor\ndef double(x: int) -> int:\n    'Double.'\n    return 2 * x\ndef _no(): ...\n"
)


@pytest.mark.parametrize("command", [("chat",), ("agent", "--style", "native")], ids=["chat", "agent"])
def test_functions_are_tools(inside: Inside, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Those that the code defines, or a file of it, and are public."""
    (tmp_path / "tools.py").write_text(CODE)
    for code in (CODE, str(tmp_path / "tools.py")):
        with serve(OpenAIFormat(), "Yes.") as server:
            done = inside(*command, "--base-url", server.url, "-m", "small", "--functions", code, "Hi")
        assert (done.returncode, done.stdout) == (0, "Yes.\n"), done.stderr
        assert [tool["function"]["name"] for tool in server.requests[0].json["tools"]] == ["double"]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import math", "no public function is defined"),
        ("def f(x: int", "SyntaxError: '(' was never closed (--functions, line 1)"),
        ("1 / 0", "ZeroDivisionError"),
        ("none.py", "none.py: No such file"),
    ],
)
def test_what_are_no_functions(inside: Inside, code: str, says: str) -> None:
    """It is misuse, and nothing is asked."""
    done = inside("-m", "fake:yes", "--functions", code, "Hi")
    assert (done.returncode, done.stdout) == (2, "") and says in done.stderr


def test_a_function_waits_for_approval(inside: Inside, tmp_path: Path) -> None:
    """As any tool of `hocket agent`."""
    run = (
        "agent",
        "--functions",
        CODE,
        "--approve",
        "ask",
        "--history",
        str(tmp_path / "run.jsonl"),
        "--style",
        "react",
    )
    done = inside(*run, "-m", 'fake:Action: double[{"x": 21}]', "Hi")
    assert done.returncode == 8 and "waits for approval: double" in done.stderr
