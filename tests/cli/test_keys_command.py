"""`hocket keys`: keys in a file of their owner's, which the command's models find where the environment has none."""

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hocket.testing import OpenAIFormat, Status, serve

Run = Callable[..., subprocess.CompletedProcess[str]]
Inside = Callable[..., Any]
KEY = "sk-canary-in-the-mine"


def config(path: Path) -> dict[str, str]:
    """Return the variable that has the command keep its keys below ``path``."""
    return {"XDG_CONFIG_HOME": str(path)}


def test_a_kept_key_is_sent(hocket: Run, tmp_path: Path) -> None:
    """From a file that its owner alone can read; it is shown nowhere."""
    done = hocket("keys", "set", "openai", stdin=f"{KEY}\n", **config(tmp_path))
    path = Path(hocket("keys", "path", **config(tmp_path)).stdout.strip())
    assert (done.returncode, done.stdout) == (0, "") and str(path) in done.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and path.is_relative_to(tmp_path)
    assert [one.name for one in path.parent.iterdir()] == ["keys.json"]
    assert hocket("keys", "list", **config(tmp_path)).stdout == "OPENAI_API_KEY\n"
    with serve(OpenAIFormat(), ["Hello.", "Hello."]) as server:
        where = {"OPENAI_BASE_URL": server.url, **config(tmp_path)}
        assert hocket("chat", "--model", "openai:small", "Hi", **where).stdout == "Hello.\n"
        assert hocket("chat", "--model", "openai:small", "Hi", OPENAI_API_KEY="sk-other", **where).stdout == "Hello.\n"
    kept, other = (request.headers["authorization"] for request in server.requests)
    assert (kept, other) == (f"Bearer {KEY}", "Bearer sk-other")


def test_a_kept_key_goes_to_no_stranger(hocket: Run, tmp_path: Path) -> None:
    """The address of the command line may come from anybody: it is treated as a key of the environment is."""
    hocket("keys", "set", "openai", stdin=KEY, **config(tmp_path))
    with serve(OpenAIFormat(), "Hello.") as server:
        arguments = ("chat", "--base-url", server.url, "--model", "small", "Hi")
        assert hocket(*arguments, **config(tmp_path)).returncode == 0
    assert "authorization" not in server.requests[0].headers


def test_programs_that_the_command_starts_have_no_key(inside: Inside) -> None:
    """The environment, which they inherit, stays as it is."""
    path = Path(inside("keys", "path").stdout.strip())
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"OPENAI_API_KEY": KEY}))
    path.chmod(0o600)
    assert "no connection" in inside("models", "openai", OPENAI_BASE_URL="http://127.0.0.1:9").stderr
    assert KEY not in os.environ.values()


