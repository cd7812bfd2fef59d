"""What a call meets in the place of its attempts where one row of a bulk run is asked through a provider's batch.

Such a row runs twice: up to here, where its request is taken out, and, when the batch has its answer, past here, where the
answer is given to it. The stage is below the cache, so what a cache has is not asked, and above retries, limits and
budgets, which are for requests that are sent now.
"""

from collections.abc import Awaitable
from contextvars import ContextVar
from typing import Protocol

from hocket._pipeline.call import Call, Next

__all__ = ["RowWire", "row_wire", "with_row_wire"]


class RowWire(Protocol):
    """Stands in the place of a server for the requests of one row."""

    def meet(self, call: Call, send: Next) -> Awaitable[object]:
        """Return the result of a call, whose conversation is as the provider can take it; ``send`` makes attempts now."""
        ...


row_wire: ContextVar[RowWire | None] = ContextVar("hocket_row_wire", default=None)
"""Of the row that the running task asks; None: calls are live."""


def with_row_wire(send: Next) -> Next:
    """Return ``send`` for calls that are live; others meet the wire of their row."""

    def start(call: Call) -> Awaitable[object]:
        wire = row_wire.get()
        return send(call) if wire is None else wire.meet(call, send)

    return start
