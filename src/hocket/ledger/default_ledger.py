"""The ledger of the whole process."""

from collections.abc import Sequence

from hocket._metering.ambient import add_hit_listener, add_source
from hocket._metering.attempt import Attempt, Reservation, Reserver
from hocket.errors import InvalidInput
from hocket.ledger.base import Ledger
from hocket.messages import UsageMetadata

__all__ = ["check_shared", "get_ledger", "set_ledger"]

_shared: Ledger | None = None


def set_ledger(ledger: Ledger | None) -> None:
    """Have the calls of every model whose ``ledger`` is None or True booked here; None: nowhere."""
    global _shared
    if ledger is not None and not isinstance(ledger, Ledger):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"{ledger!r} is no ledger: SQLiteLedger(path), PostgresLedger(url), JSONLLedger(path) are")
    _shared = ledger
    if ledger is not None:
        add_source(_find_reservers)
        add_hit_listener(_record_hit)


def get_ledger() -> Ledger | None:
    """Return what `set_ledger` set; None at first."""
    return _shared


def check_shared() -> None:
    """Refuse a model that is to book in the process's ledger where there is none.

    Raises:
        InvalidInput: there is none.
    """
    if _shared is None:
        raise InvalidInput("the model says ledger=True, and no ledger is set: call hocket.ledger.set_ledger(...) first")


class _SharedLedger:
    """Books the attempts of models that have no ledger of their own."""

    async def reserve(self, attempt: Attempt) -> Reservation | None:
        ledger = _shared  # which another thread may take away
        return None if attempt.has_own_ledger or ledger is None else await ledger.reserve(attempt)


def _find_reservers() -> Sequence[Reserver]:
    return _RESERVERS if _shared is not None else ()


def _record_hit(attempt: Attempt, usage: UsageMetadata | None, is_shared: bool) -> None:
    ledger = _shared
    if ledger is not None and not attempt.has_own_ledger:
        ledger.record_hit(attempt, usage, is_shared)


_RESERVERS = (_SharedLedger(),)
