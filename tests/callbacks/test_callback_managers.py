"""Managers used by hand, as LangChain's users do for runs of their own."""

from uuid import uuid4

import anyio
import pytest

from hocket.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForLLMRun,
    AsyncCallbackManagerForRetrieverRun,
    AsyncCallbackManagerForToolRun,
    BaseCallbackHandler,
    CallbackManager,
    CallbackManagerForChainRun,
    CallbackManagerForLLMRun,
    CallbackManagerForRetrieverRun,
    CallbackManagerForToolRun,
)
from hocket.messages import HumanMessage
from hocket.outputs import Generation, GenerationChunk, LLMResult
from tests.kit import Event, Recorder

EVENTS = [name for name in dir(BaseCallbackHandler) if name.startswith("on_")]
RESULT = LLMResult(generations=[[Generation(text="hi")]])


def test_a_run_of_everything_in_sync_code() -> None:
    """Every start returns its run manager; what is told of a run carries its id, its parent's and its tags."""
    recorder, chain_id = Recorder(), uuid4()
    manager = CallbackManager.configure([recorder], None, False, ["t"], None, {"m": 1})
    chain = manager.on_chain_start({"name": "chain"}, {"x": 1}, run_id=chain_id, name="mine")
    assert type(chain) is CallbackManagerForChainRun and chain.run_id == chain_id
    child = chain.get_child("step")
    assert type(child) is CallbackManager

    (llm, other) = child.on_llm_start({"name": "llm"}, ["a", "b"], invocation_params={"n": 1})
    assert type(llm) is CallbackManagerForLLMRun
    llm.on_llm_new_token("h", chunk=GenerationChunk(text="h"))
    llm.on_llm_end(RESULT)
    other.on_llm_error(ValueError("no"))
    (chat,) = child.on_chat_model_start({}, [[HumanMessage("x")]], run_id=(chat_id := uuid4()))
    assert chat.run_id == chat_id
    chat.on_llm_end(RESULT, closed=True)
    tool = child.on_tool_start({"name": "tool"}, "in", inputs={"a": 1})
    assert type(tool) is CallbackManagerForToolRun
    tool.on_tool_end("out")
    tool = child.on_tool_start({"name": "tool"}, "in", parent_run_id=(elsewhere := uuid4()))
    tool.on_tool_error(ValueError("no"))
    retriever = child.on_retriever_start({"name": "retriever"}, "query")
    assert type(retriever) is CallbackManagerForRetrieverRun
    retriever.on_retriever_end(["document"])
    child.on_retriever_start({}, "query").on_retriever_error(ValueError("no"))
    chain.on_agent_action("action")
    chain.on_agent_finish("finish")
    chain.on_text("text", end="!")
    chain.on_retry("state")
    chain.on_chain_end({"y": 2})
    manager.on_chain_start({}, {}).on_chain_error(ValueError("no"))

    first, second = recorder.events[:2]
    assert first == (
        "on_chain_start",
        ({"name": "chain"}, {"x": 1}),
        {"run_id": chain_id, "parent_run_id": None, "tags": ["t"], "metadata": {"m": 1}, "name": "mine"},
    )
    assert second == (
        "on_llm_start",
        ({"name": "llm"}, ["a"]),
        {
            "run_id": llm.run_id,
            "parent_run_id": chain_id,
            "tags": ["t", "step"],
            "metadata": {"m": 1},
            "invocation_params": {"n": 1},
        },
    )
    tools = [event.details for event in recorder.named("on_tool_start")]
    assert (tools[0]["inputs"], tools[0]["parent_run_id"]) == ({"a": 1}, chain_id)
    assert (tools[1]["inputs"], tools[1]["parent_run_id"]) == (None, elsewhere)
    assert (
        "on_text",
        ("text",),
        {"run_id": chain_id, "parent_run_id": None, "tags": ["t"], "end": "!"},
    ) in recorder.events
    told = set(recorder.names)
    assert told == set(EVENTS) - {
        "on_custom_event",
        "on_chain_chunk",
        "on_first_token",
        "on_cache_hit",
        "on_limiter_wait",
        "on_offload",
        "on_downgrade",
        "on_embeddings_start",
        "on_embeddings_end",
        "on_embeddings_error",
    }


