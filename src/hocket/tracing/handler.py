"""`OpenTelemetryHandler`: what handlers hear of runs, as spans, metrics and events of OpenTelemetry's conventions."""

from opentelemetry._logs import LoggerProvider
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from hocket.tracing.content import Redact
from hocket.tracing.model_spans import ModelSpans
from hocket.tracing.step_spans import StepSpans
from hocket.tracing.telemetry import Telemetry

__all__ = ["OpenTelemetryHandler"]


class OpenTelemetryHandler(ModelSpans, StepSpans):
    """Makes spans, metrics and events of the runs that it hears of. For single calls; `instrument` is for all.

        reply = await model.ainvoke("...", {"callbacks": [OpenTelemetryHandler()]})

    Args:
        tracer_provider, meter_provider, logger_provider: what makes them; None: those of the process.
        capture_content: whether messages, arguments and results go into spans and events: True, False, or one of
            NO_CONTENT, SPAN_ONLY, EVENT_ONLY, SPAN_AND_EVENT. None: what the environment says
            (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT); by default they do not.
        semconv: the words of the metrics: "published" or "latest". None: what the environment says
            (OTEL_SEMCONV_STABILITY_OPT_IN); by default the published ones.
        redact: sees each part of a message before it is kept, a dict with its ``type``, and returns what is kept of it;
            None: nothing is.
        max_content_bytes: of a text in a part; the rest is left out. None: no limit.

    Raises:
        InvalidInput: an argument is none of these.
    """

    run_inline: bool = True
    only_measures: bool = True

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        capture_content: bool | str | None = None,
        semconv: str | None = None,
        redact: Redact | None = None,
        max_content_bytes: int | None = 65536,
    ) -> None:
        self._telemetry = Telemetry(
            tracer_provider, meter_provider, logger_provider, capture_content, semconv, redact, max_content_bytes
        )

    def __repr__(self) -> str:
        return f"OpenTelemetryHandler({self._telemetry!r})"

    @property
    def is_needed(self) -> bool:
        """Whether anybody takes what it makes: a provider was given, or the process has one."""
        return self._telemetry.is_needed
