"""The row of a provider's batch that the running task reads the reply of, so that what meters it knows what it cost.

A row's attempt is made long after its request was sent: it costs what a batch costs, and what was reserved for it was
reserved then. The context says so, since between the bulk run and the attempt lies a whole chain.
"""

from contextvars import ContextVar
from typing import NamedTuple

__all__ = ["BatchPlace", "batch_place"]


class BatchPlace(NamedTuple):
    """A row's place in a provider's batch.

    Attributes:
        batch: hocket's key of the batch; "": it is not made yet.
        row_id: of the row, in all bulk runs of the world: what is reserved for it goes by that.
        at: when its batch was submitted, or now if it has not been, in seconds since 1970.
    """

    batch: str
    row_id: str
    at: float


batch_place: ContextVar[BatchPlace | None] = ContextVar("hocket_batch_place", default=None)
"""Of the row whose reply the running task reads; None: calls are live."""
