"""The budgets and the ledger of a model: what its fields take, what reserves, and where entries are written.

Few models have one, so `hocket.budgets` and `hocket.ledger` are loaded with the first.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import BeforeValidator

from hocket._metering.attempt import LedgerLike, Reserver

if TYPE_CHECKING:
    from hocket.budgets import Budget

__all__ = ["BudgetLike", "find_books", "make_reservers"]


def make_reservers(budget: "Budget | Sequence[Budget] | None", ledger: LedgerLike | bool | None) -> list[Reserver]:
    """Return what reserves for a model's attempts: its budgets, in their order, and its own ledger."""
    if budget is None:
        return [*find_books(ledger)]
    from hocket.budgets.reserver import BudgetReserver

    return [*(BudgetReserver(one) for one in _list_budgets(budget)), *find_books(ledger)]


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


def _check_budget(value: object) -> object:
    if value is not None:
        _list_budgets(value)
    return value


def _list_budgets(value: object) -> "list[Budget]":
    from hocket.budgets import Budget

    given = [value] if isinstance(value, Budget) else value
    if isinstance(given, Sequence) and all(isinstance(one, Budget) for one in cast("Sequence[object]", given)):
        return list(cast("Sequence[Budget]", given))
    raise ValueError(
        f"budget is {value!r}; it is a hocket.budgets.Budget, or a list of them, as Budget(usd='5', per='day')"
    )


if TYPE_CHECKING:
    BudgetLike = Budget | Sequence[Budget]
else:
    BudgetLike = Annotated[Any, BeforeValidator(_check_budget)]
