"""The kit itself: what other tests rely on."""

from collections.abc import AsyncIterator, Callable

import anyio
import pytest

from hocket.messages import AIMessage, HumanMessage
from tests.kit import (
    MODEL_EVENTS,
    AsyncRecorder,
    CountingLimiter,
    DictCache,
    HookCall,
    Recorder,
    assert_linear,
    hook_class,
    hook_llm,
    hook_model,
    tool_model,
)


@pytest.mark.parametrize("kind", [Recorder, AsyncRecorder])
async def test_a_recorder_records_the_events_it_was_made_for(kind: type[Recorder] | type[AsyncRecorder]) -> None:
    """In order, with their arguments, and by run."""
    recorder = kind(*MODEL_EVENTS)
    await hook_model("yes", callbacks=[recorder]).ainvoke("hi")

    assert recorder.names == ["on_chat_model_start", "on_llm_end"]
    assert recorder.only("on_chat_model_start").args[1] == [[HumanMessage("hi")]]
    assert recorder.only("on_llm_end").details["run_id"] in recorder.runs()
    recorder.assert_every_run_ended_once()


async def test_a_recorder_of_everything_is_told_tokens() -> None:
    recorder = Recorder()
    await hook_model(["a", "b"], "astream", callbacks=[recorder]).ainvoke("hi")
    assert "".join(recorder.tokens) == "ab"


@pytest.mark.parametrize("kind", [Recorder, AsyncRecorder])
async def test_what_a_recorder_does_may_fail_the_run(kind: type[Recorder] | type[AsyncRecorder]) -> None:
    def refuse(event: object) -> None:
        raise RuntimeError("no")

    recorder = kind("on_llm_end", do=refuse, raise_error=True)
    with pytest.raises(RuntimeError, match="no"):
        await hook_model(callbacks=[recorder]).ainvoke("hi")
    assert recorder.names == ["on_llm_end"]


async def test_what_comes_before_the_record_delays_it() -> None:
    gate, log = anyio.Event(), list[str]()
    recorder = AsyncRecorder("on_llm_end", before=lambda event: gate.wait(), do=lambda event: log.append(event.name))
    inline = Recorder("on_llm_end", before=lambda event: log.append(f"before {inline.names}"))
    async with anyio.create_task_group() as group:
        group.start_soon(hook_model(callbacks=[inline, recorder]).ainvoke, "hi")
        await anyio.wait_all_tasks_blocked()
        assert (recorder.names, inline.names, log) == ([], ["on_llm_end"], ["before []"])
        gate.set()
    assert recorder.names == ["on_llm_end"] == log[1:]


def test_a_recorder_refuses_a_misspelt_event() -> None:
    with pytest.raises(ValueError, match="on_lmm_end"):
        Recorder("on_lmm_end")


def test_a_run_without_an_end_or_with_two_is_found() -> None:
    recorder = Recorder()
    recorder.on_chain_start({}, {}, run_id=1)  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        recorder.assert_every_run_ended_once()
    recorder.on_chain_end({}, run_id=1)  # type: ignore[arg-type]
    recorder.assert_every_run_ended_once()
    recorder.on_chain_error(KeyError(), run_id=1)  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        recorder.assert_every_run_ended_once()


@pytest.mark.parametrize("hook", ["agenerate", "generate", "astream", "stream"])
async def test_each_hook_alone_answers_and_notes_what_it_was_asked(hook: str) -> None:
    model, llm = hook_model("yes", hook), hook_llm("yes", hook)
    assert (await model.ainvoke("hi", stop=["x"], extra=1)).content == await llm.ainvoke("hi") == "yes"
    (call,) = model.requests
    assert (call.hook, call.text, call.stop, call.params["extra"]) == (hook, "hi", ["x"], 1)
    assert llm.requests[0].text == "hi"


async def test_what_a_hook_does_may_be_a_message_pieces_a_function_or_an_exception() -> None:
    async def pieces() -> AsyncIterator[str]:
        yield "a"
        yield "b"

    async def echo(call: HookCall) -> str:
        return call.text

    assert (await hook_model(AIMessage("m")).ainvoke("hi")).content == "m"
    assert (await hook_model(["a", "b"]).ainvoke("hi")).content == "ab"
    assert (await hook_model(lambda call: pieces(), "astream").ainvoke("hi")).content == "ab"
    assert (await hook_model(echo).ainvoke("hi")).content == "hi"
    for hook in ("agenerate", "stream"):
        with pytest.raises(KeyError, match="gone"):
            await hook_model(KeyError("gone"), hook).ainvoke("hi")


async def test_a_tool_model_can_be_given_tools() -> None:
    """Another model refuses them."""
    offered = {"name": "add", "description": "Add.", "input_schema": {"type": "object"}}
    model = tool_model("yes")
    await model.bind_tools([offered], tool_choice="any").ainvoke("hi")
    assert model.requests[0].params["tools"]
    with pytest.raises(NotImplementedError):
        hook_model("yes").bind_tools([offered])


async def test_a_test_adds_fields_to_a_hook_class() -> None:
    class Named(hook_class("generate")):  # type: ignore[misc]
        model: str = "named-1"

    model = Named(do="yes")
    assert model.model == "named-1"
    assert model.invoke("hi").content == "yes"


def test_the_limiter_and_the_cache_count() -> None:
    log: list[str] = []
    limiter, cache = CountingLimiter(log), DictCache()
    model = hook_model("yes", "generate", rate_limiter=limiter, cache=cache)
    assert [model.invoke("hi").content for _ in range(2)] == ["yes", "yes"]
    assert (limiter.count, log) == (1, ["limit True"])
    assert (cache.lookups, cache.updates, len(cache.entries)) == (2, 1, 1)


def _copy_all_before(count: int) -> None:
    """Do in C what is quadratic."""
    text = b""
    for _ in range(count):
        text = b"%s%s" % (text, b"x" * 64)


def test_what_is_linear_passes() -> None:
    assert_linear(lambda count: sum(range(count)), 400_000)


@pytest.mark.parametrize(
    ("do", "count"),
    [(lambda count: sum(range(count**2)), 800), (_copy_all_before, 6_000)],
    ids=["Python", "C"],
)
def test_what_is_quadratic_fails(do: Callable[[int], object], count: int) -> None:
    """The failure says what both took."""
    with pytest.raises(AssertionError, match=rf"^four times {count // 4} take .* and {count} "):
        assert_linear(do, count)


def test_a_machine_that_stands_still_now_and_then_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a machine that takes 5 ms away every 20 ms, work of 16 ms is often spared, and four times as much never."""
    now = 0.0

    def work(seconds: float) -> None:
        nonlocal now
        now += seconds + 0.005 * ((now + seconds) // 0.02 - now // 0.02)

    monkeypatch.setattr("tests.kit.growth.time.thread_time", lambda: now)
    assert_linear(lambda count: work(0.016 * count / 4), 4)
    with pytest.raises(AssertionError):
        assert_linear(lambda count: work(0.016 * (count / 4) ** 2), 4)
