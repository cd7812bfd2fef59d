"""What caches that processes share do, each on its store."""

import functools
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import anyio.to_thread
import psycopg
import pytest
import redis.asyncio

from hocket import caches
from hocket._databases.circuit import FAILURES
from hocket._runtime.mode import ASYNC
from hocket.caches import BaseCache, Claim, InMemoryCache, PostgresCache, RedisCache, SQLiteCache
from hocket.caches.fleet import SharedCache
from hocket.errors import DroppedStateWarning, InvalidInput, StoreUnavailable
from hocket.messages import AIMessage
from hocket.outputs import ChatGeneration, Generation
from tests.kit import hook_model
from tests.kit.caches import POSTGRES, REDIS, CachePlace, PostgresPlace, RedisPlace, open_place

MODEL = "model"
ANSWER = [
    ChatGeneration(message=AIMessage("yes", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}))
]


def said(text: str) -> list[Generation]:
    return [Generation(text=text)]


class Face:
    """A cache through its async verbs, or through its sync ones in worker threads."""

    def __init__(self, cache: BaseCache, is_async: bool) -> None:
        self.cache, self.is_async = cache, is_async

    async def lookup(self, prompt: str, llm_string: str = MODEL) -> Any:
        return await self._call("lookup", prompt, llm_string)

    async def update(self, prompt: str, candidates: list[Any], llm_string: str = MODEL) -> None:
        await self._call("update", prompt, llm_string, candidates)

    async def clear(self) -> None:
        await self._call("clear")

    async def claim(self, prompt: str = "a", lease: float = 3600) -> "Grip | None":
        claim = await self._call("claim", prompt, MODEL, lease)
        return None if claim is None else Grip(claim, self.is_async)

    async def take(self, prompt: str = "a") -> "Grip":
        claim = await self.claim(prompt)
        assert claim is not None
        return claim

    async def _call(self, verb: str, *args: Any) -> Any:
        return await call(self.cache, verb, args, self.is_async)


class Grip:
    """A claim, the same way."""

    def __init__(self, claim: Claim, is_async: bool) -> None:
        self.held, self.is_async = claim, is_async

    async def renew(self) -> Any:
        return await call(self.held, "renew", (), self.is_async)

    async def release(self) -> None:
        await call(self.held, "release", (), self.is_async)


async def call(of: object, verb: str, args: tuple[Any, ...], is_async: bool) -> Any:
    if is_async:
        return await getattr(of, f"a{verb}")(*args)
    return await anyio.to_thread.run_sync(getattr(of, verb), *args)


@pytest.fixture(params=["async", "sync"])
def opened(request: pytest.FixtureRequest, place: CachePlace) -> Callable[..., Face]:
    """Open the cache anew, as somebody else would."""
    return lambda **options: Face(place.open(**options), request.param == "async")


async def test_what_one_stores_another_finds(place: CachePlace, opened: Callable[..., Face]) -> None:
    """Edits of what was found change nothing."""
    first, second = opened(), opened()
    assert await first.lookup("a") is None
    await first.update("a", ANSWER)
    found = await second.lookup("a")
    assert found == await first.lookup("a") == ANSWER
    found[0].message.content = "EDITED"
    assert await second.lookup("a") == ANSWER
    await second.update("a", said("no"))
    assert await first.lookup("a") == said("no")
    assert await first.lookup("a", "another") is None


async def test_the_halves_of_a_key_do_not_run_together(opened: Callable[..., Face]) -> None:
    """And a key may be any text."""
    cache, long = opened(), "\ud800 \0" + "x" * 10_000
    await cache.update("ab", said("1"), "c")
    await cache.update("a", said("2"), "bc")
    await cache.update(long, said("3"), "🎶")
    found = [await cache.lookup("ab", "c"), await cache.lookup("a", "bc"), await cache.lookup(long, "🎶")]
    assert found == [said("1"), said("2"), said("3")]


async def test_an_answer_counts_for_so_many_seconds(place: CachePlace, opened: Callable[..., Face]) -> None:
    """By the store's clock; what is too old is deleted with time, and one without a limit stays."""
    await opened().update("kept", said("kept"))
    cache = opened(ttl=3600)
    await cache.update("a", said("a"))
    assert await cache.lookup("a") == said("a")
    place.let_time_pass()
    assert await cache.lookup("a") is None
    assert await cache.lookup("kept") == said("kept")
    await cache.update("c", said("c"))
    assert place.overwrite(b"") == 2


async def test_clear_forgets_all(place: CachePlace, opened: Callable[..., Face]) -> None:
    """Answers and claims."""
    cache = opened()
    await cache.clear()
    for prompt in "abc":
        await cache.update(prompt, said(prompt))
    await cache.take("d")
    await cache.clear()
    assert await opened().lookup("a") is None
    assert place.overwrite(b"") == place.count_claims() == 0


