"""Spans of runs: which one is the parent of which, and which is the current one.

A run's span becomes the current one when the run starts, so that what the application or its HTTP client traces inside
is inside it. When the run ends, what was current before it is so again, but only where the run's span still is: where
it is not, the code is in another context by then, or the application has opened a span of its own. No token is kept
for that. A token can be used only in the context that it was made in, which is why other instrumentations log "Failed
to detach context" for streams. Streams run in a context of their own: their consumer never sees a span of theirs.
"""

from typing import NamedTuple
from uuid import UUID

from opentelemetry.context import Context, attach, create_key, get_current, set_value
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, get_current_span, set_span_in_context

from hocket._runtime import clock
from hocket.messages import UsageMetadata
from hocket.tracing import conventions as names
from hocket.tracing.content import Content
from hocket.tracing.instruments import Attributes
from hocket.tracing.outcomes import error_code, error_type

__all__ = ["OpenRun", "OpenRuns", "Start"]


class Start(NamedTuple):
    """How a span begins.

    Attributes:
        name: of the span.
        attributes: of the span.
        common: those of them that metrics have, too; empty: the run has no metric.
        kind: of the span.
        is_alone: whether the code that follows is this run's alone, so that its span becomes the current one.
    """

    name: str
    attributes: Attributes
    common: Attributes
    kind: SpanKind = SpanKind.INTERNAL
    is_alone: bool = True


class OpenRun:
    """A run that has started, and not ended.

    Attributes:
        span: its span.
        context: the context with its span.
        before: the context that was the current one before.
        common: attributes of its metrics.
        started: when it started, by hocket's clock.
        is_open: whether it has not ended.
        operation: what it does, by the conventions' name.
        attempts: how many requests were made, as far as is known.
        usage: the tokens of attempts that failed; of an agent, those of all models that are called inside.
        agent: the innermost agent that the run is inside of; None: it is in none.
        first_chunk: seconds until the first chunk of a stream; None: none has come.
        last_chunk: when the last chunk has come.
        is_cached: whether its answer was not paid for by it.
        content: what it is asked and what it answers, where that is captured.
        details: the attributes of its start.
    """

    __slots__ = (
        "agent",
        "attempts",
        "before",
        "common",
        "content",
        "context",
        "details",
        "first_chunk",
        "is_cached",
        "is_open",
        "last_chunk",
        "operation",
        "span",
        "started",
        "usage",
    )

    def __init__(self, span: Span, start: Start, before: Context, parent: "OpenRun | None") -> None:
        self.span: Span = span
        self.before: Context = before
        self.context: Context = before
        self.common: Attributes = start.common
        self.operation: object = start.attributes[names.OPERATION_NAME]
        is_in_agent = parent is not None and parent.operation == names.INVOKE_AGENT
        self.agent: OpenRun | None = parent if parent is None or is_in_agent else parent.agent
        self.started: float = clock.current().now()
        self.is_open: bool = True
        self.attempts: int = 1
        self.usage: UsageMetadata | None = None
        self.first_chunk: float | None = None
        self.last_chunk: float | None = None
        self.is_cached: bool = False
        self.content: Content = {}
        self.details: Attributes = start.attributes

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return clock.current().now() - self.started

    def note_model(self, facts: Attributes) -> None:
        """Note the model that an agent calls, with its provider: the first one, which is the agent's own."""
        if names.REQUEST_MODEL not in self.details:
            told = {key: facts[key] for key in (names.REQUEST_MODEL, names.PROVIDER_NAME) if key in facts}
            self.details = {**self.details, **told}
            self.span.set_attributes(told)

    def fail(self, error: BaseException, message: str | None) -> None:
        """Note the kind of an error, and its message where content is captured; anywhere else it may quote some."""
        kind = error_type(error)
        self.common = {**self.common, names.ERROR_TYPE: kind}
        self.span.set_attribute(names.ERROR_TYPE, kind)
        status: object = getattr(error, "status", None)
        if isinstance(status, int):
            self.span.set_attribute(names.STATUS_CODE, status)
        self.span.set_status(Status(StatusCode.ERROR, error_code(error) if message is None else message))


class OpenRuns:
    """The runs that have started and not ended, of one handler.

    Args:
        tracer: makes the spans.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._runs: dict[UUID, OpenRun] = {}
        self._key = create_key("hocket-run")  # the run whose code a context is for

    def get(self, run_id: UUID) -> OpenRun | None:
        """Return a run; None: it has ended, or is not known."""
        return self._runs.get(run_id)

    def open(self, run_id: UUID, parent_run_id: UUID | None, start: Start) -> OpenRun:
        """Start the span of a run."""
        before = get_current()
        parent = None if parent_run_id is None else self._runs.get(parent_run_id)
        span = self._tracer.start_span(start.name, self._find_context(before, parent), start.kind, start.attributes)
        run = self._runs[run_id] = OpenRun(span, start, before, parent)
        run.context = set_value(self._key, run, set_span_in_context(span, before))
        if start.is_alone:
            attach(run.context)
        return run

    def _find_context(self, current: Context, parent: OpenRun | None) -> Context:
        """Return the context in which a span starts.

        It is the current one, with whatever span the application has opened there, if its code is that of the parent
        run, or there is no such run. Otherwise it is that of the parent run.
        """
        return current if parent is None or current.get(self._key) is parent else parent.context

    def close(self, run_id: UUID) -> OpenRun | None:
        """Forget a run that has ended, and return it: its span is to be ended. None: it is not known."""
        run = self._runs.pop(run_id, None)
        if run is None:
            return None
        run.is_open = False
        if get_current_span() is run.span:
            attach(self._find_open(run.before))
        return run

    def _find_open(self, context: Context) -> Context:
        """Return the context behind those of runs that have ended meanwhile."""
        run = context.get(self._key)
        while isinstance(run, OpenRun) and not run.is_open and get_current_span(context) is run.span:
            context = run.before
            run = context.get(self._key)
        return context