async def test_the_same_under_an_event_loop() -> None:
    """The async manager's methods are awaited, and its runs are of the async classes."""
    recorder = Recorder()
    manager = AsyncCallbackManager.configure([recorder])
    chain = await manager.on_chain_start({"name": "chain"}, {"x": 1})
    assert type(chain) is AsyncCallbackManagerForChainRun
    child = chain.get_child()
    assert type(child) is AsyncCallbackManager
    (llm,) = await child.on_llm_start({}, ["a"])
    assert type(llm) is AsyncCallbackManagerForLLMRun
    await llm.on_llm_new_token("h")
    await llm.on_llm_end(RESULT)
    tool = await child.on_tool_start({}, "in")
    assert type(tool) is AsyncCallbackManagerForToolRun
    await tool.on_tool_end("out")
    retriever = await child.on_retriever_start({}, "query")
    assert type(retriever) is AsyncCallbackManagerForRetrieverRun
    await retriever.on_retriever_end([])
    await chain.on_text("text")
    await chain.on_chain_end({})

    assert recorder.names == [
        "on_chain_start",
        "on_llm_start",
        "on_llm_new_token",
        "on_llm_end",
        "on_tool_start",
        "on_tool_end",
        "on_retriever_start",
        "on_retriever_end",
        "on_text",
        "on_chain_end",
    ]
    parents = {name: kwargs["parent_run_id"] for name, _, kwargs in recorder.events}
    assert parents["on_chain_end"] is None
    assert parents["on_llm_end"] == parents["on_tool_end"] == parents["on_retriever_end"] == chain.run_id


async def test_an_async_run_has_a_sync_form() -> None:
    """`get_sync`: the same run, for sync code such as a hook in a worker thread."""
    recorder = Recorder()
    chain = await AsyncCallbackManager([recorder], tags=["t"]).on_chain_start({}, {})
    sync = chain.get_sync()
    assert type(sync) is CallbackManagerForChainRun
    await anyio.to_thread.run_sync(sync.on_text, "from a thread")
    assert type(sync.get_child()) is CallbackManager
    (name, args, kwargs) = recorder.events[-1]
    assert (name, args, kwargs["run_id"], kwargs["tags"]) == ("on_text", ("from a thread",), chain.run_id, ["t"])


def test_a_run_that_nobody_listens_to() -> None:
    """`get_noop_manager` makes one; everything may be said to it."""
    run = CallbackManagerForLLMRun.get_noop_manager()
    run.on_llm_new_token("x")
    run.on_llm_end(RESULT)
    assert run.handlers == [] and run.get_child().handlers == []


async def test_the_end_of_a_run_is_told_under_cancellation() -> None:
    """A chain of one's own that is cancelled can say so: the handlers hear of it before the cancellation goes on."""

    recorder = Recorder(run_inline=False)
    with anyio.CancelScope() as scope:
        chain = await AsyncCallbackManager([recorder]).on_chain_start({}, {})
        try:
            scope.cancel()
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class() as error:
            await chain.on_chain_error(error)
            raise
    assert recorder.names == ["on_chain_start", "on_chain_error"]


@pytest.mark.parametrize("raises", [True, False])
async def test_raise_error_reaches_whoever_tells(raises: bool) -> None:
    """A manager used by hand raises what an insisting handler raised, and nothing else."""

    def refuse(event: Event) -> None:
        raise RuntimeError("no")

    handler, recorder = Recorder("on_tool_start", do=refuse, run_inline=False, raise_error=raises), Recorder()
    if raises:
        with pytest.raises(RuntimeError, match="no"):
            await AsyncCallbackManager([handler, recorder]).on_tool_start({}, "x")
        with pytest.raises(RuntimeError, match="no"):
            CallbackManager([handler, recorder]).on_tool_start({}, "x")
    else:
        await AsyncCallbackManager([handler, recorder]).on_tool_start({}, "x")
        CallbackManager([handler, recorder]).on_tool_start({}, "x")
    assert recorder.names == ["on_tool_start"] * 2 and handler.errors == 2
