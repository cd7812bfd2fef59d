"""A fault at every point where a run waits, one run after another, and a look at whether anything was left behind.

A run is more than its caller's task: streams, flights, batches and ends have tasks of their own. So every task that is
begun in the context of a run is driven through `Injector._drive`, which counts the waits of all of them, and strikes at
one. A failure is raised where the task waits, as if what it waits for had failed. First the loop is asked to take back
the wait, as it does when what is waited for has failed: an exception thrown into the middle of asyncio's own
``sock_connect`` leaves the socket's number in the selector, and the next connection, which gets the same number, never
hears of it. Nothing but an injector throws there.
"""

import asyncio
import contextlib
import contextvars
import itertools
import logging
import sys
import time
import types
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import anyio.lowlevel
import pytest

from hocket._pipeline import single_flight
from hocket._runtime.cancellation import hidden_tasks
from hocket._runtime.detached import spawn
from hocket._runtime.mode import resume
from hocket.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from hocket.errors import LLMError
from hocket.language_models import BaseLLM
from hocket.messages import HumanMessage

AT_MOST = 400
"""Waits of one run; a scenario with more of them has a fault."""

SOON = 1.0
"""Seconds within which nothing is left of a run, and its end was told."""

TRIES = 5
"""How often a strike is repeated until that was soon enough: a machine that is busy with something else is slow by chance,
code that waits for something is slow each time."""

PATIENCE = 30.0
"""Seconds after which what is still there was left behind."""

Blow = Callable[[], BaseException | None]
Run = Coroutine[Any, Any, Any]

_injector: contextvars.ContextVar["Injector | None"] = contextvars.ContextVar("injector", default=None)


class Stop(BaseException):
    """Like KeyboardInterrupt: not an Exception."""


class Injector:
    """Counts the waits of a run's tasks; at one of them it strikes.

    Args:
        at: which one, counted from 1.
        blow: cancels something, or returns what to raise.

    Attributes:
        struck_at: when it did; None: there were not so many.
        raised: what was raised; None: nothing, or the wait could not be taken back.
        where: the names of what was waiting, the outermost, which is a task's, first.
    """

    def __init__(self, at: int, blow: Blow) -> None:
        self.at, self.blow = at, blow
        self.waits = 0
        self.struck_at: float | None = None
        self.raised: BaseException | None = None
        self.where: list[str] = []

    def strike(self) -> BaseException | None:
        self.struck_at = time.monotonic()
        return self.blow()

    async def run(self, run: Run) -> Any:
        """Drive the first task of a run."""
        token = _injector.set(self)
        try:
            return await self._drive(run)
        finally:
            _injector.reset(token)

    @types.coroutine
    def _drive(self, run: Run) -> Generator[Any, Any, Any]:
        step: Callable[[], Any] = lambda: run.send(None)  # noqa: E731
        while True:
            try:
                waiting_for = step()
            except StopIteration as end:
                return end.value
            self.waits += 1
            fault = self.strike() if self.waits == self.at else None
            if fault is not None:
                self.where = list(_names(run))
            if fault is not None and "TaskGroup.__aexit__" not in self.where and self._take_back(waiting_for, fault):
                if isinstance(waiting_for, asyncio.Future):  # until those who made it know
                    with contextlib.suppress(asyncio.CancelledError):
                        yield waiting_for
                self.raised = fault
                step = lambda: run.throw(fault)  # noqa: B023, E731
                continue
            try:
                sent = yield waiting_for
            except BaseException as error:
                step = lambda error=error: run.throw(error)  # noqa: E731
            else:
                step = lambda sent=sent: run.send(sent)  # noqa: E731

    def _take_back(self, waiting_for: Any, fault: BaseException) -> bool:
        """Have the loop take back a wait; whether that could be done at once."""
        if isinstance(waiting_for, asyncio.Future):
            return waiting_for.cancel()
        abort = getattr(waiting_for, "abort_func", None)
        if abort is None:  # asyncio's next turn
            return True

        def raise_fault() -> None:  # some waits of trio's remember it, and raise it when they are over
            self.raised = fault
            raise fault

        import trio

        return abort(raise_fault) is trio.lowlevel.Abort.SUCCEEDED


