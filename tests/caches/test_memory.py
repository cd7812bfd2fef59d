"""Caches as objects: what they keep, for how long, and that nobody can edit it from outside. In use: `tests/pipeline`."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio.to_thread
import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hocket._runtime import clock as seam
from hocket.caches import BaseCache, InMemoryCache
from hocket.errors import InvalidInput
from hocket.messages import AIMessage
from hocket.outputs import ChatGeneration, Generation
from hocket.testing import VirtualClock

MODEL = "model"


def said(text: str) -> list[Generation]:
    return [Generation(text=text)]


def text_of(stored: Sequence[Generation] | None) -> str | None:
    return None if stored is None else stored[0].text


def test_what_was_stored_is_found() -> None:
    """Under both halves of the key, as a list; anything else is not there."""
    cache = InMemoryCache()
    assert cache.lookup("a", MODEL) is None
    cache.update("a", MODEL, said("one"))
    assert cache.lookup("a", MODEL) == said("one")
    assert isinstance(cache.lookup("a", MODEL), list)
    assert cache.lookup("a", "other") is None
    assert cache.lookup("b", MODEL) is None
    cache.update("a", MODEL, said("two"))
    assert cache.lookup("a", MODEL) == said("two")
    cache.clear()
    assert cache.lookup("a", MODEL) is None
    assert len(cache) == 0


async def test_the_async_forms_are_the_same_and_never_wait() -> None:
    """A lookup in memory is no reason to let others run."""
    cache = InMemoryCache()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await cache.aupdate("a", MODEL, said("one"))
        assert await cache.alookup("a", MODEL) == cache.lookup("a", MODEL) == said("one")
        await cache.aclear()
        assert await cache.alookup("a", MODEL) is None
    assert not scope.cancelled_caught


def test_the_one_used_longest_ago_makes_room() -> None:
    """A lookup counts as use."""
    cache = InMemoryCache(maxsize=2)
    cache.update("a", MODEL, said("a"))
    cache.update("b", MODEL, said("b"))
    cache.lookup("a", MODEL)
    cache.update("c", MODEL, said("c"))
    assert [text_of(cache.lookup(key, MODEL)) for key in "abc"] == ["a", None, "c"]
    assert len(cache) == 2


def test_an_update_of_a_key_that_is_there_drops_nobody() -> None:
    """It takes no new place (LangChain drops another entry)."""
    cache = InMemoryCache(maxsize=2)
    cache.update("a", MODEL, said("a"))
    cache.update("b", MODEL, said("b"))
    cache.update("b", MODEL, said("b again"))
    assert [text_of(cache.lookup(key, MODEL)) for key in "ab"] == ["a", "b again"]


def test_an_answer_counts_for_so_many_seconds(virtual_clock: VirtualClock) -> None:
    """From when it was stored, however often it is looked up; storing it again starts anew."""
    cache = InMemoryCache(ttl=10)
    cache.update("a", MODEL, said("a"))
    for _ in range(9):
        virtual_clock.advance(1)
        assert cache.lookup("a", MODEL) is not None
    virtual_clock.advance(1)
    assert cache.lookup("a", MODEL) is None
    assert len(cache) == 0
    cache.update("a", MODEL, said("a"))
    virtual_clock.advance(9)
    cache.update("a", MODEL, said("a"))
    virtual_clock.advance(9)
    assert cache.lookup("a", MODEL) is not None


def test_what_nobody_asks_for_any_more_does_not_stay_for_ever(virtual_clock: VirtualClock) -> None:
    """Entries that have had their time make room without being looked up."""
    cache = InMemoryCache(ttl=10)
    for number in range(1000):
        cache.update(str(number), MODEL, said("x"))
        virtual_clock.advance(1)
        assert len(cache) <= 10


def test_capacity_one_and_a_time_to_live(virtual_clock: VirtualClock) -> None:
    """Both bounds at once, at their smallest."""
    cache = InMemoryCache(maxsize=1, ttl=1)
    cache.update("a", MODEL, said("a"))
    cache.update("b", MODEL, said("b"))
    assert [text_of(cache.lookup(key, MODEL)) for key in "ab"] == [None, "b"]
    virtual_clock.advance(1)
    assert cache.lookup("b", MODEL) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"maxsize": 0}, "maxsize is 0"),
        ({"maxsize": -1}, "maxsize is -1"),
        ({"ttl": 0}, "ttl is 0"),
        ({"ttl": -2}, "-2"),
    ],
)
def test_a_bound_that_keeps_nothing_is_refused(arguments: dict[str, Any], message: str) -> None:
    """The error says what None means."""
    with pytest.raises(InvalidInput, match=f"{message}.*None for no limit"):
        InMemoryCache(**arguments)


def answer() -> ChatGeneration:
    message = AIMessage(
        content=[{"type": "text", "text": "hi", "extras": {"list": [1]}}],
        additional_kwargs={"a": {"b": [1]}},
        response_metadata={"model_name": "m", "nested": {"x": [1]}},
        tool_calls=[{"name": "f", "args": {"x": [1]}, "id": "1", "type": "tool_call"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    )
    return ChatGeneration(message=message, generation_info={"info": [1]})


def edit(generation: ChatGeneration) -> None:
    """Change everything that can be changed in place."""
    message = generation.message
    assert isinstance(message, AIMessage)
    message.content[0]["text"] = "EDITED"  # type: ignore[index]
    message.content[0]["extras"]["list"].append(2)  # type: ignore[index]
    message.additional_kwargs["a"]["b"].append(2)
    message.response_metadata["nested"]["x"].append(2)
    message.tool_calls[0]["args"]["x"].append(2)
    message.usage_metadata["input_tokens"] = 99  # type: ignore[index]
    message.id = "EDITED"
    generation.generation_info["info"].append(2)  # type: ignore[index]
    generation.text = "EDITED"


def test_nobody_can_edit_what_is_stored() -> None:
    """Copies go in and copies come out, all the way down."""
    cache = InMemoryCache()
    stored = answer()
    given_in = [stored]
    cache.update("a", MODEL, given_in)
    edit(stored)
    given_in.append(stored)
    for _ in range(2):
        found = cache.lookup("a", MODEL)
        assert found == [answer()]
        edit(found[0])  # type: ignore[index, arg-type]
        found.clear()  # type: ignore[union-attr]


def test_many_threads_at_once() -> None:
    """Every thread sees whole answers, and the bound holds."""
    cache = InMemoryCache(maxsize=8)
    together = threading.Barrier(8)

    def use(worker: int) -> None:
        together.wait()
        for number in range(500):
            key = str(number % 12)
            cache.update(key, MODEL, said(key))
            assert text_of(cache.lookup(key, MODEL)) in (key, None)
            if number % 100 == worker:
                cache.clear()
            assert len(cache) <= 8

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))


class Sync(BaseCache):
    """What a user writes: sync methods only."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Any] = {}
        self.threads: set[str] = set()

    def lookup(self, prompt: str, llm_string: str) -> Any:
        self.threads.add(threading.current_thread().name)
        return self.held.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        self.threads.add(threading.current_thread().name)
        self.held[prompt, llm_string] = return_val

    def clear(self, **kwargs: Any) -> None:
        self.threads.add(threading.current_thread().name)
        self.held.clear()


