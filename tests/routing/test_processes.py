"""Eight processes behind one router's name: what one of them is told, all keep; they use the joint rate; talks stay."""

import json
import subprocess
import textwrap
from collections import Counter
from typing import Any

import pytest

from tests.kit.amount import RUNS_ALL, leave_for_night
from tests.kit.warm import Program
from tests.rate_limiters.conftest import address, name, postgres_url

__all__ = ["address", "name", "postgres_url"]

LONG = 120.0
"""Real seconds that a busy machine may take."""

REST = 3.0
"""Seconds for which the refusing deployment wants to be left alone."""

KNOWN_AFTER = 0.5
"""Seconds after which all know of a refusal, also those that had a request under way."""

RATE = 30
"""Requests a second that an account takes, of each of two."""

PROGRAM = """
    import json, sys, time
    import anyio
    from hocket import HumanMessage
    from hocket.errors import RateLimitError
    from hocket.language_models import SimpleChatModel
    from hocket.rate_limiters import RateLimiter
    from hocket.routing import ChatRouter, Deployment

    address, name, what, seconds = *sys.argv[1:4], float(sys.argv[4])

    class Site(SimpleChatModel):
        site: str

        @property
        def _llm_type(self):
            return "site"

        def _call(self, messages, stop=None, run_manager=None, **kwargs):
            raise NotImplementedError

        async def _acall(self, messages, stop=None, run_manager=None, **kwargs):
            print(json.dumps([self.site, time.time()]), flush=True)
            if self.site == "refusing":
                raise RateLimitError("no", retry_after=REST, retryable=True)
            await anyio.sleep(0.01)
            return "yes"

    def limit(site):
        return RateLimiter(RATE * 60, window=1, adaptive=False, store=address, name=name + site, if_store_fails="raise")

    sites = ["refusing", "b", "c"] if what == "rests" else ["b", "c"]
    router = ChatRouter(
        deployments=[
            Deployment(Site(site=site), name=site, rate_limiter=None if what == "rests" else limit(site)) for site in sites
        ],
        store=address,
        name=name,
        if_store_fails="raise",
    )

    async def work(number, ends_at):
        turn = 0
        while time.time() < ends_at:
            talk = [HumanMessage("hi")]
            for _ in range(5):
                if time.time() >= ends_at:
                    return
                reply = await router.ainvoke(talk)
                talk += [reply, HumanMessage("go on")]
                if what == "rests":
                    await anyio.sleep(0.05)
            print(json.dumps(["talk", [one.response_metadata["deployment"] for one in talk[1::2]]]), flush=True)

    async def main():
        await router.astate()  # opens the store
        print(json.dumps(["ready", 0]), flush=True)
        sys.stdin.readline()  # all start together
        ends_at = time.time() + seconds
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(work, number, ends_at)

    anyio.run(main)
"""


def run(address: str, name: str, what: str, seconds: float) -> list[Any]:
    """Run eight processes at once; return what they have written: the requests and the talks."""
    code = textwrap.dedent(PROGRAM).replace("REST", str(REST)).replace("RATE", str(RATE))
    processes = [
        Program("-c", code, address, name, what, str(seconds), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    for process in processes:
        assert process.stdout is not None and json.loads(process.stdout.readline()) == ["ready", 0]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=LONG)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8
    return [json.loads(line) for output in outputs for line in output.splitlines()]


@pytest.mark.parametrize("address", ["redis", *leave_for_night("postgresql", "sqlite")], indirect=True)
def test_a_refusal_is_kept_by_all(address: str, name: str) -> None:
    """Then one of all processes goes first; and talks stay where they are."""
    lines = run(address, name, "rests", REST + 2)
    refused = sorted(at for what, at in lines if what == "refusing")
    first = refused[0]
    assert not [at - first for at in refused if KNOWN_AFTER < at - first < REST - 0.1]
    assert len([at for at in refused if at - first > REST - 0.1]) == 1
    asked = Counter(what for what, _ in lines)
    assert asked["b"] > 100 and asked["c"] > 100
    talks = [places for what, places in lines if what == "talk"]
    assert sum(len(set(places)) == 1 for places in talks) >= 0.99 * len(talks)


@pytest.mark.nightly
def test_the_joint_rate_is_used(address: str, name: str) -> None:
    seconds = 6.0 if RUNS_ALL else 4.0
    lines = run(address, name, "rate", seconds)
    times = sorted(at for what, at in lines if what in ("b", "c"))
    within = [at for at in times if 1.0 <= at - times[0] < seconds - 0.5]
    rate = (len(within) - 1) / (within[-1] - within[0])
    assert 0.98 * 2 * RATE <= rate <= 1.02 * 2 * RATE
