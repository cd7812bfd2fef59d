"""Messages and options become the request that llama.cpp reads, and what it would ignore is refused."""

from typing import Any

import pytest

from hocket.errors import InvalidInput
from hocket.language_models.options import merge_options
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    create_image_block,
)
from hocket.providers.local import ChatLocal
from hocket.providers.local.encode import encode_messages, encode_request
from hocket.providers.local.options import CallOptions

WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
TIME = {"type": "function", "function": {"name": "time", "parameters": {"type": "object"}}}


def options(**given: Any) -> CallOptions:
    return merge_options(ChatLocal(), given, CallOptions)


@pytest.mark.parametrize(
    ("message", "encoded"),
    [
        (SystemMessage("be brief"), {"role": "system", "content": "be brief"}),
        (HumanMessage("hi", name="bob"), {"role": "user", "content": "hi", "name": "bob"}),
        (AIMessage("hello"), {"role": "assistant", "content": "hello"}),
        (AIMessageChunk("hel") + AIMessageChunk("lo"), {"role": "assistant", "content": "hello"}),
        (ToolMessage("21 C", tool_call_id="c1"), {"role": "tool", "content": "21 C", "tool_call_id": "c1"}),
        (ChatMessage("hm", role="critic"), {"role": "critic", "content": "hm"}),
        (HumanMessage(["a", {"type": "text", "text": "b"}]), {"role": "user", "content": "ab"}),
        (HumanMessage([]), {"role": "user", "content": ""}),
    ],
)
def test_every_kind_of_message(message: BaseMessage, encoded: dict[str, Any]) -> None:
    """Each message becomes one dict with its role and its text."""
    assert encode_messages([message]) == [encoded]


def test_the_forerunner_of_tool_messages() -> None:
    """Function messages are deprecated and still sent."""
    with pytest.warns(DeprecationWarning):
        message = FunctionMessage("21 C", name="weather")

    assert encode_messages([message]) == [{"role": "function", "content": "21 C", "name": "weather"}]


def test_tool_calls_travel_beside_the_content() -> None:
    """Calls are written once, arguments as JSON, broken ones as the model wrote them."""
    message = AIMessage(
        [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Let me look."}, {"type": "tool_use"}],
        tool_calls=[{"name": "weather", "args": {"city": "Paris"}, "id": "c1"}],
        invalid_tool_calls=[{"name": "time", "args": '{"zo', "id": None, "error": "cut"}],
    )

    assert encode_messages([message]) == [
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}},
                {"id": "", "type": "function", "function": {"name": "time", "arguments": '{"zo'}},
            ],
        }
    ]


@pytest.mark.parametrize("kind", ["image", "image_url", "audio", "file", None])
def test_other_content_is_refused(kind: str | None) -> None:
    """A block that is not text is named, before any work."""
    with pytest.raises(InvalidInput, match=f"reads text only, .* of type {kind!r}"):
        encode_messages([HumanMessage([{"type": kind}])])


def test_reasoning_is_refused_where_no_model_said_it() -> None:
    """Only a reply's own reasoning and calls are left out silently."""
    with pytest.raises(InvalidInput, match="'reasoning'"):
        encode_messages([HumanMessage([{"type": "reasoning", "reasoning": "hm"}])])


def test_half_a_character_is_replaced() -> None:
    """A lone surrogate, which no encoding can carry, is told as U+FFFD, so that the conversation goes on."""
    assert encode_messages([HumanMessage("a\ud800b")])[0]["content"] == "a\ufffdb"


def test_a_picture_in_a_result_is_told_in_words() -> None:
    """Its tool has run: in a user's message it would be refused."""
    picture = create_image_block(base64=b"-" * 2000, mime_type="image/png")
    told = encode_messages([ToolMessage([picture], tool_call_id="1")])[0]["content"]
    assert told == "[image/png, 2 kB: the embedded model reads text only]"


