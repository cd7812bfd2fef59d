"""What a gateway has done, in Prometheus's text format (version 0.0.4). Only the names of its own models become labels."""

import bisect
import itertools
from collections import Counter
from collections.abc import Iterator

__all__ = ["METRICS_TYPE", "GatewayMetrics"]

METRICS_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
"""The content type of Prometheus' text format."""

_BOUNDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Seconds: those of OpenTelemetry's convention for calls of models."""


class GatewayMetrics:
    """Counts since the start.

    Attributes:
        in_progress: requests for a model that are under way.
    """

    def __init__(self) -> None:
        self.in_progress = 0
        self._requests: Counter[tuple[str, str]] = Counter()
        self._broken: Counter[str] = Counter()
        self._tokens: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[str, float] = {}
        self._buckets: dict[str, list[int]] = {}

    def count(self, model: str, status: int, seconds: float) -> None:
        """Count a request that has ended. ``status`` 499: its client has left."""
        self._requests[model, str(status)] += 1
        buckets = self._buckets.setdefault(model, [0] * (len(_BOUNDS) + 1))
        buckets[bisect.bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[model] = self._seconds.get(model, 0) + seconds

    def count_broken(self, model: str) -> None:
        """Count a stream that broke off."""
        self._broken[model] += 1

    def count_tokens(self, model: str, received: int, sent: int) -> None:
        """Count the tokens of a question and its answer."""
        self._tokens[model, "input"] += received
        self._tokens[model, "output"] += sent

    def write(self) -> bytes:
        """Return the page that Prometheus reads."""
        return "".join(f"{line}\n" for line in self._write_lines()).encode()

    def _write_lines(self) -> Iterator[str]:
        yield from _write_family("hocket_requests_in_progress", "gauge", "Requests for a model that are under way.")
        yield f"hocket_requests_in_progress {self.in_progress}"
        counted = "Requests for a model that have ended, by status; 499: the client has left."
        yield from _write_family("hocket_requests_total", "counter", counted)
        for (model, status), count in self._requests.items():
            yield f"hocket_requests_total{_write_labels(model=model, status=status)} {count}"
        yield from _write_family(
            "hocket_broken_streams_total", "counter", "Streams that broke off after their beginning."
        )
        for model, count in self._broken.items():
            yield f"hocket_broken_streams_total{_write_labels(model=model)} {count}"
        yield from _write_family("hocket_tokens_total", "counter", "Tokens that models have reported.")
        for (model, kind), count in self._tokens.items():
            yield f"hocket_tokens_total{_write_labels(model=model, type=kind)} {count}"
        yield from _write_family(
            "hocket_request_seconds", "histogram", "How long requests for a model took, in seconds."
        )
        for model, buckets in self._buckets.items():
            counts = itertools.accumulate(buckets)
            for bound, count in zip((*_BOUNDS, "+Inf"), counts, strict=True):
                yield f"hocket_request_seconds_bucket{_write_labels(model=model, le=str(bound))} {count}"
            yield f"hocket_request_seconds_sum{_write_labels(model=model)} {self._seconds[model]}"
            yield f"hocket_request_seconds_count{_write_labels(model=model)} {sum(buckets)}"


def _write_family(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _write_labels(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items()) + "}"


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
