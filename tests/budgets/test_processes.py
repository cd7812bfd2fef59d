"""Eight processes under one budget, some of them killed: what a provider bills never exceeds it."""

import time
from decimal import Decimal
from pathlib import Path

import pytest

from tests.budgets.conftest import Place
from tests.kit import warm

LIMIT = Decimal("0.005")
BOUND = Decimal("0.00006")
"""More than a call may cost: 20 tokens of an answer, and a few of the prompt."""

WORK = """
import os, random, signal, sys, threading

from hocket.budgets import Budget
from hocket.errors import BudgetExceeded
from hocket.language_models import SimpleChatModel
from hocket.messages import AIMessage
from hocket.outputs import ChatGeneration, ChatResult
from hocket.prices import Price, set_prices

store, name, limit, lease, path, doomed = sys.argv[1:]
meter = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
set_prices({"metered": Price(1, 2)})
number, calls = -1, 0


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class Metered(SimpleChatModel):
    @property
    def _llm_type(self):
        return "metered"

    def _call(self, *args, **options):
        raise NotImplementedError

    def _generate(self, messages, stop=None, run_manager=None, **options):
        global calls
        tokens = random.randint(0, 20)
        if number >= 0:
            os.write(meter, f"{2 + 2 * tokens} {os.getpid()}\\n".encode())  # from here on it is billed
        calls += 1
        if 0 <= number < int(doomed) and calls == 1:  # later the others may have spent all
            die()
        if int(doomed) <= number < 2 * int(doomed) and calls == 1:
            timer = threading.Timer(random.uniform(0, 0.3), die)  # wherever it is then
            timer.daemon = True
            timer.start()
        usage = {"input_tokens": 2, "output_tokens": tokens, "total_tokens": 2 + tokens}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("yes", usage_metadata=usage))])


model = Metered(profile={"max_output_tokens": 20}, budget=Budget(limit, store=store, name=name, lease=float(lease)))
model.budget.state()  # all is imported, and a connection is open, before the forks
Metered(profile={"max_output_tokens": 20}, budget=Budget("1")).invoke("hi")
calls = 0


def spend():
    try:
        while True:
            model.invoke("hi")
    except BudgetExceeded:
        pass


def work():
    threads = [threading.Thread(target=spend) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


begin, all_are_there = os.pipe()
children = []
for number in range(8):
    child = os.fork()
    if not child:
        os.close(all_are_there)
        os.read(begin, 1)
        try:
            work()
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)
            os._exit(1)
        os._exit(0)
    children.append(child)
os.close(all_are_there)
codes = [os.waitpid(child, 0)[1] for child in children]
print(*codes)
"""


def spend_in_processes(place: Place, meter: Path, lease: float, doomed: int) -> list[int]:
    """Have eight processes spend until nothing is left. Returns how each of them ended.

    Args:
        place: of the budget.
        meter: what the provider bills, a line a call.
        lease: of the budget.
        doomed: so many are killed in the middle of a call, and as many anywhere.
    """
    arguments = (place.store or "", place.name, str(LIMIT), str(lease), str(meter), str(doomed))
    options = ("-W", "error", "-W", "ignore::DeprecationWarning")
    done = warm.run(*options, "-c", WORK, *arguments, capture_output=True, timeout=150)
    assert (done.returncode, done.stderr) == (0, "")
    return [int(code) for code in done.stdout.split()]


def read_meter(meter: Path) -> Decimal:
    """Return what the provider bills, in US dollars."""
    return Decimal(sum(int(line.split()[0]) for line in meter.read_text().splitlines())) / 10**6


@pytest.mark.one_of(2)
def test_what_is_billed_never_exceeds_the_limit(shared: Place, tmp_path: Path) -> None:
    """And little is left of it: less than a call may cost."""
    meter = tmp_path / "meter"
    assert spend_in_processes(shared, meter, 600, 0) == [0] * 8
    billed, state = read_meter(meter), shared.open(LIMIT).state()
    assert billed == state.spent_usd
    assert LIMIT - BOUND < billed <= LIMIT
    assert (state.reserved_usd, state.orphaned_usd) == (0, 0)
    assert len({line.split()[1] for line in meter.read_text().splitlines()}) > 1


@pytest.mark.one_of(2, 1)
def test_killed_processes_leave_their_bound(shared: Place, tmp_path: Path) -> None:
    """What they had reserved is charged after the lease, flagged: never less than they were billed."""
    meter, lease = tmp_path / "meter", 1.0
    ends = spend_in_processes(shared, meter, lease, 2)
    assert set(ends) <= {0, 9}
    assert 9 in ends
    budget = shared.open(LIMIT, lease=lease)
    ends_at = time.monotonic() + 60
    while (state := budget.state()).reserved_usd:
        assert time.monotonic() < ends_at, "a reservation is left"
        time.sleep(0.05)
    assert read_meter(meter) <= state.spent_usd <= LIMIT
    assert state.spent_usd - state.orphaned_usd <= read_meter(meter)
    assert state.orphaned_usd > 0
