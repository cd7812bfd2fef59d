"""Memories that show what was said long ago as a summary: bounded, converging, and with its price told."""

from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st

from hocket import FakeListLLM, ScriptedChatModel, Turn, UsageMetadataCallbackHandler
from hocket._runtime.mode import ASYNC
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.classic.memory import ConversationSummaryBufferMemory, ConversationSummaryMemory
from hocket.errors import EmptyResponse, InvalidInput, RateLimitError, SummaryTooLong
from hocket.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, validate_history
from hocket.prompts import PromptTemplate
from hocket.tokens import count_tokens_approximately

USAGE: Any = {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}


def writer(*summaries: Any) -> ScriptedChatModel:
    """A model that writes these summaries."""
    turns = [Turn(text=one, usage=USAGE) if isinstance(one, str) else one for one in summaries]
    return ScriptedChatModel(script=turns)


def save(memory: Any, *turns: int, words: int = 1) -> None:
    for turn in turns:
        memory.save_context({"foo": f"bar{turn} " * words}, {"bar": f"foo{turn} " * words})


def asked(model: ScriptedChatModel) -> list[str]:
    return [request.messages[0].text for request in model.requests]


def test_a_summary_of_what_does_not_fit() -> None:
    """The last exchanges are shown as they were said. As long as all fits, nothing is written."""
    model = writer("They counted.", "They counted on.")
    memory = ConversationSummaryBufferMemory(llm=model, max_token_limit=40)
    shown: list[str] = []
    for turn in range(6):
        save(memory, turn)
        shown.append(memory.load_memory_variables()["history"])
    assert shown[2] == "Human: bar0 \nAI: foo0 \nHuman: bar1 \nAI: foo1 \nHuman: bar2 \nAI: foo2 "
    assert shown[3] == "System: They counted.\nHuman: bar3 \nAI: foo3 "
    assert shown[4] == "System: They counted.\nHuman: bar3 \nAI: foo3 \nHuman: bar4 \nAI: foo4 "
    assert shown[5] == "System: They counted on.\nHuman: bar5 \nAI: foo5 "
    first, second = asked(model)
    assert "bar0" in first and "foo2" in first and "bar3" not in first
    assert "They counted." in second and "bar3" in second and "bar2" not in second
    assert len(memory.chat_memory.messages) == 12


def test_a_summary_alone() -> None:
    """Brought up to date when it is read, once for all that was said since."""
    model = writer("One.", "One to three.")
    memory = ConversationSummaryMemory(llm=model)
    assert memory.load_memory_variables() == {"history": ""}
    save(memory, 1)
    assert memory.load_memory_variables() == memory.load_memory_variables() == {"history": "One."}
    save(memory, 2, 3)
    memory.return_messages = True
    assert memory.load_memory_variables() == {"history": [SystemMessage("One to three.")]}
    assert [("bar1" in text, "bar3" in text) for text in asked(model)] == [(True, False), (False, True)]


async def test_what_it_costs_is_told() -> None:
    """To the run's handlers, and added up."""
    handler = UsageMetadataCallbackHandler()
    memory = ConversationSummaryMemory(llm=writer("One.", "Two."))
    assert memory.usage is None
    for turn in (1, 2):
        save(memory, turn)
        await memory.aload_memory_variables({}, {"callbacks": [handler]})
    assert memory.usage == {"input_tokens": 24, "output_tokens": 10, "total_tokens": 34}
    assert handler.usage_metadata["scripted"] == memory.usage


@pytest.mark.parametrize("failure", [RateLimitError("slow down"), "", "  "], ids=repr)
async def test_a_summary_that_fails_changes_nothing(failure: Any) -> None:
    """What was said is stored before; the next reading tries again."""
    memory = ConversationSummaryMemory(llm=writer("One.", failure, "Both."))
    save(memory, 1)
    await memory.aload_memory_variables()
    await memory.asave_context({"foo": "bar2"}, {"bar": "foo2"})
    with pytest.raises(RateLimitError if isinstance(failure, Exception) else EmptyResponse):
        await memory.aload_memory_variables()
    assert (memory.moving_summary_buffer, memory.summarized, len(memory.chat_memory.messages)) == ("One.", 2, 4)
    assert await memory.aload_memory_variables() == {"history": "Both."}


