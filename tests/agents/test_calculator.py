"""`calculate` computes what it can read, in bounded time, and refuses everything else with a `ValueError`."""

import math
import time

import pytest
from hypothesis import example, given, settings, strategies as st

from hocket.agents import calculate
from hocket.tools.arithmetic import FUNCTIONS
from tests.kit.amount import limit_examples

ANSWERS = {
    "1 + 2 * 3": "7",
    "(1 + 2) * 3": "9",
    "-2 ** 2": "-4",
    "2 ** 3 ** 2": "512",
    "2 ^ 10": "1024",
    "7 // 2": "3",
    "-7 % 3": "2",
    "10 / 4": "2.5",
    "10 / 5": "2",
    "10 ** 20 / 10": "10000000000000000000",
    "0.1 + 0.2": "0.3",
    "1 / 3": "0.333333333333333",
    "1.5e3": "1500",
    ".5 + 5.": "5.5",
    "1e20": "1e+20",
    "-0.0": "0",
    "sqrt(16)": "4",
    "cbrt(-27)": "-3",
    "log(1000, 10)": "3",
    "ln(e ** 2)": "2",
    "SIN(PI / 2)": "1",
    "round(2.567, 2)": "2.57",
    "round(1234, -2)": "1200",
    "max(1, 2.5, -3)": "2.5",
    "min(3, 2)": "2",
    "sum(1, 2, 3)": "6",
    "factorial(20)": "2432902008176640000",
    "factorial(0)": "1",
    "comb(5, 2) + perm(5, 2)": "30",
    "comb(5, 9) + perm(5, 9)": "0",
    "gcd(12, 18) + lcm(4, 6)": "18",
    "floor(-1.5) + ceil(1.5) + trunc(1.9)": "1",
    "abs(-5) * hypot(3, 4)": "25",
    "1\n+\t2": "3",
    "{[(1 + 2) * 3] - 4} / 5": "1",
    "（３＋４）×５÷７": "5",  # noqa: RUF001
    "【１－０．５】＊２": "1",  # noqa: RUF001
    "５−２": "3",  # noqa: RUF001
    "max（１，２）": "2",  # noqa: RUF001
    "2 * π": "6.28318530717959",
    "√(16)": "4",
}

REFUSED = {
    "2**10000": "4,000 bits",
    "9**9**9": "4,000 bits",
    "10**1000 * 10**1000": "4,000 bits",
    "factorial(1000)": "4,000 bits",
    "factorial(10**40)": "4,000 bits",
    "comb(2**3999, 2**3000)": "4,000 bits",
    "perm(10**9, 10**8)": "4,000 bits",
    "round(5, -10**1000)": "places",
    "1.797693134862315e308": "1.7e308",
    "1e400": "1.7e308",
    "1e308 * 10": "1.7e308",
    "exp(1000)": "1.7e308",
    "10**1000 * 1.5": "1.7e308",
    "(-8) ** (1/3)": "no real number",
    "sqrt(-1)": "'sqrt' is not defined",
    "factorial(-1)": "'factorial' is not defined",
    "factorial(2.5)": "2.5 is no integer",
    "1 / 0": "'/' divides by zero",
    "5 // 0.0": "divides by zero",
    "0 ** -1": "divides by zero",
    "__import__('os')": "'__import__'",
    "().__class__": "'.' cannot be read",
    "open": "no function or constant 'open'",
    "sqr(4)": "did you mean 'sqrt'?",
    "sqrt": "write sqrt(...)",
    "sqrt()": "takes 1 arguments, and was given 0",
    "log(1, 2, 3)": "takes 1 to 2",
    "max(1)": "takes 2 or more",
    "1,234 + 1": "write 1234.5, not 1,234.5",
    "2(3)": "* must be written",
    "2 pi": "write every operator",
    "1 +": "check the brackets",
    "(1]": "check the brackets",
    "": "is no expression",
    "max(*[1])": "only numbers",
    "max(**{1})": "only numbers",
    "[1, 2]": "only numbers",
    "[1][0]": "only numbers",
    "5!": "'!' cannot be read",
    "1 < 2": "'<' cannot be read",
    "x := 1": "'x'",
    "lambda: 1": "'lambda'",
    "'a' * 9": "cannot be read",
    "\0": "cannot be read",
    "1 if 1 else 2": "'if'",
    "(" * 51 + "1" + ")" * 51: "50 deep",
    "-" * 60 + "1": "50 deep",
    "2**" * 60 + "1": "50 deep",
    "1" * 501: "at most 500",
}


@pytest.mark.parametrize(("expression", "value"), ANSWERS.items())
def test_an_expression_has_its_value(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(("expression", "words"), REFUSED.items(), ids=lambda text: text[:30])
def test_what_cannot_be_computed_is_refused_with_a_reason(expression: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        calculate(expression)

    assert words in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("value", [None, 5, b"1", ["1"]])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is a text"):
        calculate(value)  # type: ignore[arg-type]  # what a model may send


def test_the_largest_integer_has_4000_bits() -> None:
    assert calculate("2**3999") == str(2**3999)
    with pytest.raises(ValueError, match="4,000 bits"):
        calculate("2**4000")


def test_a_long_sum_is_not_deep() -> None:
    """A bill of 250 items is as flat as one of two."""
    assert calculate("+".join(["1"] * 250)) == "250"


SIGNS = ["(", ")", "[", "]", "{", "}", ",", "+", "-", "*", "**", "/", "//", "%", "^", " ", "（", "０", "×", "."]  # noqa: RUF001
WORDS = st.sampled_from([*FUNCTIONS, *SIGNS, "pi", "e", "__import__", "2", "9", "1e308", ".5", "99999999"])


@given(st.text(max_size=520) | st.lists(WORDS, max_size=200).map("".join))
@settings(max_examples=limit_examples(500))
@example("lcm(" + ",".join(f"9**{n}" for n in range(990, 1060)) + ")")
@example("**".join(["9"] * 40))
@example("comb(9**999, 30) + perm(9**999, 30)")
def test_any_text_has_a_number_or_is_refused_at_once(text: str) -> None:
    """Neither another exception, nor anything that is no number, nor long work."""
    start = time.thread_time()
    try:
        value = calculate(text)
    except ValueError as error:
        assert str(error)
    else:
        assert len(value) < 1_300
        assert math.isfinite(float(value) if "." in value or "e" in value else int(value))
    assert time.thread_time() - start < 1


NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6).map(lambda number: round(number, 3))


@given(NUMBERS, st.lists(st.tuples(st.sampled_from(["+", "-", "*"]), NUMBERS), max_size=5))
def test_it_computes_as_python_does(first: float, rest: list[tuple[str, float]]) -> None:
    expression = str(first) + "".join(f" {sign} ({number})" for sign, number in rest)

    assert float(calculate(expression)) == pytest.approx(eval(expression), rel=1e-12, abs=1e-300)


@given(NUMBERS, NUMBERS)
def test_what_it_returns_can_be_computed_with(left: float, right: float) -> None:
    """A model may put a result into the next expression."""
    value = calculate(f"({left}) * ({right})")

    assert calculate(value) == value
