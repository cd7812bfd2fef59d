"""The `hocket` command against a real model behind a real server."""

import os
import re
import subprocess
from typing import Any

from tests.kit.warm import run


def test_the_command_against_a_real_server(live_server: Any) -> None:
    """It finds the server's model, streams an answer, and counts its tokens; without the key it says so."""
    environ = {**os.environ, "OPENAI_BASE_URL": live_server.base_url, "OPENAI_API_KEY": live_server.api_key}

    def hocket(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return run("-m", "hocket", *arguments, env={**environ, **more}, capture_output=True)

    assert hocket("models", "openai").stdout == f"{live_server.model}\n"
    ask = ("chat", "Count to five.", "--model", f"openai:{live_server.model}", "--max-tokens", "12", "--stats")
    done = hocket(*ask, "--temperature", "0.2")
    assert done.returncode == 0 and done.stdout.strip()
    assert re.match(r"hocket: \d+ tokens in, \d+ out; first token after [\d.]+ s; ", done.stderr)
    assert live_server.api_key not in done.stdout + done.stderr
    done = hocket(*ask, OPENAI_API_KEY="wrong")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (3, "", 1)
