"""Calls that wait for a person, and what the person may decide, in every store."""

from typing import Any

import anyio
import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import Agent, AgentResult, Resume, create_agent, read_pending_calls
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import InvalidInput, RateLimitError
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, validate_history
from hocket.tools import BaseTool, tool
from tests.agents.conftest import call
from tests.agents.survival.conftest import Store


class Till:
    """Tools that note what they do.

    Attributes:
        paid, looked: the arguments with which they were run.
    """

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.looked = 0

    @property
    def tools(self) -> list[BaseTool]:
        """The tools."""

        @tool
        async def pay(amount: int) -> str:
            """Pay somebody."""
            await anyio.lowlevel.checkpoint()
            self.paid.append(amount)
            return f"paid {amount}"

        @tool
        def look() -> str:
            """Look."""
            self.looked += 1
            return "seen"

        return [pay, look]

    def make_agent(self, *script: str | Exception | list[Any], **options: Any) -> tuple[Agent[Any], ScriptedChatModel]:
        """Return an agent, and its model, that follows the script: a list stands for calls."""
        model = ScriptedChatModel(script=[Turn(tool_calls=one) if isinstance(one, list) else one for one in script])
        return create_agent(model, self.tools, **{"interrupt_on": ["pay"], **options}), model


async def pause(store: Store, *calls: Any, **options: Any) -> tuple[Till, AgentResult[Any]]:
    """Have a run pause at the calls; ``pay(5)``, unless others are given."""
    till = Till()
    agent, _ = till.make_agent([*(calls or [call("pay", amount=5)])], **options)
    async with store.open() as history:
        return till, await agent.ainvoke("go", history=history)


def read_results(messages: list[BaseMessage]) -> dict[str, str]:
    return {message.tool_call_id: message.text for message in messages if isinstance(message, ToolMessage)}


async def test_a_call_waits_and_the_others_are_done(store: Store):
    """The history has the call, and no result of it."""
    till, result = await pause(store, call("pay", amount=5), call("look"))
    assert (result.stop, result.output, [one["id"] for one in result.pending]) == ("paused", None, ["pay"])
    assert (till.paid, till.looked) == ([], 1)
    messages = await store.open().aget_messages()
    assert [message.type for message in messages] == ["human", "ai", "tool"]
    assert read_results(messages) == {"look": "seen"}


REJECTED = (
    "A person rejected this call. It is not made. If a crash came after an earlier approval, its outcome is unknown."
)
CHANGED = "\n[A person changed this call, to {'amount': 3}."
DECISIONS: list[tuple[Any, list[int], str]] = [
    ("approve", [5], "paid 5"),
    ({"type": "approve"}, [5], "paid 5"),
    (
        {"type": "edit", "args": {"amount": 3}},
        [3],
        "paid 3\n[A person changed this call, to {'amount': 3}.]",
    ),
    (
        {"type": "edit", "args": {"amount": 3}, "message": "Too much."},
        [3],
        "paid 3" + CHANGED + " Too much.]",
    ),
    ("reject", [], REJECTED),
    (
        {"type": "reject", "message": "too dear"},
        [],
        f"{REJECTED} The reason: too dear",
    ),
    ({"type": "respond", "message": "It is paid."}, [], "It is paid."),
]


@pytest.mark.one_of(2)
@pytest.mark.parametrize(("decision", "paid", "says"), DECISIONS)
async def test_a_person_decides(store: Store, decision: Any, paid: list[int], says: str):
    """Another object, of the same conversation, goes on with the run; the model is told."""
    await pause(store, call("pay", amount=5), call("look"))
    till = Till()
    agent, model = till.make_agent("Done.")
    async with store.open() as history:
        result = await agent.ainvoke(Resume({"pay": decision}), history=history)
    assert (result.stop, result.output, till.paid, till.looked) == ("done", "Done.", paid, 0)
    messages = await store.open().aget_messages()
    assert read_results(messages) == {"look": "seen", "pay": says}
    assert read_results(model.requests[0].messages) == {"look": "seen", "pay": says}
    assert validate_history(messages) == []
    assert messages == result.messages