async def test_a_backend_with_sync_methods_has_async_ones_too() -> None:
    """They run in worker threads: the store may block."""
    cache = Sync()
    await cache.aupdate("a", MODEL, said("one"))
    assert await cache.alookup("a", MODEL) == said("one")
    await cache.aclear(anything=1)
    assert await cache.alookup("a", MODEL) is None
    assert threading.current_thread().name not in cache.threads


def test_a_backend_must_have_all_three() -> None:
    """Not at the first call but when it is made."""

    class Half(BaseCache):
        def lookup(self, prompt: str, llm_string: str) -> None:
            return None

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans())), st.integers(1, 6))
def test_it_agrees_with_the_simplest_lru(steps: list[tuple[str, bool]], maxsize: int) -> None:
    """Whatever the order of updates and lookups."""
    cache = InMemoryCache(maxsize=maxsize)
    simple: list[str] = []
    for key, is_update in steps:
        if is_update:
            cache.update(key, MODEL, said(key))
            simple = [*(held for held in simple if held != key), key][-maxsize:]
        else:
            assert (cache.lookup(key, MODEL) is not None) == (key in simple)
            if key in simple:
                simple.remove(key)
                simple.append(key)
    assert len(cache) == len(simple)


class Aging(RuleBasedStateMachine):
    """A cache with a time to live against a dict of what should be there."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock(autojump=False)
        self.cache = InMemoryCache(ttl=5)
        self.stored: dict[str, float] = {}
        self.before = seam.use(self.clock)

    def teardown(self) -> None:
        seam.use(self.before)

    @rule(key=st.sampled_from("abc"))
    def update(self, key: str) -> None:
        self.cache.update(key, MODEL, said(key))
        self.stored[key] = self.clock.now()

    @rule(key=st.sampled_from("abc"))
    def lookup(self, key: str) -> None:
        is_fresh = key in self.stored and self.clock.now() - self.stored[key] < 5
        assert (self.cache.lookup(key, MODEL) is not None) == is_fresh

    @rule(seconds=st.integers(0, 6))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @invariant()
    def it_holds_no_more_than_was_stored(self) -> None:
        assert len(self.cache) <= len(self.stored)


test_it_agrees_with_a_dict_of_times = Aging.TestCase
