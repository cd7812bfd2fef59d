"""A second deployment where the first is late: who wins, who is called off, what is booked, and how often."""

import random
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket import AIMessageChunk
from hocket._runtime import clock
from hocket.budgets import Budget
from hocket.errors import ProviderUnavailable
from hocket.ledger import CallbackLedger, LedgerEntry
from hocket.outputs import ChatGenerationChunk
from hocket.rate_limiters import RateLimiter
from hocket.retries import RetryPolicy
from hocket.routing import ChatRouter, Deployment
from hocket.testing import virtual_clock
from tests.kit.amount import RUNS_ALL
from tests.kit.models import hook_model

pytestmark = pytest.mark.both_loops

NOW = RetryPolicy(max_attempts=3, first_pause=0, jitter=0)
QUICK = 0.1


class Site:
    """A deployment that answers after ``delays``, one after another, of which the last stays; it counts who leaves early."""

    def __init__(self, name: str, *delays: float | BaseException) -> None:
        self.name, self.delays = name, list(delays)
        self.asked = self.left = 0

    async def __call__(self, call: Any) -> Any:
        self.asked += 1
        delay = self.delays.pop(0) if len(self.delays) > 1 else self.delays[0]
        if isinstance(delay, BaseException):
            await clock.current().sleep(5)
            raise delay
        try:
            await clock.current().sleep(delay)
        except anyio.get_cancelled_exc_class():
            self.left += 1
            raise
        return self._stream() if call.hook == "astream" else self.name

    async def _stream(self) -> AsyncIterator[Any]:
        for text in (self.name, self.name):
            yield ChatGenerationChunk(message=AIMessageChunk(text))
            await clock.current().sleep(QUICK)


def route(*sites: Site, **fields: Any) -> ChatRouter:
    """Return a router over these, of which the first is asked first."""
    deployments = [
        Deployment(hook_model(site, "agenerate", "astream"), name=site.name, weight=float(not at))
        for at, site in enumerate(sites)
    ]
    return ChatRouter(deployments=deployments, **{"retry": NOW, "hedge": 1.0, "affinity": False, **fields})


async def learn(router: ChatRouter, verb: str = "ainvoke") -> None:
    for _ in range(20):
        if verb == "ainvoke":
            await router.ainvoke("hi")
        else:
            await read(router)


async def read(router: ChatRouter) -> str:
    return "".join([chunk.text async for chunk in router.astream("hi")])


CALLS = 2000
LATE = [QUICK] * 20 + [60.0]


async def test_who_speaks_first_has_won():
    """After twice the p90 another one is asked; the loser is called off at once, and booked as cancelled."""
    entries: list[LedgerEntry] = []
    ledger = CallbackLedger(entries.append)
    with virtual_clock():
        first, second = Site("a", *LATE), Site("b", QUICK)
        router = route(first, second, ledger=ledger)
        await learn(router)
        began = clock.current().now()
        reply = await router.ainvoke("hi", {"metadata": {"user": "x"}})
        assert clock.current().now() - began == pytest.approx(3 * QUICK)
        assert (reply.text, reply.response_metadata["deployment"], first.left) == ("b", "b", 1)
        assert [state.in_flight for state in await router.astate()] == [0, 0]
    await ledger.aflush()
    lost, won = sorted(entries[-2:], key=lambda entry: entry.metadata["deployment"])
    assert (lost.outcome, lost.estimated, lost.attempt) == ("cancelled", True, 1) and (lost.input_tokens or 0) > 0
    assert (won.outcome, won.attempt) == ("ok", 2)
    assert (lost.metadata, won.metadata) == (
        {"user": "x", "deployment": "a"},
        {"user": "x", "deployment": "b", "hedge": True},
    )


