"""Tools that a model is shown when it has found them."""

from typing import Any

import pytest

from hocket import AIMessage, HumanMessage, InMemoryChatMessageHistory, ScriptedChatModel, ToolMessage, Turn
from hocket.agents import AgentLimits, AgentMiddleware, ModelRequest, Resume, ToolSearch, create_agent
from hocket.errors import InvalidInput
from hocket.language_models.scripted import ScriptedRequest
from hocket.tools import BaseTool, StructuredTool
from tests.agents.conftest import Script, add, call, pay

WORDS = ToolSearch(True, embeddings=None)


def make_tool(name: str, description: str, server: str | None = None, **fields: Any) -> BaseTool:
    """Return a tool that says its name."""

    async def work(place: str = "") -> str:
        return f"{name} of {place}"

    metadata = {"mcp_server": server} if server else None
    return StructuredTool.from_function(coroutine=work, name=name, description=description, metadata=metadata, **fields)


WEATHER = make_tool("sky_weather", "Tell the weather of a place. It is that of today.", "sky")
STARS = make_tool("sky_stars", "List the stars over a place.", "sky")
TIDE = make_tool("tide", "Tell when the tide is high.", extras={"defer_loading": True})
TOOLS = [WEATHER, STARS, TIDE, add]


def make_agent(script: Script, tools: list[BaseTool] = TOOLS, profile: Any = None, **options: Any) -> Any:
    """Return an agent over a script, whose tools are found by their words, and its model."""
    turns = [Turn(tool_calls=one) if isinstance(one, list) else one for one in script]
    model = ScriptedChatModel(script=turns, profile=profile)
    return create_agent(model, tools, **{"defer": WORDS, **options}), model


def names(request: ScriptedRequest) -> list[str]:
    """Return the names of the tools of a request, in order."""
    return [tool["function"]["name"] for tool in request.params.get("tools") or ()]


def find(id: str = "f", **arguments: Any) -> Any:
    """Return a call that finds tools."""
    return call("find_tools", id, **arguments)


async def test_found_tools_stand_behind_the_others() -> None:
    """The first request has one tool; each find adds its tools at the end, and what stands before stays."""
    agent, model = make_agent(
        [[find(query="weather")], [call("sky_weather", place="Bern")], [find("g", names=["tide"])], "Fine."]
    )
    result = await agent.ainvoke("Weather?")
    assert [names(request) for request in model.requests] == [
        ["find_tools"],
        ["find_tools", "sky_weather"],
        ["find_tools", "sky_weather"],
        ["find_tools", "sky_weather", "tide"],
    ]
    assert result.output == "Fine."
    texts = [message.text for message in result.new_messages if isinstance(message, ToolMessage)]
    assert texts == [
        "sky_weather: Tell the weather of a place.",
        "sky_weather of Bern",
        "tide: Tell when the tide is high.",
    ]
    assert result.new_messages[2].response_metadata == {"found_tools": ["sky_weather"]}


async def test_the_description_has_the_names_in_groups() -> None:
    """Of each server its tools; their names can be given with or without the server's."""
    agent, model = make_agent([[find(names=["stars", "sky_weather", "moon"])], "Done."])
    result = await agent.ainvoke("go")
    function = model.requests[0].params["tools"][0]["function"]
    assert function["description"].splitlines()[1:] == ["sky: weather, stars", "tide, add"]
    assert list(function["parameters"]["properties"]) == ["query", "names"]
    assert result.new_messages[2].text.splitlines() == [
        "sky_stars: List the stars over a place.",
        "sky_weather: Tell the weather of a place.",
        "There is no tool 'moon'; the nearest name is 'tide'.",
    ]
    assert names(model.requests[1]) == ["find_tools", "sky_stars", "sky_weather"]


