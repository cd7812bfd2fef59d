"""Functions that are told of the runs of one runnable."""

from typing import Any

import anyio.lowlevel
import pytest

from hocket import FakeListChatModel
from hocket.runnables import Run, RunnableConfig, RunnableLambda


def inner(text: str) -> str:
    return text.upper()


async def outer(text: str) -> str:
    if text == "bad":
        raise KeyError("broken")
    return await RunnableLambda(inner).ainvoke(text)


async def test_start_and_end_are_told_once() -> None:
    """Of the runnable itself, not of what runs inside; each call has a run of its own."""
    told: list[tuple[str, Any, Any]] = []
    listened = RunnableLambda(outer).with_listeners(
        on_start=lambda run: told.append(("start", run.name, run.inputs)),
        on_end=lambda run: told.append(("end", run.inputs, run.outputs)),
        on_error=lambda run: told.append(("error", run.inputs, type(run.error))),
    )
    assert await listened.abatch(["a", "b"], {"max_concurrency": 1}) == ["A", "B"]
    with pytest.raises(KeyError):
        await listened.ainvoke("bad")
    assert told == [
        ("start", "outer", "a"),
        ("end", "a", "A"),
        ("start", "outer", "b"),
        ("end", "b", "B"),
        ("start", "outer", "bad"),
        ("error", "bad", KeyError),
    ]


async def test_coroutine_functions_are_awaited() -> None:
    """And the config is given to those that take it."""
    told: list[Any] = []

    async def on_end(run: Run, config: RunnableConfig) -> None:
        await anyio.lowlevel.checkpoint()
        told.append((run.outputs, run.end_time is not None, config["metadata"]))

    listened = RunnableLambda(outer).with_alisteners(on_end=on_end)
    assert await (listened | str.lower).ainvoke("a", {"metadata": {"m": 1}}) == "a"
    assert told == [("A", True, {"m": 1})]


def test_sync_code_is_told_in_its_own_thread() -> None:
    """Of models, too, in pieces or whole."""
    told: list[Any] = []
    listened = FakeListChatModel(responses=["yes"]).with_listeners(on_end=lambda run: told.append(run.run_type))
    assert listened.invoke("hi").content == "yes"
    assert "".join(chunk.text for chunk in listened.stream("hi")) == "yes"
    assert told == ["chat_model", "chat_model"]
