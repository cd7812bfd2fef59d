"""A conversation that one provider began goes on with another: what is kept, what is left out, and who is told."""

import re
from typing import Any

import pytest

from hocket import init_chat_model
from hocket.errors import Unsupported
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI
from hocket.remote.handover import Downgrade, hand_over, make_call_id
from hocket.testing import AnthropicFormat, OpenAIFormat, Reply, Status, serve
from tests.kit import Recorder

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
SAID = {"type": "text", "text": "It rains.", "cache_control": {"type": "ephemeral"}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {"zone": "CET"}}


def never(part: object) -> bool:
    return False


def reply(*parts: Any, by: str | None = "anthropic", **fields: Any) -> AIMessage:
    facts = {} if by is None else {"model_provider": by}
    return AIMessage(list(parts), response_metadata=facts, **fields)


def given_to(provider: str, *messages: BaseMessage, is_native: Any = never) -> tuple[list[Any], Downgrade | None]:
    adapted, downgrade = hand_over(messages, provider, is_native)
    return [message.content for message in adapted], downgrade


def test_what_was_said_and_called_goes_on() -> None:
    """Text and calls stay, in their order, as standard blocks; what only the first provider understands is counted."""
    [content], downgrade = given_to("other", reply(THOUGHT, SAID, SEARCH, FOUND, CALL))
    assert content == [
        {"type": "text", "text": "It rains.", "extras": {}},
        {"type": "tool_call", "id": "toolu_1", "name": "clock", "args": {"zone": "CET"}},
    ]
    assert downgrade == Downgrade("other", ("reasoning", "server_tool_call", "server_tool_result"), 3)


def test_an_own_reply_stays_as_it_is() -> None:
    """Also what nobody knows in it, since its provider may have come up with it yesterday."""
    message = reply(THOUGHT, {"type": "brand_new", "x": 1}, SAID)
    adapted, downgrade = hand_over([message], "anthropic", lambda part: part["type"] == "thinking")
    assert adapted[0] is message and downgrade is None


def test_the_parts_of_a_reply_of_nobody_are_taken_for_what_they_are() -> None:
    """A message that does not say who wrote it: what is the provider's own passes, the rest is read."""
    message = reply(THOUGHT, SAID, by=None)
    assert given_to("anthropic", message, is_native=lambda part: part["type"] == "thinking")[0] == [[THOUGHT, SAID]]
    [content], downgrade = given_to("other", message)
    assert content == [SAID]
    assert downgrade is not None and downgrade.block_types == ("reasoning",)


def test_what_stands_beside_the_content_stays_behind() -> None:
    """Reasoning is counted; a refusal and an old function call are everybody's; a picture becomes content."""
    kwargs = {"reasoning_content": "hm", "refusal": "no", "x": 1, "images": ["data:image/png;base64,AAAA"]}
    message = AIMessage("so", additional_kwargs=kwargs, response_metadata={"model_provider": "deepseek"})
    [made], downgrade = hand_over([message], "other", never)
    assert made.additional_kwargs == {"refusal": "no"}
    assert made.content == ["so", {"type": "image", "base64": "AAAA", "mime_type": "image/png"}]
    assert downgrade == Downgrade("other", ("reasoning",), 1)


def test_what_a_call_says_beyond_stays_behind() -> None:
    call: Any = {"name": "f", "args": {}, "id": "1", "type": "tool_call", "extras": {"signature": "s"}}
    [made], _ = hand_over([AIMessage("", tool_calls=[call], response_metadata={"model_provider": "a"})], "b", never)
    assert isinstance(made, AIMessage) and "extras" not in made.tool_calls[0]
    [own], _ = hand_over([AIMessage("", tool_calls=[call], response_metadata={"model_provider": "b"})], "b", never)
    assert isinstance(own, AIMessage) and own.tool_calls[0]["extras"] == {"signature": "s"}


def test_ids_are_made_to_fit_in_calls_and_results_alike() -> None:
    """The same id gives the same one each time, and one that fits stays."""
    calls: Any = [{"name": "f", "args": {}, "id": id, "type": "tool_call"} for id in ("toolu_1", "abcDEF123")]
    asked = [
        reply(CALL, by="x", tool_calls=calls),
        ToolMessage("a", tool_call_id="toolu_1"),
        ToolMessage("b", tool_call_id="abcDEF123"),
    ]
    made, _ = hand_over(asked, "mistralai", never, re.compile("[a-zA-Z0-9]{9}"))
    fitted = make_call_id("toolu_1")
    first: Any = made[0]
    assert [call["id"] for call in first.tool_calls] == [fitted, "abcDEF123"]
    assert first.content[0]["id"] == fitted
    assert [message.tool_call_id for message in made[1:]] == [fitted, "abcDEF123"]  # type: ignore[attr-defined]
    assert re.fullmatch("[a-zA-Z0-9]{9}", fitted)


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_handlers_are_told_once_a_request(verb: str) -> None:
    """Before it is sent, whole and streamed, and not again with the next attempt."""
    handler = Recorder("on_downgrade", run_inline=False)
    script = [Status(529, headers={"retry-after-ms": "1"}), Reply("fine")]
    async with serve(OpenAIFormat(), script) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", callbacks=[handler])
        asked = [HumanMessage("hi"), reply(THOUGHT, SEARCH, FOUND, SAID), HumanMessage("go on")]
        if verb == "ainvoke":
            await model.ainvoke(asked)
        else:
            assert [chunk async for chunk in model.astream(asked)]
        assert len(server.requests) == 2
    _, args, details = handler.only("on_downgrade")
    assert args == ("openai_compatible",)
    assert details["block_types"] == ["reasoning", "server_tool_call", "server_tool_result"]
    assert details["count"] == 3


