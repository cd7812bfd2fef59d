"""Sums of chunks: `+` is the collector, changes nobody, and cannot be told from a message made at once."""

import copy
import functools
import operator
import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import Field, PrivateAttr

from hocket.load import dumps, loads
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    ChatMessageChunk,
    Collector,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    SystemMessageChunk,
    ToolMessageChunk,
    message_chunk_to_message,
)

WORDS = st.sampled_from(["", " ", "a", "word ", "{", "}", '{"a": 1}', "\n", "é"])
INDEX = st.sampled_from([None, 0, 1, "lc_0"])
ID = st.sampled_from([None, "", "call_1", "call_2"])
NAME = st.sampled_from([None, "", "f", "g"])
COUNT = st.integers(0, 20)

BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "reasoning", "text_delta", "tool_call_chunk", "non_standard", "zzz"])},
    optional={
        "index": INDEX,
        "id": ID,
        "text": WORDS,
        "args": WORDS | st.none(),
        "value": st.dictionaries(st.sampled_from(["type", "x"]), WORDS, max_size=2),
        "extras": st.dictionaries(st.sampled_from(["x", "y"]), st.lists(COUNT, max_size=2), max_size=2),
    },
)
FRAGMENT = st.fixed_dictionaries(
    {"name": NAME, "args": WORDS | st.none(), "id": ID, "index": INDEX},
    optional={"extras": st.dictionaries(st.sampled_from(["x", "y"]), WORDS, max_size=2)},
)
USAGE = st.builds(
    lambda prompt, said, read: {
        "input_tokens": prompt,
        "output_tokens": said,
        "total_tokens": prompt + said,
        **({} if read is None else {"input_token_details": {"cache_read": read}, "tier": "flex"}),
    },
    COUNT,
    COUNT,
    st.none() | COUNT,
)
FACTS = st.dictionaries(
    st.sampled_from(["finish_reason", "model_name", "status", "logprobs", "nested"]),
    st.none() | WORDS | COUNT | st.booleans() | st.lists(COUNT, max_size=2) | st.dictionaries(WORDS, COUNT, max_size=2),
    max_size=3,
)
CHUNK = st.builds(
    AIMessageChunk,
    content=WORDS | st.lists(WORDS | BLOCK, max_size=3),
    tool_call_chunks=st.lists(FRAGMENT, max_size=3),
    usage_metadata=st.none() | USAGE,
    response_metadata=FACTS,
    additional_kwargs=st.dictionaries(
        st.sampled_from(["reasoning_content", "tool", "n"]), st.none() | WORDS | COUNT | st.lists(BLOCK, max_size=2)
    ),
    id=st.sampled_from([None, "lc_1", "lc_run--1", "msg_1"]),
    name=st.sampled_from([None, "bot"]),
    chunk_position=st.sampled_from([None, None, "last"]),
    note=st.sampled_from([1, 2]),
)
STREAM = st.lists(CHUNK, min_size=1, max_size=8)
SHORT = st.lists(CHUNK, min_size=1, max_size=3)


def total(chunks: Sequence[Any]) -> Any:
    return functools.reduce(operator.add, chunks)


def collected(chunks: Sequence[AIMessageChunk]) -> Collector:
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk)
    return collector


def scrambled(value: Any) -> None:
    """Edit every container in ``value``, all the way down, in place."""
    if isinstance(value, dict):
        for item in value.values():
            scrambled(item)
        value["edited"] = True
    elif isinstance(value, list):
        for item in value:
            scrambled(item)
        value.append("edited")


def edit(message: BaseMessage) -> None:
    for value in (*vars(message).values(), message.__pydantic_extra__):
        scrambled(value)


# `+` is the collector


@given(STREAM)
def test_a_sum_is_what_the_collector_collects(chunks: list[AIMessageChunk]) -> None:
    """Added one by one, as a list, or collected: one answer, as chunk and as message."""
    expected = collected(chunks).chunk()
    assert len(chunks) == 1 or total(chunks) == expected
    assert chunks[0] + chunks[1:] == expected
    assert message_chunk_to_message(total(chunks)) == collected(chunks).message()


