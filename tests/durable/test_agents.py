"""Agents in runs that survive: each goes on by its own messages, and nothing that was done is done again."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from pydantic import BaseModel

from hocket import create_agent, open_history
from hocket.agents import Agent, AgentLimits, AgentResult, Resume
from hocket.durable import open_runs, step, wait_for
from hocket.errors import InvalidInput, RunCanceled, RunFailed
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hocket.tools import BaseTool, InjectedToolArg, tool
from hocket.tools.runtime import Runtime
from tests.agents.conftest import call
from tests.durable.conftest import RELEASE, until, until_true, work
from tests.kit.models import HookCall, tool_model

Play = Sequence[str | list[Any] | Exception]
USAGE = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}


class Desk:
    """Tools that leave traces, and models that know how far a conversation is.

    Attributes:
        done: which tools were called, in order.
        asked: how many answers were there when a model was asked.
        is_held: whether the tool "slow" and the question "hang" hang.
    """

    def __init__(self) -> None:
        self.done: list[str] = []
        self.asked: list[int] = []
        self.is_held = True

    def model(self, *play: str | list[Any] | Exception) -> Any:
        """Return a model that plays a part."""

        async def answer(request: HookCall) -> Any:
            messages = request.input
            at = sum(isinstance(one, AIMessage) for one in messages)
            self.asked.append(at)
            line = play[at]
            if line == "hang":
                if self.is_held:
                    await anyio.sleep_forever()
                line = "went on"
            if isinstance(line, Exception):
                return line
            if isinstance(line, str):
                return AIMessage(line, usage_metadata={**USAGE})
            return AIMessage("", tool_calls=line, usage_metadata={**USAGE})

        return tool_model(answer)

    def tools(self, *, is_idempotent: bool = False) -> list[BaseTool]:
        """Return its tools."""

        @tool
        async def quick(what: str) -> str:
            """Do something quickly."""
            self.done.append(f"quick {what}")
            return f"{what} done"

        async def slow(what: str) -> str:
            """Do something slowly."""
            self.done.append(f"slow {what}")
            if self.is_held:
                await anyio.sleep_forever()
            return f"{what} done"

        made = tool(slow)
        made.metadata = {"idempotent": is_idempotent}
        return [quick, made]

    def agent(self, *play: str | list[Any] | Exception, is_idempotent: bool = False, **options: Any) -> Agent[Any]:
        """Return an agent with these tools."""
        return create_agent(self.model(*play), self.tools(is_idempotent=is_idempotent), name="clerk", **options)


@pytest.fixture
def desk() -> Desk:
    """Return a desk that nobody has worked at."""
    return Desk()


def results_of(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """Return the results of the calls, by their ids."""
    return {one.tool_call_id: one.text for one in messages if isinstance(one, ToolMessage)}


CALLS = [call("quick", "q", what="a"), call("slow", "s", what="b")]


@pytest.mark.parametrize("is_idempotent", [False, True])
async def test_a_tool_was_running(url: str, desk: Desk, is_idempotent: bool):
    """Its outcome is unknown, which the model is told; one that is idempotent is run again. What has ended stays."""
    agent = desk.agent(CALLS, "hello", is_idempotent=is_idempotent)
    async with work(url, agent) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: len(desk.done) == 2)
        while "q" not in results_of(await open_runs(url).run("a").amessages()):  # noqa: ASYNC110  # in a database
            await anyio.sleep(0.01)
    desk.is_held = False
    async with work(url, agent) as durable:
        result = await durable.ainvoke("tea", id="a")
        assert (result.output, result.stop) == ("hello", "done")
        said = results_of(result.messages)
        assert said["q"] == "a done"
        assert ("b done" in said["s"], "unknown" in said["s"]) == (is_idempotent, not is_idempotent)
        assert result.model_calls == 2
        assert result.usage["total_tokens"] == 22
    assert desk.done == ["quick a", "slow b"] + ["slow b"] * is_idempotent
    assert desk.asked == [0, 1]


async def test_a_model_was_answering(either_url: str, desk: Desk):
    """It is asked again, and nothing else; a run that has ended is not executed for its result."""
    agent = desk.agent([CALLS[0]], "hang")
    async with work(either_url, agent) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: desk.asked == [0, 1])
    desk.is_held = False
    for _ in range(2):
        async with work(either_url, agent) as durable:
            result = await durable.ainvoke("tea", id="a")
            assert isinstance(result, AgentResult)
            assert result.output == "went on"
            assert [type(one) for one in result.messages] == [HumanMessage, AIMessage, ToolMessage, AIMessage]
            assert result.messages == await durable.runs.run("a").amessages()
    assert (desk.done, desk.asked) == (["quick a"], [0, 1, 1])
    other = await open_runs(either_url).run("a").aresult()
    assert (other.output, other.messages, other.usage) == (result.output, result.messages, result.usage)


async def test_a_decision_from_elsewhere(either_url: str, desk: Desk):
    """The run waits; whoever knows its id sees the call, and decides once; the second person is told."""
    agent = desk.agent([call("quick", "q", what="a")], "hello", interrupt_on=["quick"])
    async with work(either_url, agent) as durable:
        run = await durable.astart("tea", id="a")
        info = await until(run, "waiting")
        assert info.waiting_for == ["q"]
    other = open_runs(either_url).run("a")
    assert [(one["name"], one["args"]) for one in await other.apending()] == [("quick", {"what": "a"})]
    with pytest.raises(InvalidInput, match="nobody"):
        await other.adecide({"nobody": "approve"})
    with pytest.raises(InvalidInput, match="perhaps"):
        await other.adecide({"q": "perhaps"})
    await other.adecide({})
    await other.adecide({"q": "approve"})
    for decision in ("approve", "reject"):
        with pytest.raises(InvalidInput):
            await other.adecide({"q": decision})
    assert await other.apending() == []
    assert desk.done == []
    async with work(either_url, agent) as durable:
        assert (await durable.ainvoke("tea", id="a")).output == "hello"
        with pytest.raises(InvalidInput, match="ended"):
            await other.adecide({"q": "approve"})
    assert (desk.done, desk.asked) == (["quick a"], [0, 1])


async def test_each_word_of_a_decision(url: str, desk: Desk):
    """Calls that wait are decided together or one by one, in any of the four ways."""
    calls = [call("quick", f"q{at}", what=str(at)) for at in range(4)]
    agent = desk.agent(calls, "hello", interrupt_on=["quick"])
    async with work(url, agent) as durable:
        run = await durable.astart("tea", id="a")
        await until(run, "waiting")
        assert len(await run.apending()) == 4
        await run.adecide({"q0": {"type": "edit", "args": {"what": "x"}}, "q1": {"type": "reject", "message": "no"}})
        while {one["id"] for one in await run.apending()} != {"q2", "q3"} or desk.done != ["quick x"]:  # noqa: ASYNC110  # as above
            await anyio.sleep(0.01)
        await run.adecide({"q2": {"type": "respond", "message": "from me"}, "q3": "approve"})
        said = results_of((await run.aresult()).messages)
    assert (said["q2"], said["q3"]) == ("from me", "3 done")
    assert said["q0"].startswith("x done")
    assert "no" in said["q1"]
    assert desk.done == ["quick x", "quick 3"]


@pytest.mark.parametrize("is_idempotent", [False, True])
async def test_an_approved_call_was_running(url: str, desk: Desk, is_idempotent: bool):
    """It does not wait again, and is not run again: the model is told. One that is idempotent is run."""
    agent = desk.agent([CALLS[1]], "hello", interrupt_on=["slow"], is_idempotent=is_idempotent)
    async with work(url, agent) as durable:
        run = await durable.astart("tea", id="a")
        await until(run, "waiting")
        await run.adecide({"s": "approve"})
        await until_true(lambda: desk.done)
    desk.is_held = False
    async with work(url, agent) as durable:
        said = results_of((await durable.ainvoke("tea", id="a")).messages)["s"]
    assert ("b done" in said, "unknown" in said) == (is_idempotent, not is_idempotent)
    assert len(desk.done) == 1 + is_idempotent


async def test_agents_inside_a_function(url: str, desk: Desk):
    """Each goes on by its own messages; one that has ended is not asked again; equal ones stand for each other."""
    agent = desk.agent([CALLS[0]], "hang")
    done: list[Any] = []

    async def report(topic: str) -> list[str]:
        first = await agent.ainvoke("begin")
        said: list[str] = [first.output]

        async def ask() -> None:
            said.append((await agent.ainvoke("equal")).output)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
        done.append((await agent.ainvoke("begin")).output)
        await wait_for(RELEASE)
        return [*said, *done]

    async with work(url, report) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: desk.asked == [0, 1])
    desk.is_held = False
    for life in (2, 3):
        async with work(url, report) as durable:
            run = await durable.astart("tea", id="a")
            await until(run, "waiting", attempts=life)
    assert desk.done == ["quick a"] * 4
    assert sorted(desk.asked) == [0] * 4 + [1] * 5
    async with work(url, report) as durable:
        await run.asignal(RELEASE)
        assert await durable.ainvoke("tea", id="a") == ["went on"] * 6


async def test_a_durable_agent_inside_a_run(url: str, desk: Desk):
    """It is a part of that run: its decisions are that run's, and it ends with it."""
    runs = open_runs(url)
    clerk = runs.durable(desk.agent([CALLS[1]], "hello", interrupt_on=["slow"]))

    @runs.durable
    async def report(topic: str) -> str:
        return str((await clerk.ainvoke(topic)).output)

    async with runs:
        run = await report.astart("tea", id="a")
        assert (await until(run, "waiting")).waiting_for == ["s"]
        assert [info.id for info in await runs.alist()] == ["a"]
        await run.adecide({"s": {"type": "respond", "message": "so"}})
        assert await run.aresult() == "hello"
        assert await run.amessages() == []
        with pytest.raises(InvalidInput, match="no run of an agent"):
            [event async for event in run.astream()]


