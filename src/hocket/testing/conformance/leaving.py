"""Calls that do not come to their end: cancelled, left, out of time. Nothing of them may stay, and nothing be hidden."""

import types
from collections.abc import Coroutine, Generator
from functools import partial
from typing import Any

import anyio

from hocket.errors import TotalTimeout
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage
from hocket.testing.conformance.suite import Ends, Suite

__all__ = ["Leaving"]

MOST_WAITS = 25  # of one call, at which it is cancelled in turn
PAUSE = 0.005  # seconds between two looks at the tasks


class Leaving(Suite):
    """Tests of calls that do not come to their end."""

    async def test_a_cancellation_is_not_swallowed(self) -> None:
        """Cancelled at any point where it waits, a call does not answer all the same: the cancellation comes out of it."""
        async with self.answering() as model:
            for at in range(1, MOST_WAITS):
                call = _Struck(model.ainvoke(self.question), at)
                reply = await call.run()
                assert not (call.was_told and reply), f"cancelled at its wait number {at}, the call answered: {reply!r}"
                if not call.was_struck:
                    break

    async def test_a_cancelled_call_leaves_nothing(self) -> None:
        """Cancelled at any point where it waits, whole or streamed, a call leaves no task; the next one is answered."""
        async with self.answering() as model:
            for ask in (self._ask_whole, self._ask_streamed):
                await ask(model)  # what is kept for all calls is there now
                before = _count_tasks()
                for at in range(1, MOST_WAITS):
                    call = _Struck(ask(model), at)
                    await call.run()
                    if not call.was_struck:
                        break
                await self._assert_no_more_than(before)
                assert await ask(model)

    async def test_a_stream_can_be_left(self) -> None:
        """`break` is an end: the run ends once, ``closed``, no task is left, and the next call is answered."""
        handler = Ends()
        async with self.answering() as model:
            await self._ask_streamed(model)
            before = _count_tasks()
            async with model.astream(self.question, {"callbacks": [handler]}) as stream:
                async for _ in stream:
                    break
            await self._assert_no_more_than(before)
            assert await self._ask_whole(model)
        assert handler.noted in (["started", "closed"], ["started", "ended"])  # the latter if all of it had come

    async def test_a_call_that_takes_too_long(self) -> None:
        """Out of time, a call raises `TotalTimeout` and nothing else; one that never waits may answer instead."""
        async with self.answering() as model:
            try:
                reply = await model.ainvoke(self.question, timeout=1e-6, retry=None)
            except TotalTimeout as error:
                assert not error.retryable
            else:
                assert type(reply) is AIMessage
            assert await self._ask_whole(model)

    async def _assert_no_more_than(self, tasks: int) -> None:
        for _ in range(round(self.patience / PAUSE)):
            if _count_tasks() <= tasks:
                return
            await anyio.sleep(PAUSE)
        assert _count_tasks() <= tasks, "tasks were left behind"

    async def _ask_whole(self, model: BaseChatModel) -> str:
        return (await model.ainvoke(self.question)).text

    async def _ask_streamed(self, model: BaseChatModel) -> str:
        async with model.astream(self.question) as stream:
            return "".join([chunk.text async for chunk in stream])


class _Struck:
    """A call that is cancelled when it waits for the ``at``-th time.

    Attributes:
        was_struck: whether it has waited so often.
        was_told: whether the cancellation was raised in it. It need not be: what it waits for may come at that moment.
    """

    def __init__(self, call: Coroutine[Any, Any, Any], at: int) -> None:
        self._call = call
        self._at = at
        self.was_struck = self.was_told = False

    async def run(self) -> Any:
        """Return what the call returns; None: it was cancelled."""
        with anyio.CancelScope() as scope:
            return await self._step(scope)

    @types.coroutine
    def _step(self, scope: anyio.CancelScope) -> Generator[Any, Any, Any]:
        waits = 0
        step = partial(self._call.send, None)
        while True:
            try:
                waited_for = step()
            except StopIteration as end:
                return end.value
            waits += 1
            if waits == self._at:
                self.was_struck = True
                scope.cancel()
            try:
                sent = yield waited_for
            except BaseException as error:
                self.was_told |= self.was_struck and isinstance(error, anyio.get_cancelled_exc_class())
                step = partial(self._call.throw, error)
            else:
                step = partial(self._call.send, sent)


def _count_tasks() -> int:
    return len(anyio.get_running_tasks())