@given(STREAM, st.data())
def test_looking_at_a_sum_changes_nothing(chunks: list[AIMessageChunk], data: st.DataObject) -> None:
    """Whoever reads the sum so far, whole or a part of it, gets the same sum in the end."""
    looks: list[Callable[[AIMessageChunk], object]] = [repr, vars, lambda chunk: chunk.content, lambda chunk: None]
    so_far, collector = chunks[0] + [], Collector()
    collector.add(chunks[0])
    for chunk in chunks[1:]:
        data.draw(st.sampled_from(looks))(so_far)
        data.draw(st.sampled_from([Collector.chunk, Collector.message, bool]))(collector)
        so_far += chunk
        collector.add(chunk)
    assert so_far == collected(chunks).chunk() == collector.chunk()


@pytest.mark.parametrize("last_id", [None, "x"])
def test_a_look_between_the_pieces_of_a_later_name(last_id: str | None) -> None:
    """Calls of one index without ids, names in pieces: the second name must not grow to that of the first."""
    pieces = [("fg", " ", None), ("f", "", None), ("g", "", None), (None, "", last_id)]
    chunks = [
        AIMessageChunk("", tool_call_chunks=[fragment(name, args, id=id_, index=0)]) for name, args, id_ in pieces
    ]
    so_far = chunks[0]
    for chunk in chunks[1:]:
        repr(so_far)
        so_far += chunk
    assert so_far == collected(chunks).chunk()


@given(STREAM, STREAM)
def test_sums_of_sums_are_sums(left: list[AIMessageChunk], right: list[AIMessageChunk]) -> None:
    """However the additions are nested, as long as nobody has looked."""
    expected = collected([*left, *right]).chunk()
    assert (left[0] + left[1:]) + (right[0] + right[1:]) == expected
    by_sums = Collector()
    by_sums.add(left[0] + left[1:])
    by_sums.add(right[0] + right[1:])
    assert by_sums.chunk() == expected


def test_many_threads_may_add_to_one_sum_and_look_at_it() -> None:
    """A sum in several hands: each goes on with it, each looks at it, and each gets what it would get alone."""
    deltas = [AIMessageChunk("", tool_call_chunks=[fragment(None, text, index=0)]) for text in ('"a', '": ', "1", "}")]
    first = AIMessageChunk("x", tool_call_chunks=[fragment("f", "{", id="1", index=0)])
    expected = collected([first, *deltas]).chunk()
    start = threading.Barrier(4)

    def go_on(stem: AIMessageChunk) -> AIMessageChunk:
        start.wait()
        whole = stem + deltas[2] + deltas[3]
        return whole if (stem.content, stem.tool_calls[0]["args"]) == ("x", {}) else stem

    with ThreadPoolExecutor(4) as threads:
        for _ in range(200):
            stem = first + deltas[0] + deltas[1] + AIMessageChunk("")
            assert list(threads.map(go_on, [stem] * 4)) == [expected] * 4


# nobody is changed


@given(STREAM)
def test_adding_changes_no_operand(chunks: list[AIMessageChunk]) -> None:
    """Neither the chunks nor the sums before are touched, not even by editing the sum."""
    before = copy.deepcopy(chunks)
    sums = [chunks[0]]
    for chunk in chunks[1:]:
        sums.append(sums[-1] + chunk)
    edit(sums[-1] + AIMessageChunk(""))
    edit(collected(chunks).chunk())
    edit(collected(chunks).message())
    assert chunks == before
    assert all(so_far == total(chunks[: length + 1]) for length, so_far in enumerate(sums))