async def test_many_names_become_groups_with_their_sizes() -> None:
    """Names of more than 2,000 tokens are not shown."""
    many = [make_tool(f"sky_{number}_{'x' * 50}", "Does nothing.", "sky") for number in range(200)]
    agent, model = make_agent(["Done."], [*many, add])
    await agent.ainvoke("go")
    description = model.requests[0].params["tools"][0]["function"]["description"]
    assert description.splitlines()[1:] == ["sky: 200 tools", "others: 1 tools"]


async def test_nothing_found_is_said() -> None:
    """With the nearest name; an empty call is told what to give."""
    agent, model = make_agent([[find(query="weathr")], [find("g")], "Done."])
    result = await agent.ainvoke("go")
    texts = [message.text for message in result.new_messages if isinstance(message, ToolMessage)]
    assert texts[0] == "No tool was found for 'weathr'; the nearest name is 'sky_weather'. Use other words, or names."
    assert texts[1] == "Nothing was asked for. Give a query, or names from the list."
    assert names(model.requests[2]) == ["find_tools"]


async def test_a_tool_that_was_not_found_is_not_run() -> None:
    """Its arguments are guessed: the model is told its schema, and the next call runs."""
    agent, model = make_agent([[call("tide", "1", place="?")], [call("tide", "2", place="Brest")], "Done."])
    result = await agent.ainvoke("go")
    refused, ran = [message for message in result.new_messages if isinstance(message, ToolMessage)]
    assert refused.response_metadata == {"tool_error": "not_loaded", "found_tools": ["tide"]}
    assert refused.status == "error" and '"place"' in refused.text
    assert ran.text == "tide of Brest"
    assert names(model.requests[1]) == ["find_tools", "tide"]


async def test_a_find_and_a_call_in_one_answer() -> None:
    """The call was written before the schema was known, and is not run."""
    agent, _ = make_agent([[find(names=["tide"]), call("tide")], "Done."])
    result = await agent.ainvoke("go")
    kinds = [message.response_metadata.get("tool_error") for message in result.new_messages[2:4]]
    assert kinds == [None, "not_loaded"]


async def test_a_later_run_offers_what_the_history_has_found() -> None:
    """In the order of the finds; a tool that has gone is left out, and a call of it is unknown."""
    history = InMemoryChatMessageHistory()
    agent, _ = make_agent([[find(names=["tide"])], [find("g", names=["sky_stars", "add"])], "Done."])
    await agent.ainvoke("go", history=history)
    later, model = make_agent([[call("sky_stars")], "Done."], [TIDE, add, WEATHER])
    result = await later.ainvoke("again", history=history)
    assert names(model.requests[0]) == ["find_tools", "tide", "add"]
    assert result.new_messages[2].response_metadata["tool_error"] == "unknown_tool"


async def test_resume_offers_the_found_tools_again() -> None:
    """A find before a pause is in the history: the approved call runs, and the tools stand as they stood."""
    history = InMemoryChatMessageHistory()
    script: Script = [[find(names=["tide", "pay"])], [call("pay", amount=3)], "Paid."]
    agent, model = make_agent(script, [*TOOLS, pay], interrupt_on=["pay"])
    paused = await agent.ainvoke("go", history=history)
    assert paused.stop == "paused"
    result = await agent.ainvoke(Resume({"pay": "approve"}), history=history)
    assert result.output == "Paid." and result.steps[0][1] == "paid 3"
    assert names(model.requests[2]) == names(model.requests[1]) == ["find_tools", "tide", "pay"]


async def test_a_run_that_was_killed_after_a_find_goes_on_with_it() -> None:
    """What was found is in the history before the model is asked again."""
    history = InMemoryChatMessageHistory()
    done = ToolMessage("tide: High.", tool_call_id="f", response_metadata={"found_tools": ["tide"]})
    await history.aadd_messages([HumanMessage("go"), AIMessage("", tool_calls=[find(names=["tide"])]), done])
    agent, model = make_agent([[call("tide", place="Brest")], "High."])
    result = await agent.ainvoke(Resume(), history=history)
    assert names(model.requests[0]) == ["find_tools", "tide"]
    assert result.steps[0][1] == "tide of Brest"


