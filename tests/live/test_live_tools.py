"""A conversation with tools, end to end: described, bound, called by a real model, run, answered, and gone on with."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from hocket import ChatOpenAI, HumanMessage
from hocket.providers.local import ChatLocal
from hocket.tools import arun_tool_calls, tool
from tests.kit.amount import leave_for_night


class Place(BaseModel):
    """Where."""

    city: Literal["Paris", "Rome"]


asked_for: list[tuple[str, int]] = []


@tool
async def get_weather(place: Place, days: Annotated[Literal[1, 2], "how many"]) -> str:
    """Forecast the weather."""
    asked_for.append((place.city, days))
    return f"sunny in {place.city}"


@tool
def get_time(city: str) -> str:
    """Tell the time."""
    return "noon"


@pytest.mark.nightly
@pytest.mark.parametrize("strict", [None, True])
async def test_with_a_server(live_server: Any, strict: bool | None) -> None:
    """The server is held to the schema, nested objects and all. (llama.cpp takes a tool's name for a suggestion.)"""
    model = ChatOpenAI(**live_server.options, temperature=0, max_tokens=120)
    await converse(model, [get_weather], "required", strict)


@pytest.mark.parametrize("choice", ["get_weather", *leave_for_night(["get_weather"])], ids=str)
async def test_with_the_embedded_model(embedded_model: None, choice: Any) -> None:
    """Those that are chosen by name are offered alone, so that one of them is called."""
    await converse(ChatLocal(temperature=0, max_tokens=120), [get_time, get_weather], choice, None)


async def converse(model: Any, tools: list[Any], choice: Any, strict: bool | None) -> None:
    """Ask, run what the model calls, and let it go on."""
    asked_for.clear()
    messages: list[Any] = [HumanMessage("What will the weather be in Paris?")]
    reply = await model.bind_tools(tools, tool_choice=choice, strict=strict).ainvoke(messages)
    results = await arun_tool_calls(reply, tools)

    ((city, days),) = asked_for
    assert city in ("Paris", "Rome") and days in (1, 2)
    assert [(one.status, one.content) for one in results] == [("success", f"sunny in {city}")]
    assert (await model.ainvoke([*messages, reply, *results], max_tokens=8)).text
