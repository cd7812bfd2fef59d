"""Whatever strikes a run, wherever it waits: it ends once, and leaves nothing behind. In this process, without a server."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import Field

from hocket.caches import BaseCache
from hocket.errors import ProviderUnavailable
from hocket.language_models import BaseChatModel, BaseLLM
from hocket.messages import AIMessageChunk
from hocket.outputs import ChatGenerationChunk, Generation, GenerationChunk
from hocket.rate_limiters import InMemoryRateLimiter
from hocket.retries import RetryPolicy
from hocket.timeouts import Timeout

pytestmark = pytest.mark.usefixtures("nothing_is_logged")

TEXTS = ["Hel", "lo ", "world"]


class Slow(BaseCache):
    """A cache that waits."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], Any] = {}

    def lookup(self, prompt: str, llm_string: str) -> Any:
        return self.held.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        self.held[prompt, llm_string] = list(return_val)

    def clear(self, **kwargs: Any) -> None:
        self.held.clear()

    async def alookup(self, prompt: str, llm_string: str) -> Any:
        await anyio.lowlevel.checkpoint()
        return self.lookup(prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        await anyio.lowlevel.checkpoint()
        self.update(prompt, llm_string, return_val)


class Hook:
    """Waits before each piece, and while it cleans up; counts both. Told to, it fails the first time."""

    def __init__(self, *, fails: bool) -> None:
        self.fails = fails
        self.asked = self.began = self.ended = 0

    async def __aenter__(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.asked += 1
        if self.fails and self.asked == 1:
            raise ProviderUnavailable("busy", retryable=True)
        self.began += 1

    async def __aexit__(self, *exc: object) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
        finally:
            self.ended += 1


class Chat(BaseChatModel):
    hook: Any = Field(exclude=True)

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        async with self.hook:
            for text in TEXTS:
                await anyio.lowlevel.checkpoint()
                yield ChatGenerationChunk(message=AIMessageChunk(text))

    @property
    def _llm_type(self) -> str:
        return "chat"


class InThread(BaseChatModel):
    hook: Any = Field(exclude=True)

    def _stream(self, messages: Any, stop: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for text in TEXTS:
            yield ChatGenerationChunk(message=AIMessageChunk(text))

    @property
    def _llm_type(self) -> str:
        return "thread"


class Text(BaseLLM):
    hook: Any = Field(exclude=True)

    async def _astream(self, prompt: str, stop: Any = None, **kwargs: Any) -> AsyncIterator[GenerationChunk]:
        async with self.hook:
            for text in TEXTS:
                await anyio.lowlevel.checkpoint()
                yield GenerationChunk(text=text)

    @property
    def _llm_type(self) -> str:
        return "text"


AT_ONCE = RetryPolicy(max_attempts=4, first_pause=0)
LIMITS = Timeout(first_token=60, idle=60, total=60)


SCENES = {
    "bare": (Chat, {}),
    "everything": (Chat, {"everything": True}),
    "everything, handlers in threads": (Chat, {"everything": True, "in_threads": True}),
    "hook in a thread": (InThread, {"everything": True}),
    "text": (Text, {"everything": True}),
}


@pytest.fixture(params=SCENES)
def scene(request: pytest.FixtureRequest, handlers: Any, scenes: Any) -> Any:
    """A model with handlers; with everything: cache, limiter, cap, limits, and a hook whose first attempt fails."""
    cls, options = SCENES[request.param]
    everything = options.get("everything", False)

    class Here(scenes):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(handlers(in_threads=options.get("in_threads", False)))
            self.hook = Hook(fails=everything)
            self.limiter = InMemoryRateLimiter(requests_per_second=5000)
            self.cache = Slow() if everything else None
            more = {"rate_limiter": self.limiter, "max_in_flight": 3, "retry": AT_ONCE, "timeout": LIMITS}
            fields: dict[str, Any] = more if everything else {}
            self.model = cls(hook=self.hook, cache=self.cache or False, callbacks=self.handlers, **fields)

        async def look(self) -> None:
            await super().look()
            assert self.hook.began == self.hook.ended
            self.hook.asked = 0
            assert not self.limiter._queue
            if self.cache is not None:
                assert all(stored[0].text == "Hello world" for stored in self.cache.held.values())
                self.cache.clear()
                assert not self.model._in_flight._taken

    return Here


async def test_a_run_that_is_struck_anywhere(scene: Any, call: Any, attack: Any) -> None:
    """At every wait of each of its tasks."""
    assert await scene().attack(call, attack) > 3


async def test_equal_calls_of_which_one_is_struck(scene: Any, share: Any, attack: Any) -> None:
    """The other one gets its answer."""
    assert await scene().attack(share, attack) > 3


class Reporting(Chat):
    """Says what the prompt cost before it says anything, and never ends."""

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk("", usage_metadata=USAGE))
        yield ChatGenerationChunk(message=AIMessageChunk("Hel"))
        await anyio.sleep_forever()


USAGE: Any = {"input_tokens": 7, "output_tokens": 0, "total_tokens": 7}


@pytest.mark.parametrize("cancelled", [False, True])
async def test_usage_so_far_is_told_and_flagged(cancelled: bool, handlers: Any) -> None:
    watch, _ = handlers()
    with anyio.CancelScope() as scope:
        async with Reporting(hook=None, callbacks=[watch]).astream("hi") as stream:
            async for chunk in stream:
                if chunk.content and cancelled:
                    scope.cancel()
                elif chunk.content:
                    break
    assert list(watch.ends.values()) == [["error" if cancelled else "end closed"]]
    message = watch.last.generations[0][0].message
    assert (message.content, message.usage_metadata) == ("Hel", USAGE)
    assert message.response_metadata["partial"] is True
