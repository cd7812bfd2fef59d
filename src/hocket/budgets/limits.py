"""The limit of a budget: what may be given for it, and how it is shown."""

import math
from datetime import UTC, datetime
from decimal import Decimal

from hocket.budgets.account import Amounts, InquiryResult, Limit
from hocket.budgets.periods import Period
from hocket.errors import BudgetExceeded, InvalidInput
from hocket.prices.money import MAX_UNITS, UNIT, Amount, read_amount, to_usd

__all__ = ["explain_excess", "read_lease", "read_limit", "read_name", "show_limit", "show_usd"]

_LONGEST = 200  # characters of a name


def read_limit(usd: Amount | None, tokens: int | None) -> Limit:
    """Return a limit.

    Raises:
        InvalidInput: there is neither, or one is no amount above 0.
    """
    if usd is None and tokens is None:
        raise InvalidInput('a budget limits something: give usd=..., as "5.00", or tokens=..., or both')
    units = None
    if usd is not None:
        units = int(read_amount(usd, "usd") // UNIT)
        if units <= 0:
            raise InvalidInput(f"usd is {usd}; it must be at least {UNIT:f}")
    if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 < tokens <= MAX_UNITS):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"tokens is {tokens!r}; it is a whole number above 0, {MAX_UNITS} at most")
    return Limit(units, tokens)


def read_lease(lease: float) -> float:
    """Return the seconds of a lease.

    Raises:
        InvalidInput: it is no number above 0, or longer than a year.
    """
    if isinstance(lease, int | float) and not isinstance(lease, bool) and 0.001 <= lease <= 31_536_000:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        return float(lease)
    raise InvalidInput(
        f"lease is {lease!r}; it is a number of seconds above 0, {math.floor(31_536_000)} (a year) at most"
    )


def read_name(name: object, what: str) -> str:
    """Return a name under which a store keeps something.

    Args:
        name: a text, or what is one in all but type: a number, a UUID.
        what: of what, for the text of an error.

    Raises:
        InvalidInput: it is empty, longer than 200 characters, or holds what a database does not.
    """
    text = str(name)
    if not text.strip() or len(text) > _LONGEST or not text.isprintable():
        raise InvalidInput(
            f"{what} is {text[:_LONGEST]!r}; it is a text of 1 to {_LONGEST} characters that can be shown"
        )
    return text


def show_limit(limit: Limit) -> str:
    """Return a limit as a text: "5 USD and 1,000,000 tokens"."""
    usd = [] if limit.usd is None else [f"{show_usd(to_usd(limit.usd))} USD"]
    return " and ".join([*usd, *([] if limit.tokens is None else [f"{limit.tokens:,} tokens"])])


def show_usd(amount: Decimal) -> str:
    """Return an amount without zeros at its end."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def explain_excess(budget: str, answer: InquiryResult, want: Amounts, period: Period) -> BudgetExceeded:
    """Return the error of a budget whose store did not grant an amount.

    Args:
        budget: its name, and whose part of it.
        answer: the store's.
        want: what was wanted.
        period: for which.
    """
    limit, totals = answer.limit, answer.totals
    is_usd = limit.usd is not None and totals.spent.usd + totals.reserved.usd + want.usd > limit.usd
    at, kind = (0, "USD") if is_usd else (1, "tokens")
    figures = [limit[at] or 0, totals.spent[at], totals.reserved[at], want[at]]
    most, spent, reserved, wanted = [to_usd(one) for one in figures] if is_usd else figures
    shown = [show_usd(Decimal(one)) for one in (most, spent, reserved, wanted)]
    again = (
        ""
        if period.end is None
        else f"; it begins again at {datetime.fromtimestamp(period.end, UTC):%Y-%m-%d %H:%M:%S} UTC"
    )
    return BudgetExceeded(
        f"the budget {budget} is {shown[0]} {kind}, of which {shown[1]} are spent and {shown[2]} reserved by calls in "
        f"flight and rows of batches; this request may come to {shown[3]}{again}",
        limit=most,
        spent=spent,
        reserved=reserved,
        wanted=wanted,
        budget=budget,
        resets_at=period.end,
    )
