"""The seven fakes of LangChain: offline, deterministic, safe to share, and without a real wait."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hocket import (
    AIMessage,
    BaseChatModel,
    FakeChatModel,
    FakeListChatModel,
    FakeListLLM,
    FakeMessagesListChatModel,
    FakeStreamingListLLM,
    GenericFakeChatModel,
    HumanMessage,
    ParrotFakeChatModel,
    ToolMessage,
)
from hocket.errors import FakeListLLMError, InvalidInput, ScriptExhausted
from hocket.testing import VirtualClock

CALL: Any = {"name": "search", "args": {"q": "sky"}, "id": "1", "type": "tool_call"}


async def in_thread(call: Any) -> Any:
    """Call a sync verb where no loop runs."""
    return await anyio.to_thread.run_sync(call)


def cycling(kind: Any, responses: str = "abc") -> Any:
    """A fake that has a list."""
    messages = kind is FakeMessagesListChatModel
    return kind(responses=[AIMessage(text) if messages else text for text in responses])


def text_of(answer: Any) -> str:
    return answer if isinstance(answer, str) else str(answer.content)


CYCLING = [FakeListLLM, FakeStreamingListLLM, FakeListChatModel, FakeMessagesListChatModel]


# -- a list, over and over


@pytest.mark.parametrize("kind", CYCLING)
async def test_responses_are_cycled(kind: Any) -> None:
    """FAKE-01, FAKE-03, FAKE-04: after the last response comes the first, for async and sync verbs alike."""
    model = cycling(kind)
    assert [text_of(await model.ainvoke("x")) for _ in range(4)] == ["a", "b", "c", "a"]
    assert [text_of(await in_thread(lambda: model.invoke("x"))) for _ in range(3)] == ["b", "c", "a"]
    pieces = [piece async for piece in model.astream("x")]
    assert "".join(piece if isinstance(piece, str) else piece.text for piece in pieces) == "b"


@pytest.mark.parametrize("kind", CYCLING)
async def test_a_hundred_calls_at_once_take_each_response_equally(kind: Any) -> None:
    """FAKE-08: the count is safe: 100 concurrent calls, from tasks and from threads, give each of 4 responses 25 times."""
    model = cycling(kind, "abcd")
    answers: list[str] = []

    async def ask() -> None:
        answers.append(text_of(await model.ainvoke("x")))

    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(ask)
    assert Counter(answers) == dict.fromkeys("abcd", 25)

    answers = [text_of(answer) for answer in await in_thread(lambda: model.batch(["x"] * 100))]
    assert Counter(answers) == dict.fromkeys("abcd", 25)


@pytest.mark.parametrize("kind", CYCLING)
async def test_an_empty_list_is_an_error(kind: Any) -> None:
    """XG-TEST-04: a fake without a response says so."""
    with pytest.raises(ScriptExhausted, match="no responses"):
        await kind(responses=[]).ainvoke("x")


@pytest.mark.parametrize("kind", CYCLING)
async def test_a_place_beyond_the_list_fails_each_call(kind: Any) -> None:
    """With which a program tries its fallbacks, as in LangChain."""
    one, other = (AIMessage(text) if kind is FakeMessagesListChatModel else text for text in ("a", "b"))
    model = kind(responses=[one], i=1)
    for _ in range(2):
        with pytest.raises(ScriptExhausted, match="i=1"):
            await model.ainvoke("x")
    assert text_of(await model.with_fallbacks([kind(responses=[other])]).ainvoke("x")) == "b"


@pytest.mark.parametrize("kind", CYCLING)
async def test_responses_can_be_added_and_begun_again(kind: Any) -> None:
    """XG-TEST-04: `add_response` puts one more at the end, `reset` starts again; the list given is not changed."""
    given: list[Any] = [AIMessage("a") if kind is FakeMessagesListChatModel else "a"]
    model = kind(responses=given)
    model.add_response(AIMessage("b") if kind is FakeMessagesListChatModel else "b")
    assert [text_of(await model.ainvoke("x")) for _ in range(3)] == ["a", "b", "a"]
    model.reset()
    assert text_of(await model.ainvoke("x")) == "a"
    assert len(given) == 1


@pytest.mark.parametrize("kind", [FakeListChatModel, FakeStreamingListLLM])
async def test_answers_are_streamed_by_character(kind: Any) -> None:
    """FAKE-02, FAKE-04: a chunk a character; what ends the stream is marked; the sync verb alike."""
    model = kind(responses=["sky"])
    for pieces in ([piece async for piece in model.astream("x")], await in_thread(lambda: list(model.stream("x")))):
        assert [piece if isinstance(piece, str) else piece.text for piece in pieces] == ["s", "k", "y"]
        if kind is FakeListChatModel:
            assert [piece.chunk_position for piece in pieces] == [None, None, "last"]


@pytest.mark.parametrize("kind", [FakeListChatModel, FakeStreamingListLLM])
async def test_an_empty_answer_is_streamed_too(kind: Any) -> None:
    """An empty text is an answer, streamed or not."""
    model = kind(responses=[""])
    assert text_of(await model.ainvoke("x")) == ""
    assert [text_of(piece) async for piece in model.astream("x")] == [""]


@pytest.mark.parametrize("kind", [FakeListChatModel, FakeStreamingListLLM])
async def test_a_stream_that_fails_at_a_chunk(kind: Any) -> None:
    """FAKE-02, FAKE-04: with ``error_on_chunk_number=2`` two chunks come, then the error; the last chunk may fail, too."""
    for number, expected in ((0, []), (1, ["s"]), (2, ["s", "k"])):
        model = kind(responses=["sky"], error_on_chunk_number=number)
        pieces: list[str] = []
        with pytest.raises(FakeListLLMError, match=f"chunk {number}"):
            async for piece in model.astream("x"):
                pieces.append(text_of(piece))
        assert pieces == expected
        with pytest.raises(FakeListLLMError):
            await in_thread(lambda model=model: list(model.stream("x")))
    assert text_of(await kind(responses=["sky"], error_on_chunk_number=2).ainvoke("x")) == "sky"


async def test_a_batch_answers_in_the_order_of_the_list() -> None:
    """FAKE-04: inputs get the responses in order, one after another; an error of one stays its own."""
    model = FakeListChatModel(responses=list("abcde"), sleep=0)
    assert [text_of(answer) for answer in await model.abatch(["x"] * 5)] == list("abcde")
    assert [text_of(answer) for answer in await in_thread(lambda: model.batch(["x"] * 5))] == list("abcde")
    assert [index async for index, _ in model.abatch_as_completed(["x"] * 5)] == [0, 1, 2, 3, 4]
    configs: Any = [{"tags": [str(index)]} for index in range(5)]
    assert [text_of(answer) for answer in await model.abatch(["x"] * 5, configs)] == list("abcde")
    answers = await FakeListChatModel(responses=[]).abatch(["x"] * 2, return_exceptions=True)
    assert [type(answer) for answer in answers] == [ScriptExhausted, ScriptExhausted]


async def test_arguments_reach_the_stream_hook() -> None:
    """FAKE-02: stop and options of a stream are passed on, where LangChain's fake drops them."""
    seen: list[Any] = []

    class Seeing(FakeStreamingListLLM):
        async def _astream(self, prompt: str, stop: Any = None, **kwargs: Any) -> AsyncIterator[Any]:
            seen.append((stop, kwargs))
            async for piece in super()._astream(prompt, stop, **kwargs):
                yield piece

    assert [piece async for piece in Seeing(responses=["ab"]).astream("x", stop=["."], top_p=1)] == ["a", "b"]
    assert seen == [(["."], {"top_p": 1})]


