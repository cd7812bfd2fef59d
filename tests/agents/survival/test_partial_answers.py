"""A run that ends in the middle of an answer: the question and the half are kept, flagged, as a conversation keeps them."""

import asyncio
import gc
from collections.abc import Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from hocket import InMemoryChatMessageHistory, ScriptedChatModel, Turn
from hocket.agents import Agent, AgentLimits, Resume, create_agent
from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import InvalidInput, LimitReached, StreamTruncated
from hocket.messages import AIMessage, BaseMessage, ToolMessage, validate_history
from hocket.messages.roles import calls_of
from hocket.prompts import ChatPromptTemplate
from hocket.serving import finish_streams
from hocket.testing import virtual_clock
from tests.agents.conftest import add, call
from tests.agents.survival.conftest import Store
from tests.agents.survival.test_cancelled import each_attack, wait_for_tasks
from tests.guarantees.conftest import AT_MOST, Attack, _tasks_driven, living_tasks
from tests.kit import CHAIN_EVENTS, MODEL_EVENTS, AsyncRecorder

HALVES = ["half ", "of ", "it"]
SUM = Turn(tool_calls=[call("add", "sum", a=1, b=2)])


def make_agent(*turns: Turn | str, then: Turn | None = None, **options: Any) -> Agent[Any]:
    """Return an agent that follows a script, and then says half of an answer, and waits for ever."""
    script = [*turns, then or Turn(text=[*HALVES, "never"], pause=1e9)]
    return create_agent(ScriptedChatModel(script=script), [add], **options)


def describe(messages: Sequence[BaseMessage]) -> list[tuple[str, str, bool]]:
    return [(message.type, message.text, "partial" in message.response_metadata) for message in messages]


QUESTION, HALF = ("human", "go", False), ("ai", "half ", True)
AFTER_A_CALL = [QUESTION, ("ai", "", False), ("tool", "3", False)]


async def check_next(history: BaseChatMessageHistory) -> None:
    """Fail if the next question is not asked with what providers take."""
    messages = await history.aget_messages()
    assert validate_history(messages) == []
    later = ScriptedChatModel(script=["Fine."])
    async with history.exclusive(timeout=0):
        pass
    assert (await create_agent(later, [add]).ainvoke("And now?", history=history)).output == "Fine."
    assert later.requests[0].messages[:-1] == messages and validate_history(later.requests[0].messages) == []


async def read_first(events: Any) -> None:
    """Read up to the first piece of the answer."""
    async for event in events:
        if event.kind == "chunk" and event.chunk.text:
            return


@pytest.mark.parametrize("is_wrapped", [False, True])
@pytest.mark.parametrize(("turns", "before"), [([], [QUESTION]), ([SUM], AFTER_A_CALL)], ids=["first", "after a call"])
async def test_a_stream_that_is_left(store: Store, turns: list[Any], before: list[Any], is_wrapped: bool):
    """The half is kept, and no run has failed."""
    heard = AsyncRecorder(*CHAIN_EVENTS, *MODEL_EVENTS)
    agent: Any = make_agent(*turns)
    async with store.open() as history:
        asked = agent.with_config(tags=["x"]) if is_wrapped else agent
        async with asked.astream("go", {"callbacks": [heard]}, history=history) as events:
            await read_first(events)
        assert describe(await history.aget_messages()) == [*before, HALF]
        assert [event.details.get("closed") for event in heard.events if event.name == "on_llm_end"][-1] is True
        assert not [event.name for event in heard.events if event.name.endswith("error")]
        await check_next(history)


@pytest.mark.parametrize(
    "turn", [Turn(text=["half ", "of ", "it"]), Turn(text=["half ", "of it"], tool_calls=[call("add", a=1, b=2)])]
)
async def test_a_stream_that_is_left_when_the_model_is_done(store: Store, turn: Turn):
    """What nobody has read is no part of the answer, and a call in it is not made."""
    async with store.open() as history:
        async with make_agent(then=turn).astream("go", history=history) as events:
            await read_first(events)
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
        assert describe(await history.aget_messages()) == [QUESTION, HALF]
        await check_next(history)


def test_a_sync_stream_that_is_left_when_the_model_is_done():
    """As an async one; read to its end, it is whole."""
    for count, left in ((1, HALF), (3, ("ai", "half of it", False))):
        history = InMemoryChatMessageHistory()
        with make_agent(then=Turn(text=HALVES)).stream("go", history=history) as events:
            read = 0
            for event in events:
                read += event.kind == "chunk" and bool(event.chunk.text)
                if read == count and (event.kind == "end" or count == 1):
                    break
        assert describe(history.messages) == [QUESTION, left]


