"""Finds of tools in the words of each provider, and a conversation that found tools with one and goes on with another."""

import itertools
import json
from typing import Any

import pytest

from hocket import Conversation, InMemoryChatMessageHistory, ScriptedChatModel
from hocket.agents import ToolSearch, create_agent
from hocket.errors import Unsupported
from hocket.message_toolkit.repair import repair_history, validate_history
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hocket.messages.roles import calls_of
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI
from hocket.providers.openai.responses.stream import ResponsesDecoder
from hocket.testing import Reply, serve
from hocket.tools import tool
from tests.kit.providers import PROVIDERS

FINDER: Any = {"type": "function", "function": {"name": "find_tools", "description": "d", "parameters": {}}}
TIDE: Any = {"type": "function", "function": {"name": "tide"}, "extras": {"defer_loading": True}}
STARS: Any = {"type": "function", "function": {"name": "stars"}, "extras": {"defer_loading": True}}
FIND: Any = {"name": "find_tools", "args": {"query": "sea"}, "id": "f1", "type": "tool_call"}
CALL: Any = {"name": "tide", "args": {}, "id": "c1", "type": "tool_call"}


def found(*names: str, **fields: Any) -> ToolMessage:
    facts = {"found_tools": [*names]}
    return ToolMessage("tide: High.", tool_call_id="f1", name="find_tools", response_metadata=facts, **fields)


def talk(result: ToolMessage) -> list[BaseMessage]:
    return [HumanMessage("?"), AIMessage("", tool_calls=[FIND]), result]


def claude(messages: Any, *tools: Any) -> Any:
    return ChatAnthropic(model="claude-sonnet-5-5", api_key="k").render(messages, tools=[*tools]).json


def gpt(messages: Any, *tools: Any) -> Any:
    return ChatOpenAI(model="gpt-5.5", api_key="k", use_responses_api=True).render(messages, tools=[*tools]).json


# -- Anthropic


def test_a_find_is_references_and_nothing_else() -> None:
    """Made from the names that the result has; those that this request lacks are left out."""
    body = claude(talk(found("tide", "gone", "stars")), FINDER, TIDE, STARS)
    [result] = body["messages"][-1]["content"]
    assert result == {
        "type": "tool_result",
        "tool_use_id": "f1",
        "content": [
            {"type": "tool_reference", "tool_name": "tide"},
            {"type": "tool_reference", "tool_name": "stars"},
        ],
    }
    assert [one.get("defer_loading") for one in body["tools"]] == [None, True, True]


@pytest.mark.parametrize("result", [found(), found("gone"), found("tide", status="error")])
def test_what_refers_to_nothing_is_a_text(result: ToolMessage) -> None:
    """Nothing found, tools that have gone, and a failure: an empty list is refused."""
    [sent] = claude(talk(result), FINDER, TIDE)["messages"][-1]["content"]
    assert sent["content"] == "tide: High."


def test_without_deferred_tools_a_find_is_a_text() -> None:
    """Also where the tool is shown, and where there are no tools at all."""
    shown = {key: value for key, value in TIDE.items() if key != "extras"}
    for tools in ((), (FINDER, shown)):
        [sent] = claude(talk(found("tide")), *tools)["messages"][-1]["content"]
        assert sent["content"] == "tide: High."


def test_never_are_all_tools_deferred() -> None:
    """It is refused: nothing could be found."""
    assert [one.get("defer_loading") for one in claude("?", TIDE, STARS)["tools"]] == [None, None]


