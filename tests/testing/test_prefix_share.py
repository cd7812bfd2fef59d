"""`prefix_share` and `assert_prefix_stable`: whether the requests of a run begin alike."""

from typing import Any

import pytest

from hocket import ScriptedChatModel, create_agent, tool
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage, HumanMessage, SystemMessage
from hocket.testing import ScriptedRequest, Turn, assert_prefix_stable, prefix_share

Q: list[BaseMessage] = [SystemMessage("s" * 10), HumanMessage("q" * 20)]


@tool
def look(n: int) -> str:
    """Look something up."""
    return f"result {n}"


async def test_an_agents_requests_begin_alike() -> None:
    """Each request of a run begins with all of the one before."""
    call = {"type": "tool_call", "name": "look", "args": {"n": 1}, "id": "c1"}
    model = ScriptedChatModel(script=[Turn(tool_calls=[call]), Turn(tool_calls=[{**call, "id": "c2"}]), "done"])  # type: ignore[list-item]
    await create_agent(model, [look], system_prompt="Be brief.").ainvoke("Find it.")
    assert prefix_share(model.requests) == 1.0
    assert_prefix_stable(model.requests)


def test_the_share_is_that_of_the_characters() -> None:
    """Of what was sent before, what begins the next request; the difference is found inside of a message, too."""
    assert prefix_share([]) == prefix_share([Q]) == prefix_share([Q, [*Q, HumanMessage("more")]]) == 1.0
    assert 0.4 < prefix_share([Q, [Q[0], HumanMessage("other")]]) < 0.9
    near = prefix_share([[HumanMessage("a" * 1000)], [HumanMessage("a" * 500 + "b" * 500)]])
    assert 0.45 < near < 0.6


def test_tools_and_options_count() -> None:
    """They stand before the messages: with another tool nothing of a request is kept."""
    tools: list[Any] = [{"type": "function", "function": {"name": "look"}}]
    first, second = ScriptedRequest(Q, None, {"tools": tools}), ScriptedRequest(Q, None, {"tools": [*tools, *tools]})
    assert prefix_share([first, second]) == 0.0
    assert prefix_share([first, ScriptedRequest(Q, None, {"tools": tools, "tool_choice": "required"})]) == 0.0
    assert prefix_share([first, ScriptedRequest(Q, ["stop"], {"tools": tools, "temperature": 1})]) == 1.0


def test_the_error_says_which_request_and_why() -> None:
    """Share, number, cause, place; and less than all may be enough."""
    talk = [
        Q,
        [*Q, HumanMessage("more")],
        [SystemMessage("It is 10:05"), *Q[1:]],
        [SystemMessage("It is 10:06"), *Q[1:]],
    ]
    with pytest.raises(
        AssertionError,
        match=r"keep 0\.\d{3} of what came before them, and 1 is the least: request 3 begins otherwise "
        r"\(system: edited at character 0: 's+' -> 'It is 10:05'\), about \d+ tokens are read again",
    ):
        assert_prefix_stable(talk)
    with pytest.raises(AssertionError, match=r"request 2 .*'10:05' -> '10:06' \(a clock\?\)"):
        assert_prefix_stable(talk[2:])
    assert_prefix_stable(talk, at_least=prefix_share(talk))
    assert_prefix_stable([])


def test_what_is_no_request_is_refused() -> None:
    """And a share that is none."""
    with pytest.raises(InvalidInput, match="a request is one of"):
        prefix_share(["a", "b"])
    with pytest.raises(InvalidInput, match=r"at_least is 2"):
        assert_prefix_stable([], at_least=2)
