"""A handler shows the final answer of agents that write text while it comes."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, strategies as st

from hocket.classic.agents import FinalAnswerStream
from hocket.errors import InvalidInput
from hocket.language_models import FakeListChatModel, GenericFakeChatModel
from hocket.messages import AIMessage
from hocket.runnables import RunnableLambda


async def feed(stream: FinalAnswerStream, pieces: list[str], run_id: UUID | None = None) -> None:
    run_id = run_id or uuid4()
    for piece in pieces:
        await stream.on_llm_new_token(piece, run_id=run_id)


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["Thought: x\nFinal", " Ans", "wer: 8", "4"], ["8", "4"]),
        (["Thought: x\nFinal Answer: 84"], ["84"]),
        (["Final Answer:", "  ", "\n", "84", " ", "!"], ["84", " ", "!"]),
        (["Final: a Final Answer: b"], ["a Final Answer: b"]),
        (["A", "I", ":", "b"], ["b"]),
        (["final answer: b", "Observation: c"], []),
        ([" some other text.\n\tFinal Answer: This is a correct final string."], ["This is a correct final string."]),
    ],
)
async def test_what_follows_a_keyword_is_handed_on(pieces: list[str], shown: list[str]) -> None:
    """Wherever the keyword is cut, and with what stands behind it in the same piece."""
    got: list[str] = []
    await feed(FinalAnswerStream(got.append), pieces)
    assert got == shown


@given(st.lists(st.text("Final Answer:I x"), max_size=12))
def test_cuts_make_no_difference(pieces: list[str]) -> None:
    whole: list[str] = []
    cut: list[str] = []

    async def run() -> None:
        await feed(FinalAnswerStream(whole.append), ["".join(pieces)])
        await feed(FinalAnswerStream(cut.append), pieces)

    anyio.run(run)
    assert "".join(cut) == "".join(whole)


async def test_keywords_belong_to_their_handler() -> None:
    """Own words of one handler change no other, and the default ones no longer count for it."""
    own: list[str] = []
    usual: list[str] = []
    mine = FinalAnswerStream(own.append, keywords=("Verdict",))
    theirs = FinalAnswerStream(usual.append)
    for stream in (mine, theirs):
        await feed(stream, ["Final Answer: a\n", "Verdict   :    b"])
    assert "".join(own) == "b"
    assert "".join(usual) == "a\nVerdict   :    b"


async def test_runs_at_once_do_not_mix() -> None:
    got: list[str] = []
    stream, one, two = FinalAnswerStream(got.append), uuid4(), uuid4()
    for run_id, piece in ((one, "Final "), (two, "Answer: no"), (one, "Answer: yes")):
        await feed(stream, [piece], run_id)
    assert got == ["yes"]


@pytest.mark.parametrize("keywords", [(), ("",), ("a", ""), ""])
def test_empty_keywords_are_refused(keywords: Any) -> None:
    with pytest.raises(InvalidInput, match="keywords"):
        FinalAnswerStream(keywords=keywords)


async def test_an_async_function_is_awaited() -> None:
    got: list[str] = []

    async def send(piece: str) -> None:
        await anyio.lowlevel.checkpoint()
        got.append(piece)

    config: Any = {"callbacks": [FinalAnswerStream(send)]}
    async for _ in FakeListChatModel(responses=["Thought: t\nFinal Answer: 84"]).astream("?", config):
        pass
    assert "".join(got) == "84"


async def test_an_iteration_ends_with_the_answer() -> None:
    """Over two runs of a model within one chain: the first has no answer."""
    model = GenericFakeChatModel(
        messages=iter([AIMessage("Action: a"), AIMessage("Thought: t\nFinal Answer: it is 84")])
    )

    async def work(question: str, config: Any) -> str:
        for _ in range(2):
            async for _chunk in model.astream(question, config):
                await anyio.lowlevel.checkpoint()
        return "done"

    stream = FinalAnswerStream()
    got: list[str] = []

    async def collect() -> None:
        async for piece in stream:
            got.append(piece)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(collect)
            await RunnableLambda(work).ainvoke("?", {"callbacks": [stream]})
    assert "".join(got) == "it is 84"
    assert len(got) > 1


@pytest.mark.parametrize("fails", [True, False])
async def test_an_iteration_ends_without_an_answer(fails: bool) -> None:
    def work(question: str) -> str:
        if fails:
            raise ValueError("no")
        return question

    stream = FinalAnswerStream()
    try:
        await RunnableLambda(work).ainvoke("?", {"callbacks": [stream]})
    except ValueError:
        assert fails
    iterator: AsyncIterator[str] = aiter(stream)
    with anyio.fail_after(30):
        assert [piece async for piece in iterator] == []
