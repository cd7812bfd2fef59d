"""Objects while they are being written: each goes on from those before, and the last one is the object itself."""

from collections.abc import Sequence
from itertools import pairwise
from json import dumps
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from hocket import AIMessage, AIMessageChunk, ScriptedChatModel, Turn
from hocket.errors import OutputParserException
from hocket.language_models.structured import Partial
from hocket.language_models.structured.answers import AnswerReader, CallAnswerReader, TextAnswerReader
from hocket.language_models.structured.output import ObjectSink
from hocket.language_models.structured.schema import OutputSchema
from hocket.testing import virtual_clock
from tests.kit import assert_linear


class Place(BaseModel):
    name: str
    sights: list[str]
    people: int | None = None


PARIS = '{"name": "Paris", "sights": ["Eiffel Tower", "Louvre"], "people": 2102650}'
PLACE = Place(name="Paris", sights=["Eiffel Tower", "Louvre"], people=2102650)


def scripted(*script: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(script))


def called(text: str, size: int) -> list[AIMessageChunk]:
    """Return a call of Place, its arguments in pieces."""
    name = {"name": "Place", "args": "", "id": "c1", "index": 0}
    pieces = [{"name": None, "args": piece, "id": None, "index": 0} for piece in cut(text, size)]
    return [AIMessageChunk("", tool_call_chunks=[one]) for one in (name, *pieces)]


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


# -- what comes


async def test_partial_objects_and_then_the_object() -> None:
    """Texts grow; numbers and words are there when they are finished; a field is complete when another one begins."""
    structured = scripted(Turn(text=cut(PARIS, 12))).with_structured_output(Place)
    pieces = [piece async for piece in structured.astream("Where?")]

    assert pieces[-1] == PLACE
    partial: Sequence[Any] = pieces[:-1]
    assert all(isinstance(piece, Partial) for piece in partial)
    assert [(dict(piece), set(piece.complete)) for piece in partial] == [
        ({"name": "Pa"}, set()),
        ({"name": "Paris"}, set()),
        ({"name": "Paris", "sights": ["Eiffel"]}, {"name"}),
        ({"name": "Paris", "sights": ["Eiffel Tower", "Lo"]}, {"name"}),
        ({"name": "Paris", "sights": ["Eiffel Tower", "Louvre"]}, {"name"}),
        ({"name": "Paris", "sights": ["Eiffel Tower", "Louvre"], "people": 2102650}, {"name", "sights", "people"}),
    ]


def test_sync_code_gets_the_same() -> None:
    """`stream` is a face of `astream`."""
    pieces = list(scripted(Turn(text=cut(PARIS, 20))).with_structured_output(Place).stream("Where?"))
    assert pieces[0] == {"name": "Paris"}
    assert pieces[-1] == PLACE


async def test_with_include_raw_each_piece_has_the_message_so_far() -> None:
    """And the last one the whole message, with its usage."""
    usage: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    structured = scripted(Turn(text=cut(PARIS, 30), usage=usage)).with_structured_output(Place, include_raw=True)
    pieces: list[Any] = [piece async for piece in structured.astream("Where?")]

    texts = [piece["raw"].text for piece in pieces]
    assert texts[:3] == [PARIS[:30], PARIS[:60], PARIS]
    assert [piece["parsed"] for piece in pieces[:2]] == [
        {"name": "Paris", "sights": [""]},
        {"name": "Paris", "sights": ["Eiffel Tower", "Louvre"]},
    ]
    last = pieces[-1]
    assert (type(last["raw"]), last["raw"].usage_metadata) == (AIMessage, usage)
    assert (last["parsed"], last["parsing_error"]) == (PLACE, None)


async def test_a_stream_that_does_not_fit_ends_with_the_error() -> None:
    """After the partial objects; with `include_raw` it is in the last piece."""
    turn = Turn(text=['{"name": "Paris"', "}"])
    pieces: list[Any] = []
    with pytest.raises(OutputParserException, match="sights: Field required") as caught:
        async for piece in scripted(turn).with_structured_output(Place).astream("Where?"):
            pieces.append(piece)
    assert pieces == [{"name": "Paris"}, {"name": "Paris"}]
    assert caught.value.raw.text == '{"name": "Paris"}'

    structured = scripted(turn).with_structured_output(Place, include_raw=True)
    pieces = [piece async for piece in structured.astream("Where?")]
    assert pieces[-1]["parsed"] is None
    assert isinstance(pieces[-1]["parsing_error"], OutputParserException)


@pytest.mark.parametrize("garbage", [" and so on", "}", '{"name": "Rome"}'])
async def test_what_follows_the_object_is_refused(garbage: str) -> None:
    """Also where it comes piece by piece."""
    with pytest.raises(OutputParserException, match="is not JSON"):
        async for _ in scripted(Turn(text=[PARIS, garbage])).with_structured_output(Place).astream("Where?"):
            pass


async def test_a_stream_asks_again_before_it_has_shown_anything() -> None:
    """And not afterwards: what was shown is not taken back."""
    early = scripted("I do not know.", PARIS)
    pieces = [piece async for piece in early.with_structured_output(Place, reask=1).astream("Where?")]
    assert pieces[-1] == PLACE

    late = scripted('{"name": "Paris"}', PARIS)
    with pytest.raises(OutputParserException):
        async for _ in late.with_structured_output(Place, reask=1).astream("Where?"):
            pass
    assert len(late.requests) == 1