def _names(run: Any) -> Iterator[str]:
    """Yield the names of a coroutine and of all that it awaits.

    Of these ``TaskGroup.__aexit__``, of asyncio's, waits for tasks, which nothing but a cancellation can cut short.
    """
    while run is not None:
        yield getattr(run, "__qualname__", type(run).__name__)
        if getattr(run, "gi_code", None) is resume.__code__:  # which drives a coroutine by hand
            run = run.gi_frame.f_locals["coroutine"]
        else:
            run = getattr(run, "cr_await", None) or getattr(run, "ag_await", None) or getattr(run, "gi_yieldfrom", None)


@contextlib.contextmanager
def _tasks_driven() -> Iterator[None]:
    """Drive the tasks that are begun meanwhile in the context of a run, asyncio's own excepted."""
    if "trio" in sys.modules and sys.modules["trio"].lowlevel.in_trio_run():
        import trio

        class Instrument(trio.abc.Instrument):
            def task_spawned(self, task: Any) -> None:
                injector = task.context.get(_injector)
                if injector is not None:
                    task.coro = injector._drive(task.coro)

        instrument = Instrument()
        trio.lowlevel.add_instrument(instrument)
        try:
            yield
        finally:
            trio.lowlevel.remove_instrument(instrument)
        return

    async def driven(injector: Injector, coro: Any) -> Any:
        return await injector._drive(coro)

    def make(loop: Any, coro: Any, **options: Any) -> asyncio.Task[Any]:
        context = options.get("context")
        injector = _injector.get() if context is None else context.get(_injector)
        if injector is not None and "asyncio" not in coro.cr_code.co_filename.split("anyio")[-1]:
            coro = driven(injector, coro)
        return asyncio.Task(coro, loop=loop, **options)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(make)
    try:
        yield
    finally:
        loop.set_task_factory(None)


# -- ways to strike; each returns what came of the run, None if it was cancelled, and how many waits there were


Attack = Callable[[Run, int], Awaitable[tuple[Any, Injector]]]


async def by_scope(run: Run, at: int) -> tuple[Any, Injector]:
    """Cancel the scope around the run."""
    outcome = None
    with anyio.CancelScope() as scope:
        injector = Injector(at, scope.cancel)
        outcome = await injector.run(run)
    return outcome, injector


async def by_many_blows(run: Run, at: int) -> tuple[Any, Injector]:
    """Cancel the task, as asyncio does it; and again at each tick."""

    def strike() -> None:
        task.cancel()
        for blow in range(1, 8):
            loop.call_later(blow * 1e-4, task.cancel)

    loop = asyncio.get_running_loop()
    injector = Injector(at, strike)
    task = asyncio.ensure_future(injector.run(run))
    try:
        return await task, injector
    except asyncio.CancelledError:
        return None, injector


async def by_timeout(run: Run, at: int) -> tuple[Any, Injector]:
    """Let a timeout of asyncio's strike, which cancels the task once, and stays a timeout."""
    outcome = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(None) as timeout:
            injector = Injector(at, lambda: timeout.reschedule(0))
            outcome = await injector.run(run)
    return outcome, injector


async def by_turn(run: Run, at: int) -> tuple[Any, Injector]:
    """Cancel the scope after so many turns of the loop, wherever the run's tasks are then: some are just being woken."""
    outcome = None
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            injector = Injector(at, scope.cancel)

            async def strike() -> None:
                for _ in range(at):
                    await anyio.lowlevel.checkpoint()
                injector.strike()

            group.start_soon(strike)
            outcome = await run
        group.cancel_scope.cancel()
    return outcome, injector


def by_raising(make: Callable[[], BaseException]) -> Attack:
    """Have what a task waits for fail."""

    async def attack(run: Run, at: int) -> tuple[Any, Injector]:
        fault = make()
        injector = Injector(at, lambda: fault)
        try:
            return await injector.run(run), injector
        except BaseException as error:
            if isinstance(error, BaseExceptionGroup) or not _is_due_to(error, fault):
                raise
            return error, injector

    return attack


def _is_due_to(error: BaseException | None, fault: BaseException) -> bool:
    while error is not None and error is not fault:
        error = error.__cause__ or error.__context__
    return error is fault


# -- ways to call; each returns whether it got what it should


WHOLE = "Hello world"


def said(answer: Any) -> str:
    return answer if isinstance(answer, str) else answer.content


