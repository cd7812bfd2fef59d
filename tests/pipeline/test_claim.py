"""One request for equal misses of several processes, seen from one: two caches on one file are two processes here."""

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from hocket._pipeline import claim as stage
from hocket.caches import BaseCache, Claim, InMemoryCache, SQLiteCache, fleet
from hocket.errors import HocketWarning, ProviderUnavailable, TotalTimeout
from hocket.messages import AIMessage, HumanMessage
from hocket.outputs import Generation
from hocket.testing import VirtualClock
from tests.kit import HookCall, Recorder, hook_class, hook_llm, hook_model

USAGE: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
PIECES = ["Hel", "lo ", "world"]
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is slow, and these tests count requests."""
    monkeypatch.setattr(fleet, "PATIENCE", PATIENCE)


@pytest.fixture
def open_cache(tmp_path: Path) -> Callable[..., SQLiteCache]:
    """Open the same cache, as another process does."""
    return lambda **options: SQLiteCache(tmp_path / "cache.db", **options)


class Desk:
    """A model that all processes ask, which answers when it is told to.

    Attributes:
        asked: set when somebody asks.
        requests: how many have asked.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]
        self.asked, self.go_on = anyio.Event(), anyio.Event()
        self.requests = 0

    async def __call__(self, call: HookCall) -> Any:
        self.requests += 1
        self.asked.set()
        await self.go_on.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def until_refused(recorded: list[str]) -> None:
    """Wait until somebody has asked for a claim in vain."""
    with anyio.fail_after(PATIENCE):
        while "refused" not in recorded:  # noqa: ASYNC110 - the caches are on one loop here, and on threads elsewhere
            await anyio.sleep(0.001)


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What became of claims, in order."""
    recorded: list[str] = []
    take = stage.take_claim

    async def note(*args: Any) -> Any:
        claim = await take(*args)
        recorded.append("refused" if claim is None else "granted")
        return claim

    monkeypatch.setattr(stage, "take_claim", note)
    return recorded


async def test_the_others_get_the_answer_of_the_one_who_asks(open_cache: Any, refusals: list[str]) -> None:
    """It is flagged as a hit that is shared, and its usage is counted once."""
    desk = Desk(AIMessage("yes", usage_metadata=USAGE))
    recorder = Recorder("on_cache_hit", "on_llm_end")
    first = hook_model(desk, "agenerate", cache=open_cache())
    second = hook_model(desk, "agenerate", cache=open_cache(), callbacks=[recorder])
    answers: dict[str, AIMessage] = {}

    async def ask(name: str, model: Any) -> None:
        answers[name] = await model.ainvoke("hi")

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "first", first)
        await desk.asked.wait()
        group.start_soon(ask, "second", second)
        await until_refused(refusals)
        desk.go_on.set()
    assert desk.requests == 1
    assert answers["first"].text == answers["second"].text == "yes"
    assert "cache_hit" not in answers["first"].response_metadata
    assert answers["second"].response_metadata["cache_hit"] is True
    assert (answers["second"].usage_metadata or {})["total_cost"] == 0  # type: ignore[typeddict-item]
    assert recorder.names == ["on_cache_hit", "on_llm_end"]
    assert recorder.events[0].details["shared"] is True


async def test_a_stream_is_replayed_in_its_chunks(open_cache: Any, refusals: list[str]) -> None:
    """Whole, once it is there; whoever streams it or not."""
    desk = Desk()
    pieces: list[str] = []

    async def answer(call: HookCall) -> Any:
        desk.asked.set()
        await desk.go_on.wait()
        for piece in PIECES:
            yield piece

    first, second = (hook_model(answer, "astream", cache=open_cache()) for _ in range(2))

    async def ask(model: Any, into: list[str]) -> None:
        into += [chunk.text async for chunk in model.astream("hi")]

    async with anyio.create_task_group() as group:
        group.start_soon(ask, first, [])
        await desk.asked.wait()
        group.start_soon(ask, second, pieces)
        await until_refused(refusals)
        desk.go_on.set()
    assert len(first.requests) + len(second.requests) == 1
    assert pieces[:3] == PIECES
    assert "".join(pieces) == "Hello world"


@pytest.mark.parametrize("first", ["fails", "is cancelled"])
async def test_another_asks_where_there_was_no_answer(open_cache: Any, refusals: list[str], first: str) -> None:
    """A claim is released by a call that fails, and by one that is cancelled."""
    desk = Desk(*([ProviderUnavailable("busy")] if first == "fails" else []), "yes")
    scope = anyio.CancelScope()
    answers: list[str] = []

    async def go_first() -> None:
        with scope, pytest.raises(ProviderUnavailable):
            await hook_model(desk, "agenerate", cache=open_cache()).ainvoke("hi")

    async def go_second() -> None:
        answers.append((await hook_model(desk, "agenerate", cache=open_cache()).ainvoke("hi")).text)

    async with anyio.create_task_group() as group:
        group.start_soon(go_first)
        await desk.asked.wait()
        group.start_soon(go_second)
        await until_refused(refusals)
        if first == "fails":
            desk.go_on.set()
        else:
            scope.cancel()
            with anyio.fail_after(PATIENCE):
                while desk.requests < 2:  # noqa: ASYNC110 - as above
                    await anyio.sleep(0.001)
            desk.go_on.set()
    assert answers == ["yes"]
    assert desk.requests == 2


async def test_each_keeps_its_own_deadline(open_cache: Any) -> None:
    """The others wait for an answer no longer than for one of their own."""
    desk = Desk("yes")
    async with anyio.create_task_group() as group:
        group.start_soon(hook_model(desk, "agenerate", cache=open_cache()).ainvoke, "hi")
        await desk.asked.wait()
        with pytest.raises(TotalTimeout):
            await hook_model(desk, "agenerate", cache=open_cache()).ainvoke("hi", timeout=0.05)
        desk.go_on.set()
    assert desk.requests == 1


async def test_without_a_lease_everybody_asks(open_cache: Any, refusals: list[str]) -> None:
    """And there are no claims."""
    desk = Desk("yes", "yes")
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(hook_model(desk, "agenerate", cache=open_cache(lease=None)).ainvoke, "hi")
        with anyio.fail_after(PATIENCE):
            while desk.requests < 2:  # noqa: ASYNC110 - as above
                await anyio.sleep(0.001)
        desk.go_on.set()
    assert not refusals


# -- sync verbs


def test_sync_calls_wait_for_one_another_too(open_cache: Any, refusals: list[str]) -> None:
    """In whatever thread; there is one request, and the others are told so."""
    asked, go_on = threading.Event(), threading.Event()

    def do(call: HookCall) -> str:
        asked.set()
        assert go_on.wait(PATIENCE)
        return "yes"

    models = [hook_model(do, "generate", cache=open_cache()) for _ in range(3)]
    answers: list[AIMessage] = []
    threads = [threading.Thread(target=lambda model=model: answers.append(model.invoke("hi"))) for model in models]
    threads[0].start()
    assert asked.wait(PATIENCE)
    for thread in threads[1:]:
        thread.start()
    while refusals.count("refused") < 2:
        pass
    go_on.set()
    for thread in threads:
        thread.join()
    assert sum(len(model.requests) for model in models) == 1
    assert [answer.text for answer in answers] == ["yes"] * 3
    assert sum("cache_hit" in answer.response_metadata for answer in answers) == 2


def test_a_sync_call_keeps_its_deadline() -> None:
    """While it waits for an answer of somebody else, who never gives one."""

    class Taken(InMemoryCache):
        lease = 30.0

        def claim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
            return None

    model = hook_model("yes", "generate", cache=Taken())
    with pytest.raises(TotalTimeout):
        model.invoke("hi", timeout=0.05)
    assert not model.requests


# -- leases


class Counting(InMemoryCache):
    """Grants every claim, and counts what is done with it."""

    lease = 30.0

    def __init__(self) -> None:
        super().__init__()
        self.renewed: list[float] = []
        self.released = 0

    def claim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
        return Held(self)

    async def aclaim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
        return Held(self)


class Held(Claim):
    def __init__(self, cache: Counting) -> None:
        self.cache = cache

    async def arenew(self) -> bool:
        from hocket._runtime import clock

        self.cache.renewed.append(clock.current().now())
        if len(self.cache.renewed) == 2:
            raise OSError("the store is down for a moment")
        return len(self.cache.renewed) < 4

    def renew(self) -> bool:
        self.cache.renewed.append(0)
        return True

    async def arelease(self) -> None:
        self.cache.released += 1

    def release(self) -> None:
        self.cache.released += 1


async def test_a_claim_is_renewed_at_half_its_lease(virtual_clock: VirtualClock) -> None:
    """As long as the model takes, and not after it is lost; an answer ends it without a release."""

    async def think(call: HookCall) -> str:
        await virtual_clock.sleep(100)
        return "yes"

    cache = Counting()
    assert (await hook_model(think, "agenerate", cache=cache).ainvoke("hi")).text == "yes"
    assert cache.renewed == [15, 30, 45, 60]
    assert cache.released == 0
    assert virtual_clock.now() == 100


def test_a_claim_of_a_sync_call_is_renewed_in_a_thread() -> None:
    cache = Counting()
    cache.lease = 0.002

    def think(call: HookCall) -> str:
        while len(cache.renewed) < 3:
            pass
        return "yes"

    assert hook_model(think, "generate", cache=cache).invoke("hi").text == "yes"
    assert cache.released == 0


def test_a_claim_is_released_where_the_answer_is_not_stored() -> None:
    """The next one asks for itself."""

    class Full(Counting):
        def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
            raise OSError("full")

    cache = Full()
    assert hook_model("yes", "generate", cache=cache).invoke("hi").text == "yes"
    assert cache.released == 1


async def test_a_cache_that_cannot_be_claimed_grants_everything(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and costs no answer."""

    class Broken(InMemoryCache):
        lease = 30.0

        def claim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
            raise OSError("no claims here")

    assert (await hook_model("yes", "agenerate", cache=Broken()).ainvoke("hi")).text == "yes"
    assert "no claims here" in caplog.text


