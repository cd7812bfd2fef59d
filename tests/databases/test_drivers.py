"""The packages that speak to databases are not imported where a loop would wait for them."""

import subprocess
import sys

import pytest

PROGRAM = """
import pickle, sys, threading, warnings
import anyio
from hocket import Budget
from hocket.errors import BudgetStoreFailed
from hocket.rate_limiters import RateLimiter

class Spy:
    threads = set()

    def find_spec(self, name, path=None, target=None):
        if name.startswith("{package}."):  # `find_spec` looks for the package, and imports nothing
            self.threads.add(threading.current_thread())

{before}
sys.meta_path.insert(0, Spy())

async def main():
    limiter = RateLimiter(60, store=sys.argv[1])
    budget = Budget(tokens=5, store=sys.argv[1])
    print(len(Spy.threads), repr(limiter), repr(budget))
    print(*(await limiter.areserve(1)).tokens)
    try:
        await budget.areserve(tokens=1)
    except BudgetStoreFailed as error:
        print(type(error).__name__)
    warnings.simplefilter("ignore")  # of the password
    print(*(type(pickle.loads(pickle.dumps(one))).__name__ for one in (limiter, budget)))

anyio.run(main, backend="{loop}")
print("{package}" in sys.modules, threading.main_thread() in Spy.threads)
"""

DRIVERS = {"redis": "redis://:hidden@127.0.0.1:1/0", "psycopg": "postgresql://me:hidden@127.0.0.1:1/none"}


def _run(package: str, loop: str, before: str = "") -> list[str]:
    code = PROGRAM.format(package=package, loop=loop, before=before)
    # The address is not in the code, which a traceback shows from Python 3.13 on.
    command = [sys.executable, "-c", code, DRIVERS[package]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert "hidden" not in done.stdout + done.stderr
    return [*done.stdout.splitlines(), done.stderr.strip().rpartition("\n")[2]]


@pytest.mark.one_of(2)
@pytest.mark.parametrize("loop", ["asyncio", "trio"])
@pytest.mark.parametrize("package", DRIVERS)
def test_a_limit_and_a_budget_that_are_made_in_a_loop_have_a_thread_import_the_driver(package: str, loop: str) -> None:
    """None is imported when they are made; then in a thread. The store is down: one goes on, one refuses."""
    made, tokens, refused, copied, imported, *_ = _run(package, loop)
    assert made.startswith("0 RateLimiter(name='default', store='") and "Budget(5 tokens" in made
    assert (tokens, refused) == ("1 0", "BudgetStoreFailed")
    assert copied == "RateLimiter Budget"
    assert imported == "True False"


@pytest.mark.parametrize("package", DRIVERS)
def test_a_driver_that_is_missing_is_told_where_the_limit_is_made(package: str) -> None:
    """Also in a loop."""
    *_, last = _run(package, "asyncio", f"sys.modules[{package!r}] = None")
    assert "MissingDependency" in last and "pip install 'hocket[" in last


@pytest.mark.parametrize(
    ("opening", "extra"),
    [
        ("hocket.ledger.open_ledger('postgresql://h/db')", "postgres"),
        ("hocket.ledger.PostgresLedger('postgresql://h/db')", "postgres"),
        ("hocket.chat_history.open_history('postgresql://h/db', 'ada')", "postgres"),
        ("hocket.chat_history.open_history('redis://h', 'ada')", "redis"),
    ],
)
def test_a_driver_that_is_missing_is_told_with_the_extra_that_brings_it(opening: str, extra: str) -> None:
    """Where the address is, not at the first use."""
    missing = "import sys; sys.modules['psycopg'] = sys.modules['redis'] = None"
    code = f"{missing}; import hocket.chat_history, hocket.ledger; {opening}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    last = done.stderr.strip().rpartition("\n")[2]
    assert "MissingDependency" in last and f"pip install 'hocket[{extra}]'" in last
