"""The rules of folding: what becomes of each field when the chunks of a stream are added up."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.messages import AIMessage, AIMessageChunk, Collector, merge_content, tool_call_chunk
from tests.kit import assert_linear


def folded(*chunks: AIMessageChunk) -> AIMessage:
    """The message that the chunks make, collected; added up, they make the same."""
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk)
    message = collector.message()
    total = functools.reduce(operator.add, chunks, AIMessageChunk(""))
    assert (total.content, total.usage_metadata) == (message.content, message.usage_metadata)
    assert total.response_metadata == message.response_metadata
    return message


def facts(*metadata: dict[str, Any]) -> dict[str, Any]:
    return folded(*(AIMessageChunk("", response_metadata=each) for each in metadata)).response_metadata


def kwargs(*additional: dict[str, Any]) -> dict[str, Any]:
    return folded(*(AIMessageChunk("", additional_kwargs=each) for each in additional)).additional_kwargs


# text and blocks


@pytest.mark.parametrize(
    ("contents", "merged"),
    [
        (["a", "b"], "ab"),
        (["", ""], ""),
        (["a", ["b"]], ["a", "b"]),
        (["", ["b"]], ["b"]),
        ([["a"], "b"], ["ab"]),
        ([["a"], ""], ["a"]),
        ([[], "x"], ["x"]),
        ([[], ""], []),
        ([["a"], ["b"]], ["a", "b"]),
        ([[{"type": "text", "text": "a"}], "b"], [{"type": "text", "text": "a"}, "b"]),
        ([[{"type": "text", "text": "a"}], "b", "c"], [{"type": "text", "text": "a"}, "bc"]),
        (
            [[{"type": "text", "text": "a", "index": 0}], [{"type": "text", "text": "b", "index": 0}]],
            [{"type": "text", "text": "ab", "index": 0}],
        ),
        (
            [[{"type": "text", "text": "a", "index": 0}], [{"type": "text", "text": "b", "index": 1}]],
            [{"type": "text", "text": "a", "index": 0}, {"type": "text", "text": "b", "index": 1}],
        ),
        (
            [[{"type": "text", "text": "a"}], [{"type": "text", "text": "b"}]],
            [{"type": "text", "text": t} for t in "ab"],
        ),
    ],
)
def test_contents_are_merged(contents: list[Any], merged: Any) -> None:
    """By `merge_content` as in a fold; nothing is lost after an empty list, as it is in LangChain."""
    assert merge_content(*contents) == merged
    assert folded(*(AIMessageChunk(content=content) for content in contents)).content == merged


def test_merging_contents_shares_nothing() -> None:
    """The merged content is the caller's own."""
    one: list[Any] = [{"type": "text", "text": "a", "index": 0, "annotations": [{"x": 1}]}]
    merged = merge_content(one, [])
    assert isinstance(merged, list) and isinstance(merged[0], dict)
    merged[0]["annotations"][0]["x"] = 2
    assert one[0]["annotations"] == [{"x": 1}]


def blocks(*deltas: dict[str, Any]) -> Any:
    return folded(*(AIMessageChunk([delta]) for delta in deltas)).content


def test_blocks_grow_by_index() -> None:
    """Deltas of several blocks may interleave; what identifies a block is not concatenated, its text is."""
    assert blocks(
        {"type": "reasoning", "reasoning": "a", "index": 0, "id": "r"},
        {"type": "text", "text": "b", "index": 1},
        {"type": "reasoning", "reasoning": "c", "index": 0, "id": "r", "extras": {"signature": "s"}},
        {"type": "text", "text": None, "index": 1, "annotations": [{"type": "citation", "url": "u"}]},
        {"type": "text_delta", "text": "d", "index": 1},
    ) == [
        {"type": "reasoning", "reasoning": "ac", "index": 0, "id": "r", "extras": {"signature": "s"}},
        {"type": "text", "text": "bd", "index": 1, "annotations": [{"type": "citation", "url": "u"}]},
    ]


def test_blocks_that_share_an_index_stay_apart() -> None:
    """Different ids, or standard blocks of different kinds, are different blocks, whatever their number."""
    assert blocks(
        {"type": "reasoning", "reasoning": "a", "index": 0},
        {"type": "text", "text": "b", "index": 0},
        {"type": "text", "text": "c", "index": 0, "id": "1"},
        {"type": "text", "text": "d", "index": 0, "id": "2"},
    ) == [
        {"type": "reasoning", "reasoning": "a", "index": 0},
        {"type": "text", "text": "bc", "index": 0, "id": "1"},
        {"type": "text", "text": "d", "index": 0, "id": "2"},
    ]