async def test_a_cancelled_summary_changes_nothing() -> None:
    """Nor does it hold up the next reading."""
    memory = ConversationSummaryMemory(llm=writer(Turn(text="never", delay=3600), "One."))
    save(memory, 1)
    with anyio.move_on_after(0.05):
        await memory.aload_memory_variables()
    assert await memory.aload_memory_variables() == {"history": "One."}


def test_a_summary_that_is_too_long_is_asked_for_again() -> None:
    """Until it fits, each shorter than the one before."""
    model = writer("long " * 100, "shorter " * 30, "They counted.")
    memory = ConversationSummaryBufferMemory(llm=model, max_token_limit=60)
    save(memory, 1, 2, words=10)
    assert memory.load_memory_variables() == {"history": "System: They counted."}
    assert "shorter shorter" in asked(model)[2] and "bar1" not in asked(model)[2]


@pytest.mark.parametrize(
    ("summaries", "calls"),
    [
        (["long " * 100, "longer " * 100], 2),
        (["long " * 100, "long " * 90, "long " * 80, "long " * 70], 4),
    ],
    ids=["does not shrink", "shrinks for ever"],
)
def test_a_model_that_cannot_be_brief(summaries: list[str], calls: int) -> None:
    """Is an error, after few calls, and what it wrote is not taken."""
    model = writer(*summaries)
    memory = ConversationSummaryMemory(llm=model, max_token_limit=50)
    save(memory, 1)
    with pytest.raises(SummaryTooLong, match=r"asked for a summary of 50 tokens at most.*Raise max_token_limit=50"):
        memory.load_memory_variables()
    assert (len(model.requests), memory.moving_summary_buffer, memory.summarized) == (calls, "", 0)


def test_a_long_history_is_summarised_in_parts() -> None:
    """Of a size that a model can take, even if a single message is longer; each part that is done stays done."""
    model = writer(*["So far."] * 20)
    memory = ConversationSummaryMemory(llm=model)
    save(memory, *range(20), words=100)
    save(memory, 99, words=8000)
    assert memory.load_memory_variables() == {"history": "So far."}
    assert max(count_tokens_approximately([HumanMessage(text)]) for text in asked(model)) < 4300
    assert 5 < len(model.requests) < 20

    small = writer(*["So far."] * 40, RateLimitError("slow down"))
    small.profile = {"max_input_tokens": 1000}
    memory = ConversationSummaryMemory(llm=small)
    save(memory, *range(20), words=100)
    memory.load_memory_variables()
    assert max(count_tokens_approximately([HumanMessage(text)]) for text in asked(small)) < 600


def test_a_failure_in_the_middle_keeps_what_is_done() -> None:
    """It was paid for."""
    model = writer("First.", RateLimitError("slow down"), *["All."] * 9)
    memory = ConversationSummaryMemory(llm=model)
    save(memory, *range(8), words=400)
    with pytest.raises(RateLimitError):
        memory.load_memory_variables()
    assert memory.moving_summary_buffer == "First." and 0 < memory.summarized < 16
    assert memory.load_memory_variables() == {"history": "All."}
    assert "First." in asked(model)[2]


async def test_readers_at_the_same_time_pay_once() -> None:
    """The others wait for the first."""
    model = writer(Turn(text="One.", delay=0.01))
    memory = ConversationSummaryMemory(llm=model)
    save(memory, 1)
    shown: list[Any] = []

    async def read() -> None:
        shown.append(await memory.aload_memory_variables())

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(read)
    assert shown == [{"history": "One."}] * 5
    assert len(model.requests) == 1


async def test_a_reader_that_comes_late_keeps_the_summary() -> None:
    """It has read the history before more was said, and summarised; nothing is paid for again."""
    model = writer(Turn(text="One.", delay=0.01), Turn(text="Both.", delay=0.01))
    memory = ConversationSummaryMemory(llm=model)
    save(memory, 1)
    async with anyio.create_task_group() as group:
        group.start_soon(memory.aload_memory_variables)
        await anyio.sleep(0.002)
        save(memory, 2)
        early = memory.chat_memory.messages[:2]
        group.start_soon(memory.aload_memory_variables)
        await anyio.sleep(0.002)
        shown = await memory.select(ASYNC, early, None)  # as a conversation asks that has read before
    assert [message.text for message in shown] == ["Both."]
    assert memory.summarized == 4
    assert len(model.requests) == 2


