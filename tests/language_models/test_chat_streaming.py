"""What `astream` yields: when in pieces, with which ids and marks, and that it folds to what `ainvoke` returns."""

from collections.abc import AsyncIterator
from typing import Any, Literal
from uuid import uuid4

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, strategies as st
from pydantic import Field

from hocket import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    Collector,
    InMemoryCache,
    ScriptedChatModel,
    SimpleChatModel,
    Turn,
)
from hocket.errors import EmptyResponse
from hocket.language_models import agenerate_from_stream, generate_from_stream
from tests.kit import HookCall, hook_class, hook_model

WORDS = ["The", " sky", " is", " blue."]
TOOLS = [{"name": "f"}]


def chunk(text: str, **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=text, **fields))


class Streaming(hook_class("agenerate", "astream")):  # type: ignore[misc]
    """Answers either way."""

    do: Any = Field(default=WORDS, exclude=True)
    streaming: bool = False


def only_streaming(**fields: Any) -> Any:
    """Make a model that has no other hook than a stream."""
    return hook_model(WORDS, "astream", **fields)


def only_sync_streaming(**fields: Any) -> Any:
    """The same in sync code."""
    return hook_model(WORDS, "stream", **fields)


PIECES = len(WORDS)
DISABLED: list[tuple[Any, list[Any] | None, int]] = [
    (False, None, PIECES),
    (False, TOOLS, PIECES),
    ("tool_calling", None, PIECES),
    ("tool_calling", [], PIECES),
    ("tool_calling", TOOLS, 1),
    (True, None, 1),
    (True, TOOLS, 1),
]


@pytest.mark.parametrize("model", [Streaming, only_streaming, only_sync_streaming])
@pytest.mark.parametrize(("disabled", "tools", "count"), DISABLED, ids=str)
async def test_disable_streaming(model: Any, disabled: Any, tools: Any, count: int) -> None:
    """BCM-03: True: one chunk; "tool_calling": one if tools are given (an empty list is none); whichever the hook."""
    options = {} if tools is None else {"tools": tools}
    made = model(disable_streaming=disabled)
    chunks = [chunk async for chunk in made.astream("hi", **options)]
    assert len(chunks) == count
    assert "".join(chunk.text for chunk in chunks) == "".join(WORDS)
    assert chunks[-1].chunk_position == ("last" if count == 1 else None)  # what the hook said, or the whole answer
    assert isinstance(chunks[0], AIMessageChunk)
    from_sync = await anyio.to_thread.run_sync(lambda: list(made.stream("hi", **options)))
    assert [piece.text for piece in from_sync] == [chunk.text for chunk in chunks]


@pytest.mark.parametrize("value", ["never", "tool-calling", 2])
def test_disable_streaming_takes_nothing_else(value: Any) -> None:
    """BCM-03: the error names the values there are."""
    with pytest.raises(ValueError, match="tool_calling"):
        Streaming(disable_streaming=value)


async def test_an_answer_in_one_piece_is_told_and_closed_like_any_other(recorder: Any) -> None:
    """BCM-03: with streaming disabled there is one start and one end, also if the consumer leaves at once."""
    model = only_streaming(disable_streaming=True)
    [chunk async for chunk in model.astream("hi", {"callbacks": [recorder]})]
    assert recorder.names == ["on_chat_model_start", *["on_llm_new_token"] * PIECES, "on_llm_end"]

    stream = model.astream("hi", {"callbacks": [recorder]})
    async for _ in stream:
        break
    await stream.aclose()
    recorder.assert_every_run_ended_once()


# -- streaming inside an invoke


@pytest.mark.parametrize(
    ("field", "options", "hook"),
    [
        (None, {}, "agenerate"),
        (None, {"stream": True}, "astream"),
        (False, {}, "agenerate"),
        (False, {"stream": True}, "agenerate"),
        (True, {}, "astream"),
        (True, {"stream": False}, "agenerate"),
    ],
)
async def test_an_invoke_that_streams(field: bool | None, options: dict[str, Any], hook: str, recorder: Any) -> None:
    """BCM-41: the ``streaming`` field, or the call's ``stream``, has `ainvoke` stream; a no of either wins."""
    model = Streaming() if field is None else Streaming(streaming=field)
    message = await model.ainvoke("hi", {"callbacks": [recorder]}, **options)
    assert [call.hook for call in model.requests] == [hook]
    assert (message.content, type(message)) == ("".join(WORDS), AIMessage)
    tokens = recorder.firsts("on_llm_new_token")
    assert tokens == (WORDS if hook == "astream" else [])


