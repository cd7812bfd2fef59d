"""Every name that goes into a trace, a metric or an event, in one place: OpenTelemetry's conventions for generative AI.

They are not stable. The last published ones are those of OpenTelemetry's main repository (1.41); the repository
semantic-conventions-genai has renamed the metrics of inference since, and has no release. `PUBLISHED` and `LATEST` are
the two vocabularies. What the conventions have no name for begins with ``hocket.``.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = [
    "CANCELLED",
    "LATEST",
    "PROVIDERS",
    "PUBLISHED",
    "REQUEST_OPTIONS",
    "VOCABULARIES",
    "Instrument",
    "Vocabulary",
]

SCOPE = "hocket"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.0"

# -- environment variables

CAPTURE_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
OPT_IN_VARIABLE = "OTEL_SEMCONV_STABILITY_OPT_IN"
OPT_IN = "gen_ai_latest_experimental"

# -- operations

CHAT = "chat"
TEXT_COMPLETION = "text_completion"
EMBEDDINGS = "embeddings"
EXECUTE_TOOL = "execute_tool"
INVOKE_AGENT = "invoke_agent"
INVOKE_WORKFLOW = "invoke_workflow"
RETRIEVAL = "retrieval"

# -- attributes of a request

OPERATION_NAME = "gen_ai.operation.name"
PROVIDER_NAME = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_STREAM = "gen_ai.request.stream"
REQUEST_CHOICE_COUNT = "gen_ai.request.choice.count"
REQUEST_STOP_SEQUENCES = "gen_ai.request.stop_sequences"
OUTPUT_TYPE = "gen_ai.output.type"
CONVERSATION_ID = "gen_ai.conversation.id"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
EMBEDDINGS_DIMENSION_COUNT = "gen_ai.embeddings.dimension.count"
AGENT_NAME = "gen_ai.agent.name"
WORKFLOW_NAME = "gen_ai.workflow.name"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_DESCRIPTION = "gen_ai.tool.description"
TOOL_CALL_ID = "gen_ai.tool.call.id"
DATA_SOURCE_ID = "gen_ai.data_source.id"

REQUEST_OPTIONS: Mapping[str, str] = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "max_tokens": "gen_ai.request.max_tokens",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
    "reasoning_effort": "gen_ai.request.reasoning.level",
    "previous_response_id": "gen_ai.request.previous_response.id",
    "service_tier": "openai.request.service_tier",
}
"""By hocket's names of options, those of the attributes."""

# -- attributes of an answer

RESPONSE_ID = "gen_ai.response.id"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_FINISH_REASONS = "gen_ai.response.finish_reasons"
RESPONSE_TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
SYSTEM_FINGERPRINT = "openai.response.system_fingerprint"
RESPONSE_SERVICE_TIER = "openai.response.service_tier"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS = "gen_ai.usage.cache_write.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
MODALITY_TOKENS: Mapping[str, Mapping[str, str]] = {
    total: {kind: total.replace("usage.", f"usage.{kind}.") for kind in ("text", "image", "audio")}
    for total in (INPUT_TOKENS, OUTPUT_TOKENS)
}
"""By the attributes of totals, those of the part that each kind of content has in them, as far as servers tell it."""
TOKEN_TYPE = "gen_ai.token.type"
TOKEN_MODALITY = "gen_ai.token.modality"
UNKNOWN_MODALITY = "unknown"
ERROR_TYPE = "error.type"
STATUS_CODE = "http.response.status_code"
CANCELLED = "cancelled"
"""The ``error.type`` of what was cancelled, whatever the event loop calls it."""

CACHE_HIT = "hocket.cache_hit"
REPLAYED = "hocket.replayed"
CLOSED = "hocket.closed"
ATTEMPTS = "hocket.attempts"
DEPLOYMENT = "hocket.deployment"

# -- content, which is off by default

INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT = "gen_ai.tool.call.result"
RETRIEVAL_QUERY = "gen_ai.retrieval.query.text"
RETRIEVAL_DOCUMENTS = "gen_ai.retrieval.documents"

# -- what content is to ``redact``, where it is no part of a message

TOOL_ARGUMENTS = "tool_arguments"
TOOL_RESULT = "tool_result"
TOOL_SCHEMAS = "tool_definitions"
DOCUMENTS = "documents"

# -- events

DETAILS_EVENT = "gen_ai.client.inference.operation.details"
RETRY_EVENT = "hocket.retry"
RETRY_ATTEMPT = "hocket.retry.attempt"
RETRY_DELAY = "hocket.retry.delay"
PREFIX_BREAK_EVENT = "hocket.prefix_break"
LIMITER_EVENT = "hocket.limiter_wait"
LIMITER_SECONDS = "hocket.limiter_wait.seconds"

# -- metrics

SECONDS = tuple(0.01 * 2**power for power in range(14))
TOKENS = tuple(4**power for power in range(14))