def test_what_a_provider_adds_to_a_standard_block_is_an_extra() -> None:
    """A non_standard delta of a standard block's index goes to its extras, as in LangChain."""
    assert blocks(
        {"type": "text", "text": "a", "index": 0},
        {"type": "non_standard", "index": 0, "value": {"type": "signature_delta", "signature": "s"}},
        {"type": "non_standard", "index": 0, "value": {"signature": "t"}},
    ) == [{"type": "text", "text": "a", "index": 0, "extras": {"signature": "st"}}]


def test_a_server_tool_call_comes_in_pieces() -> None:
    """Its arguments are text while it streams; the whole message shows the call."""
    pieces = [
        {"type": "server_tool_call_chunk", "id": "s", "name": "web_search", "args": "", "index": 0},
        {"type": "server_tool_call_chunk", "args": '{"q": ', "index": 0},
        {"type": "server_tool_call_chunk", "args": '"x"}', "index": 0},
    ]
    chunks = [AIMessageChunk([piece]) for piece in pieces]
    whole = {"type": "server_tool_call", "id": "s", "name": "web_search", "args": {"q": "x"}, "index": 0}
    assert (chunks[0] + chunks[1]).content_blocks == [{**pieces[0], "args": '{"q": '}]
    assert folded(*chunks).content_blocks == [whole]
    assert (chunks[0] + chunks[1:] + AIMessageChunk("", chunk_position="last")).content_blocks == [whole]
    assert folded(*chunks[:2]).content_blocks == [{**pieces[0], "args": '{"q": '}]


def test_additional_kwargs_grow() -> None:
    """Text is joined, mappings and lists go on inside, numbers are replaced, None and "" say nothing."""
    assert kwargs(
        {"reasoning_content": "a", "n": 1, "audio": {"id": "x", "data": "AA"}, "flag": True},
        {"reasoning_content": None, "n": 2, "audio": {"id": "x", "data": "BB"}, "flag": False},
        {"reasoning_content": "b", "audio": {"id": "", "expires_at": 1.5}},
        {"audio": {"expires_at": 2.5}, "new": [1]},
    ) == {
        "reasoning_content": "ab",
        "n": 2,
        "audio": {"id": "x", "data": "AABB", "expires_at": 2.5},
        "flag": False,
        "new": [1],
    }


def test_additional_kwargs_may_change_their_kind() -> None:
    """A value of another type replaces the one before: nothing raises in the middle of a stream."""
    assert kwargs({"a": 1}, {"a": "x"}, {"a": "y"}, {"a": {"b": 1}}, {"a": [1]}, {"a": 1.5}) == {"a": 1.5}
    assert kwargs({"a": "x"}, {"a": 1}, {"a": None}) == {"a": 1}


