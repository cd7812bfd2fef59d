"""The row of a provider's batch that the running task reads the reply of, so that what meters it knows what it cost.

A row's attempt is made long after its request was sent: it costs what a batch costs, and what was reserved for it was
reserved then. The context says so, since between the bulk run and the attempt lies a whole chain.
"""

from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["BatchPlace", "batch_place", "find_place"]


@dataclass(slots=True)
class BatchPlace:
    """A row's place in a provider's batch.

    Attributes:
        batch: hocket's key of the batch.
        row_id: of the row, in all batches of the world: what is reserved and booked for it goes by that.
        at: when the batch was begun, before anything was reserved for it, in seconds since 1970.
        is_answered: whether its reply was handed out, so that further requests of its chain are live. Whoever hands it out
            sets it, in whatever task: all contexts of the row share this object.
    """

    batch: str
    row_id: str
    at: float
    is_answered: bool = False


batch_place: ContextVar[BatchPlace | None] = ContextVar("hocket_batch_place", default=None)
"""Of the row whose reply is there; None: calls are live."""


def find_place() -> BatchPlace | None:
    """Return the place of the row that an attempt made now is for; None: it is live."""
    place = batch_place.get()
    return None if place is None or place.is_answered else place
