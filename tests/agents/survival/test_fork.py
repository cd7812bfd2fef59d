"""A conversation that goes on in two ways: copied from any store into any other, with what waits in it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import Resume, create_agent, read_pending_calls
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from tests.agents.conftest import call, pay
from tests.agents.survival.conftest import STORES, Store, make_store

TALK: list[BaseMessage] = [
    SystemMessage("Be brief.", id="s"),
    HumanMessage("What is there?", id="h1"),
    AIMessage(
        [{"type": "text", "text": "Let me see."}], id="a1", tool_calls=[call("look")], response_metadata={"a": [1]}
    ),
    ToolMessage("a door", tool_call_id="look", name="look", id="t1", artifact={"seen": 1}),
    AIMessage("A door.", id="a2", usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}),
]


class OldHistory(BaseChatMessageHistory):
    """A user's own, of three sync operations; counts its turns and its reads."""

    def __init__(self, messages: Sequence[BaseMessage] = ()) -> None:
        self.kept = [*messages]
        self.reads = 0
        self.turns: list[int] = []

    @property
    def messages(self) -> list[BaseMessage]:
        self.reads += 1
        return [*self.kept]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self.turns.append(len(messages))
        self.kept.extend(messages)

    def clear(self) -> None:
        self.kept.clear()


class NewHistory(BaseChatMessageHistory):
    """A user's own, of three async operations."""

    def __init__(self, messages: Sequence[BaseMessage] = ()) -> None:
        self.kept = [*messages]

    async def aget_messages(self) -> list[BaseMessage]:
        await anyio.lowlevel.checkpoint()
        return [*self.kept]

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await anyio.lowlevel.checkpoint()
        self.kept.extend(messages)

    async def aclear(self) -> None:
        self.kept.clear()


PAIRS = [(kind, other) for at, kind in enumerate(STORES) for other in (kind, STORES[at - 1])]


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """Two conversations, each in a store, gone afterwards: of each store one in the same store, and one in another."""
    kind, other = request.param
    (tmp_path / "other").mkdir()
    for one in make_store(request, tmp_path, kind):
        for two in make_store(request, tmp_path / "other", other):
            yield one, two


async def test_a_fork_is_the_conversation_in_any_other_store(pair: tuple[Store, Store]):
    """All of it, message for message, in one turn; from then on each goes its own way."""
    store, into = pair
    source = store.open()
    await source.aadd_messages(TALK[:2])
    await source.aadd_messages(TALK[2:])
    fork = await source.afork(history := into.open())
    assert fork is history
    assert [one.model_dump() for one in await into.open().aget_messages()] == [one.model_dump() for one in TALK]
    await fork.aadd_user_message("And behind it?")
    assert await store.open().aget_messages() == TALK
    assert len(await into.open().aget_messages()) == 6


def test_sync_code_forks_likewise(pair: tuple[Store, Store]):
    """With the same places, from any store into any other."""
    store, into = pair
    source = store.open()
    source.add_messages(TALK)
    assert source.fork(into.open(), at="h1").messages == TALK[:2]


PLACES: list[tuple[int | str | None, int]] = [(None, 5), (5, 5), (2, 2), (0, 0), (-1, 4), (-5, 0), ("s", 1), ("t1", 4)]


@pytest.mark.parametrize(("at", "length"), PLACES)
async def test_it_ends_where_one_says(at: int | str | None, length: int):
    """As ``messages[:at]``, or with the message of an id."""
    fork = await InMemoryChatMessageHistory(TALK).afork(InMemoryChatMessageHistory(), at=at)
    assert fork.messages == TALK[:length]


@pytest.mark.parametrize("at", [6, -6, True, 1.0, "", "x", [1], "twice"])
async def test_a_place_that_is_none_copies_nothing(at: Any):
    """Beyond either end, of another type, an id of no message or of two."""
    source = InMemoryChatMessageHistory([*TALK[:3], HumanMessage("a", id="twice"), HumanMessage("b", id="twice")])
    into = OldHistory()
    with pytest.raises(InvalidInput, match="at is"):
        await source.afork(into, at=at)
    with pytest.raises(InvalidInput, match="at is"):
        source.fork(into, at=at)
    assert not into.turns