async def test_a_model_may_refuse_instead() -> None:
    """``foreign="raise"``: nothing is sent, and nobody is told of what was not left out."""
    handler = Recorder("on_downgrade", run_inline=False)
    async with serve(AnthropicFormat(), []) as server:
        model = ChatAnthropic(model="m", base_url=server.url, api_key="k", foreign="raise", callbacks=[handler])
        with pytest.raises(Unsupported, match=r"reasoning of another provider \(1 blocks\)"):
            await model.ainvoke([HumanMessage("hi"), reply({"type": "thinking", "thinking": "hm"}, SAID, by="cohere")])
        assert not server.requests
    assert not handler.events


async def test_what_can_stay_is_nobodys_business() -> None:
    """Plain texts and calls of another provider lose nothing, so nobody is told."""
    handler = Recorder("on_downgrade", run_inline=False)
    async with serve(AnthropicFormat(), [Reply("fine")]) as server:
        model = ChatAnthropic(model="m", base_url=server.url, api_key="k", foreign="raise", callbacks=[handler])
        call: Any = {"name": "f", "args": {}, "id": "call_1", "type": "tool_call"}
        said = AIMessage("so", tool_calls=[call], response_metadata={"model_provider": "openai"})
        await model.ainvoke([HumanMessage("hi"), said, ToolMessage("x", tool_call_id="call_1")])
    assert not handler.events


# -- names that a model made up

MADE_UP = {"functions.search": "functions_search", "": "unknown", "x y/z" * 50: ("x_y_z" * 50)[:64], "ok-1": "ok-1"}


def write_body(model: Any, messages: list[BaseMessage]) -> str:
    return bytes(model.render(messages).content).decode()


@pytest.mark.parametrize(
    "name",
    [
        *("openai:gpt-5.2", "anthropic:claude-sonnet-4-5", "google_genai:gemini-2.5-flash", "mistralai:mistral-large"),
        *("cohere:command-a-03-2025", "ollama:llama3.2", "openai:gpt-5.2 responses"),
    ],
)
@pytest.mark.parametrize("is_invalid", [False, True])
def test_a_name_that_no_tool_can_have_is_sent_as_servers_take_it(name: str, is_invalid: bool) -> None:
    """In the call and in its result, whoever wrote the call; the messages keep what the model said."""
    name, _, api = name.partition(" ")
    model = init_chat_model(
        name, **({} if name.startswith("ollama") else {"api_key": "k"}), **({"use_responses_api": True} if api else {})
    )
    for said, sent in MADE_UP.items():
        call = {"name": said, "args": "{" if is_invalid else {}, "id": "call_0001"}
        calls: dict[str, Any] = (
            {"invalid_tool_calls": [{**call, "error": "no"}]} if is_invalid else {"tool_calls": [call]}
        )
        result = ToolMessage("There is no such tool.", tool_call_id="call_0001", name=said[:100], status="error")
        messages = [HumanMessage("go"), AIMessage("", **calls), result]
        before = [message.model_copy(deep=True) for message in messages]
        body = write_body(model, messages)
        assert f'"name":"{sent}"' in body.replace('": "', '":"')
        assert said == sent or f'"{said[:100]}' not in body or not said
        assert '"name":""' not in body and messages == before


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("anthropic:claude-sonnet-4-5", {"type": "tool_use", "id": "c", "name": "a.b", "input": {}}),
        (
            "google_genai:gemini-2.5-flash",
            {"functionCall": {"name": "a.b", "args": {}, "id": "c"}, "thoughtSignature": "c2ln"},
        ),
        ("openai:gpt-5.2", {"type": "function_call", "call_id": "c", "name": "a.b", "arguments": "{}"}),
        ("openai:gpt-5.2", {"type": "tool_call", "id": "c", "name": "a.b", "args": {}}),
    ],
)
def test_a_call_in_the_content_is_named_likewise(name: str, part: dict[str, Any]) -> None:
    """It stays the block that it is, with its signature."""
    own = AIMessage([part], response_metadata={"model_provider": name.partition(":")[0]})
    body = write_body(
        init_chat_model(name, api_key="k"), [HumanMessage("go"), own, ToolMessage("no", tool_call_id="c")]
    )
    assert "a_b" in body and "a.b" not in body
    assert ("thoughtSignature" in part) == ("c2ln" in body)