@pytest.mark.parametrize(("fields", "count"), [({}, PIECES), ({"streaming": True}, PIECES), ({"streaming": False}, 1)])
async def test_a_field_that_says_no_makes_one_piece_of_a_stream(fields: dict[str, Any], count: int) -> None:
    """As in LangChain: a default is no answer, ``streaming=False`` is."""
    made = Streaming(**fields).model_copy()
    assert [chunk.text async for chunk in made.astream("hi")] == (WORDS if count > 1 else ["".join(WORDS)])


async def test_a_handler_changes_nothing(recorder: Any) -> None:
    """BCM-41: that somebody listens to tokens does not turn `ainvoke` into a stream, as it does in LangChain."""
    model = Streaming()
    await model.ainvoke("hi", {"callbacks": [recorder]})
    assert [call.hook for call in model.requests] == ["agenerate"]


# -- ids and marks


async def test_all_chunks_of_a_run_have_its_id(recorder: Any) -> None:
    """BCM-42: ``lc_run--<run id>``, on chunks, on what handlers see, and on the message."""
    run_id = uuid4()
    stream = Streaming().astream("hi", {"run_id": run_id, "callbacks": [recorder]})
    ids = {chunk.id async for chunk in stream}
    assert ids == {f"lc_run--{run_id}"}
    assert stream.message.id == f"lc_run--{run_id}"
    assert {details["chunk"].message.id for *_, details in recorder.named("on_llm_new_token")} == ids
    assert {details["run_id"] for _, _, details in recorder.events} == {run_id}


async def test_a_providers_id_stays() -> None:
    """BCM-42: a chunk that comes with an id keeps it, and the message has it, whichever chunk brought it."""
    model = hook_model([chunk("a"), chunk("b", id="chatcmpl-1")], "agenerate", "astream")
    stream = model.astream("hi")
    assert [piece.id async for piece in stream][1] == "chatcmpl-1"
    assert stream.message.id == "chatcmpl-1"
    assert (await model.ainvoke("hi", stream=True)).id == "chatcmpl-1"


@pytest.mark.parametrize("mark", ["last", None])
async def test_a_stream_has_the_chunks_that_its_hook_sent(mark: Any) -> None:
    """None is made up to mark the end: whoever wants to know it has the end of the stream, and its `message`."""
    model = hook_model([chunk("a"), chunk("b", chunk_position=mark)], "astream")
    stream = model.astream("hi")
    assert [(piece.text, piece.chunk_position) async for piece in stream] == [("a", None), ("b", mark)]
    assert stream.message.text == "ab"


@pytest.mark.parametrize(
    "end", [{"chunk_position": "last"}, {"response_metadata": {"normalized_finish_reason": "length"}}]
)
async def test_arguments_that_were_cut_are_no_call_once_the_end_is_told(end: Any) -> None:
    """By a mark, or by why the answer has ended; without either, the message of the stream says so alone."""
    call = {"name": "f", "args": '{"path": "/ho', "id": "1", "index": 0}
    told = hook_model([chunk("", tool_call_chunks=[call]), chunk("", **end)], "astream")
    untold = hook_model([chunk("", tool_call_chunks=[call]), chunk("")], "astream")
    for model, completed in ((told, []), (untold, [{"path": "/ho"}])):
        stream = model.astream("hi")
        pieces = [piece async for piece in stream]
        assert [one["args"] for one in (pieces[0] + pieces[1]).tool_calls] == completed
        assert (stream.message.tool_calls, len(stream.message.invalid_tool_calls)) == ([], 1)


async def test_what_is_said_of_a_chunk_is_in_its_metadata() -> None:
    """BCM-45: generation info is put under the message's own metadata, chunk by chunk, and in the whole."""
    first = ChatGenerationChunk(message=AIMessageChunk("a"), generation_info={"model": "m", "seed": None})
    second = ChatGenerationChunk(
        message=AIMessageChunk(content="b", response_metadata={"finish_reason": "stop"}),
        generation_info={"finish_reason": "length", "seed": 7},
    )
    stream = hook_model([first, second], "astream").astream("hi")
    metadata = [piece.response_metadata async for piece in stream]
    assert metadata[:2] == [{"model": "m", "seed": None}, {"finish_reason": "stop", "seed": 7}]
    assert stream.message.response_metadata == {"model": "m", "seed": 7, "finish_reason": "stop"}