async def test_native_models_are_sent_all_tools_each_time() -> None:
    """Those that are found are marked, and the list is the same in all requests."""
    agent, model = make_agent([[find(names=["tide"])], [call("tide")], "Done."], profile={"tool_search": True})
    result = await agent.ainvoke("go")
    first, *others = [request.params["tools"] for request in model.requests]
    assert all(tools == first for tools in others)
    assert [tool["function"]["name"] for tool in first] == ["find_tools", "sky_weather", "sky_stars", "tide", "add"]
    assert [tool.get("extras") for tool in first] == [None, *[{"defer_loading": True}] * 4]
    assert result.output == "Done." and result.steps[1][1] == "tide of "


async def test_native_is_off_when_told_so_and_for_a_model_among_others_that_cannot() -> None:
    """Then found tools stand behind the others, and none is marked."""
    able = {"tool_search": True}
    agent, model = make_agent(
        [[find(names=["tide"])], "Done."], profile=able, defer=ToolSearch(True, embeddings=None, native=False)
    )
    await agent.ainvoke("go")
    assert names(model.requests[1]) == ["find_tools", "tide"]
    assert "extras" not in model.requests[1].params["tools"][1]
    model = ScriptedChatModel(script=["Done."], profile={"tool_search": True})
    both = model.with_fallbacks([ScriptedChatModel(script=[])])
    await create_agent(both, TOOLS, defer=True).ainvoke("go")
    assert names(model.requests[0]) == ["find_tools"]


async def test_which_tools_are_deferred() -> None:
    """Those that say so, those that are named, or all; the answer and the reader of skills never are."""

    async def get_shown(**options: Any) -> list[str]:
        agent, model = make_agent(["Done."], **options)
        await agent.ainvoke("go")
        return names(model.requests[0])

    assert await get_shown(defer=False) == ["sky_weather", "sky_stars", "add", "find_tools"]
    assert await get_shown(defer=["add"]) == ["sky_weather", "sky_stars", "find_tools"]
    assert await get_shown(defer="auto") == await get_shown(defer=False)
    load_skill = make_tool("load_skill", "Load a skill.")
    assert await get_shown(tools=[WEATHER, load_skill], defer=True) == ["load_skill", "find_tools"]
    assert await get_shown(tools=[load_skill], defer=True) == ["load_skill"]


@pytest.mark.parametrize("window", [None, 1_000_000])
async def test_auto_defers_many_tools(window: int | None) -> None:
    """All, where their schemas have more than 10,000 tokens."""
    many = [make_tool(f"tool_{number}", "Does nothing. " * 40) for number in range(80)]
    profile = {"max_input_tokens": window} if window else None
    agent, model = make_agent(["Done."], many, profile, defer="auto")
    await agent.ainvoke("go")
    assert names(model.requests[0]) == ["find_tools"]


async def test_auto_looks_at_the_window() -> None:
    """A tenth of it is too much, too."""
    some = [make_tool(f"tool_{number}", "Does nothing. " * 40) for number in range(10)]
    for window, count in ((8_000, 1), (128_000, 10)):
        agent, model = make_agent(["Done."], some, {"max_input_tokens": window}, defer="auto")
        await agent.ainvoke("go")
        assert len(names(model.requests[0])) == count


async def test_a_search_of_the_provider_switches_it_off() -> None:
    """Then what the tools say of themselves goes to the provider."""
    hosted = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    model = ScriptedChatModel(script=["Done."])
    await create_agent(model, [add, TIDE, hosted], defer=True).ainvoke("go")
    sent = model.requests[0].params["tools"]
    assert [tool.get("extras") for tool in sent] == [None, {"defer_loading": True}, None]