async def test_a_stream_is_one_of_the_two():
    """Never a mixture; a verb learns for itself alone."""
    with virtual_clock():
        first, second = Site("a", *[QUICK] * 20, *[QUICK] * 20, 60), Site("b", QUICK)
        router = route(first, second)
        await learn(router)
        await learn(router, "astream")
        whole = None
        async for chunk in router.astream("hi"):
            whole = chunk if whole is None else whole + chunk
        assert whole is not None and (whole.text, whole.response_metadata["deployment"]) == ("bb", "b")
        assert len({whole.id}) == 1 and (second.asked, first.left) == (1, 1)


async def test_the_first_may_still_win():
    with virtual_clock():
        first, second = Site("a", *LATE[:-1], 3 * QUICK), Site("b", 60)
        router = route(first, second)
        await learn(router)
        assert ((await router.ainvoke("hi")).text, second.asked, second.left) == ("a", 1, 1)


async def test_a_share_of_the_calls_at_most():
    with virtual_clock():
        first, second = Site("a", *([QUICK] * 20 + [5.0]) * 20), Site("b", QUICK)
        router = route(first, second, hedge=0.02)
        for _ in range(400):
            await router.ainvoke("hi")
        assert 6 <= second.asked <= 8  # where 19 were late


@pytest.mark.nightly
@pytest.mark.parametrize("verb", ["astream", "ainvoke"])
async def test_five_of_a_hundred_that_are_slow(verb: str):
    """The p99 of the first token is half or less, with five of a hundred more requests at most."""
    chance = random.Random(7)

    class Straggler(Site):
        async def __call__(self, call: Any) -> Any:
            self.delays = [2.0 if chance.random() < 0.05 else 0.05 + 0.1 * chance.random()]
            return await super().__call__(call)

    async def measure(hedge: float | None) -> tuple[float, int]:
        sites = [Straggler(name, 0) for name in "abc"]
        router = ChatRouter(
            deployments=[Deployment(hook_model(one, "agenerate", "astream"), name=one.name) for one in sites],
            hedge=hedge,
            affinity=False,
        )
        took = []
        for _ in range(CALLS):
            began = clock.current().now()
            if verb == "ainvoke":
                await router.ainvoke("hi")
            else:
                async with router.astream("hi") as stream:
                    await anext(stream)
            took.append(clock.current().now() - began)
        return sorted(took)[int(0.99 * CALLS)], sum(one.asked for one in sites)

    with virtual_clock():
        slow, alone = await measure(None)
        quick, hedged = await measure(0.05)
    assert alone == CALLS and quick <= 0.5 * slow and hedged <= 1.05 * alone


async def test_a_hedge_that_fails_leaves_the_first_alone():
    with virtual_clock():
        first, second = Site("a", *LATE[:-1], 10), Site("b", ProviderUnavailable("b", retryable=True))
        router = route(first, second)
        await learn(router)
        assert ((await router.ainvoke("hi")).text, second.asked) == ("a", 1)


async def test_the_first_fails_while_another_is_asked():
    with virtual_clock():
        first, second = Site("a", *LATE[:-1], ProviderUnavailable("a", retryable=True)), Site("b", 60)
        router = route(first, second)
        await learn(router)
        assert ((await router.ainvoke("hi")).text, second.asked) == ("b", 1)


async def test_both_fail():
    """The first one's error; and a hedge counts as an attempt."""
    with virtual_clock():
        first, second = (
            Site("a", *LATE[:-1], ProviderUnavailable("a", retryable=True)),
            Site("b", ProviderUnavailable("b", retryable=True)),
        )
        router = route(first, second, retry=RetryPolicy(max_attempts=2, first_pause=0))
        await learn(router)
        with pytest.raises(ProviderUnavailable, match="a"):
            await router.ainvoke("hi")
        assert (first.asked, second.asked) == (21, 1)


async def test_no_hedge_without_a_second_attempt_or_another_deployment():
    with virtual_clock():
        for sites, fields in [((Site("a", *LATE), Site("b", QUICK)), {"retry": None}), ((Site("a", *LATE),), {})]:
            router = route(*sites, **fields)
            await learn(router)
            assert (await router.ainvoke("hi")).text == "a"


