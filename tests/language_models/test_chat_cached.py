"""A chat model with a cache and a rate limiter: what a hit costs, and when the limiter is asked."""

from typing import Any

import pytest

from hocket import (
    AIMessage,
    Generation,
    HumanMessage,
    InMemoryCache,
    SystemMessage,
)
from tests.kit import CountingLimiter, HookCall, hook_model


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


@pytest.fixture
def log() -> list[str]:
    """What happened, in order."""
    return []


@pytest.fixture
def model(log: list[str]) -> Any:
    """A model with a cache and a limiter, that all write to the log; it answers with a usage."""
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}

    def answer(call: HookCall) -> AIMessage:
        log.append("hook")
        return AIMessage("yes", usage_metadata=usage)

    return hook_model(answer, "generate", cache=Cache(log), rate_limiter=CountingLimiter(log))


MISS = ["lookup", "limit True", "hook", "update"]


async def test_a_hit_asks_neither_limiter_nor_hook(model: Any, log: list[str]) -> None:
    """BCM-02, BCM-40, BCM-47: cache, then limiter, then hook, then update; a hit waits for nobody."""
    await model.ainvoke("hi")
    await model.ainvoke("hi")
    assert log == [*MISS, "lookup"]


def test_the_same_in_sync_code(model: Any, log: list[str]) -> None:
    """BCM-02, BCM-40, BCM-47: one path for both."""
    model.invoke("hi")
    model.invoke("hi")
    assert log == [*MISS, "lookup"]


async def test_one_permit_for_each_request(model: Any, log: list[str]) -> None:
    """BCM-02: each conversation that is not in the cache takes one."""
    await model.agenerate([[HumanMessage(text)] for text in "xyz"])
    [chunk async for chunk in model.astream("w")]
    assert log.count("limit True") == log.count("hook") == 4


async def test_a_failure_is_not_stored(model: Any, log: list[str]) -> None:
    """BCM-47: only an answer is."""
    model.do = ConnectionError("refused")
    with pytest.raises(ConnectionError):
        await model.ainvoke("hi")
    assert model.requests and "update" not in log


async def test_a_hit_is_a_copy_with_an_id_of_its_own(model: Any) -> None:
    """BCM-39: equal, not the same object, of its own run, flagged, and free of charge."""
    first, second = await model.ainvoke("hi"), await model.ainvoke("hi")
    assert (first.content, first.usage_metadata["total_tokens"]) == (second.content, 3)  # type: ignore[index]
    assert first.id != second.id
    assert second.response_metadata["cache_hit"] is True
    assert second.usage_metadata["total_cost"] == 0  # type: ignore[index, typeddict-item]
    second.content = "edited"
    assert (await model.ainvoke("hi")).content == "yes"


async def test_the_ids_of_messages_do_not_count(model: Any, log: list[str]) -> None:
    """BCM-36: the same conversation with other ids is the same question; with another text it is another."""
    await model.ainvoke([SystemMessage("s", id="1"), HumanMessage("hi", id="2")])
    await model.ainvoke([SystemMessage("s", id="3"), HumanMessage("hi")])
    assert log.count("hook") == 1
    await model.ainvoke([SystemMessage("s"), HumanMessage("ho")])
    assert log.count("hook") == 2


@pytest.mark.parametrize("options", [{"temperature": 1}, {"stop": ["."]}, {"tools": [{"name": "f"}]}], ids=str)
async def test_what_changes_the_answer_is_another_question(model: Any, log: list[str], options: Any) -> None:
    """BCM-37: a call's own arguments are part of the key."""
    await model.ainvoke("hi")
    await model.ainvoke("hi", **options)
    assert log.count("hook") == 2


@pytest.mark.parametrize("stored", [(), "yes", {"text": "yes"}, (Generation(text="no"),)], ids=repr)
async def test_only_a_list_is_a_hit(model: Any, log: list[str], stored: Any) -> None:
    """BCM-39: anything else that a cache gives counts as nothing."""

    class Odd(Cache):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            return stored

    model.cache = Odd(log)
    assert (await model.ainvoke("hi")).content == "yes"
    assert log.count("hook") == 1


async def test_a_text_in_the_cache_becomes_a_message(model: Any, log: list[str]) -> None:
    """BCM-39: what another program stored as text is answered as a message."""

    class Texts(Cache):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            return [Generation(text="stored")]

    model.cache = Texts(log)
    answer = await model.ainvoke("hi")
    assert (answer.content, type(answer)) == ("stored", AIMessage)
    assert log == []


async def test_a_hit_is_a_run(model: Any, recorder: Any) -> None:
    """BCM-39: handlers hear start, hit and end of a call that the cache answers."""
    await model.ainvoke("hi")
    await model.ainvoke("hi", {"callbacks": [recorder]})
    assert recorder.names == ["on_chat_model_start", "on_cache_hit", "on_llm_end"]


async def test_the_named_entries_below_a_run(model: Any, log: list[str], recorder: Any) -> None:
    """`_agenerate_with_cache` and `_generate_with_cache`: lookup, limiter, hook, update, and no run of their own."""
    result = await model._agenerate_with_cache([HumanMessage("hi")])
    assert [candidate.text for candidate in result.generations] == ["yes"]
    assert log == MISS
