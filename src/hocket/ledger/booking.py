"""The entries of attempts and hits."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Protocol
from uuid import uuid4

from hocket._metering.attempt import Attempt, AttemptEnd
from hocket._runtime import clock
from hocket.ledger.entry import BATCH, EntryOutcome, LedgerEntry
from hocket.messages import UsageMetadata

__all__ = ["Booking", "EntrySink", "make_hit"]

_REQUEST_IDS = ("x-request-id", "request-id")  # OpenAI's header and Anthropic's


class EntrySink(Protocol):
    """What takes entries: a ledger's writer."""

    def open(self, entry: LedgerEntry) -> None: ...

    def withdraw(self, entry: LedgerEntry) -> None: ...

    def put(self, entry: LedgerEntry) -> None: ...


class Booking:
    """The entry of an attempt that is under way (`hocket._metering.attempt.Reservation`).

    Args:
        sink: takes it, now and at the end.
        attempt: what is known of it.
        metadata: what is kept of the call's.
    """

    is_local = True

    def __init__(self, sink: EntrySink, attempt: Attempt, metadata: Mapping[str, object]) -> None:
        self._sink = sink
        self._entry = _begin(attempt, metadata, "open")
        if (place := attempt.batch_place) is not None:  # by its id a row that is read twice is booked once
            more = {**metadata, BATCH: place.batch}
            self._entry = replace(self._entry, id=f"{place.batch}-{place.row_id}", price=BATCH, metadata=more)
        sink.open(self._entry)

    async def settle(self, end: AttemptEnd) -> None:
        """Book the end of the attempt; one that was never made has no entry."""
        if end.began_at is None:
            self._sink.withdraw(self._entry)
            return
        entry = replace(
            self._entry,
            outcome=end.outcome,
            error=None if end.error is None or end.outcome == "closed" else type(end.error).__name__,
            estimated=end.is_estimate,
            seconds=end.ended_at - end.began_at,
            first_token=None if end.first_token_at is None else end.first_token_at - end.began_at,
            request_id=_find_request_id(end),
        )
        self._sink.put(entry if end.usage is None else _count(entry, end.usage))


def make_hit(
    attempt: Attempt, metadata: Mapping[str, object], usage: UsageMetadata | None, outcome: EntryOutcome
) -> LedgerEntry:
    """Return the entry of an answer that nobody was asked for again.

    Args:
        attempt: what is known of the call.
        metadata: what is kept of the call's.
        usage: what the answer used when it was made.
        outcome: "cached" or "shared".
    """
    served = 0 if usage is None else usage["total_tokens"]
    entry = replace(_begin(attempt, metadata, outcome), attempt=0, served_tokens=served)
    return replace(entry, input_tokens=0, output_tokens=0, cost=Decimal(0))


def _begin(attempt: Attempt, metadata: Mapping[str, object], outcome: EntryOutcome) -> LedgerEntry:
    return LedgerEntry(
        id=uuid4().hex,
        at=datetime.fromtimestamp(clock.current().time(), UTC),
        run_id=str(attempt.run_id),
        parent_run_id=None if attempt.parent_run_id is None else str(attempt.parent_run_id),
        attempt=attempt.number,
        provider=attempt.provider,
        model=attempt.model,
        outcome=outcome,
        metadata=metadata,
    )


def _count(entry: LedgerEntry, usage: UsageMetadata) -> LedgerEntry:
    """Return an entry with the tokens that were used."""
    read, written = usage.get("input_token_details", {}), usage.get("output_token_details", {})
    return replace(
        entry,
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cache_read=read.get("cache_read") or 0,
        cache_write=read.get("cache_creation") or 0,
        reasoning=written.get("reasoning") or 0,
    )


def _find_request_id(end: AttemptEnd) -> str | None:
    """Return the server's name for the request."""
    told = getattr(end.error, "request_id", None)
    headers: Mapping[str, str] = {} if end.reply is None else end.reply.headers
    return told or next((headers[name] for name in _REQUEST_IDS if name in headers), None)