@pytest.mark.parametrize("native", [True, False])
async def test_a_tool_that_defers_itself_goes_out_as_the_agent_finds_it(native: bool) -> None:
    """Marked in each request, or, where hocket finds, without the mark when it was found; its other extras go with it.

    A mark for the cache on a deferred tool is refused.
    """

    @tool(extras={"defer_loading": True, "cache_control": {"type": "ephemeral"}, "eager_input_streaming": True})
    async def tide(place: str) -> str:
        """Tell the tide."""
        return f"high at {place}"

    turns: Any = [{**FIND, "args": {"names": ["tide"]}}, {**CALL, "args": {"place": "Brest"}}]
    script = [*(Reply(tool_calls=[turn]) for turn in turns), Reply("High.")]
    async with serve(PROVIDERS["anthropic"].format, script) as server:
        model = ChatAnthropic(model="claude-sonnet-4-5", api_key="k", base_url=server.url)
        agent = create_agent(model, [tide], defer=ToolSearch(embeddings=None, native=native))
        assert (await agent.ainvoke("?")).output == "High."
        sent = [json.loads(request.body)["tools"] for request in server.requests]
    keys = {"name", "description", "input_schema", "eager_input_streaming"}
    tides = [tool.keys() - keys for tools in sent for tool in tools if tool["name"] == "tide"]
    assert tides == ([{"defer_loading"}] * 3 if native else [{"cache_control"}] * 2)


def test_references_of_others_to_tools_that_are_gone() -> None:
    """In a result they become texts; what the API's own search found loses them."""
    references = [{"type": "tool_reference", "tool_name": name} for name in ("tide", "gone")]
    result = ToolMessage(references, tool_call_id="f1")
    [sent] = claude(talk(result), FINDER, TIDE)["messages"][-1]["content"]
    assert sent["content"] == [references[0], {"type": "text", "text": "gone"}]
    use = {"type": "server_tool_use", "id": "s1", "name": "tool_search_tool_bm25", "input": {"query": "sea"}}
    output = {"type": "tool_search_tool_search_result", "tool_references": references}
    block = {"type": "tool_search_tool_result", "tool_use_id": "s1", "content": output}
    reply = AIMessage([use, block, {"type": "text", "text": "So."}], response_metadata={"model_provider": "anthropic"})
    sent = claude([HumanMessage("?"), reply, HumanMessage("?")], FINDER, TIDE)["messages"][1]["content"]
    assert sent[1]["content"]["tool_references"] == references[:1]


# -- OpenAI's Responses

SEARCH: dict[str, Any] = {
    "type": "tool_search_call",
    "id": "tsc_1",
    "call_id": "f1",
    "execution": "client",
    "arguments": {"query": "sea"},
    "status": "completed",
}


