"""What holds for conversations of any kind: they stay valid, within their limits, whole and unchanged."""

import copy
from typing import Any

from hypothesis import given, strategies as st

from hocket.errors import InvalidInput
from hocket.message_toolkit.turns import split_turns
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
    filter_messages,
    merge_message_runs,
    repair_history,
    trim_messages,
    validate_history,
)

TEXTS = st.sampled_from(["a", "hello", "one\ntwo\nthree", "x\n"])
BLOCKS = st.sampled_from(["part", {"type": "text", "text": "b\nc"}, {"type": "image", "url": "https://e.x/i.png"}])
CONTENTS = TEXTS | st.lists(BLOCKS, min_size=1, max_size=3)
NAMES = st.sampled_from([None, None, "ada", "bob"])
KINDS = st.sampled_from(
    ["human", "ai", "system", "tool", HumanMessage, AIMessage, ["human", "ai"], ["ai", ToolMessage]]
)


def call(id: str | None, name: str = "f") -> dict[str, Any]:
    return {"name": name, "args": {"id": id}, "id": id, "type": "tool_call"}


def bad_call(id: str | None) -> dict[str, Any]:
    return {"name": "f", "args": "{", "id": id, "error": "not JSON", "type": "invalid_tool_call"}


@st.composite
def turns(draw: st.DrawFn) -> list[BaseMessage]:
    """A message without calls, or one with calls and their results; the ids of calls are to be made different."""
    content, name = draw(CONTENTS), draw(NAMES)
    kind = draw(st.sampled_from(["human", "human", "ai", "chunk", "chat", "system", "calls", "calls"]))
    if kind != "calls":
        made: dict[str, BaseMessage] = {
            "human": HumanMessage(content, name=name),
            "ai": AIMessage(content, name=name),
            "chunk": AIMessageChunk(content),
            "chat": ChatMessage(content, role="judge"),
            "system": SystemMessage(content),
        }
        return [made[kind]]
    good, bad = draw(st.sampled_from([(1, 0), (2, 0), (3, 1), (0, 1)]))
    ids = [str(number) for number in range(good + bad)]
    cls = draw(st.sampled_from([AIMessage, AIMessage, AIMessageChunk]))
    said: Any = draw(st.just("") | CONTENTS)
    if isinstance(said, list):
        said = [*said, *({"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ids[:good])]
    calls, invalid = [call(id) for id in ids[:good]], [bad_call(id) for id in ids[good:]]
    results = [ToolMessage(draw(st.just("") | TEXTS), tool_call_id=id) for id in draw(st.permutations(ids))]
    return [cls(said, tool_calls=calls, invalid_tool_calls=invalid), *results]


def numbered(several: list[list[BaseMessage]]) -> list[BaseMessage]:
    """The turns, one after another, with ids of messages and calls that are each other's only."""
    messages: list[BaseMessage] = []
    for number, turn in enumerate(several):
        for message in turn:
            changes: dict[str, Any] = {"id": str(len(messages))}
            if isinstance(message, ToolMessage):
                changes["tool_call_id"] = f"{number}.{message.tool_call_id}"
            if isinstance(message, AIMessage):
                for field in ("tool_calls", "invalid_tool_calls"):
                    changes[field] = [{**each, "id": f"{number}.{each['id']}"} for each in getattr(message, field)]
                if isinstance(message.content, list):
                    changes["content"] = [
                        {**part, "id": f"{number}.{part['id']}"} if "id" in part else part  # type: ignore[dict-item]
                        for part in message.content
                    ]
            if isinstance(message, AIMessageChunk):
                changes["tool_call_chunks"] = []
            messages.append(type(message).model_validate({**message.model_dump(), **changes}))
    return messages


valid = st.lists(turns(), max_size=7).map(numbered)

IDS = st.sampled_from(["a", "a", "b", "c"])
messes = st.lists(
    st.one_of(
        st.builds(HumanMessage, TEXTS | st.sampled_from(["", " ", [], [{"type": "text", "text": ""}]])),
        st.builds(lambda content: AIMessage(content), TEXTS | st.just("")),
        st.builds(
            lambda ids: AIMessage("", tool_calls=[call(id) for id in ids]), st.lists(IDS | st.none(), max_size=3)
        ),
        st.builds(lambda id: AIMessageChunk("", tool_calls=[call(id)], invalid_tool_calls=[bad_call(id)]), IDS),
        st.builds(lambda id: ToolMessage("r", tool_call_id=id), IDS),
        st.builds(SystemMessage, TEXTS),
        st.builds(lambda id: RemoveMessage(id=id), IDS),
    ),
    max_size=10,
)


def count(messages: list[BaseMessage]) -> int:
    """Tokens, of a sort: three a message, one a character or block or call, and two for the list."""
    return 2 + sum(
        3 + len(message.text) + (0 if isinstance(message.content, str) else len(message.content))
        for message in messages
    )


lengths = st.one_of(
    st.fixed_dictionaries({"max_messages": st.integers(0, 12)}),
    st.fixed_dictionaries(
        {"max_tokens": st.integers(0, 90), "token_counter": st.just(count), "allow_partial": st.booleans()}
    ),
)
ends = st.one_of(
    st.fixed_dictionaries(
        {"strategy": st.just("last"), "include_system": st.booleans()}, optional={"start_on": KINDS, "end_on": KINDS}
    ),
    st.fixed_dictionaries({"strategy": st.just("first")}, optional={"end_on": KINDS}),
)


def trimmed(messages: list[BaseMessage], options: dict[str, Any]) -> list[BaseMessage]:
    try:
        return trim_messages(messages, **options)
    except InvalidInput as error:  # there is nothing shorter
        assert "the system message alone takes" in str(error)
        return []


@given(valid, lengths, ends)
def test_a_trim_is_valid_and_within_its_limit(
    messages: list[BaseMessage], length: dict[str, Any], end: dict[str, Any]
) -> None:
    """Whatever is asked for; nothing that came is changed, and all but a shortened message is what came."""
    before = copy.deepcopy(messages)
    kept = trimmed(messages, {**length, **end})
    assert validate_history(kept) == []
    assert messages == before
    if "max_tokens" in length:
        assert not kept or count(kept) <= length["max_tokens"]
    else:
        has_system = end.get("include_system") and bool(kept) and kept[0] is messages[0]
        assert len(kept) <= length["max_messages"] + bool(has_system)
    new = [message for message in kept if not any(message is other for other in messages)]
    assert len(new) <= (1 if length.get("allow_partial") else 0)


@given(valid, st.integers(0, 12), st.sampled_from(["first", "last"]))
def test_a_trim_is_as_long_as_it_can_be(messages: list[BaseMessage], limit: int, strategy: Any) -> None:
    """The next turn would be above the limit."""
    kept = trim_messages(messages, max_messages=limit, strategy=strategy)
    several = split_turns(messages)
    expected: list[BaseMessage] = []
    for turn in reversed(several) if strategy == "last" else several:
        if len(expected) + len(turn) > limit:
            break
        expected = [*turn, *expected] if strategy == "last" else [*expected, *turn]
    assert kept == expected


@given(messes, st.integers(0, 8), st.sampled_from(["first", "last"]))
def test_a_trim_parts_no_pair_of_any_conversation(messages: list[BaseMessage], limit: int, strategy: Any) -> None:
    """A turn is kept, or not, as a whole, however the messages of a conversation stand."""
    kept = {id(message) for message in trim_messages(messages, max_messages=limit, strategy=strategy)}
    for turn in split_turns(messages):
        assert len({id(message) in kept for message in turn}) == 1


@given(
    valid,
    st.fixed_dictionaries(
        {},
        optional={
            "include_types": KINDS,
            "exclude_types": KINDS,
            "include_names": st.just(["ada"]),
            "exclude_names": st.just("bob"),
            "include_ids": st.just(["0", "1", "4"]),
            "exclude_ids": st.just(["2", "3"]),
            "exclude_tool_calls": st.sampled_from([True, False, ["0.0"], ["1.0", "2.1", "2.3"]]),
        },
    ),
)
def test_a_filter_is_valid(messages: list[BaseMessage], options: dict[str, Any]) -> None:
    """Whatever is left out takes its other half with it, and changes nothing that came."""
    before = copy.deepcopy(messages)
    kept = filter_messages(messages, **options)
    assert validate_history(kept) == []
    assert messages == before
    assert [message.id for message in kept] == [
        message.id for message in messages if message in kept or _is_in(message, kept)
    ]
    if not options:
        assert kept == messages


def _is_in(message: BaseMessage, kept: list[BaseMessage]) -> bool:
    return any(message.id == other.id for other in kept)


@given(valid)
def test_a_merge_is_valid_and_says_the_same(messages: list[BaseMessage]) -> None:
    """No speaker speaks twice in a row, no call is lost, and nothing that came is changed."""
    before = copy.deepcopy(messages)
    merged = merge_message_runs(messages)
    assert validate_history(merged) == []
    assert messages == before
    assert "".join(message.text for message in merged).replace("\n", "") == "".join(
        message.text for message in messages
    ).replace("\n", "")
    ids = [
        [each["id"] for message in some if isinstance(message, AIMessage) for each in message.tool_calls]
        for some in (messages, merged)
    ]
    assert ids[0] == ids[1]
    assert merge_message_runs(merged) == merged


@given(messes)
def test_any_conversation_can_be_repaired(messages: list[BaseMessage]) -> None:
    """What comes out is valid, is not changed again, and what came is as it was; nothing sayable is dropped."""
    before = copy.deepcopy(messages)
    repaired = repair_history(messages)
    assert validate_history(repaired) == []
    assert messages == before
    again = repair_history(repaired)
    assert len(again) == len(repaired) and all(one is other for one, other in zip(again, repaired, strict=True))
    said = [message.text for message in messages if isinstance(message, HumanMessage) and message.text.strip()]
    assert said == [message.text for message in repaired if isinstance(message, HumanMessage)]


@given(valid)
def test_a_valid_conversation_needs_no_repair(messages: list[BaseMessage]) -> None:
    """It is found valid, and comes back as the very messages that it is."""
    assert validate_history(messages) == []
    repaired = repair_history(messages)
    assert all(one is other for one, other in zip(repaired, messages, strict=True))


@given(messes)
def test_turns_are_the_conversation(messages: list[BaseMessage]) -> None:
    """Put together again, they are its messages; none is empty."""
    several = split_turns(messages)
    assert [message for turn in several for message in turn] == messages
    assert all(several)


@given(valid, st.sampled_from(["string", "block"]))
def test_openais_form_keeps_calls_with_their_results(messages: list[BaseMessage], text_format: Any) -> None:
    """Each id that is asked for is answered, in what follows; messages go in and come out one for one."""
    written = convert_to_openai_messages(messages, text_format=text_format)
    assert len(written) == len(messages)
    asked = [each["id"] for message in written for each in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in written if message["role"] == "tool"]
    assert sorted(asked) == sorted(answered)
