"""The tool calls of a message, wherever it has them."""

from typing import Any

import pytest

from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    FunctionMessage,
    HumanMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
    message_chunk_to_message,
    repair_history,
    validate_history,
)
from hocket.messages.roles import calls_of, function_call_of
from hocket.providers.openai import ChatOpenAI

CALL = {"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}

IN_CONTENT: dict[str, dict[str, Any]] = {
    "anthropic": {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
    "gemini": {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}},
    "responses": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
    "standard": {"type": "tool_call", "id": "c1", "name": "f", "args": {"a": 1}},
}


@pytest.mark.parametrize("form", IN_CONTENT)
def test_a_call_that_only_the_content_has(form: str) -> None:
    """A call in the content, in any provider's form, is a call of the message, on the wire too."""
    message = AIMessage([{"type": "text", "text": "hm"}, IN_CONTENT[form]])
    [call] = calls_of(message)
    assert {**call, "extras": None} == {**CALL, "extras": None}
    conversation = [HumanMessage("q"), message, ToolMessage("r", tool_call_id="c1")]
    assert validate_history(conversation) == []
    [sent] = convert_to_openai_messages(conversation)[1]["tool_calls"]
    assert (sent["id"], sent["function"]["name"]) == ("c1", "f")
    body: Any = ChatOpenAI(model="m", api_key="k").render(conversation).json
    [sent] = body["messages"][1]["tool_calls"]
    assert (sent["id"], sent["function"]) == ("c1", {"name": "f", "arguments": '{"a":1}'})


@pytest.mark.parametrize("form", IN_CONTENT)
def test_a_call_that_stands_in_both_places_is_one(form: str) -> None:
    """The usual case: the content has the provider's own block of a call that ``tool_calls`` has too."""
    message = AIMessage([IN_CONTENT[form]], tool_calls=[CALL])  # type: ignore[list-item]  # a dict with these keys
    assert calls_of(message) == [CALL]


def test_calls_of_the_content_follow_the_others_and_broken_ones_are_invalid() -> None:
    """Each call is listed once, with all the keys of one."""
    broken = {**IN_CONTENT["responses"], "call_id": "c2", "arguments": '{"a":'}
    message = AIMessage([broken, IN_CONTENT["anthropic"], "text", {"type": "tool_call"}], tool_calls=[CALL])  # type: ignore[list-item]
    own, invalid = calls_of(message)
    assert own == CALL
    assert (invalid["id"], invalid["args"], invalid.get("type")) == ("c2", '{"a":', "invalid_tool_call")
    assert calls_of(HumanMessage([IN_CONTENT["anthropic"]])) == []


def test_repairing_gives_a_call_of_the_content_an_id() -> None:
    """Gemini may send calls without ids; the content's own block gets the same one."""
    message = AIMessage([{"functionCall": {"name": "f", "args": {}}}])
    repaired, result = repair_history([message])
    assert isinstance(repaired, AIMessage) and isinstance(result, ToolMessage)
    assert repaired.tool_calls[0]["id"] == result.tool_call_id
    assert repaired.content == [{"functionCall": {"name": "f", "args": {}, "id": result.tool_call_id}}]


OLDER = {"function_call": {"name": "f", "arguments": '{"a": 1}'}}


def test_an_older_function_call_is_a_tool_call_without_an_id() -> None:
    """A mapping with ``function_call`` converts without loss, and goes out as it came (a function message answers it)."""
    conversation = convert_to_messages(
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, **OLDER}]
    )
    with pytest.deprecated_call():
        conversation.append(FunctionMessage("r", name="f"))
    reply = conversation[1]
    assert isinstance(reply, AIMessage)
    assert reply.tool_calls == [{**CALL, "id": None}]
    assert reply.additional_kwargs == OLDER
    assert calls_of(reply) == [] and function_call_of(reply) == OLDER["function_call"]
    assert validate_history(conversation) == []
    assert convert_to_openai_messages(conversation)[1] == {"role": "assistant", "content": "", **OLDER}
    body: Any = ChatOpenAI(model="m", api_key="k").render(conversation).json
    assert body["messages"][1] == {"role": "assistant", "content": None, **OLDER}


def test_an_older_function_call_that_cannot_be_read_is_invalid() -> None:
    """Its text is kept, and what is wrong with it is said."""
    reply = AIMessage("", additional_kwargs={"function_call": {"name": "f", "arguments": "{"}})
    assert reply.tool_calls == []
    assert [(call["name"], call["args"]) for call in reply.invalid_tool_calls] == [("f", "{")]


def test_an_older_function_call_that_repeats_a_tool_call_is_not_read() -> None:
    """langchain-google-genai tells the last call there a second time."""
    reply = AIMessage("", additional_kwargs=OLDER, tool_calls=[CALL])  # type: ignore[list-item]
    assert reply.tool_calls == [CALL] and calls_of(reply) == [CALL] and function_call_of(reply) is None


def test_an_older_function_call_in_pieces() -> None:
    """A stream of pieces folds to the call of the whole message."""
    pieces = [{"name": "f", "arguments": ""}, {"arguments": '{"a"'}, {"arguments": ": 1}"}]
    first, *more = [AIMessageChunk("", additional_kwargs={"function_call": piece}) for piece in pieces]
    total = first + more
    assert total.tool_calls == [{**CALL, "id": None}]
    whole = message_chunk_to_message(total)
    assert isinstance(whole, AIMessage)
    assert whole.tool_calls == [{**CALL, "id": None}] and whole.additional_kwargs == OLDER


def test_an_older_function_call_in_pieces_beside_tool_calls() -> None:
    """Wherever its pieces come, it stays out of the tool calls, and a chunk comes back from its fields as it was."""
    pieces = [
        AIMessageChunk("", additional_kwargs={"function_call": {key: value}})
        for key, value in OLDER["function_call"].items()
    ]
    call = AIMessageChunk("", tool_calls=[CALL])  # type: ignore[list-item]
    for chunks in ([call, *pieces], [*pieces, call], [pieces[0], call, *pieces[1:]]):
        total = chunks[0] + chunks[1:]
        assert total.tool_calls == [CALL] and total.additional_kwargs == OLDER
        assert message_chunk_to_message(total) == AIMessage("", additional_kwargs=OLDER, tool_calls=[CALL])  # type: ignore[list-item]
    older = pieces[0] + pieces[1:]
    assert AIMessageChunk.model_validate(older.model_dump()) == older
    assert (older + call).tool_calls == [CALL]
