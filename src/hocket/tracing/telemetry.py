"""What one handler makes telemetry with: tracer, instruments, logger, and what may be in it.

By default the content of messages goes into no span and no event.
"""

import os
import warnings
from collections.abc import Mapping
from typing import NamedTuple, cast

from opentelemetry import _logs, metrics, trace
from opentelemetry._logs import LoggerProvider, LogRecord, SeverityNumber
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from hocket._secrets import known_secrets, redact
from hocket._version import __version__
from hocket.errors import HocketWarning, InvalidInput
from hocket.errors.hints import near_name_hint
from hocket.tracing import conventions as names
from hocket.tracing.content import ContentWriter, Redact, as_json
from hocket.tracing.conventions import CAPTURE_VARIABLE
from hocket.tracing.instruments import Attributes, Instruments
from hocket.tracing.spans import OpenRun, OpenRuns

__all__ = ["Capture", "Telemetry", "read_capture"]

_INFERENCE = frozenset({names.CHAT, names.TEXT_COMPLETION})
_PLACEHOLDERS = ("opentelemetry.trace", "opentelemetry.metrics", "opentelemetry._logs")


class Telemetry:
    """Makes spans, metrics and events. The arguments are those of `OpenTelemetryHandler`.

    Attributes:
        runs: those that have started and not ended.
        instruments: records metrics.
        capture: where content goes.
        writer: writes it.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None,
        meter_provider: MeterProvider | None,
        logger_provider: LoggerProvider | None,
        capture_content: bool | str | None,
        semconv: str | None,
        redact: Redact | None,
        max_content_bytes: int | None,
    ) -> None:
        _check_provider("tracer_provider", tracer_provider, "get_tracer")
        _check_provider("meter_provider", meter_provider, "get_meter")
        _check_provider("logger_provider", logger_provider, "get_logger")
        if redact is not None and not callable(redact):
            raise InvalidInput(f"redact is {redact!r}; it is a function that takes a part of a message and returns it")
        if max_content_bytes is not None and (not isinstance(max_content_bytes, int) or max_content_bytes < 1):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"max_content_bytes is {max_content_bytes!r}; it is a number above 0, or None")
        self.vocabulary: names.Vocabulary = _read_vocabulary(semconv)
        self.capture: Capture = read_capture(capture_content)
        self.writer: ContentWriter = ContentWriter(
            redact, max_content_bytes, has_finish_reasons=self.vocabulary.has_finish_reasons
        )
        about = (names.SCOPE, __version__)
        self.runs: OpenRuns = OpenRuns(trace.get_tracer(*about, tracer_provider, names.SCHEMA_URL))
        self.instruments: Instruments = Instruments(
            metrics.get_meter(*about, meter_provider, names.SCHEMA_URL), self.vocabulary
        )
        self._logger = _logs.get_logger(*about, logger_provider, names.SCHEMA_URL)
        self._is_needed = any(one is not None for one in (tracer_provider, meter_provider, logger_provider))
        # Asked here once: the first question may load a provider that the environment names, from the disk.
        trace.get_tracer_provider()
        metrics.get_meter_provider()

    def __repr__(self) -> str:
        return f"semconv={self.vocabulary.name!r}, {self.capture}"

    @property
    def is_needed(self) -> bool:
        """Whether anybody takes what is made. Once that is so it stays so: a process sets its providers once."""
        if not self._is_needed and _may_be_set():
            found = trace.get_tracer_provider(), metrics.get_meter_provider()
            self._is_needed = not all(type(one).__module__.startswith(_PLACEHOLDERS) for one in found)
        return self._is_needed

    def show_error(self, error: BaseException) -> str | None:
        """Return an error's message, which may quote content; None: content is not captured."""
        return redact(str(error), known_secrets()) if self.capture.in_spans else None

    def finish(self, run: OpenRun, facts: Attributes) -> None:
        """End the span of a run, with ``facts`` of its end, and tell its event, if there are to be some."""
        span = run.span
        try:
            content = redact(run.content, known_secrets()) if run.content else run.content
            if span.is_recording():
                span.set_attributes(facts)
                if self.capture.in_spans and content:
                    span.set_attributes({key: _write(value) for key, value in content.items()})
            if self.capture.in_events and run.operation in _INFERENCE:
                self._emit_details(run, {**run.details, **run.common, **facts, **content})
        finally:
            span.end()

    def _emit_details(self, run: OpenRun, attributes: Mapping[str, object]) -> None:
        record = LogRecord(
            context=run.context,
            severity_number=SeverityNumber.INFO,
            event_name=names.DETAILS_EVENT,
            attributes=cast("Mapping[str, str]", attributes),  # nested data, which attributes of events may be
        )
        self._logger.emit(record)


