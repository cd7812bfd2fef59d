"""Switching it on and off: for the process, for a call, by a command; and bad input."""

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from typing import Any

import pytest
from opentelemetry import trace

from hocket.callbacks import run_listeners
from hocket.errors import InvalidInput
from hocket.language_models import FakeListChatModel
from hocket.runnables import RunnableLambda
from hocket.tracing import HocketInstrumentor, OpenTelemetryHandler, instrument, uninstrument
from tests.tracing.telemetry import Collected, collect

MODEL = FakeListChatModel(responses=["hi"])
CHAT = "chat fake-list-chat-model"


def run(program: str, *command: str, **environment: str) -> str:
    """Run a program in a process of its own, and return what it prints."""
    done = subprocess.run(
        [*(command or (sys.executable,)), "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_last_call_rules(collected: Collected) -> None:
    """There is one handler at most."""
    other = collect()
    other.instrument()
    MODEL.invoke("x")
    assert (collected.names, other.names) == ([], [CHAT])
    other.shutdown()


def test_it_can_be_switched_off(collected: Collected) -> None:
    """Twice is once; runs that have begun end as they began."""
    stream = FakeListChatModel(responses=["x" * 200]).stream("x")
    next(iter(stream))
    uninstrument()
    uninstrument()
    stream.close()
    MODEL.invoke("x")
    assert collected.names == [CHAT]
    assert run_listeners._registrations == ()


def test_a_handler_is_for_single_calls() -> None:
    """Whatever runs inside is traced, too."""
    found = collect()
    chain = RunnableLambda(lambda text: text) | MODEL
    chain.invoke("x", {"callbacks": [found.handler()]})
    MODEL.invoke("x")
    assert sorted(found.names) == [CHAT, "invoke_workflow RunnableLambda", "invoke_workflow RunnableSequence"]
    found.shutdown()


def test_a_call_with_a_handler_of_its_own_is_traced_by_that_alone(collected: Collected) -> None:
    """Not twice."""
    own = collect()
    (RunnableLambda(lambda text: text) | MODEL).invoke("x", {"callbacks": [own.handler()]})
    assert (len(collected.spans), len(own.spans)) == (0, 3)
    own.shutdown()


def test_without_providers_nothing_is_done() -> None:
    """As long as the process has none; a test that sets one cannot take it back, so it has its own process."""
    print_it = run(
        """
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        from hocket.callbacks.run_listeners import has_ambient_handlers
        from hocket.language_models import FakeListChatModel
        from hocket.tracing import instrument

        instrument()
        model = FakeListChatModel(responses=["hi"])
        model.invoke("x")
        print(has_ambient_handlers())
        spans = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(spans))
        trace.set_tracer_provider(provider)
        model.invoke("x")
        print(has_ambient_handlers(), [span.name for span in spans.get_finished_spans()])
        """
    )
    assert print_it.splitlines() == ["False", f"True ['{CHAT}']"]


def test_sampling_leaves_spans_out_and_counts_all(instrumented: Any) -> None:
    """Metrics are of every call."""
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    found = collect(sampler=ALWAYS_OFF)
    found.instrument(capture_content=True)
    MODEL.invoke("x")
    assert found.names == []
    assert found.points("gen_ai.client.operation.duration")[0].count == 1
    uninstrument()
    found.shutdown()


COMMAND = "from opentelemetry.instrumentation.auto_instrumentation import run; run()"
HAS_COMMAND = (
    importlib.util.find_spec("wrapt") is not None and importlib.util.find_spec("opentelemetry.distro") is not None
)


@pytest.mark.skipif(not HAS_COMMAND, reason="opentelemetry-distro is not installed; it comes with the group `test`")
@pytest.mark.parametrize("disabled", ["", "hocket"])
def test_the_command_needs_no_line_of_code(disabled: str) -> None:
    """``opentelemetry-instrument`` finds the entry point, and sets the providers; unless it is told to leave hocket out."""
    program = """
        from hocket.language_models import FakeListChatModel
        FakeListChatModel(responses=["a heron"]).invoke("x")
        """
    exporters = {f"OTEL_{kind}_EXPORTER": "none" for kind in ("METRICS", "LOGS")} | {"OTEL_TRACES_EXPORTER": "console"}
    command = (sys.executable, "-c", COMMAND, sys.executable)
    printed = run(program, *command, **exporters, OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=disabled)
    assert "heron" not in printed
    if disabled:
        assert printed == ""
    else:
        span = json.loads(printed)
        assert (span["name"], span["kind"]) == (CHAT, "SpanKind.CLIENT")


def test_an_instrumentor_takes_the_commands_arguments() -> None:
    """Of them, the providers count."""
    collected = collect()
    instrumentor = HocketInstrumentor()
    instrumentor.instrument(skip_dep_check=True, **collected.providers)
    MODEL.invoke("x")
    instrumentor.uninstrument()
    MODEL.invoke("x")
    assert collected.names == [CHAT]
    collected.shutdown()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tracer_provider": object()}, r"tracer_provider is <object.*; it must be an object with get_tracer\(\)"),
        ({"tracer_provider": "http://localhost:4318"}, r"must be an object with get_tracer\(\), such as the SDK's"),
        ({"meter_provider": trace.get_tracer_provider()}, r"must be an object with get_meter\(\)"),
        ({"logger_provider": dict}, r"must be an object with get_logger\(\)"),
        ({"semconv": "lastest"}, r"semconv is 'lastest'; did you mean 'latest'"),
        ({"semconv": 1}, r"semconv is 1; "),
        ({"redact": "email"}, r"redact is 'email'; it is a function"),
        ({"max_content_bytes": 0}, r"max_content_bytes is 0; it is a number above 0, or None"),
    ],
)
def test_bad_input_is_refused(collected: Collected, options: dict[str, Any], message: str) -> None:
    """By a message that says what to do; what was switched on stays so."""
    with pytest.raises(InvalidInput, match=message):
        OpenTelemetryHandler(**options)
    with pytest.raises(InvalidInput, match=message):
        instrument(**options)
    MODEL.invoke("x")
    assert collected.names == [CHAT]


def test_without_the_package_the_extra_is_named() -> None:
    """`LogHandler` works without it; importing hocket loads none of it."""
    printed = run(
        """
        import sys
        import hocket
        from hocket.language_models import FakeListChatModel
        FakeListChatModel(responses=["hi"]).invoke("x")
        print([name for name in sys.modules if name.startswith(("opentelemetry", "hocket.tracing"))])
        sys.modules["opentelemetry"] = None
        from hocket.tracing import LogHandler
        FakeListChatModel(responses=["hi"]).invoke("x", {"callbacks": [LogHandler()]})
        try:
            from hocket.tracing import instrument
        except ImportError as error:
            print(type(error).__name__, error)
        """
    )
    assert printed.splitlines() == [
        "[]",
        "MissingDependency traces of OpenTelemetry need its API; run `pip install 'hocket[otel]'`",
    ]
