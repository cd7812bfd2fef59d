"""Spans, metrics and events in memory, and questions about them."""

from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hocket.tracing import OpenTelemetryHandler, instrument


class Collected:
    """What was made with three providers that keep it in memory."""

    def __init__(self, **options: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False, **options)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self._reader = InMemoryMetricReader()
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self._records = InMemoryLogRecordExporter()
        self.loggers = LoggerProvider(shutdown_on_exit=False)
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self._records))

    @property
    def providers(self) -> dict[str, Any]:
        """As arguments."""
        return {"tracer_provider": self.tracers, "meter_provider": self.meters, "logger_provider": self.loggers}

    def instrument(self, **options: Any) -> None:
        """Have the process make them."""
        instrument(**{**self.providers, **options})

    def handler(self, **options: Any) -> OpenTelemetryHandler:
        """Return a handler for single calls."""
        return OpenTelemetryHandler(**{**self.providers, **options})

    def shutdown(self) -> None:
        """End the providers."""
        self.tracers.shutdown()
        self.meters.shutdown()
        self.loggers.shutdown()

    # -- spans

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """The spans that have ended, in the order of their ends."""
        return self._exporter.get_finished_spans()

    @property
    def names(self) -> list[str]:
        """The names of the spans, in the order of their starts."""
        return [span.name for span in sorted(self.spans, key=lambda one: one.start_time or 0)]

    def span(self, name: str = "") -> ReadableSpan:
        """Return the only span of this name, or whose name begins so."""
        (found,) = [span for span in self.spans if span.name.startswith(name)]
        return found

    def parent(self, span: ReadableSpan) -> str | None:
        """Return the name of the span's parent; None: it has none."""
        if span.parent is None:
            return None
        by_id = {one.context.span_id: one.name for one in self.spans if one.context is not None}
        return by_id[span.parent.span_id]

    # -- metrics

    def points(self, name: str) -> list[Any]:
        """Return the points of a metric."""
        data: Any = self._reader.get_metrics_data()
        metrics = (
            []
            if data is None
            else [metric for one in data.resource_metrics for scope in one.scope_metrics for metric in scope.metrics]
        )
        return [point for metric in metrics if metric.name == name for point in metric.data.data_points]

    @property
    def metric_names(self) -> set[str]:
        """The names of all metrics that were recorded."""
        data: Any = self._reader.get_metrics_data()
        if data is None:
            return set()
        return {metric.name for one in data.resource_metrics for scope in one.scope_metrics for metric in scope.metrics}

    def total(self, name: str, **attributes: Any) -> float:
        """Return the sum of a metric, over the points with these attributes (``_`` for a dot)."""
        wanted = {key.replace("__", "."): value for key, value in attributes.items()}
        return sum(
            point.sum if hasattr(point, "sum") else point.value
            for point in self.points(name)
            if wanted.items() <= dict(point.attributes).items()
        )

    @property
    def tokens(self) -> float:
        """All tokens that were counted."""
        return self.total("gen_ai.client.token.usage")

    # -- events, and everything

    @property
    def events(self) -> list[Any]:
        """The log records."""
        return [one.log_record for one in self._records.get_finished_logs()]

    def everything(self) -> str:
        """Return all that was made, as text: to look for what must not be in it."""
        spans = [span.to_json() for span in self.spans]
        data: Any = self._reader.get_metrics_data()
        records = [repr((one.attributes, one.body)) for one in self.events]
        return "\n".join([*spans, "" if data is None else data.to_json(), *records])


def collect(**options: Any) -> Collected:
    """Return what keeps telemetry in memory; ``options`` are the tracer provider's."""
    return Collected(**options)
