"""A table: programs of others in front of the gateway, each with its own way to ask, and every provider behind it.

Each client asks by the API that it asks by itself, as its documents say, with nothing set but the address and the key. Of
each provider one server speaks the format, and refuses what the real one would. A client plays all its scenes in one
process; the tests look at what came of each.

Those of npm are installed at first use into a cache folder of the user's; where that cannot be done, they are skipped.
OpenAI's and Anthropic's SDKs for Python are asked in `tests/serving`, and Claude Code's and Codex's requests, too.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.interop.gateway.clients import CLIENTS
from tests.interop.gateway.gateway import CITY, KEY, Gateway
from tests.kit.providers import PROVIDERS
from tests.live.mocks import install
from tests.serving.conftest import run_server

if os.environ.get("HOCKET_INTEROP") != "all":
    pytest.skip("scripts/interop runs them", allow_module_level=True)

HERE = Path(__file__).parent
OF_NPM: dict[str, tuple[str, ...]] = {
    "openai-js": ("openai@7.59.0",),
    "openai-js-responses": ("openai@7.59.0",),
    "anthropic-js": ("@anthropic-ai/sdk@1.14.0",),
    "ai-openai": ("ai@7.0.173", "@ai-sdk/openai@4.0.118"),
    "ai-openai-compatible": ("ai@7.0.173", "@ai-sdk/openai-compatible@3.0.92"),
    "ai-anthropic": ("ai@7.0.173", "@ai-sdk/anthropic@4.0.105"),
}
EMBEDDING = {
    *("langchain-openai", "langchain-openai-responses", "litellm-openai"),
    *("openai-js", "ai-openai", "ai-openai-compatible"),
}
MOST = 3  # requests for one that is refused: what the official SDKs send at most
SCENES = [
    *[(what, f"{provider}-{what}") for provider in PROVIDERS for what in ("answer", "stream", "tool", "typed")],
    ("embed", "vectors"),
    ("leave", "openai-leave"),
    ("leave", "anthropic-leave"),
    ("unknown key", "plain"),
    ("unknown model", "gpt-99"),
    ("spent budget", "spent"),
    ("busy", "openai-busy"),
]


class Told(NamedTuple):
    """What came of a client's scenes, by what and which model; the gateway that it asked, and its name."""

    results: dict[tuple[str, str], Any]
    gateway: Gateway
    client: str


def play(name: str, url: str) -> list[Any]:
    """Have a client play the scenes; it skips where there is none."""
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    if name in CLIENTS:
        command = [sys.executable, str(HERE / "clients.py")]
    else:
        node, npm = shutil.which("node"), shutil.which("npm")
        if node is None or npm is None:
            pytest.skip("the client is a package of npm's, and there is no node or npm here")
        quiet = [
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--silent",
            "--fetch-retries=0",
            "--fetch-timeout=20000",
        ]
        folder = "-".join(package.strip("@").replace("/", "-").replace("@", "-") for package in OF_NPM[name])
        home = install(folder, lambda home: [[npm, "install", "--prefix", str(home), *quiet, *OF_NPM[name]]])
        command = [node, str(HERE / "clients.mjs"), str(home)]
    scenes = json.dumps(SCENES)
    done = subprocess.run(
        [*command, name, url, KEY, scenes], capture_output=True, text=True, timeout=200, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return results


@pytest.fixture(scope="module", params=[*CLIENTS, *OF_NPM])
def told(request: pytest.FixtureRequest) -> Iterator[Told]:
    with ExitStack() as stack:
        gateway = Gateway(stack)
        url = stack.enter_context(run_server(gateway))
        yield Told(dict(zip(SCENES, play(request.param, url), strict=True)), gateway, request.param)


def of_providers(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.parametrize("provider", PROVIDERS)(test)


@of_providers
def test_an_answer(told: Told, provider: str):
    assert told.results["answer", f"{provider}-answer"] == "Hello there, you all."


@of_providers
def test_a_stream(told: Told, provider: str):
    """In pieces, and no word is lost."""
    pieces = told.results["stream", f"{provider}-stream"]
    assert isinstance(pieces, list) and len(pieces) > 1 and "".join(pieces) == "Hello there, you all.", pieces


@of_providers
def test_a_tool(told: Told, provider: str):
    """The client runs it, and is told the answer that was made of its result."""
    calls, text = told.results["tool", f"{provider}-tool"]
    assert calls == [{"city": "Oslo"}] and text.endswith("It rains."), text


@of_providers
def test_an_object(told: Told, provider: str):
    """By whichever way the client asks for one."""
    assert told.results["typed", f"{provider}-typed"] == CITY


def test_a_vector(told: Told):
    """Of a text, as base64 or as numbers."""
    if told.client not in EMBEDDING:
        pytest.skip("this client asks for none")
    vector = told.results["embed", "vectors"]
    assert len(vector) == 3 and all(isinstance(one, float) for one in vector), vector


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_client_that_leaves(told: Told, provider: str):
    """Has the call of the model's server ended."""
    first = told.results["leave", f"{provider}-leave"]
    assert isinstance(first, str) and first.startswith("Hello"), first
    told.gateway.leaving[provider].block_for(lambda server: server.open_connections == 0, within=30)


@pytest.mark.parametrize(
    ("what", "model", "status"),
    [
        ("unknown key", "plain", 401),
        ("unknown model", "gpt-99", 404),
        ("spent budget", "spent", 429),
        ("busy", "openai-busy", 429),
    ],
)
def test_a_refusal(told: Told, what: str, model: str, status: int):
    """The client tells it as what it is, and does not ask again and again."""
    result = told.results[what, model]
    assert result["status"] == status, result
    asked = told.gateway.asked[model]
    assert asked <= (MOST if status == 429 else 1), asked
    if what == "spent budget" and not told.client.startswith("ai-"):  # which does not know x-should-retry
        assert asked == 1, "the gateway says that it is no use"