@pytest.mark.parametrize("cut_in", ["inside", "after"])
async def test_an_agent_as_a_tool(url: str, desk: Desk, cut_in: str):
    """The agent among the tools goes on by its own messages, though it is not called idempotent."""
    inner_play: Play = [[CALLS[0]], "hang" if cut_in == "inside" else "helped"]
    outer_play: Play = [[call("helper", "h", question="help")], "hang" if cut_in == "after" else "hello"]
    helper = desk.agent(*inner_play).as_tool("helper", "Helps.")
    agent = create_agent(desk.model(*outer_play), [helper], name="outer")
    expected = [0, 0, 1] if cut_in == "inside" else [0, 0, 1, 1]
    async with work(url, agent) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: desk.asked == expected)
    desk.is_held = False
    async with work(url, agent) as durable:
        result = await durable.ainvoke("tea", id="a")
        assert result.output == ("hello" if cut_in == "inside" else "went on")
        assert results_of(result.messages)["h"] == ("went on" if cut_in == "inside" else "helped")
        assert result.usage["total_tokens"] == 44
    assert (desk.done, desk.asked) == (["quick a"], [*expected, 1] + [1] * (cut_in == "inside"))


class Answer(BaseModel):
    """A typed answer."""

    text: str
    count: int


async def test_a_typed_answer(url: str, desk: Desk):
    """It comes back as an object where the agent is known, as its JSON elsewhere; also inside a function."""
    answer = [call("Answer", "r", text="hi", count=2)]
    agent = desk.agent([CALLS[0]], answer, response_format=Answer)

    async def report(topic: str) -> int:
        said = await agent.ainvoke(topic)
        assert said.output == Answer(text="hi", count=2)
        await wait_for(RELEASE)
        return int(said.output.count)

    async with work(url, agent, name="clerk") as durable:
        assert (await durable.ainvoke("tea", id="a")).output == Answer(text="hi", count=2)
    async with work(url, agent, name="clerk") as durable:
        assert (await durable.ainvoke("tea", id="a")).output == Answer(text="hi", count=2)
    assert (await open_runs(url).run("a").aresult()).output == {"text": "hi", "count": 2}
    for life in (1, 2):
        async with work(url, report) as durable:
            run = await durable.astart("tea", id="b")
            await until(run, "waiting", attempts=life)
    assert desk.asked == [0, 1] * 2