@pytest.mark.parametrize("value", [b"", b"not ours", b'{"v": 2, "candidates": []}', b"\x80\x04N.", b"z\0"])
async def test_what_cannot_be_read_is_not_there(place: CachePlace, opened: Callable[..., Face], value: bytes) -> None:
    """Damaged, somebody else's (a pickle), or newer: a miss, and the next answer takes its place."""
    cache = opened()
    await cache.update("a", ANSWER)
    assert place.overwrite(value) == 1
    assert await cache.lookup("a") is None
    await cache.update("a", ANSWER)
    assert await cache.lookup("a") == ANSWER


# -- claims


async def test_one_claims_and_the_others_do_not(opened: Callable[..., Face]) -> None:
    """Whichever object; another key is another claim."""
    first, second = opened(), opened()
    claim = await first.take()
    assert await second.claim() is None
    assert await first.claim() is None
    await second.take("b")
    await claim.release()
    await (await second.take()).release()
    await first.take()


async def test_an_answer_ends_a_claim(place: CachePlace, opened: Callable[..., Face]) -> None:
    """Whoever stores it."""
    first, second = opened(), opened()
    await first.take()
    await second.update("a", said("a"))
    assert place.count_claims() == 0


async def test_a_claim_runs_out(place: CachePlace, opened: Callable[..., Face]) -> None:
    """Then it is another's, and what the first one does with it is nothing to that."""
    first, second = opened(), opened()
    lost = await first.take()
    place.let_time_pass()
    held = await second.take()
    assert not await lost.renew()
    await lost.release()
    assert await first.claim() is None
    assert await held.renew()


async def test_a_claim_that_has_run_out_is_not_renewed_once_it_is_released(opened: Callable[..., Face]) -> None:
    cache = opened()
    claim = await cache.take()
    await claim.release()
    assert not await claim.renew()
    await cache.take()


async def test_the_store_keeps_the_lease(opened: Callable[..., Face]) -> None:
    """One of a millisecond is soon over; renewed for an hour it is not."""
    first, second = opened(), opened()
    assert await first.claim(lease=0.001) is not None
    while await second.claim() is None:
        pass


async def test_a_claim_asked_for_twice_is_its_owners(place: CachePlace) -> None:
    """The store may have granted it although the answer was late."""
    cache = place.open()
    assert isinstance(cache, SharedCache)
    take = functools.partial(cache._store.claim, ASYNC, b"key")
    assert [await take(owner, 3600) for owner in ("a", "a", "b", "a")] == [True, True, False, True]


async def test_a_late_answer_of_the_store_is_waited_for_again(place: CachePlace, opened: Callable[..., Face]) -> None:
    """One time-out, or two in a row, make nobody give up: the same operation is done again."""
    cache, late = opened(), Late(opened)
    await cache.update("a", said("a"))
    for times in range(FAILURES):
        late.times = times
        assert await late.cache.lookup("a") == said("a")
        claim = await late.take(f"claimed {times}")
        await late.cache.update("a", said("a"))
        assert await cache.claim(f"claimed {times}") is None
        await claim.release()
    late.times = FAILURES
    with pytest.raises(StoreUnavailable, match="late"):
        await late.cache.lookup("a")


async def test_a_claim_that_nobody_knows_of_is_released(place: CachePlace, opened: Callable[..., Face]) -> None:
    """A caller gave up, and the store has granted it the claim after all: it ends when the store answers again."""
    late = Late(opened)
    await late.cache.lookup("a")
    late.times = FAILURES
    with pytest.raises(StoreUnavailable, match="late"):
        await late.cache.claim("given up")
    assert place.count_claims() == 1
    late.cache.cache._writing._left_alone_until = 0.0  # type: ignore[attr-defined]  # five seconds later
    late.times = 0
    await late.cache.update("b", said("b"))
    assert place.count_claims() == 0
    assert await opened().claim("given up") is not None


