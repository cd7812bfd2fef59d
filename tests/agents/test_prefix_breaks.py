"""A run asks for the prompt cache, and says where a request did not begin as the one before it."""

import logging
from typing import Any

import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, AgentMiddleware, ModelRequest, create_agent
from hocket.callbacks import BaseCallbackHandler
from hocket.errors import InvalidInput
from hocket.messages import HumanMessage, SystemMessage
from hocket.providers.anthropic import ChatAnthropic
from hocket.testing import AnthropicFormat, Reply, assert_prefix_stable, serve
from hocket.tools import tool
from tests.agents.conftest import call

USED: Any = {"input_tokens": 100, "output_tokens": 5, "total_tokens": 105}


@tool
def look(n: int) -> str:
    """Look something up."""
    return f"result {n} " * 100


def steps(count: int, **fields: Any) -> list[Any]:
    return [
        *(Turn(tool_calls=[call("look", str(n), n=n)], **fields) for n in range(count)),
        Turn(text="Done.", **fields),
    ]


class Change(AgentMiddleware):
    """Makes another request of each step's."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    async def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
        return await handler(request.override(**{name: change(request) for name, change in self.changes.items()}))


class Heard(BaseCallbackHandler):
    def __init__(self) -> None:
        self.events: list[Any] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.events.append((name, data))


BREAKS: list[tuple[str, Any, str]] = [
    ("system", {"messages": lambda one: [SystemMessage(f"It is 10:0{one.step}."), *one.messages]}, "(a clock?)"),
    ("tools", {"tools": lambda one: [*one.tools] if one.step == 1 else []}, "removed: look"),
    ("options", {"tool_choice": lambda one: "required" if one.step == 1 else None}, "tool_choice"),
    ("system", {"messages": lambda one: [("system", f"Step {one.step}"), *one.messages]}, "'1' -> '2'"),
    ("messages", {"messages": lambda one: [HumanMessage("?" * one.step), *one.messages[1:]]}, "message 0 edited"),
]


@pytest.mark.parametrize(("cause", "changes", "detail"), BREAKS, ids=["clock", "tools", "options", "pairs", "question"])
async def test_a_break_is_named_in_the_result_the_log_and_to_handlers(
    cause: str, changes: Any, detail: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Each is in the result, and a handler hears of each; the log has the first."""
    heard = Heard()
    agent = create_agent(ScriptedChatModel(script=steps(2)), [look], middleware=[Change(**changes)])
    with caplog.at_level(logging.WARNING, "hocket.agents"):
        result = await agent.ainvoke("Find it.", {"callbacks": [heard]})
    found = result.prefix_breaks
    assert found
    assert (found[0].step, found[0].cause) == (2, cause)
    assert detail in found[0].detail
    assert found[0].lost_tokens > 0
    assert [(name, data["step"], data["cause"]) for name, data in heard.events] == [
        ("hocket.prefix_break", one.step, one.cause) for one in found
    ]
    [record] = caplog.records
    assert f"request 2 of a run does not begin as the one before it ({cause}: " in record.getMessage()


async def test_a_run_that_changes_nothing_has_no_break(caplog: pytest.LogCaptureFixture) -> None:
    """Nor has one of a history, with a system prompt and a refused reply."""
    model = ScriptedChatModel(script=[*steps(3)[:-1], "", "Done."])
    with caplog.at_level(logging.WARNING):
        result = await create_agent(model, [look], system_prompt="Be brief.").ainvoke("Find it.")
    assert result.prefix_breaks == []
    assert_prefix_stable(model.requests)
    assert caplog.records == []


async def test_what_the_run_does_itself_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    """To make it fit the window, and to ask for the last answer without tools, break the prefix, and are said."""
    model = ScriptedChatModel(script=steps(12), profile={"max_input_tokens": 2_000, "max_output_tokens": 100})
    with caplog.at_level(logging.WARNING):
        result = await create_agent(model, [look]).ainvoke("Find it.")
        last = await create_agent(
            ScriptedChatModel(script=steps(2)), [look], limits=AgentLimits(model_calls=2)
        ).ainvoke("Find it.")
    assert {one.cause for one in result.prefix_breaks} == {"compacted"}
    assert len(result.prefix_breaks) <= 5
    assert [one.cause for one in last.prefix_breaks] == ["tools"]
    assert caplog.records == []


async def test_without_the_cache_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """``prompt_cache=False`` says that it does not matter; the result has the breaks all the same."""
    agent = create_agent(
        ScriptedChatModel(script=steps(2)), [look], middleware=[Change(**BREAKS[0][1])], prompt_cache=False
    )
    with caplog.at_level(logging.WARNING):
        assert len((await agent.ainvoke("Find it.")).prefix_breaks) == 2
    assert caplog.records == []


@pytest.mark.parametrize(
    ("asked", "of_model", "tools", "marks"),
    [
        ("auto", None, [look], 3),
        ("auto", None, [], 0),  # one call, and no second
        ("auto", False, [look], 0),
        ("1h", None, [], 2),
        (False, True, [look], 0),
    ],
)
async def test_the_model_is_asked_to_cache(asked: Any, of_model: Any, tools: Any, marks: int) -> None:
    """ "auto": where there are tools, and the model says nothing itself; any other value goes over the model's."""
    async with serve(AnthropicFormat(), lambda request: Reply("Done.")) as server:
        model = ChatAnthropic(
            model="m", api_key="k", base_url=server.url, max_tokens=9, prompt_cache=of_model, profile={}
        )
        await create_agent(model, tools, system_prompt="Be brief.", prompt_cache=asked).ainvoke("Hi")
        assert repr(server.requests[0].json).count("cache_control") == marks


async def test_a_binding_has_the_last_word_under_auto() -> None:
    """What is bound is not overruled by a default; a call's own option overrules all."""
    async with serve(AnthropicFormat(), lambda request: Reply("Done.")) as server:
        model = ChatAnthropic(model="m", api_key="k", base_url=server.url, max_tokens=9, profile={})
        await create_agent(model.bind(prompt_cache="1h"), [look]).ainvoke("Hi")
        await create_agent(model, [look]).ainvoke("Hi", options={"prompt_cache": None})
        first, second = (repr(request.json) for request in server.requests)
    assert first.count("'ttl': '1h'") == first.count("cache_control") == 2
    assert "cache_control" not in second


def test_what_prompt_cache_cannot_be_is_refused() -> None:
    """When the agent is made."""
    with pytest.raises(InvalidInput, match="prompt_cache is '2h'; it is 'auto', True, False, '5m' or '1h'"):
        create_agent(ScriptedChatModel(script=[]), [], prompt_cache="2h")  # type: ignore[call-overload]


async def test_the_share_that_came_from_the_cache() -> None:
    """Of all calls of the run; None, where no reply tells of a cache."""
    read: Any = {**USED, "input_token_details": {"cache_read": 80}}
    script = [Turn(tool_calls=[call("look", "1", n=1)], usage=USED), Turn(text="Done.", usage=read)]
    result = await create_agent(ScriptedChatModel(script=script), [look]).ainvoke("Find it.")
    assert result.cached_share == 0.4
    assert (
        await create_agent(ScriptedChatModel(script=steps(1, usage=USED)), [look]).ainvoke("?")
    ).cached_share is None
    assert (await create_agent(ScriptedChatModel(script=["Hi"]), [look]).ainvoke("?")).cached_share is None
