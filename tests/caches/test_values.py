"""Answers as bytes: whatever a store takes it gives back, and whatever it cannot read is not there."""

import datetime
import json
import zlib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.caches.values import COMPRESSED_FROM, dump_candidates, load_candidates
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage
from hocket.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk

texts = st.text(st.characters(codec=None), max_size=40)  # lone surrogates and NULs, too
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    texts,
    st.binary(max_size=9),
    st.datetimes(timezones=st.just(datetime.UTC)),
    st.decimals(allow_nan=False, places=3),
)
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
infos = st.none() | st.dictionaries(texts, values, max_size=3)
usages = st.none() | st.builds(
    lambda given, made: {"input_tokens": given, "output_tokens": made, "total_tokens": given + made},
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)
calls = st.lists(
    st.builds(
        lambda name, args, id: {"name": name, "args": args, "id": id, "type": "tool_call"},
        st.text("abc", min_size=1),
        st.dictionaries(st.text("abc"), leaves, max_size=2),
        st.none() | texts,
    ),
    max_size=2,
)
blocks = st.lists(st.builds(lambda text: {"type": "text", "text": text}, texts), max_size=3)
messages: Any = st.builds(
    AIMessage,
    content=texts | blocks,
    usage_metadata=usages,
    response_metadata=infos.map(lambda info: info or {}),
    tool_calls=calls,
    id=st.none() | st.text("abc"),
)
candidates = st.one_of(
    st.builds(Generation, text=texts, generation_info=infos),
    st.builds(GenerationChunk, text=texts, generation_info=infos),
    st.builds(ChatGeneration, message=messages, generation_info=infos),
    st.builds(ChatGenerationChunk, message=st.builds(AIMessageChunk, content=texts), generation_info=infos),
)


@given(st.lists(candidates, max_size=3))
def test_what_is_stored_is_given_back(said: list[Generation]) -> None:
    """Equal, of the same classes, and nothing of it shared."""
    back = load_candidates(dump_candidates(said))
    assert back == said
    assert back is not None
    assert [type(one) for one in back] == [type(one) for one in said]
    assert back == load_candidates(dump_candidates(back))


def test_a_long_answer_is_compressed() -> None:
    """From 4 KB on; a short one is JSON that anybody can read."""
    short, long = (
        [ChatGeneration(message=AIMessage("hi"))],
        [ChatGeneration(message=AIMessage("hi " * COMPRESSED_FROM))],
    )
    assert json.loads(dump_candidates(short))["candidates"][0]["message"]["data"] == {"content": "hi"}
    assert len(dump_candidates(long)) < COMPRESSED_FROM
    assert load_candidates(dump_candidates(long)) == long


def test_what_is_nested_deep_comes_back() -> None:
    info: dict[str, Any] = {}
    for _ in range(120):
        info = {"inner": info}
    said = [Generation(text="a", generation_info=info)]
    assert load_candidates(dump_candidates(said)) == said


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
def test_bytes_of_somebody_else_are_no_answer(data: bytes) -> None:
    assert load_candidates(data) is None


@pytest.mark.parametrize("length", [1, 2_000])
def test_a_damaged_answer_is_none(length: int) -> None:
    """Cut anywhere, or with any byte of it changed to a brace: it is a miss, or by chance another text, never an error."""
    data = dump_candidates([ChatGeneration(message=AIMessage("hi " * length), generation_info={"a": [1]})])
    for at in range(0, len(data), max(1, len(data) // 200)):
        assert load_candidates(data[:at]) is None
        load_candidates(data[:at] + b"}" + data[at + 1 :])


FOREIGN = [
    [],
    {},
    "text",
    {"v": 2, "candidates": []},
    {"v": 1},
    {"v": 1, "candidates": 3},
    {"v": 1, "candidates": ["a"]},
    {"v": 1, "candidates": [{"type": "Unheard", "text": "a"}]},
    {"v": 1, "candidates": [{"type": "Generation"}]},
    {"v": 1, "candidates": [{"type": "Generation", "text": 3}]},
    {"v": 1, "candidates": [{"type": "Generation", "text": "a", "info": 3}]},
    {"v": 1, "candidates": [{"type": "ChatGeneration", "message": {"type": "ai", "data": {}}, "info": []}]},
    {"v": 1, "candidates": [{"type": "ChatGeneration", "message": {"v": 9, "type": "ai", "data": {"content": ""}}}]},
    {"v": 1, "candidates": [{"type": "ChatGeneration", "message": {"v": 1, "type": "new", "data": {"content": ""}}}]},
    {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
    {
        "v": 1,
        "candidates": [
            {"type": "Generation", "text": {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {}}}
        ],
    },
]


@pytest.mark.parametrize("value", FOREIGN, ids=range(len(FOREIGN)))
def test_data_of_somebody_else_is_no_answer(value: Any) -> None:
    """Nor is that of a version to come, or of a class that is not registered; nothing but candidates is ever built."""
    data = json.dumps(value).encode()
    assert load_candidates(data) is None
    assert load_candidates(b"z" + zlib.compress(data)) is None


class Own(Generation):
    """A class of a user's own."""


@pytest.mark.parametrize(
    "candidate",
    [Own(text="a"), Generation(text="a", generation_info={"client": object()}), HumanMessage("no candidate")],
    ids=["own class", "object", "message"],
)
def test_what_could_not_be_given_back_is_refused(candidate: Any) -> None:
    with pytest.raises(InvalidInput, match=r"stored|rebuilt"):
        dump_candidates([candidate])