@given(STREAM)
def test_later_edits_do_not_reach_a_sum(chunks: list[AIMessageChunk]) -> None:
    """A sum, looked at or not, and a collector hold what the chunks said when they were added."""
    expected = collected(copy.deepcopy(chunks)).chunk()
    collector = collected(chunks)
    unseen, seen = chunks[0] + chunks[1:], chunks[0] + chunks[1:]
    repr(seen)
    for chunk in chunks:
        edit(chunk)
        chunk.content = "other"
    assert unseen == seen == collector.chunk() == expected


@given(SHORT, SHORT, SHORT)
def test_a_sum_can_be_added_to_twice(
    trunk: list[AIMessageChunk], one: list[AIMessageChunk], other: list[AIMessageChunk]
) -> None:
    """Branches of one sum know nothing of one another."""
    stem = trunk[0] + trunk[1:]
    first, second = stem + one, stem + other
    third = first + other
    edit(second)
    assert first == total([*trunk, *one])
    assert third == total([*trunk, *one, *other])
    assert stem == trunk[0] + trunk[1:]


# the whole message


@st.composite
def messages_and_cuts(draw: st.DrawFn) -> tuple[AIMessage, list[AIMessageChunk]]:
    """A whole message, and the same in chunks cut at random places, parallel calls interleaved."""
    text = draw(st.text(max_size=20))
    calls = draw(
        st.lists(st.tuples(st.sampled_from("fgh"), st.dictionaries(st.text(max_size=4), COUNT, max_size=3)), max_size=3)
    )
    whole = AIMessage(
        text,
        tool_calls=[{"name": name, "args": args, "id": f"call_{n}"} for n, (name, args) in enumerate(calls)],
        usage_metadata=draw(st.none() | USAGE),
        response_metadata=draw(FACTS),
        id=draw(st.sampled_from([None, "msg_1"])),
    )
    repeats_ids, has_index = draw(st.booleans()), draw(st.booleans())
    pieces: list[list[AIMessageChunk]] = [[AIMessageChunk(part) for part in cut(draw, text)]]
    for index, (call, raw) in enumerate(zip(whole.tool_calls, calls_as_text(whole), strict=True)):
        known = {"id": call["id"] if repeats_ids or not has_index else None, "index": index if has_index else None}
        parts = [{"name": None, "args": part, **known} for part in cut(draw, raw)]
        first = {"name": call["name"], "args": "", "id": call["id"], "index": known["index"]}
        pieces.append([AIMessageChunk("", tool_call_chunks=[part]) for part in (first, *parts)])
    mixed = draw(st.permutations([n for n, stream in enumerate(pieces) for _ in stream]))
    # Each call is announced in its turn; what follows comes in any order.
    chunks = [stream.pop(0) for stream in pieces if stream]
    chunks += [pieces[n].pop(0) for n in mixed if pieces[n]]
    facts = {"response_metadata": whole.response_metadata, "usage_metadata": whole.usage_metadata, "id": whole.id}
    chunks.insert(draw(st.integers(0, len(chunks))), AIMessageChunk("", **facts))
    return whole, [*chunks, AIMessageChunk("", chunk_position="last")]


def cut(draw: st.DrawFn, text: str) -> list[str]:
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=5)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def calls_as_text(message: AIMessage) -> list[str]:
    chunk = AIMessageChunk("", tool_calls=message.tool_calls)
    return [piece["args"] or "" for piece in chunk.tool_call_chunks]


@given(messages_and_cuts())
def test_the_chunks_of_a_message_add_up_to_it(cuts: tuple[AIMessage, list[AIMessageChunk]]) -> None:
    """Cut anywhere, parallel calls interleaved, ids given once or each time, with an index or without."""
    whole, chunks = cuts
    assert collected(chunks).message() == whole
    summed = total(chunks)
    assert (summed.content, summed.tool_calls, summed.invalid_tool_calls) == (whole.content, whole.tool_calls, [])
    assert message_chunk_to_message(summed) == whole


# an unsettled sum cannot be told from a settled one


