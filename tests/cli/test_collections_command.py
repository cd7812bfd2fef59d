"""`hocket embed`, `hocket similar` and `hocket collections`."""

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Inside = Callable[..., Any]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with two files, and one that nobody can read as text."""
    place = tmp_path / "handbook"
    place.mkdir()
    (place / "boiler.md").write_text("# Boiler\n\nBleed the boiler every May, before its service.\n")
    (place / "kitchen.txt").write_text("The oven is cleaned on Fridays.\n")
    (place / "b.pdf").write_bytes(b"\0\1")
    return place


def test_a_collection(inside: Inside, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is filled from files and from what is piped in, brought up to date, searched, listed and deleted."""
    done = inside("embed", "notes", str(files))
    assert done.returncode == 0 and "passed over" in done.stderr, done.stderr
    assert done.stderr.endswith("notes: 2 passages are new, 0 were there, 0 are gone\n")
    (files / "boiler.md").write_text("# Boiler\n\nBleed the boiler every June.\n")
    done = inside("embed", "notes", f"{files}/**/*.md")
    assert done.stderr == "hocket: notes: 1 passages are new, 0 were there, 1 are gone\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Light scatters.")))
    assert "1 passages are new" in inside("embed", "notes", "-", "--id", "sky").stderr
    found = inside("similar", "notes", "When", "is", "the", "boiler", "bled?")
    score, _, said = found.stdout.splitlines()[0].partition("  ")
    assert 0 < float(score) < 1 and said == "boiler.md, “Boiler”: “# Boiler Bleed the boiler every June.”"
    one = json.loads(inside("similar", "notes", "-n", "1", "--json", "why is the sky blue?").stdout)
    assert (one["source"], one["text"]) == ("sky", "Light scatters.")
    assert inside("collections", "list").stdout == "notes  local\n"
    assert json.loads(inside("collections", "list", "--json").stdout) == {"name": "notes", "model": "local"}
    place = tmp_path / "data" / "hocket" / "collections"
    assert {stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()} == {0o600}
    assert inside("collections", "delete", "notes")[:2] == (0, "") and list(place.iterdir()) == []


def test_what_is_wrong_with_a_collection(inside: Inside, files: Path, tmp_path: Path) -> None:
    """One line that says what to do, and none is made of it."""
    place = tmp_path / "data" / "hocket" / "collections"
    for words, code, says in (
        (("embed", "../x", str(files)), 2, "it has letters, digits, - and _"),
        (("embed", "x", str(files / "none.txt")), 2, "there is no such file"),
        (("embed", "x", "--embed", "opnai:x", str(files)), 4, "did you mean 'openai'"),
        (("embed", "x", f"{files}/*.py"), 2, "there is no file in"),
        (("similar", "x", "Hi"), 2, "there is no collection 'x'; `hocket embed x FILES` makes it"),
        (("collections", "delete", "x"), 2, "there is no collection 'x'"),
    ):
        done = inside(*words)
        assert (done.returncode, done.stdout) == (code, "") and says in done.stderr, done.stderr
        assert not place.exists()
    place.mkdir(parents=True)
    (place / "old.openai%3Asmall.sqlite").touch()
    (place / "bad.local.sqlite").write_text("no database at all, but a text of some length")
    assert (
        "openai:small has embedded the collection old" in inside("embed", "old", "--embed", "local", str(files)).stderr
    )
    assert "bad.local.sqlite" in inside("similar", "bad", "Hi").stderr
    assert "did you mean 'old'" in inside("similar", "olt", "Hi").stderr
