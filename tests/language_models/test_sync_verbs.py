"""The sync verbs: in the caller's thread where the hook is sync, on hocket's kept loop where it is not, from anywhere."""

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import anyio.lowlevel
import pytest
import trio

from hocket import (
    AIMessage,
    AIMessageChunk,
    AsyncCallbackHandler,
    BaseChatModel,
    BaseMessage,
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    HumanMessage,
)
from hocket.errors import BlockingCallWarning, SyncInLoop

LOOPS = [pytest.param(lambda main: asyncio.run(main()), id="asyncio"), pytest.param(trio.run, id="trio")]

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


def answer(text: str) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


class SyncModel(BaseChatModel):
    """Answers with the thread that its hook runs in, and the context variable that it sees."""

    inner: Any = None

    def _generate(self, messages: list[BaseMessage], stop: Any = None, **kwargs: Any) -> ChatResult:
        if self.inner is not None:
            return answer(f"({self.inner.invoke('inner').content})")
        return answer(f"{threading.current_thread().name} {tenant.get()}")

    def _stream(self, messages: list[BaseMessage], stop: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk(threading.current_thread().name))
        yield ChatGenerationChunk(message=AIMessageChunk(f" {tenant.get()}"))

    @property
    def _llm_type(self) -> str:
        return "sync"


class AsyncModel(BaseChatModel):
    """The same with async hooks only."""

    inner: Any = None

    async def _agenerate(self, messages: list[BaseMessage], stop: Any = None, **kwargs: Any) -> ChatResult:
        await anyio.lowlevel.checkpoint()
        if self.inner is not None:
            return answer(f"({self.inner.invoke('inner').content})")
        return answer(f"{threading.current_thread().name} {tenant.get()}")

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk(threading.current_thread().name))
        await anyio.lowlevel.checkpoint()
        yield ChatGenerationChunk(message=AIMessageChunk(f" {tenant.get()}"))

    @property
    def _llm_type(self) -> str:
        return "async"


VERBS: dict[str, Callable[[BaseChatModel], str]] = {
    "invoke": lambda model: str(model.invoke("hi").content),
    "generate": lambda model: model.generate([[HumanMessage("hi")]]).generations[0][0].text,
    "stream": lambda model: "".join(chunk.text for chunk in model.stream("hi")),
    "batch": lambda model: str(model.batch(["hi"])[0].content),
    "batch_as_completed": lambda model: str(next(iter(model.batch_as_completed(["hi"])))[1].content),
}


@pytest.fixture
def me() -> Iterator[str]:
    """The name of this thread, with a context variable set in it."""
    token = tenant.set("acme")
    yield threading.current_thread().name
    tenant.reset(token)


# -- where a hook runs


@pytest.mark.parametrize("verb", ["invoke", "generate", "stream"])
def test_a_sync_hook_runs_in_the_callers_thread(verb: str, me: str) -> None:
    """BCM-06: objects that belong to a thread, and debuggers, work; context variables are the caller's own."""
    assert VERBS[verb](SyncModel()) == f"{me} acme"


@pytest.mark.parametrize("verb", VERBS)
def test_an_async_hook_runs_on_the_kept_loop(verb: str, me: str) -> None:
    """BCM-06: every sync verb works on a model with async hooks only; context variables reach them."""
    assert VERBS[verb](AsyncModel()) == "hocket acme"


@pytest.mark.parametrize("verb", ["batch", "batch_as_completed"])
def test_a_batch_of_sync_hooks_runs_in_worker_threads(verb: str, me: str) -> None:
    """BCM-10: sync hooks of a batch run at once; context variables reach them, too."""
    assert VERBS[verb](SyncModel()) == "AnyIO worker thread acme"


