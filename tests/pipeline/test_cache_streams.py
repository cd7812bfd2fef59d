"""Streams and the cache: a stream fills it, a hit is streamed as it was stored, and one cache serves every verb."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hocket.caches import InMemoryCache
from hocket.callbacks import UsageMetadataCallbackHandler
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk, message_chunk_to_message
from hocket.outputs import GenerationChunk
from hocket.rate_limiters import InMemoryRateLimiter
from hocket.testing import ScriptedChatModel, Turn, VirtualClock
from tests.kit import cancel_when, hook_llm, hook_model

USAGE: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
CALL: Any = {"name": "f", "args": {"x": [1]}, "id": "call_1", "type": "tool_call"}
PIECES = ["Hel", "lo ", "", "wor", "l", "d"]


def model_of(*turns: Any, **fields: Any) -> ScriptedChatModel:
    """Return a model with a cache of its own, which raises if it is asked more often than its script says."""
    return ScriptedChatModel(script=list(turns), **{"cache": InMemoryCache(), **fields})


def stepped_model() -> Any:
    """Make a model with a cache of its own that streams in sync code."""
    return hook_model(PIECES, "stream", cache=InMemoryCache())


async def drained(model: BaseChatModel, **kwargs: Any) -> list[AIMessageChunk]:
    return [chunk async for chunk in model.astream("hi", **kwargs)]


def folded(chunks: list[AIMessageChunk]) -> AIMessage:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    return message_chunk_to_message(whole)  # type: ignore[return-value]


def texts(chunks: list[AIMessageChunk]) -> list[str]:
    """Return the pieces, the empty ones left out: they say nothing."""
    return [chunk.text for chunk in chunks if chunk.text]


async def test_a_stream_is_replayed_in_the_sizes_it_came_in() -> None:
    """The second one asks nobody, and yields the same pieces, the last of them marked."""
    model = model_of(Turn(text=PIECES, usage=USAGE))
    first, second = await drained(model), await drained(model)
    assert texts(first) == texts(second) == [piece for piece in PIECES if piece]
    assert [chunk.chunk_position for chunk in second][-1] == "last"
    assert [chunk.chunk_position for chunk in second[:-1]] == [None] * (len(second) - 1)
    assert len(model.requests) == 1


@pytest.mark.parametrize("pieces", [["a", "b"], ["a", "b", ""], ["ab"]])
async def test_a_stream_is_replayed_in_as_many_chunks(pieces: list[str]) -> None:
    """None is made up to say that it is a hit: the last one does, if it has a text or not."""
    model = hook_model(pieces, "astream", cache=InMemoryCache())
    first, second = await drained(model), await drained(model)
    assert [chunk.text for chunk in first] == [chunk.text for chunk in second] == pieces
    assert [bool(chunk.response_metadata.get("cache_hit")) for chunk in second] == [False] * (len(pieces) - 1) + [True]


async def test_a_replayed_stream_has_one_id_of_its_own_and_says_that_it_is_a_hit() -> None:
    """On every chunk the same id, which is not the first stream's; the flag is in what the chunks fold to."""
    model = model_of(Turn(text=PIECES, usage=USAGE))
    first, second = await drained(model), await drained(model)
    assert len({chunk.id for chunk in first}) == len({chunk.id for chunk in second}) == 1
    assert first[0].id != second[0].id
    assert "cache_hit" not in folded(first).response_metadata
    assert folded(second).response_metadata == {**folded(first).response_metadata, "cache_hit": True}
    assert folded(second).usage_metadata == {**USAGE, "total_cost": 0}


@pytest.mark.parametrize("verbs", ["is", "si", "ss", "ii", "sis", "isi"])
async def test_one_cache_serves_every_verb(verbs: str) -> None:
    """What invoke stored, stream yields, and the other way round; all of them fold to the same."""
    model = model_of(Turn(text=PIECES, usage=USAGE, tool_calls=[CALL]))
    answers = []
    for verb in verbs:
        answers.append(await model.ainvoke("hi") if verb == "i" else folded(await drained(model)))
    for answer in answers:
        assert (answer.content, answer.tool_calls) == ("Hello world", [CALL])
    assert len({answer.id for answer in answers}) == len(answers)
    assert [answer.response_metadata.get("cache_hit") for answer in answers] == [None] + [True] * (len(verbs) - 1)
    assert len(model.requests) == 1


async def test_an_invoked_answer_is_streamed_in_the_pieces_that_its_stream_hook_gave() -> None:
    """Only if there were pieces: an answer that came whole is replayed whole."""
    in_pieces, whole = model_of(Turn(text=PIECES)), model_of(AIMessage("Hello world"))
    for model in (in_pieces, whole):
        await model.ainvoke("hi")
    assert texts(await drained(in_pieces)) == [piece for piece in PIECES if piece]
    assert texts(await drained(whole)) == ["Hello world"]


async def test_tool_calls_and_reasoning_are_replayed() -> None:
    """Everything that the answer held, as chunks that fold to it."""
    turn = Turn(text=PIECES, reasoning="hmm", tool_calls=[CALL, {**CALL, "id": "call_2"}], usage=USAGE)
    model = model_of(turn)
    first, second = folded(await drained(model)), folded(await drained(model))
    assert first.tool_calls == second.tool_calls == [CALL, {**CALL, "id": "call_2"}]
    assert first.content == second.content
    assert [block["type"] for block in second.content_blocks[:2]] == ["reasoning", "text"]
    assert second.text == "Hello world"


async def test_the_stream_object_knows_its_message() -> None:
    """`.message` of a hit is the whole, flagged answer."""
    model = model_of(Turn(text=PIECES))
    await model.ainvoke("hi")
    stream = model.astream("hi")
    async for _ in stream:
        pass
    assert stream.message.content == "Hello world"
    assert stream.message.response_metadata["cache_hit"] is True