class Instrument(NamedTuple):
    """A metric.

    Attributes:
        name: its name.
        unit: its unit.
        description: what it counts or measures.
        buckets: the bounds of a histogram; none: it is a counter.
    """

    name: str
    unit: str
    description: str
    buckets: Sequence[float] = ()


def _seconds(name: str, description: str) -> Instrument:
    return Instrument(name, "s", description, SECONDS)


def _tokens(name: str, description: str, buckets: Sequence[float] = ()) -> Instrument:
    return Instrument(name, "{token}", description, buckets)


class Vocabulary(NamedTuple):
    """What the metrics are called.

    Attributes:
        name: of the vocabulary, as ``semconv`` takes it.
        inference_duration: of a call of a chat or text model.
        operation_duration: of a call of an embedding model.
        first_chunk, chunk: of streams: the time until the first chunk, and that between two.
        token_usage: a histogram of tokens by their type.
        token_counters: counters of tokens by the attributes of a span that tell their numbers; they take the place of
            ``token_usage`` for inference. Those of a part count what others count, too.
        token_histograms: histograms of tokens a call, by the same.
        tool_duration, agent_duration: of a run of a tool, and of an agent.
        has_finish_reasons: whether messages of answers have ``finish_reason``.
    """

    name: str
    inference_duration: Instrument
    operation_duration: Instrument
    first_chunk: Instrument
    chunk: Instrument
    token_usage: Instrument
    token_counters: Mapping[str, Instrument]
    token_histograms: Mapping[str, Instrument]
    tool_duration: Instrument
    agent_duration: Instrument
    has_finish_reasons: bool


_DURATION = _seconds("gen_ai.client.operation.duration", "Duration of a call of a model")
_TOKEN_USAGE = _tokens("gen_ai.client.token.usage", "Tokens that a call of a model used", TOKENS)
_TOOL_DURATION = _seconds("gen_ai.execute_tool.duration", "Duration of a run of a tool")
_AGENT_DURATION = _seconds("gen_ai.invoke_agent.duration", "Duration of a run of an agent")

PUBLISHED = Vocabulary(
    name="published",
    inference_duration=_DURATION,
    operation_duration=_DURATION,
    first_chunk=_seconds("gen_ai.client.operation.time_to_first_chunk", "Time to the first chunk of a stream"),
    chunk=_seconds("gen_ai.client.operation.time_per_output_chunk", "Time between two chunks of a stream"),
    token_usage=_TOKEN_USAGE,
    token_counters={},
    token_histograms={},
    tool_duration=_TOOL_DURATION,
    agent_duration=_AGENT_DURATION,
    has_finish_reasons=True,
)
"""The last published conventions, which all that is deployed speaks."""

_INFERENCE = "gen_ai.client.inference"

LATEST = Vocabulary(
    name="latest",
    inference_duration=_seconds(f"{_INFERENCE}.duration", "Duration of a call of a model"),
    operation_duration=_DURATION,
    first_chunk=_seconds(f"{_INFERENCE}.time_to_first_chunk", "Time to the first chunk of a stream"),
    chunk=_seconds(f"{_INFERENCE}.time_per_output_chunk", "Time between two chunks of a stream"),
    token_usage=_TOKEN_USAGE,
    token_counters={
        INPUT_TOKENS: _tokens(f"{_INFERENCE}.usage.input_tokens", "Input tokens"),
        OUTPUT_TOKENS: _tokens(f"{_INFERENCE}.usage.output_tokens", "Output tokens"),
        CACHE_READ_TOKENS: _tokens(f"{_INFERENCE}.usage.cache_read.input_tokens", "Input tokens read from a cache"),
        CACHE_WRITE_TOKENS: _tokens(f"{_INFERENCE}.usage.cache_write.input_tokens", "Input tokens put into a cache"),
        REASONING_TOKENS: _tokens(f"{_INFERENCE}.usage.reasoning.output_tokens", "Output tokens of reasoning"),
    },
    token_histograms={
        INPUT_TOKENS: _tokens(f"{_INFERENCE}.operation.input_tokens", "Input tokens of a call", TOKENS),
        OUTPUT_TOKENS: _tokens(f"{_INFERENCE}.operation.output_tokens", "Output tokens of a call", TOKENS),
    },
    tool_duration=_TOOL_DURATION,
    agent_duration=_AGENT_DURATION,
    has_finish_reasons=False,
)
"""Those of the repository semantic-conventions-genai, as of October 2026."""

VOCABULARIES: Mapping[str, Vocabulary] = {one.name: one for one in (PUBLISHED, LATEST)}
"""The vocabularies, by the name that `instrument` takes."""

# -- providers

PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "azure_entra": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini_compatible": "gcp.gemini",
    "google": "gcp.gemini",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "moonshot": "moonshot_ai",
    "ollama_compatible": "ollama",
    "openai_compatible": "openai",
    "openai_responses": "openai",
    "xai": "x_ai",
}
"""By hocket's names of providers, those of the conventions where they differ."""
