"""A pytest plugin for suites that test code built on hocket. Switch it on in the top-level ``conftest.py``:

    pytest_plugins = ["hocket.testing.plugin"]

Installing hocket alone changes nobody's tests, so it is not loaded by an entry point. Switched on, it

- runs every ``async def test_…`` on asyncio and on trio, through anyio's own pytest plugin, with async fixtures too.
  Tests marked ``asyncio`` stay with pytest-asyncio (keep that in its strict mode, the default). A suite that wants one
  loop only overrides the fixture ``anyio_backend``;
- refuses the network beyond this machine to every test and its fixtures, unless it is marked ``allow_network``;
- offers the fixture ``virtual_clock``;
- answers the model requests of a test marked ``cassette`` out of a file (`hocket.testing.cassette`), which
  ``pytest --hocket-record=once`` records;
- takes the tests marked ``eval`` for cases of an evaluation, whose verdict fails in their place (`hocket.testing.evals`).
"""

import importlib.util
import inspect
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from hocket.testing.cassettes.hooks import CassetteHooks, add_cassette_options
from hocket.testing.clock import VirtualClock, virtual_clock as put_in_use
from hocket.testing.evals import EvalHooks
from hocket.testing.network import no_network

__all__ = [
    "anyio_backend",
    "pytest_addoption",
    "pytest_configure",
    "pytest_pycollect_makeitem",
    "pytest_runtest_protocol",
    "virtual_clock",
]

WITHOUT_TRIO = pytest.mark.skipif(
    importlib.util.find_spec("trio") is None, reason="trio is not installed (`pip install trio` runs this test on it)"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for cassettes."""
    add_cassette_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and make sure that anyio's plugin is there.

    Raises:
        pytest.UsageError: it is not.
    """
    config.addinivalue_line("markers", "allow_network: let this test reach beyond this machine.")
    if not config.pluginmanager.has_plugin("anyio"):
        raise pytest.UsageError(
            "hocket.testing.plugin runs async tests through anyio's pytest plugin, which is switched off: drop "
            "`-p no:anyio`, or add `-p anyio` where PYTEST_DISABLE_PLUGIN_AUTOLOAD is set."
        )
    config.pluginmanager.register(CassetteHooks(config), "hocket-cassettes")
    config.pluginmanager.register(EvalHooks(config), "hocket-evals")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: Any) -> None:
    """Hand every async test to anyio, those of pytest-asyncio excepted."""
    function = obj.hypothesis.inner_test if hasattr(obj, "hypothesis") else obj
    if not (collector.istestfunction(obj, name) and inspect.iscoroutinefunction(function)):
        return
    own = {mark.name for mark in getattr(obj, "pytestmark", ())}
    if "asyncio" in own or collector.get_closest_marker("asyncio"):
        return
    pytest.mark.anyio(obj)
    pytest.mark.usefixtures("anyio_backend")(obj)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Keep the test and the set-up and tear-down of its fixtures off the network."""
    if item.get_closest_marker("allow_network"):
        return (yield)
    with no_network():
        return (yield)


@pytest.fixture(scope="module", params=["asyncio", pytest.param("trio", marks=WITHOUT_TRIO)])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    """The event loop that a test runs on."""
    return request.param


@pytest.fixture
def virtual_clock() -> Iterator[VirtualClock]:
    """A virtual clock that jumps by itself, in use for the length of the test."""
    with put_in_use() as clock:
        yield clock
