"""What a real receiver gets over OTLP: PyPI's ``oteltap``. It runs on asyncio alone."""

import asyncio
import math
import socket
from typing import Any

import anyio
import pytest
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from oteltap import OtelTapHttpProtobufReceiver, OtelTapHttpProtobufReceiverSettings, OtelTapInitializationError

from hocket.providers.openai import ChatOpenAI
from hocket.testing import OpenAIFormat, Reply, serve
from hocket.tracing import OpenTelemetryHandler

WITHIN = 30  # seconds; it takes less than one


async def start() -> tuple[OtelTapHttpProtobufReceiver, int]:
    """Return a receiver that has started, and its port."""
    for attempt in range(5):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port: int = taken.getsockname()[1]
        receiver = OtelTapHttpProtobufReceiver(OtelTapHttpProtobufReceiverSettings(http_port=port))
        try:
            return await receiver.start(), port
        except OtelTapInitializationError:
            if attempt == 4:
                raise
    raise AssertionError


def read(attributes: Any) -> dict[str, Any]:
    """Return attributes of OTLP as a dict."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_collector_gets_spans_metrics_and_events(anyio_backend: str) -> None:
    """Over OTLP, with what it needs to draw a trace."""
    receiver, port = await start()
    spans = TracerProvider(shutdown_on_exit=False)
    metrics = MeterProvider(
        [PeriodicExportingMetricReader(OTLPMetricExporter(f"http://127.0.0.1:{port}/v1/metrics"), math.inf)],
        shutdown_on_exit=False,
    )
    logs = LoggerProvider(shutdown_on_exit=False)
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"http://127.0.0.1:{port}/v1/traces")))
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(f"http://127.0.0.1:{port}/v1/logs")))
    handler = OpenTelemetryHandler(
        tracer_provider=spans, meter_provider=metrics, logger_provider=logs, capture_content="EVENT_ONLY"
    )
    # It tells of what comes, and not of what has come.
    waiting = asyncio.gather(
        receiver.await_trace(lambda one: one.name == "chat m-1", WITHIN),
        receiver.await_metric(lambda one: one.name == "gen_ai.client.token.usage", WITHIN),
        receiver.await_log(lambda one: one.event_name.startswith("gen_ai.client"), WITHIN),
    )
    try:
        async with serve(OpenAIFormat(), [Reply("a heron")]) as server:
            await ChatOpenAI(model="m-1", base_url=server.url, api_key="k").ainvoke("x", {"callbacks": [handler]})
        for provider in (spans, metrics, logs):
            await anyio.to_thread.run_sync(provider.force_flush)

        span, tokens, event = await waiting
        assert read(span.attributes)["gen_ai.provider.name"] == "openai"
        assert sum(point.sum for point in tokens.histogram.data_points) == server.tokens_billed
        assert (event.trace_id, event.span_id) == (span.trace_id, span.span_id)
        assert "a heron" in str(event.attributes)
        assert "a heron" not in str(span)
    finally:
        for provider in (spans, metrics, logs):
            await anyio.to_thread.run_sync(provider.shutdown)
        await receiver.stop()
