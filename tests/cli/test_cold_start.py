"""Each command in a new interpreter, where nothing was imported before; most other tests fork a warmed one.

One test of `mcp` and one of `serve` start new ones, too.
"""

from pathlib import Path

import pytest

from tests.kit import warm

COMMANDS = [
    (["agent", "-m", "fake:yes", "--tool", "calculator", "hi"], 0),
    (["ask", "-m", "fake:yes", "--no-answer", "notes.txt", "what?"], 0),
    (["batch", "rows.txt", "--out", "out.jsonl", "-m", "fake:yes"], 0),
    (["cassette", "show", "none.json"], 2),
    (["chat", "-m", "fake:yes", "hi"], 0),
    (["collections", "list"], 0),
    (["completion", "bash"], 0),
    (["embed", "notes", "none.txt"], 2),
    (["keys", "list"], 0),
    (["logs"], 2),
    (["migrate", "old.py"], 0),
    (["models"], 0),
    (["runs", "list", "--store", "sqlite:///none.db"], 2),
    (["similar", "notes", "what?"], 2),
    (["templates", "list"], 0),
    (["usage", "none.db"], 2),
]


@pytest.mark.one_of(3)
@pytest.mark.parametrize(("words", "code"), COMMANDS, ids=[words[0] for words, _ in COMMANDS])
def test_a_command_imports_what_it_needs(words: list[str], code: int, environ: dict[str, str], tmp_path: Path) -> None:
    """With warnings as errors; what is missing has a sentence, and no traceback."""
    (tmp_path / "notes.txt").write_text("The moon is far.")
    (tmp_path / "old.py").write_text("print('hi')\n")
    (tmp_path / "rows.txt").write_text('"one"\n"two"\n')
    done = warm.run("-m", "hocket", *words, may_be_warm=False, env=environ, cwd=tmp_path, capture_output=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
