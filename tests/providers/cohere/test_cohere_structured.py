"""A model of Cohere's answers with objects, in each way that it has."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from hocket.providers.cohere import ChatCohere
from hocket.testing import CohereFormat, Reply, serve


class Place(BaseModel):
    name: str = Field(min_length=2)


class Trip(BaseModel):
    """Where to go."""

    days: int = Field(ge=1, le=9)
    places: list[Place]


WRITTEN = '{"days": 2, "places": [{"name": "Rome"}]}'
TRIP = Trip(days=2, places=[Place(name="Rome")])


async def ask(method: Any, reply: Reply) -> Any:
    """The body of the request, after a look at the answer, whole and as it is written."""
    async with serve(CohereFormat(), [reply, reply]) as server:
        model = ChatCohere(model="m", base_url=server.url, api_key="k").with_structured_output(Trip, method=method)
        assert await model.ainvoke("Where to?") == TRIP
        assert [piece async for piece in model.astream("Where to?")][-1] == TRIP
        return server.requests[0].json


@pytest.mark.parametrize("method", ["json_schema", None])
async def test_the_api_holds_answers_to_a_schema(method: str | None) -> None:
    """Limits, which it does not know, are told in words; every object says all that it holds."""
    form = (await ask(method, Reply(WRITTEN)))["response_format"]
    assert form.keys() == {"type", "json_schema"} and form["type"] == "json_object"
    properties = form["json_schema"]["properties"]
    assert "minimum" not in properties["days"] and "minimum" in properties["days"]["description"]
    assert form["json_schema"]["$defs"]["Place"]["additionalProperties"] is False


async def test_a_tool_may_take_the_answer() -> None:
    body = await ask("function_calling", Reply("", tool_calls=[{"name": "Trip", "args": WRITTEN}]))
    assert body["tool_choice"] == "REQUIRED" and "response_format" not in body


async def test_json_may_be_all_that_is_asked_for() -> None:
    assert (await ask("json_mode", Reply(WRITTEN)))["response_format"] == {"type": "json_object"}
