"""One model for a whole process: many event loops, many threads, and loops that have other things to do."""

import threading
from collections.abc import Callable
from functools import partial

import anyio

from hocket.language_models import BaseChatModel
from hocket.testing.blocking import assert_no_blocking
from hocket.testing.conformance.suite import BACKENDS, Suite

__all__ = ["Loops"]

ROUNDS = 3  # of each kind of loop
STALL = 0.5  # seconds for which an event loop may stand still: nobody else's call would go on


class Loops(Suite):
    """Tests of event loops and threads."""

    def test_one_model_in_many_loops(self) -> None:
        """A model works in one event loop after the other, asyncio and trio, with sync calls in between."""
        with self.answering_threads() as model:
            for _ in range(ROUNDS):
                for backend in BACKENDS:
                    assert _run(backend, model, self.question)
                    assert model.invoke(self.question).text
            self.check_calls(ROUNDS * len(BACKENDS) * 3)

    def test_one_model_in_many_threads(self) -> None:
        """A model works in several threads at once, each with a loop of its own or none."""
        outcomes: list[str | BaseException] = []

        def run(ask: Callable[[], str]) -> None:
            try:
                outcomes.append(ask())
            except BaseException as error:
                outcomes.append(error)

        with self.answering_threads() as model:
            asks: list[Callable[[], str]] = [lambda: model.invoke(self.question).text]
            asks += [partial(_run, backend, model, self.question) for backend in BACKENDS]
            threads = [threading.Thread(target=run, args=(ask,)) for ask in asks * ROUNDS]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [outcome for outcome in outcomes if not isinstance(outcome, str) or not outcome] == []
            self.check_calls(ROUNDS * (1 + 2 * len(BACKENDS)))

    def check_calls(self, count: int) -> None:
        """Look whether so many calls were made, and no more, where that can be seen."""

    async def test_the_event_loop_stays_free(self) -> None:
        """Neither writing a long request nor reading its answer holds up the event loop, which serves others, too."""
        async with self.answering() as model:
            await model.ainvoke(self.question)  # imports take time, once a process
            async with assert_no_blocking(limit=STALL):
                await model.ainvoke(self.long_question)
                async for _ in model.astream(self.long_question):
                    pass


def _run(backend: str, model: BaseChatModel, question: str) -> str:
    return anyio.run(_ask, model, question, backend=backend)


async def _ask(model: BaseChatModel, question: str) -> str:
    """Return one answer, after another one."""
    streamed = "".join([chunk.text async for chunk in model.astream(question)])
    return (await model.ainvoke(question)).text and streamed