async def ainvoke(model: Any) -> bool:
    return said(await model.ainvoke("hi")) == WHOLE


async def astream(model: Any) -> bool:
    return "".join([said(piece) async for piece in model.astream("hi")]) == WHOLE


async def async_with(model: Any) -> bool:
    pieces = []
    async with model.astream("hi") as stream:
        async for piece in stream:
            await anyio.lowlevel.checkpoint()
            pieces.append(said(piece))
    return "".join(pieces) == WHOLE


async def wrapped(model: Any) -> bool:
    """In an async generator of the caller's own, which is left after the first piece."""

    async def own() -> AsyncGenerator[str, None]:
        async with model.astream("hi") as stream:
            async for piece in stream:
                yield said(piece)

    async with contextlib.aclosing(own()) as pieces:
        async for piece in pieces:
            return WHOLE.startswith(piece)
    return False


async def left(model: Any) -> bool:
    """Left after the first piece, and closed by somebody else, who comes twice."""
    stream = model.astream("hi")
    first = said(await anext(stream))
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(stream.aclose)
            group.start_soon(stream.aclose)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0]  # noqa: B904
    return WHOLE.startswith(first)


async def agenerate(model: Any) -> bool:
    prompts: Any = ["a", "b"] if isinstance(model, BaseLLM) else [[HumanMessage("a")], [HumanMessage("b")]]
    result = await model.agenerate(prompts)
    return [candidates[0].text for candidates in result.generations] == [WHOLE] * 2


async def abatch(model: Any) -> bool:
    return [said(answer) for answer in await model.abatch(["a", "a"])] == [WHOLE] * 2


async def shared(model: Any) -> bool:
    """Two equal calls, of which nobody strikes the other."""
    other: list[Any] = []
    token = _injector.set(None)

    async def undisturbed() -> None:
        try:
            other.append(await ainvoke(model))
        except BaseException as error:
            other.append(error)

    task = spawn(undisturbed)
    _injector.reset(token)
    try:
        return await astream(model)
    finally:
        with anyio.CancelScope(shield=True):
            while not other:
                await anyio.lowlevel.checkpoint()
        del task
        assert other == [True] or "injected" in str(other[0])  # what strikes their request strikes both


CALLS = [ainvoke, astream, async_with, wrapped, left, agenerate, abatch]
LEAVING = [wrapped, left]


def may_be_lost(injector: Injector, call: Any, *, is_strict: bool) -> bool:
    """Whether what was raised need not reach the caller. Nothing else may be lost, and nothing at all of a caller's own.

    A consumer who has left is gone: what goes wrong where his stream is taken down is told to nobody. Nor is the way back
    of a worker thread waited for, once it has handed over all of an answer. Otherwise whatever is no `Exception` comes out.

    A handler's exception is logged, unless it asked to be heard, and so is a cache's; a request whose error says that
    this may help is made again.
    """
    where = injector.where
    if (call in LEAVING and where[0] != call.__name__) or "_Bridge.thread" in where:
        return True
    if "_renew_in_task.<locals>.renew" in where:  # a claim in a cache is renewed beside the run
        return True
    if not isinstance(injector.raised, Exception):
        return False
    if any(name.startswith(("Pausing.", "tell_in_thread")) for name in where):
        return not is_strict
    is_in_attempt = any(name.startswith(("_make_attempts", "open_tcp_stream")) for name in where)
    is_in_cache = any(name.startswith(("Slow.", "Claiming.", "Held.")) for name in where)
    return is_in_cache or (isinstance(injector.raised, LLMError) and is_in_attempt)


# -- a look at what is left


class Watch:
    """Notes how each run ended.

    Attributes:
        step: called in whatever it does, having noted it; may raise.
    """

    step: Callable[[str], None] = staticmethod(lambda who: None)

    def __init__(self) -> None:
        self.ends: dict[UUID, list[str]] = {}
        self.unfinished = 0
        self.last: Any = None

    @property
    def has_ended(self) -> bool:
        """Whether each run that started has ended once."""
        return all(len(ends) == 1 for ends in self.ends.values())

    def start(self, run_id: UUID) -> None:
        assert run_id not in self.ends, "a run started twice"
        self.ends[run_id] = []

    def end(self, name: str, response: Any, details: dict[str, Any]) -> None:
        self.last = response
        self.ends[details["run_id"]].append(name + " closed" * bool(details.get("closed")))