async def test_no_hedge_without_room_or_money():
    with virtual_clock():
        first, second = Site("a", *LATE), Site("b", QUICK)
        router = route(first, second)
        full = RateLimiter(1, adaptive=False)
        await full.aacquire()
        router = ChatRouter(
            deployments=[router.deployments[0], Deployment(router.deployments[1].model, name="b", rate_limiter=full)],
            hedge=1.0,
        )
        await learn(router)
        assert ((await router.ainvoke("hi")).text, second.asked) == ("a", 0)
    with virtual_clock():
        first, second = Site("a", *LATE), Site("b", QUICK)
        router = route(first, second)
        poor = hook_model(second, budget=Budget(tokens=1))
        router = ChatRouter(deployments=[router.deployments[0], Deployment(poor, name="b", weight=0)], hedge=1.0)
        await learn(router)
        assert ((await router.ainvoke("hi", max_tokens=5)).text, second.asked) == ("a", 0)


async def test_a_hedge_that_is_refused_is_left_to_a_later_call():
    """Of the share of calls that may be hedged one without room takes nothing."""
    with virtual_clock():
        first, second, full = Site("a", *LATE[:-1], 5, 5, 5), Site("b", QUICK), RateLimiter(1, adaptive=False)
        await full.aacquire()
        models = [hook_model(one) for one in (first, second)]
        deployments = [Deployment(models[0], name="a"), Deployment(models[1], name="b", weight=0, rate_limiter=full)]
        router = ChatRouter(deployments=deployments, retry=NOW, hedge=0.05, affinity=False)
        await learn(router)
        assert (await router.ainvoke("hi")).text == "a"
        await clock.current().sleep(60)
        assert [(await router.ainvoke("hi")).text for _ in range(2)] == ["b", "a"]


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_caller_who_leaves_ends_both(verb: str):
    with virtual_clock():
        first, second = Site("a", *LATE), Site("b", 60)
        router = route(first, second)
        await learn(router, verb)
        async with anyio.create_task_group() as group:
            group.start_soon(read if verb == "astream" else router.ainvoke, router if verb == "astream" else "hi")
            await clock.current().sleep(1)
            assert [state.in_flight for state in await router.astate()] == [1, 1]
            group.cancel_scope.cancel()
        assert (first.left, second.left) == (1, 1)
        assert [state.in_flight for state in await router.astate()] == [0, 0]


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_caller_who_leaves_at_any_turn(verb: str):
    """Nobody is asked any more, whenever that is: before, in, and after the race."""
    router = route(Site("a", *[0.0] * 20, 0.01), Site("b", 0.0), hedge=1.0)
    await learn(router, verb)
    ends = set[str]()
    for turns in range(0, 60, 1 if RUNS_ALL else 3):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def leave(turns: int = turns, scope: anyio.CancelScope = scope) -> None:
                    for _ in range(turns):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()

                group.start_soon(leave)
                ends.add(await read(router) if verb == "astream" else (await router.ainvoke("hi")).text)
                group.cancel_scope.cancel()
        ends.add("cancelled" * scope.cancelled_caught)
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        assert [state.in_flight for state in await router.astate()] == [0, 0]
    assert "cancelled" in ends


async def test_a_loser_that_does_not_heed_its_end_holds_up_nobody():
    is_free = anyio.Event()

    class Stubborn(Site):
        async def __call__(self, call: Any) -> Any:
            if self.asked < 20:
                return await super().__call__(call)
            with anyio.CancelScope(shield=True):
                await is_free.wait()
            return "late"

    router = route(Stubborn("a", 0.001), Site("b", 0.001))
    await learn(router)
    with anyio.fail_after(5):
        assert (await router.ainvoke("hi")).text == "b"
    is_free.set()
    with anyio.fail_after(5):
        while any([state.in_flight for state in await router.astate()]):  # noqa: ASYNC110
            await anyio.sleep(0.001)