def test_what_a_sync_hook_sets_is_set() -> None:
    """A context variable that a sync hook sets is set for its caller, as in any function."""

    class Setting(SyncModel):
        def _generate(self, messages: list[BaseMessage], stop: Any = None, **kwargs: Any) -> ChatResult:
            tenant.set("changed")
            return answer("done")

    def call() -> str:
        Setting().invoke("hi")
        return tenant.get()

    assert contextvars.copy_context().run(call) == "changed"


async def test_context_variables_reach_sync_hooks_under_async_verbs() -> None:
    """A sync hook in a worker thread sees the variables of the task that asked; with a stream, too."""
    tenant.set("acme")
    model = SyncModel()
    assert str((await model.ainvoke("hi")).content).endswith(" acme")
    assert "".join([chunk.text async for chunk in model.astream("hi")]).endswith(" acme")


# -- inside a running loop


@pytest.mark.parametrize("run", LOOPS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_sync_verb_works_inside_a_running_loop(run: Any, verb: str, me: str) -> None:
    """As a notebook needs it. A hook that is async runs on the kept loop, and a warning says that this one waits."""

    async def main() -> str:
        return VERBS[verb](AsyncModel())

    with pytest.warns(BlockingCallWarning, match="await its async twin") as warned:
        assert run(main) == "hocket acme"
    assert {warning.filename for warning in warned} == {__file__}


@pytest.mark.parametrize("run", LOOPS)
@pytest.mark.parametrize("verb", ["invoke", "generate", "stream"])
def test_a_sync_hook_inside_a_running_loop(run: Any, verb: str, me: str) -> None:
    """What blocks there is the hook's own code, in its caller's thread: hocket neither hops nor warns."""

    async def main() -> str:
        return VERBS[verb](SyncModel())

    assert run(main) == f"{me} acme"


# -- from many threads


@pytest.mark.parametrize("make", [SyncModel, AsyncModel])
def test_one_model_from_eight_threads(make: Any, recorder: Any) -> None:
    """Eight threads share a model; each call gets its own answer, and each run ends once."""
    model = make(callbacks=[recorder])

    def call(index: int) -> str:
        tenant.set(str(index))
        return str(model.invoke("hi").content) + "".join(chunk.text for chunk in model.stream("hi"))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(call, range(80)))
    assert [text.split()[-1] for text in answers] == [str(index) for index in range(80)]
    assert len(list(recorder.runs())) == 160
    recorder.assert_every_run_ended_once()


def test_calls_on_the_kept_loop_run_at_once() -> None:
    """Eight threads that wait for async hooks do not wait for one another."""

    class Meeting(AsyncModel):
        here: int = 0
        met: Any = None

        async def _agenerate(self, messages: list[BaseMessage], stop: Any = None, **kwargs: Any) -> ChatResult:
            self.met = self.met or anyio.Event()
            self.here += 1
            if self.here == 8:
                self.met.set()
            with anyio.fail_after(5):
                await self.met.wait()
            return answer("met")

    model = Meeting()
    with ThreadPoolExecutor(8) as pool:
        assert [message.content for message in pool.map(lambda _: model.invoke("hi"), range(8))] == ["met"] * 8


# -- models that call models


@pytest.mark.parametrize("inner", [SyncModel, AsyncModel])
def test_invoke_inside_a_sync_hook(inner: Any, me: str) -> None:
    """A sync hook may call a sync verb of another model, whatever that one's hooks are."""
    where = me if inner is SyncModel else "hocket"
    assert SyncModel(inner=inner()).invoke("hi").content == f"({where} acme)"


@pytest.mark.parametrize("inner", [SyncModel, AsyncModel])
async def test_invoke_inside_a_sync_hook_in_a_worker_thread(inner: Any, me: str) -> None:
    """The same under an async verb, where the sync hook is in a worker thread and no loop is held up."""
    content = str((await SyncModel(inner=inner()).ainvoke("hi")).content)
    assert content.startswith("(hocket ") == (inner is AsyncModel)
    assert not content.startswith(f"({me} ")