async def test_tools_of_one_call_are_deferred_too() -> None:
    """Those that say so, or all, as the agent's."""
    agent, model = make_agent([[find(names=["tide"])], "Done."], [add], defer=False)
    await agent.ainvoke("go", tools=[TIDE])
    assert [names(request) for request in model.requests] == [["add", "find_tools"], ["add", "find_tools", "tide"]]


async def test_a_hook_that_leaves_a_found_tool_out() -> None:
    """What a hook does not offer cannot be called, found or not."""

    class Hide(AgentMiddleware):
        async def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
            left = [tool for tool in request.tools if not isinstance(tool, BaseTool) or tool.name != "tide"]
            return await handler(request.override(tools=left))

    agent, model = make_agent([[find(names=["tide"])], [call("tide")], "Done."], middleware=[Hide()])
    result = await agent.ainvoke("go")
    assert names(model.requests[1]) == ["find_tools"]
    assert result.new_messages[4].response_metadata["tool_error"] == "unknown_tool"


async def test_the_text_style_shows_schemas_in_the_result() -> None:
    """And the tools among the others, from the next step on."""
    agent, model = make_agent(
        ['Action: find_tools\nAction Input: {"names": ["tide"]}', "Final Answer: High."], style="react"
    )
    result = await agent.ainvoke("go")
    assert result.output == "High."
    assert '"place"' in result.new_messages[2].text
    first, second = ["\n".join(message.text for message in request.messages) for request in model.requests]
    assert "- tide:" not in first and "- tide:" in second


async def test_what_cannot_be_is_refused() -> None:
    """A name that no tool has, another tool of the finder's name, fields that are not of their kind."""
    for defer in (["sky_wether"], "some", ToolSearch(k=0), ToolSearch(embeddings="model"), 3):  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            make_agent([], defer=defer)
    with pytest.raises(InvalidInput, match="find_tools"):
        make_agent([], [add, make_tool("find_tools", "Mine.")])


async def test_found_tools_count_in_the_window() -> None:
    """What a find adds to the prompt is part of the estimate of the next request."""
    large = make_tool("large", "Does nothing. " * 1_000)
    agent, model = make_agent([[find(names=["large"])], "Done."], [large], limits=AgentLimits(tokens=2_000))
    assert (await agent.ainvoke("go")).stop == "tokens"
    assert len(model.requests) == 1


async def test_a_find_is_a_break_of_the_prefix_that_is_expected(caplog: pytest.LogCaptureFixture) -> None:
    """It is in the result, once for each find, and not in the log; natively there is none."""
    script: Script = [[find(names=["tide"])], [call("tide")], "Done."]
    agent, _ = make_agent(script)
    result = await agent.ainvoke("go")
    assert [(one.cause, one.detail) for one in result.prefix_breaks] == [("tools", "added: tide")]
    native, _ = make_agent(script, profile={"tool_search": True})
    assert (await native.ainvoke("go")).prefix_breaks == []
    assert not caplog.records


async def test_finds_of_the_providers_own_searches_are_read() -> None:
    """In a history from elsewhere: Anthropic's references, OpenAI's outputs, with names inside groups."""
    history = InMemoryChatMessageHistory()
    reference = {"type": "tool_reference", "tool_name": "tide"}
    anthropic = {
        "type": "tool_search_tool_result",
        "tool_use_id": "s1",
        "content": {"type": "tool_search_tool_search_result", "tool_references": [reference]},
    }
    inner = {"type": "namespace", "name": "sky", "tools": [{"type": "function", "name": "sky_stars"}]}
    openai = {
        "type": "tool_search_output",
        "execution": "server",
        "tools": [{"type": "function", "name": "add"}, inner],
    }
    await history.aadd_messages([HumanMessage("one"), AIMessage([anthropic]), HumanMessage("two"), AIMessage([openai])])
    agent, model = make_agent(["Done."])
    await agent.ainvoke("three", history=history)
    assert names(model.requests[0]) == ["find_tools", "tide", "add", "sky_stars"]
