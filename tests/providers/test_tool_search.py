"""Deferred tools on the wire: as the official SDKs have them, and from one provider to another in mid-conversation."""

import functools
import itertools
import json
from typing import Any

import pytest

from hocket.agents import ToolSearch, create_agent
from hocket.load import dumps, loads
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hocket.messages.roles import calls_of
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.anthropic.decode import decode_reply as decode_anthropic
from hocket.providers.openai import ChatOpenAI
from hocket.providers.openai.responses.decode import decode_reply
from hocket.providers.openai.responses.stream import ResponsesDecoder
from hocket.remote import RemoteChatModel
from hocket.testing import Reply, serve
from hocket.tools import tool
from hocket.tools.found_tools import FIND_TOOLS, FOUND_TOOLS, read_found_tools
from tests.kit.providers import PROVIDERS
from tests.kit.recordings import Reader, load_recordings, make_reply, reply_in, stream_in

RECORDINGS = load_recordings("tool_search")
OPENAI = Reader(functools.partial(decode_reply, provider="openai"), functools.partial(ResponsesDecoder, "openai"))


def make_tool(name: str, description: str, key: str, **extras: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function, **({"extras": extras} if extras else {})}


FIND: dict[str, Any] = make_tool(FIND_TOOLS, "Finds tools.", "query")
del FIND["function"]["parameters"]["required"]
TIDE = make_tool("tide", "The tide.", "port", defer_loading=True)
MOON = make_tool("moon", "The moon.", "day", defer_loading=True)
TOOLS = [FIND, TIDE, MOON]


def call(name: str, id: str, **args: Any) -> Any:
    return {"type": "tool_call", "name": name, "args": args, "id": id}


def find(*names: str, id: str = "call_1", **fields: Any) -> list[BaseMessage]:
    """A search and its result."""
    metadata = {FOUND_TOOLS: [*names]}
    result = ToolMessage("tide: The tide.", tool_call_id=id, response_metadata=metadata, **fields)
    return [AIMessage("", tool_calls=[call(FIND_TOOLS, id, query="tide")]), result]


ASKED = [HumanMessage("When is high water?")]
CALLED = AIMessage("", tool_calls=[call("tide", "call_2", port="Brest")])
TOLD = [*ASKED, *find("tide"), CALLED, ToolMessage("at nine", tool_call_id="call_2")]


def claude(messages: Any, tools: Any = TOOLS, **options: Any) -> Any:
    return (
        ChatAnthropic(model="claude-sonnet-5-5", api_key="k", max_tokens=64)
        .render(messages, tools=tools, **options)
        .json
    )


def openai(messages: Any, tools: Any = TOOLS, **options: Any) -> Any:
    return (
        ChatOpenAI(model="gpt-5.5", api_key="k", use_responses_api=True).render(messages, tools=tools, **options).json
    )


def result_of(body: Any) -> Any:
    [result] = body["messages"][2]["content"]
    return result["content"]


# -- recordings


def test_a_find_is_the_official_sdks_with_anthropic() -> None:
    """The body is equal, to the last field, and so is the reply as it is read."""
    recording = RECORDINGS["tool_search/anthropic"]
    assert claude([*ASKED, *find("tide", "moon", id="toolu_1")]) == recording["request"]["body"]
    [message] = [one.message for one in decode_anthropic(reply_in(recording)).generations]
    assert isinstance(message, AIMessage)
    [block] = recording["sdk_parsed"]["content"]
    assert message.tool_calls == [call(block["name"], block["id"], **block["input"])]


def test_a_find_is_the_official_sdks_with_openai() -> None:
    """The search, its call and its result are items of their own; a call of a deferred tool names its namespace."""
    assert openai(TOLD) == RECORDINGS["tool_search/openai_responses"]["request"]["body"]
    assert openai(TOLD, stream=True) == RECORDINGS["tool_search/openai_responses_stream"]["request"]["body"]


