"""`hocket chat --template`, `--save`, and `hocket templates`."""

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket.testing import OpenAIFormat, serve

Inside = Callable[..., Any]
SAVED = (
    "--save",
    "sum",
    "-s",
    "Be $tone.",
    "-p",
    "tone",
    "brief",
    "-m",
    "small",
    "--temperature",
    "0.5",
    "-o",
    "top_p=1",
)


@pytest.fixture
def folder(inside: Inside) -> Path:
    """Where templates are."""
    place = Path(inside("templates", "path").stdout.strip())
    place.mkdir(parents=True)
    return place


def ask(inside: Inside, *words: str) -> Any:
    """Return the request that the command sends to a server."""
    with serve(OpenAIFormat(), "Yes.") as server:
        done = inside("--base-url", server.url, *words)
    assert (done.returncode, done.stdout) == (0, "Yes.\n"), done.stderr
    return server.requests[0].json


def test_a_template_is_kept_and_asked(inside: Inside, folder: Path) -> None:
    """With its model, options and instructions; what the command line says goes before it."""
    kept = inside(*SAVED, "Summarise: $input")
    path = folder / "sum.json"
    assert kept == (0, "", f"hocket: the template is kept in {path}; `hocket -t sum` asks it\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    sent = ask(inside, "-t", "sum", "the text costs $5")
    assert [one["content"] for one in sent["messages"]] == ["Be brief.", "Summarise: the text costs $5"]
    assert (sent["model"], sent["temperature"], sent["top_p"]) == ("small", 0.5, 1)
    sent = ask(inside, "-t", "sum", "-p", "tone", "long", "--temperature", "0", "-m", "large", "-s", "Be.", "it")
    assert (sent["messages"][0]["content"], sent["model"], sent["temperature"]) == ("Be.", "large", 0)
    assert inside("templates", "list").stdout == "sum\n"
    assert json.loads(inside("templates", "show", "sum").stdout)["defaults"] == {"tone": "brief"}
    assert inside("templates", "remove", "sum")[:2] == (0, "") and not path.exists()
    assert "there is no template 'sum'; `hocket --save NAME`" in inside("-t", "sum", "Hi").stderr


def test_a_template_of_llm(inside: Inside, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In YAML, as that command has them: its question alone, or before a text; with a schema, fragments and tools."""
    (tmp_path / "n.md").write_text("Notes.")
    (folder / "daily.yaml").write_text(
        f"prompt: |\n  What now,\n  $who?\nfragments: [{tmp_path / 'n.md'}]\ndefaults: {{who: Ada}}"
    )
    (folder / "dog.yaml").write_text("schema_object: {type: object, properties: {n: {type: string}}}\nmodel: fake:x\n")
    (folder / "sum.yaml").write_text("prompt: Sum.\ntools: [calculator]\nextract: true\n")
    (folder / "far.yaml").write_text("base_url: http://127.0.0.1:9/v1\nmodel: small\nextract: true\n")
    assert inside("-t", "far", "-m", "fake:yes", "--json", "Hi").returncode == 0
    (folder / "plain.yaml").write_text("Is $$5 much?\n")
    assert ask(inside, "-m", "m", "-t", "plain", "Tell.")["messages"][-1]["content"] == "Is $5 much?\n\nTell."
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    sent = ask(inside, "-m", "m", "-t", "daily", "-p", "who", "Bob")
    assert sent["messages"][-1]["content"] == "n.md:\nNotes.\n\nWhat now,\nBob?\n"
    sent = ask(inside, "-m", "m", "-t", "sum", "it")
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["calculator"]
    assert "--schema" in inside("-t", "dog", "--tool", "calculator", "Hi").stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"promt": "x"}', "has 'promt'; did you mean 'prompt'?"),
        ('{"tools": "calculator"}', "has 'calculator' for tools, which is of another kind"),
        ('{"tools": [1]}', "has [1] for tools, which is of another kind"),
        ("[1]", "is no object; it looks like"),
        ("{", "is no JSON"),
        ('{"prompt": "So $who?"}', "template t has $who, of which nothing is said: give -p who VALUE"),
        ('{"prompt": "So $?"}', "a $ that begins no name; write $$"),
        ('{"options": {"api_key": "k"}}', "api_key does not go on the command line"),
        ('{"prompt": "So $input"}', "template t wants a text for $input"),
    ],
)
def test_what_is_no_template(
    inside: Inside, folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    """It is misuse, and nothing is asked."""
    (folder / "t.json").write_text(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    done = inside("-m", "fake:yes", "-t", "t")
    assert (done.returncode, done.stdout) == (2, "") and says in done.stderr


def test_what_cannot_be_saved(inside: Inside, folder: Path) -> None:
    """One line that says why, and no file."""
    (folder / "mine.yaml").write_text("prompt: x")
    for words, says in (
        (("--save", "../x", "Hi"), "a template's name has letters"),
        (("--save", "x"), "there is nothing to keep"),
        (("--save", "x", "Hi", "-"), "keeps no text that is piped in"),
        (("--save", "mine", "Hi"), "mine.yaml is there; edit it"),
        (("-p", "a", "b", "Hi"), "say which one, with -t NAME"),
        (("-t", "mine", "-p", "tone", "b", "Hi"), "template mine has no $tone"),
        (("-t", "mine", "--save", "x", "Hi"), "give one of them"),
    ):
        done = inside(*words)
        assert (done.returncode, done.stdout) == (2, "") and says in done.stderr
    assert [path.name for path in folder.iterdir()] == ["mine.yaml"]