@pytest.mark.parametrize(
    ("rule", "asks"),
    [
        (lambda call: call["args"]["amount"] > 4, True),
        (lambda call: call["args"]["amount"] > 5, False),
        (lambda call: call["args"]["no such thing"], True),
        (True, True),
        (False, False),
    ],
    ids=["yes", "no", "raises", "True", "False"],
)
async def test_a_rule_looks_at_the_arguments(rule: Any, asks: bool):
    """One that fails is taken for a yes."""
    till = Till()
    agent, _ = till.make_agent([call("pay", amount=5)], "Done.", interrupt_on={"pay": rule})
    result = await agent.ainvoke("go", history=InMemoryChatMessageHistory())
    assert (result.stop, till.paid) == (("paused", []) if asks else ("done", [5]))


async def test_a_rule_cannot_change_a_call():
    """It is asked, and no more."""
    till = Till()
    agent, _ = till.make_agent(
        [call("pay", amount=5)], "Done.", interrupt_on={"pay": lambda call: call["args"].update(amount=500)}
    )
    await agent.ainvoke("go", history=InMemoryChatMessageHistory())
    assert till.paid == [5]


async def test_calls_without_a_decision_wait_on(store: Store):
    """What was decided is done, and stored."""
    await pause(store, call("pay", "one", amount=1), call("pay", "two", amount=2))
    till = Till()
    agent, model = till.make_agent("Done.")
    result = await agent.ainvoke(Resume({"two": "approve"}), history=store.open())
    assert (result.stop, [one["id"] for one in result.pending], till.paid) == ("paused", ["one"], [2])
    assert not model.requests
    assert read_results(await store.open().aget_messages()) == {"two": "paid 2"}
    again = await agent.ainvoke(Resume(), history=store.open())
    assert (again.stop, again.new_messages) == ("paused", [])
    result = await agent.ainvoke(Resume({"one": "reject"}), history=store.open())
    assert (result.stop, till.paid) == ("done", [2])
    assert validate_history(await store.open().aget_messages()) == []


WRONG: list[Any] = [
    {"other": "approve"},
    {"pay": "approve", "other": "approve"},
    {"look": "approve"},
    {"pay": "yes"},
    {"pay": None},
    {"pay": {}},
    {"pay": {"type": "approve", "args": {}}},
    {"pay": {"type": "edit"}},
    {"pay": {"type": "edit", "args": [3]}},
    {"pay": {"type": "edit", "args": None}},
    {"pay": {"type": "reject", "why": "dear"}},
    {"pay": {"type": "reject", "message": 5}},
    {"pay": {"type": "respond"}},
    {"pay": {"type": ["approve"]}},
    {"pay": ["approve"]},
    {5: "approve"},
]


@pytest.mark.parametrize("decisions", WRONG, ids=repr)
async def test_wrong_decisions_are_refused_and_nothing_runs(decisions: Any):
    """The call waits on."""
    store = Store("")
    await pause(store, call("pay", amount=5), call("look"))
    before = await store.open().aget_messages()
    till = Till()
    agent, model = till.make_agent("Done.")
    with pytest.raises(InvalidInput):
        await agent.ainvoke(Resume(decisions), history=store.open())
    assert (till.paid, till.looked, model.requests) == ([], 0, [])
    assert await store.open().aget_messages() == before


@pytest.mark.parametrize("decisions", ["approve", ["pay"], None, 5])
def test_decisions_are_a_mapping(decisions: Any):
    """Anything else is refused at once."""
    with pytest.raises(InvalidInput, match="mapping"):
        Resume(decisions)


async def test_there_must_be_something_to_resume(store: Store):
    """A new history has nothing, and a run that has ended neither."""
    agent, _ = Till().make_agent("Done.")
    with pytest.raises(InvalidInput, match="nothing to resume: this history is empty"):
        await agent.ainvoke(Resume(), history=store.open())
    await agent.ainvoke("go", history=store.open())
    with pytest.raises(InvalidInput, match="nothing to resume: the last run of this history has ended"):
        await agent.ainvoke(Resume(), history=store.open())
    with pytest.raises(InvalidInput, match="pass history="):
        await agent.ainvoke(Resume())


