"""Memories that others write: LangChain's sync verbs suffice, and a chain hands on what a verb takes."""

from collections.abc import Mapping
from typing import Any

import pytest

from hocket import FakeListChatModel
from hocket.classic.chains import LLMChain
from hocket.classic.memory import BaseMemory, ConversationBufferMemory
from hocket.errors import InvalidHook
from hocket.prompts import PromptTemplate


class SyncMemory(BaseMemory):
    """As it is written for LangChain."""

    def __init__(self) -> None:
        self.said: list[str] = []

    @property
    def memory_variables(self) -> list[str]:
        return ["history"]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]
        return {"history": " ".join(self.said)}

    def save_context(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> None:
        self.said += [*map(str, inputs.values()), *map(str, outputs.values())]

    def clear(self) -> None:
        self.said.clear()


class AsyncMemory(BaseMemory):
    """With async verbs, which take no config either."""

    def __init__(self) -> None:
        self.said: list[str] = []

    @property
    def memory_variables(self) -> list[str]:
        return ["history"]

    async def aload_memory_variables(self, inputs: Any) -> dict[str, Any]:  # type: ignore[override]
        return {"history": " ".join(self.said)}

    async def asave_context(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> None:
        self.said += [*map(str, inputs.values()), *map(str, outputs.values())]

    async def aclear(self) -> None:
        self.said.clear()


def remember(memory: BaseMemory) -> LLMChain:
    prompt = PromptTemplate.from_template("{history}|{question}")
    return LLMChain(llm=FakeListChatModel(responses=["one", "two"]), prompt=prompt, memory=memory)


@pytest.mark.parametrize("kind", [SyncMemory, AsyncMemory])
async def test_a_memory_written_for_langchain_serves_a_chain(kind: type[SyncMemory | AsyncMemory]) -> None:
    """Without a parameter for the config, by async verbs and by sync ones."""
    memory = kind()
    chain = remember(memory)
    await chain.ainvoke({"question": "a"})
    assert await memory.aload_memory_variables({}) == {"history": "a one"}
    await chain.ainvoke({"question": "b"})
    assert memory.said == ["a", "one", "b", "two"]
    await memory.aclear()
    assert memory.said == []


@pytest.mark.parametrize("kind", [SyncMemory, AsyncMemory])
def test_a_memory_written_for_langchain_serves_sync_code(kind: type[SyncMemory | AsyncMemory]) -> None:
    memory = kind()
    remember(memory).invoke({"question": "a"})
    assert memory.load_memory_variables({}) == {"history": "a one"}


async def test_a_memory_that_takes_the_config_gets_it() -> None:
    seen: list[Any] = []

    class Seeing(ConversationBufferMemory):
        def load_memory_variables(self, inputs: Any = None, config: Any = None) -> dict[str, Any]:
            seen.append(config["tags"])
            return {"history": ""}

    await remember(Seeing()).ainvoke({"question": "a"}, {"tags": ["x"]})
    assert seen == [["x"]]


def test_a_memory_without_a_verb_is_refused() -> None:
    class Mute(SyncMemory):
        save_context = BaseMemory.save_context

    with pytest.raises(InvalidHook, match=r"Mute does nothing: define asave_context \(async\) or save_context"):
        Mute()