def test_invoke_inside_a_sync_hook_of_a_batch() -> None:
    """The same in the worker threads of the kept loop itself, all of which wait for it."""
    model = SyncModel(inner=AsyncModel())
    assert [message.content for message in model.batch(["hi"] * 200)] == ["(hocket nobody)"] * 200


def test_a_sync_hook_inside_an_async_one() -> None:
    """An async hook may call a sync verb whose hook is sync: it runs there and then."""
    assert AsyncModel(inner=SyncModel()).invoke("hi").content == "(hocket nobody)"


def test_an_async_hook_that_waits_for_its_own_loop() -> None:
    """On the kept loop, a sync verb that needs it would wait for ever: it raises, and says what to do."""
    with pytest.raises(SyncInLoop, match="await its async twin"):
        AsyncModel(inner=AsyncModel()).invoke("hi")
    assert issubclass(SyncInLoop, RuntimeError)


@pytest.mark.parametrize("run", LOOPS)
def test_an_async_hook_that_calls_a_sync_verb(run: Any) -> None:
    """On any other loop it works, and a warning says that this loop waits meanwhile."""

    async def main() -> str:
        return str((await AsyncModel(inner=AsyncModel()).ainvoke("hi")).content)

    with pytest.warns(BlockingCallWarning):
        assert run(main) == "(hocket nobody)"


# -- handlers


@pytest.mark.parametrize("make", [SyncModel, AsyncModel])
@pytest.mark.parametrize("verb", VERBS)
def test_async_handlers_under_sync_verbs(make: Any, verb: str) -> None:
    """Handlers of both kinds hear sync verbs, in order, before the verb returns."""
    heard: list[str] = []

    class Hearing(AsyncCallbackHandler):
        async def on_chat_model_start(self, *args: Any, **details: Any) -> None:
            await anyio.lowlevel.checkpoint()
            heard.append("start")

        async def on_llm_end(self, *args: Any, **details: Any) -> None:
            await anyio.lowlevel.checkpoint()
            heard.append("end")

    VERBS[verb](make(callbacks=[Hearing()]))
    assert heard == ["start", "end"]


@pytest.mark.parametrize("run", LOOPS)
def test_an_async_handler_that_calls_a_sync_verb_in_turn(run: Any) -> None:
    """A sync hook in a worker thread has its handlers on the loop that it was sent from; they may call models, too."""
    heard: list[str] = []

    class Inner(AsyncCallbackHandler):
        async def on_llm_end(self, *args: Any, **details: Any) -> None:
            heard.append("inner")

    class Outer(AsyncCallbackHandler):
        async def on_llm_end(self, *args: Any, **details: Any) -> None:
            SyncModel(callbacks=[Inner()]).invoke("hi")
            heard.append("outer")

    async def main() -> None:
        with anyio.fail_after(5):
            await SyncModel(inner=SyncModel(callbacks=[Outer()])).ainvoke("hi")

    with pytest.warns(BlockingCallWarning):
        run(main)
    assert heard == ["inner", "outer"]


# -- streams


@pytest.mark.parametrize("make", [SyncModel, AsyncModel])
def test_a_sync_stream_that_is_left_early(make: Any, recorder: Any) -> None:
    """BCM-50: leaving a ``for`` inside ``with`` ends hook and run, before the block is left."""
    with make().stream("hi", {"callbacks": [recorder]}) as stream:
        for _ in stream:
            break
    assert recorder.names[-1] == "on_llm_end"
    assert stream.message.content
    recorder.assert_every_run_ended_once()


@pytest.mark.parametrize("make", [SyncModel, AsyncModel])
def test_a_sync_stream_that_is_dropped(make: Any, recorder: Any) -> None:
    """BCM-50: dropping a stream half way ends its run, too, soon."""
    for _ in make().stream("hi", {"callbacks": [recorder]}):
        break
    deadline = time.monotonic() + 30
    while "on_llm_end" not in recorder.names and time.monotonic() < deadline:
        time.sleep(0.001)
    recorder.assert_every_run_ended_once()
