"""`ChatOpenAI` with the Responses API: how it is made, what it is asked, and what only this API can."""

import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel

from hocket.errors import LLMError, StreamTruncated, Unsupported
from hocket.language_models import init_chat_model
from hocket.load import dumps, loads
from hocket.messages import HumanMessage
from hocket.providers.openai import ChatOpenAI
from hocket.testing import Body, Events, OpenAIResponsesFormat, Reply, Status, serve

LIGHTS = {"type": "function", "function": {"name": "lights", "parameters": {"type": "object", "properties": {}}}}


class City(BaseModel):
    """A city."""

    name: str


@pytest.mark.parametrize("name", ["openai-responses:gpt-5.2", "openai_responses:gpt-5.2"])
def test_it_is_found_by_its_name(name: str) -> None:
    """As a provider of its own; a server elsewhere is known by its address."""
    model = init_chat_model(name, api_key="k")
    assert isinstance(model, ChatOpenAI) and (model.model, model.use_responses_api) == ("gpt-5.2", True)
    there = init_chat_model(name, base_url="http://localhost:8000/v1")
    assert there.render("x").url == "http://localhost:8000/v1/responses"  # type: ignore[attr-defined]


def test_it_is_loaded_when_it_is_asked_for() -> None:
    """A model of chat completions does without."""
    code = """
import sys
from hocket.providers.openai import ChatOpenAI
ChatOpenAI(model="m", api_key="k").render("x")
sys.exit(any("responses" in name for name in sys.modules if name.startswith("hocket.providers")))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_model_travels_as_data() -> None:
    """With its API and its options; the key stays."""
    model = ChatOpenAI(
        model="m", api_key="sk-very-secret", use_responses_api=True, reasoning={"effort": "low"}, store=False
    )
    stored = dumps(model)
    assert "very-secret" not in stored
    again: Any = loads(stored, secrets_map={"OPENAI_API_KEY": "k"}, allowed_objects="all")
    assert again.render("x").json == model.render("x").json


def test_the_apis_do_not_share_cached_answers() -> None:
    """They answer in different words."""
    one, other = (ChatOpenAI(model="m", api_key="k", use_responses_api=flag) for flag in (True, False))
    assert one._get_llm_string() != other._get_llm_string()


async def test_the_server_counts_tokens() -> None:
    """It is asked with what would be sent, tools and all; chat completions have no such thing."""
    async with serve(
        OpenAIResponsesFormat(), [Body({"object": "response.input_tokens", "input_tokens": 42})]
    ) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", use_responses_api=True)
        count = await model.aget_num_tokens_from_messages([HumanMessage("Hi")], [LIGHTS], exact=True)
        other = ChatOpenAI(model="m", base_url=server.url, api_key="k")
        with pytest.raises(Unsupported, match="no way to count"):
            await other.aget_num_tokens_from_messages([HumanMessage("Hi")], exact=True)

    [request] = server.requests
    assert count == 42 and request.path == "/v1/responses/input_tokens"
    assert request.json["input"] == "Hi" and request.json["tools"][0]["name"] == "lights"


async def test_an_answer_in_a_form() -> None:
    """The schema stands in the text's format, strict; the answer is read from the text."""
    async with serve(OpenAIResponsesFormat(), [Reply('{"name":"Rome"}')]) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", use_responses_api=True)
        answer = await model.with_structured_output(City, method="json_schema").ainvoke("Name a city.")

    form = server.requests[0].json["text"]["format"]
    assert answer == City(name="Rome")
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "City", True)
    assert form["schema"]["required"] == ["name"]


async def test_an_answer_in_a_form_by_a_call() -> None:
    """The one tool has to be called."""
    script = [Reply(tool_calls=[{"name": "City", "args": {"name": "Rome"}}])]
    async with serve(OpenAIResponsesFormat(), script) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", use_responses_api=True)
        answer = await model.with_structured_output(City, method="function_calling").ainvoke("Name a city.")

    assert answer == City(name="Rome")
    sent = server.requests[0].json
    assert (sent["tools"][0]["name"], sent["tool_choice"]) == ("City", "required")


async def test_a_stream_without_its_last_event_is_truncated() -> None:
    """What came is in the error."""
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Ro"}
    async with serve(OpenAIResponsesFormat(), [Events([delta])]) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", use_responses_api=True)
        with pytest.raises(StreamTruncated) as caught:
            [chunk async for chunk in model.astream("x")]
    assert caught.value.partial is not None and caught.value.partial.text == "Ro"


async def test_a_refusal_of_the_server_has_its_type() -> None:
    """As with the other API."""
    async with serve(OpenAIResponsesFormat(), [Status(404)]) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", use_responses_api=True, retry=None)
        with pytest.raises(LLMError) as caught:
            await model.ainvoke("x")
    assert caught.value.status == 404
