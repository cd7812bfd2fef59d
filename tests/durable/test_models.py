"""Calls of models inside runs, outside of agents: one that was answered is not asked again, and not counted again."""

import logging
import sqlite3
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from hocket import ChatPromptTemplate, StrOutputParser, create_agent
from hocket._pipeline import cache
from hocket.budgets import Budget
from hocket.callbacks import UsageMetadataCallbackHandler
from hocket.durable import Run, open_runs, step, wait_for
from hocket.errors import HocketWarning, RunFailed
from hocket.ledger import JSONLLedger
from hocket.messages import AIMessage, HumanMessage
from hocket.tools import tool
from tests.agents.conftest import call
from tests.durable.conftest import RELEASE, until, until_true, work
from tests.kit.models import HookCall, hook_class, hook_llm, hook_model, tool_model
from tests.kit.recorders import Recorder
from tests.kit.services import CountingLimiter, DictCache

USAGE = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}


def answer(request: HookCall) -> AIMessage:
    """Answer with what was asked, in capitals."""
    return AIMessage(request.text.upper(), usage_metadata={**USAGE})


async def live_twice(url: str, report: Any, input: Any = "tea") -> Any:
    """Execute a run until it waits, in two processes after one another, and return its result."""
    for life in (1, 2):
        async with work(url, report) as durable:
            run = await durable.astart(input, id="a")
            await until(run, "waiting", attempts=life)
            if life == 2:
                await run.asignal(RELEASE)
                return await run.aresult()
    raise AssertionError


async def test_an_answer_is_recorded(either_url: str):
    """It is the same message again; nothing is asked."""
    model = hook_model(answer)
    seen: list[AIMessage] = []

    async def report(topic: str) -> str:
        seen.append(await model.ainvoke([HumanMessage(topic)], temperature=0.5))
        seen.append(await model.ainvoke([HumanMessage(topic)], temperature=0.6))
        await wait_for(RELEASE)
        return seen[-1].text

    assert await live_twice(either_url, report) == "TEA"
    assert len(model.requests) == 2
    for first, again in zip(seen[:2], seen[2:], strict=True):
        assert again.content == first.content
        assert first.usage_metadata == USAGE
        assert again.usage_metadata == {**USAGE, "total_cost": 0}


async def test_what_follows_from_an_answer_is_found_again(url: str):
    """An answer of the record has an id and facts of its own; what is asked with it is the same."""
    model, clerk_model = hook_model(answer), hook_model("clerk")
    clerk = create_agent(clerk_model, name="clerk")
    calls: list[Any] = []

    async def save(messages: Any) -> str:
        calls.append(messages)
        return "saved"

    async def report(topic: str) -> str:
        said = await model.ainvoke(topic)
        await model.ainvoke([HumanMessage(topic), said, HumanMessage("and?")])
        await clerk.ainvoke([HumanMessage(topic), said, HumanMessage("well?")])
        await step(save, {"messages": [said]})
        await wait_for(RELEASE)
        return str(said.text)

    assert await live_twice(url, report) == "TEA"
    assert (len(model.requests), len(clerk_model.requests), len(calls)) == (2, 1, 1)


async def test_each_way_to_ask(url: str):
    """A chain, a stream, a batch, a typed answer, a model with tools, and a text model."""

    class Answer(BaseModel):
        text: str

    @tool
    def look(what: str) -> str:
        """Look."""
        return what

    streaming = hook_model(["a", "b", "c"], "astream")
    typed = tool_model(AIMessage("", tool_calls=[call("Answer", "r", text="hi")]))
    calling = tool_model(AIMessage("", tool_calls=[call("look", "l", what="x")]))
    text, model = hook_llm("text"), hook_model(answer)
    chain = ChatPromptTemplate.from_messages([("human", "about {topic}")]) | model | StrOutputParser()
    seen: list[Any] = []

    async def report(topic: str) -> int:
        said: dict[str, Any] = {"chain": await chain.ainvoke({"topic": topic})}
        said["stream"] = [chunk.text async for chunk in streaming.astream(topic) if chunk.text]
        said["batch"] = [one.text for one in await model.abatch([topic, "coffee", topic])]
        said["completed"] = [at async for at, _ in model.abatch_as_completed(["x", "y"])]
        said["typed"] = await typed.with_structured_output(Answer).ainvoke(topic)
        said["calls"] = (await calling.bind_tools([look]).ainvoke(topic)).tool_calls
        said["text"] = await text.ainvoke(topic)
        said["texts"] = await text.abatch(["one", "two"])
        said["text stream"] = [chunk async for chunk in text.astream("three")]
        said["sync"] = await step(model.invoke, "in a thread", key="sync") and "yes"
        seen.append(said)
        await wait_for(RELEASE)
        return len(said)

    assert await live_twice(url, report) == 10
    first, again = seen
    assert first["stream"] == ["a", "b", "c"]
    assert "".join(again.pop("stream")) == "".join(first.pop("stream"))
    assert sorted(again.pop("completed")) == sorted(first.pop("completed")) == [0, 1]
    assert again == first
    assert (first["chain"], first["batch"]) == ("ABOUT TEA", ["TEA", "COFFEE", "TEA"])
    assert first["typed"] == Answer(text="hi")
    assert [len(one.requests) for one in (streaming, typed, calling)] == [1, 1, 1]
    assert len(model.requests) == 1 + 3 + 2 + 1
    assert sum(len(one.input) for one in text.requests) == 4


