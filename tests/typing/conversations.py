"""Conversations, histories, caches, parsers and embeddings as their users write them, for type checkers only.

Nothing here is run. See `snippets.py`.
"""

# pyright: strict

from collections.abc import AsyncIterator, Sequence
from typing import Any, assert_type

from pydantic import BaseModel

from hocket import AIMessage, AIMessageChunk, BaseChatModel, BaseMessage, Generation, HumanMessage
from hocket.caches import BaseCache, InMemoryCache
from hocket.callbacks import get_usage_metadata_callback
from hocket.chat_history import (
    BaseChatMessageHistory,
    InMemoryChatMessageHistory,
    alist_sessions,
    list_sessions,
    open_history,
)
from hocket.conversation import Conversation
from hocket.embeddings import Embeddings
from hocket.messages import filter_messages, merge_message_runs, messages_to_dict, trim_messages
from hocket.output_parsers import CommaSeparatedListOutputParser, JsonOutputParser, PydanticOutputParser
from hocket.prompts import ChatPromptTemplate, MessagesPlaceholder
from hocket.runnables import EventStream, RunnableParallel, RunnableWithMessageHistory
from hocket.tools import arun_tool_calls, tool

# -- conversations


async def talk(model: BaseChatModel) -> None:
    conversation = Conversation(model, system="Be brief.")
    assert_type(await conversation.asend("hi"), AIMessage)
    assert_type(conversation.send(HumanMessage("hi")), AIMessage)
    assert_type(conversation.history, BaseChatMessageHistory)
    stream = conversation.astream("hi")
    async for chunk in stream:
        assert_type(chunk, AIMessageChunk)
    assert_type(stream.message, AIMessage)
    for chunk in conversation.stream("hi"):
        assert_type(chunk, AIMessageChunk)


# -- histories


class ListHistory(BaseChatMessageHistory):
    def __init__(self) -> None:
        self.kept: list[BaseMessage] = []

    @property
    def messages(self) -> list[BaseMessage]:
        return self.kept

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        self.kept.extend(messages)

    def clear(self) -> None:
        self.kept.clear()


async def histories(model: BaseChatModel) -> None:
    history = open_history("chat.db", "me")
    assert_type(history, BaseChatMessageHistory)
    assert_type(await history.aget_messages(), list[BaseMessage])
    await history.aadd_messages([HumanMessage("hi"), AIMessage("ho")])
    history.add_user_message("hi")
    assert_type(InMemoryChatMessageHistory().messages, list[BaseMessage])
    assert_type(list_sessions("chat.db"), list[str])
    assert_type(await alist_sessions("chat.db"), list[str])
    await Conversation(model, history=ListHistory()).asend("hi")


async def a_chain_with_a_history(model: BaseChatModel) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{question}")]
    )
    sessions: dict[str, ListHistory] = {}

    def session(session_id: str) -> BaseChatMessageHistory:
        return sessions.setdefault(session_id, ListHistory())

    chain = RunnableWithMessageHistory(
        prompt | model, session, input_messages_key="question", history_messages_key="history"
    )
    await chain.ainvoke({"question": "hi"}, {"configurable": {"session_id": "me"}})


def messages(history: list[BaseMessage], model: BaseChatModel) -> None:
    assert_type(trim_messages(history, max_tokens=30, token_counter="approximate"), list[BaseMessage])
    assert_type(trim_messages(history, max_tokens=30, token_counter=model), list[BaseMessage])
    assert_type(filter_messages(history, include_types=["human", AIMessage]), list[BaseMessage])
    assert_type(merge_message_runs(history), list[BaseMessage])
    assert_type(messages_to_dict(history), list[dict[str, Any]])
    assert_type(ChatPromptTemplate.from_template("{a}") + AIMessage("hi"), ChatPromptTemplate)
    assert_type(AIMessageChunk("a") + AIMessageChunk("b"), AIMessageChunk)


# -- caches, usage


class OwnCache(BaseCache):
    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], Sequence[Generation]] = {}

    def lookup(self, prompt: str, llm_string: str) -> Sequence[Generation] | None:
        return self.entries.get((prompt, llm_string))

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        self.entries[prompt, llm_string] = return_val

    def clear(self, **kwargs: Any) -> None:
        self.entries.clear()


async def caches(prompt: str) -> None:
    caches: list[BaseCache] = [InMemoryCache(maxsize=100), OwnCache()]
    for cache in caches:
        assert_type(cache.lookup(prompt, "model"), Sequence[Generation] | None)
        assert_type(await cache.alookup(prompt, "model"), Sequence[Generation] | None)
        await cache.aupdate(prompt, "model", [Generation(text="hi")])
        await cache.aclear()
    assert_type(InMemoryCache().lookup(prompt, "model"), list[Generation] | None)


async def usage(model: BaseChatModel) -> None:
    with get_usage_metadata_callback() as counted:
        answer = await model.ainvoke("hi")
    assert_type(counted.usage_metadata["model"]["total_tokens"], int)
    if answer.usage_metadata is not None:
        assert_type(answer.usage_metadata["input_tokens"], int)


# -- parsers


class City(BaseModel):
    name: str


async def parsed(model: BaseChatModel) -> None:
    prompt = ChatPromptTemplate.from_template("Name {what}.")
    names = prompt | model | CommaSeparatedListOutputParser()
    assert_type(await names.ainvoke({"what": "cities"}), list[str])
    city = prompt | model | PydanticOutputParser(pydantic_object=City)
    assert_type(await city.ainvoke({"what": "a city"}), City)
    assert_type(await city.abatch([{"what": "a city"}]), list[City])
    print(await (prompt | model | JsonOutputParser()).ainvoke({"what": "a city"}))


async def at_once(model: BaseChatModel) -> None:
    both = RunnableParallel[str](answer=model, length=len)
    assert_type(await both.ainvoke("hi"), dict[str, Any])
    assert_type(model.astream_events("hi"), EventStream[AIMessage])


# -- tools, by hand


@tool
def forecast(city: str) -> str:
    """Say how the weather will be."""
    return f"Sunny in {city}."


async def a_loop_of_tools(model: BaseChatModel, conversation: list[BaseMessage]) -> AIMessage:
    bound = model.bind_tools([forecast])
    answer = await bound.ainvoke(conversation)
    while answer.tool_calls:
        assert_type(answer.tool_calls[0]["name"], str)
        assert_type(answer.tool_calls[0]["args"], dict[str, Any])
        conversation += [answer, *await arun_tool_calls(answer, [forecast])]
        answer = await bound.ainvoke(conversation)
    return answer


async def chunks_with_calls(model: BaseChatModel) -> AsyncIterator[str]:
    async for chunk in model.bind_tools([forecast]).astream("Oslo?"):
        for call in chunk.tool_calls:
            yield call["name"]


# -- vectors


async def vectors(embeddings: Embeddings) -> None:
    assert_type(await embeddings.aembed_query("hi"), list[float])
    assert_type(await embeddings.aembed_documents(["hi", "ho"]), list[list[float]])
    assert_type(embeddings.embed_query("hi"), list[float])