async def test_only_an_empty_history_takes_a_fork(store: Store):
    """Neither another conversation, nor the same one; nothing is added."""
    source = store.open()
    await source.aadd_messages(TALK)
    for into in (store.open(), InMemoryChatMessageHistory([HumanMessage("Hi.")])):
        before = await into.aget_messages()
        with pytest.raises(InvalidInput, match="empty history"):
            await source.afork(into)
        assert await into.aget_messages() == before
    with pytest.raises(InvalidInput, match="it is an empty history"):
        await source.afork([])  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]


async def test_it_is_one_read_and_one_turn():
    """Also of histories of one's own; nothing is no turn."""
    source, into = OldHistory(TALK), OldHistory()
    await source.afork(into)
    assert (source.reads, into.turns, into.kept) == (1, [5], TALK)
    assert (await OldHistory(TALK).afork(NewHistory())).kept == TALK
    await NewHistory(TALK).afork(empty := OldHistory(), at=0)
    assert empty.turns == []


def test_sync_and_async_histories_are_forked_by_sync_code():
    """In all four ways."""
    for kind in (OldHistory, NewHistory):
        for other in (OldHistory, NewHistory):
            assert kind(TALK).fork(other()).kept == TALK


@pytest.mark.one_of(3)
async def test_a_long_conversation_is_forked(pair: tuple[Store, Store]):
    """Of 2,000 messages."""
    store, into = pair
    talk = [HumanMessage(f"{number} " * 20, id=str(number)) for number in range(2_000)]
    await store.open().aadd_messages(talk)
    await store.open().afork(into.open(), at="1998")
    assert await into.open().aget_messages() == talk[:-1]


async def test_what_waits_is_decided_in_each_fork(pair: tuple[Store, Store]):
    """A call that was approved in one still waits in the other, and may be rejected there."""
    store, into = pair
    model = ScriptedChatModel(script=[Turn(tool_calls=[call("pay", amount=5)]), "It is paid.", "Then not."])
    agent = create_agent(model, [pay], interrupt_on=["pay"])
    async with store.open() as source, into.open() as fork:
        await agent.ainvoke("Pay it.", history=source)
        await source.afork(fork)
        result = await agent.ainvoke(Resume({"pay": "approve"}), history=source)
        assert result.output == "It is paid."
        waiting = read_pending_calls(await fork.aget_messages())
        assert [(one["id"], one["args"]) for one in waiting] == [("pay", {"amount": 5})]
        result = await agent.ainvoke(Resume({"pay": "reject"}), history=fork)
        assert (result.output, read_pending_calls(await fork.aget_messages())) == ("Then not.", [])
        assert "rejected" in [one.text for one in await fork.aget_messages()][2]
        assert [one.text for one in await source.aget_messages()][2] == "paid 5"


async def test_a_call_whose_result_is_left_behind_is_open(store: Store):
    """Its tool may have run: it is not run again, unless somebody says so."""
    model = ScriptedChatModel(script=[Turn(tool_calls=[call("pay", amount=5)]), "Paid.", "Who knows?"])
    agent = create_agent(model, [pay])
    async with store.open() as source:
        await agent.ainvoke("Pay it.", history=source)
        fork = await source.afork(InMemoryChatMessageHistory(), at=2)
    result = await agent.ainvoke(Resume(), history=fork)
    assert result.output == "Who knows?"
    assert fork.messages[2].response_metadata["tool_error"] == "unknown_outcome"


async def test_a_run_may_fork_its_own_conversation(store: Store):
    """To read it and to copy it waits for nobody."""
    history, forks = store.open(), list[InMemoryChatMessageHistory]()

    async def branch() -> str:
        """Branch."""
        forks.append(await history.afork(InMemoryChatMessageHistory()))
        return "done"

    agent = create_agent(ScriptedChatModel(script=[Turn(tool_calls=[call("branch")]), "Done."]), [branch])
    await agent.ainvoke("Branch.", history=history)
    assert [[one.type for one in fork.messages] for fork in forks] == [["human", "ai"]]
