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
    BaseChatModel,
    HumanMessage,
)
from hocket.errors import BlockingCallWarning, SyncInLoop
from tests.kit import AsyncRecorder, Event, HookCall, hook_model

LOOPS = [pytest.param(lambda main: asyncio.run(main()), id="asyncio"), pytest.param(trio.run, id="trio")]

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


def say_where() -> Iterator[str]:
    """Say in which thread this runs, and which context variable it sees."""
    yield threading.current_thread().name
    yield f" {tenant.get()}"


async def say_where_later() -> AsyncIterator[str]:
    for piece in say_where():
        yield piece
        await anyio.lowlevel.checkpoint()


def sync_model(inner: Any = None, **fields: Any) -> Any:
    """Make a model that says where its hook runs, or what the model inside answers."""

    def answer(call: HookCall) -> Any:
        return say_where() if inner is None else f"({inner.invoke('inner').content})"

    return hook_model(answer, "generate", "stream", **fields)


def async_model(inner: Any = None, **fields: Any) -> Any:
    """The same with async hooks only."""

    async def answer(call: HookCall) -> Any:
        if call.hook == "astream":
            return say_where_later()
        await anyio.lowlevel.checkpoint()
        return say_where() if inner is None else f"({inner.invoke('inner').content})"

    return hook_model(answer, "agenerate", "astream", **fields)


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
    assert VERBS[verb](sync_model()) == f"{me} acme"


@pytest.mark.parametrize("verb", VERBS)
def test_an_async_hook_runs_on_the_kept_loop(verb: str, me: str) -> None:
    """BCM-06: every sync verb works on a model with async hooks only; context variables reach them."""
    assert VERBS[verb](async_model()) == "hocket acme"


@pytest.mark.parametrize("verb", ["batch", "batch_as_completed"])
def test_a_batch_of_sync_hooks_runs_in_worker_threads(verb: str, me: str) -> None:
    """BCM-10: sync hooks of a batch run at once; context variables reach them, too."""
    assert VERBS[verb](sync_model()) == "AnyIO worker thread acme"


def test_what_a_sync_hook_sets_is_set() -> None:
    """A context variable that a sync hook sets is set for its caller, as in any function."""

    def change(call: HookCall) -> str:
        tenant.set("changed")
        return "done"

    def call() -> str:
        hook_model(change, "generate").invoke("hi")
        return tenant.get()

    assert contextvars.copy_context().run(call) == "changed"


async def test_context_variables_reach_sync_hooks_under_async_verbs() -> None:
    """A sync hook in a worker thread sees the variables of the task that asked; with a stream, too."""
    tenant.set("acme")
    model = sync_model()
    assert str((await model.ainvoke("hi")).content).endswith(" acme")
    assert "".join([chunk.text async for chunk in model.astream("hi")]).endswith(" acme")


# -- inside a running loop


