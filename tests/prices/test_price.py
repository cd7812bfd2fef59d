"""A price: each token is charged once, by its own price, exactly; and nothing costs more than the bound."""

import pickle
from decimal import Decimal, getcontext, localcontext

import pytest
from hypothesis import given, strategies as st

from hocket.errors import InvalidInput
from hocket.messages import UsageMetadata
from hocket.prices import Price
from hocket.prices.money import EXACT, MAX_UNITS, to_units, to_usd

CLAUDE = Price(
    3,
    15,
    "0.3",
    "3.75",
    cache_write_1h=6,
    above={200_000: Price(6, "22.5", "0.6", "7.5", cache_write_1h=12)},
)

counts = st.integers(0, 400_000)
amounts = st.decimals(0, 100, places=4)
optional = st.none() | amounts


@st.composite
def usages(draw: st.DrawFn) -> UsageMetadata:
    """Usage by hocket's rule: the parts lie within their whole."""
    read, written, heard, plain, reasoned, spoken, said = (draw(counts) for _ in range(7))
    return {
        "input_tokens": read + written + heard + plain,
        "output_tokens": reasoned + spoken + said,
        "total_tokens": 0,
        "input_token_details": {  # type: ignore[typeddict-unknown-key]
            "cache_read": read,
            "cache_creation": written,
            "ephemeral_1h_input_tokens": draw(st.integers(0, written)),
            "audio": heard,
        },
        "output_token_details": {"reasoning": reasoned, "audio": spoken},
    }


@st.composite
def prices(draw: st.DrawFn, steps: bool = True) -> Price:
    given_prices = {name: draw(optional) for name in ("cache_write_1h", "input_audio", "output_audio")}
    above = draw(st.dictionaries(st.integers(1, 500_000), prices(steps=False), max_size=3)) if steps else {}
    return Price(
        draw(amounts), draw(amounts), draw(optional), draw(optional), draw(optional), above=above, **given_prices
    )


def test_each_kind_of_token_is_charged_once() -> None:
    usage: UsageMetadata = {
        "input_tokens": 1_000_000,
        "output_tokens": 300_000,
        "total_tokens": 1_300_000,
        "input_token_details": {"cache_read": 600_000, "cache_creation": 100_000},
        "output_token_details": {"reasoning": 100_000},
    }
    price = Price("1", "10", "0.1", "1.25", "20")
    assert price.cost(usage) == Decimal("0.3") + Decimal("0.06") + Decimal("0.125") + 2 + 2


def test_a_part_without_a_price_of_its_own_costs_what_its_whole_costs() -> None:
    usage: UsageMetadata = {
        "input_tokens": 10,
        "output_tokens": 10,
        "total_tokens": 20,
        "input_token_details": {"cache_read": 4, "cache_creation": 3, "audio": 2},
        "output_token_details": {"reasoning": 5, "audio": 1},
    }
    assert Price(1, 2).cost(usage) == Decimal("0.00003")


def test_a_long_prompt_has_the_prices_of_long_prompts_for_all_of_its_tokens() -> None:
    def cost(tokens: int) -> Decimal:
        return CLAUDE.cost({"input_tokens": tokens, "output_tokens": 0, "total_tokens": tokens})

    assert cost(200_000) == Decimal("0.6")
    assert cost(200_001) == Decimal("1.200006")


def test_what_is_kept_for_an_hour_costs_more_than_what_is_kept_for_minutes() -> None:
    usage: UsageMetadata = {
        "input_tokens": 1000,
        "output_tokens": 0,
        "total_tokens": 1000,
        "input_token_details": {"cache_creation": 1000, "ephemeral_1h_input_tokens": 400},  # type: ignore[typeddict-unknown-key]
    }
    assert CLAUDE.cost(usage) == (600 * Decimal("3.75") + 400 * 6) / 10**6


@given(prices(), usages())
def test_half_a_price_makes_half_the_cost(price: Price, usage: UsageMetadata) -> None:
    """Of each kind of token, cached ones too, and of long prompts: exactly."""
    with localcontext(EXACT):
        assert 2 * price.halve().cost(usage) == price.cost(usage)
    assert 2 * price.halve().max_cost(5, 7) == price.max_cost(5, 7)


@given(prices(), usages())
def test_no_usage_costs_more_than_its_bound(price: Price, usage: UsageMetadata) -> None:
    assert 0 <= price.cost(usage) <= price.max_cost(usage["input_tokens"], usage["output_tokens"])


@given(prices(), counts, counts, counts, counts)
def test_the_bound_grows_with_the_tokens(price: Price, one: int, more: int, out: int, more_out: int) -> None:
    assert price.max_cost(one, out) <= price.max_cost(one + more, out + more_out)