async def test_a_chain_that_is_left():
    """The agent in it was left, too."""
    heard, history = AsyncRecorder(*CHAIN_EVENTS, *MODEL_EVENTS), InMemoryChatMessageHistory()
    chain: Any = ChatPromptTemplate.from_messages([("human", "{word}")]) | make_agent().bind(history=history)
    async with chain.astream({"word": "go"}, {"callbacks": [heard]}) as events:
        await read_first(events)
    assert describe(history.messages) == [QUESTION, HALF]
    assert [event.details.get("closed") for event in heard.events if event.name == "on_llm_end"] == [True]
    assert not [event.name for event in heard.events if event.name.endswith("error")]


async def test_a_stream_that_is_dropped():
    """As one that is closed."""
    history = InMemoryChatMessageHistory()
    events = make_agent().astream("go", history=history)
    await read_first(events)
    del events
    gc.collect()
    assert await finish_streams(5)
    assert describe(history.messages) == [QUESTION, HALF]


def test_a_sync_stream_that_is_closed():
    """As an async one."""
    history = InMemoryChatMessageHistory()
    with make_agent().stream("go", history=history) as events:
        for event in events:
            if event.kind == "chunk":
                break
    assert describe(history.messages) == [QUESTION, HALF]


async def test_a_task_that_is_cancelled_again_and_again(store: Store, anyio_backend_name: str):
    """As the end of a service does it."""
    if anyio_backend_name != "asyncio":
        pytest.skip("trio cancels scopes alone")
    async with store.open() as history:
        await history.aget_messages()
        begun = asyncio.Event()

        async def read() -> None:
            async for event in make_agent(SUM).astream("go", history=history):
                if event.kind == "chunk" and event.chunk is not None and event.chunk.text:
                    begun.set()

        task = asyncio.ensure_future(read())
        await begun.wait()
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        assert await finish_streams(5)
        assert describe(await history.aget_messages()) == [*AFTER_A_CALL, HALF]
        await check_next(history)


@pytest.mark.parametrize("at_limit", ["answer", "stop", "raise"])
async def test_time_that_is_up(store: Store, at_limit: Any):
    """The result's last message is the part of the answer, as it is stored."""
    async with store.open() as history:
        await history.aget_messages()
        agent = make_agent(SUM, at_limit=at_limit, limits=AgentLimits(seconds=5))
        result: Any = None
        with virtual_clock(autojump=False) as clock:
            try:
                async with agent.astream("go", history=history) as events:
                    await read_first(events)
                    clock.advance(6)
                    assert [event.kind async for event in events] == ["end"]
                    result = events.result
            except LimitReached as error:
                result = error.result
        assert (result.stop, result.output) == ("seconds", None)
        assert describe(result.messages) == [*AFTER_A_CALL, HALF]
        assert await history.aget_messages() == result.messages
        await check_next(history)


async def test_without_a_history_the_result_has_it():
    """There is no store, and the user has seen it all the same."""
    with virtual_clock():
        async with make_agent(limits=AgentLimits(seconds=5)).astream("go") as events:
            async for _ in events:
                pass
    assert events.result is not None and describe(events.result.messages) == [QUESTION, HALF]


async def test_the_calls_of_half_an_answer_are_no_calls():
    """Nobody has announced them: their text alone is kept."""
    history = InMemoryChatMessageHistory()
    half = Turn(text=["half ", "of it"], tool_calls=[call("add", a=1, b=2)], pause=1e9)
    async with make_agent(then=half).astream("go", history=history) as events:
        await read_first(events)
    assert describe(history.messages) == [QUESTION, HALF]
    assert not any(isinstance(message, AIMessage) and message.tool_calls for message in history.messages)


async def test_an_answer_of_which_nothing_came_leaves_nothing():
    """As in a conversation."""
    history = InMemoryChatMessageHistory()
    async with make_agent(then=Turn(text="late", delay=1e9)).astream("go", history=history) as events:
        with anyio.move_on_after(0.05):
            await anext(events)
    assert history.messages == []


