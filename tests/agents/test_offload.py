"""A result that is too long is kept whole, and the model can read on; nobody else can."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, create_agent
from hocket.agents.offload import OFFLOADED
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import InvalidInput
from hocket.messages import ToolMessage
from hocket.stores import InMemoryStore
from hocket.tokens import count_tokens_approximately
from hocket.tools import tool
from tests.agents.conftest import call

TEXT = (
    "".join(f"line {n}: {'word ' * 10}\n" for n in range(50))
    + "The Needle is on line 51.\n"
    + "{"
    + "x" * 3000
    + "needle}"
)
LIMITS = AgentLimits(result_chars=200, model_calls=None, repeats=None)


@tool
def look() -> str:
    """Look something up."""
    return TEXT


def read(number: str, **args: Any) -> Turn:
    made: Any = {"type": "tool_call", "name": "read_result", "args": args, "id": number}
    return Turn(tool_calls=[made])


async def run(script: list[Any], store: Any = None, **options: Any) -> tuple[list[ToolMessage], ScriptedChatModel]:
    model = ScriptedChatModel(script=[*script, "Done."])
    agent = create_agent(model, [look], limits=LIMITS, offload=InMemoryStore() if store is None else store)
    result = await agent.ainvoke("Find it.", **options)
    return [one for one in result.new_messages if isinstance(one, ToolMessage)], model


LOOK = Turn(tool_calls=[call("look", "c1")])


async def get_id() -> str:
    """The id of the result of `LOOK`: it is the same in every run."""
    [[result], _] = await run([LOOK])
    return str(result.response_metadata[OFFLOADED])


async def test_the_model_sees_the_beginning_and_reads_on() -> None:
    """By the id in the note, from any character, as many as a result may have; the tool is there from the first step."""
    id, store = await get_id(), InMemoryStore()
    script = [LOOK, read("c2", id=id, start=200), read("c3", id=id, start=10**6), read("c4", id=id, start=-5)]
    [cut, more, end, start], model = await run(script, store)
    assert cut.text.startswith(TEXT[:200] + "\n[Cut here. ")
    assert f"read_result(id={id!r}, start=200)" in cut.text
    assert store.store == {id: TEXT}
    assert more.text == f"[characters 200 to 400 of {len(TEXT)}]\n{TEXT[200:400]}"
    assert end.text == f"[characters {len(TEXT)} to {len(TEXT)} of {len(TEXT)}]\n"
    assert start.text.endswith(TEXT[:200])
    names = [one["function"]["name"] for one in model.requests[0].params["tools"]]
    assert names == ["look", "read_result"]
    assert "kept_results" not in str(model.requests[0].params["tools"])


async def test_lines_are_found_whatever_their_case() -> None:
    """Numbered; of a long line what stands around the text; no more than fits, and then that is said."""
    id = await get_id()
    [_, hits, far, none, many], _ = await run(
        [
            LOOK,
            read("c2", id=id, find="needle is"),
            read("c3", id=id, find="NEEDLE}"),
            read("c4", id=id, find="absent"),
            read("c5", id=id, find="line "),
        ]
    )
    assert hits.text == "51: The Needle is on line 51."
    assert far.text.startswith(f"52, character {TEXT.index('needle}')}: …xxx") and far.text.endswith("needle}…")
    assert len(far.text) < 450
    assert none.text == "No line from character 0 on has 'absent'."
    assert many.text.startswith("1: line 0: ") and many.text.endswith("begin further on with start.]")


async def test_an_id_of_another_conversation_is_unknown() -> None:
    """Although its result is in the same store."""
    id, store = await get_id(), InMemoryStore()
    await run([LOOK], store)
    [denied], _ = await run([read("c2", id=id)], store)
    assert denied.status == "error"
    assert f"the id {id!r} is unknown" in denied.text


async def test_the_conversation_goes_on_in_another_process() -> None:
    """The history has the id; a result that its store no longer has is gone, which the model is told."""
    id, store, history = await get_id(), InMemoryStore(), InMemoryChatMessageHistory()
    await run([LOOK], store, history=history)
    [more], _ = await run([read("c2", id=id, start=5)], store, history=history)
    assert more.text.endswith(TEXT[5:205])
    store.store.clear()
    [gone], _ = await run([read("c3", id=id)], store, history=history)
    assert gone.status == "error" and f"the result {id} is gone" in gone.text


class BrokenStore(InMemoryStore):
    """A store that is down."""

    def mset(self, key_value_pairs: Sequence[tuple[str, Any]]) -> None:
        raise ConnectionError("down")


async def test_where_the_store_fails_results_are_cut_as_without_one(caplog: pytest.LogCaptureFixture) -> None:
    """And the log says so, once."""
    with caplog.at_level(logging.WARNING):
        results, _ = await run([LOOK, Turn(tool_calls=[call("look", "c2")])], BrokenStore())
    for result in results:
        assert result.text.startswith(TEXT[:200] + "\n[The result was too long: ")
        assert OFFLOADED not in result.response_metadata
    assert [record.getMessage() for record in caplog.records] == [
        "results that are too long cannot be kept, and are cut: ConnectionError"
    ]


@tool
def page(n: int) -> str:
    """Read a page."""
    return f"page {n}: " + "word " * 400


@pytest.mark.parametrize("store", [InMemoryStore, BrokenStore])
async def test_what_is_cut_to_fit_the_window_is_kept_as_well(store: type[InMemoryStore]) -> None:
    """Each result that was cut has an id by which it is read; without a store that works, it is cut as before."""
    kept = store()
    script: list[Any] = [Turn(tool_calls=[call("page", str(n), n=n)]) for n in range(12)]
    model = ScriptedChatModel(script=[*script, "Done."], profile={"max_input_tokens": 4_000, "max_output_tokens": 500})
    result = await create_agent(model, [page], offload=kept).ainvoke("Read all.")
    assert result.excess_tokens == 0
    last = [one for one in model.requests[-1].messages if isinstance(one, ToolMessage)]
    cut = [one for one in last if len(one.text) < 1_000]
    assert 5 <= len(cut) < 12
    for one in cut:
        id = one.response_metadata.get(OFFLOADED)
        assert (kept.store[str(id)] == f"page {one.tool_call_id}: " + "word " * 400) if kept.store else id is None
    assert bool(kept.store) is (store is InMemoryStore)
    assert all(count_tokens_approximately(request.messages) <= 3_500 for request in model.requests)
    assert all(OFFLOADED not in one.response_metadata for one in result.new_messages)


def test_what_is_no_store_is_refused() -> None:
    """And a tool of the user's that has the name."""

    @tool
    def read_result(id: str) -> str:
        """Read."""
        return id

    with pytest.raises(InvalidInput, match=r"offload is \{\}; it must be of the type BaseStore"):
        create_agent(ScriptedChatModel(script=[]), [], offload={})  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match="read_result"):
        create_agent(ScriptedChatModel(script=[]), [read_result], offload=InMemoryStore())