async def test_usage_is_counted_once_however_the_answer_is_served() -> None:
    """By the handler that counts."""
    counter = UsageMetadataCallbackHandler()
    model = model_of(Turn(text=PIECES, usage=USAGE), callbacks=[counter])
    await drained(model)
    await drained(model)
    await model.ainvoke("hi")
    assert counter.usage_metadata == {"scripted": USAGE}


async def test_handlers_hear_the_tokens_of_a_hit(recorder: Any) -> None:
    """Miss and hit alike: start, the pieces, one end; of a hit that it is one."""
    model = model_of(Turn(text=PIECES), callbacks=[recorder])
    await drained(model)
    missed = recorder.tokens
    recorder.events.clear()
    await drained(model)
    assert "".join(missed) == "Hello world"
    assert "".join(recorder.tokens) == "Hello world"
    assert recorder.names == ["on_chat_model_start", "on_cache_hit", "on_llm_end"]
    assert recorder.end == "on_llm_end"


async def test_a_hit_does_not_wait_for_the_limiter(virtual_clock: VirtualClock) -> None:
    """Neither invoked nor streamed."""
    model = model_of(Turn(text=PIECES), rate_limiter=InMemoryRateLimiter(requests_per_second=1))
    await drained(model)
    assert virtual_clock.now() == 1
    await drained(model)
    await model.ainvoke("hi")
    assert virtual_clock.now() == 1


# -- what is never stored


async def test_a_stream_that_fails_is_not_stored() -> None:
    """Neither at once nor half way."""
    model = model_of(Turn(text=PIECES, error=ConnectionError("x"), error_after=3), ConnectionError("y"), "whole")
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await drained(model)
    assert folded(await drained(model)).content == "whole"
    assert len(model.requests) == 3


async def test_a_stream_that_is_left_is_not_stored() -> None:
    """Whoever closes it early has seen a part, and a part is no answer."""
    model = model_of(Turn(text=PIECES, pause=60), "whole")
    async with model.astream("hi") as stream:
        await anext(stream)
    assert (await model.ainvoke("hi")).content == "whole"


async def test_a_stream_that_is_cancelled_is_not_stored() -> None:
    """Nor a call without a stream."""
    model = model_of(Turn(text=PIECES, pause=60), Turn(text=PIECES, pause=60), "whole")
    for number, call in enumerate((partial(drained, model), partial(model.ainvoke, "hi")), start=1):
        assert await cancel_when(lambda number=number: len(model.requests) == number, call)
    assert (await model.ainvoke("hi")).content == "whole"


async def test_an_empty_stream_is_not_stored() -> None:
    """It is an error."""
    model = hook_model([], "astream", "stream", cache=InMemoryCache())
    with pytest.raises(ValueError, match="No generation chunks"):
        await drained(model)
    assert not model.cache


async def test_a_hit_that_is_left_stays_stored(recorder: Any) -> None:
    """And ends as a stream that was left."""
    model = model_of(Turn(text=["x"] * 200))
    await drained(model)
    async with model.astream("hi", {"callbacks": [recorder]}) as stream:
        await anext(stream)
    assert recorder.end == "on_llm_end closed"
    assert len(texts(await drained(model))) == 200


# -- sync


def sync_texts(model: BaseChatModel) -> list[str]:
    return [chunk.text for chunk in model.stream("hi") if chunk.text]


@pytest.mark.parametrize("make", [stepped_model, lambda: model_of(Turn(text=PIECES))])
def test_sync_streams_fill_and_read_it_too(make: Callable[[], BaseChatModel]) -> None:
    """Stepped in this thread, or on the kept loop."""
    model = make()
    assert sync_texts(model) == sync_texts(model) == [piece for piece in PIECES if piece]
    answer = model.invoke("hi")
    assert answer.content == "Hello world"
    assert answer.response_metadata["cache_hit"] is True


def test_a_sync_stream_that_is_left_is_not_stored() -> None:
    """As with the async one."""
    model = stepped_model()
    with model.stream("hi") as stream:
        next(stream)
    assert len(sync_texts(model)) == 5
    assert len(model.requests) == 2


async def test_sync_and_async_verbs_share_it() -> None:
    """Also where the same sync hook runs here in a thread and there in place."""
    model = stepped_model()
    first = await drained(model)
    assert texts(first) == sync_texts(model) == [piece for piece in PIECES if piece]
    assert len(model.requests) == 1


# -- text models


def text_model(**fields: Any) -> Any:
    """Make a text model with a cache of its own that streams."""
    pieces = [GenerationChunk(text=text) for text in PIECES]
    pieces[-1].generation_info = {"finish_reason": "stop"}
    return hook_llm(pieces, "astream", cache=InMemoryCache(), **fields)


@pytest.mark.parametrize("verbs", ["is", "si", "ss", "isi"])
async def test_text_models_too(verbs: str) -> None:
    """Texts in the sizes in which they came."""
    model = text_model()
    for verb in verbs:
        if verb == "i":
            assert await model.ainvoke("hi") == "Hello world"
        else:
            pieces = [text async for text in model.astream("hi") if text]
            assert pieces == [piece for piece in PIECES if piece]
    assert [call.input for call in model.requests] == ["hi"]


async def test_a_text_that_is_streamed_from_the_cache_is_no_run(recorder: Any) -> None:
    """LangChain's rule for text models: nobody hears of a hit."""
    model = text_model(callbacks=[recorder])
    for _ in range(3):
        [text async for text in model.astream("hi")]
    assert recorder.names == ["on_llm_start", "on_llm_end"]
