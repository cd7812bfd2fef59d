"""Operators and functions of numbers, none of which can take long.

Integers are exact, and Python would go on with them until the memory is full: ``9**9**9`` has 370 million digits. So
whatever grows fast is measured before it is computed, and every result after it: at most `MAX_BITS` bits. What remains
costs microseconds. Floating point has limits of its own; what overflows them, or is no real number, is refused.
"""

import ast
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from hocket.errors import InvalidInput

__all__ = [
    "CONSTANTS",
    "FUNCTIONS",
    "MAX_BITS",
    "OPERATORS",
    "SIGNS",
    "MathFunction",
    "Number",
    "apply",
    "check_number",
]

Number: TypeAlias = int | float
"""What an expression is made of, and what comes out."""

MAX_BITS = 4_000
"""Of an integer: some 1,200 digits."""

_MAX_FLOAT = 1.7e308  # a little less than there is: a result is rounded when it is written
_MAX_WORK = 100_000  # bits of the products on the way to a number of combinations
_MAX_PLACES = 1_500  # that `round` may be told: an integer has fewer

_TOO_LARGE = f"the result is too large: integers have at most {MAX_BITS:,} bits, others stay below 1.7e308"


class MathFunction(NamedTuple):
    """A function that an expression may call.

    Attributes:
        call: computes it.
        fewest, most: arguments that it takes; None: any number.
    """

    call: Callable[..., object]
    fewest: int = 1
    most: int | None = 1


def check_number(value: object) -> Number:
    """Return ``value`` if an expression may go on with it.

    Raises:
        InvalidInput: it is too large, infinite, or no real number.
    """
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise InvalidInput(_TOO_LARGE)
        return value
    if isinstance(value, float):
        if abs(value) > _MAX_FLOAT:
            raise InvalidInput(_TOO_LARGE)
        if not math.isnan(value):
            return value
    raise InvalidInput("the result is no real number; only real numbers can be computed here")


def apply(name: str, function: Callable[..., object], *values: Number) -> Number:
    """Return ``function`` of ``values``, under the ``name`` that a refusal shows.

    Raises:
        InvalidInput: it is not defined there, or the result is refused.
    """
    try:
        return check_number(function(*values))
    except InvalidInput:
        raise
    except ZeroDivisionError as error:
        raise InvalidInput(f"{name!r} divides by zero, which has no result") from error
    except OverflowError as error:
        raise InvalidInput(_TOO_LARGE) from error
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name!r} is not defined for these numbers: {error}") from error


def _divide(dividend: Number, divisor: Number) -> Number:
    """Return the quotient: of integers an integer, if it is one, so that large ones stay exact."""
    if isinstance(dividend, int) and isinstance(divisor, int) and divisor and dividend % divisor == 0:
        return dividend // divisor
    return dividend / divisor


def _raise_to(base: Number, exponent: Number) -> object:
    if isinstance(base, int) and isinstance(exponent, int) and (base.bit_length() - 1) * exponent > MAX_BITS:
        raise InvalidInput(_TOO_LARGE)  # it has more bits than that product
    return base**exponent


def _round(number: Number, places: Number = 0) -> Number:
    digits = _read_integer(places)
    if abs(digits) > _MAX_PLACES:
        raise InvalidInput(f"'round' takes at most {_MAX_PLACES:,} places")
    return round(number, digits) if digits else round(number)


def _compute_factorial(number: Number) -> int:
    count = _read_integer(number)
    if count > 1 and math.lgamma(count) > MAX_BITS * math.log(2):
        raise InvalidInput(_TOO_LARGE)
    return math.factorial(count)


def _count_combinations(things: Number, chosen: Number) -> int:
    total, count = _read_integer(things), _read_integer(chosen)
    _check_work(total, min(count, total - count))
    return math.comb(total, count)


def _count_permutations(things: Number, chosen: Number) -> int:
    total, count = _read_integer(things), _read_integer(chosen)
    if count <= total:
        _check_work(total, count)
    return math.perm(total, count)


def _check_work(factor: int, count: int) -> None:
    """Refuse a product of ``count`` factors up to ``factor`` that would take long."""
    if factor.bit_length() * count > _MAX_WORK:
        raise InvalidInput(_TOO_LARGE)


def _read_integer(number: Number) -> int:
    if isinstance(number, float) and not number.is_integer():
        raise ValueError(f"{number!r} is no integer")
    return int(number)


def _of_integers(function: Callable[..., int]) -> Callable[..., int]:
    return lambda *numbers: function(*map(_read_integer, numbers))


def _sum(*numbers: Number) -> Number:
    return sum(numbers)


OPERATORS: Mapping[type[ast.operator], tuple[str, Callable[[Number, Number], object]]] = {
    ast.Add: ("+", lambda left, right: left + right),
    ast.Sub: ("-", lambda left, right: left - right),
    ast.Mult: ("*", lambda left, right: left * right),
    ast.Div: ("/", _divide),
    ast.FloorDiv: ("//", lambda left, right: left // right),
    ast.Mod: ("%", lambda left, right: left % right),
    ast.Pow: ("**", _raise_to),
}
"""For each operator between two numbers its sign, and what computes it."""

SIGNS: Mapping[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.UAdd: lambda number: +number,
    ast.USub: lambda number: -number,
}
"""What computes a sign before a number."""

CONSTANTS: Mapping[str, float] = {"e": math.e, "pi": math.pi, "tau": math.tau}
"""The numbers that have a name in an expression."""

FUNCTIONS: Mapping[str, MathFunction] = {
    "abs": MathFunction(abs),
    "acos": MathFunction(math.acos),
    "asin": MathFunction(math.asin),
    "atan": MathFunction(math.atan),
    "atan2": MathFunction(math.atan2, 2, 2),
    "cbrt": MathFunction(math.cbrt),
    "ceil": MathFunction(math.ceil),
    "comb": MathFunction(_count_combinations, 2, 2),
    "cos": MathFunction(math.cos),
    "cosh": MathFunction(math.cosh),
    "degrees": MathFunction(math.degrees),
    "exp": MathFunction(math.exp),
    "factorial": MathFunction(_compute_factorial),
    "floor": MathFunction(math.floor),
    "gcd": MathFunction(_of_integers(math.gcd), 2, None),
    "hypot": MathFunction(math.hypot, 2, None),
    "lcm": MathFunction(_of_integers(math.lcm), 2, None),
    "ln": MathFunction(math.log),
    "log": MathFunction(math.log, 1, 2),
    "log10": MathFunction(math.log10),
    "log2": MathFunction(math.log2),
    "max": MathFunction(max, 2, None),
    "min": MathFunction(min, 2, None),
    "perm": MathFunction(_count_permutations, 2, 2),
    "pow": MathFunction(_raise_to, 2, 2),
    "radians": MathFunction(math.radians),
    "round": MathFunction(_round, 1, 2),
    "sin": MathFunction(math.sin),
    "sinh": MathFunction(math.sinh),
    "sqrt": MathFunction(math.sqrt),
    "sum": MathFunction(_sum, 1, None),
    "tan": MathFunction(math.tan),
    "tanh": MathFunction(math.tanh),
    "trunc": MathFunction(math.trunc),
}
"""The functions that an expression may call."""
