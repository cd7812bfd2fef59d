"""`hocket cassette`: who said what, and what should not be committed."""

import json
import os
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.errors import LLMError
from hocket.providers.openai import ChatOpenAI
from hocket.testing import Hangup, Status, Stream, cassette, serve
from tests.kit.providers import PROVIDERS, Provider

TOOL = {"title": "get_weather", "description": "It.", "type": "object", "properties": {"city": {"type": "string"}}}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):  # those of whoever runs the tests
        if "KEY" in name or "TOKEN" in name or "SECRET" in name:
            monkeypatch.delenv(name)
    return tmp_path / "cassettes" / "talk.json"


def record(path: Path, provider: Provider, question: str = "Go on") -> None:
    """Record a call, a stream with a tool, a refusal and a connection that breaks."""
    script = ["Hello there", Stream("", tool_calls=[{"name": "get_weather", "args": {"city": "Bern"}}])]
    with serve(provider.format, [*script, Status(400, "bad thing"), Hangup()]) as server, cassette(path, record="all"):
        model = provider.make(model="m", base_url=server.url, api_key="k", retry=None)
        model.invoke([("system", "Be brief."), ("human", "Hi")])
        list(model.bind_tools([TOOL]).stream(question))
        for number in range(2):
            with pytest.raises(LLMError):
                model.invoke(f"again {number}")


@pytest.mark.parametrize("name", PROVIDERS)
def test_show(name: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever the provider is: questions, answers, calls of tools, errors, in their order."""
    record(path, PROVIDERS[name])
    assert main(["cassette", "show", str(path)]) == 0
    said = capsys.readouterr()
    lines = [line.strip() for line in said.out.splitlines()]
    expected = ["system: Be brief.", "user: Hi", "assistant: Hello there", "user: Go on", "calls: get_weather"]
    expected += ["user: again 0", "error: bad thing", "user: again 1"]
    assert [line for line in lines if line in expected] == expected
    assert [line[:3] for line in lines if "http://" in line] == ["1. ", "2. ", "3. ", "4. "]
    assert "ConnectionFailed" in lines[-2]
    assert said.err.startswith("hocket: recorded on 20")


def test_what_cannot_be_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cassette", "show", str(path)]) == 2
    path.parent.mkdir()
    path.write_text("{")
    assert main(["cassette", "show", str(path)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"hocket: there is no {path}"
    assert "is damaged, or no cassette" in second


def test_hostile_replies_do_not_steer_the_terminal(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(PROVIDERS["openai"].format, "\x1b[2J\x07bad") as server, cassette(path, record="all"):
        ChatOpenAI(model="m", base_url=server.url, api_key="k").invoke("Hi")
    main(["cassette", "show", str(path)])
    assert "\x1b" not in capsys.readouterr().out


def test_check(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is wrong; then a key that hocket does not know for one, one of the environment, an old and a damaged file."""
    openai = PROVIDERS["openai"]
    record(path, openai)
    (path.parent / "other.json").write_text('{"no": "cassette"}')
    assert main(["cassette", "check", str(path.parent.parent)]) == 0
    assert capsys.readouterr().err == "hocket: 1 cassettes, 0 faults\n"

    record(path, openai, "My key is sk-abcdefgh0123456789, and the other hidden-0123456789.")
    monkeypatch.setenv("OTHER_API_KEY", "hidden-0123456789")
    old, damaged = path.parent / "old.json", path.parent / "damaged.json"
    old.write_text(json.dumps({"cassette": 1, "hocket": "0.1", "recorded": "2020-01-01T00:00:00Z", "exchanges": []}))
    damaged.write_text('{"cassette": 1')
    assert main(["cassette", "check", str(path.parent.parent), "--max-age", "30"]) == 1
    said = capsys.readouterr()
    faults = [line.partition(": ") for line in said.out.splitlines()]
    assert [(Path(where).name, what[:40]) for where, _, what in faults] == [
        ("damaged.json", f"{damaged} is damaged, or no cassette"[:40]),
        ("old.json", faults[1][2][:40]),
        ("talk.json", "exchange 2 has the value of OTHER_API_KE"),
        ("talk.json", "exchange 2 has what looks like a key: re"),
    ]
    assert "days ago, and may be 30 days old" in faults[1][2]
    assert "0123456789" not in said.out
    assert said.err == "hocket: 3 cassettes, 4 faults\n"


def test_a_place_that_is_not_there(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cassette", "check", str(path)]) == 2
    assert capsys.readouterr().err == f"hocket: there is no {path}; name a cassette, or a directory of them\n"