def test_a_search_of_openais_is_a_call_of_ours() -> None:
    """Whole and streamed, it is a call as any model makes it; and it goes back as it came."""
    whole, streamed = (RECORDINGS[f"tool_search/openai_responses{end}"] for end in ("", "_stream"))
    [item] = whole["sdk_parsed"]["output"]
    item = {name: value for name, value in item.items() if value is not None}
    for message in (OPENAI.read(reply_in(whole)), OPENAI.fold_stream(stream_in(streamed))):
        assert message.tool_calls == [call(FIND_TOOLS, item["call_id"], **item["arguments"])]
        assert message.response_metadata["normalized_finish_reason"] == "tool_calls"
        result = ToolMessage("moon: The moon.", tool_call_id="call_3", response_metadata={FOUND_TOOLS: ["moon"]})
        assert openai([*ASKED, loads(dumps(message)), result])["input"][1:] == [
            item,
            {
                "type": "tool_search_output",
                "call_id": "call_3",
                "execution": "client",
                "status": "completed",
                "tools": [openai("x")["tools"][2]],
            },
        ]
    OPENAI.check_bytes(stream_in(streamed))


def test_what_the_server_finds_itself_is_no_call_of_ours() -> None:
    """OpenAI's own search stays in the content, goes back as it came, and is read for the tools."""
    found: Any = {"type": "function", "name": "tide", "parameters": {}}
    items: Any = [
        {
            "type": "tool_search_call",
            "id": "t1",
            "execution": "server",
            "status": "completed",
            "arguments": {"paths": []},
        },
        {"type": "tool_search_output", "id": "t2", "execution": "server", "status": "completed", "tools": [found]},
        {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "Nine."}]},
    ]
    data = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": items, "usage": None}
    message = OPENAI.read(make_reply(data))
    assert message.tool_calls == [] and message.text == "Nine."
    assert read_found_tools(message) == ["tide"]
    assert openai([*ASKED, message, *ASKED], [{"type": "tool_search"}, TIDE])["input"][1:4] == items
    assert "tool_search" not in json.dumps(claude([*ASKED, message, *ASKED], [FIND]))


# -- Anthropic


@pytest.mark.parametrize(
    ("names", "tools", "fields"),
    [
        (["tide"], [FIND, MOON], {}),  # it has gone
        (["tide"], [FIND, make_tool("tide", "The tide.", "port"), MOON], {}),  # it is shown like others now
        ([], TOOLS, {}),  # nothing was found
        (["tide"], TOOLS, {"status": "error"}),  # of an error the API takes nothing but texts
        (["tide"], [TIDE], {}),  # the only tool is not deferred
    ],
)
def test_references_that_would_be_refused_are_the_text(names: list[str], tools: Any, fields: Any) -> None:
    """The result says what it says elsewhere."""
    assert result_of(claude([*ASKED, *find(*names, **fields)], tools)) == "tide: The tide."


def test_references_are_to_tools_of_this_request_alone() -> None:
    """Those that are here, in their order; also of a history in Anthropic's own blocks, and of its own searches."""

    def refer(tool_name: str) -> Any:
        return {"type": "tool_reference", "tool_name": tool_name}

    assert result_of(claude([*ASKED, *find("gone", "moon", "tide")])) == [
        refer("moon"),
        refer("tide"),
    ]
    messages = [*ASKED, *find()]
    messages[-1].content = [refer("gone"), refer("moon")]
    assert result_of(claude(messages)) == [{"type": "text", "text": "gone"}, refer("moon")]
    content = {"type": "tool_search_tool_search_result", "tool_references": messages[-1].content}
    search: Any = {"type": "server_tool_use", "id": "s1", "name": "tool_search_tool_bm25", "input": {"query": "moon"}}
    searched: Any = [search, {"type": "tool_search_tool_result", "tool_use_id": "s1", "content": content}]
    reply = AIMessage(searched, response_metadata={"model_provider": "anthropic"})
    sent = claude([*ASKED, reply, *ASKED])["messages"][1]["content"]
    assert sent == [search, {**searched[1], "content": {**content, "tool_references": [refer("moon")]}}]
    assert read_found_tools(reply) == ["gone", "moon"]


