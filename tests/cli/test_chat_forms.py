"""`hocket chat --schema`, `--json` and `--tool`: objects, answers for programs, and answers with the help of tools."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket.cli.schemas import parse_schema
from hocket.errors import InvalidInput
from hocket.testing import OpenAIFormat, Reply, serve

Run = Callable[..., subprocess.CompletedProcess[str]]
Inside = Callable[..., Any]
DOG = '{"name": "Bo", "age": 3}'


def test_an_object(inside: Inside) -> None:
    """Its schema is sent, and what comes is checked; --json has it in an object with the rest."""
    with serve(OpenAIFormat(), [DOG, DOG, '{"name": "Bo"}']) as server:
        ask = ("--base-url", server.url, "-m", "gpt-4o", "--schema", "name, age int: in years", "Invent a dog")
        plain, whole, wrong = (inside(*ask, *more) for more in ([], ["--json"], []))
    form = server.requests[0].json["response_format"]["json_schema"]
    assert form["schema"]["properties"]["age"] == {"type": "integer", "description": "in years"}
    assert json.loads(plain.stdout) == json.loads(DOG)
    assert json.loads(whole.stdout)["answer"] == json.loads(DOG) and whole.stdout.count("\n") == 1
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (1, "", 1)


def test_forms_of_a_schema(tmp_path: Path) -> None:
    """Fields, by commas or in lines; JSON; a file."""
    text = {"type": "string"}
    assert parse_schema("name, age int, tall: float")["properties"] == {
        "name": text, "age": {"type": "integer"}, "tall": {"type": "number"}
    }  # fmt: skip
    lines = parse_schema("name: first, and last\nis_good bool: or bad")
    assert lines["properties"] == {
        "name": {**text, "description": "first, and last"},
        "is_good": {"type": "boolean", "description": "or bad"},
    }
    assert lines["required"] == ["name", "is_good"] and parse_schema("name")["properties"] == {"name": text}
    schema = {"title": "dog", "type": "object", "properties": {"name": text}}
    (tmp_path / "dog.json").write_text(json.dumps(schema))
    assert parse_schema(str(tmp_path / "dog.json")) == parse_schema(json.dumps(schema)) == schema


@pytest.mark.parametrize("text", ["", " , ", "a strr", "a b c", "{", '{"a": 1}', "nowhere.json", "[1]", "a-b"])
def test_what_is_no_schema(text: str) -> None:
    """It is refused with the forms that there are."""
    with pytest.raises(InvalidInput, match=r"--schema.*JSON schema, or fields such as"):
        parse_schema(text)


def test_an_answer_for_a_program(hocket: Run) -> None:
    """One line of JSON, with what it took."""
    answer = json.loads(hocket("--json", "-m", "acted:counts", "Hi").stdout)
    assert answer["model"] == "acted:counts" and answer["usage"]["total_tokens"] == 15
    assert set(answer) == {"model", "answer", "reasoning", "finish_reason", "usage", "seconds"}


def test_tools(hocket: Run, tmp_path: Path) -> None:
    """What is called goes to standard error, the answer to standard output; the talk keeps question and answer."""
    question = json.dumps([["calculator", {"expression": "17 * 23"}]])
    done = hocket("-m", "acted:caller", "--tool", "calculator", question, HOCKET_TALKS=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "391" in done.stdout and 'calculator({"expression": "17 * 23"})' in done.stderr
    (kept,) = tmp_path.glob("*.jsonl")
    assert [message["type"] for message in json.loads(kept.read_text())] == ["human", "ai"]


def test_what_tools_take_is_counted(inside: Inside) -> None:
    """All calls of the model, also where two are alike; how the last one ended; no rate, which would be of the last text."""
    usage = {"prompt_tokens": 8, "completion_tokens": 5, "total_tokens": 13}
    call = [{"name": "calculator", "args": {"expression": "1+1"}, "id": "c1"}]
    with serve(OpenAIFormat(), [Reply(tool_calls=call, usage=usage), Reply("2", usage=usage)]) as server:
        ask = ("--json", "--stats", "--base-url", server.url, "-m", "x", "--tools", "calculator", "q")
        done = inside(*ask, OPENAI_API_KEY="k")
    answer = json.loads(done.stdout)
    assert (answer["usage"]["total_tokens"], answer["finish_reason"]) == (26, "stop")
    assert "16 tokens in, 10 out, in 2 calls of the model; " in done.stderr and "tokens/s" not in done.stderr


def test_what_does_not_go_together(hocket: Run) -> None:
    """It is misuse."""
    for arguments, says in (
        (["--schema", "name", "--tool", "calculator", "Hi"], "--schema and --tool do not go together"),
        (["--tool", "calculater", "Hi"], "there is no tool 'calculater'; did you mean calculator?"),
        (["--tools", "calculator,,x", "Hi"], "'calculator,,x' is no list of names"),
        (["--session", "x", "Hi"], "say which one, with --history"),
    ):
        done = hocket("chat", "-m", "fake:x", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert says in done.stderr