async def test_nulls_that_stand_for_nothing_are_never_shown() -> None:
    """Neither in a partial object, nor in the object."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"]}
    structured = scripted(Turn(text=cut('{"a": null, "b": "text"}', 3))).with_structured_output(schema)
    pieces = [piece async for piece in structured.astream("What?")]

    assert pieces[-1] == {"b": "text"}
    assert all("a" not in piece for piece in pieces)


async def test_left_early_it_closes_what_is_behind_it(recorder: Any) -> None:
    """The run of the model ends, as closed; nothing more is asked."""
    with virtual_clock():
        model = scripted(Turn(text=cut(PARIS, 4), pause=10))
        async with model.with_structured_output(Place).astream("Where?", {"callbacks": [recorder]}) as stream:
            async for _ in stream:
                break
    assert recorder.only("on_llm_end").details["closed"] is True
    recorder.assert_every_run_ended_once()


async def test_the_arguments_of_a_call_stream_as_well() -> None:
    """Of the first call of that name, and no other."""
    schema, answers = OutputSchema[Place](Place), CallAnswerReader("Place")
    sink = Kept()
    reading = ObjectSink(sink, schema, answers, with_raw=False)
    other = {"name": "Other", "args": '{"name": "x"}', "id": "c0", "index": 5}
    again = {"name": "Place", "args": '{"name": "y"}', "id": "c2", "index": 1}
    for chunk in (
        AIMessageChunk("", tool_call_chunks=[other]),
        *called(PARIS, 30),
        AIMessageChunk("", tool_call_chunks=[again]),
    ):
        reading.put(chunk)

    assert sink.items[0] == {"name": "Paris", "sights": [""]}
    assert Place.model_validate(sink.items[-1]) == PLACE
    assert schema.read(answers.value(reading.message)) == PLACE


# -- whatever comes


class Kept:
    """A consumer that keeps what it gets."""

    closed = False

    def __init__(self) -> None:
        self.items: list[Any] = []

    def put(self, item: Any) -> None:
        self.items.append(item)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=4), values, max_size=4)
ANYTHING = {"type": "object", "properties": {}}


def goes_on(earlier: Any, later: Any) -> bool:
    """Whether a value may become another by being written on."""
    if isinstance(earlier, str):
        return isinstance(later, str) and later.startswith(earlier)
    if isinstance(earlier, list):
        if not isinstance(later, list) or len(later) < len(earlier):
            return False
        *firm, last = earlier or [None]
        return firm == later[: len(firm)] and (not earlier or goes_on(last, later[len(firm)]))
    if isinstance(earlier, dict):
        if not isinstance(later, dict) or list(earlier) != list(later)[: len(earlier)]:
            return False
        *firm_keys, last = list(earlier) or [None]
        return all(earlier[key] == later[key] for key in firm_keys) and (
            not earlier or goes_on(earlier[last], later[last])
        )
    return type(earlier) is type(later) and bool(earlier == later)


@given(
    value=objects, sizes=st.lists(st.integers(1, 9), min_size=1, max_size=40), ascii=st.booleans(), call=st.booleans()
)
def test_no_partial_object_contradicts_the_final_one(
    value: dict[str, Any], sizes: list[int], ascii: bool, call: bool
) -> None:
    """However the text is split, each is a beginning of the next, complete fields stay, and the end is the same."""
    text = dumps(value, ensure_ascii=ascii)
    pieces, at = [], 0
    while at < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[at : at + size])
        at += size
    answers: AnswerReader = CallAnswerReader("Place") if call else TextAnswerReader()
    chunks = [
        AIMessageChunk("", tool_call_chunks=[{"name": None if n else "Place", "args": piece, "id": None, "index": 0}])
        if call
        else AIMessageChunk(piece)
        for n, piece in enumerate(pieces)
    ]
    sink = Kept()
    schema = OutputSchema[dict[str, Any]](ANYTHING)
    reading = ObjectSink(sink, schema, answers, with_raw=False)
    for chunk in chunks:
        reading.put(chunk)
    final = schema.read(answers.value(reading.message))

    assert final == value
    for earlier, later in pairwise([*sink.items, final]):
        assert goes_on(dict(earlier), dict(later))
    for partial in sink.items:
        assert all(partial[name] == final[name] for name in partial.complete)


class Heedless(Kept):
    """A consumer that keeps nothing."""

    def put(self, item: Any) -> None:
        pass


def test_the_price_is_linear() -> None:
    """Four times the text, which comes in pieces of four characters, costs about four times as much."""
    chunks = [AIMessageChunk(piece) for piece in cut(dumps({"a": ["some words"] * 4_000}), 4)]

    def read(count: int) -> None:
        reading = ObjectSink(Heedless(), OutputSchema[Any](ANYTHING), TextAnswerReader(), with_raw=False)
        for chunk in chunks[:count]:
            reading.put(chunk)

    assert_linear(read, len(chunks))