def a_sum() -> AIMessageChunk:
    first = AIMessageChunk("a", id="msg_1", note=[1], tool_call_chunks=[fragment("f", "{", id="1", index=0)])
    last = fragment(None, '"x": 1}', index=0)
    return (
        first
        + AIMessageChunk([{"type": "text", "text": "b", "index": 0}])
        + AIMessageChunk("", tool_call_chunks=[last], response_metadata={"m": {"n": 1}})
    )


def fragment(name: str | None, args: str | None, id: str | None = None, index: int | None = None) -> Any:
    return {"name": name, "args": args, "id": id, "index": index, "type": "tool_call_chunk"}


SETTLED = AIMessageChunk(
    ["a", {"type": "text", "text": "b", "index": 0}],
    id="msg_1",
    note=[1],
    tool_call_chunks=[fragment("f", '{"x": 1}', id="1", index=0)],
    response_metadata={"m": {"n": 1}},
)

LOOKS: dict[str, Callable[[AIMessageChunk], Any]] = {
    "repr": repr,
    "str": str,
    "itself": lambda chunk: chunk,
    "vars": lambda chunk: list(vars(chunk).items()),
    "iteration": list,
    "dict": dict,
    "model_dump": lambda chunk: list(chunk.model_dump().items()),
    "model_dump(mode=json)": lambda chunk: list(chunk.model_dump(mode="json").items()),
    "model_dump(exclude_defaults)": lambda chunk: chunk.model_dump(exclude_defaults=True),
    "model_dump(include)": lambda chunk: chunk.model_dump(include={"tool_calls"}),
    "model_dump_json": lambda chunk: chunk.model_dump_json(),
    "model_extra": lambda chunk: chunk.model_extra,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "model_copy": lambda chunk: chunk.model_copy(),
    "model_copy(update)": lambda chunk: chunk.model_copy(update={"name": "bot"}),
    "model_copy(deep)": lambda chunk: chunk.model_copy(deep=True),
    "pickle": lambda chunk: pickle.loads(pickle.dumps(chunk)),
    "to_json": lambda chunk: chunk.to_json(),
    "dumps": dumps,
    "loads": lambda chunk: loads(dumps(chunk)),
    "model_validate": AIMessageChunk.model_validate,
    "validated from its dump": lambda chunk: AIMessageChunk.model_validate(chunk.model_dump()),
    "as a message": message_chunk_to_message,
    "content": lambda chunk: chunk.content,
    "text": lambda chunk: chunk.text,
    "content_blocks": lambda chunk: chunk.content_blocks,
    "pretty_repr": lambda chunk: chunk.pretty_repr(),
    "tool_calls": lambda chunk: chunk.tool_calls,
    "invalid_tool_calls": lambda chunk: chunk.invalid_tool_calls,
    "note": lambda chunk: chunk.note,
    "missing attribute": lambda chunk: hasattr(chunk, "nothing"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_sum_looks_like_a_chunk_made_at_once(look: str) -> None:
    """Whatever is looked at first, a sum shows what a chunk shows that was built from the same values."""
    assert LOOKS[look](a_sum()) == LOOKS[look](SETTLED)


@pytest.mark.parametrize("look", LOOKS)
def test_no_look_leaves_a_trace(look: str) -> None:
    """After any look a sum is still equal to what it was."""
    looked_at = a_sum()
    LOOKS[look](looked_at)
    assert looked_at == SETTLED == a_sum()
    assert repr(looked_at) == repr(SETTLED)


@given(STREAM)
def test_any_sum_is_a_valid_chunk(chunks: list[AIMessageChunk]) -> None:
    """What a sum says passes validation and comes out unchanged, in the same order."""
    summed = chunks[0] + chunks[1:]
    validated = AIMessageChunk.model_validate(summed.model_dump())
    assert list(vars(validated)) == list(vars(summed)) == list(AIMessageChunk.model_fields)
    assert validated == summed
    message = collected(chunks).message()
    assert AIMessage.model_validate(message.model_dump()) == message
    assert list(vars(message)) == list(AIMessage.model_fields)


@given(STREAM)
def test_any_sum_survives_pickling_and_dumping(chunks: list[AIMessageChunk]) -> None:
    """By pickle, by `dumps` and by JSON, looked at or not."""
    assert pickle.loads(pickle.dumps(chunks[0] + chunks[1:])) == chunks[0] + chunks[1:]
    assert loads(dumps(chunks[0] + chunks[1:])) == chunks[0] + chunks[1:]
    read = AIMessageChunk.model_validate_json((chunks[0] + chunks[1:]).model_dump_json())
    assert read == chunks[0] + chunks[1:]


def test_setting_a_field_of_a_sum() -> None:
    """What is set stays, the rest is what it was, and both go into the next sum."""
    summed = a_sum()
    summed.content = "other"
    assert (summed.content, summed.tool_calls) == ("other", SETTLED.tool_calls)
    summed.other = 1  # type: ignore[attr-defined]
    assert (summed + AIMessageChunk("!")).content == "other!"
    assert (summed + AIMessageChunk("!")).other == 1
    assert summed.model_dump() == {**SETTLED.model_dump(), "content": "other", "other": 1}


def test_editing_a_sum_in_place() -> None:
    """What somebody does to the lists and mappings of a sum goes on, like with any message."""
    summed = a_sum()
    summed.response_metadata["mine"] = 1
    assert (summed + AIMessageChunk("")).response_metadata == {"m": {"n": 1}, "mine": 1}


def test_the_fields_of_a_sum_count_as_set() -> None:
    """Dumping only what was set dumps the whole of a sum, looked at or not."""
    assert a_sum().model_fields_set == set(AIMessageChunk.model_fields)
    assert a_sum().model_dump(exclude_unset=True) == SETTLED.model_dump()


def test_sums_cannot_be_hashed() -> None:
    """Messages can be edited: like any other, a sum is no key."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(a_sum())


def test_sums_are_equal_to_nothing_else() -> None:
    """A sum is equal to no other class of message, and to no plain value."""
    assert a_sum() != message_chunk_to_message(a_sum())
    assert a_sum() != "ab"
    assert a_sum() != AIMessageChunk("ab")


# what can be added


def test_a_sum_keeps_the_class() -> None:
    """A subclass's chunks add up to the subclass; its own fields and extras are the first chunk's and the last word's."""

    class MyChunk(AIMessageChunk, init=False):
        _secret: int = PrivateAttr(default=7)
        origin: str = "here"
        trail: list[str] = Field(default_factory=list)

    first = MyChunk("a", origin="there", trail=["x"], note=1)
    summed = first + AIMessageChunk("b", note=2) + MyChunk("c")
    assert type(summed) is MyChunk
    assert (summed.content, summed.origin, summed.trail, summed.note) == ("abc", "there", ["x"], 2)
    assert summed.trail is not first.trail
    collector = collected([first, AIMessageChunk("b", note=2), MyChunk("c")])
    first.trail.append("y")
    assert collector.chunk() == summed
    assert collector.message() == AIMessage("abc", note=2)
    assert list(vars(summed)) == list(MyChunk.model_fields)


@pytest.mark.parametrize("other", ["text", None, 1, AIMessage("x"), HumanMessage("x"), [AIMessageChunk("x"), "x"]])
def test_only_chunks_can_be_added(other: Any) -> None:
    """Anything else is a TypeError that names both classes."""
    with pytest.raises(TypeError, match="to AIMessageChunk: it is no message chunk"):
        AIMessageChunk("a") + other
    with pytest.raises(TypeError, match="to HumanMessageChunk: it is no message chunk"):
        HumanMessageChunk("a") + other


@pytest.mark.parametrize(
    "make",
    [
        HumanMessageChunk,
        SystemMessageChunk,
        AIMessageChunk,
        functools.partial(ChatMessageChunk, role="Moderator"),
        functools.partial(ToolMessageChunk, tool_call_id="1"),
        functools.partial(FunctionMessageChunk, name="f"),
    ],
)
@pytest.mark.filterwarnings("ignore:FunctionMessage:DeprecationWarning")
def test_chunks_of_every_class_add_up(make: Callable[..., BaseMessageChunk]) -> None:
    """Text is joined, metadata replaced, the first provider's id kept, extras kept; alone, in lists, in tuples."""
    first = make("a", id="lc_1", response_metadata={"model": "m", "finish": None}, additional_kwargs={"r": "x"}, note=1)
    second = make([{"type": "text", "text": "b"}], id="msg_1", response_metadata={"model": "m", "finish": "stop"})
    third = make("c", id="msg_2", additional_kwargs={"r": "y"}, note=[2])
    before = copy.deepcopy([first, second, third])
    whole = first + second + third
    assert type(whole) is type(first)
    assert whole.content == ["a", {"type": "text", "text": "b"}, "c"]
    assert whole.text == "abc"
    assert (whole.id, whole.response_metadata) == ("msg_1", {"model": "m", "finish": "stop"})
    assert (whole.additional_kwargs, whole.note) == ({"r": "xy"}, [2])
    assert operator.add(first, [second, third]) == operator.add(first, (second, third)) == whole
    edit(whole)
    assert [first, second, third] == before
    final = message_chunk_to_message(first + second)
    assert type(final) is type(first).__mro__[1]
    assert (final.content, final.note) == (["a", {"type": "text", "text": "b"}], 1)


def test_chunks_of_different_messages_do_not_add_up() -> None:
    """Another role, another tool call, another function: the error names both."""
    with pytest.raises(ValueError, match=r"'B'.*'A'"):
        ChatMessageChunk("a", role="A") + ChatMessageChunk("a", role="B")
    with pytest.raises(ValueError, match=r"'2'.*'1'"):
        ToolMessageChunk("a", tool_call_id="1") + ToolMessageChunk("a", tool_call_id="2")
    with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match=r"'g'.*'f'"):
        FunctionMessageChunk("a", name="f") + FunctionMessageChunk("a", name="g")


def test_tool_results_add_up() -> None:
    """An error wins over success, in any place; artifacts that are lists are joined, else the later one counts."""
    good = ToolMessageChunk("a", tool_call_id="1", artifact=[1])
    bad = ToolMessageChunk("b", tool_call_id="1", artifact=[2], status="error")
    assert (good + bad).status == (bad + good).status == operator.add(good, [bad, good]).status == "error"
    assert (good + good).status == "success"
    assert (good + bad).artifact == [1, 2]
    assert (good + ToolMessageChunk("b", tool_call_id="1")).artifact == [1]
    assert (good + ToolMessageChunk("b", tool_call_id="1", artifact="x")).artifact == "x"
    assert good.artifact == [1]


def test_messages_that_are_no_chunks_are_whole_already() -> None:
    """`message_chunk_to_message` gives any other message back as it is."""
    message = HumanMessage("x")
    assert message_chunk_to_message(message) is message


# the collector


def test_an_empty_collector_says_nothing() -> None:
    """It is false, gives an empty message, and true as soon as something was added."""
    collector = Collector()
    assert not collector
    assert (collector.message(), collector.chunk()) == (AIMessage(""), AIMessageChunk(""))
    collector.add(AIMessageChunk("", chunk_position="last"))
    assert collector


def test_a_collector_takes_any_chunk() -> None:
    """A model that echoes its user's chunks has spoken them."""
    collector = Collector()
    collector.add(HumanMessageChunk("a", note=1))
    collector.add(AIMessageChunk("b"))
    assert collector.message() == AIMessage("ab", note=1)
    assert collector.chunk() == AIMessageChunk("ab", note=1)
