"""The events of an agent's stream: a class for each kind."""

import copy
import pickle
from typing import Any, get_args

import pytest

from hocket import AIMessageChunk, InMemoryChatMessageHistory
from hocket.agents import AgentEvent, ChunkEvent, EndEvent, Resume
from tests.agents.conftest import MakeAgent, call

FIELDS = ("chunk", "message", "reply", "feedback", "call", "result", "seconds")


async def test_each_event_is_of_the_class_of_its_kind(make_agent: MakeAgent):
    """It has the fields of that kind, and None for those of others."""
    agent, _ = make_agent(["", [call("add", a=1, b=2)], [call("add", "again", a=2, b=2)]], interrupt_on={"add": is_big})
    kinds: dict[str, Any] = {event.kind: event async for event in agent.astream("hi")}
    assert kinds.keys() == {one.__dataclass_fields__["kind"].default for one in get_args(AgentEvent)}
    for event in kinds.values():
        assert isinstance(event, AgentEvent)
        own = {name for name in FIELDS if name in event.__dataclass_fields__}
        assert {name for name in FIELDS if getattr(event, name) is not None} == own
    assert kinds["end"].output is kinds["end"].result and kinds["paused"].output is None


def is_big(call: Any) -> bool:
    return bool(call["args"]["a"] > 1)


def test_an_event_is_a_plain_value():
    """It is compared, shown, copied and pickled."""
    event = ChunkEvent(step=2, chunk=AIMessageChunk("x"))
    assert event == copy.deepcopy(event) == pickle.loads(pickle.dumps(event))
    assert repr(event).startswith("ChunkEvent(step=2, kind='chunk', chunk=AIMessageChunk(")
    nameless: Any = event
    with pytest.raises(AttributeError, match="'ChunkEvent' object has no attribute 'chnk'"):
        print(nameless.chnk)


def test_an_event_has_what_its_kind_needs():
    """There is no end without a result."""
    made: Any = EndEvent
    with pytest.raises(TypeError, match="result"):
        made()


async def test_what_a_person_decided_is_told(make_agent: MakeAgent):
    """With the result of the call, also where the tool was not run; of a call that nobody was asked about nothing is."""
    ids = ("approve", "edit", "reject", "respond")
    asked = [*(call("pay", one, amount=1) for one in ids), call("add", a=1, b=2)]
    agent, _ = make_agent([asked, "Done."], interrupt_on=["pay"])
    history = InMemoryChatMessageHistory()
    free = [event async for event in agent.astream("hi", history=history)]
    decisions: dict[str, Any] = {
        "approve": "approve",
        "edit": {"type": "edit", "args": {"amount": 2}},
        "reject": "reject",
        "respond": {"type": "respond", "message": "It is paid."},
    }
    events = [event async for event in agent.astream(Resume(decisions), history=history)]
    ends = {event.call["id"]: event for event in [*free, *events] if event.kind == "tool_end"}
    assert {id: event.decision for id, event in ends.items()} == {**{one: one for one in ids}, "add": None}
    assert "A person rejected this call." in ends["reject"].result.text
    assert ends["respond"].result.text == "It is paid." and ends["respond"].seconds == 0
    assert {event.call["id"] for event in events if event.kind == "tool_start"} == {"approve", "edit"}