async def test_a_question_answers_the_open_calls(store: Store):
    """Nothing runs, and the conversation goes on. It is told that nobody approved, but for an approval that was cut off."""
    await pause(store, call("pay", amount=5), call("look"))
    till = Till()
    agent, model = till.make_agent("Hello.")
    result = await agent.ainvoke("Something else: hi", history=store.open())
    assert (result.output, till.paid) == ("Hello.", [])
    messages = await store.open().aget_messages()
    told = read_results(messages)["pay"]
    assert "Nobody is known to have approved it" in told and "if a crash came after an approval" in told
    assert validate_history(model.requests[0].messages) == validate_history(messages) == []
    with pytest.raises(InvalidInput, match="nothing to resume"):
        await agent.ainvoke(Resume({"pay": "approve"}), history=store.open())


async def test_a_question_that_fails_leaves_the_call_waiting(store: Store):
    """Nothing of an unanswered question is kept, and the person may still decide."""
    await pause(store)
    till = Till()
    agent, _ = till.make_agent(RateLimitError("slow down"), "Done.")
    with pytest.raises(RateLimitError):
        await agent.ainvoke("Something else", history=store.open())
    result = await agent.ainvoke(Resume({"pay": "approve"}), history=store.open())
    assert (result.output, till.paid) == ("Done.", [5])


async def test_a_model_that_fails_after_an_approval_is_asked_again(store: Store):
    """The call has run, and does not run again."""
    await pause(store)
    till = Till()
    agent, _ = till.make_agent(RateLimitError("slow down"), "Done.")
    with pytest.raises(RateLimitError):
        await agent.ainvoke(Resume({"pay": "approve"}), history=store.open())
    with pytest.raises(InvalidInput, match="no call 'pay' waits"):
        await agent.ainvoke(Resume({"pay": "approve"}), history=store.open())
    result = await agent.ainvoke(Resume(), history=store.open())
    assert (result.output, till.paid) == ("Done.", [5])


async def test_two_who_approve_at_once_run_it_once(store: Store):
    """The second finds nothing to decide."""
    await pause(store)
    till = Till()
    outcomes: list[Any] = []

    async def approve() -> None:
        agent, _ = till.make_agent("Done.")
        try:
            outcomes.append((await agent.ainvoke(Resume({"pay": "approve"}), history=store.open())).output)
        except InvalidInput:
            outcomes.append("refused")

    async with anyio.create_task_group() as group:
        group.start_soon(approve)
        group.start_soon(approve)
    assert (sorted(outcomes), till.paid) == (["Done.", "refused"], [5])
    assert validate_history(await store.open().aget_messages()) == []


async def test_a_resumed_call_may_pause_again(store: Store):
    """Each message of the model has its own decisions."""
    await pause(store)
    till = Till()
    agent, _ = till.make_agent([call("pay", amount=7)], "Done.")
    result = await agent.ainvoke(Resume({"pay": "approve"}), history=store.open())
    (waiting,) = result.pending
    assert waiting["id"] != "pay", "an id names one call of a conversation"
    result = await agent.ainvoke(Resume({waiting["id"]: "approve"}), history=store.open())
    assert (result.output, till.paid) == ("Done.", [5, 7])


async def test_edited_arguments_that_do_not_fit_are_told_to_the_model():
    """A person makes mistakes, too; the tool is not run with them."""
    store = Store("")
    await pause(store)
    till = Till()
    agent, model = till.make_agent("Done.")
    await agent.ainvoke(Resume({"pay": {"type": "edit", "args": {"amount": "much"}}}), history=store.open())
    assert till.paid == []
    assert "amount" in read_results(model.requests[0].messages)["pay"]


@pytest.mark.parametrize("resume", [Resume(), Resume({"pay": "approve"}), Resume(rerun="always")], ids=repr)
async def test_an_agent_without_the_tool_is_refused(resume: Resume):
    """As after a deploy that renamed it: the call waits on, for an agent that has it."""
    store = Store("")
    await pause(store)
    before = await store.open().aget_messages()
    model = ScriptedChatModel(script=["Done."])
    with pytest.raises(
        InvalidInput, match=r"'pay' is open, and this agent has no tool 'pay' \(it has: none\): resume with"
    ):
        await create_agent(model, []).ainvoke(resume, history=store.open())
    assert not model.requests and await store.open().aget_messages() == before
    till = Till()
    agent, _ = till.make_agent("Done.")
    assert (await agent.ainvoke(Resume({"pay": "approve"}), history=store.open())).output == "Done."
    assert till.paid == [5]