def read(*items: dict[str, Any], streams: bool) -> AIMessage:
    """Return the message that a reply with these items is."""
    reply = {"id": "resp_1", "status": "completed", "output": [*items]}
    decoder = ResponsesDecoder("openai")
    events = [{"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}]
    if streams:
        for index, item in enumerate(items):
            events += [
                {
                    "type": "response.output_item.added",
                    "output_index": index,
                    "item": {**item, "status": "in_progress"},
                },
                {"type": "response.output_item.done", "output_index": index, "item": item},
            ]
    events.append({"type": "response.completed", "response": reply})
    chunks = [chunk.message for event in events if (chunk := decoder.read(event, str(event["type"])))]
    total: Any = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    return total


@pytest.mark.parametrize("streams", [True, False])
def test_a_search_is_read_as_a_call_and_written_as_a_search(streams: bool) -> None:
    """With its id, as the server knows it, and the definitions that the result found; others get a plain call."""
    reply = read(SEARCH, streams=streams)
    assert reply.tool_calls == [FIND]
    reply.response_metadata["model_provider"] = "openai"
    said = [HumanMessage("?"), reply, found("tide", "gone")]
    body = gpt(said, FINDER, TIDE, STARS)
    tide = {"type": "function", "defer_loading": True, "name": "tide", "strict": False}
    tide["parameters"] = {"type": "object", "properties": {}}
    assert body["input"][1:] == [
        SEARCH,
        {
            "type": "tool_search_output",
            "call_id": "f1",
            "execution": "client",
            "status": "completed",
            "tools": [tide],
        },
    ]
    assert body["tools"][:2] == [
        {"type": "tool_search", "execution": "client", "description": "d", "parameters": {}},
        tide,
    ]
    plain = gpt(said)["input"]
    assert plain[1] == {"type": "function_call", "call_id": "f1", "name": "find_tools", "arguments": '{"query":"sea"}'}
    assert plain[2] == {"type": "function_call_output", "call_id": "f1", "output": "tide: High."}
    assert claude(said, FINDER, TIDE)["messages"][1]["content"] == [
        {"type": "tool_use", "id": "f1", "name": "find_tools", "input": {"query": "sea"}}
    ]


RAW = AIMessage([SEARCH], response_metadata={"model_provider": "openai"})
"""A reply as langchain-openai keeps it: the item as it came, and no call."""

OUTPUT: dict[str, Any] = {
    "type": "tool_search_output",
    "call_id": "f1",
    "execution": "client",
    "status": "completed",
    "tools": [{"type": "function", "name": "tide", "parameters": {"type": "object", "properties": {}}}],
}


def test_a_search_in_the_history_of_another_library_is_a_call() -> None:
    """It has a result as any call, and other providers are sent both."""
    assert [(call["name"], call["args"], call["id"]) for call in calls_of(RAW)] == [
        ("find_tools", {"query": "sea"}, "f1")
    ]
    said = [HumanMessage("?"), RAW, found("tide")]
    assert repair_history(said) == said
    body = gpt(said, FINDER, TIDE)
    assert body["input"][1] == SEARCH
    assert [tool["name"] for tool in body["input"][2]["tools"]] == ["tide"]
    assert claude(said, FINDER, TIDE)["messages"][1:] == claude(talk(found("tide")), FINDER, TIDE)["messages"][1:]


def test_a_search_that_a_person_answers_is_sent_as_it_is() -> None:
    """As LangChain has it: the item stands in the next message, and is no open call; others refuse the item by its name."""
    said = [HumanMessage("?"), RAW, HumanMessage([OUTPUT])]
    assert (repair_history(said), validate_history(said)) == (said, [])
    assert gpt(said, {"type": "tool_search", "execution": "client"}, TIDE)["input"][1:] == [SEARCH, OUTPUT]
    with pytest.raises(Unsupported, match="tool_search_output"):
        claude(said, FINDER, TIDE)


async def test_a_conversation_goes_on_behind_a_search_that_a_person_answers() -> None:
    """In a history, too: nothing is made up in place of the answer, and what was found is offered."""
    history = InMemoryChatMessageHistory()
    await history.aadd_messages([HumanMessage("?"), RAW])
    talk_on = Conversation(ScriptedChatModel(script=["Fine."]), history=history)
    await talk_on.asend(HumanMessage([OUTPUT]))
    assert [type(one).__name__ for one in history.messages] == [
        "HumanMessage",
        "AIMessage",
        "HumanMessage",
        "AIMessage",
    ]
    model = ScriptedChatModel(script=["Done."])
    await create_agent(model, [tide]).ainvoke("?", history=history)
    assert [one["function"]["name"] for one in model.requests[0].params["tools"]] == ["find_tools", "tide"]


def test_a_search_that_the_server_makes_stays_as_it_is() -> None:
    """Its items go back unharmed, and the marks of tools go to the server, as with any search of its own."""
    mine: Any = {**SEARCH, "execution": "server", "call_id": None}
    output: Any = {"type": "tool_search_output", "id": "tso_1", "execution": "server", "tools": []}
    reply = read(mine, output, streams=False)
    assert reply.tool_calls == []
    reply.response_metadata["model_provider"] = "openai"
    body = gpt([HumanMessage("?"), reply, HumanMessage("?")], {"type": "tool_search"}, TIDE)
    assert body["input"][1:3] == [mine, output]
    assert body["tools"][1]["defer_loading"] is True and "extras" not in body["tools"][1]


def test_calls_of_deferred_tools_name_their_namespace() -> None:
    """Their own name, without which they are refused; where the tool is shown, none."""
    said = [*talk(found("tide")), AIMessage("", tool_calls=[CALL]), ToolMessage("high", tool_call_id="c1", name="tide")]
    assert gpt(said, FINDER, TIDE)["input"][3]["namespace"] == "tide"
    assert "namespace" not in gpt(said, FINDER)["input"][3]


def test_nothing_is_deferred_that_nothing_finds() -> None:
    """Neither the mark nor the other extras are sent."""
    assert gpt("?", TIDE)["tools"] == [
        {"type": "function", "name": "tide", "parameters": {"type": "object", "properties": {}}, "strict": False}
    ]


# -- all


@pytest.mark.parametrize(
    ("model", "is_able"),
    [
        (ChatAnthropic(model="claude-sonnet-4-5", api_key="k"), True),
        (ChatAnthropic(model="claude-opus-4-1", api_key="k"), False),
        (ChatOpenAI(model="gpt-5.4", api_key="k", use_responses_api=True), True),
        (ChatOpenAI(model="gpt-5.4-nano", api_key="k", use_responses_api=True), False),
        (ChatOpenAI(model="gpt-5.4", api_key="k"), False),
    ],
)
def test_which_models_can_be_told(model: Any, is_able: bool) -> None:
    """By the profile; the same model cannot over an API that has no word for it."""
    assert bool((model.profile or {}).get("tool_search")) is is_able


def test_a_model_that_changes_its_api_is_another_one() -> None:
    """What it can is looked up again, as for another model; what the user has said stays."""
    model = ChatOpenAI(model="gpt-5.4", api_key="k")
    seen: list[bool] = []
    for name, value in (
        ("use_responses_api", True),
        ("base_url", "https://openrouter.ai/api/v1"),
        ("model", "gpt-5.5"),
    ):
        setattr(model, name, value)
        seen.append(bool((model.profile or {}).get("tool_search")))
    assert seen == [True, False, False]
    own = ChatOpenAI(model="gpt-5.4", api_key="k", profile={"tool_search": False})
    own.use_responses_api = True
    assert own.profile == {"tool_search": False}


@tool(extras={"defer_loading": True})
async def tide(place: str) -> str:
    """Tell when the tide is high."""
    return f"high at {place}"


ABLE = {"tool_search": True}


@pytest.mark.parametrize(("first", "second"), [*itertools.permutations(PROVIDERS, 2)])
async def test_a_conversation_that_found_tools_goes_on_with_any_provider(first: str, second: str) -> None:
    """What one provider's model found the next one's may call at once, and its server takes the history."""
    history = InMemoryChatMessageHistory()
    search = ToolSearch(embeddings=None)
    scripts = {
        first: [
            Reply(tool_calls=[{"name": "find_tools", "args": {"names": ["tide"]}, "id": "call_1"}]),
            Reply(tool_calls=[{"name": "tide", "args": {"place": "Brest"}, "id": "call_2"}]),
            Reply("Soon."),
        ],
        second: [Reply(tool_calls=[{"name": "tide", "args": {"place": "Kiel"}, "id": "call_3"}]), Reply("Later.")],
    }
    for name, script in scripts.items():
        native = {"profile": ABLE} if name in ("anthropic", "openai_responses") else {}
        async with serve(PROVIDERS[name].format, script) as server:
            model = PROVIDERS[name].make(model="test-model", base_url=server.url, api_key="k", **native)
            agent = create_agent(model, [tide], defer=search, style="native")
            result = await agent.ainvoke("And the tide?", history=history)
        assert [step[1] for step in result.steps][-1] == f"high at {'Brest' if name == first else 'Kiel'}"
        assert result.output == ("Soon." if name == first else "Later.")
