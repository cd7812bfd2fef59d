"""Whatever strikes a call under a budget, wherever it waits: nothing stays reserved."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket.budgets import Budget
from hocket.budgets.account import Account, Amounts, Inquiry, InquiryResult
from hocket.budgets.memory import MemoryAccounts
from tests.kit import hook_model


class WaitingAccounts(MemoryAccounts):
    """Accounts that wait before and after each step, as those on a server do."""

    is_local = False

    async def ask(self, mode: Any, inquiry: Inquiry) -> InquiryResult:
        await anyio.lowlevel.checkpoint()
        verdict = await super().ask(mode, inquiry)
        await anyio.lowlevel.checkpoint()
        return verdict

    async def settle(self, mode: Any, account: Account, id: str, amounts: Amounts) -> bool:
        await anyio.lowlevel.checkpoint()
        is_settled = await super().settle(mode, account, id, amounts)
        await anyio.lowlevel.checkpoint()
        return is_settled


async def pieces(call: Any) -> AsyncIterator[str]:
    for text in ("Hello ", "world"):
        await anyio.lowlevel.checkpoint()
        yield text


def is_settling(where: list[str]) -> bool:
    """Whether the store failed where the end of an attempt was booked: then the whole is charged after the lease."""
    return any("settle" in name or "_drop" in name or "run_shielded" in name for name in where)


@pytest.fixture
def make_scene(scenes: Any, handlers: Callable[..., Any]) -> Any:
    class BudgetScene(scenes):  # type: ignore[misc]
        """A model under a budget whose store waits."""

        def __init__(self) -> None:
            super().__init__(handlers())
            self.model = hook_model(pieces, "astream", callbacks=self.handlers)
            self.begin_anew()

        def begin_anew(self) -> None:
            self.budget = Budget(tokens=1_000_000, unpriced="ignore")
            self.budget.bookkeeper.store = WaitingAccounts()
            self.model.budget = self.budget

        async def strike(self, call: Any, attack: Any, at: int) -> Any:
            outcome, injector, seconds = await super().strike(call, attack, at)
            state = await self.budget.astate()
            if injector.raised is not None and is_settling(injector.where):
                self.begin_anew()
            else:
                assert state.reserved_tokens == state.orphaned_tokens == 0, injector.where
            return outcome, injector, seconds

        def judge(self, outcome: Any, call: Any, injector: Any) -> None:
            if not is_settling(injector.where):
                super().judge(outcome, call, injector)

    return BudgetScene


@pytest.mark.one_of(3)
async def test_nothing_stays_reserved(make_scene: Any, call: Any, attack: Any) -> None:
    scene = make_scene()
    assert await scene.attack(call, attack) > 5


@pytest.mark.one_of(2)
async def test_nothing_stays_reserved_at_any_turn(make_scene: Any, call: Any, at_any_turn: Any) -> None:
    scene = make_scene()
    for at in range(60):
        await at_any_turn(call(scene.model), at)
        await scene.look()
        state = await scene.budget.astate()
        assert state.reserved_tokens == 0
