"""Amounts of money: exact, so that sums are what they seem.

A float is refused where money is given: 0.1 is no dollar's tenth, and a budget that is compared with a sum of such is off
by what nobody can explain. Where amounts are kept and added, in Python, SQL and Redis alike, they are whole numbers of
hundred-millionths of a US dollar.
"""

from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation, localcontext
from typing import TypeAlias

from hocket.errors import InvalidInput

__all__ = ["EXACT", "MAX_UNITS", "UNIT", "Amount", "read_amount", "to_units", "to_usd", "trim_amount"]

Amount: TypeAlias = Decimal | int | str
"""An amount of US dollars as it is given: ``"0.50"``, 5, ``Decimal("0.1")``."""

UNITS_IN_A_DOLLAR = 10**8

UNIT = Decimal(1) / UNITS_IN_A_DOLLAR
"""US dollars of a unit."""

MAX_UNITS = 2**53
"""Units that any sum may come to: what Redis's scripts count exactly."""

EXACT = Context(prec=60)
"""For sums and products of prices, whatever the program's own context says."""


def read_amount(value: object, name: str) -> Decimal:
    """Return an amount of US dollars.

    Args:
        value: a text, an int or a `Decimal`, of 0 or more.
        name: of the argument, for the text of an error.

    Raises:
        InvalidInput: it is a float, no number, negative, infinite, or more than `MAX_UNITS`.
    """
    if isinstance(value, float):
        raise InvalidInput(
            f'{name} is {value!r}, a float, which is not exact: give a text, as "{value!r}", or a Decimal'
        )
    if not isinstance(value, Decimal | int | str) or isinstance(value, bool):
        raise InvalidInput(f"{name} is {value!r}; it is an amount of US dollars: a text, an int or a Decimal")
    try:
        amount = Decimal(value)
    except InvalidOperation:
        raise InvalidInput(f'{name} is {value!r}; it is an amount of US dollars, as "0.50"') from None
    if not amount.is_finite() or amount < 0 or amount > MAX_UNITS * UNIT:
        raise InvalidInput(f"{name} is {value}; it must be from 0 to {MAX_UNITS * UNIT:.0f} US dollars")
    return amount


def to_units(usd: Decimal) -> int:
    """Return an amount in whole units, rounded up: what a call cost is never booked as less."""
    with localcontext(EXACT):
        return int((usd / UNIT).to_integral_value(ROUND_CEILING))


def to_usd(units: int) -> Decimal:
    """Return a number of units in US dollars."""
    with localcontext(EXACT):
        return Decimal(units) / UNITS_IN_A_DOLLAR  # a quotient has no zeros at its end: 0, where a product is 0E-8


def trim_amount(usd: Decimal) -> Decimal:
    """Return an amount without zeros at its end: 0 for 0E-8, 1 for 1.00."""
    return Decimal(format(usd.normalize(EXACT), "f"))