class Pausing(Watch, AsyncCallbackHandler):
    """Waits in everything it does."""

    async def pause(self, *args: Any, **details: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.step("handler")

    on_llm_new_token = on_first_token = on_cache_hit = on_limiter_wait = on_retry = pause

    async def on_chat_model_start(self, *args: Any, run_id: UUID, **details: Any) -> None:
        self.start(run_id)
        await self.pause()

    on_llm_start = on_chat_model_start

    async def on_llm_end(self, response: Any, **details: Any) -> None:
        self.end("end", response, details)
        self.unfinished += 1
        try:
            for _ in range(3):
                await self.pause()
        except anyio.get_cancelled_exc_class():  # cut short
            raise
        except BaseException:
            self.unfinished -= 1
            raise
        self.unfinished -= 1

    async def on_llm_error(self, error: BaseException, **details: Any) -> None:
        self.end("error", details["response"], details)
        await self.pause()


class Threaded(Watch, BaseCallbackHandler):
    """A sync handler: told in a worker thread."""

    def on_chat_model_start(self, *args: Any, run_id: UUID, **details: Any) -> None:
        self.start(run_id)
        self.step("handler")

    on_llm_start = on_chat_model_start

    def on_llm_new_token(self, token: str, **details: Any) -> None:
        self.step("handler")

    def on_llm_end(self, response: Any, **details: Any) -> None:
        self.end("end", response, details)
        self.step("handler")

    def on_llm_error(self, error: BaseException, **details: Any) -> None:
        self.end("error", details["response"], details)
        self.step("handler")


def living_tasks() -> int:
    with contextlib.suppress(RuntimeError):
        return len(asyncio.all_tasks() | hidden_tasks)
    if "trio" in sys.modules and sys.modules["trio"].lowlevel.in_trio_run():
        return int(sys.modules["trio"].lowlevel.current_statistics().tasks_living)
    return 0  # under a sync verb


class Scene:
    """A model under attack. A subclass makes it, and looks at what it may have left behind."""

    model: Any
    converted: tuple[type[Exception], ...] = ()
    """What an ``Exception`` of somebody else's may come out as."""

    def __init__(self, handlers: list[Any], *, is_strict: bool = False) -> None:
        self.handlers = handlers
        self.is_strict = is_strict
        for handler in handlers:
            handler.raise_error = is_strict
        self.tasks = living_tasks()

    async def look(self, struck_at: float | None = None) -> float:
        """Fail if anything is left of a run that was struck then; return the seconds until nothing was left."""
        with anyio.move_on_after(PATIENCE):
            while (  # noqa: ASYNC110 - nothing tells when a task is gone
                living_tasks() > self.tasks or not all(handler.has_ended for handler in self.handlers)
            ):
                await anyio.sleep(0.0005)
        assert living_tasks() == self.tasks
        for handler in self.handlers:
            assert handler.has_ended, handler.ends
            assert not handler.unfinished, "an end was cut short"
            handler.ends.clear()
        assert not single_flight._requests
        return 0.0 if struck_at is None else time.monotonic() - struck_at

    async def strike(self, call: Callable[[Any], Run], attack: Attack, at: int) -> tuple[Any, Injector, float]:
        """Attack ``call`` at one wait; return what came of it, and the seconds until nothing was left of it."""
        outcome, injector = await attack(call(self.model), at)
        if outcome is None and call is not shared:  # cancelled: its end has been told by now
            assert all(handler.has_ended for handler in self.handlers)
        self.judge(outcome, call, injector)
        return outcome, injector, await self.look(injector.struck_at)

    async def attack(self, call: Callable[[Any], Run], attack: Attack) -> int:
        """Attack ``call`` at its first wait, its second, its third, until one gets through; return how many there are."""
        with _tasks_driven():
            for at in range(1, AT_MOST):
                outcome, injector, seconds = await self.strike(call, attack, at)
                for _ in range(TRIES - 1):
                    if seconds <= SOON:
                        break
                    outcome, injector, seconds = await self.strike(call, attack, at)
                assert seconds <= SOON, (seconds, injector.where)
                if injector.struck_at is None:
                    assert outcome is True
                    return at - 1
                if at % 10 == 0:
                    assert await call(self.model)
                    await self.look()
        raise AssertionError("it never got through")

    def judge(self, outcome: Any, call: Any, injector: Injector) -> None:
        """Fail if the caller got something else than the answer, the cancellation, or what was raised."""
        if outcome is True:
            assert injector.raised is None or may_be_lost(injector, call, is_strict=self.is_strict), injector.where
        elif outcome is not None:
            is_other = isinstance(outcome, self.converted) and isinstance(injector.raised, Exception)
            assert outcome is injector.raised or is_other, (outcome, injector.where)


@pytest.fixture(params=CALLS, ids=lambda call: call.__name__)
def call(request: pytest.FixtureRequest) -> Any:
    """A way to call a model."""
    return request.param


@pytest.fixture
def share() -> Any:
    """To call a model together with somebody else."""
    return shared


@pytest.fixture(params=[lambda: ValueError("injected"), lambda: Stop("injected")], ids=["ValueError", "BaseException"])
def fault(request: pytest.FixtureRequest) -> BaseException:
    """What is raised."""
    return request.param()


@pytest.fixture
def at_any_turn() -> Attack:
    """A way to strike that knows nothing of waits."""
    return by_turn


@pytest.fixture
def tries() -> int:
    """How often to repeat what a busy machine may make slow."""
    return TRIES


@pytest.fixture
def scenes() -> type[Scene]:
    return Scene


ANYWHERE: dict[str, Attack] = {
    "scope": by_scope,
    "ValueError": by_raising(lambda: ValueError("injected")),
    "LLMError": by_raising(lambda: LLMError("injected", retryable=True)),
}
ON_ASYNCIO: dict[str, Attack] = {
    "many blows": by_many_blows,
    "timeout": by_timeout,
    "BaseException": by_raising(lambda: Stop("injected")),
}
ON_TRIO: dict[str, Attack] = {"KeyboardInterrupt": by_raising(lambda: KeyboardInterrupt("injected"))}
"""asyncio makes a cancellation of the first Ctrl-C, and stops the loop, not the task, at the next."""
_HERE = Path(__file__).parent
ATTACKS = {"asyncio": {**ANYWHERE, **ON_ASYNCIO}, "trio": {**ANYWHERE, **ON_TRIO}}


@pytest.fixture(params=[*ANYWHERE, *ON_ASYNCIO, *ON_TRIO])
def attack(request: pytest.FixtureRequest, anyio_backend_name: str) -> Attack:
    """A way to strike."""
    return ATTACKS[anyio_backend_name][request.param]


def pytest_configure(config: pytest.Config) -> None:
    """Add a mark."""
    config.addinivalue_line("markers", "every_two: at each change run crossings in which every two parameters meet.")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what cannot strike: a way that the loop does not know, or where strictness is nothing to it.

    And of the tests of all crossings, leave those to the night in which no two meet for the first time.
    """
    # All tests of a run come here, those of other directories too.
    items[:] = [item for item in items if item.path.parent != _HERE or _can_strike(**_params(item))]
    crossings = [(item, item.callspec.indices) for item in items if item.get_closest_marker("every_two")]  # type: ignore[attr-defined]
    met: set[object] = set()
    for item, indices in sorted(crossings, key=lambda crossing: sum(crossing[1].values()) % len(CALLS)):
        pairs = set(itertools.combinations(sorted(indices.items()), 2))
        if pairs <= met:
            item.add_marker("nightly")
        met |= pairs


def _params(item: pytest.Item) -> dict[str, Any]:
    return getattr(getattr(item, "callspec", None), "params", {})


def _can_strike(attack: str = "", anyio_backend: str = "", scene: str = "", **others: Any) -> bool:
    if not attack:
        return True
    return attack in ATTACKS[anyio_backend] and (scene != "strict handlers" or attack.endswith("Error"))


@pytest.fixture
def handlers() -> Any:
    """Make two handlers: that wait, or that are told in threads."""
    return lambda *, in_threads=False: [(Threaded if in_threads else Pausing)() for _ in range(2)]


@pytest.fixture
def nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail if anybody, the event loops included, logs something above DEBUG; a handler that fails is logged as that."""
    caplog.set_level(logging.INFO)
    yield
    loud = [record for record in caplog.get_records("call") if "injected" not in record.getMessage()]
    assert not loud, [record.getMessage() for record in loud]
