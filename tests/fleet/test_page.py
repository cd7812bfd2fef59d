"""The page of fleets holds: its program in four processes, its table of failures, what it says a killed process leaves."""

import ast
import importlib
import inspect
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from hocket.batch import runner
from hocket.budgets import Budget, account
from hocket.caches import SQLiteCache
from hocket.ledger import SQLiteLedger, writer
from hocket.rate_limiters import schedule, store
from tests.kit import warm

PAGE = (Path(__file__).parents[2] / "docs" / "fleets.md").read_text()


def read_program(heading: str) -> str:
    """Return the first program under a heading of the page."""
    after = PAGE.split(f"\n## {heading}\n")[1]
    found = re.search(r"```python\n(.*?)```", after, re.DOTALL)
    assert found is not None
    return found[1]


PROCESS = """
import ast, asyncio, inspect, pathlib, sys
code = compile(pathlib.Path(sys.argv[1]).read_text(), "fleet", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
asyncio.run(eval(code, {"__name__": "__main__"}))
"""


def test_the_service_in_four_processes_sends_one_request(tmp_path: Path) -> None:
    """Each has a script of one answer: to be asked again would fail. The book has all eight calls."""
    program = read_program("Share limits, budgets and caches")
    assert compile(program, "fleet", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    (tmp_path / "fleet.py").write_text(program)
    command = ("-c", textwrap.dedent(PROCESS), "fleet.py")
    workers = [warm.Program(*command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 4
    assert sum(text.count("Paris. False") for text in told) == 1
    assert sum(text.count("Paris. True") for text in told) == 7
    ledger = SQLiteLedger(tmp_path / "usage.db")
    [total] = ledger.total(by=("tenant",))
    assert (total.group, total.calls, total.cached) == ({"tenant": "acme"}, 8, 7)
    assert (total.input_tokens, total.output_tokens, total.served_tokens) == (8, 5, 7 * 13)
    spent = Budget(tokens=1_000_000, per="day", by="tenant", store=f"sqlite:///{tmp_path}/fleet.db").state(key="acme")
    assert (spent.spent_tokens, spent.reserved_tokens) == (13, 0)
    ledger.close()


CASES = {
    ("its store is down", "cache"): "test_cache_failures.test_a_model_does_without_its_cache",
    (
        "its store is down",
        "limit",
    ): "test_limit_failures.test_store_down_local test_limit_failures.test_store_down_raise",
    ("its store is down", "budget"): "test_budget_failures.TestStoreDown",
    ("its store is down", "ledger"): "test_ledger_failures.test_a_store_that_is_down_costs_no_answer",
    ("its store is slow", "cache"): "test_cache_failures.test_a_model_does_without_its_cache",
    ("its store is slow", "limit"): "test_limit_failures.test_slow_store",
    ("its store is slow", "budget"): "test_budget_failures.TestSlowStore",
    ("its store is slow", "ledger"): "test_ledger_failures.test_a_slow_store_keeps_no_call_waiting",
    ("a process is killed", "cache"): "caches.test_processes.test_the_claim_of_a_killed_process_runs_out",
    ("a process is killed", "limit"): (
        "rate_limiters.test_shared.test_a_process_that_is_killed_leaves_what_the_window_forgets"
    ),
    ("a process is killed", "budget"): (
        "test_budget_failures.test_killed_holding budgets.test_processes.test_killed_processes_leave_their_bound"
    ),
    ("a process is killed", "ledger"): "ledger.test_writer.test_a_killed_process_leaves_an_open_entry",
    ("a call is cancelled", "cache"): "test_cache_failures.test_a_cancelled_call_releases_its_claim",
    ("a call is cancelled", "limit"): "test_limit_failures.test_cancelled_waiter",
    ("a call is cancelled", "budget"): "test_budget_failures.TestCancelledWaiter",
    ("a call is cancelled", "ledger"): "test_ledger_failures.test_a_cancelled_call_is_booked_as_one",
    ("a machine's clock is wrong", "cache"): "test_cache_failures.test_a_clock_that_is_wrong_by_years_changes_nothing",
    ("a machine's clock is wrong", "limit"): "test_limit_failures.test_clock_skew",
    ("a machine's clock is wrong", "budget"): "test_budget_failures.TestClockSkew",
    ("a machine's clock is wrong", "ledger"): "test_ledger_failures.test_entries_have_both_times",
}
"""What shows each cell of the page's table."""


def read_cells() -> list[tuple[str, str]]:
    """Return the cells of the table of failures, by row and column."""
    lines = PAGE.split("### When something fails\n")[1].strip().split("\n\n")[0].splitlines()
    columns = [name.strip() for name in lines[0].strip("|").split("|")][1:]
    rows = [line.strip("|").split("|") for line in lines[2:]]
    return [
        (row[0].strip(), column) for row in rows for column, text in zip(columns, row[1:], strict=True) if text.strip()
    ]


@pytest.mark.parametrize(("failure", "part"), read_cells())
def test_each_failure_on_the_page_has_a_test(failure: str, part: str) -> None:
    for name in CASES[failure, part].split():
        module, _, test = name.rpartition(".")
        assert hasattr(importlib.import_module(f"tests.{module}" if "." in module else f"tests.fleet.{module}"), test)


def test_no_failure_is_left_out_of_the_page() -> None:
    assert sorted(CASES) == sorted(read_cells())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ends after {:g} s (`lease=`), and then one", SQLiteCache("x.db").lease),
        ("at most {:g} s of the schedule", schedule.HORIZON),
        ("have their places again after {:g} s", store.LEASE),
        ("charged whole after {:g} s (`lease=`)", inspect.signature(Budget).parameters["lease"].default),
        ("for {:g} hours after that", account.KEPT / 3600),
        ("entries of the last {:g} ms", writer.TICK * 1000),
        ("under way for more than {:g} ms", writer.OPEN_AFTER * 1000),
        ("those of the last {:g} ms", runner.TICK * 1000),
        ("or the last {:g} lines", runner.MOST_LINES),
    ],
)
def test_what_a_killed_process_leaves_is_said_with_its_numbers(text: str, value: float) -> None:
    section = PAGE.split("### What a killed process leaves behind\n")[1].split("\n## ")[0]
    assert text.format(value) in section