async def test_a_cache_of_a_users_own_is_asked_for_no_claims() -> None:
    """It may have one without knowing of any others: granted, always."""

    class Plain(BaseCache):
        def lookup(self, prompt: str, llm_string: str) -> list[Generation] | None:
            return None

        def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
            pass

        def clear(self, **kwargs: Any) -> None:
            pass

    cache = Plain()
    claim = await cache.aclaim("a", "b", 3)
    assert claim is not None
    assert await claim.arenew()
    assert claim.renew()
    await claim.arelease()
    claim.release()
    cache.lease = 1.0
    assert (await hook_model("yes", "agenerate", cache=cache).ainvoke("hi")).text == "yes"


# -- keys of this process


def test_a_key_that_only_this_process_has_is_told_once(
    open_cache: Any, refusals: list[str], recwarn: pytest.WarningsRecorder
) -> None:
    """With what makes it so. There is no claim on it, since nobody else can have it; here it is cached all the same."""

    class Local(hook_class("generate")):  # type: ignore[misc]
        pass

    model, cache = Local(), open_cache()
    model.cache = cache
    for _ in range(2):
        assert model.invoke("a").text == model.invoke("b").text == "yes"
    assert len(model.requests) == 2
    assert not refusals
    (told,) = [str(warning.message) for warning in recwarn if warning.category is HocketWarning]
    assert repr(cache) in told
    assert "test_a_key_that_only_this_process_has_is_told_once.<locals>.Local, which no other process" in told
    assert all(warning.filename == __file__ for warning in recwarn)
    model.cache = InMemoryCache()  # nobody else looks into it
    model.invoke("a")
    assert len(recwarn) == 1


async def test_a_call_whose_arguments_are_this_processs_own_is_told_too(open_cache: Any) -> None:
    """A function without a name, or an object that cannot be written down."""
    model = hook_model("yes", "agenerate", cache=open_cache())
    with pytest.warns(HocketWarning, match=r"HookModel for this process only.*\.<lambda>"):
        await model.ainvoke("a", extra=lambda: None)
    with pytest.warns(HocketWarning, match=r"depends on threading\.Event"):
        await model.ainvoke([HumanMessage("a", additional_kwargs={"b": threading.Event()})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await model.ainvoke("a", extra="a text")


def test_texts_are_claimed_as_messages_are(open_cache: Any) -> None:
    model = hook_llm("yes", "agenerate", cache=open_cache())
    assert anyio.run(model.ainvoke, "hi") == "yes"
    assert anyio.run(model.ainvoke, "hi") == "yes"
    assert len(model.requests) == 1
