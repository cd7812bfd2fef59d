"""What `exclusive()` promises, for the exam of a history."""

from collections.abc import Iterable
from functools import partial
from uuid import uuid4

import anyio
import anyio.lowlevel
import pytest

from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import HistoryBusy, InvalidInput
from hocket.messages import HumanMessage
from hocket.testing.conformance.suite import BACKENDS
from hocket.testing.conformance.threads import run_in_threads

__all__ = ["ExclusiveExam"]

RUNS = 8
BUSY = 0.02  # seconds to wait for who does not go away
LONG = 60.0


class ExclusiveExam:
    """Tests of one run of a conversation at a time."""

    def history(self, session_id: str | None = None) -> BaseChatMessageHistory:
        """Return a history; None: of a new conversation."""
        raise NotImplementedError

    async def test_one_run_at_a_time(self) -> None:
        """Of many tasks that want a conversation for themselves each gets it, and nobody else has it meanwhile."""
        session = str(uuid4())

        async def run(number: int) -> None:
            await _run_alone(self.history(session), number)

        async with anyio.create_task_group() as group:
            for number in range(RUNS):
                group.start_soon(run, number)
        _assert_alone(await _read(self.history(session)), range(RUNS))

    def test_one_run_at_a_time_in_many_loops(self) -> None:
        """Also among threads, each with an event loop of its own."""
        session = str(uuid4())

        def run(number: int, backend: str) -> None:
            anyio.run(_run_alone, self.history(session), number, backend=backend)

        run_in_threads([partial(run, number, BACKENDS[number % len(BACKENDS)]) for number in range(RUNS)])
        _assert_alone(anyio.run(_read, self.history(session)), range(RUNS))

    async def test_a_run_waits_as_long_as_it_says(self) -> None:
        """Then it is told which conversation is busy, by object or by another one; without `timeout` it gets its turn."""
        session = str(uuid4())
        history, other = self.history(session), self.history(session)
        async with history.exclusive(timeout=LONG):
            for asked in (history, other):
                for timeout in (0, BUSY):
                    async with anyio.create_task_group() as group:
                        group.start_soon(_expect_busy, asked, timeout)
        async with other.exclusive(timeout=0):
            pass

    async def test_conversations_do_not_wait_for_each_other(self) -> None:
        """One may be had while another one is."""
        async with self.history().exclusive(), self.history().exclusive(timeout=LONG):
            pass

    async def test_a_failed_run_gives_the_conversation_back(self) -> None:
        """Its failure is what the block raises."""
        history = self.history()
        with pytest.raises(ZeroDivisionError):
            async with history.exclusive():
                raise ZeroDivisionError
        async with history.exclusive(timeout=0):
            pass

    async def test_a_cancelled_run_gives_the_conversation_back(self) -> None:
        """The next one has it at once."""
        history = self.history()
        with anyio.move_on_after(BUSY):
            async with history.exclusive():
                await anyio.sleep_forever()
        async with history.exclusive(timeout=0):
            pass

    async def test_who_is_cancelled_while_it_waits_leaves_nothing(self) -> None:
        """Cancelled sooner or later, it is out of the line, and those behind it get their turn."""
        session = str(uuid4())
        history = self.history(session)

        async def wait(seconds: float) -> None:
            with anyio.move_on_after(seconds):
                async with self.history(session).exclusive():
                    pytest.fail("two runs had the conversation")

        async with history.exclusive(), anyio.create_task_group() as group:
            for number in range(RUNS):
                group.start_soon(wait, number * BUSY / RUNS)
        async with self.history(session).exclusive(timeout=0):
            pass

    async def test_a_task_does_not_wait_for_its_own_run(self) -> None:
        """Who has the conversation and asks for it again is told so at once; what it has, it keeps."""
        history = self.history()
        async with history.exclusive():
            with pytest.raises(InvalidInput, match="would wait for itself"):
                async with history.exclusive():
                    pass
            async with anyio.create_task_group() as group:
                group.start_soon(_expect_busy, history, BUSY)
        async with history.exclusive(timeout=0):
            pass

    def test_a_timeout_that_is_none_is_refused(self) -> None:
        """When the block is made, before anybody waits."""
        history = self.history()
        for timeout in (-1, float("nan"), "5"):
            with pytest.raises(InvalidInput, match="it must be a number of seconds"):
                history.exclusive(timeout)  # type: ignore[arg-type]


async def _run_alone(history: BaseChatMessageHistory, number: int) -> None:
    """Write two turns, which nothing should come between."""
    async with history.exclusive():
        for part in range(2):
            await history.aadd_messages([HumanMessage(f"{number} {part}")])
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
        assert (await _read(history))[-2:] == [(number, 0), (number, 1)]


async def _read(history: BaseChatMessageHistory) -> list[tuple[int, int]]:
    said = [message.text.split() for message in await history.aget_messages()]
    return [(int(number), int(part)) for number, part in said]


def _assert_alone(said: list[tuple[int, int]], numbers: Iterable[int]) -> None:
    assert said == [(number, part) for number, _ in said[::2] for part in range(2)], "two runs had the conversation"
    assert sorted(number for number, _ in said[::2]) == list(numbers)


async def _expect_busy(history: BaseChatMessageHistory, seconds: float) -> None:
    with pytest.raises(HistoryBusy, match=f"has the conversation, and still had it after {seconds:g} s"):
        async with history.exclusive(seconds):
            pytest.fail("two runs had the conversation")