def test_raw_tool_calls_grow_by_index() -> None:
    """OpenAI's own deltas, kept in `additional_kwargs`, become its own tool calls."""
    assert kwargs(
        {"tool_calls": [{"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": ""}}]},
        {"tool_calls": [{"index": 1, "id": "2", "type": "function", "function": {"name": "g", "arguments": "{}"}}]},
        {"tool_calls": [{"index": 0, "function": {"name": None, "arguments": '{"a"'}}]},
        {"tool_calls": [{"index": 0, "function": {"name": "", "arguments": ": 1}"}}]},
    ) == {
        "tool_calls": [
            {"index": 0, "id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            {"index": 1, "id": "2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        ]
    }


# metadata


def test_metadata_is_replaced() -> None:
    """No "stopstop", no 404 + 200 = 604, no error for a bool, a float or a new type in the middle of a stream."""
    assert facts(
        {"finish_reason": "stop", "model_name": "gpt", "status": 404, "created": 1, "cached": True, "score": 0.5},
        {"finish_reason": "stop", "model_name": "gpt", "status": 200, "created": 2, "cached": False, "score": 1},
    ) == {"finish_reason": "stop", "model_name": "gpt", "status": 200, "created": 2, "cached": False, "score": 1}
    assert facts({"a": {"b": 1, "c": "x"}}, {"a": {"b": 2, "d": [1]}}, {"a": {"d": [2]}}) == {
        "a": {"b": 2, "c": "x", "d": [2]}
    }
    assert facts({"a": 1}, {"a": {"b": 1}}, {"a": [1]}, {"a": "x"}) == {"a": "x"}


def test_null_metadata_replaces_nothing() -> None:
    """A finish reason stays when a later chunk carries null."""
    assert facts({"finish_reason": "stop"}, {"finish_reason": None}) == {"finish_reason": "stop"}
    assert facts({"finish_reason": None}, {"finish_reason": "stop"}) == {"finish_reason": "stop"}
    assert facts({"finish_reason": None}, {}) == {"finish_reason": None}
    assert facts({"a": {"b": 1}}, {"a": {"b": None}}, {"a": None}) == {"a": {"b": 1}}


def test_log_probabilities_are_collected() -> None:
    """Every chunk brings those of its own tokens."""
    assert facts(
        {"logprobs": {"content": [{"token": "a"}], "refusal": None}},
        {"logprobs": None},
        {"logprobs": {"content": [{"token": "b"}], "refusal": None}},
    ) == {"logprobs": {"content": [{"token": "a"}, {"token": "b"}], "refusal": None}}


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        ([None, "msg_1", "msg_2"], "msg_1"),
        (["lc_1", "lc_run--1", "msg_1"], "msg_1"),
        (["lc_1", "lc_run--1", "lc_run--2"], "lc_run--1"),
        (["lc_1", "lc_2"], "lc_1"),
        (["run-1", "msg_1"], "run-1"),
        ([None, ""], None),
    ],
)
def test_the_best_id_is_kept(ids: list[str | None], kept: str | None) -> None:
    """A provider's id before the run's before a made-up one; of equals the first."""
    assert folded(*(AIMessageChunk("", id=id_) for id_ in ids)).id == kept


def test_name_and_position() -> None:
    """The first name is kept, and the last chunk makes the sum the last."""
    chunks = [AIMessageChunk("", chunk_position="last"), AIMessageChunk("", name="a"), AIMessageChunk("", name="b")]
    total = chunks[0] + chunks[1:]
    assert (total.name, total.chunk_position) == ("a", "last")


# tool calls


def fragments(*parts: Sequence[Any]) -> list[AIMessageChunk]:
    """Chunks of one fragment each: (index, id, name, args)."""
    keys = ("index", "id", "name", "args")
    return [
        AIMessageChunk("", tool_call_chunks=[tool_call_chunk(**dict(zip(keys, part, strict=True)))]) for part in parts
    ]


A, B = '{"a": 1}', '{"b": {"c": 2}}'
STREAMS: dict[str, list[Sequence[Any]]] = {
    "interleaved by index": [
        (0, "1", "f", ""),
        (1, "2", "g", ""),
        (0, None, None, '{"a"'),
        (1, None, None, '{"b": '),
        (0, None, None, ": 1}"),
        (1, None, None, '{"c": 2}}'),
    ],
    "ids, no index": [
        (None, "1", "f", ""),
        (None, "2", "g", None),
        (None, "2", None, '{"b": '),
        (None, "1", None, A),
        (None, "2", None, '{"c": 2}}'),
    ],
    "no ids": [(0, None, "f", '{"a"'), (1, None, "g", '{"b": {"c"'), (0, None, None, ": 1}"), (1, None, None, ": 2}}")],
    "neither, one after the other": [
        (None, None, "f", None),
        (None, None, None, '{"a": '),
        (None, None, None, "1}"),
        (None, None, "g", B),
    ],
    "all numbered 0, new ids": [(0, "1", "f", '{"a"'), (0, None, None, ": 1}"), (0, "2", "g", B)],
    "all numbered 0, whole, no ids": [(0, None, "f", A), (0, None, "g", B)],
    "all numbered 0, in pieces, no ids": [
        (0, None, "f", '{"a": '),
        (0, None, None, "1}"),
        (0, None, "g", '{"b": {"c": 2}'),
        (0, None, None, "}"),
    ],
    "all numbered 0, ids repeated, interleaved": [
        (0, "1", "f", ""),
        (0, "2", "g", ""),
        (0, "1", None, A),
        (0, "2", None, B),
    ],
    "equal ids, different indexes": [(0, "x", "f", ""), (1, "x", "g", ""), (0, "x", None, A), (1, "x", None, B)],
    "id and name repeated": [
        (0, "1", "f", '{"a"'),
        (0, "1", "f", ": 1}"),
        (1, "2", "g", '{"b": {"c": 2}'),
        (1, "2", "g", "}"),
    ],
    "name repeated, no ids": [
        (0, None, "f", ""),
        (0, None, "f", '{"a": '),
        (0, None, "f", "1}"),
        (0, None, "g", '{"b": {"c": 2}'),
        (0, None, "g", "}"),
    ],
    "id after the name": [(0, None, "f", ""), (0, "1", None, A), (1, None, "g", ""), (1, "2", None, B)],
    "empty strings instead of nothing": [
        (0, "1", "f", ""),
        (0, "", "", '{"a"'),
        (0, "", "", ": 1}"),
        (1, "2", "g", ""),
        (1, "", "", B),
    ],
    "the finished call once more": [(0, "1", "f", '{"a"'), (0, None, None, ": 1}"), (0, "1", "f", A), (1, "2", "g", B)],
    "an index that comes later": [(None, "1", "f", ""), (0, "1", None, A), (None, "2", "g", ""), (1, "2", None, B)],
    "named in pieces": [(0, "1", "", None), (0, None, "f", ""), (0, None, None, A), (1, "2", "g", B)],
    "text indexes": [("lc_a", "1", "f", ""), ("lc_b", "2", "g", ""), ("lc_a", None, None, A), ("lc_b", None, None, B)],
}