@pytest.mark.parametrize("turns", [[], [SUM]], ids=["first", "after a call"])
async def test_what_nobody_has_read_is_not_kept(turns: list[Any]):
    """The pieces that wait for the reader are no part of the conversation, as in a conversation."""
    history = InMemoryChatMessageHistory()
    many = Turn(text=[f"w{place} " for place in range(1000)])
    async with make_agent(*turns, then=many).astream("go", history=history) as events:
        for _ in range(2):
            await read_first(events)
    assert history.messages[-1].text == "w0 w1 "


def test_what_nobody_has_read_of_a_sync_stream_is_not_kept():
    """It fetches more than it hands over."""
    history = InMemoryChatMessageHistory()
    many = Turn(text=[f"w{place} " for place in range(1000)])
    with make_agent(then=many).stream("go", history=history) as events:
        for event in events:
            if event.kind == "chunk":
                break
    assert describe(history.messages) == [QUESTION, ("ai", "w0 ", True)]


class Answer(BaseModel):
    """An answer with a type."""

    text: str


@pytest.mark.parametrize("is_left", [True, False], ids=["left", "time is up"])
async def test_the_half_of_a_typed_answer_is_its_json(is_left: bool):
    """As in text, where the answer is JSON anyway; a call that is not whole would be none."""
    history = InMemoryChatMessageHistory()
    late = Turn(text=["So: "], tool_calls=[call("Answer", text="a sum")], pause=3)  # its last piece comes after 9 s
    agent = make_agent(then=late, response_format=Answer, limits=AgentLimits(seconds=8))
    with virtual_clock():
        async with agent.astream("go", history=history) as events:
            async for event in events:
                if is_left and event.kind == "chunk" and "sum" in str(event.chunk.tool_call_chunks):
                    break
    [question, half] = history.messages
    assert describe([question]) == [QUESTION] and describe([half]) == [("ai", half.text, True)]
    assert half.text.startswith('So: {"text":') and "a sum" in half.text
    assert not calls_of(half)
    await check_next(history)


@pytest.mark.parametrize("turns", [[], [SUM]], ids=["first", "after a call"])
async def test_a_stream_that_breaks_off(turns: list[Any]):
    """The user has seen the half, as where the time was up; whoever did not stream it has seen nothing."""
    for is_streamed in (True, False):
        history = InMemoryChatMessageHistory()
        agent = make_agent(
            *turns,
            then=Turn(text=HALVES, error=StreamTruncated("broke off", partial=AIMessage("half of ")), error_after=2),
        )
        with pytest.raises(StreamTruncated):
            if is_streamed:
                async for _ in agent.astream("go", history=history):
                    pass
            else:
                await agent.ainvoke("go", history=history)
        before = AFTER_A_CALL if turns else [QUESTION] if is_streamed else []
        assert describe(history.messages) == [*before, *([("ai", "half of ", True)] if is_streamed else [])]


@pytest.mark.parametrize("end", ["left", "cancelled", "late", "broken"])
async def test_who_stopped_it_is_told_apart(end: str):
    """From an end that nobody wanted: a page may say "stopped" of the one, and "try again" of the other."""
    history = InMemoryChatMessageHistory()
    error = StreamTruncated("broke off", partial=AIMessage("half of "))
    broken = Turn(text=HALVES, error=error, error_after=2) if end == "broken" else None
    limits = AgentLimits(seconds=5) if end == "late" else None
    events = make_agent(then=broken, limits=limits, at_limit="stop").astream("go", history=history)
    with virtual_clock(), anyio.CancelScope() as scope:
        await read_first(events)
        if end == "left":
            await events.aclose()
        elif end == "cancelled":
            scope.cancel()
        try:
            async for _ in events:
                pass
        except StreamTruncated:
            assert end == "broken"
    await events.aclose()
    flags = history.messages[-1].response_metadata
    assert (flags["partial"], flags.get("closed")) == (True, True if end == "left" else None)


@pytest.mark.parametrize("at_limit", ["answer", "stop", "raise"])
async def test_a_question_that_nobody_answered_is_in_the_result(at_limit: Any):
    """The result's last message is no older answer; the history has no question without an answer, as elsewhere."""
    history = InMemoryChatMessageHistory()
    await create_agent(ScriptedChatModel(script=["Paris."])).ainvoke("France?", history=history)
    agent = make_agent(then=Turn(text="late", delay=1e9), at_limit=at_limit, limits=AgentLimits(seconds=5))
    with virtual_clock():
        try:
            result = await agent.ainvoke("Peru?", history=history)
        except LimitReached as error:
            result = error.result
    assert (result.stop, [message.text for message in result.messages]) == ("seconds", ["France?", "Paris.", "Peru?"])
    assert [message.text for message in result.new_messages] == ["Peru?"]
    assert [message.text for message in history.messages] == ["France?", "Paris."]


