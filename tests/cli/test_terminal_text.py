"""How several lines are typed, and where they are remembered."""

from pathlib import Path

import pytest

from hocket.cli.standard_input import replace_undecodable
from hocket.cli.terminal import find_history_file, read_lines

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
