"""What handlers hear of models, as spans, metrics and events."""

from uuid import UUID

from opentelemetry.trace import SpanKind

from hocket._runtime import clock
from hocket.callbacks import BaseCallbackHandler
from hocket.callbacks.handler_mixins import Serialized
from hocket.messages import BaseMessage, UsageMetadata, add_usage
from hocket.outputs import LLMResult
from hocket.tracing import conventions as names
from hocket.tracing.instruments import Attributes, describe_usage
from hocket.tracing.outcomes import RunOutcome, error_type, read_outcome
from hocket.tracing.requests import Details, describe_model, describe_options, find_metadata, find_parent, find_tools
from hocket.tracing.spans import OpenRun, Start
from hocket.tracing.telemetry import Telemetry

__all__ = ["ModelSpans"]

_IN_PROCESS = frozenset({"local"})
_ANSWER = (
    ("model_name", names.RESPONSE_MODEL),
    ("system_fingerprint", names.SYSTEM_FINGERPRINT),
    ("service_tier", names.RESPONSE_SERVICE_TIER),
    ("deployment", names.DEPLOYMENT),
)


class ModelSpans(BaseCallbackHandler):
    """The half of `OpenTelemetryHandler` that hears of models."""

    _telemetry: Telemetry

    # -- models

    def on_chat_model_start(
        self, serialized: Serialized, messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: object
    ) -> None:
        """Start the span of a chat model."""
        run = self._open_model(names.CHAT, run_id, kwargs)
        if self._telemetry.capture.is_on:
            writer, tools = self._telemetry.writer, find_tools(kwargs)
            run.content = writer.write_conversation(messages[0])
            if tools:
                run.content[names.TOOL_DEFINITIONS] = writer.write_value(tools, names.TOOL_SCHEMAS)

    def on_llm_start(self, serialized: Serialized, prompts: list[str], *, run_id: UUID, **kwargs: object) -> None:
        """Start the span of a text model."""
        run = self._open_model(names.TEXT_COMPLETION, run_id, kwargs)
        if self._telemetry.capture.is_on:
            run.content[names.INPUT_MESSAGES] = [self._telemetry.writer.write_text(prompt) for prompt in prompts]

    def _open_model(self, operation: str, run_id: UUID, details: Details) -> OpenRun:
        metadata = find_metadata(details)
        common = describe_model(operation, metadata, details)
        attributes = common | describe_options(metadata, details)
        kind = SpanKind.INTERNAL if metadata.get("ls_provider") in _IN_PROCESS else SpanKind.CLIENT
        is_alone = details.get("batch_size", 1) == 1  # several are started one after another, before any is asked
        name = f"{operation} {common[names.REQUEST_MODEL]}"
        run = self._telemetry.runs.open(run_id, find_parent(details), Start(name, attributes, common, kind, is_alone))
        if run.agent is not None and operation != names.EMBEDDINGS:
            run.agent.note_model(common)
        return run

    def on_first_token(self, seconds: float, *, run_id: UUID, **kwargs: object) -> None:
        """Note when a stream began."""
        run = self._telemetry.runs.get(run_id)
        if run is not None:
            run.first_chunk = seconds

    def on_llm_new_token(self, token: str, *, run_id: UUID, **kwargs: object) -> None:
        """Record the time since the chunk before."""
        run = self._telemetry.runs.get(run_id)
        if run is not None and not run.is_cached:
            now, last = clock.current().now(), run.last_chunk
            run.last_chunk = now
            if last is not None:
                self._telemetry.instruments.chunk.record(now - last, run.common)

    def on_cache_hit(self, *, run_id: UUID, **kwargs: object) -> None:
        """Note that nothing was sent."""
        run = self._telemetry.runs.get(run_id)
        if run is not None:
            run.is_cached = True
            run.span.set_attribute(names.CACHE_HIT, True)
            if kwargs.get("replayed"):  # by a durable run
                run.span.set_attribute(names.REPLAYED, True)

    def on_limiter_wait(self, seconds: float, *, run_id: UUID, **kwargs: object) -> None:
        """Note how long a run has waited for its turn."""
        run = self._telemetry.runs.get(run_id)
        if run is not None:
            run.span.add_event(names.LIMITER_EVENT, {names.LIMITER_SECONDS: seconds})

    def on_retry(
        self,
        retry_state: object,
        *,
        run_id: UUID,
        attempt: int = 1,
        error: BaseException | None = None,
        delay: float = 0.0,
        status: int | None = None,
        response: LLMResult | None = None,
        **kwargs: object,
    ) -> None:
        """Note an attempt that failed, on the span of its call, and what it used."""
        run = self._telemetry.runs.get(run_id)
        if run is None:
            return
        run.attempts += 1
        run.last_chunk = None
        usage = read_outcome(response).usage
        if usage is not None:
            run.usage = add_usage(run.usage, usage)
        facts: dict[str, str | int | float] = {names.RETRY_ATTEMPT: attempt, names.RETRY_DELAY: delay}
        if error is not None:
            facts[names.ERROR_TYPE] = error_type(error)
        if status is not None:
            facts[names.STATUS_CODE] = status
        run.span.add_event(names.RETRY_EVENT, facts)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, closed: bool = False, **kwargs: object) -> None:
        """End the span of a model."""
        run = self._telemetry.runs.close(run_id)
        if run is not None:
            if closed:
                run.span.set_attribute(names.CLOSED, True)
            self._end_model(run, response, "closed" if closed else None)

    def on_llm_error(
        self, error: BaseException, *, run_id: UUID, response: LLMResult | None = None, **kwargs: object
    ) -> None:
        """End the span of a model that has failed, with what it has used."""
        run = self._telemetry.runs.close(run_id)
        if run is not None:
            run.fail(error, self._telemetry.show_error(error))
            self._end_model(run, response, "error")

    def _end_model(self, run: OpenRun, response: LLMResult | None, broken_off: str | None) -> None:
        outcome = read_outcome(response)
        facts = self._describe_answer(run, outcome)
        instruments = self._telemetry.instruments
        if names.RESPONSE_MODEL in facts:
            run.common = {**run.common, names.RESPONSE_MODEL: facts[names.RESPONSE_MODEL]}
        usage = outcome.usage if run.usage is None else add_usage(run.usage, outcome.usage)
        if usage is not None:
            numbers = describe_usage(usage)
            facts.update(numbers)
            instruments.record_tokens(numbers, run.common, is_inference=True)
            agent = run.agent
            while agent is not None:
                agent.usage, agent = add_usage(agent.usage, usage), agent.agent
        if (
            run.first_chunk is not None
            and not (run.is_cached or outcome.is_cached)
            and names.REQUEST_STREAM in run.details
        ):
            facts[names.RESPONSE_TIME_TO_FIRST_CHUNK] = run.first_chunk
            instruments.first_chunk.record(run.first_chunk, run.common)
        instruments.inference_duration.record(run.seconds, run.common)
        if response is not None and self._telemetry.capture.is_on:
            run.content[names.OUTPUT_MESSAGES] = self._telemetry.writer.write_answers(response, broken_off)
        self._telemetry.finish(run, facts)

    @staticmethod
    def _describe_answer(run: OpenRun, outcome: RunOutcome) -> Attributes:
        facts: Attributes = {}
        if outcome.finish_reasons:
            facts[names.RESPONSE_FINISH_REASONS] = outcome.finish_reasons
        if outcome.id:
            facts[names.RESPONSE_ID] = outcome.id
        if outcome.is_cached:
            facts[names.CACHE_HIT] = True
        if run.attempts > 1:
            facts[names.ATTEMPTS] = run.attempts
        for key, attribute in _ANSWER:
            value = outcome.facts.get(key)
            if isinstance(value, str) and value:
                facts[attribute] = value
        return facts

    # -- embedding models

    def on_embeddings_start(self, serialized: Serialized, texts: list[str], *, run_id: UUID, **kwargs: object) -> None:
        """Start the span of an embedding model."""
        self._open_model(names.EMBEDDINGS, run_id, kwargs)

    def on_embeddings_end(
        self, usage: UsageMetadata | None, *, dimensions: int | None, run_id: UUID, **kwargs: object
    ) -> None:
        """End the span of an embedding model."""
        run = self._telemetry.runs.close(run_id)
        if run is None:
            return
        facts: Attributes = {}
        if dimensions is not None:
            facts[names.EMBEDDINGS_DIMENSION_COUNT] = dimensions
        if run.attempts > 1:
            facts[names.ATTEMPTS] = run.attempts
        if usage is not None:
            numbers = {names.INPUT_TOKENS: usage["input_tokens"]}
            facts.update(numbers)
            self._telemetry.instruments.record_tokens(numbers, run.common, is_inference=False)
        self._telemetry.instruments.operation_duration.record(run.seconds, run.common)
        self._telemetry.finish(run, facts)

    def on_embeddings_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """End the span of an embedding model that has failed."""
        run = self._telemetry.runs.close(run_id)
        if run is not None:
            run.fail(error, self._telemetry.show_error(error))
            self._telemetry.instruments.operation_duration.record(run.seconds, run.common)
            self._telemetry.finish(run, {})
