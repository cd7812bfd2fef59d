"""What traces cost: a call whose runs nobody takes, and one with spans and metrics beside OpenTelemetry's own helper.

The helper is ``opentelemetry-util-genai``, which the instrumentations of OpenTelemetry's project are made with. What it
adds to a call is the span with the same facts, made around the same call of hocket's.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from .bench import Bench, Case, awaiting
from .harness import Body, Target, measure
from .library import answering, library
from .table import Row, row_of

__all__ = ["CASES"]


@cache
def _providers() -> tuple[Any, Any]:
    """Return providers of the SDK whose spans nobody exports, and whose metrics are summed."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider

    return TracerProvider(), MeterProvider([InMemoryMetricReader()])


def _calling(model: Any) -> Body:
    return awaiting(lambda: model.ainvoke("hi"))


def _instrumented(body: Body, **options: Any) -> Body:
    """Return ``body`` in a process that is instrumented for as long as it runs."""
    from hocket.tracing import instrument, uninstrument

    def turn(count: int) -> None:
        instrument(**options)
        try:
            body(count)
        finally:
            uninstrument()

    return turn


def idle(bench: Bench) -> Iterator[Row]:
    """A call in a process that is instrumented and has no SDK."""
    body = _calling(answering(library("hocket")))
    contenders: dict[str, Callable[[], Body]] = {"hocket": lambda: _instrumented(body), "bare": lambda: body}
    yield row_of(
        bench.case, "ainvoke, instrumented, no SDK", measure(contenders, bench.plan), Target(1.15, over="bare")
    )


def spans(bench: Bench) -> Iterator[Row]:
    """A call that is a span and two metrics: what that adds to the call, beside what the helper adds."""
    model = answering(library("hocket"))
    body = _calling(model)

    def build_peer() -> Body:
        from opentelemetry.util.genai.handler import TelemetryHandler

        tracers, meters = _providers()
        handler = TelemetryHandler(tracers, meters, instrumentation_scope_name="hocket")

        async def call() -> None:
            with handler.inference("answering", request_model="answering") as inference:
                await model.ainvoke("hi")
                inference.response_model_name = "answering"

        return awaiting(call)

    def build() -> Body:
        tracers, meters = _providers()
        return _instrumented(body, tracer_provider=tracers, meter_provider=meters)

    samples = measure({"hocket": build, "peer": build_peer, "bare": lambda: body}, bench.plan)
    bare = samples.micros.pop("bare", [])
    for name in samples.micros:
        samples.micros[name] = [own - least for own, least in zip(samples.micros[name], bare, strict=False)]
    yield row_of(bench.case, "added by a span, with the SDK", samples, Target(1.3, over="peer"))


CASES: dict[str, Case] = {"tracing": idle, "spans": spans}
"""What the cases are called on the command line."""