async def test_limits_count_across_processes(url: str, desk: Desk):
    """The calls of earlier executions count, as with `Resume`."""
    lines: Play = [[call("quick", f"q{at}", what=str(at))] for at in range(5)]
    agent = desk.agent(
        lines[0], [CALLS[1]], *lines[2:], limits=AgentLimits(model_calls=3), at_limit="stop", is_idempotent=True
    )
    async with work(url, agent) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: len(desk.done) == 2)
    desk.is_held = False
    async with work(url, agent) as durable:
        result = await durable.ainvoke("tea", id="a")
    assert (result.stop, result.model_calls, result.tool_calls) == ("model_calls", 3, 3)
    assert desk.asked == [0, 1, 2]


@dataclass
class Shop:
    """What tools need, and no history has."""

    name: str


async def test_context_and_injected_arguments(url: str):
    """Both are made anew for each execution, by what is known of the run; where they are needed they are asked for."""
    seen: list[Any] = []

    @tool
    async def look(what: str, runtime: Runtime[Shop], key: Annotated[str, InjectedToolArg]) -> str:
        """Look."""
        seen.append((runtime.context.name, key))
        return what

    desk = Desk()
    agent = create_agent(desk.model([call("look", "a", what="x")], "hang"), [look], context_schema=Shop, name="clerk")
    with pytest.raises(InvalidInput, match="context=function"):
        open_runs(url).durable(agent)
    with pytest.raises(InvalidInput, match="key"):
        open_runs(url).durable(agent, context=lambda info: Shop("x"))
    made: list[str] = []

    def make_context(info: Any) -> Shop:
        made.append(info.id)
        return Shop(f"{info.metadata['shop']} {info.name}")

    options: dict[str, Any] = {"context": make_context, "injected": lambda info: {"key": info.id}}
    async with work(url, agent, **options) as durable:
        await durable.astart("tea", id="a", metadata={"shop": "leaf"})
        await until_true(lambda: desk.asked == [0, 1])
    desk.is_held = False
    async with work(url, agent, **options) as durable:
        assert (await durable.ainvoke("tea", id="a")).output == "went on"
    assert (seen, made) == ([("leaf clerk", "a")], ["a", "a"])