def _may_be_set() -> bool:
    """Whether the process may have a provider. A look at the API's own variables, or a yes where they are not known.

    Every call asks, as long as there is none. The API's functions look into the environment each time, which takes a tenth
    of a call.
    """
    return _TRACERS.get("_TRACER_PROVIDER", True) is not None or _METERS.get("_METER_PROVIDER", True) is not None


_TRACERS: Mapping[str, object] = trace.get_tracer_provider.__globals__
_METERS: Mapping[str, object] = metrics.get_meter_provider.__globals__


def _write(value: object) -> str:
    return value if isinstance(value, str) else as_json(value)


def _check_provider(name: str, provider: object, method: str) -> None:
    if provider is not None and (isinstance(provider, type) or not callable(getattr(provider, method, None))):
        raise InvalidInput(f"{name} is {provider!r}; it must be an object with {method}(), such as the SDK's, or None")


def _read_vocabulary(semconv: object) -> names.Vocabulary:
    """Return the vocabulary that ``semconv`` names; None: the one that the environment asks for.

    Raises:
        InvalidInput: there is none of this name.
    """
    if semconv is None:
        asked = os.environ.get(names.OPT_IN_VARIABLE, "").split(",")
        return names.LATEST if names.OPT_IN in [one.strip() for one in asked] else names.PUBLISHED
    found = names.VOCABULARIES.get(semconv) if isinstance(semconv, str) else None
    if found is None:
        hint = near_name_hint(str(semconv), list(names.VOCABULARIES))
        raise InvalidInput(f"semconv is {semconv!r}; {hint}")
    return found


class Capture(NamedTuple):
    """Where content goes.

    Attributes:
        in_spans: as attributes of spans.
        in_events: in an event for each call of a model.
    """

    in_spans: bool = False
    in_events: bool = False

    @property
    def is_on(self) -> bool:
        """Whether it goes anywhere."""
        return self.in_spans or self.in_events


_WORDS = {
    "NO_CONTENT": Capture(),
    "SPAN_ONLY": Capture(in_spans=True),
    "EVENT_ONLY": Capture(in_events=True),
    "SPAN_AND_EVENT": Capture(in_spans=True, in_events=True),
    "TRUE": Capture(in_spans=True, in_events=True),
    "FALSE": Capture(),
}


def read_capture(value: bool | str | None) -> Capture:
    """Return what ``capture_content`` means; None: what the environment says (`CAPTURE_VARIABLE`).

    An unknown word in the environment warns, and means that content is off.

    Raises:
        InvalidInput: ``value`` is an unknown word, or something else.
    """
    words = ", ".join(list(_WORDS)[:4])
    if value is None:
        said = os.environ.get(CAPTURE_VARIABLE, "").strip()
        found = _WORDS.get(said.upper() or "NO_CONTENT")
        if found is None:
            warnings.warn(
                f"{CAPTURE_VARIABLE} is {said!r}; content stays off. It may be one of {words}, true and false",
                HocketWarning,
                stacklevel=4,
            )
        return found or Capture()
    if isinstance(value, bool):
        return _WORDS[str(value).upper()]
    found = _WORDS.get(value.strip().upper()) if isinstance(value, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
    if found is None:
        raise InvalidInput(f"capture_content is {value!r}; it may be True, False, None, or one of {words}")
    return found