def test_a_key_is_replaced_and_removed(hocket: Run, tmp_path: Path) -> None:
    """Each alone; the others stay. The environment's own key is told of."""
    for provider in ("openai", "groq", "google"):
        hocket("keys", "set", provider, stdin="old", **config(tmp_path))
    told = hocket("keys", "set", "google", stdin="new", GEMINI_API_KEY="x", **config(tmp_path)).stderr
    assert "GEMINI_API_KEY is set, and goes before it" in told
    assert hocket("keys", "remove", "groq", **config(tmp_path)).returncode == 0
    assert hocket("keys", "list", **config(tmp_path)).stdout == "GOOGLE_API_KEY\nOPENAI_API_KEY\n"
    gone = hocket("keys", "remove", "groq", **config(tmp_path))
    assert gone.returncode == 2 and "no key of groq is kept" in gone.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "says"),
    [
        (["openai", KEY], "", 2, "does not go on the command line"),
        (["openai"], "", 2, "there is no key"),
        (["openai"], "two words", 2, "one word of ASCII"),
        (["openai"], "x" * 20_000, 2, "one word of ASCII"),
        (["fake"], "x", 2, "takes no key"),
        (["opnai"], "x", 4, "did you mean openai"),
    ],
)
def test_what_is_no_key(hocket: Run, tmp_path: Path, arguments: list[str], stdin: str, code: int, says: str) -> None:
    """It is refused in a line that does not repeat it, and nothing is kept."""
    done = hocket("keys", "set", *arguments, stdin=stdin, **config(tmp_path))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", 1)
    assert says in done.stderr and KEY not in done.stderr
    assert hocket("keys", "list", **config(tmp_path)).stdout == ""


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX's")
def test_a_file_that_others_can_read(hocket: Run, tmp_path: Path) -> None:
    """It is refused, with the way out; and so is one that is no such file."""
    path = tmp_path / "hocket" / "keys.json"
    path.parent.mkdir()
    path.write_text('{"OPENAI_API_KEY": "x"}')
    path.chmod(0o644)
    for arguments in (["models"], ["keys", "list"], ["chat", "--model", "openai:small", "Hi"]):
        done = hocket(*arguments, **config(tmp_path))
        assert done.returncode == 2 and f"`chmod 600 {path}`" in done.stderr
    path.chmod(0o600)
    for text in ("{", "[1]", '{"A": 1}'):
        path.write_text(text)
        assert "is no JSON object" in hocket("chat", "--model", "openai:small", "Hi", **config(tmp_path)).stderr


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX's")
def test_who_needs_no_key_reads_no_file(hocket: Run, tmp_path: Path) -> None:
    """So that `chmod 600 $(hocket keys path)` mends it, and what asks nobody works meanwhile."""
    path = tmp_path / "hocket" / "keys.json"
    path.parent.mkdir()
    path.write_text("{")
    path.chmod(0o644)
    assert hocket("keys", "path", **config(tmp_path)).stdout == f"{path}\n"
    assert hocket("-m", "fake:Hello.", "Hi", **config(tmp_path)).stdout == "Hello.\n"
    with serve(OpenAIFormat(), "Hello.") as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-other", **config(tmp_path)}
        assert hocket("-m", "openai:small", "Hi", **env).stdout == "Hello.\n"


def test_a_key_is_typed_unseen(terminal: Callable[..., Any], tmp_path: Path) -> None:
    """The screen shows the question for it, and not the key; Ctrl-C changes nothing."""
    screen = terminal("set", "openai", command="keys", **config(tmp_path))
    screen.wait_for("key of openai (it is not shown): ")
    screen.press(f"{KEY}\n")
    screen.wait_for("the key is kept in")
    assert screen.end() == 0 and KEY not in screen.said
    again = terminal("set", "groq", command="keys", **config(tmp_path))
    again.wait_for("key of groq")
    again.press("\x03")
    assert again.end() == 130
    assert list((tmp_path / "hocket").iterdir()) == [tmp_path / "hocket" / "keys.json"]
    assert KEY in (tmp_path / "hocket" / "keys.json").read_text()


def test_a_key_of_a_server(hocket: Run, tmp_path: Path) -> None:
    """Goes to exactly that origin: to no other port, scheme or host, also where the address looks alike."""
    with serve(OpenAIFormat(), ["Hello.", "Hello."]) as own, serve(OpenAIFormat(), ["Hello."]) as other:
        done = hocket("keys", "set", own.url, stdin=KEY, **config(tmp_path))
        origin = own.url.removesuffix("/v1")
        assert done.returncode == 0 and f"as {origin}" in done.stderr and KEY not in done.stderr
        for url in (own.url, other.url, own.url.replace("127.0.0.1", "localhost")):
            assert hocket("--base-url", url, "-m", "small", "Hi", **config(tmp_path)).stdout == "Hello.\n"
    sent = [request.headers.get("authorization") for server in (own, other) for request in server.requests]
    assert sent == [f"Bearer {KEY}", None, None]
    assert hocket("keys", "list", **config(tmp_path)).stdout == f"{origin}\n"
    assert hocket("keys", "remove", own.url, **config(tmp_path)).returncode == 0
    assert hocket("keys", "list", **config(tmp_path)).stdout == ""


def test_a_refused_key_names_the_command(hocket: Run, tmp_path: Path) -> None:
    """Not Python's argument; and what is typed wrong has its words."""
    with serve(OpenAIFormat(), [Status(401, "who are you?")]) as server:
        done = hocket("--base-url", server.url, "-m", "small", "Hi", **config(tmp_path))
    assert done.returncode == 3 and f"`hocket keys set {server.url.removesuffix('/v1')}`" in done.stderr
    assert "api_key" not in done.stderr
    assert "name a command: set, list" in hocket("keys").stderr
    assert "argument COMMAND: there is no 'lst'; did you mean list?" in hocket("keys", "lst").stderr
