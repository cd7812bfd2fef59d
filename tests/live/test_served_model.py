"""docs/serving.md begins with what to type: it is typed here, and the embedded model answers."""

import contextlib
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.amount import RUNS_ALL

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
ADDRESS = "http://127.0.0.1:8000"

pytestmark = [pytest.mark.usefixtures("embedded_model"), pytest.mark.timeout(300)]  # a busy machine answers slowly


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address that the command of the page serves at; the port is a free one."""
    (command,) = re.findall(r"^hocket (serve local)$", PAGE, re.MULTILINE)
    process = subprocess.Popen(
        [sys.executable, "-m", "hocket", *command.split(), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        (found,) = re.findall(r"(http://\S+)/v1", process.stderr.readline())
        yield found
    finally:
        process.kill()
        process.communicate()


@pytest.mark.nightly
def test_the_program_of_the_page(url: str) -> None:
    """OpenAI's own client gets an answer."""
    pytest.importorskip("openai", reason="it comes with `scripts/setup dev`")
    program = next(code for code in re.findall(r"```python notest\n(.*?)```", PAGE, re.DOTALL) if "OpenAI(" in code)
    assert ADDRESS in program
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program.replace(ADDRESS, url), {})
    assert printed.getvalue().strip()


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