async def test_a_hook_may_keep_its_chunks() -> None:
    """A hook that yields the same objects to every call finds them as they were."""
    kept = [chunk(word) for word in WORDS]
    model = hook_model(kept, "astream")
    first = [piece.id async for piece in model.astream("hi")]
    second = [piece.id async for piece in model.astream("hi")]
    assert set(first).isdisjoint(second)
    assert [one.message.id for one in kept] == [None] * len(WORDS)


# -- the four ways a stream ends


async def test_a_stream_that_ends(recorder: Any) -> None:
    """BCM-49: one start, a token for each chunk before its consumer has it, one end with the whole answer."""
    model = Streaming()
    seen = 0
    async for _ in model.astream("hi", {"callbacks": [recorder]}):
        seen += 1
        assert recorder.count("on_llm_new_token") >= seen
    assert recorder.names == ["on_chat_model_start", *["on_llm_new_token"] * PIECES, "on_llm_end"]
    (response,) = recorder.firsts("on_llm_end")
    assert response.generations[0][0].text == "".join(WORDS)


async def test_a_stream_that_fails(recorder: Any) -> None:
    """BCM-49, MODEL-12: the chunks that came are given out, then the error; handlers get both."""
    model = ScriptedChatModel(script=[Turn(text="The sky is", error=ConnectionError("lost"), error_after=2)])
    pieces: list[str] = []
    with pytest.raises(ConnectionError, match="lost"):
        async for piece in model.astream("hi", {"callbacks": [recorder]}):
            pieces.append(piece.text)
    assert pieces == ["The", " sky"]
    assert recorder.names[-1] == "on_llm_error"
    assert recorder.only("on_llm_error").details["response"].generations[0][0].text == "The sky"


async def test_a_stream_that_fails_at_once(recorder: Any) -> None:
    """BCM-49: an error before the first chunk has nothing to tell but itself."""
    model = ScriptedChatModel(script=[ConnectionError("refused")])
    with pytest.raises(ConnectionError, match="refused"):
        [piece async for piece in model.astream("hi", {"callbacks": [recorder]})]
    assert recorder.only("on_llm_error").details["response"].generations == []


async def test_a_stream_that_is_left_early(recorder: Any) -> None:
    """BCM-50: the hook is closed and the run ended, with what came until then, when `aclose` returns."""
    closed: list[bool] = []

    async def say_little(call: HookCall) -> AsyncIterator[str]:
        try:
            yield "The"
            await anyio.sleep_forever()
        finally:
            closed.append(True)

    model = hook_model(say_little, "astream")
    async with model.astream("hi", {"callbacks": [recorder]}) as stream:
        async for _ in stream:
            break
    assert closed == [True]
    assert recorder.names == ["on_chat_model_start", "on_llm_new_token", "on_llm_end"]
    _, args, details = recorder.only("on_llm_end")
    assert details["closed"] is True
    assert args[0].generations[0][0].text == "The"
    assert stream.message.content == "The"


async def test_a_cancelled_stream_is_an_error_to_handlers(recorder: Any) -> None:
    """MODEL-13: cancelling the consumer closes the hook and ends the run, with `on_llm_error`."""
    closed: list[bool] = []

    async def say_little(call: HookCall) -> AsyncIterator[str]:
        try:
            yield "The"
            await anyio.sleep_forever()
        finally:
            closed.append(True)

    model = hook_model(say_little, "astream")
    with anyio.CancelScope() as scope:
        async for _ in model.astream("hi", {"callbacks": [recorder]}):
            scope.cancel()
    assert closed == [True]
    assert recorder.names == ["on_chat_model_start", "on_llm_new_token", "on_llm_error"]


async def test_nothing_is_sent_before_the_first_pull(recorder: Any) -> None:
    """A stream that nobody reads asks no hook and starts no run; closing it is harmless."""
    model = Streaming()
    stream = model.astream("hi", {"callbacks": [recorder]})
    await stream.aclose()
    model.stream("hi", {"callbacks": [recorder]}).close()
    assert (model.requests, recorder.events) == ([], [])


# -- one answer, streamed or not

