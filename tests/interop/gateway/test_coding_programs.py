"""Claude Code and Codex themselves in front of the gateway, each provider behind it: a question, and a file that they read.

They are programs of half a gigabyte, installed from npm at first use; where that cannot be done, the tests are skipped.
What they send stands, cut down, in `tests/serving/fixtures`, whose tests need neither.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.gateway.gateway import FILE, KEY, Gateway
from tests.kit.providers import PROVIDERS
from tests.live.mocks import install
from tests.serving.conftest import run_server

if os.environ.get("HOCKET_INTEROP") != "all":
    pytest.skip("scripts/interop runs them", allow_module_level=True)

CLAUDE = "@anthropic-ai/claude-code@2.1.332"
CODEX = "@openai/codex@0.171.0"
CONFIG = """
model_provider = "hocket"
[model_providers.hocket]
name = "hocket"
base_url = "{url}/v1"
env_key = "HOCKET_KEY"
wire_api = "responses"
"""


def find_program(package: str, name: str) -> str:
    """Return the path of a program; it skips where there is none."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("the program is a package of npm's, and there is no npm here")
    quiet = ["--no-audit", "--no-fund", "--silent", "--fetch-retries=0", "--fetch-timeout=20000"]
    folder = package.strip("@").replace("/", "-").replace("@", "-")
    home = install(folder, lambda home: [[npm, "install", "--prefix", str(home), *quiet, package]])
    return str(home / "node_modules" / ".bin" / name)


@pytest.fixture(scope="module")
def gateway() -> Iterator[tuple[str, Gateway]]:
    with ExitStack() as stack:
        gateway = Gateway(stack)
        yield stack.enter_context(run_server(gateway)), gateway


def run(folder: Path, command: list[str], **environment: str) -> str:
    """Return what a program says, run in a folder and with an environment of its own."""
    (folder / FILE[0]).write_text(FILE[1])
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    done = subprocess.run(
        command, cwd=folder, env=own, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.mark.parametrize("provider", PROVIDERS)
def test_claude_code(gateway: tuple[str, Gateway], tmp_path: Path, provider: str):
    """Reads a file by a tool of its own, and tells the answer."""
    url, asked = gateway[0], gateway[1].asked
    model = f"{provider}-file"
    before = asked[model]
    told = run(
        tmp_path,
        [find_program(CLAUDE, "claude"), "-p", "What do my notes say?"],
        ANTHROPIC_BASE_URL=url,
        ANTHROPIC_AUTH_TOKEN=KEY,
        ANTHROPIC_MODEL=model,
        ANTHROPIC_SMALL_FAST_MODEL=model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )
    assert told.strip() == "It says hello." and asked[model] - before == 2, "nothing was refused and asked again"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_codex(gateway: tuple[str, Gateway], tmp_path: Path, provider: str):
    """Reads a file by its shell, and tells the answer."""
    url, asked = gateway[0], gateway[1].asked
    model = f"{provider}-file"
    before = asked[model]
    home = tmp_path / ".codex"
    home.mkdir()
    (home / "config.toml").write_text(CONFIG.format(url=url))
    command = [find_program(CODEX, "codex"), "exec", "--skip-git-repo-check", "-s", "danger-full-access", "-m", model]
    told = run(tmp_path, [*command, "What do my notes say?"], HOCKET_KEY=KEY)
    assert told.strip() == "It says hello." and asked[model] - before == 2, "nothing was refused and asked again"
