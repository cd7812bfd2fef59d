"""Whatever strikes a run, wherever it waits: it ends once, and leaves nothing behind. In this process, without a server."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket.caches import BaseCache, Claim
from hocket.errors import ProviderUnavailable
from hocket.messages import AIMessageChunk
from hocket.outputs import Generation
from hocket.rate_limiters import InMemoryRateLimiter
from hocket.retries import RetryPolicy
from hocket.timeouts import Timeout
from tests.kit import hook_llm, hook_model

pytestmark = pytest.mark.usefixtures("nothing_is_logged")

TEXTS = ["Hello ", "world"]


class Fuse:
    """Counts the steps of all that is the user's own: cache, limiter, hook and handlers. Raises at one, if told to."""

    def __init__(self) -> None:
        self.set(0, None)

    def set(self, at: int, fault: BaseException | None) -> None:
        self.at, self.fault = at, fault
        self.steps, self.blown_by = 0, ""

    def step(self, who: str) -> None:
        self.steps += 1
        if self.steps == self.at and self.fault is not None:
            self.blown_by = who
            raise self.fault


class Slow(BaseCache):
    """A cache that waits."""

    def __init__(self, fuse: Fuse) -> None:
        self.fuse = fuse
        self.held: dict[tuple[str, str], Any] = {}

    def lookup(self, prompt: str, llm_string: str) -> Any:
        self.fuse.step("cache")
        return self.held.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        self.fuse.step("cache")
        self.held[prompt, llm_string] = list(return_val)

    def clear(self, **kwargs: Any) -> None:
        self.held.clear()

    async def alookup(self, prompt: str, llm_string: str) -> Any:
        await anyio.lowlevel.checkpoint()
        return self.lookup(prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        await anyio.lowlevel.checkpoint()
        self.update(prompt, llm_string, return_val)


class Claiming(Slow):
    """A cache that lets one caller at a time ask for an answer."""

    lease = 3600.0

    def __init__(self, fuse: Fuse) -> None:
        super().__init__(fuse)
        self.claims: set[tuple[str, str]] = set()

    def claim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
        self.fuse.step("cache")
        key = (prompt, llm_string)
        if key in self.claims:
            return None
        self.claims.add(key)
        return Held(self, key)

    async def aclaim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
        await anyio.lowlevel.checkpoint()
        claim = self.claim(prompt, llm_string, lease)
        try:
            await anyio.lowlevel.checkpoint()  # as the way back from a store
        except BaseException as error:
            if claim is not None and not isinstance(
                error, anyio.get_cancelled_exc_class()
            ):  # which never comes in here
                claim.release()
            raise
        return claim

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        super().update(prompt, llm_string, return_val)
        self.claims.discard((prompt, llm_string))

    def clear(self, **kwargs: Any) -> None:
        assert not self.claims, "a claim was left behind"
        super().clear(**kwargs)


class Held(Claim):
    def __init__(self, cache: Claiming, key: tuple[str, str]) -> None:
        self.cache, self.key = cache, key

    def release(self) -> None:
        self.cache.claims.discard(self.key)

    async def arelease(self) -> None:
        try:
            await anyio.lowlevel.checkpoint()
        finally:
            self.release()


class Limiter(InMemoryRateLimiter):
    def __init__(self, fuse: Fuse) -> None:
        super().__init__(requests_per_second=5000)
        self.fuse = fuse

    def acquire(self, *, blocking: bool = True) -> bool:
        self.fuse.step("limiter")
        return super().acquire(blocking=blocking)

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return await super().aacquire(blocking=blocking)


class Hook:
    """What a hook does: it waits before each piece, and while it cleans up; counts both. Told to, it fails at first."""

    def __init__(self, fuse: Fuse, *, fails: bool) -> None:
        self.fuse, self.fails = fuse, fails
        self.asked = self.began = self.ended = 0

    async def __aenter__(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.ask()
        self.began += 1

    def ask(self) -> None:
        self.fuse.step("hook")
        self.asked += 1
        if self.fails and self.asked == 1:
            raise ProviderUnavailable("busy", retryable=True)

    async def __aexit__(self, *exc: object) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
        finally:
            self.ended += 1

    async def pieces(self) -> AsyncIterator[str]:
        async with self:
            for text in TEXTS:
                await anyio.lowlevel.checkpoint()
                self.fuse.step("hook")
                yield text

    def sync_pieces(self) -> Iterator[str]:
        self.ask()
        for text in TEXTS:
            self.fuse.step("hook")
            yield text


def make_chat(hook: Hook, **fields: Any) -> Any:
    return hook_model(lambda call: hook.pieces(), "astream", **fields)


def make_chat_in_thread(hook: Hook, **fields: Any) -> Any:
    return hook_model(lambda call: hook.sync_pieces(), "stream", **fields)


def make_text(hook: Hook, **fields: Any) -> Any:
    return hook_llm(lambda call: hook.pieces(), "astream", **fields)


AT_ONCE = RetryPolicy(max_attempts=4, first_pause=0)
LIMITS = Timeout(first_token=60, idle=60, total=60)


SCENES: dict[str, Any] = {
    "bare": (make_chat, {}),
    "everything": (make_chat, {"everything": True}),
    "strict handlers": (make_chat, {"everything": True, "is_strict": True}),
    "handlers in threads": (make_chat, {"everything": True, "in_threads": True}),
    "hook in a thread": (make_chat_in_thread, {"everything": True}),
    "text": (make_text, {"everything": True}),
    "claims": (make_chat, {"everything": True, "cache": Claiming}),
}
"""With everything: cache, limiter, cap, limits, and a hook whose first attempt fails."""


@pytest.fixture(params=SCENES)
def scene(request: pytest.FixtureRequest, handlers: Any, scenes: Any) -> Any:
    """A model with handlers."""
    make, options = SCENES[request.param]
    everything = options.get("everything", False)

    class Here(scenes):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(handlers(in_threads="in_threads" in options), is_strict="is_strict" in options)
            self.fuse = Fuse()
            for handler in self.handlers:
                handler.step = self.fuse.step
            self.hook = Hook(self.fuse, fails=everything)
            self.limiter = Limiter(self.fuse)
            self.cache = options.get("cache", Slow)(self.fuse) if everything else None
            more = {"rate_limiter": self.limiter, "max_in_flight": 3, "retry": AT_ONCE, "timeout": LIMITS}
            fields: dict[str, Any] = more if everything else {}
            self.model = make(self.hook, cache=self.cache or False, callbacks=self.handlers, **fields)

        async def look(self, struck_at: float | None = None) -> float:
            seconds = await super().look(struck_at)
            self.check()
            return seconds

        def check(self) -> None:
            """Fail if anything is left in what the model works with."""
            assert self.hook.began == self.hook.ended
            self.hook.asked = 0
            assert not self.limiter._queue
            if self.cache is not None:
                assert all(stored[0].text == "Hello world" for stored in self.cache.held.values())
                self.cache.clear()
                assert not self.model._places._taken

    return Here


@pytest.mark.every_two
async def test_a_run_that_is_struck_anywhere(scene: Any, call: Any, attack: Any) -> None:
    """At every wait of each of its tasks."""
    assert await scene().attack(call, attack) > 3


@pytest.mark.one_of(3)
@pytest.mark.parametrize("scene", ["bare", "everything", "text"], indirect=True)
async def test_a_run_that_is_cancelled_at_any_turn_of_the_loop(scene: Any, call: Any, at_any_turn: Any) -> None:
    """Wherever its tasks are then."""
    assert await scene().attack(call, at_any_turn) > 3


@pytest.mark.one_of(3)
async def test_equal_calls_of_which_one_is_struck(scene: Any, share: Any, attack: Any) -> None:
    """The other one gets its answer."""
    assert await scene().attack(share, attack) > 3


def invoke(model: Any) -> str:
    answer = model.invoke("hi")
    return answer if isinstance(answer, str) else answer.content


def stream(model: Any) -> str:
    return "".join([piece if isinstance(piece, str) else piece.content for piece in model.stream("hi")])


def batch(model: Any) -> str:
    first, _ = model.batch(["hi", "you"])
    return first if isinstance(first, str) else first.content


@pytest.mark.one_of(3)
@pytest.mark.parametrize("call", [invoke, stream, batch])
def test_a_failure_anywhere_under_a_sync_verb(scene: Any, call: Any, fault: BaseException) -> None:
    """In each step of what is the user's own, in this thread or on hocket's kept loop.

    What a handler raises is logged, unless it asked to be heard, and so is what a cache raises; all else comes out.
    """
    here = scene()
    for at in range(1, 200):
        here.fuse.set(at, fault)
        try:
            outcome = call(here.model)
        except BaseException as raised:
            outcome = raised
        is_logged = here.fuse.blown_by == "cache" or (here.fuse.blown_by == "handler" and not here.is_strict)
        is_lost = not here.fuse.blown_by or (is_logged and isinstance(fault, Exception))
        assert outcome == "Hello world" if is_lost else outcome is fault, here.fuse.blown_by
        for handler in here.handlers:
            assert handler.has_ended, handler.ends
            handler.ends.clear()
        here.check()
        if not here.fuse.blown_by:
            assert at > 8
            return
    raise AssertionError("it never got through")


USAGE: Any = {"input_tokens": 7, "output_tokens": 0, "total_tokens": 7}


async def report() -> AsyncIterator[AIMessageChunk]:
    """Say what the prompt cost before anything else, and never end."""
    yield AIMessageChunk("", usage_metadata=USAGE)
    yield AIMessageChunk("Hel")
    await anyio.sleep_forever()


@pytest.mark.parametrize("cancelled", [False, True])
async def test_usage_so_far_is_told_and_flagged(cancelled: bool, handlers: Any) -> None:
    watch, _ = handlers()
    with anyio.CancelScope() as scope:
        async with hook_model(lambda call: report(), "astream", callbacks=[watch]).astream("hi") as stream:
            async for chunk in stream:
                if chunk.content and cancelled:
                    scope.cancel()
                elif chunk.content:
                    break
    assert list(watch.ends.values()) == [["error" if cancelled else "end closed"]]
    message = watch.last.generations[0][0].message
    assert (message.content, message.usage_metadata) == ("Hel", USAGE)
    assert message.response_metadata["partial"] is True