async def test_what_is_forgotten_while_it_is_summarised() -> None:
    """Stays forgotten."""
    memory = ConversationSummaryMemory(llm=writer(Turn(text="One.", delay=0.01), "Anew."))
    save(memory, 1)
    async with anyio.create_task_group() as group:
        group.start_soon(memory.aload_memory_variables)
        await anyio.sleep(0.002)
        await memory.aclear()
        save(memory, 2, 3)
    assert await memory.aload_memory_variables() == {"history": "Anew."}
    assert "One." not in asked(memory.llm)[1]  # type: ignore[arg-type]


def test_a_cleared_history_has_no_summary() -> None:
    """Whoever cleared it."""
    for forget in (lambda memory: memory.clear(), lambda memory: memory.chat_memory.clear()):
        memory = ConversationSummaryMemory(llm=writer("One.", "Anew."))
        save(memory, 1, 2)
        memory.load_memory_variables()
        forget(memory)
        assert memory.load_memory_variables() == {"history": ""}
        save(memory, 3)
        assert memory.load_memory_variables() == {"history": "Anew."}
        assert "One." not in asked(memory.llm)[1]  # type: ignore[arg-type]


def test_a_summary_can_be_taken_up() -> None:
    """By another process: it is two values, and the history."""
    memory = ConversationSummaryMemory(llm=writer("One."))
    save(memory, 1)
    memory.load_memory_variables()
    model = writer("Both.")
    other = ConversationSummaryMemory(
        llm=model,
        chat_memory=memory.chat_memory,
        moving_summary_buffer=memory.moving_summary_buffer,
        summarized=memory.summarized,
    )
    save(other, 2)
    assert other.load_memory_variables() == {"history": "Both."}
    assert "One." in asked(model)[0] and "bar1" not in asked(model)[0]


def test_other_models_and_prompts() -> None:
    """A model of texts will do, and a prompt with fewer variables."""
    prompt = PromptTemplate.from_template("{summary}|{new_lines}")
    memory = ConversationSummaryMemory(llm=FakeListLLM(responses=["One."]), prompt=prompt)
    save(memory, 1)
    assert memory.load_memory_variables() == {"history": "One."}
    assert memory.usage is None
    with pytest.raises(InvalidInput, match="max_token_limit is 0"):
        ConversationSummaryMemory(llm=FakeListLLM(responses=[]), max_token_limit=0)


def test_the_system_message_of_a_history_stands_with_the_summary() -> None:
    """In one message."""
    history = InMemoryChatMessageHistory([SystemMessage("be brief")])
    memory = ConversationSummaryMemory(llm=writer("One."), chat_memory=history, return_messages=True)
    save(memory, 1)
    assert memory.load_memory_variables() == {"history": [SystemMessage("be brief\n\nOne.")]}


@given(calls=st.lists(st.integers(0, 3), max_size=8), limit=st.integers(30, 120), length=st.integers(1, 8))
def test_what_is_shown_is_valid_and_fits(calls: list[int], limit: int, length: int) -> None:
    """Whatever was said, and however often it is read in between."""
    memory = ConversationSummaryBufferMemory(
        llm=writer(*["word " * length] * 40), max_token_limit=limit, return_messages=True
    )
    for index, count in enumerate(calls):
        made: Any = [{"name": "look", "args": {}, "id": f"{index}.{call}"} for call in range(count)]
        results = [ToolMessage("seen", tool_call_id=call["id"]) for call in made]
        asking = [AIMessage("", tool_calls=made)] if made else []
        memory.save_context({"q": f"question {index}"}, {"a": [*asking, *results, AIMessage("answer")]})
        shown = memory.load_memory_variables()["history"]
        assert validate_history(shown) == []
        assert count_tokens_approximately(shown) <= limit
