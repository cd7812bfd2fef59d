"""A budget for all that is done inside a block of code."""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from decimal import Decimal

from hocket._metering.ambient import add_source, sources
from hocket.budgets.budget import Budget, Unpriced
from hocket.budgets.reserver import BudgetReserver
from hocket.prices.money import Amount

__all__ = ["Spent", "hold_everywhere", "spending"]

_inside: ContextVar[tuple[BudgetReserver, ...]] = ContextVar("hocket_spending", default=())


class Spent:
    """What has been spent in a block so far; it goes on counting for streams that are read on after it."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    @property
    def usd(self) -> Decimal:
        """US dollars; 0 where the block has no limit on them, since nobody asked for prices."""
        return self._budget.state().spent_usd

    @property
    def tokens(self) -> int:
        """Tokens of input and output."""
        return self._budget.state().spent_tokens

    def __repr__(self) -> str:
        return f"Spent(usd={self.usd:f}, tokens={self.tokens})"


def spending(
    usd: Amount | None = None, *, tokens: int | None = None, unpriced: Unpriced = "raise"
) -> AbstractContextManager[Spent, None]:
    """Have no more spent than this by all models that are called inside a ``with`` block.

        with spending(usd="0.50") as spent:
            await agent.ainvoke("…")
        print(spent.usd)

    It holds for agents, chains, batches and retries, in tasks and threads that are started inside by the means of asyncio,
    trio, anyio and hocket. (A bare ``threading.Thread`` starts without the block's context.) Of nested blocks all hold, and
    so do the budgets of the models.

    Args:
        usd: US dollars: a text, an int or a `Decimal`.
        tokens: of input and output together.
        unpriced: see `Budget`.

    Raises:
        InvalidInput: neither is given, or one is no amount above 0. Inside: see `Budget`.

    Examples:
        >>> from hocket import FakeListChatModel, spending
        >>> with spending(tokens=100_000, unpriced="ignore") as spent:
        ...     reply = FakeListChatModel(responses=["Hello."]).invoke("Hi")
        >>> spent.tokens
        10
    """
    return _Block(Budget(usd, tokens=tokens, unpriced=unpriced, name="spending"))


@contextmanager
def hold_everywhere(budget: Budget) -> Generator[None]:
    """Have a budget hold for all models that the process asks inside a ``with`` block, in whichever task: for a service."""
    reservers = (BudgetReserver(budget),)

    def find() -> Sequence[BudgetReserver]:
        return reservers

    add_source(find)
    try:
        yield
    finally:
        sources.pop(find)


class _Block(AbstractContextManager[Spent, None]):
    def __init__(self, budget: Budget) -> None:
        self._reserver = BudgetReserver(budget)

    def __enter__(self) -> Spent:
        add_source(_find_inside)
        _inside.set((*_inside.get(), self._reserver))
        return Spent(self._reserver.budget)

    def __exit__(self, *exc: object) -> None:
        # No token: a block in a generator may end in another context than it began in, where there is nothing to undo.
        _inside.set(tuple(one for one in _inside.get() if one is not self._reserver))


def _find_inside() -> Sequence[BudgetReserver]:
    return _inside.get()
