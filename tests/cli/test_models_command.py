"""`hocket models`: what can be used now, how the rest could be, and what a server has."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from hocket.testing import BedrockFormat, Body, OllamaFormat, OpenAIFormat, Status, serve

Run = Callable[..., subprocess.CompletedProcess[str]]
Inside = Callable[..., Any]


def table(done: Any) -> dict[str, tuple[str, str]]:
    """Return the heading and the text of each provider's row."""
    assert (done.returncode, done.stderr) == (0, "")
    rows: dict[str, tuple[str, str]] = {}
    heading = name = ""
    for line in filter(None, done.stdout.splitlines()):
        assert len(line) <= 60
        if line[0] != " ":
            heading = line
        elif line[2] != " ":
            name, _, text = line.strip().partition(" ")
            rows[name] = (heading, text.strip())
        else:
            rows[name] = (heading, f"{rows[name][1]} {line.strip()}".strip())
    return rows


def test_the_table_says_what_can_be_used(hocket: Run) -> None:
    """Servers are asked, packages looked for; what is missing is named, and hides nothing else."""
    with serve(OpenAIFormat(models=tuple("abcde")), "unheard") as server:
        done = hocket("models", VLLM_BASE_URL=server.url, HOCKET_LOCAL_MODEL="/no/such.gguf")
    rows = table(done)

    ready, other = "can be used now", "cannot be used yet"
    assert rows["fake"] == (ready, "")
    assert rows["vllm"] == (ready, "a, b, c, and 2 more")
    assert rows["plain_echo"] == (ready, "None one, two")
    assert rows["acted"] == (other, "press the red button")
    assert rows["keyed"] == (other, "no connection to http://127.0.0.1:1")
    assert rows["broken"][1].startswith("the provider 'broken' cannot be loaded: No module named 'no_such_module'")
    assert rows["local"][0] == other and rows["local"][1].startswith("cannot read the model file '/no/such.gguf'")
    needs_key = "need a key: `hocket keys set NAME`, or the variable"
    assert rows["openai"] == (needs_key, "OPENAI_API_KEY")
    assert rows["github"] == (needs_key, "GITHUB_API_KEY or GITHUB_TOKEN")
    assert done.stdout.startswith(ready) and done.stdout.index(needs_key) < done.stdout.index(other)


def test_what_the_clouds_want_is_named(inside: Inside) -> None:
    """A region; with it, what looked for credentials, and where; a key of Bedrock's is one that works or does not."""
    rows = table(inside("models"))
    for name in ("bedrock", "anthropic_bedrock"):
        told = "AWS has regions, and none is named: give region_name='eu-west-1', or set AWS_REGION"
        assert rows[name] == ("cannot be used yet", told)
    quiet = {"AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nowhere"}
    heading, text = table(inside("models", **quiet, AWS_SHARED_CREDENTIALS_FILE="/nowhere"))["bedrock"]
    assert heading == "cannot be used yet" and text.startswith("AWS's chain has no credentials (nothing from env, ")
    listed = {"modelSummaries": [{"modelId": "amazon.nova"}, {"modelId": "openai.gpt"}]}
    with serve(BedrockFormat(), lambda request: Body(listed)) as server:
        rows = table(inside("models", **quiet, AWS_ENDPOINT_URL=server.url, AWS_BEARER_TOKEN_BEDROCK="k"))
    assert rows["bedrock"] == rows["anthropic_bedrock"] == ("can be used now", "amazon.nova, openai.gpt")


def test_a_refused_key_is_no_use(inside: Inside) -> None:
    """A key that is set is not one that works."""
    with serve(OpenAIFormat(models=None), Status(401, "Incorrect API key")) as server:
        rows = table(inside("models", OPENAI_BASE_URL=server.url, OPENAI_API_KEY="canary-in-the-mine"))
    assert rows["openai"][0] == "cannot be used yet" and rows["openai"][1].startswith("Incorrect API key")


def test_a_window_that_is_narrower(terminal: Callable[..., Any]) -> None:
    """Has its rows broken there."""
    pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    shown = terminal(command="models", size=(40, 50))
    assert shown.end() == 0
    assert max(map(len, shown.said.splitlines())) <= 40


def test_what_a_server_has(hocket: Run, inside: Inside) -> None:
    """A name a line, for a script."""
    with serve(OpenAIFormat(models=("one", "two")), "unheard") as server:
        assert inside("models", "--base-url", server.url).stdout == "one\ntwo\n"
        assert inside("models", "vllm", VLLM_BASE_URL=server.url).stdout == "one\ntwo\n"
    assert hocket("models", "plain-echo", "--base-url", "http://here").stdout == "http://here one\ntwo\n"


def test_a_server_without_a_list(inside: Inside) -> None:
    """Where the list was looked for is said, and that a model may be named all the same; by `hocket chat`, too."""
    with serve(OpenAIFormat(models=None), lambda request: Status(404, "Not Found")) as server:
        for arguments in (["models"], ["chat", "hello"]):
            done = inside(*arguments, "--base-url", server.url)
            assert (done.returncode, done.stdout) == (4, "")
            assert f"no list of its models at {server.url}/models;" in done.stderr
            assert done.stderr.endswith("give --model NAME\n")


def test_models_have_notes(inside: Inside) -> None:
    """Their sizes, in a column; the table of providers names them alone, and says how to start a server that is away."""
    with serve(OllamaFormat(models=("qwen3:8b", "embeddinggemma")), "unheard") as server:
        assert inside("models", "ollama", OLLAMA_HOST=server.url).stdout == (
            "qwen3:8b        5.2 GB\nembeddinggemma  5.2 GB\n"
        )
        rows = table(inside("models", OLLAMA_HOST=server.url))
        assert rows["ollama"] == ("can be used now", "qwen3:8b, embeddinggemma")
    rows = table(inside("models", OLLAMA_HOST=server.url))
    assert rows["ollama"] == ("no server is running", f"{server.url}; `ollama serve` starts it")


def test_what_cannot_be_listed(inside: Inside) -> None:
    """Is one line, with the codes of `hocket chat`."""
    with serve(OpenAIFormat(), "unheard") as server:
        gone = server.url
    for arguments, code, says in (
        (["--base-url", gone], 5, "no connection"),
        (["nobody"], 4, "no provider is called 'nobody'"),
        (["fake"], 2, "no list of its models"),
    ):
        done = inside("models", *arguments)
        assert (done.returncode, done.stdout) == (code, "")
        assert len(done.stderr.splitlines()) == 1 and says in done.stderr


def test_a_list_is_promised_where_there_is_one(hocket: Run, inside: Inside) -> None:
    """By `hocket chat` with a provider's name for a model's."""
    for done, provider, way_out in (
        (inside("chat", "-m", "openai", "hello", OPENAI_API_KEY="k"), "openai", "; `hocket models openai` lists them"),
        (hocket("chat", "-m", "listless", "hello"), "listless", ""),
    ):
        said = f"{provider!r} is a provider: name its model, {provider}:MODEL{way_out}\n"
        assert done.returncode != 0 and done.stderr.endswith(said)
