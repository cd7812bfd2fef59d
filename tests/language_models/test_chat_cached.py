"""A chat model with a cache and a rate limiter: what a hit costs, and when the limiter is asked."""

from typing import Any

import pytest
from pydantic import Field

from hocket import (
    AIMessage,
    BaseChatModel,
    ChatGeneration,
    ChatResult,
    Generation,
    HumanMessage,
    InMemoryCache,
    SystemMessage,
)
from tests.kit import CountingLimiter


class Cache(InMemoryCache):
    """Notes what it is asked."""

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self.log = log

    def lookup(self, prompt: str, llm_string: str) -> Any:
        self.log.append("lookup")
        return super().lookup(prompt, llm_string)

    async def alookup(self, prompt: str, llm_string: str) -> Any:
        return self.lookup(prompt, llm_string)

    def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
        self.log.append("update")
        super().update(prompt, llm_string, return_val)

    async def aupdate(self, prompt: str, llm_string: str, return_val: Any) -> None:
        self.update(prompt, llm_string, return_val)


class Answering(BaseChatModel):
    """Notes when its hook is asked; answers with a usage."""

    log: Any = Field(default=None, exclude=True)
    fails: bool = Field(default=False, exclude=True)

    def _generate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        self.log.append("hook")
        if self.fails:
            raise ConnectionError("refused")
        usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("yes", usage_metadata=usage))])

    @property
    def _llm_type(self) -> str:
        return "answering"


@pytest.fixture
def log() -> list[str]:
    """What happened, in order."""
    return []


@pytest.fixture
def model(log: list[str]) -> Answering:
    """A model with a cache and a limiter, that all write to the log."""
    return Answering(cache=Cache(log), rate_limiter=CountingLimiter(log), log=log)


MISS = ["lookup", "limit True", "hook", "update"]


async def test_a_hit_asks_neither_limiter_nor_hook(model: Answering, log: list[str]) -> None:
    """BCM-02, BCM-40, BCM-47: cache, then limiter, then hook, then update; a hit waits for nobody."""
    await model.ainvoke("hi")
    await model.ainvoke("hi")
    assert log == [*MISS, "lookup"]


def test_the_same_in_sync_code(model: Answering, log: list[str]) -> None:
    """BCM-02, BCM-40, BCM-47: one path for both."""
    model.invoke("hi")
    model.invoke("hi")
    assert log == [*MISS, "lookup"]


async def test_one_permit_for_each_request(model: Answering, log: list[str]) -> None:
    """BCM-02: each conversation that is not in the cache takes one."""
    await model.agenerate([[HumanMessage(text)] for text in "xyz"])
    [chunk async for chunk in model.astream("w")]
    assert log.count("limit True") == log.count("hook") == 4


async def test_a_failure_is_not_stored(model: Answering, log: list[str]) -> None:
    """BCM-47: only an answer is."""
    model.fails = True
    with pytest.raises(ConnectionError):
        await model.ainvoke("hi")
    assert "update" not in log


async def test_a_hit_is_a_copy_with_an_id_of_its_own(model: Answering) -> None:
    """BCM-39: equal, not the same object, of its own run, flagged, and free of charge."""
    first, second = await model.ainvoke("hi"), await model.ainvoke("hi")
    assert (first.content, first.usage_metadata["total_tokens"]) == (second.content, 3)  # type: ignore[index]
    assert first.id != second.id
    assert second.response_metadata["cache_hit"] is True
    assert second.usage_metadata["total_cost"] == 0  # type: ignore[index, typeddict-item]
    second.content = "edited"
    assert (await model.ainvoke("hi")).content == "yes"


async def test_the_ids_of_messages_do_not_count(model: Answering, log: list[str]) -> None:
    """BCM-36: the same conversation with other ids is the same question; with another text it is another."""
    await model.ainvoke([SystemMessage("s", id="1"), HumanMessage("hi", id="2")])
    await model.ainvoke([SystemMessage("s", id="3"), HumanMessage("hi")])
    assert log.count("hook") == 1
    await model.ainvoke([SystemMessage("s"), HumanMessage("ho")])
    assert log.count("hook") == 2


@pytest.mark.parametrize("options", [{"temperature": 1}, {"stop": ["."]}, {"tools": [{"name": "f"}]}], ids=str)
async def test_what_changes_the_answer_is_another_question(model: Answering, log: list[str], options: Any) -> None:
    """BCM-37: a call's own arguments are part of the key."""
    await model.ainvoke("hi")
    await model.ainvoke("hi", **options)
    assert log.count("hook") == 2


@pytest.mark.parametrize("stored", [(), "yes", {"text": "yes"}, (Generation(text="no"),)], ids=repr)
async def test_only_a_list_is_a_hit(model: Answering, log: list[str], stored: Any) -> None:
    """BCM-39: anything else that a cache gives counts as nothing."""

    class Odd(Cache):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            return stored

    model.cache = Odd(log)
    assert (await model.ainvoke("hi")).content == "yes"
    assert log.count("hook") == 1


async def test_a_text_in_the_cache_becomes_a_message(model: Answering, log: list[str]) -> None:
    """BCM-39: what another program stored as text is answered as a message."""

    class Texts(Cache):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            return [Generation(text="stored")]

    model.cache = Texts(log)
    answer = await model.ainvoke("hi")
    assert (answer.content, type(answer)) == ("stored", AIMessage)
    assert log == []


async def test_a_hit_is_a_run(model: Answering, recorder: Any) -> None:
    """BCM-39: handlers hear start, hit and end of a call that the cache answers."""
    await model.ainvoke("hi")
    await model.ainvoke("hi", {"callbacks": [recorder]})
    assert recorder.names == ["on_chat_model_start", "on_cache_hit", "on_llm_end"]


async def test_the_named_entries_below_a_run(model: Answering, log: list[str], recorder: Any) -> None:
    """`_agenerate_with_cache` and `_generate_with_cache`: lookup, limiter, hook, update, and no run of their own."""
    result = await model._agenerate_with_cache([HumanMessage("hi")])
    assert [candidate.text for candidate in result.generations] == ["yes"]
    assert log == MISS
