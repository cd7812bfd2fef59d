"""`hocket models`: what can be used now, how the rest could be, and what a server has."""

import subprocess
from collections.abc import Callable
from typing import Any

from hocket.testing import OllamaFormat, OpenAIFormat, Status, serve

Run = Callable[..., subprocess.CompletedProcess[str]]
Inside = Callable[..., Any]


def table(done: Any) -> dict[str, str]:
    """Return what is said of each provider."""
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(None, 1) for line in done.stdout.splitlines()]
    return {name: " ".join(state.split()) for name, state in rows}


def test_the_table_says_what_can_be_used(hocket: Run) -> None:
    """Servers are asked, packages looked for; what is missing is named, and hides nothing else."""
    with serve(OpenAIFormat(models=tuple("abcde")), "unheard") as server:
        states = table(hocket("models", VLLM_BASE_URL=server.url, HOCKET_LOCAL_MODEL="/no/such.gguf"))

    assert states["fake"] == "yes"
    assert states["vllm"] == "yes a, b, c, and 2 more"
    assert states["plain_echo"] == "yes None one, two"
    assert states["acted"] == "no press the red button"
    assert states["broken"].startswith("no the provider 'broken' cannot be loaded: No module named 'no_such_module'")
    assert states["local"].startswith("no cannot read the model file '/no/such.gguf'")
    assert states["openai"].endswith("set OPENAI_API_KEY") and states["openai"].startswith("no ")
    assert "set GROQ_API_KEY" in states["groq"]


def test_a_refused_key_is_no_use(inside: Inside) -> None:
    """A key that is set is not one that works."""
    with serve(OpenAIFormat(models=None), Status(401, "Incorrect API key")) as server:
        states = table(inside("models", OPENAI_BASE_URL=server.url, OPENAI_API_KEY="canary-in-the-mine"))
    assert states["openai"].startswith("no Incorrect API key")


def test_what_a_server_has(hocket: Run, inside: Inside) -> None:
    """A name a line, for a script."""
    with serve(OpenAIFormat(models=("one", "two")), "unheard") as server:
        assert inside("models", "--base-url", server.url).stdout == "one\ntwo\n"
        assert inside("models", "vllm", VLLM_BASE_URL=server.url).stdout == "one\ntwo\n"
    assert hocket("models", "plain-echo", "--base-url", "http://here").stdout == "http://here one\ntwo\n"


def test_models_have_notes(inside: Inside) -> None:
    """Their sizes, in a column; the table of providers names them alone, and says how to start a server that is away."""
    with serve(OllamaFormat(models=("qwen3:8b", "embeddinggemma")), "unheard") as server:
        assert inside("models", "ollama", OLLAMA_HOST=server.url).stdout == (
            "qwen3:8b        5.2 GB\nembeddinggemma  5.2 GB\n"
        )
        assert table(inside("models", OLLAMA_HOST=server.url))["ollama"] == "yes qwen3:8b, embeddinggemma"
    assert "`ollama serve` starts it" in table(inside("models", OLLAMA_HOST=server.url))["ollama"]


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