texts = st.text(alphabet='ab {}"é\n', max_size=8)
usages: Any = st.builds(
    lambda read, written: {"input_tokens": read, "output_tokens": written, "total_tokens": read + written},
    st.integers(0, 99),
    st.integers(0, 99),
)
calls: Any = st.builds(
    lambda name, arguments, id_: {"name": name, "args": arguments, "id": id_, "type": "tool_call"},
    st.sampled_from(["search", "add"]),
    st.dictionaries(texts, st.one_of(texts, st.integers(), st.none(), st.lists(st.booleans(), max_size=2)), max_size=3),
    st.uuids().map(str),
)
turns: Any = st.builds(
    Turn,
    text=st.one_of(texts, st.lists(texts, max_size=5)),
    tool_calls=st.lists(calls, max_size=3),
    reasoning=st.one_of(st.none(), texts),
    usage=st.one_of(st.none(), usages),
)


def same_but_for_ids(left: BaseMessage, right: BaseMessage) -> bool:
    return left.model_dump(exclude={"id"}) == right.model_dump(exclude={"id"})


@pytest.mark.parametrize("sums", ["collected", "added"])
@given(turn=turns, cached=st.booleans())
def test_a_stream_folds_to_the_answer(sums: Literal["collected", "added"], turn: Turn, cached: bool) -> None:
    """BCM-49, MODEL-09, MODEL-12: whatever a model says, chunks, `.message` and `ainvoke` are one answer."""

    async def ask() -> None:
        cache = InMemoryCache() if cached else None
        model = ScriptedChatModel(script=[turn, turn, turn], cache=cache)
        whole = await model.ainvoke("hi")
        stream = model.astream("hi")
        collector, total = Collector(), None
        async for piece in stream:
            collector.add(piece)
            total = piece if total is None else total + piece
        flagged = whole.model_copy(deep=True)
        if cached:
            flagged.response_metadata["cache_hit"] = True
            if flagged.usage_metadata:
                flagged.usage_metadata["total_cost"] = 0  # type: ignore[typeddict-unknown-key]
        assert same_but_for_ids(stream.message, flagged)
        if sums == "collected":
            assert same_but_for_ids(collector.message(), flagged)
        else:
            assert total is not None
            assert total.tool_calls == whole.tool_calls
            assert (total.content, total.usage_metadata) == (flagged.content, flagged.usage_metadata)

    anyio.run(ask)


# -- folding by hand


async def test_a_stream_is_folded_by_hand() -> None:
    """BCM-48: both helpers give the result that the model itself makes; an empty stream is an error."""

    async def chunks() -> AsyncIterator[ChatGenerationChunk]:
        for word in WORDS:
            yield chunk(word)

    async def nothing() -> AsyncIterator[ChatGenerationChunk]:
        for one in ():
            yield one

    for result in (await agenerate_from_stream(chunks()), generate_from_stream(iter([chunk(word) for word in WORDS]))):
        assert (result.generations[0].text, type(result.generations[0].message)) == ("".join(WORDS), AIMessage)
    with pytest.raises(EmptyResponse, match="No generations found in stream"):
        await agenerate_from_stream(nothing())
    with pytest.raises(ValueError, match="No generations found in stream"):
        generate_from_stream(iter([]))


async def test_a_simple_model_streams_in_one_piece() -> None:
    """BCM-07, BCM-51: without a stream hook, `astream` gives what `ainvoke` returns, as one last chunk."""

    class Echo(SimpleChatModel):
        async def _acall(self, messages: list[BaseMessage], stop: Any = None, **kwargs: Any) -> str:
            return str(messages[-1].content)

        @property
        def _llm_type(self) -> str:
            return "echo"

    (piece,) = [piece async for piece in Echo().astream("hi")]
    assert (piece.content, piece.chunk_position) == ("hi", "last")


@pytest.mark.parametrize("cache", [None, True], ids=["", "cached"])
async def test_what_is_said_about_an_answer_is_in_its_only_chunk(cache: bool | None) -> None:
    """As in the message of `ainvoke`: what the hook says beside it, such as that it was cut."""
    said = ChatGeneration(
        message=AIMessage("x", response_metadata={"own": 1}), generation_info={"finish_reason": "length"}
    )
    result = ChatResult(generations=[said], llm_output={"model_name": "m", "own": 0})
    model: Any = hook_model(result, "agenerate", cache=InMemoryCache() if cache else None)
    facts = {"model_name": "m", "finish_reason": "length", "own": 1}
    stream = model.astream("q")
    assert [chunk.response_metadata async for chunk in stream] == [facts]
    assert stream.message.response_metadata == facts
    again = {**facts, "cache_hit": True} if cache else facts
    assert (await model.ainvoke("q")).response_metadata == again
    assert [chunk.response_metadata async for chunk in model.astream("q")] == [again]
