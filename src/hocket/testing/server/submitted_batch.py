"""A batch as the scripted server has it: what was submitted, what is to become of it, and how far it is.

Nothing runs in the background. A look at a batch, by the test or a request, brings it up to the time by hocket's
clock first: so it takes no task, and a virtual clock that jumps over an hour finds what that hour has done.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from hocket._runtime import clock
from hocket.messages.content import Fields, FieldsView
from hocket.testing.server.wire import ReceivedRequest

__all__ = ["BatchPlan", "BatchState", "RowOutcome", "SubmittedBatch", "SubmittedRow"]

BatchState = Literal["queued", "running", "finalizing", "cancelling", "completed", "expired", "cancelled", "failed"]
"""How far a batch is, in nobody's words; the last four are its ends."""

RowOutcome = Literal["answered", "missing", "twice", "garbled", "stranger", "expired", "cancelled"]
"""What becomes of a row. The script answers it, and in the results it is there, ``missing``, ``twice``, ``garbled`` (no
JSON), or with a ``stranger`` (a line with an unknown id); or it is not asked at all: ``expired``, ``cancelled``."""


@dataclass(frozen=True, kw_only=True)
class BatchPlan:
    """What becomes of a batch.

    Args:
        seconds: from its creation to its end, by hocket's clock; rows are asked evenly in that time.
        queued: of these, before any row is asked.
        finalizing: of these, after all rows have been asked.
        cancelling: seconds between a request to cancel it and its end; no row is asked in them.
        end: ``failed``: it is refused whole, and no row is asked.
        code: why it failed, as the provider says it: ``token_limit_exceeded``; Gemini: a number of google.rpc.Code.
        message: the same in words.
        rows: returns what becomes of a row; None: it is answered.
        in_order: whether the results come in the order of the rows; else in the reverse of it.
        archived_after: seconds from its creation after which its results are gone.
        gone_after: seconds from its creation after which it is unknown.
    """

    seconds: float = 0
    queued: float = 0
    finalizing: float = 0
    cancelling: float = 0
    end: Literal["completed", "expired", "cancelled", "failed"] = "completed"
    code: str = ""
    message: str = ""
    rows: Callable[["SubmittedRow"], RowOutcome | None] = lambda row: None
    in_order: bool = True
    archived_after: float = math.inf
    gone_after: float = math.inf


@dataclass
class SubmittedRow:
    """A row of a batch.

    Attributes:
        number: its place, from 0.
        custom_id: its id, or key.
        request: what a live request for it would be; its ``connection`` is 0.
        outcome: what has become of it; None: nothing yet.
        status: of the answer; 0: it was not asked.
        reply: the answer's document.
    """

    number: int
    custom_id: str
    request: ReceivedRequest
    outcome: RowOutcome | None = None
    status: int = 0
    reply: Fields = field(default_factory=dict[str, object])

    @property
    def result(self) -> Literal["processing", "succeeded", "errored", "expired", "cancelled"]:
        """What a provider counts it under."""
        if self.outcome == "expired" or self.outcome == "cancelled":
            return self.outcome
        return "processing" if not self.status else "succeeded" if self.status == 200 else "errored"


class SubmittedBatch:
    """A batch that was created at the server; what it says is so by hocket's clock, when it is looked at.

    Attributes:
        number: how many were created before it.
        id: the provider's.
        request: what created it.
        document: the body of that: metadata, display name, model.
        created_at: seconds since 1970.
        plan: what becomes of it; a test may put another one in its place.
    """

    def __init__(
        self,
        number: int,
        id: str,
        request: ReceivedRequest,
        rows: Sequence[SubmittedRow],
        ask: Callable[[ReceivedRequest], tuple[int, Fields]],
    ) -> None:
        self.number: int = number
        self.id: str = id
        self.request: ReceivedRequest = request
        self.plan: BatchPlan = BatchPlan()
        self.document: FieldsView = request.json
        self.created_at: float = clock.current().time()
        self._rows, self._ask, self._usage = rows, ask, Counter[str]()
        self._has_begun = False
        self._cancelled_at = math.inf
        self._lock = threading.RLock()  # a test may look from another thread than the server's

    def begin(self) -> None:
        """Let its time pass: what is said at its creation is the first state, however short it takes."""
        self._has_begun = True

    def cancel(self) -> None:
        """End it early, with the answers that are there; one that has ended stays as it is."""
        if not self.has_ended:
            self._cancelled_at = min(self._cancelled_at, self.age)

    @property
    def age(self) -> float:
        """Seconds since its creation; below 0: that is being answered."""
        return clock.current().time() - self.created_at if self._has_begun else -1.0

    @property
    def state(self) -> BatchState:
        """How far it is."""
        plan, age = self.plan, self.age
        if self._cancelled_at < math.inf:
            return "cancelled" if age >= self._cancelled_at + plan.cancelling else "cancelling"
        if age >= plan.seconds:
            return plan.end
        return "queued" if age < plan.queued else "running" if age < plan.seconds - plan.finalizing else "finalizing"

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.state not in ("queued", "running", "finalizing", "cancelling")

    @property
    def rows(self) -> Sequence[SubmittedRow]:
        """Its rows, as far as they are."""
        with self._lock:
            for row in self._rows[: self._count_due()]:
                if row.outcome is None:
                    row.outcome = self.plan.rows(row) or "answered"
                    if row.result == "processing":
                        row.status, row.reply = self._ask(row.request)
                        self._usage.update(
                            dict(_flatten(row.reply.get("usage") or row.reply.get("usageMetadata") or {}))
                        )
            if self.state == "cancelled":
                for row in self._rows:
                    row.outcome = row.outcome or "cancelled"
        return self._rows

    @property
    def result_rows(self) -> Sequence[SubmittedRow]:
        """Its rows, once it has ended, unless it was refused."""
        return self.rows if self.has_ended and self.state != "failed" else ()

    @property
    def counts(self) -> Counter[str]:
        """How many rows have each `SubmittedRow.result`."""
        return Counter(row.result for row in self.rows)

    @property
    def usage(self) -> Counter[str]:
        """What the answers have used, in the provider's words; those of details with a dot: ``details.cached_tokens``."""
        return self._usage if self.rows else Counter()

    def _count_due(self) -> int:
        """Return the number of rows whose turn has come."""
        plan, age = self.plan, min(self.age, self._cancelled_at)
        if plan.end == "failed" or age < plan.queued:
            return 0
        end = plan.seconds - plan.finalizing
        return len(self._rows) if age >= end else int(len(self._rows) * (age - plan.queued) / (end - plan.queued))


def _flatten(usage: FieldsView, place: str = "") -> Iterator[tuple[str, int]]:
    for name, value in usage.items():
        if isinstance(value, Mapping):
            yield from _flatten(cast(FieldsView, value), f"{place}{name}.")
        elif isinstance(value, int):
            yield place + name, value
