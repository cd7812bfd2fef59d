"""Every store keeps the same limit: the arithmetic in memory is what SQLite, Redis and PostgreSQL are held to."""

from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hocket.rate_limiters import RateLimiter
from hocket.rate_limiters.limits import RateLimits, Tokens
from hocket.rate_limiters.opening import open_store
from hocket.rate_limiters.schedule import End, Grant
from hocket.rate_limiters.store import Exchange, MemoryStore, Store
from tests.kit.amount import limit_examples
from tests.kit.stores import postgres_schema

ADAPTIVE = RateLimits(requests=30, tokens=1000)


class Time:
    """What a store takes for the time."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def open_at(address: str, name: str, time: Time) -> Store:
    store: Any = open_store(address, name)
    store._time = time
    return store


def seen(grants: list[Grant]) -> list[Any]:
    """What an asker sees of its grants, to the microseconds that Redis counts in."""
    return [pytest.approx((grant.wait, grant.seq, 0 if grant.seq else grant.back), abs=1e-4) for grant in grants]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 40)), min_size=1, max_size=4)),
        st.tuples(st.just("end"), st.tuples(st.integers(0, 6), st.sampled_from(["use", "refund", "cancel"]))),
        st.tuples(st.just("pass"), st.integers(1, 20_000)),
        st.tuples(st.just("slow down"), st.integers(0, 3)),
        st.tuples(st.just("pause"), st.tuples(st.integers(0, 40), st.booleans())),
        st.tuples(st.just("learn"), st.tuples(*[st.sampled_from([0.0, 10.0, 90.0, 300.0])] * 4)),
    ),
    max_size=40,
)
all_limits = st.builds(
    RateLimits,
    requests=st.sampled_from([0.0, 1.0, 10.0, 30.0]),
    tokens=st.sampled_from([0.0, 100.0, 1000.0]),
    input=st.sampled_from([0.0, 80.0]),
    output=st.sampled_from([0.0, 60.0]),
    burst=st.sampled_from([1, 1, 2, 5]),
    max_in_flight=st.sampled_from([0, 0, 3]),
    window=st.just(60.0),
    is_adaptive=st.booleans(),
)


@settings(max_examples=limit_examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limits=all_limits, steps=steps)
def test_it_answers_as_memory_does(address: str, limits: RateLimits, steps: list[tuple[str, Any]]) -> None:
    """Any run of requests, ends, pauses, refusals and limits that were learned."""
    time = Time()
    memory, store = MemoryStore(limits, time), open_at(address, f"test-{uuid4().hex}", time)
    assert store.configure(limits) is None
    open_grants: list[tuple[Grant, Grant]] = []
    for what, detail in steps:
        if what == "pass":
            time.now += detail / 1000
        elif what == "slow down":
            memory.slow_down(detail)
            store.slow_down(detail)
        elif what == "pause":
            seconds, probes = detail
            for one in (memory, store):
                one.learn((0.0, 0.0, 0.0, 0.0), seconds, probes=probes)
        elif what == "learn":
            memory.learn(detail, 0)
            store.learn(detail, 0)
        elif what == "ask":
            asked = Exchange(
                [Tokens(*need) for need in detail], (), 0, len(open_grants), 5.0, bool(limits.max_in_flight)
            )
            expected, got = memory.exchange(asked), store.exchange(asked)
            assert got is not None
            assert [(one.wait, one.seq, 0 if one.seq else one.back) for one in got.grants] == seen(expected.grants)
            assert [one.is_probe for one in got.grants] == [one.is_probe for one in expected.grants]
            open_grants += [pair for pair in zip(expected.grants, got.grants, strict=True) if pair[0].seq]
        elif open_grants:
            place, how = detail
            ended = open_grants.pop(max(len(open_grants) - 1 - place, 0))
            for one, grant in zip((memory, store), ended, strict=True):
                used = (7, 3) if how == "use" else (0, 0)
                one.exchange(Exchange(ends=[End(grant.seq, *used, grant.back if how == "cancel" else None)]))
        figures = store.read()
        assert figures is not None
        mine = memory.read()
        assert figures.limits == pytest.approx(mine.limits)
        assert (figures.factor, figures.paused) == pytest.approx((mine.factor, mine.paused), abs=1e-4)
        assert (figures.input, figures.output) == (mine.input, mine.output)


def test_a_limit_that_nobody_configured_is_unknown(address: str, name: str) -> None:
    store = open_at(address, name, Time())
    assert store.exchange(Exchange([Tokens(0, 0)])) is None
    assert store.read() is None
    store.learn((1, 1, 1, 1), 1)  # changes nothing
    store.slow_down(1)
    assert store.configure(ADAPTIVE) is None
    assert store.configure(ADAPTIVE._replace(requests=5)) == ADAPTIVE
    figures = store.read()
    assert figures is not None
    assert figures.limits[0] == 5


def test_processes_count_each_others_requests_under_way(address: str, name: str) -> None:
    """As long as they are heard of: one that was killed gives its places back after its lease."""
    time, limits = Time(), RateLimits(max_in_flight=3)
    one, other = open_at(address, name, time), open_at(address, name, time)
    one.configure(limits)
    ask = Exchange([Tokens(0, 0)] * 3, in_flight=0, reports=True)
    first = one.exchange(ask._replace(needs=ask.needs[:2]))
    assert first is not None
    assert [grant.seq > 0 for grant in first.grants] == [True, True]
    second = other.exchange(ask)
    assert second is not None
    assert second.processes == 2
    assert [(grant.seq > 0, grant.back) for grant in second.grants[1:]] == [(False, 2)]
    time.now += 40
    third = other.exchange(ask._replace(in_flight=1))
    assert third is not None
    assert [grant.seq > 0 for grant in third.grants] == [True, True, False]
    assert third.processes == 1


def test_an_idle_limit_forgets_itself(name: str, tmp_path: Any, postgres_url: str) -> None:
    """Also what it had learned. (In Redis the keys expire.)"""
    for address in (f"sqlite:///{tmp_path}/limits.db", postgres_url):
        time = Time()
        store = open_at(address, name, time)
        store.configure(ADAPTIVE)
        store.exchange(Exchange([Tokens(1, 1)]))
        store.learn((5, 5, 5, 5), 0)
        time.now += 1000
        assert store.exchange(Exchange([Tokens(1, 1)])) is None
        assert store.configure(ADAPTIVE) is None
        figures = store.read()
        assert figures is not None
        assert (figures.limits, figures.input) == ((30, 1000, 0, 0), 0)


@pytest.mark.parametrize("table", ["hocket_limit", "hocket_limit_log", "hocket_limit_member"])
def test_tables_that_were_dropped_are_made_anew(name: str, table: str) -> None:
    """Also where the functions that use them stayed."""
    with postgres_schema() as url:
        limiter = RateLimiter(60_000, store=url, name=name, if_store_fails="raise")
        assert limiter.acquire()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP TABLE {table} CASCADE".encode())
        assert limiter.reserve(10) is not None
        state = limiter.state()
        assert (state.requests_per_minute, state.input_tokens) == (60_000, 10)


def test_in_redis_the_keys_expire(name: str) -> None:
    import redis

    from tests.rate_limiters.conftest import REDIS

    store = open_store(REDIS, name)
    store.configure(ADAPTIVE)
    store.exchange(Exchange([Tokens(1, 1)], reports=True))
    client = redis.Redis.from_url(REDIS)
    lives: list[Any] = [client.pttl(f"hocket:limit:{{{name}}}:{part}") for part in ("state", "log", "members")]
    assert all(0 < life <= 800_000 for life in lives)
    client.close()


def test_a_clock_that_is_set_back_does_not_stop_a_limit(tmp_path: Any, name: str) -> None:
    """SQLite goes by the machine's date: from there on, time goes on from where it was."""
    time = Time()
    store = open_at(f"sqlite:///{tmp_path}/limits.db", name, time)
    store.configure(RateLimits(requests=60))
    for _ in range(3):
        time.now += 1
        assert store.exchange(Exchange([Tokens(0, 0)])).grants[0].wait == 0  # type: ignore[union-attr]
    time.now -= 3600
    waits = []
    for _ in range(3):
        waits.append(store.exchange(Exchange([Tokens(0, 0)])).grants[0].wait)  # type: ignore[union-attr]
        time.now += 1
    assert waits == pytest.approx([1, 1, 1])