@pytest.mark.parametrize("case", STREAMS)
def test_parallel_calls_never_mix(case: str) -> None:
    """However a server fills index, id and name: two clean calls, in the order in which they began."""
    chunks = fragments(*STREAMS[case])
    calls = folded(*chunks).tool_calls
    assert [(call["name"], call["args"]) for call in calls] == [("f", {"a": 1}), ("g", {"b": {"c": 2}})]
    given = list(dict.fromkeys(part[1] for part in STREAMS[case] if part[1]))
    assert [call["id"] for call in calls] == (given * 2 if case.startswith("equal") else given or [None, None])
    assert folded(*chunks).invalid_tool_calls == []


@pytest.mark.parametrize("case", STREAMS)
def test_fragments_may_come_in_one_chunk(case: str) -> None:
    """Several fragments in one chunk are the same as one after the other."""
    chunks = fragments(*STREAMS[case])
    together = AIMessageChunk("", tool_call_chunks=[chunk.tool_call_chunks[0] for chunk in chunks])
    assert folded(together) == folded(*chunks)


def test_a_null_overwrites_nothing() -> None:
    """None in a fragment leaves the call as it is."""
    total = functools.reduce(operator.add, fragments((0, "1", "f", "{}"), (0, None, None, None)))
    assert total.tool_call_chunks == [tool_call_chunk(name="f", args="{}", id="1", index=0)]


def test_extras_of_a_call_are_kept() -> None:
    """What a provider wants back with a call, a signature for one, survives the fold."""
    first = {**tool_call_chunk(name="f", args="{", id="1", index=0), "extras": {"signature": "a"}}
    second = {**tool_call_chunk(args="}", index=0), "extras": {"signature": "b", "n": 1}}
    (call,) = folded(
        AIMessageChunk("", tool_call_chunks=[first]), AIMessageChunk("", tool_call_chunks=[second])
    ).tool_calls
    assert call["extras"] == {"signature": "ab", "n": 1}


def test_arguments_are_guesses_until_the_last_chunk() -> None:
    """A sum completes them as far as they go; once the stream has ended, half a call is an invalid one."""
    half = functools.reduce(operator.add, fragments((0, "1", "f", '{"a": 1, "b": "he')))
    assert half.tool_calls[0]["args"] == {"a": 1, "b": "he"}
    ended = half + AIMessageChunk("", chunk_position="last")
    for message in (ended, folded(half), folded(half, AIMessageChunk("", chunk_position="last"))):
        assert message.tool_calls == []
        (invalid,) = message.invalid_tool_calls
        assert (invalid["name"], invalid["args"], invalid["id"]) == ("f", '{"a": 1, "b": "he', "1")
        assert "line 1 column" in (invalid["error"] or "")


def test_one_good_and_one_bad_call() -> None:
    """Each goes to its list; the bad one keeps what the model wrote."""
    message = folded(*fragments((0, "1", "f", "{}"), (1, "2", "g", "{nonsense")))
    assert [call["name"] for call in message.tool_calls] == ["f"]
    assert [(call["name"], call["args"]) for call in message.invalid_tool_calls] == [("g", "{nonsense")]