async def collect(events: Any, into: list[Any]) -> None:
    """Collect events as they come."""
    async for event in events:
        into.append(event)


async def test_the_events_of_a_run(url: str, desk: Desk):
    """From the first message on, then as they come, to whoever follows; of one that has ended, too."""
    agent = desk.agent([CALLS[0]], [call("slow", "s", what="b")], "hello", interrupt_on=["slow"])
    live: list[Any] = []
    desk.is_held = False
    async with work(url, agent) as durable:
        run = await durable.astart("tea", id="a")
        async with anyio.create_task_group() as group:
            group.start_soon(collect, open_runs(url).run("a").astream(), live)
            await until_true(lambda: live and live[-1].kind == "paused")
            await run.adecide({"s": "approve"})
    kinds = [event.kind for event in live]
    assert kinds == ["message", "tool_end", "message", "paused", "tool_end", "message", "end"]
    assert live[-1].result.output == "hello"
    assert [event.step for event in live] == [1, 1, 2, 2, 2, 3, 3]
    late: list[Any] = []
    await collect(open_runs(url).run("a").astream(), late)
    assert [event.kind for event in late] == [kind for kind in kinds if kind != "paused"]


async def test_an_agent_in_a_step(url: str, desk: Desk):
    """It is a part of the step: nothing of it is kept but what the step returns."""
    agent = desk.agent("hello", "never")

    async def ask(topic: str) -> str:
        return str((await agent.ainvoke(topic)).output)

    async def report(topic: str) -> list[str]:
        said = await step(ask, topic)
        await wait_for(RELEASE)
        return [said, await step(ask, "again")]

    async with work(url, report) as durable:
        await until(await durable.astart("tea", id="a"), "waiting")
    async with work(url, report) as durable:
        run = await durable.astart("tea", id="a")
        await run.asignal(RELEASE)
        assert await run.aresult() == ["hello", "hello"]
    assert desk.asked == [0, 0]


