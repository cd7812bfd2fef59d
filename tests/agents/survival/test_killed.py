"""A process that runs an agent is killed, and another one goes on with its conversation."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hocket import ScriptedChatModel
from hocket.agents import Agent, AgentLimits, Resume, create_agent, read_pending_calls
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, validate_history
from tests.agents.conftest import call
from tests.agents.survival.conftest import Store
from tests.agents.survival.worker import calls, make_agent, make_tools
from tests.kit.warm import Program

ROOT = Path(__file__).parents[3]

OPEN = """\
import sys
from pathlib import Path
import anyio
from hocket import chat_history
from hocket.agents import Resume, create_agent
from hocket.errors import InvalidInput
from tests.agents.survival.worker import *

shorten_leases()
log = Path(sys.argv[1])
"""


class Family:
    """Processes, of which none outlives the test.

    Attributes:
        log: in it tools write that they were run.
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, *lines: str) -> "subprocess.Popen[str]":
        """Start a process that runs the lines."""
        process = Program(
            "-W",
            "error",
            "-c",
            "\n".join((OPEN, *lines)),
            str(self.log),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self.processes.append(process)
        return process

    async def kill_when(self, process: "subprocess.Popen[str]", word: str, store: Store, *stored: str) -> None:
        """Kill a process that has said the word, once the results of these calls are in the store."""
        assert await hear(process) == word
        with anyio.fail_after(60):
            async with store.open() as history:
                while not read_results(await history.aget_messages()).keys() >= set(stored):  # noqa: ASYNC110 - another process
                    await anyio.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        await anyio.to_thread.run_sync(process.communicate)

    def read_log(self) -> list[str]:
        """Return the names of the tools that were run, in order."""
        return self.log.read_text().split() if self.log.exists() else []

    def end(self) -> None:
        """Kill those that are left."""
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    """Processes, and a file for what their tools do."""
    made = Family(tmp_path / "log")
    yield made
    made.end()


async def hear(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return (await anyio.to_thread.run_sync(process.stdout.readline)).strip()


def read_results(messages: list[BaseMessage]) -> dict[str, str]:
    return {message.tool_call_id: message.text for message in messages if isinstance(message, ToolMessage)}


async def run(agent: Agent[Any], input: Any, history: BaseChatMessageHistory) -> tuple[Any, list[BaseMessage]]:
    """Return an agent's output, and what is stored then, which is good for the next question."""
    result = await agent.ainvoke(input, history=history)
    messages = await history.aget_messages()
    assert validate_history(messages) == []
    return result.output, messages


@pytest.mark.one_of(2)
async def test_killed_in_mid_tool(shared_store: Store, family: Family):
    """A call whose end nobody saw is not made again, unless that does no harm; its sibling keeps its result."""
    process = family.start(
        "agent = make_agent(log, calls('quick', 'slow'), tools={'hangs': True})",
        f"anyio.run(lambda: agent.ainvoke('go', history={shared_store.code}))",
    )
    await family.kill_when(process, "runs", shared_store, "quick")
    left = await shared_store.open().aget_messages()
    assert [message.type for message in left] == ["human", "ai", "tool"]
    family.log.unlink()

    def copy() -> BaseChatMessageHistory:
        return InMemoryChatMessageHistory(left)

    for tools, resume in [({"idempotent": True}, Resume()), ({}, Resume(rerun="always"))]:
        output, messages = await run(make_agent(family.log, "Done.", tools=tools), resume, copy())
        assert output == "Done." and read_results(messages) == {"quick": "quick is done", "slow": "slow is done"}
        assert family.read_log() == ["slow"]
        family.log.unlink()
    for tools, resume in [({"idempotent": True}, Resume(rerun="never")), ({}, "Something else")]:
        _, messages = await run(make_agent(family.log, "Done.", tools=tools), resume, copy())
        assert "outcome is unknown" in read_results(messages)["slow"]

    model = ScriptedChatModel(script=["Done.", "Hello."])
    agent = create_agent(model, make_tools(family.log))
    output, messages = await run(agent, Resume(), shared_store.open())
    assert output == "Done."
    told = read_results(model.requests[0].messages)
    assert told["quick"] == "quick is done" and "outcome is unknown" in told["slow"]
    assert read_results(messages) == told
    assert family.read_log() == []
    assert (await run(agent, "hi", shared_store.open()))[0] == "Hello."


@pytest.mark.parametrize("shared_store", ["sqlite"], indirect=True)
async def test_killed_between_the_announcement_and_the_tool(shared_store: Store, family: Family):
    """Nobody can tell whether the tools have run: they are not run again."""
    process = family.start(
        "agent = make_agent(log, calls('quick'), middleware=[HangBeforeTools()])",
        f"anyio.run(lambda: agent.ainvoke('go', history={shared_store.code}), backend='trio')",
    )
    await family.kill_when(process, "waits", shared_store)
    output, messages = await run(make_agent(family.log, "Done."), Resume(), shared_store.open())
    assert output == "Done." and "outcome is unknown" in read_results(messages)["quick"]
    assert family.read_log() == []


@pytest.mark.parametrize("shared_store", ["sqlite"], indirect=True)
async def test_killed_during_a_call_of_the_model(shared_store: Store, family: Family):
    """Nothing of a question that was not answered is left."""
    async with shared_store.open() as history:
        await make_agent(family.log, "Hello.").ainvoke("hi", history=history)
        before = await history.aget_messages()
    process = family.start(
        "agent = create_agent(make_hanging_model(), make_tools(log))",
        f"anyio.run(lambda: agent.ainvoke('go', history={shared_store.code}))",
    )
    await family.kill_when(process, "asked", shared_store)
    assert await shared_store.open().aget_messages() == before
    with pytest.raises(InvalidInput, match="nothing to resume"):
        await make_agent(family.log, "Done.").ainvoke(Resume(), history=shared_store.open())
    assert (await run(make_agent(family.log, "Done."), "go", shared_store.open()))[0] == "Done."


@pytest.mark.parametrize("shared_store", ["sqlite"], indirect=True)
async def test_killed_during_a_later_call_of_the_model(shared_store: Store, family: Family):
    """What was paid for and done is kept, and not done again."""
    process = family.start(
        "agent = create_agent(make_hanging_model(calls('quick', 'slow')), make_tools(log))",
        f"anyio.run(lambda: agent.ainvoke('go', history={shared_store.code}))",
    )
    await family.kill_when(process, "asked", shared_store, "quick", "slow")
    assert sorted(family.read_log()) == ["quick", "slow"]
    output, messages = await run(make_agent(family.log, "Done."), Resume(), shared_store.open())
    assert (output, [message.type for message in messages]) == ("Done.", ["human", "ai", "tool", "tool", "ai"])
    assert sorted(family.read_log()) == ["quick", "slow"]


@pytest.mark.one_of(2)
async def test_two_processes_that_approve_at_once_run_it_once(shared_store: Store, family: Family):
    """The second finds nothing to decide."""
    async with shared_store.open() as history:
        agent = make_agent(family.log, calls("slow"), interrupt_on=["slow"])
        assert (await agent.ainvoke("go", history=history)).stop == "paused"
    processes = [
        family.start(
            "agent = make_agent(log, 'Done.', interrupt_on=['slow'])",
            "async def main():",
            f"    history = {shared_store.code}",
            "    print('ready', flush=True)",
            "    sys.stdin.readline()",
            "    try:",
            "        print((await agent.ainvoke(Resume({'slow': 'approve'}), history=history)).output, flush=True)",
            "    except InvalidInput:",
            "        print('refused', flush=True)",
            f"anyio.run(main, backend={backend!r})",
        )
        for backend in ("asyncio", "trio")
    ]
    for process in processes:
        assert await hear(process) == "ready"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sorted([await hear(process) for process in processes]) == ["Done.", "refused"]
    assert family.read_log() == ["slow"]
    messages = await shared_store.open().aget_messages()
    assert validate_history(messages) == [] and read_results(messages) == {"slow": "slow is done"}


@pytest.mark.parametrize("shared_store", ["sqlite"], indirect=True)
async def test_killed_after_an_approval_the_call_waits_again(shared_store: Store, family: Family):
    """A history has messages only, and an approval is none: see docs/decisions/013-what-survives.md."""
    async with shared_store.open() as history:
        agent = make_agent(family.log, calls("slow"), interrupt_on=["slow"])
        await agent.ainvoke("go", history=history)
    process = family.start(
        "agent = make_agent(log, interrupt_on=['slow'], tools={'hangs': True})",
        f"anyio.run(lambda: agent.ainvoke(Resume({{'slow': 'approve'}}), history={shared_store.code}))",
    )
    await family.kill_when(process, "runs", shared_store)
    result = await make_agent(family.log, interrupt_on=["slow"]).ainvoke(Resume(), history=shared_store.open())
    assert (result.stop, [call["id"] for call in result.pending]) == ("paused", ["slow"])
    assert family.read_log() == ["slow"], "nothing runs without a decision"
    later = ScriptedChatModel(script=["Perhaps."])
    agent = create_agent(later, make_tools(family.log), interrupt_on=["slow"])
    _, messages = await run(agent, "Is it done?", shared_store.open())
    told = read_results(messages)["slow"]
    assert "outcome is unknown" in told and "not run" not in told


@pytest.mark.parametrize("shared_store", ["sqlite"], indirect=True)
async def test_killed_after_an_approval_and_rejected(shared_store: Store, family: Family):
    """Nobody knows whether it ran, so the model is not told that it did not."""
    async with shared_store.open() as history:
        await make_agent(family.log, calls("slow"), interrupt_on=["slow"]).ainvoke("go", history=history)
    process = family.start(
        "agent = make_agent(log, interrupt_on=['slow'], tools={'hangs': True})",
        f"anyio.run(lambda: agent.ainvoke(Resume({{'slow': 'approve'}}), history={shared_store.code}))",
    )
    await family.kill_when(process, "runs", shared_store)
    agent = make_agent(family.log, "Done.", interrupt_on=["slow"])
    _, messages = await run(agent, Resume({"slow": "reject"}), shared_store.open())
    told = read_results(messages)["slow"]
    assert "rejected" in told and "outcome is unknown" in told and "not run" not in told


@pytest.mark.parametrize("shared_store", ["sqlite"], indirect=True)
async def test_killed_in_a_call_that_needs_approval_by_now(shared_store: Store, family: Family):
    """A rule that came after it has begun makes it wait for nobody: it may have run, and nothing says that it has not."""
    process = family.start(
        "agent = make_agent(log, calls('slow'), tools={'hangs': True})",
        f"anyio.run(lambda: agent.ainvoke('go', history={shared_store.code}))",
    )
    await family.kill_when(process, "runs", shared_store)
    left = await shared_store.open().aget_messages()
    assert read_pending_calls(left) == []
    for tools, rerun in [({}, "idempotent"), ({"idempotent": True}, "idempotent"), ({}, "always")]:
        agent = make_agent(family.log, "Done.", "Perhaps.", interrupt_on=["slow"], tools=tools)
        for decision in ("approve", "reject"):
            with pytest.raises(InvalidInput, match="'slow' was begun without one, and may have run"):
                await agent.ainvoke(Resume({"slow": decision}), history=shared_store.open())
        _, messages = await run(agent, Resume(rerun=rerun), InMemoryChatMessageHistory(left))
        assert "outcome is unknown" in read_results(messages)["slow"]
    _, messages = await run(agent, "Is it done?", shared_store.open())
    assert "Nobody is known" not in read_results(messages)["slow"], "somebody has let it run"
    assert family.read_log() == ["slow"]


async def test_cancelled_before_a_call_is_made_again(family: Family):
    """An earlier process has begun it, so that its outcome is unknown."""
    left = [HumanMessage("go"), AIMessage("", tool_calls=[call("slow"), call("quick")])]
    history = InMemoryChatMessageHistory(left)
    agent = make_agent(family.log, "Done.", tools={"hangs": True}, limits=AgentLimits(max_concurrency=1))
    async with agent.astream(Resume(rerun="always"), history=history) as events:
        async for event in events:
            if event.kind == "tool_start":
                break
    assert "quick" not in family.read_log()
    assert "outcome is unknown" in read_results(history.messages)["quick"]