def test_parsed_calls_given_to_a_chunk_survive_the_sum() -> None:
    """A hook that yields whole calls, without pieces of them, loses none."""
    call = {"name": "f", "args": {"a": 1}, "id": "1"}
    bad = {"name": "g", "args": "{", "id": "2", "error": "broken"}
    message = folded(AIMessageChunk("x", tool_calls=[call], invalid_tool_calls=[bad]), AIMessageChunk("y"))
    assert message.tool_calls == [{**call, "type": "tool_call"}]
    assert [(call["name"], call["args"]) for call in message.invalid_tool_calls] == [("g", "{")]


def test_pieces_of_calls_are_shown_until_the_last_chunk() -> None:
    """`content_blocks` shows fragments while the stream goes on, and calls when it has ended."""
    total = functools.reduce(operator.add, fragments((0, "1", "f", '{"a"'), (0, None, None, ": 1}")))
    piece = {"type": "tool_call_chunk", "id": "1", "name": "f", "args": A, "index": 0}
    assert (total + AIMessageChunk("x")).content_blocks == [{"type": "text", "text": "x"}, piece]
    (call,) = (total + AIMessageChunk("", chunk_position="last")).content_blocks
    assert (call["type"], call["args"]) == ("tool_call", {"a": 1})
    first = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}, "index": 0}
    (block,) = AIMessageChunk([first]).content_blocks
    assert (block["type"], block["args"]) == ("server_tool_call_chunk", "")
    (block,) = AIMessageChunk([first], chunk_position="last").content_blocks
    assert (block["type"], block["args"]) == ("server_tool_call", {})


@given(st.permutations([n for n in range(3) for _ in range(4)]), st.booleans(), st.booleans())
def test_any_interleaving_gives_clean_calls(order: list[int], repeats_id: bool, has_index: bool) -> None:
    """Three calls of one tool, told apart by index or by id, in any order of their pieces."""
    pieces = {n: iter(["", '{"n": ', f"{n}", "}"]) for n in range(3)}
    seen: set[int] = set()
    parts = []
    for n in order:
        is_first = n not in seen
        seen.add(n)
        id_ = f"call_{n}" if is_first or repeats_id or not has_index else None
        parts.append((n if has_index else None, id_, "f" if is_first else None, next(pieces[n])))
    calls = {call["id"]: call["args"] for call in folded(*fragments(*parts)).tool_calls}
    assert calls == {f"call_{n}": {"n": n} for n in range(3)}


# growth


def tool_deltas(count: int) -> list[AIMessageChunk]:
    parts = ['{"text": "', *["word "] * (count - 2), '"}']
    return fragments((0, "1", "write", parts[0]), *((0, None, None, part) for part in parts[1:]))


def collect(chunks: Sequence[AIMessageChunk]) -> None:
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk)
    assert len(collector.message().tool_calls[0]["args"]["text"]) == 5 * (len(chunks) - 2)


def add_up(chunks: Sequence[AIMessageChunk]) -> None:
    total = functools.reduce(operator.add, chunks)
    assert len(total.tool_calls[0]["args"]["text"]) == 5 * (len(chunks) - 2)


@pytest.mark.parametrize("fold", [collect, add_up])
def test_folding_tool_arguments_is_linear(fold: Callable[[Sequence[AIMessageChunk]], None]) -> None:
    """Of one call, collected or added up one by one: they are parsed once, at the end."""
    chunks = tool_deltas(8_000)
    assert_linear(lambda count: fold(chunks[:1] + chunks[1 - count :]), 8_000)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AIMessageChunk("word "),
        lambda: AIMessageChunk([{"type": "text", "text": "word ", "index": 0}]),
        lambda: AIMessageChunk("x", response_metadata={"logprobs": {"content": [{"token": "x"}]}}),
        lambda: AIMessageChunk("x", additional_kwargs={"reasoning_content": "word "}),
    ],
    ids=["text", "blocks", "logprobs", "reasoning"],
)
def test_adding_is_linear_whatever_is_added(make: Callable[[], AIMessageChunk]) -> None:
    """Adding the five-thousandth chunk costs what adding the first did; looking costs once."""
    chunks = [make() for _ in range(5_000)]
    assert_linear(lambda count: functools.reduce(operator.add, chunks[:count]).model_dump(), 5_000)
