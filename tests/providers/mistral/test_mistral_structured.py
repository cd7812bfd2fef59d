"""A model of Mistral's answers with objects, in each way that it has."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from hocket.providers.mistral import ChatMistralAI
from hocket.testing import MistralFormat, Reply, serve


class Verdict(BaseModel):
    """What to do."""

    go: bool
    why: str | None = Field(default=None, max_length=99)


WRITTEN = '{"go": true, "why": "sun"}'


async def ask(method: Any, reply: Reply) -> Any:
    """The body of the request, after a look at the answer, whole and as it is written."""
    async with serve(MistralFormat(), [reply, reply]) as server:
        model = ChatMistralAI(model="m", base_url=server.url, api_key="k").with_structured_output(
            Verdict, method=method
        )
        assert await model.ainvoke("Should I go out?") == Verdict(go=True, why="sun")
        assert [piece async for piece in model.astream("Should I go out?")][-1] == Verdict(go=True, why="sun")
        return server.requests[0].json


@pytest.mark.parametrize("method", ["json_schema", None])
async def test_the_api_holds_answers_to_a_schema(method: str | None) -> None:
    """Unless another way is asked for; what may be left out may be left out, and limits stay."""
    form = (await ask(method, Reply(WRITTEN)))["response_format"]
    assert form["type"] == "json_schema"
    assert (form["json_schema"]["name"], form["json_schema"]["strict"]) == ("Verdict", True)
    schema = form["json_schema"]["schema"]
    assert schema["additionalProperties"] is False and schema["required"] == ["go"]
    assert "'maxLength': 99" in str(schema)


async def test_a_tool_may_take_the_answer() -> None:
    body = await ask("function_calling", Reply("", tool_calls=[{"name": "Verdict", "args": WRITTEN}]))
    assert body["tool_choice"] == "any" and [tool["function"]["name"] for tool in body["tools"]] == ["Verdict"]
    assert "response_format" not in body


async def test_json_may_be_all_that_is_asked_for() -> None:
    assert (await ask("json_mode", Reply(WRITTEN)))["response_format"] == {"type": "json_object"}