async def test_a_stream_that_is_left(url: str):
    """What was cut off before its end is not recorded, and is asked again."""

    async def speak(request: HookCall) -> Any:
        async def pieces() -> Any:
            yield "a"
            if len(model.requests) == 1:
                await anyio.sleep_forever()
            yield "b"

        return pieces()

    model = hook_model(speak, "astream")
    seen: list[str] = []

    async def report(topic: str) -> str:
        async for chunk in model.astream(topic):
            seen.append(chunk.text)
        return "".join(seen)

    async with work(url, report) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: seen)
    async with work(url, report) as durable:
        assert await durable.ainvoke("tea", id="a") == "aab"
    assert len(model.requests) == 2


async def test_it_is_counted_once(url: str, tmp_path: Path):
    """A replayed answer is a hit: no token of the limiter, no booking, no money, no look into the cache."""
    limiter, cache, budget = CountingLimiter(), DictCache(), Budget(tokens=1000)
    ledger, recorder, usage = JSONLLedger(tmp_path / "usage.jsonl"), Recorder(), UsageMetadataCallbackHandler()
    model = hook_model(
        answer,
        rate_limiter=limiter,
        cache=cache,
        budget=budget,
        ledger=ledger,
        callbacks=[recorder, usage],
        profile={"max_output_tokens": 20},
    )
    states: list[Any] = []

    async def report(topic: str) -> str:
        said = await model.ainvoke(topic)
        spent = (await budget.astate()).spent_tokens
        states.append([limiter.count, cache.lookups, cache.updates, spent, {**usage.usage_metadata}])
        await wait_for(RELEASE)
        return str(said.text)

    assert await live_twice(url, report) == "TEA"
    assert states[0] == states[1]
    assert states[0][0] == 1
    assert [one.details.get("replayed") for one in recorder.named("on_cache_hit")] == [True]
    await ledger.aflush()
    assert len([*ledger.entries()]) == 1


async def test_a_failed_call_is_asked_again(url: str):
    """Its error is raised as ever, and not recorded."""
    replies: list[Any] = [ConnectionError("gone"), AIMessage("here")]
    model = hook_model(lambda request: replies[len(model.requests) - 1])

    async def report(topic: str) -> str:
        return str((await model.ainvoke(topic)).text)

    async with work(url, report) as durable:
        with pytest.raises(RunFailed, match="gone") as caught:
            await durable.ainvoke("tea", id="a")
        assert caught.value.kind == "ConnectionError"
        run: Run[str] = open_runs(url).run("a")
        await run.aresume()
        assert await run.aresult() == "here"
    assert len(model.requests) == 2


async def test_equal_calls_side_by_side(url: str):
    """They ask the same, and stand for each other: the one that was cut off is asked again, the other one is not."""
    ready: list[str] = []

    async def reply(request: HookCall) -> AIMessage:
        if len(model.requests) == 1:
            await anyio.sleep_forever()
        return answer(request)

    model = hook_model(reply)

    async def report(topic: str) -> list[str]:
        said: list[str] = []

        async def ask() -> None:
            said.append((await model.ainvoke(topic)).text)
            ready.append("yes")

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
        return said

    async with work(url, report) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: ready)
    async with work(url, report) as durable:
        assert await durable.ainvoke("tea", id="a") == ["TEA", "TEA"]
    assert len(model.requests) == 3