@pytest.mark.parametrize("run", LOOPS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_sync_verb_works_inside_a_running_loop(run: Any, verb: str, me: str) -> None:
    """As a notebook needs it. A hook that is async runs on the kept loop, and a warning says that this one waits."""

    async def main() -> str:
        return VERBS[verb](async_model())

    with pytest.warns(BlockingCallWarning, match="await its async twin") as warned:
        assert run(main) == "hocket acme"
    assert {warning.filename for warning in warned} == {__file__}


@pytest.mark.parametrize("run", LOOPS)
@pytest.mark.parametrize("verb", ["invoke", "generate", "stream"])
def test_a_sync_hook_inside_a_running_loop(run: Any, verb: str, me: str) -> None:
    """What blocks there is the hook's own code, in its caller's thread: hocket neither hops nor warns."""

    async def main() -> str:
        return VERBS[verb](sync_model())

    assert run(main) == f"{me} acme"


# -- from many threads


@pytest.mark.parametrize("make", [sync_model, async_model])
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

    here: list[anyio.Event] = []

    async def meet(call: HookCall) -> str:
        here.append(anyio.Event())
        if len(here) == 8:
            here[0].set()
        with anyio.fail_after(30):
            await here[0].wait()
        return "met"

    model = hook_model(meet)
    with ThreadPoolExecutor(8) as pool:
        assert [message.content for message in pool.map(lambda _: model.invoke("hi"), range(8))] == ["met"] * 8


# -- models that call models


@pytest.mark.parametrize("inner", [sync_model, async_model])
def test_invoke_inside_a_sync_hook(inner: Any, me: str) -> None:
    """A sync hook may call a sync verb of another model, whatever that one's hooks are."""
    where = me if inner is sync_model else "hocket"
    assert sync_model(inner=inner()).invoke("hi").content == f"({where} acme)"


@pytest.mark.parametrize("inner", [sync_model, async_model])
async def test_invoke_inside_a_sync_hook_in_a_worker_thread(inner: Any, me: str) -> None:
    """The same under an async verb, where the sync hook is in a worker thread and no loop is held up."""
    content = str((await sync_model(inner=inner()).ainvoke("hi")).content)
    assert content.startswith("(hocket ") == (inner is async_model)
    assert not content.startswith(f"({me} ")


def test_invoke_inside_a_sync_hook_of_a_batch() -> None:
    """The same in the worker threads of the kept loop itself, all of which wait for it."""
    model = sync_model(inner=async_model())
    assert [message.content for message in model.batch(["hi"] * 200)] == ["(hocket nobody)"] * 200


def test_a_sync_hook_inside_an_async_one() -> None:
    """An async hook may call a sync verb whose hook is sync: it runs there and then."""
    assert async_model(inner=sync_model()).invoke("hi").content == "(hocket nobody)"


def test_an_async_hook_that_waits_for_its_own_loop() -> None:
    """On the kept loop, a sync verb that needs it would wait for ever: it raises, and says what to do."""
    with pytest.raises(SyncInLoop, match="await its async twin"):
        async_model(inner=async_model()).invoke("hi")
    assert issubclass(SyncInLoop, RuntimeError)


@pytest.mark.parametrize("run", LOOPS)
def test_an_async_hook_that_calls_a_sync_verb(run: Any) -> None:
    """On any other loop it works, and a warning says that this loop waits meanwhile."""

    async def main() -> str:
        return str((await async_model(inner=async_model()).ainvoke("hi")).content)

    with pytest.warns(BlockingCallWarning):
        assert run(main) == "(hocket nobody)"


# -- handlers


@pytest.mark.parametrize("make", [sync_model, async_model])
@pytest.mark.parametrize("verb", VERBS)
def test_async_handlers_under_sync_verbs(make: Any, verb: str) -> None:
    """Handlers of both kinds hear sync verbs, in order, before the verb returns."""
    recorder = AsyncRecorder("on_chat_model_start", "on_llm_end", before=lambda event: anyio.lowlevel.checkpoint())
    VERBS[verb](make(callbacks=[recorder]))
    assert recorder.names == ["on_chat_model_start", "on_llm_end"]


@pytest.mark.parametrize("run", LOOPS)
def test_an_async_handler_that_calls_a_sync_verb_in_turn(run: Any) -> None:
    """A sync hook in a worker thread has its handlers on the loop that it was sent from; they may call models, too."""
    heard: list[str] = []

    inner = AsyncRecorder("on_llm_end", do=lambda event: heard.append("inner"))

    def call_another(event: Event) -> None:
        sync_model(callbacks=[inner]).invoke("hi")
        heard.append("outer")

    outer = AsyncRecorder("on_llm_end", do=call_another)

    async def main() -> None:
        with anyio.fail_after(30):
            await sync_model(inner=sync_model(callbacks=[outer])).ainvoke("hi")

    with pytest.warns(BlockingCallWarning):
        run(main)
    assert heard == ["inner", "outer"]


# -- streams


@pytest.mark.parametrize("make", [sync_model, async_model])
def test_a_sync_stream_that_is_left_early(make: Any, recorder: Any) -> None:
    """BCM-50: leaving a ``for`` inside ``with`` ends hook and run, before the block is left."""
    with make().stream("hi", {"callbacks": [recorder]}) as stream:
        for _ in stream:
            break
    assert recorder.names[-1] == "on_llm_end"
    assert stream.message.content
    recorder.assert_every_run_ended_once()


@pytest.mark.parametrize("make", [sync_model, async_model])
def test_a_sync_stream_that_is_dropped(make: Any, recorder: Any) -> None:
    """BCM-50: dropping a stream half way ends its run, too, soon."""
    for _ in make().stream("hi", {"callbacks": [recorder]}):
        break
    deadline = time.monotonic() + 30
    while "on_llm_end" not in recorder.names and time.monotonic() < deadline:
        time.sleep(0.001)
    recorder.assert_every_run_ended_once()