def test_a_request_has_a_tool_that_is_not_deferred() -> None:
    """The API refuses one without: then none is, whoever left the others out."""
    for body in (claude("hi", [TIDE, MOON]), claude("hi", tool_choice=["tide", "moon"])):
        assert [tool["name"] for tool in body["tools"]] == ["tide", "moon"]
        assert "defer_loading" not in json.dumps(body)
    assert (
        claude("hi", [{"type": "web_search_20250305", "name": "web_search"}, TIDE])["tools"][1]["defer_loading"] is True
    )


# -- OpenAI


def test_tools_are_deferred_where_there_is_a_search() -> None:
    """With `find_tools`, or OpenAI's own search; else they are offered like others. Foreign extras are not sent."""
    assert [tool.get("defer_loading") for tool in openai("hi")["tools"]] == [None, True, True]
    hosted = openai("hi", [{"type": "tool_search"}, FIND, TIDE])["tools"]
    assert [tool["type"] for tool in hosted] == ["tool_search", "function", "function"]
    assert hosted[2]["defer_loading"] is True
    assert "defer_loading" not in json.dumps(openai("hi", [TIDE, MOON]))
    plain = openai("hi", [FIND, make_tool("tide", "The tide.", "port", cache_control={"type": "ephemeral"})])
    assert [tool["type"] for tool in plain["tools"]] == ["function", "function"] and "ephemeral" not in json.dumps(
        plain
    )


def test_a_search_can_be_chosen() -> None:
    """By its name, as with any model."""
    assert openai("hi", tool_choice=FIND_TOOLS)["tool_choice"] == {"type": "tool_search"}
    assert openai("hi", tool_choice=[FIND_TOOLS, "tide"])["tool_choice"]["tools"] == [
        {"type": "tool_search"},
        {"type": "function", "name": "tide"},
    ]


def test_without_deferred_tools_a_search_is_a_plain_call_again() -> None:
    """The other way round, too: a history is written as the tools of the request ask for."""
    message = OPENAI.read(reply_in(RECORDINGS["tool_search/openai_responses"]))
    result = ToolMessage("moon: The moon.", tool_call_id="call_3", response_metadata={FOUND_TOOLS: ["moon"]})
    named: Any = {"type": "function_call", "call_id": "c", "name": "tide", "arguments": "{}", "namespace": "tide"}
    reply = AIMessage([named], tool_calls=[call("tide", "c")], response_metadata={"model_provider": "openai"})
    shown: Any = [FIND, {**TIDE, "extras": {}}]
    assert openai([*ASKED, message, result, reply, ToolMessage("at nine", tool_call_id="c")], shown)["input"][1:4] == [
        {"type": "function_call", "call_id": "call_3", "name": FIND_TOOLS, "arguments": '{"query":"moon"}'},
        {"type": "function_call_output", "call_id": "call_3", "output": "moon: The moon."},
        {name: value for name, value in named.items() if name != "namespace"},
    ]


def test_an_id_that_the_server_keeps_needs_no_call() -> None:
    """With `previous_response_id` the call is not among the messages; the name of the result tells."""
    result = ToolMessage("t", tool_call_id="c", name=FIND_TOOLS, response_metadata={FOUND_TOOLS: ["tide"]})
    [item] = openai([result], previous_response_id="resp_1")["input"]
    assert item["type"] == "tool_search_output" and item["tools"][0]["name"] == "tide"


# -- which models


def test_profiles_say_which_models_can() -> None:
    """Anthropic's from 4.5 on, and OpenAI's from 5.4 on, but for the smallest, and through the Responses API alone."""

    def can(model: RemoteChatModel) -> bool:
        return (model.profile or {}).get("tool_search", False)

    names = ("claude-opus-4-1", "claude-haiku-4-5-20251001")
    claudes = [can(ChatAnthropic(model=name, api_key="k")) for name in names]
    assert claudes == [False, True]
    others = ("gpt-5.2", "gpt-5.4-nano-2026-03-17", "gpt-5.4-mini", "gpt-6.1-sol")
    gpts = [ChatOpenAI(model=name, api_key="k", use_responses_api=True) for name in others]
    assert [can(model) for model in gpts] == [False, False, True, True]
    assert not can(ChatOpenAI(model="gpt-6.1-sol", api_key="k"))
    other = ChatOpenAI(
        model="gpt-6.1-sol", api_key="k", use_responses_api=True, base_url="https://openrouter.ai/api/v1"
    )
    assert not can(other) and can(ChatOpenAI(model="mine", api_key="k", profile={"tool_search": True}))