async def test_in_text_only_what_the_user_saw_is_kept():
    """No labels, and no thoughts."""
    history = InMemoryChatMessageHistory()
    text = Turn(text=["Thought: I know.\nFinal ", "Answer: half ", "of it,", " all"], pause=0.02)
    shown = ""
    async with make_agent(then=text, style="react").astream("go", history=history) as events:
        async for event in events:
            assert event.kind == "chunk" and event.chunk is not None
            shown += event.chunk.text
            break
    assert shown and describe(history.messages) == [QUESTION, ("ai", shown, True)]


async def test_the_half_of_a_refused_reply_is_forgotten():
    """The model was told that it does not fit, and is asked again."""
    history = InMemoryChatMessageHistory()
    async with make_agent("", then=Turn(text="late", delay=1e9)).astream("go", history=history) as events:
        async for event in events:
            if event.kind == "unreadable":
                break
    assert history.messages == []


async def test_an_answer_that_was_cut_off_is_asked_for_anew():
    """The model is not shown the half, and the history keeps both."""
    history = InMemoryChatMessageHistory()
    async with make_agent(SUM).astream("go", history=history) as events:
        await read_first(events)
    model = ScriptedChatModel(script=["The whole."])
    result = await create_agent(model, [add]).ainvoke(Resume(), history=history)
    assert result.output == "The whole."
    assert describe(model.requests[0].messages) == AFTER_A_CALL
    assert describe(history.messages) == [*AFTER_A_CALL, HALF, ("ai", "The whole.", False)]
    assert result.messages == history.messages
    with pytest.raises(InvalidInput, match="has ended"):
        await create_agent(model, [add]).ainvoke(Resume(), history=history)


class Broken(InMemoryChatMessageHistory):
    """A store that fails."""

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Fail."""
        raise OSError("the disk is full")


async def test_a_store_that_fails_then_is_not_what_ended_the_run():
    """The cancellation goes on."""
    with anyio.CancelScope() as scope:
        async for event in make_agent().astream("go", history=Broken()):
            if event.kind == "chunk":
                scope.cancel()
    assert scope.cancelled_caught


WHOLE = ["One ", "sum ", "first."]


async def wait_a_little() -> None:
    for _ in range(3):
        await anyio.lowlevel.checkpoint()


async def ask(history: BaseChatMessageHistory, seen: list[str]) -> bool:
    """Read a run whose answers come in pieces, noting them."""
    calling = Turn(text=WHOLE, tool_calls=SUM.tool_calls)
    agent = make_agent(calling, then=Turn(text=HALVES))
    pausing = AsyncRecorder("on_llm_new_token", before=lambda event: wait_a_little())
    async with agent.astream("go", {"callbacks": [pausing]}, history=history) as events:
        async for event in events:
            if event.kind == "chunk" and event.chunk is not None:
                seen.append(event.chunk.text)
            await anyio.lowlevel.checkpoint()
    return events.result is not None and events.result.output == "".join(HALVES)


@pytest.mark.one_of(3)
@each_attack
async def test_cancelled_at_any_wait_of_an_answer(attack: Attack):
    """What was read is in the history: of an answer that was not whole, or whose calls were not announced, its text."""
    tasks, parts = living_tasks(), set[str]()
    with _tasks_driven():
        for at in range(1, AT_MOST):
            history, seen = InMemoryChatMessageHistory(), list[str]()
            _, injector = await attack(ask(history, seen), at)
            await wait_for_tasks(tasks, (at, injector.where))
            messages = history.messages
            if "".join(seen):
                assert "".join(m.text for m in messages if isinstance(m, AIMessage)).startswith("".join(seen)), at
            for message in messages[:-1]:
                assert "partial" not in message.response_metadata, at
            if messages and "partial" in messages[-1].response_metadata:
                is_second = any(isinstance(message, ToolMessage) for message in messages)
                assert "".join(HALVES if is_second else WHOLE).startswith(messages[-1].text), at
                parts.add(messages[-1].text)
            if messages:
                await check_next(history)
            if injector.struck_at is None:
                assert describe(messages)[-1] == ("ai", "".join(HALVES), False)
                assert parts
                return
    raise AssertionError("it never got through")
