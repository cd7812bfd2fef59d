"""Traces, metrics and logs of what hocket does, for the tools that a team already has.

    from hocket.tracing import instrument

    instrument()  # OpenTelemetry: spans, metrics, and events of every run of this process

`LogHandler` needs no package; the rest needs ``opentelemetry-api``: ``pip install 'hocket[otel]'``.
"""

from typing import TYPE_CHECKING, Any

from hocket._runtime.lazy import loader
from hocket.errors import MissingDependency
from hocket.tracing.json_formatter import JSONFormatter
from hocket.tracing.log_handler import LogHandler

if TYPE_CHECKING:
    from hocket.tracing.handler import OpenTelemetryHandler
    from hocket.tracing.process import HocketInstrumentor, instrument, uninstrument

__all__ = [
    "HocketInstrumentor",
    "JSONFormatter",
    "LogHandler",
    "OpenTelemetryHandler",
    "instrument",
    "uninstrument",
]

_load = loader(
    __name__,
    {
        "handler": "OpenTelemetryHandler",
        "process": "HocketInstrumentor instrument uninstrument",
    },
)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise MissingDependency("traces of OpenTelemetry need its API; run `pip install 'hocket[otel]'`") from error