@pytest.mark.parametrize("rerun", ["idempotent", "always", "never"])
async def test_an_agent_without_the_rule_lets_the_call_wait(store: Store, rerun: Any):
    """The history says that it waits for a person: it is neither run nor answered without a decision."""
    await pause(store, call("pay", amount=5), call("look"))
    before = await store.open().aget_messages()
    till = Till()
    agent, model = till.make_agent("Done.", interrupt_on=())
    result = await agent.ainvoke(Resume(rerun=rerun), history=store.open())
    assert (result.stop, [one["id"] for one in result.pending], till.paid) == ("paused", ["pay"], [])
    assert not model.requests and await store.open().aget_messages() == before
    result = await agent.ainvoke(Resume({"pay": "approve"}), history=store.open())
    assert (result.output, till.paid, till.looked) == ("Done.", [5], 0)


async def test_the_calls_that_wait_are_read_from_a_history(store: Store):
    """Anybody may, without an agent; what is decided, or was never to be, is not among them."""
    assert read_pending_calls(await store.open().aget_messages()) == []
    _, result = await pause(store, call("pay", "one", amount=1), call("pay", "two", amount=2), call("look"))
    assert read_pending_calls(await store.open().aget_messages()) == result.pending
    agent, _ = Till().make_agent("Done.")
    await agent.ainvoke(Resume({"two": "reject"}), history=store.open())
    assert [one["id"] for one in read_pending_calls(await store.open().aget_messages())] == ["one"]
    await agent.ainvoke("Something else", history=store.open())
    assert read_pending_calls(await store.open().aget_messages()) == []
    crashed = [HumanMessage("go"), AIMessage("", tool_calls=[call("look")])]
    assert read_pending_calls(crashed) == []


async def test_an_undecided_call_waits_on_where_another_is_cancelled():
    """It was no part of what was cancelled."""
    store, till = Store(""), Till()
    await pause(store, call("pay", "one", amount=1), call("pay", "two", amount=2))

    @tool("pay")
    async def hang(amount: int) -> str:
        """Never end."""
        scope.cancel()
        await anyio.sleep_forever()
        return ""

    with anyio.CancelScope() as scope:
        agent = create_agent(ScriptedChatModel(script=["Done."]), [hang])
        await agent.ainvoke(Resume({"one": "approve"}), history=store.open())
    messages = await store.open().aget_messages()
    assert "outcome is unknown" in read_results(messages)["one"]
    assert [one["id"] for one in read_pending_calls(messages)] == ["two"]
    agent, _ = till.make_agent("Done.")
    assert (await agent.ainvoke(Resume({"two": "approve"}), history=store.open())).output == "Done."
    assert till.paid == [2]


async def test_a_stream_tells_the_pause_and_goes_on():
    """The verbs differ in nothing but what is heard meanwhile."""
    store, till = Store(""), Till()
    agent, _ = till.make_agent([call("pay", amount=5), call("look")], "Done.")
    async with agent.astream("go", history=store.open()) as stream:
        kinds = [event.kind async for event in stream]
        assert kinds[-2:] == ["paused", "end"] and stream.result is not None
        assert stream.result.stop == "paused"
    async with agent.astream(Resume({"pay": "approve"}), history=store.open()) as stream:
        kinds = [event.kind async for event in stream if event.kind != "chunk"]
    assert kinds == ["tool_start", "tool_end", "message", "end"]
    assert till.paid == [5]


def test_the_sync_verbs_pause_and_go_on(store: Store):
    """As the async ones."""
    till = Till()
    agent, _ = till.make_agent([call("pay", amount=5)], "Done.")
    assert agent.invoke("go", history=store.open()).stop == "paused"
    assert agent.invoke(Resume({"pay": "approve"}), history=store.open()).output == "Done."
    assert till.paid == [5]
    assert isinstance(store.open().messages[-1], AIMessage)