# -- from provider to provider


@pytest.mark.parametrize(("first", "second"), list(itertools.product(PROVIDERS, PROVIDERS)))
async def test_a_conversation_that_found_tools_goes_on(first: str, second: str) -> None:
    """What was found with one provider is called with another: nothing is lost, and nothing of the first one's is left."""
    searches: Any = [{"name": FIND_TOOLS, "args": {"query": "high water"}, "id": "call_1"}]
    async with serve(PROVIDERS[first].format, [Reply("Let me see.", tool_calls=searches)]) as server:
        model = PROVIDERS[first].make(model="test-model", base_url=server.url, api_key="k")
        answer = loads(dumps(await model.ainvoke(ASKED, tools=TOOLS)))
    [asked] = calls_of(answer)
    assert asked["name"] == FIND_TOOLS
    result = ToolMessage("tide: The tide.", tool_call_id=asked["id"], response_metadata={FOUND_TOOLS: ["tide"]})
    is_native = second in ("anthropic", "openai_responses")
    calls: Any = [{"name": "tide", "args": {"port": "Brest"}, "id": "call_2"}]
    async with serve(PROVIDERS[second].format, [Reply("", tool_calls=calls), Reply("At nine.")]) as server:
        model = PROVIDERS[second].make(model="test-model", base_url=server.url, api_key="k")
        conversation: list[BaseMessage] = [*ASKED, answer, result]
        called = await model.ainvoke(conversation, tools=TOOLS)
        assert [one["name"] for one in calls_of(called)] == ["tide"]
        conversation += [called, ToolMessage("at-nine-in-Brest", tool_call_id=calls_of(called)[0]["id"] or "")]
        assert (await model.ainvoke(conversation, tools=TOOLS)).text == "At nine."
        bodies = [json.loads(request.body) for request in server.requests]
    for body in bodies:
        written = json.dumps(body)
        assert "Let me see." in written and "high water" in written
        assert ("tool_reference" in written) == (second == "anthropic")
        assert ("tool_search_output" in written) == (second == "openai_responses")
        assert ("tide: The tide." in written) != is_native
        assert "extras" not in written and "found_tools" not in written
    assert bodies[0].get("tools") == bodies[1].get("tools")
    assert "at-nine-in-Brest" in json.dumps(bodies[1])


@pytest.mark.parametrize("name", ["anthropic", "openai_responses"])
async def test_an_agent_sends_the_same_tools_in_every_request(name: str) -> None:
    """All of them, deferred: what was found is in the conversation, in the words of the API."""

    @tool
    def tide(port: str) -> str:
        """Return when high water is."""
        return f"at nine in {port}"

    @tool
    def moon(day: str) -> str:
        """Return the phase of the moon."""
        return f"full on {day}"

    searches: Any = [{"name": FIND_TOOLS, "args": {"names": ["tide"]}, "id": "call_1"}]
    calls: Any = [{"name": "tide", "args": {"port": "Brest"}, "id": "call_2"}]
    script = [Reply(tool_calls=searches), Reply(tool_calls=calls), Reply("At nine.")]
    async with serve(PROVIDERS[name].format, script) as server:
        fields: Any = {"base_url": server.url, "api_key": "k", "profile": {"tool_search": True}}
        model = PROVIDERS[name].make(model="test-model", **fields)
        agent = create_agent(model, [tide, moon], defer=ToolSearch(True, embeddings=None))
        result = await agent.ainvoke("When is high water in Brest?")
        bodies = [json.loads(request.body) for request in server.requests]
    assert result.output == "At nine."
    assert [len(body["tools"]) for body in bodies] == [3, 3, 3]
    assert bodies[0]["tools"] == bodies[1]["tools"] == bodies[2]["tools"]
    assert [one.get("defer_loading") for one in bodies[0]["tools"]].count(True) == 2
    found = {"anthropic": "tool_reference", "openai_responses": "tool_search_output"}[name]
    assert [json.dumps(body).count(found) for body in bodies] == [0, 1, 1]
