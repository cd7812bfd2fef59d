"""Chains as their users write them, for type checkers only: see `snippets.py`."""

# pyright: strict

from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_type

from hocket import AIMessage, BaseChatModel, RunnableConfig
from hocket.prompts import ChatPromptTemplate
from hocket.runnables import (
    Runnable,
    RunnableAssign,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnableSerializable,
)


def double(number: int) -> int:
    return 2 * number


async def ask_later(number: int) -> str:
    return str(number)


def with_config(number: int, config: RunnableConfig) -> str:
    return f"{config.get('run_name')} {number}"


def shout(pieces: Iterator[str]) -> Iterator[str]:
    for piece in pieces:
        yield piece.upper()


async def ashout(pieces: AsyncIterator[str]) -> AsyncIterator[str]:
    async for piece in pieces:
        yield piece.upper()


# -- branches that agree on their input give the type of the whole


async def side_by_side() -> None:
    one = RunnableParallel(a=double)
    assert_type(one, RunnableParallel[int])
    assert_type(await one.ainvoke(2), dict[str, Any])
    assert_type(one.invoke(2)["a"], Any)
    assert_type(RunnableParallel({"a": double, "b": ask_later}), RunnableParallel[int])
    assert_type(RunnableParallel({"a": double}, b=RunnableLambda(double)), RunnableParallel[int])


async def of_any_input(model: BaseChatModel) -> None:
    """Where they do not agree, or do not say, it is anything."""
    assert_type(RunnableParallel(a=lambda given: given["a"]), RunnableParallel[Any])
    assert_type(RunnableParallel(a=with_config), RunnableParallel[Any])
    assert_type(RunnableParallel(a=shout, b=ashout), RunnableParallel[Any])
    assert_type(RunnableParallel(answer=model, doubled=double), RunnableParallel[Any])
    assert_type(RunnableParallel(answer=model, more={"a": double}), RunnableParallel[Any])
    assert_type(RunnableParallel[str](answer=model, length=len), RunnableParallel[str])


# -- more in a mapping


async def passed_on(model: BaseChatModel) -> None:
    assert_type(await RunnablePassthrough().ainvoke({"a": 1}), Any)
    assert_type(await RunnablePassthrough[str]().ainvoke("a"), str)
    more = RunnablePassthrough.assign(length=lambda given: len(given["text"]), answer=model)
    assert_type(more, RunnableAssign)
    assert_type(await more.ainvoke({"text": "a"}), dict[str, Any])
    assert_type(more.invoke({"text": "a"})["length"], Any)
    async for piece in more.astream({"text": "a"}):
        assert_type(piece, dict[str, Any])
    asked = more | ChatPromptTemplate.from_template("{text}: {length}") | model
    assert_type(asked, RunnableSerializable[dict[str, Any], AIMessage])
    chain: Runnable[dict[str, Any], dict[str, Any]] = more
    assert_type(await chain.assign(more=double).ainvoke({"text": "a"}), dict[str, Any])
    assert_type(await (chain | RunnableParallel(a=RunnablePassthrough())).ainvoke({"text": "a"}), dict[str, Any])
