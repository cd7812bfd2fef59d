"""A budget as a user makes it: what is refused, how it shows itself, and how it travels."""

import copy
import pickle
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hocket.budgets import Budget, spending
from hocket.errors import (
    BudgetError,
    BudgetExceeded,
    BudgetStoreFailed,
    DroppedStateWarning,
    InvalidInput,
    Unpriceable,
)
from hocket.retries import RetryPolicy


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, 'give usd=..., as "5.00", or tokens=..., or both'),
        ({"usd": 0.5}, 'usd is 0.5, a float, which is not exact: give a text, as "0.5", or a Decimal'),
        ({"usd": 0}, "usd is 0; it must be at least 0.00000001"),
        ({"usd": "0.000000001"}, "it must be at least"),
        ({"usd": -1}, "must be from 0 to"),
        ({"usd": "NaN"}, "must be from 0 to"),
        ({"usd": "five"}, "an amount of US dollars"),
        ({"usd": 10**9}, "must be from 0 to 90071993 US dollars"),
        ({"tokens": 0}, "tokens is 0; it is a whole number above 0"),
        ({"tokens": -1}, "tokens is -1"),
        ({"tokens": 1.5}, "tokens is 1.5"),
        ({"tokens": float("nan")}, "tokens is nan"),
        ({"tokens": True}, "tokens is True"),
        ({"tokens": 2**60}, "at most"),
        ({"usd": 1, "per": "week"}, "per is 'week'"),
        ({"usd": 1, "per": 0}, "per is 0"),
        ({"usd": 1, "lease": 0}, "lease is 0"),
        ({"usd": 1, "lease": -1}, "lease is -1"),
        ({"usd": 1, "lease": float("nan")}, "lease is nan"),
        ({"usd": 1, "lease": float("inf")}, "lease is inf"),
        ({"usd": 1, "name": ""}, "name is ''"),
        ({"usd": 1, "name": "a\0b"}, "name is 'a\\x00b'"),
        ({"usd": 1, "name": "\ud800"}, "name is"),
        ({"usd": 1, "name": "x" * 201}, "200 characters"),
        ({"usd": 1, "by": ""}, "by is ''"),
        ({"usd": 1, "unpriced": "allow"}, "unpriced is 'allow'"),
        ({"usd": 1, "timezone": "Mars"}, "timezone is 'Mars'"),
        ({"usd": 1, "store": "mysql://me:hunter2@host/db"}, "is no address of a store of budgets"),
        ({"usd": 1, "store": "budgets.db"}, "'budgets.db' is no address of a store of budgets"),
        ({"usd": 1, "store": Path("budgets.db")}, "sqlite:///path"),
        ({"usd": 1, "store": "sqlite:///:memory:"}, "leave store=... out"),
        ({"usd": 1, "store": "sqlite:///"}, "the path of the store is empty"),
        ({"usd": 1, "store": "redis://host:port"}, "is no URL of Redis"),
        ({"usd": 1, "store": "postgresql://host:port/db?x"}, "is no URL of PostgreSQL"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_is_no_budget_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Budget(**options)
    assert message in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("usd", "tokens"), [(0.1, 0), ("-1", 0), (0, -1), (0, 1.5), (0, True), (0, 2**60)])
def test_what_is_no_amount_is_refused_and_nothing_is_held(usd: Any, tokens: Any) -> None:
    budget = Budget("1", tokens=10)
    held = budget.reserve("0.1", 1)
    with pytest.raises(InvalidInput):
        budget.reserve(usd, tokens)
    with pytest.raises(InvalidInput):
        held.settle(usd, tokens)
    assert budget.state().reserved_usd == Decimal("0.1")
    assert held.settle()


def test_what_it_says_of_itself() -> None:
    budget = Budget("5.50", tokens=1_000_000, per="day", name="team", store="redis://:hunter2@localhost/0")
    assert repr(budget) == ("Budget(5.5 USD and 1,000,000 tokens, per='day', name='team', store='redis://localhost/0')")
    assert (budget.usd, budget.tokens) == (Decimal("5.5"), 1_000_000)
    assert repr(Budget(1)) == "Budget(1 USD, name='default')"
    assert repr(Budget(tokens=5).reserve(0, 2).tokens) == "2"


def test_a_budget_at_an_address_travels_without_the_password() -> None:
    budget = Budget(1, store="postgresql://me:hunter2@127.0.0.1:1/db", name="team")
    assert budget.is_portable
    with pytest.warns(DroppedStateWarning, match="leaves its password behind"):
        data = pickle.dumps(budget)
    assert b"hunter2" not in data
    assert repr(pickle.loads(data)) == repr(budget) == "Budget(1 USD, name='team', store='postgresql://127.0.0.1:1/db')"


def test_a_budget_without_a_password_travels_as_it_is(tmp_path: Path) -> None:
    budget = Budget(1, store=f"sqlite:///{tmp_path}/budgets.db", per="day", timezone="Europe/Berlin")
    budget.reserve("0.4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arrived = pickle.loads(pickle.dumps(budget))
    assert arrived.state() == budget.state()
    with pytest.raises(BudgetExceeded):
        arrived.reserve("0.7")


def test_a_budget_in_memory_does_not_travel() -> None:
    budget = Budget(1)
    assert not budget.is_portable
    with pytest.raises(InvalidInput, match="Give it store"):
        pickle.dumps(budget)


def test_a_copy_is_the_same_budget() -> None:
    budget = Budget(1)
    assert copy.copy(budget) is copy.deepcopy(budget) is budget


def test_its_errors_travel_whole() -> None:
    budget = Budget("0.5", per="day", by="tenant")
    with pytest.raises(BudgetExceeded) as caught:
        budget.reserve("0.6", key="ada")
    arrived = pickle.loads(pickle.dumps(caught.value))
    assert (str(arrived), vars(arrived)) == (str(caught.value), vars(caught.value))
    assert arrived.resets_at == budget.state(key="ada").resets_at.timestamp()  # type: ignore[union-attr]


@pytest.mark.parametrize("error", [BudgetExceeded("x"), Unpriceable("x"), BudgetStoreFailed("x")], ids=repr)
def test_its_errors_are_never_tried_again(error: BudgetError) -> None:
    """Unless a program names them."""
    assert not RetryPolicy(also=(Exception,)).allows(error)
    assert not RetryPolicy(also=(RuntimeError,)).allows(error)
    assert RetryPolicy(also=(BudgetStoreFailed,)).allows(error) is isinstance(error, BudgetStoreFailed)


@pytest.mark.parametrize("options", [{}, {"usd": 0.1}, {"tokens": 0}], ids=str)
def test_a_block_is_refused_what_a_budget_is(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        spending(**options)