async def test_a_model_in_a_step(url: str):
    """What the step returns is recorded, and not what it asked."""
    model = hook_model(answer)

    async def ask(topic: str) -> str:
        return str((await model.ainvoke(topic)).text + (await model.ainvoke(topic)).text)

    async def report(topic: str) -> str:
        said = await step(ask, topic)
        await wait_for(RELEASE)
        return said

    assert await live_twice(url, report) == "TEATEA"
    assert len(model.requests) == 2
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        names = [name for (name,) in connection.execute("SELECT function_name FROM operation_outputs")]
    connection.close()
    assert not [name for name in names if name.startswith("model:")]


async def test_what_is_long_is_kept(url: str):
    """An answer of many kilobytes is the same again."""
    long = "tea and biscuits, " * 20_000
    model = hook_model(long)

    async def report(topic: str) -> int:
        said = await model.ainvoke(topic)
        assert said.text == long
        await wait_for(RELEASE)
        return len(said.text)

    assert await live_twice(url, report) == len(long)
    assert len(model.requests) == 1


async def test_metadata_reaches_the_runs_of_models(url: str):
    """So that a trace says which run it belongs to."""
    recorder = Recorder()
    chain = ChatPromptTemplate.from_messages([("human", "{topic}")]) | hook_model(answer, callbacks=[recorder])

    async def report(topic: str) -> str:
        return str((await chain.ainvoke({"topic": topic})).text)

    runs = open_runs(url)
    asking, chaining = runs.durable(report), runs.durable(chain, name="chain")
    async with runs:
        await (await asking.astart("tea", id="a", metadata={"tenant": "leaf"})).aresult()
        await (await chaining.astart({"topic": "tea"}, id="b", metadata={"tenant": "bean"})).aresult()
    told = [one.details["metadata"] for one in recorder.named("on_chat_model_start")]
    assert [(one["tenant"], one["run"]) for one in told] == [("leaf", "a"), ("bean", "b")]


async def test_an_unreadable_record(url: str):
    """The run fails with `LoadError`; nothing is asked in its place."""
    model = hook_model(answer)

    async def report(topic: str) -> str:
        said = await model.ainvoke(topic)
        await wait_for(RELEASE)
        return str(said.text)

    async with work(url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        changed = "UPDATE operation_outputs SET output = '\"{broken\"' WHERE function_name LIKE 'model:%'"
        assert connection.execute(changed).rowcount == 1
    connection.close()
    async with work(url, report) as durable:
        with pytest.raises(RunFailed, match="cannot be read") as caught:
            await durable.ainvoke("tea", id="a")
        assert caught.value.kind == "LoadError"
    assert len(model.requests) == 1


async def test_code_that_no_longer_asks(url: str, caplog: pytest.LogCaptureFixture):
    """What was recorded and is not asked for is a warning: the code has changed under the same version."""
    model = hook_model(answer)
    topics = ["tea", "coffee"]

    async def report(topic: str) -> str:
        said = await model.ainvoke(topics[len(model.requests)] if len(model.requests) < 2 else topic)
        if len(model.requests) == 1:
            await wait_for(RELEASE)
        return str(said.text)

    async with work(url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    with caplog.at_level(logging.WARNING, "hocket.durable"):
        async with work(url, report) as durable:
            assert await durable.ainvoke("tea", id="a") == "COFFEE"
    assert any("did not ask for ['model:" in one.getMessage() for one in caplog.records)


async def test_a_model_that_no_other_process_knows(url: str, monkeypatch: pytest.MonkeyPatch):
    """A class of a function's own, with options that only this process has: a warning says that it is asked again."""
    monkeypatch.setattr(cache, "_warned", set[str]())  # it is said once in a process, and this test runs on each loop

    class Own(hook_class()):  # type: ignore[misc]
        secret: Any = None

    model = Own(do=answer, secret=object())

    async def report(topic: str) -> str:
        return str((await model.ainvoke(topic)).text)

    async with work(url, report) as durable:
        with pytest.warns(HocketWarning, match="another process cannot tell it"):
            assert await durable.ainvoke("tea", id="a") == "TEA"
