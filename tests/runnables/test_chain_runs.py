"""The runs of chains, as handlers see them."""

from typing import Any
from uuid import uuid4

import pytest

from hocket import AsyncCallbackHandler, BaseCallbackHandler, FakeListChatModel, ScriptedChatModel
from hocket.errors import RateLimitError
from hocket.runnables import RunnableBranch, RunnableLambda, RunnableParallel, RunnablePassthrough, chain


def refuse(message: Any) -> Any:
    raise ValueError("refused")


async def refuse_pieces(pieces: Any) -> Any:
    async for _ in pieces:
        raise RateLimitError("refused", retryable=True)
        yield


async def identity(value: Any) -> Any:
    return value


async def test_runs_have_names_and_tags() -> None:
    """Those of langchain-core: what it is a step, a branch or a condition of."""
    tags: dict[str, list[str]] = {}

    class Tags(AsyncCallbackHandler):
        async def on_chain_start(self, serialized: Any, inputs: Any, *, name: str, **details: Any) -> None:
            tags[name] = details["tags"]

    @chain
    async def first(value: Any) -> Any:
        return value

    @chain
    async def is_big(value: Any) -> bool:
        return value > 5

    branch = RunnableBranch((is_big, RunnableLambda(identity, name="big")), RunnableLambda(identity, name="small"))
    whole = first | {"one": RunnableLambda(identity, name="side"), "two": branch}
    await whole.ainvoke(9, {"callbacks": [Tags()], "tags": ["all"], "run_name": "whole"})
    assert tags == {
        "whole": ["all"],
        "first": ["all", "seq:step:1"],
        "RunnableParallel<one,two>": ["all", "seq:step:2"],
        "side": ["all", "map:key:one"],
        "RunnableBranch": ["all", "map:key:two"],
        "is_big": ["all", "condition:1"],
        "big": ["all", "branch:1"],
    }


async def test_a_run_id_is_for_the_outermost_run(new_recording: Any) -> None:
    """And inputs and outputs are told as they are."""
    recording, run_id = new_recording(), uuid4()
    whole = RunnableLambda(identity) | RunnableLambda(lambda text: text + "!")
    assert await whole.ainvoke("hi", {"callbacks": [recording], "run_id": run_id}) == "hi!"
    assert recording.starts[0] == run_id
    assert len(set(recording.starts)) == 3
    assert recording.told == [("in", "hi"), ("in", "hi"), ("out", "hi"), ("in", "hi"), ("out", "hi!"), ("out", "hi!")]


async def test_a_step_that_refuses_does_not_fail_the_model_before_it(new_recording: Any) -> None:
    """The model has done its work: it ended, or was left; and it is not asked again."""
    for behind, how in ((refuse, "end"), (refuse_pieces, "closed")):
        model = ScriptedChatModel(script=["one", "two"]).with_retry()
        recording = new_recording()
        with pytest.raises((ValueError, RateLimitError), match="refused"):
            async for _ in (model | behind).astream("hi", {"callbacks": [recording]}):
                pass
        recording.check()
        assert recording.outcomes()["ScriptedChatModel"] == how
        assert len(model.requests) == 1


async def test_a_fallback_is_not_asked_for_what_is_behind_it(new_recording: Any) -> None:
    """A parser that refuses is no failure of the model."""
    fallback = ScriptedChatModel(script=["other"])
    model = ScriptedChatModel(script=["one"]).with_fallbacks([fallback])
    with pytest.raises(RateLimitError, match="refused"):
        async for _ in (model | refuse_pieces).astream("hi"):
            pass
    assert not fallback.requests


async def test_a_handler_cannot_change_what_passes() -> None:
    """It gets copies."""

    class Meddling(BaseCallbackHandler):
        run_inline = True

        def on_chain_start(self, serialized: Any, inputs: Any, **details: Any) -> None:
            inputs["messages"].clear()

        def on_chain_end(self, outputs: Any, **details: Any) -> None:
            outputs["messages"].append("meddled")

    given = {"messages": ["hi"]}
    assert await RunnablePassthrough().ainvoke(given, {"callbacks": [Meddling()]}) == {"messages": ["hi"]}
    assert given == {"messages": ["hi"]}


async def test_a_handler_that_insists_fails_the_run(new_recording: Any) -> None:
    """At the start and at the end; every run of the others still ends once."""

    class Insisting(BaseCallbackHandler):
        raise_error = True

        def __init__(self, event: str) -> None:
            setattr(self, event, self.fail)

        def fail(self, *args: Any, **details: Any) -> None:
            raise KeyError("insists")

    for event in ("on_chain_start", "on_chain_end", "on_chain_chunk"):
        recording = new_recording()
        whole = RunnableLambda(identity) | identity
        with pytest.raises(KeyError, match="insists"):
            async for _ in whole.astream("hi", {"callbacks": [Insisting(event), recording]}):
                pass
        recording.check()


async def test_a_sync_chain_is_watched_by_async_handlers_too(new_recording: Any) -> None:
    """One way for both."""
    import anyio

    recording = new_recording()
    whole = RunnableParallel(a=FakeListChatModel(responses=["x"]), b=str.upper) | (lambda both: both["b"])
    assert await anyio.to_thread.run_sync(lambda: whole.invoke("hi", {"callbacks": [recording]})) == "HI"
    recording.check()


async def test_nothing_is_made_for_nobody() -> None:
    """Without handlers there are no runs, no ids, and no config to hand on."""
    seen: list[Any] = []

    def look(value: Any, config: Any) -> Any:
        seen.append(config)
        return value

    await (RunnableLambda(identity) | RunnableLambda(look, inline=True)).ainvoke(1)
    assert seen == [{}]