class Late:
    """A cache whose store does what it is told, and whose answer comes too late, as often as ``times`` says."""

    def __init__(self, opened: Callable[..., Face]) -> None:
        self.cache, self.times = opened(), 0
        for name in ("read", "write", "claim"):
            store = self.cache.cache._store  # type: ignore[attr-defined]
            setattr(store, name, self._delay(getattr(store, name)))

    def _delay(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        left: int | None = None

        async def late(*args: Any) -> Any:
            nonlocal left
            answer = await operation(*args)
            left = self.times if left is None else left
            if left:
                left -= 1
                raise StoreUnavailable("the answer is late")
            left = None
            return answer

        return late

    async def take(self, prompt: str) -> "Grip":
        return await self.cache.take(prompt)


# -- copies and pickles


def test_a_pickle_means_the_same_place(place: CachePlace) -> None:
    """A model takes its cache along."""
    model = hook_model("yes", cache=place.open(ttl=100, lease=None))
    model.invoke("hi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache = pickle.loads(pickle.dumps(model.cache))
    assert repr(cache) == repr(model.cache)
    assert (cache.ttl, cache.lease) == (100, None)
    assert place.overwrite(b"") == 1
    cache.update("a", MODEL, said("a"))
    assert model.cache.lookup("a", MODEL) == said("a")
    assert model.cache.is_portable


SECRET = "tops3cret"
WITH_PASSWORD = [
    lambda: RedisCache(f"redis://ada:{SECRET}@localhost:1/0"),
    lambda: PostgresCache(f"postgresql://ada:{SECRET}@localhost:1/db"),
]


@pytest.mark.parametrize("make", WITH_PASSWORD, ids=["redis", "postgres"])
def test_a_password_is_shown_nowhere_and_left_out_of_a_pickle(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A warning says so."""
    cache = make()
    assert hook_model("yes", cache=cache).invoke("hi").text == "yes"
    with pytest.warns(DroppedStateWarning, match="password"):
        data = pickle.dumps(cache)
    loaded = pickle.loads(data)
    assert SECRET.encode() not in data
    assert repr(loaded) == repr(cache)
    assert SECRET not in f"{cache!r} {vars(cache)!r} {caplog.text}"
    assert "it counts as empty" in caplog.text


def test_what_a_user_has_opened_is_left_out_of_a_pickle(tmp_path: Any) -> None:
    """A model leaves the whole cache behind."""
    cache = RedisCache(client=redis.Redis())
    assert not cache.is_portable
    with pytest.warns(DroppedStateWarning, match="client"):
        pickle.dumps(cache)
    assert SQLiteCache(tmp_path / "a.db").is_portable


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_clients_of_asyncio_serve_the_async_methods(anyio_backend: str, tmp_path: Any) -> None:
    """On their own loop."""
    with open_place("redis", tmp_path) as place, open_place("postgres", tmp_path) as other:
        assert isinstance(place, RedisPlace)
        assert isinstance(other, PostgresPlace)
        connecting = psycopg.AsyncConnection.connect(POSTGRES)
        async with redis.asyncio.Redis.from_url(REDIS) as client, await connecting as connection:
            await client.ping()  # redis-py looks at files for its first connection
            in_redis = RedisCache(client=client, prefix=place.prefix)
            for cache in (in_redis, PostgresCache(connection=connection, table=other.table)):
                claim = await cache.aclaim("a", MODEL, 60)
                assert claim is not None
                assert await claim.arenew()
                assert await cache.aclaim("a", MODEL, 60) is None
                await claim.arelease()
                await cache.aupdate("a", MODEL, ANSWER)
                assert await cache.alookup("a", MODEL) == ANSWER
                await cache.aclear()
                assert await cache.alookup("a", MODEL) is None


# -- bad input


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: SQLiteCache("a.db", ttl=0), "ttl is 0 seconds"),
        (lambda: SQLiteCache("a.db", ttl=float("nan")), "ttl is nan"),
        (lambda: RedisCache(ttl=-1), "ttl is -1"),
        (lambda: PostgresCache(POSTGRES, lease=0), "lease is 0 seconds"),
        (lambda: SQLiteCache("a.db", lease=float("inf")), "lease is inf"),
        (lambda: SQLiteCache("a.db", max_bytes=0), "max_bytes is 0"),
        (lambda: SQLiteCache(""), "path is empty"),
        (lambda: SQLiteCache("folder/"), "path is 'folder/'; it must be a file's"),
        (lambda: SQLiteCache(":memory:"), "InMemoryCache"),
        (lambda: RedisCache("http://localhost"), "is no URL of Redis"),
        (lambda: RedisCache(prefix=""), "prefix is empty"),
        (lambda: RedisCache(client=redis.Redis(decode_responses=True)), "decode_responses"),
        (lambda: PostgresCache("redis://localhost"), "is no URL of PostgreSQL"),
        (lambda: PostgresCache(POSTGRES, table="a; b"), "table is 'a; b'"),
        (lambda: PostgresCache(), "either a URL or connection"),
    ],
    ids=range(15),
)
def test_what_no_cache_can_use_is_refused_at_once(make: Any, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        make()


def test_names() -> None:
    """LangChain's names are where they were; and a cache in memory is not shared."""
    assert caches.BaseCache is BaseCache
    assert caches.RETURN_VAL_TYPE is not None
    assert not InMemoryCache().is_shared
    assert InMemoryCache().lease is None
    assert isinstance(InMemoryCache().claim("a", MODEL, 1), Claim)
