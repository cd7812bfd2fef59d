"""Chunks from the engine's threads, handed to an event loop.

The buffer between them has no bound of its own, on purpose: the runtime computes on at its own pace whatever its
call-back does, so making a thread wait for a slow reader would save nothing and keep a slot from the next request.
An answer is bounded anyway, by ``max_tokens`` and the window.

Waking a loop from a thread costs more than a chunk does, so a batch of chunks wakes it once.
"""

import collections
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import anyio
from anyio.lowlevel import current_token

from hocket._runtime.detached import call_soon
from hocket.providers.local.engine import LocalEngine

__all__ = ["answer"]


class _Answer:
    """One request on its way through the engine, between a thread that fills and a loop that reads."""

    def __init__(self, engine: LocalEngine, request: Mapping[str, object]) -> None:
        self._engine = engine
        self._request = request
        self._token = current_token()
        self._asleep: anyio.Event | None = None
        self.chunks: collections.deque[dict[str, Any]] = collections.deque()
        self.failure: BaseException | None = None
        self.is_over = False
        self.is_left = False

    def run(self) -> None:
        """Fill, in one of the engine's threads."""
        try:
            if not self.is_left:
                self._engine.stream(self._request, self._take)
        except BaseException as failure:  # raised where the answer is read
            self.failure = failure
        self.is_over = True
        self._rouse()

    def _take(self, chunk: dict[str, Any]) -> bool:
        if "prompt_progress" not in chunk:
            self.chunks.append(chunk)
            self._rouse()
        return self.is_left

    def _rouse(self) -> None:
        asleep, self._asleep = self._asleep, None
        if asleep is not None:
            call_soon(self._token, asleep.set)

    async def wait_for_more(self) -> None:
        """Wait for a chunk or the end."""
        event = self._asleep = anyio.Event()
        if not self.chunks and not self.is_over:  # looked at again: the thread may not have seen that we sleep
            await event.wait()
        self._asleep = None


async def answer(engine: LocalEngine, request: Mapping[str, object]) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the chunks of the engine's answer. Closing it stops the engine at its next token or prompt batch.

    Raises:
        LocalModelError, ContextLengthExceeded, MissingDependency: see `LocalEngine.stream`.
    """
    pending = _Answer(engine, request)
    engine.submit(pending.run)
    try:
        while True:
            is_over = pending.is_over  # before the buffer is emptied, for the last chunk comes before the end
            while pending.chunks:
                yield pending.chunks.popleft()
            if is_over:
                break
            await pending.wait_for_more()
    finally:
        pending.is_left = True
    failure, pending.failure = pending.failure, None  # its traceback holds what holds it
    if failure is not None:
        raise failure
