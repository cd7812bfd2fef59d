"""A real OpenAI-compatible server for the tests of this folder: llama.cpp with SmolLM2, on loopback, with a key.

It is a very small model: assert the structure of its answers, never their wording.
"""

import http.client
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hocket.providers.local.weights import find_weights

READY = 30.0  # seconds that loading may take on a busy machine; half a second is usual
SERVER = Path(__file__).with_name("server.py")


@dataclass(frozen=True)
class LiveServer:
    """Where the server is and how it is asked.

    Attributes:
        root: its address; ``/health`` and ``/slots`` are below it.
        api_key: the one key that it takes.
        model: the name that its replies give; it takes any name in a request.
        n_ctx: the window of one request, in tokens.
        slots: requests that it answers at once; others wait their turn.
    """

    root: str
    api_key: str
    model: str = "smollm2"
    n_ctx: int = 2048
    slots: int = 2

    @property
    def base_url(self) -> str:
        """What a model's ``base_url`` is to be."""
        return f"{self.root}/v1"

    @property
    def options(self) -> dict[str, Any]:
        """What a model needs to ask it.

        No connection is used twice: llama.cpp closes each after a stream although it says ``keep-alive``, and a request
        that comes at once meets the closing, with any client.
        """
        headers = {"connection": "close"}
        return {"base_url": self.base_url, "api_key": self.api_key, "model": self.model, "default_headers": headers}


@pytest.fixture(scope="session")
def live_server(embedded_model: None) -> Iterator[LiveServer]:
    """A running server; it ends with the session, and with this process, however that ends."""
    key = f"sk-live-{secrets.token_hex(8)}"
    command = [sys.executable, str(SERVER), str(find_weights()), key, str(LiveServer.n_ctx), str(LiveServer.slots)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdin is not None and process.stdout is not None
            root = process.stdout.readline().strip()
            if not root:
                pytest.fail(f"the model's server ended with code {process.wait(READY)} instead of listening")
            wait_until_healthy(root)
            yield LiveServer(root, key)
            process.stdin.close()
            process.wait(READY)
        finally:
            process.kill()


def wait_until_healthy(root: str) -> None:
    """Return once the server at ``root`` has loaded its model."""
    until = time.monotonic() + READY
    while time.monotonic() < until:
        connection = http.client.HTTPConnection(root.removeprefix("http://"), timeout=READY)
        connection.request("GET", "/health")
        status = connection.getresponse().status
        connection.close()
        if status == 200:
            return
        time.sleep(0.05)  # 503: it is loading
    pytest.fail(f"the model's server was not ready after {READY:.0f} s")
