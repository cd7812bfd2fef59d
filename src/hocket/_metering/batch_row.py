"""Which row of a provider's batch an attempt is for."""

from contextvars import ContextVar
from typing import NamedTuple

__all__ = ["BatchPlace", "batch_place"]


class BatchPlace(NamedTuple):
    batch: str
    row_id: str
    at: float


batch_place: ContextVar[BatchPlace | None] = ContextVar("hocket_batch_place", default=None)
