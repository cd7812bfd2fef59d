"""The runs of chains, as handlers see them."""

from typing import Any
from uuid import uuid4

import pytest

from hocket import FakeListChatModel, ScriptedChatModel
from hocket.errors import RateLimitError
from hocket.runnables import RunnableBranch, RunnableLambda, RunnableParallel, RunnablePassthrough, chain
from tests.kit import Event, Recorder


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
    recorder = Recorder("on_chain_start")

    @chain
    async def first(value: Any) -> Any:
        return value

    @chain
    async def is_big(value: Any) -> bool:
        return value > 5

    branch = RunnableBranch((is_big, RunnableLambda(identity, name="big")), RunnableLambda(identity, name="small"))
    whole = first | {"one": RunnableLambda(identity, name="side"), "two": branch}
    await whole.ainvoke(9, {"callbacks": [recorder], "tags": ["all"], "run_name": "whole"})
    assert {start.details["name"]: start.details["tags"] for start in recorder.events} == {
        "whole": ["all"],
        "first": ["all", "seq:step:1"],
        "RunnableParallel<one,two>": ["all", "seq:step:2"],
        "side": ["all", "map:key:one"],
        "RunnableBranch": ["all", "map:key:two"],
        "is_big": ["all", "condition:1"],
        "big": ["all", "branch:1"],
    }


async def test_a_run_id_is_for_the_outermost_run(new_recorder: Any) -> None:
    """And inputs and outputs are told as they are."""
    recorder, run_id = new_recorder(), uuid4()
    whole = RunnableLambda(identity) | RunnableLambda(lambda text: text + "!")
    assert await whole.ainvoke("hi", {"callbacks": [recorder], "run_id": run_id}) == "hi!"
    assert next(iter(recorder.run_names)) == run_id
    assert len(recorder.run_names) == len(recorder.starts) == 3
    told = [(name.removeprefix("on_chain_"), args[-1]) for name, args, _ in recorder.events]
    assert told == [("start", "hi"), ("start", "hi"), ("end", "hi"), ("start", "hi"), ("end", "hi!"), ("end", "hi!")]


async def test_a_step_that_refuses_does_not_fail_the_model_before_it(new_recorder: Any) -> None:
    """The model has done its work: it ended, or was left; and it is not asked again."""
    for behind, how in ((refuse, "end"), (refuse_pieces, "end closed")):
        model = ScriptedChatModel(script=["one", "two"]).with_retry()
        recorder = new_recorder()
        with pytest.raises((ValueError, RateLimitError), match="refused"):
            async for _ in (model | behind).astream("hi", {"callbacks": [recorder]}):
                pass
        recorder.check()
        assert dict(recorder.outcomes())["ScriptedChatModel"] == how
        assert len(model.requests) == 1


async def test_a_fallback_is_not_asked_for_what_is_behind_it(new_recorder: Any) -> None:
    """A parser that refuses is no failure of the model."""
    fallback = ScriptedChatModel(script=["other"])
    model = ScriptedChatModel(script=["one"]).with_fallbacks([fallback])
    with pytest.raises(RateLimitError, match="refused"):
        async for _ in (model | refuse_pieces).astream("hi"):
            pass
    assert not fallback.requests


async def test_a_handler_cannot_change_what_passes() -> None:
    """It gets copies."""

    def meddle(event: Event) -> None:
        event.args[-1]["messages"].append("meddled")

    meddler = Recorder("on_chain_start", "on_chain_end", do=meddle)
    given = {"messages": ["hi"]}
    assert await RunnablePassthrough().ainvoke(given, {"callbacks": [meddler]}) == {"messages": ["hi"]}
    assert meddler.names == ["on_chain_start", "on_chain_end"]
    assert given == {"messages": ["hi"]}


async def test_a_handler_that_insists_fails_the_run(new_recorder: Any) -> None:
    """At the start and at the end; every run of the others still ends once."""

    def insist(event: Event) -> None:
        raise KeyError("insists")

    for event in ("on_chain_start", "on_chain_end", "on_chain_chunk"):
        recorder, insister = new_recorder(), Recorder(event, do=insist, raise_error=True, run_inline=False)
        whole = RunnableLambda(identity) | identity
        with pytest.raises(KeyError, match="insists"):
            async for _ in whole.astream("hi", {"callbacks": [insister, recorder]}):
                pass
        recorder.check()


async def test_a_sync_chain_is_watched_by_async_handlers_too(new_recorder: Any) -> None:
    """One way for both."""
    import anyio

    recorder = new_recorder()
    whole = RunnableParallel(a=FakeListChatModel(responses=["x"]), b=str.upper) | (lambda both: both["b"])
    assert await anyio.to_thread.run_sync(lambda: whole.invoke("hi", {"callbacks": [recorder]})) == "HI"
    recorder.check()


async def test_nothing_is_made_for_nobody() -> None:
    """Without handlers there are no runs, no ids, and no config to hand on."""
    seen: list[Any] = []

    def look(value: Any, config: Any) -> Any:
        seen.append(config)
        return value

    await (RunnableLambda(identity) | RunnableLambda(look, inline=True)).ainvoke(1)
    assert seen == [{}]
