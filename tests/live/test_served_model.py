"""docs/serving.md begins with what to type: it is typed here, and the embedded model answers."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import warm
from tests.kit.amount import RUNS_ALL

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
ADDRESS = "http://127.0.0.1:8000"

pytestmark = pytest.mark.usefixtures("embedded_model")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address that the command of the page serves at; the port is a free one."""
    (command,) = re.findall(r"^hocket (serve local)$", PAGE, re.MULTILINE)
    command = ("-m", "hocket", *command.split(), "--port", "0")
    process = warm.Program(*command, imports="uvicorn", stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        (found,) = re.findall(r"(http://\S+)/v1", process.stderr.readline())
        yield found
    finally:
        process.kill()
        process.communicate()


@pytest.mark.nightly
def test_the_sdk_of_the_page(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's own client gets an answer, told by the variables that the page names."""
    openai = pytest.importorskip("openai", reason="it comes with `scripts/setup dev`")
    (address,) = re.findall(r"`OPENAI_BASE_URL=(\S+)`, `OPENAI_API_KEY`", PAGE)
    monkeypatch.setenv("OPENAI_BASE_URL", address.replace(ADDRESS, url))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    question = [{"role": "user", "content": "Say hello."}]
    with openai.OpenAI() as client:
        reply = client.chat.completions.create(model="local", messages=question, max_tokens=8)
    assert reply.choices[0].message.content


def test_the_request_of_the_page(url: str) -> None:
    """curl gets it in pieces, and all of it at night."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (request,) = re.findall(r"^curl (?:.|\\\n)*?'$\n(?=```)", PAGE, re.MULTILINE)
    assert ADDRESS in request and '"stream": true' in request
    if not RUNS_ALL:
        request = request.replace('"stream": true', '"stream": true, "max_tokens": 8')
    done = subprocess.run(
        ["sh", "-c", f"{request.strip()} -sS".replace(ADDRESS, url)], capture_output=True, text=True, check=True
    )
    assert "chat.completion.chunk" in done.stdout and done.stdout.endswith("data: [DONE]\n\n")
