"""What the journal knows of a batch at the provider: its lines, and which of its rows have theirs.

Three lines tell of a batch. The first is on the disk before anything is sent; the second says the same, and the server's
name for it; the last is written when all its rows are done with, or open again.
"""

import base64
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hocket.messages.content import Fields, FieldsView

__all__ = ["BatchEntry", "is_batch_line"]

MOST_ROWS = 1_000_000
"""Rows that a line may name: more are none of ours."""


@dataclass
class BatchEntry:
    """A batch that has not come to its end.

    Attributes:
        key: hocket's name for it, which the server repeats.
        provider: the provider's name.
        numbers: of its rows, sorted. digests: of the rows, in the same order. requests: digests of what was submitted.
        at: when it was written down, in seconds since 1970.
        id: the server's name for it; None: not known, and perhaps there is none.
        sent_at: when the last request was sent that may have made it.
        held: what budgets held for each row, in units of US dollars; empty: none did.
        waiting: how many of its rows wait for their answer.
    """

    key: str
    provider: str
    numbers: Sequence[int]
    digests: Sequence[int]
    requests: Sequence[int]
    at: float
    id: str | None = None
    sent_at: float = 0.0
    held: Sequence[int] = ()
    waiting: int = field(init=False)
    _done: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.sent_at = self.sent_at or self.at
        self.waiting = len(self.numbers)
        self._done = bytearray(self.waiting)

    @classmethod
    def read(cls, data: FieldsView) -> "BatchEntry":
        """Return the batch that a first line tells of.

        Raises:
            ValueError, TypeError, KeyError: it is none.
        """
        numbers = array("Q")
        for first, last in data["rows"]:
            if (
                not 0 <= first <= last < first + MOST_ROWS
                or len(numbers) > MOST_ROWS
                or (numbers and first <= numbers[-1])
            ):
                raise ValueError("the rows of a batch are not in order")
            numbers.extend(range(first, last + 1))
        digests, requests = (_read_numbers(data[name], "I") for name in ("digests", "requests"))
        if not len(digests) == len(requests) == len(numbers):
            raise ValueError("a batch has another number of digests than of rows")
        id = None if data.get("id") is None else str(data["id"])
        held = _read_numbers(data.get("held", ""), "Q")
        if held and len(held) != len(numbers):
            raise ValueError("a batch holds amounts for another number of rows than it has")
        texts = str(data["batch"]), str(data["provider"])
        return cls(*texts, numbers, digests, requests, float(data["at"]), id, held=held)

    def write(self) -> Fields:
        """Return the first line, or the second, where the server's name is known."""
        return {
            "batch": self.key,
            **({} if self.id is None else {"id": self.id}),
            "provider": self.provider,
            "rows": _join(self.numbers),
            "count": len(self.numbers),
            "at": self.at,
            "digests": _write_numbers(self.digests, "I"),
            "requests": _write_numbers(self.requests, "I"),
            **({"held": _write_numbers(self.held, "Q")} if any(self.held) else {}),
        }

    def digest(self, row: int) -> int | None:
        """Return the digest of a row that waits for its answer in this batch; None: it does not."""
        place = self._find(row)
        return None if place is None or self._done[place] else self.digests[place]

    def find_request(self, row: int) -> int:
        """Return the digest of what was submitted for a row, which is one of its own."""
        return self.requests[bisect_left(self.numbers, row)]

    def find_held(self, row: int) -> int:
        """Return what budgets held for a row, which is one of its own, in units of US dollars."""
        return self.held[bisect_left(self.numbers, row)] if self.held else 0

    def finish(self, row: int) -> None:
        """Note that a row has its line."""
        place = self._find(row)
        if place is not None and not self._done[place]:
            self._done[place] = 1
            self.waiting -= 1

    def list_waiting(self) -> list[int]:
        """Return the numbers of the rows that wait for their answer."""
        return [number for number, is_done in zip(self.numbers, self._done, strict=True) if not is_done]

    def has(self, row: int) -> bool:
        """Whether a row is one of its own."""
        return self._find(row) is not None

    def _find(self, row: int) -> int | None:
        place = bisect_left(self.numbers, row)
        return place if place < len(self.numbers) and self.numbers[place] == row else None


def is_batch_line(data: FieldsView) -> bool:
    """Whether a line tells of a batch, or of the name by which budgets know the rows of this file."""
    try:
        if "batch" not in data:
            return isinstance(data["reservations"], str)
        if "end" in data or "sent_at" in data:
            return isinstance(data["batch"], str) and min(float(data.get("sent_at", 0)), int(data.get("lost", 0))) >= 0
        return bool(BatchEntry.read(data).numbers)
    except (KeyError, TypeError, ValueError):
        return False


def _read_numbers(text: str, kind: Literal["I", "Q"]) -> "array[int]":
    numbers = array(kind)
    numbers.frombytes(base64.b64decode(text))
    return numbers


def _write_numbers(numbers: Iterable[int], kind: Literal["I", "Q"]) -> str:
    return base64.b64encode(array(kind, numbers).tobytes()).decode()


def _join(numbers: Iterable[int]) -> list[list[int]]:
    """Return sorted numbers as ranges: the first and the last one of each."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges
