"""The ledger of a model."""

from collections.abc import Sequence

from hocket._metering.attempt import LedgerLike

__all__ = ["find_books"]


def find_books(ledger: LedgerLike | bool | None) -> Sequence[LedgerLike]:
    """Return the ledger of a model's own, if it has one.

    Args:
        ledger: its ``ledger`` field.

    Raises:
        InvalidInput: it is to be the process's, and there is none.
    """
    if ledger is True:
        from hocket.ledger.default_ledger import check_shared  # few models have one

        check_shared()
    return () if ledger is None or isinstance(ledger, bool) else (ledger,)