@given(usages())
def test_what_costs_nothing_is_zero(usage: UsageMetadata) -> None:
    assert Price(0, 0).cost(usage) == 0


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": -5, "output_tokens": -5, "total_tokens": 0},
        {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10, "input_token_details": {"cache_read": -3}},
        {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10, "input_token_details": {"cache_read": None}},
        {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10, "output_token_details": {"reasoning": 900}},
    ],
    ids=["negative", "negative part", "no part", "part above its whole"],
)
def test_odd_counts_never_make_a_call_cheaper_than_nothing(usage: UsageMetadata) -> None:
    assert Price(1, 1, "0.5").cost(usage) >= 0


def test_a_programs_own_decimal_context_changes_nothing() -> None:
    usage: UsageMetadata = {"input_tokens": 123_457, "output_tokens": 98_765, "total_tokens": 222_222}
    price = Price("1.2345", "9.8765")
    exact = price.cost(usage)
    with localcontext() as context:
        context.prec = 2
        assert price.cost(usage) == exact
        assert to_units(exact) == to_units(exact)
    assert exact == (123_457 * Decimal("1.2345") + 98_765 * Decimal("9.8765")) / 10**6
    assert getcontext().prec == 28


def test_units_are_rounded_up_and_exact_from_there() -> None:
    assert to_units(Decimal("0.000000001")) == 1
    assert to_units(Decimal("0.5")) == 50_000_000
    assert to_usd(50_000_001) == Decimal("0.50000001")
    assert to_units(to_usd(MAX_UNITS)) == MAX_UNITS


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0.1, 'is 0.1, a float, which is not exact: give a text, as "0.1"'),
        (float("nan"), "a float"),
        (True, "it is an amount of US dollars"),
        ("free", 'it is an amount of US dollars, as "0.50"'),
        ("", "it is an amount of US dollars"),
        ("-1", "must be from 0 to"),
        (-1, "must be from 0 to"),
        (Decimal("NaN"), "must be from 0 to"),
        (Decimal("Infinity"), "must be from 0 to"),
        (10**9, "must be from 0 to"),
        ([], "it is an amount of US dollars"),
    ],
    ids=str,
)
def test_what_is_no_amount_is_refused(value: object, message: str) -> None:
    for arguments in ((value, 1), (1, value), (1, 1, value)):
        with pytest.raises(InvalidInput, match="(?s)" + message.replace("(", "\\(")):
            Price(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "above", [{0: Price(1, 1)}, {-1: Price(1, 1)}, {True: Price(1, 1)}, {5: 1}, {5: CLAUDE}], ids=str
)
def test_steps_that_cannot_be_are_refused(above: dict[int, Price]) -> None:
    with pytest.raises(InvalidInput, match="above"):
        Price(1, 1, above=above)


@pytest.mark.parametrize("batch", [1, "0.5", Price(1, 1, batch=Price(1, 1))], ids=str)
def test_a_price_of_batches_that_cannot_be_is_refused(batch: Price) -> None:
    with pytest.raises(InvalidInput, match=r"batch is .*; it is a Price without a `batch` of its own"):
        Price(1, 1, batch=batch)


def test_a_step_has_no_price_of_batches() -> None:
    """That of batches has steps of its own."""
    with pytest.raises(InvalidInput, match="without an `above` or `batch` of its own"):
        Price(1, 1, above={5: Price(2, 2, batch=Price(1, 1))})
    assert Price(2, 2, batch=Price(1, 1, above={5: Price(2, 2)})).batch.above == {5: Price(2, 2)}  # type: ignore[union-attr]


def test_the_price_of_batches_is_no_part_of_that_of_calls() -> None:
    price = Price(1, 2, batch=Price(50, 50))
    assert price.max_cost(1_000_000, 1_000_000) == 3
    assert price != Price(1, 2)
    assert "batch=Price(" in repr(price)


def test_a_price_is_data() -> None:
    assert pickle.loads(pickle.dumps(Price(1, 2, batch=CLAUDE))).batch == CLAUDE
    assert pickle.loads(pickle.dumps(CLAUDE)) == CLAUDE
    assert hash(Price(1, 2)) == hash(Price("1", "2.0"))
    assert Price(1, 2) != Price(1, 3)
    with pytest.raises(AttributeError):
        CLAUDE.input = Decimal(1)  # type: ignore[misc]


def test_units_are_shown_without_zeros_at_the_end() -> None:
    assert [str(to_usd(units)) for units in (0, 25_000, 150_000_000, 10**10)] == ["0", "0.00025", "1.5", "100"]
