"""The metrics, in the words of one vocabulary."""

from collections.abc import Iterator, Mapping

from opentelemetry.metrics import Counter, Histogram, Meter

from hocket.messages import UsageMetadata
from hocket.tracing import conventions as names

__all__ = ["Attributes", "Instruments", "Value", "describe_usage"]

Value = str | bool | int | float | list[str]
"""What an attribute may be."""

Attributes = dict[str, Value]
"""Attributes of a span, a metric or a log record."""


def describe_usage(usage: UsageMetadata) -> dict[str, int]:
    """Return numbers of tokens by the names of their attributes; parts that are unknown, or 0, are left out."""
    given, made = usage.get("input_token_details") or {}, usage.get("output_token_details") or {}
    numbers = {names.INPUT_TOKENS: usage["input_tokens"], names.OUTPUT_TOKENS: usage["output_tokens"]}
    parts: dict[str, object] = {
        names.CACHE_READ_TOKENS: given.get("cache_read"),
        names.CACHE_WRITE_TOKENS: given.get("cache_creation"),
        names.REASONING_TOKENS: made.get("reasoning"),
    }
    for total, details in ((names.INPUT_TOKENS, given), (names.OUTPUT_TOKENS, made)):
        parts |= {name: details.get(kind) for kind, name in names.MODALITY_TOKENS[total].items()}
    return numbers | {name: number for name, number in parts.items() if isinstance(number, int) and number}


class Instruments:
    """Records what happened.

    Args:
        meter: makes the instruments.
        vocabulary: what they are called.
    """

    def __init__(self, meter: Meter, vocabulary: names.Vocabulary) -> None:
        self._meter = meter
        self._histograms: dict[str, Histogram] = {}
        self.inference_duration: Histogram = self._histogram(vocabulary.inference_duration)
        self.operation_duration: Histogram = self._histogram(vocabulary.operation_duration)
        self.first_chunk: Histogram = self._histogram(vocabulary.first_chunk)
        self.chunk: Histogram = self._histogram(vocabulary.chunk)
        self.tool_duration: Histogram = self._histogram(vocabulary.tool_duration)
        self.agent_duration: Histogram = self._histogram(vocabulary.agent_duration)
        self._token_usage = self._histogram(vocabulary.token_usage)
        self._token_counters: Mapping[str, Counter] = {
            key: meter.create_counter(one.name, one.unit, one.description)
            for key, one in vocabulary.token_counters.items()
        }
        self._token_histograms = {key: self._histogram(one) for key, one in vocabulary.token_histograms.items()}

    def _histogram(self, instrument: names.Instrument) -> Histogram:
        """Return a histogram; one of each name, for a second one is warned of."""
        name, unit, description, buckets = instrument
        if name not in self._histograms:
            self._histograms[name] = self._meter.create_histogram(
                name, unit, description, explicit_bucket_boundaries_advisory=list(buckets)
            )
        return self._histograms[name]

    def record_tokens(self, usage: Mapping[str, int], attributes: Attributes, *, is_inference: bool) -> None:
        """Record the tokens of one call.

        Args:
            usage: numbers by the names of their attributes (`describe_usage`).
            attributes: of the call.
            is_inference: whether it is a chat or text model's.
        """
        if not (is_inference and self._token_counters):
            for key, kind in ((names.INPUT_TOKENS, "input"), (names.OUTPUT_TOKENS, "output")):
                if key in usage:
                    self._token_usage.record(usage[key], {**attributes, names.TOKEN_TYPE: kind})
            return
        for key, counter in self._token_counters.items():
            for modality, number in _split_by_modality(key, usage):
                counter.add(number, {**attributes, names.TOKEN_MODALITY: modality})
        for key, histogram in self._token_histograms.items():
            if key in usage:
                histogram.record(usage[key], attributes)


def _split_by_modality(key: str, usage: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yield how many tokens of a count are of each kind of content; of the rest it is not known."""
    rest = usage.get(key)
    if rest is None:
        return
    for modality, name in names.MODALITY_TOKENS.get(key, {}).items():
        number = min(usage.get(name, 0), rest)
        if number:
            yield modality, number
            rest -= number
    if rest or not usage[key]:
        yield names.UNKNOWN_MODALITY, rest