def test_no_message_and_no_role() -> None:
    """Nothing to say, and messages that are instructions to a store, are refused."""
    with pytest.raises(InvalidInput, match="no message"):
        encode_messages([])
    with pytest.raises(InvalidInput, match="RemoveMessage has no place"):
        encode_messages([RemoveMessage(id="1")])


def test_a_plain_request() -> None:
    """What was not asked for is not sent."""
    assert encode_request([HumanMessage("hi")], options()) == {
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0,
        "top_p": 0.9,
        "max_tokens": 512,
    }


def test_every_option() -> None:
    """Options have the runtime's names; None tokens is its -1, and one stop string is a list of one."""
    schema = {"type": "json_object"}
    request = encode_request([HumanMessage("hi")], options(max_tokens=None, seed=7, stop="END", response_format=schema))

    assert request["max_tokens"] == -1
    assert (request["seed"], request["stop"], request["response_format"]) == (7, ["END"], schema)


@pytest.mark.parametrize(
    ("choice", "tools", "sent"),
    [
        (None, [WEATHER, TIME], "auto"),
        ("auto", [WEATHER, TIME], "auto"),
        ("none", [WEATHER, TIME], "none"),
        ("required", [WEATHER, TIME], "required"),
        ("any", [WEATHER, TIME], "required"),
        (True, [WEATHER, TIME], "required"),
        ("time", [TIME], "required"),
        ({"type": "function", "function": {"name": "time"}}, [TIME], "required"),
    ],
)
def test_tool_choice(choice: Any, tools: list[Any], sent: str) -> None:
    """LangChain's and OpenAI's ways to choose are understood; a tool by name is offered alone, and required."""
    request = encode_request([HumanMessage("hi")], options(tools=[WEATHER, TIME], tool_choice=choice))

    assert (request["tools"], request["tool_choice"]) == (tools, sent)


def test_a_choice_of_no_tool() -> None:
    """A name that no tool has is refused with those that exist."""
    with pytest.raises(InvalidInput, match=r"'wether' is none of .* 'weather', 'time'"):
        encode_request([HumanMessage("hi")], options(tools=[WEATHER, TIME], tool_choice="wether"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"temprature": 1}, "no option 'temprature'; did you mean 'temperature'"),
        ({"temperature": -1}, "temperature=-1 will not do"),
        ({"temperature": "hot"}, "temperature='hot' will not do"),
        ({"top_p": 0}, "top_p=0 will not do"),
        ({"max_tokens": 0}, "max_tokens=0 will not do"),
        ({"seed": 2**32}, "seed=4294967296 will not do"),
        ({"stop": [""]}, "stop='' will not do"),
        ({"tools": [5]}, "5 is no tool"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, Any], message: str) -> None:
    """The runtime ignores names and values that it does not know; here they are errors."""
    with pytest.raises(InvalidInput, match=message):
        options(**given)


def test_instructions_for_a_conversation_without_any() -> None:
    """A system message of the caller's takes their place, wherever it stands and even if it is empty."""
    said = encode_request([HumanMessage("hi")], options(), "be plain")["messages"]
    assert said == [{"role": "system", "content": "be plain"}, {"role": "user", "content": "hi"}]
    for own in (SystemMessage(""), ChatMessage("", role="system")):
        said = encode_request([HumanMessage("hi"), own], options(), "be plain")["messages"]
        assert [message["content"] for message in said] == ["hi", ""]
    assert len(encode_request([HumanMessage("hi")], options())["messages"]) == 1


def test_what_an_option_says_goes_over_the_sampling() -> None:
    """The caller's own settings win, those in ``extra_body`` too."""
    usual = {"dry_multiplier": 0.8, "top_k": 3}
    assert encode_request([HumanMessage("hi")], options(), None, usual).items() >= usual.items()
    given = options(top_k=9, extra_body={"dry_multiplier": 0})
    assert encode_request([HumanMessage("hi")], given, None, usual).items() >= {"dry_multiplier": 0, "top_k": 9}.items()