# -- time


async def test_sleeps_cost_a_test_no_time(virtual_clock: VirtualClock) -> None:
    """FAKE-01, FAKE-02, FAKE-03, FAKE-04: the sleep of an answer, and of each chunk, goes through hocket's clock."""
    await FakeListChatModel(responses=["sky"], sleep=60).ainvoke("x")
    assert virtual_clock.now() == 60
    [chunk async for chunk in FakeListChatModel(responses=["sky"], sleep=60).astream("x")]
    assert virtual_clock.now() == 240
    await FakeMessagesListChatModel(responses=[AIMessage("a")], sleep=60).ainvoke("x")
    assert virtual_clock.now() == 300
    [piece async for piece in FakeStreamingListLLM(responses=["sky"], sleep=60).astream("x")]
    assert virtual_clock.now() == 480
    await FakeListLLM(responses=["sky"], sleep=60).ainvoke("x")
    assert virtual_clock.now() == 480


def test_sync_sleeps_cost_a_test_no_time(virtual_clock: VirtualClock) -> None:
    """FAKE-03, FAKE-04: the same in sync code."""
    FakeListChatModel(responses=["sky"], sleep=60).invoke("x")
    list(FakeListChatModel(responses=["sky"], sleep=60).stream("x"))
    assert virtual_clock.now() == 240


async def test_sleeping_fakes_sleep_at_the_same_time(virtual_clock: VirtualClock) -> None:
    """FAKE-03: a sleep blocks nobody: a hundred calls at once take as long as one."""
    model = FakeMessagesListChatModel(responses=[AIMessage("a")], sleep=60)
    await model.abatch(["x"] * 100)
    assert virtual_clock.now() == 60


# -- messages


async def test_messages_come_whole() -> None:
    """FAKE-03: tool calls, usage and ids of a message are its answer's; as a copy, so that the list stays as it is."""
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    message = AIMessage("", tool_calls=[CALL], usage_metadata=usage, id="given")
    model = FakeMessagesListChatModel(responses=[message])
    answer = await model.ainvoke("x")
    assert answer == message
    answer.tool_calls[0]["args"]["q"] = "edited"
    assert (await model.ainvoke("x")).tool_calls == [CALL]
    (chunk,) = [chunk async for chunk in model.astream("x")]
    assert chunk.tool_calls == [CALL]


