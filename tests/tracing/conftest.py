"""What traces are made with in the tests, and how they are read."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.measures.source import HAS_OTEL

if not HAS_OTEL:
    if os.environ.get("CI") == "true":
        raise pytest.UsageError("the SDK of OpenTelemetry is not installed, and CI runs the tests of tracing")
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.tracing.telemetry import Collected, collect

    @pytest.fixture
    def collected() -> Iterator["Collected"]:
        """What an instrumented process makes, by providers of the test's own."""
        from hocket.tracing import process, uninstrument

        found = collect()
        found.instrument()
        yield found
        if process._installed is not None:
            assert process._installed._telemetry.runs._runs == {}, "a run has ended, and its span is kept"
        uninstrument()
        found.shutdown()

    @pytest.fixture
    def instrumented() -> Iterator[Callable[..., "Collected"]]:
        """Instruments the process with options, and returns what it makes."""
        from hocket.tracing import uninstrument

        with ExitStack() as stack:

            def start(**options: Any) -> Collected:
                found = collect()
                stack.callback(found.shutdown)
                stack.callback(uninstrument)
                found.instrument(**options)
                return found

            yield start


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the environment says of OpenTelemetry."""
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
