"""Which recording answers a request, and what is said where none does."""

import difflib
import json
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from itertools import groupby
from os.path import commonprefix

from pydantic_core import from_json

from hocket.testing.cassettes.exchanges import Key, RecordedExchange, RecordedRequest, find_key

__all__ = ["Recordings", "describe_miss"]

_LINES = 1_000  # of a request, that are compared
_SHOWN = 60  # lines of a comparison
_WIDTH = 200  # characters of a line
_CONTEXT = 60  # of them before what differs


class Recordings:
    """The exchanges of a cassette, each of which answers one request. Safe to use from several threads.

    Args:
        exchanges: in their order; equal requests are answered in it.
        ignore: fields of a body that do not count, see `find_key`.
    """

    def __init__(self, exchanges: Sequence[RecordedExchange], ignore: Sequence[str]) -> None:
        self.exchanges: list[RecordedExchange] = list(exchanges)
        self._ignore = ignore
        self._left: dict[Key, deque[RecordedExchange]] = defaultdict(deque)
        self._lock = threading.Lock()
        for one in exchanges:
            self._left[find_key(one.request, ignore)].append(one)

    def take(self, request: RecordedRequest) -> RecordedExchange | None:
        """Return the first recording of a request that is left, once; None: there is none."""
        key = find_key(request, self._ignore)
        with self._lock:
            left = self._left.get(key)
            return left.popleft() if left else None

    def list_unused(self) -> list[RecordedExchange]:
        """Return the recordings that have answered nothing."""
        with self._lock:
            left = {id(one) for exchanges in self._left.values() for one in exchanges}
        return [one for one in self.exchanges if id(one) in left]


def describe_miss(request: RecordedRequest, recordings: Recordings, path: str, ignore: Sequence[str]) -> str:
    """Return what is wrong with a request: used up, or how it differs from the recording that is most like it."""
    shown = f"{request.method} {request.url}"
    exchanges = recordings.exchanges
    if not exchanges:
        return f"{shown} has no recording: there is nothing in {path}"
    key = find_key(request, ignore)
    equal = sum(find_key(one.request, ignore) == key for one in exchanges)
    if equal:
        times = "the only recording of it is already used" if equal == 1 else f"all {equal} of it are already used"
        return f"{shown} was made once too often: {times}, in {path}"
    wanted = _write_lines(request)
    number, nearest = max(enumerate(exchanges, 1), key=lambda one: _measure_likeness(one[1].request, wanted))
    unused = recordings.list_unused()
    state = "not used yet" if any(one is nearest for one in unused) else "already used"
    difference = _compare(_write_lines(nearest.request), wanted)
    return (
        f"{shown} has no recording in {path}. The most like it is number {number} of {len(exchanges)}, {state}:\n\n"
        f"{difference}"
    )


def _write_lines(request: RecordedRequest) -> list[str]:
    """Return a request as lines to be compared, the host left out, for it does not count."""
    _, _, rest = request.url.partition("://")
    lines = [f"{request.method} /{rest.partition('/')[2]}"]
    try:
        text = json.dumps(from_json(request.body), indent=2, sort_keys=True, ensure_ascii=False) if request.body else ""
    except ValueError:
        text = request.body.decode("utf-8", "backslashreplace")
    return [*lines, *text.splitlines()][:_LINES]


def _measure_likeness(request: RecordedRequest, wanted: list[str]) -> tuple[bool, int]:
    """Return what is greater for a request that is more like one with these lines."""
    lines = _write_lines(request)
    common = (Counter(lines) & Counter(wanted)).total()
    return lines[0] == wanted[0], 2 * common - len(lines)


def _compare(recorded: list[str], wanted: list[str]) -> str:
    lines = [
        line
        for _, block in groupby(
            difflib.unified_diff(recorded, wanted, "recorded", "requested", lineterm="", n=2), _is_change
        )
        for line in _shorten(list(block))
    ]
    if not lines:
        return f"(they differ behind the first {_LINES} lines, which are the same)"
    more = [f"… and {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
    return "\n".join([*lines[:_SHOWN], *more])


def _is_change(line: str) -> bool:
    return line[0] in "+-"


def _shorten(block: list[str]) -> list[str]:
    """Return lines of a comparison, long ones cut; those that took the place of one another where they begin to differ."""
    before, after = ([line for line in block if line[0] == sign] for sign in "-+")
    begins = {
        id(line): len(commonprefix((old[1:], new[1:]))) - _CONTEXT  # noqa: RUF071 - no paths
        for old, new in zip(before, after, strict=False)
        for line in (old, new)
    }
    return [line if len(line) <= _WIDTH else _cut(line, max(0, begins.get(id(line), 0))) for line in block]


def _cut(line: str, start: int) -> str:
    shown = line[1 + start : start + _WIDTH]
    return f"{line[0]}{'…' * (start > 0)}{shown}{'…' * (start + _WIDTH < len(line))}"