async def test_the_simplest_fake() -> None:
    """FAKE-05: always "fake response", for every verb."""
    model = FakeChatModel()
    assert (await model.ainvoke("x")).content == (await model.ainvoke("y")).content == "fake response"
    assert [chunk.text async for chunk in model.astream("x")] == ["fake response"]
    assert (await in_thread(lambda: model.invoke("x"))).content == "fake response"


# -- an iterator


async def test_an_iterator_answers_each_once() -> None:
    """FAKE-06: messages or texts, in order; when it has ended, a clear error and no StopIteration."""
    model = GenericFakeChatModel(messages=iter([AIMessage("a"), "b"]))
    assert [(await model.ainvoke("x")).content for _ in range(2)] == ["a", "b"]
    for call in (lambda: model.ainvoke("x"), lambda: model.astream("x").__anext__()):
        with pytest.raises(ScriptExhausted, match=r"iterator.*has ended"):
            await call()
    given_a_list = GenericFakeChatModel(messages=["a", "b"])
    assert [(await given_a_list.ainvoke("x")).content for _ in range(2)] == ["a", "b"]


@pytest.mark.parametrize("text", ["hello there  friend", " lead and\ttrail \n", "one", "", "  "])
async def test_a_text_is_streamed_in_words(text: str, recorder: Any) -> None:
    """FAKE-06: pieces end at white space, none of which is lost; handlers hear each."""
    model = GenericFakeChatModel(messages=iter([text, text]))
    stream = model.astream("x", {"callbacks": [recorder]})
    pieces = [chunk.text async for chunk in stream]
    assert "".join(pieces) == text == stream.message.content
    assert recorder.firsts("on_llm_new_token") == pieces
    assert (await model.ainvoke("x")).content == text


async def test_what_a_message_has_beside_its_text_is_streamed() -> None:
    """FAKE-06: additional kwargs come key by key, a function call cut at its commas; tool calls and usage, too."""
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    call = {"name": "f", "arguments": '{"a": 1, "b": 2}'}
    message = AIMessage(
        "hi there",
        additional_kwargs={"function_call": call, "refusal": "no"},
        tool_calls=[CALL],
        usage_metadata=usage,
        response_metadata={"model_name": "m"},
        id="given",
    )
    model = GenericFakeChatModel(messages=iter([message, message]))
    stream = model.astream("x")
    chunks = [chunk async for chunk in stream]
    pieces = [
        chunk.additional_kwargs["function_call"] for chunk in chunks if "function_call" in chunk.additional_kwargs
    ]
    assert pieces == [{"name": "f"}, {"arguments": '{"a": 1'}, {"arguments": ","}, {"arguments": ' "b": 2}'}]
    assert {chunk.id for chunk in chunks} == {"given"}
    assert stream.message == message == await model.ainvoke("x")


async def test_content_blocks_are_streamed_whole() -> None:
    """FAKE-06: content that is no text comes in one chunk."""
    message = AIMessage([{"type": "text", "text": "hi"}])
    stream = GenericFakeChatModel(messages=[message]).astream("x")
    assert len([chunk async for chunk in stream]) == 1
    assert stream.message.content == message.content


# -- an echo


@pytest.mark.parametrize(
    "message", [HumanMessage("hi"), AIMessage("ho"), ToolMessage("42", tool_call_id="1")], ids=repr
)
async def test_a_parrot_repeats(message: Any) -> None:
    """FAKE-07: the last message, of whatever kind, as a copy; streamed, as one chunk of its kind."""
    model = ParrotFakeChatModel()
    answer: Any = await model.ainvoke([("system", "Be brief."), message])
    assert (answer.content, type(answer)) == (message.content, type(message))
    assert answer is not message
    assert message.id is None
    (chunk,) = [chunk async for chunk in model.astream([message])]
    assert chunk.content == message.content


async def test_a_parrot_needs_a_message() -> None:
    """FAKE-07: an empty input is refused."""
    with pytest.raises(InvalidInput, match="no message"):
        await ParrotFakeChatModel().ainvoke([])


# -- all of them


@pytest.mark.parametrize(
    "model",
    [
        FakeListLLM(responses=["a"]),
        FakeStreamingListLLM(responses=["a"]),
        FakeMessagesListChatModel(responses=[AIMessage("a")]),
        FakeListChatModel(responses=["a"]),
        FakeChatModel(),
        GenericFakeChatModel(messages=iter(["a"] * 9)),
        ParrotFakeChatModel(),
    ],
    ids=lambda model: type(model).__name__,
)
async def test_fakes_are_models_like_any_other(model: Any, recorder: Any) -> None:
    """FAKE-01 to FAKE-07: their runs are told, with the name of the model; unknown fields are refused."""
    await model.ainvoke("a", {"callbacks": [recorder]})
    assert [name for name in recorder.names if name != "on_llm_new_token"][1:] == ["on_llm_end"]
    assert recorder.events[0][1][0]["name"] == type(model).__name__
    assert model._llm_type.startswith(("fake", "generic-fake", "parrot-fake"))
    with pytest.raises(ValueError, match="respones"):
        type(model)(**{**model.model_dump(), "respones": []})
    assert isinstance(model, BaseChatModel) or text_of(await model.ainvoke("x")) == "a"