async def test_a_call_that_was_running_needs_approval_by_now(url: str, desk: Desk):
    """The rule came too late for it: the run goes on, and tells the model that its outcome is unknown."""
    async with work(url, desk.agent([CALLS[1]], "hello")) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: desk.done == ["slow b"])
    async with work(url, desk.agent([CALLS[1]], "hello", interrupt_on=["slow"])) as durable:
        with anyio.fail_after(30):
            result = await durable.ainvoke("tea", id="a")
        assert (result.output, "unknown" in results_of(result.messages)["s"]) == ("hello", True)
    assert desk.done == ["slow b"]


async def test_an_agent_under_new_code(url: str, desk: Desk):
    """It goes on under whatever code the worker has; a tool that is no more is told of."""
    async with work(url, desk.agent([CALLS[0]], "hang", system_prompt="Be brief.")) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: desk.asked == [0, 1])
    other = Desk()
    model = other.model("never", [call("quick", "z", what="c")], "changed")
    async with work(url, create_agent(model, [], name="clerk", system_prompt="Be long.")) as durable:
        result = await durable.ainvoke("tea", id="a")
        assert result.output == "changed"
        assert "quick" in results_of(result.messages)["z"]
    assert other.asked == [1, 2]


async def test_a_model_that_fails(url: str, desk: Desk):
    """The run has failed; when it is resumed it goes on by its messages."""
    errors: list[Any] = [ValueError("no tea today")]

    async with work(url, desk.agent([CALLS[0]], errors[0])) as durable:
        with pytest.raises(RunFailed, match="no tea today") as caught:
            await durable.ainvoke("tea", id="a")
        assert caught.value.kind == "ValueError"
    async with work(url, desk.agent([CALLS[0]], "hello")) as durable:
        run = durable.runs.run("a")
        assert (await run.ainfo()).error == "ValueError: no tea today"
        await run.aresume()
        assert (await run.aresult()).output == "hello"
        with pytest.raises(InvalidInput, match="done"):
            await run.aresume()
    assert (desk.done, desk.asked) == (["quick a"], [0, 1, 1])


async def test_an_agent_is_called_off(url: str, desk: Desk):
    """From anywhere, within a second: its open calls are answered as cancelled, also in the agents among its tools."""
    helper = desk.agent([CALLS[1]], "never").as_tool("helper", "Helps.")
    agent = create_agent(desk.model([call("helper", "h", question="help")], "never"), [helper], name="outer")
    async with work(url, agent) as durable:
        run = await durable.astart("tea", id="a")
        await until_true(lambda: desk.done)
        await open_runs(url).run("a").acancel()
        with pytest.raises(RunCanceled, match="'a'"):
            await run.aresult()
        while not (said := results_of(await run.amessages())):  # noqa: ASYNC110  # as above
            await anyio.sleep(0.01)
        assert "cancel" in said["h"]
        with pytest.raises(RunCanceled):
            await collect(run.astream(), [])
        await run.acancel()
    assert desk.asked == [0, 0]


async def test_a_model_with_its_own_history_inside_a_run(url: str, desk: Desk):
    """A history that code gives to an agent is its own matter: the run keeps none."""
    from hocket.chat_history import InMemoryChatMessageHistory

    kept = InMemoryChatMessageHistory()
    agent = desk.agent("hello", "again")

    async def report(topic: str) -> str:
        return str((await agent.ainvoke(topic, history=kept)).output)

    async with work(url, report) as durable:
        assert await durable.ainvoke("tea", id="a") == "hello"
    assert len(await kept.aget_messages()) == 2


# -- a history of the caller's


class Chat:
    """A durable function whose agent has a conversation of its own, that outlives the run."""

    def __init__(self, agent: Agent[Any], url: str, *, is_streamed: bool = False) -> None:
        self.history = open_history(url, session_id="ada")
        self._agent = agent
        self._is_streamed = is_streamed

    async def turn(self, question: str) -> Any:
        """Answer one question."""
        if not self._is_streamed:
            return await self._agent.ainvoke(question, history=self.history)
        async with self._agent.astream(question, history=self.history) as events:
            async for _ in events:
                pass
        return events.result

    async def decide(self, question: str) -> Any:
        """Answer one question, and approve each call."""
        paused = await self._agent.ainvoke(question, history=self.history)
        decisions = {call["id"] or "": "approve" for call in paused.pending}
        return await self._agent.ainvoke(Resume(decisions), history=self.history)


