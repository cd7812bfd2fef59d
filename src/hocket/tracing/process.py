"""Tracing of a whole process, switched on and off."""

from opentelemetry._logs import LoggerProvider
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from hocket.callbacks import register_handler, unregister_handler
from hocket.tracing.content import Redact
from hocket.tracing.handler import OpenTelemetryHandler

__all__ = ["HocketInstrumentor", "instrument", "uninstrument"]

_installed: OpenTelemetryHandler | None = None


def instrument(
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    logger_provider: LoggerProvider | None = None,
    capture_content: bool | str | None = None,
    semconv: str | None = None,
    redact: Redact | None = None,
    max_content_bytes: int | None = 65536,
) -> None:
    """Trace every run of this process from now on. Called again, the last call rules.

    Until the process has a provider of OpenTelemetry's SDK, or one is given here, calls cost what they cost without it. A
    call that has an `OpenTelemetryHandler` of its own is traced by that one alone.

    Args:
        tracer_provider, meter_provider, logger_provider: what makes spans, metrics and events; None: those of the process,
            also where they are set later.
        capture_content, semconv, redact, max_content_bytes: see `OpenTelemetryHandler`.

    Raises:
        InvalidInput: an argument is none of these.
    """
    global _installed
    handler = OpenTelemetryHandler(
        tracer_provider=tracer_provider,
        meter_provider=meter_provider,
        logger_provider=logger_provider,
        capture_content=capture_content,
        semconv=semconv,
        redact=redact,
        max_content_bytes=max_content_bytes,
    )
    uninstrument()
    _installed = handler
    register_handler(handler, active=lambda: handler.is_needed, unless_given=True)


def uninstrument() -> None:
    """Trace no run that starts from now on. Runs that have begun are traced to their ends. Nothing, if none were."""
    global _installed
    if _installed is not None:
        unregister_handler(_installed)
        _installed = None


class HocketInstrumentor:
    """What the command ``opentelemetry-instrument`` calls, by an entry point: no line of code is needed then."""

    def instrument(self, **kwargs: object) -> None:
        """Trace every run of this process. Of ``kwargs``, the providers count."""
        given = {name: kwargs[name] for name in _PROVIDERS if kwargs.get(name) is not None}
        instrument(**given)  # type: ignore[arg-type]  # it checks them

    def uninstrument(self, **kwargs: object) -> None:
        """Trace no more runs."""
        uninstrument()


_PROVIDERS = ("tracer_provider", "meter_provider", "logger_provider")