def kinds_of(messages: Sequence[BaseMessage]) -> str:
    """Return who said what, a letter for each message."""
    return "".join({"human": "h", "ai": "a", "tool": "t"}[one.type] for one in messages)


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_given_history_goes_on(
    url: str, desk: Desk, caplog: pytest.LogCaptureFixture, is_streamed: bool, tmp_path: Path
):
    """The question stands there once, a finished answer is not asked for again, and nobody is told that code has changed."""
    agent = desk.agent("so it was", CALLS, "hello")
    chat = Chat(agent, f"sqlite:///{tmp_path}/talks.db", is_streamed=is_streamed)
    await chat.history.aadd_messages([HumanMessage("before"), AIMessage("so it was")])
    async with work(url, chat.turn) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: len(desk.done) == 2)
        while "q" not in results_of(await chat.history.aget_messages()):  # noqa: ASYNC110  # in a database
            await anyio.sleep(0.01)
    desk.is_held = False
    for _ in range(2):
        async with work(url, chat.turn) as durable:
            result = await durable.ainvoke("tea", id="a")
    said = await chat.history.aget_messages()
    assert kinds_of(said) == "haha" + "tta"
    assert (result.output, result.stop, result.model_calls) == ("hello", "done", 2)
    assert "unknown" in results_of(said)["s"]
    assert (desk.done, desk.asked) == (["quick a", "slow b"], [1, 2])
    assert "code changed" not in caplog.text


async def test_a_decision_that_was_taken_up_is_not_run_again(url: str, desk: Desk, tmp_path: Path):
    """An approved call that was running when its process died is not made again."""
    agent = desk.agent([call("slow", "s", what="b")], "hello", interrupt_on=["slow"])
    chat = Chat(agent, f"sqlite:///{tmp_path}/talks.db")
    async with work(url, chat.decide) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: desk.done == ["slow b"])
    desk.is_held = False
    async with work(url, chat.decide) as durable:
        result = await durable.ainvoke("tea", id="a")
    assert (result.output, desk.done, desk.asked) == ("hello", ["slow b"], [0, 1])
    said = await chat.history.aget_messages()
    assert kinds_of(said) == "hata"
    assert "was approved, and its process ended" in results_of(said)["s"]


async def test_two_conversations_are_asked_the_same_at_once(url: str, desk: Desk, tmp_path: Path):
    """Each goes on with its own question, whichever comes first."""
    histories = {name: open_history(f"sqlite:///{tmp_path}/talks.db", session_id=name) for name in ("ada", "bob")}
    agent, order = desk.agent([call("slow", "s", what="b")], "hello"), ["ada", "bob"]

    async def ask_both(question: str) -> int:
        async with anyio.create_task_group() as tasks:
            for name in order:
                tasks.start_soon(lambda name=name: agent.ainvoke(question, history=histories[name]))
        return 2

    async with work(url, ask_both) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: len(desk.done) == 2)
    desk.is_held = False
    order.reverse()
    async with work(url, ask_both) as durable:
        await durable.ainvoke("tea", id="a")
    assert [kinds_of(await one.aget_messages()) for one in histories.values()] == ["hata", "hata"]
    assert desk.asked == [0, 0, 1, 1]


async def test_another_question_came_meanwhile(url: str, desk: Desk, tmp_path: Path):
    """A question that another one has closed is not put again: the run fails, in words."""
    chat = Chat(desk.agent([call("slow", "s", what="b")], "hello", "never"), f"sqlite:///{tmp_path}/talks.db")
    async with work(url, chat.turn) as durable:
        await durable.astart("tea", id="a")
        await until_true(lambda: len(desk.done) == 1)
    await chat.turn("coffee")
    async with work(url, chat.turn) as durable:
        with pytest.raises(RunFailed, match="something else was asked there"):
            await durable.ainvoke("tea", id="a")
    assert kinds_of(await chat.history.aget_messages()) == "hatha"
