"""Options go where the Gemini API has them, what it has no word for is refused, and tools are written in its words."""

from typing import Any

import pytest

from hocket.errors import InvalidInput, Unsupported
from hocket.providers.google import ChatGoogleGenerativeAI
from hocket.testing import GoogleFormat, Reply, serve
from tests.providers.google.conftest import model, sent

WEATHER: Any = {"name": "weather", "description": "d", "parameters": {"type": "object", "properties": {}}}
CLOCK: Any = {"name": "clock", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({"temperature": 0}, {"temperature": 0}),
        ({"top_p": 0.5, "top_k": 3}, {"topP": 0.5, "topK": 3}),
        ({"max_tokens": 5}, {"maxOutputTokens": 5}),
        ({"max_output_tokens": 5}, {"maxOutputTokens": 5}),
        ({"stop": ["x"]}, {"stopSequences": ["x"]}),
        ({"seed": 0}, {"seed": 0}),
        ({"n": 2}, {"candidateCount": 2}),
        ({"candidate_count": 2}, {"candidateCount": 2}),
        ({"presence_penalty": 0.5, "frequency_penalty": 1}, {"presencePenalty": 0.5, "frequencyPenalty": 1}),
        ({"logprobs": True, "top_logprobs": 3}, {"responseLogprobs": True, "logprobs": 3}),
        ({"response_mime_type": "text/x.enum"}, {"responseMimeType": "text/x.enum"}),
        ({"response_format": {"type": "json_object"}}, {"responseMimeType": "application/json"}),
        ({"response_modalities": ["TEXT", "IMAGE"]}, {"responseModalities": ["TEXT", "IMAGE"]}),
        ({"image_config": {"aspectRatio": "1:1"}}, {"imageConfig": {"aspectRatio": "1:1"}}),
        ({"speech_config": {"languageCode": "de"}}, {"speechConfig": {"languageCode": "de"}}),
        ({"media_resolution": "MEDIA_RESOLUTION_LOW"}, {"mediaResolution": "MEDIA_RESOLUTION_LOW"}),
        ({"include_thoughts": False}, {"thinkingConfig": {"includeThoughts": False}}),
        ({"thinking_level": "high"}, {"thinkingConfig": {"thinkingLevel": "HIGH"}}),
        ({"thinking_budget": -1}, {"thinkingConfig": {"thinkingBudget": -1}}),
        ({"seed": 1, "extra_body": {"generationConfig": {"x": 1, "seed": 2}}}, {"seed": 2, "x": 1}),
    ],
)
def test_options_of_the_answer(options: Any, config: Any) -> None:
    """Each is a field of ``generationConfig``; nothing else is said."""
    body = sent("hi", **options)
    assert body.pop("generationConfig") == config
    assert body.keys() == {"contents"}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"cached_content": "cachedContents/x"}, {"cachedContent": "cachedContents/x"}),
        ({"service_tier": "flex"}, {"serviceTier": "flex"}),
        ({"labels": {"team": "a"}}, {"labels": {"team": "a"}}),
        ({"extra_body": {"new": 1}}, {"new": 1}),
        ({"safety_settings": {"A": "B"}}, {"safetySettings": [{"category": "A", "threshold": "B"}]}),
        ({"safety_settings": [{"category": "A"}]}, {"safetySettings": [{"category": "A"}]}),
    ],
)
def test_options_of_the_request(options: Any, field: Any) -> None:
    body = sent("hi", **options)
    del body["contents"]
    assert body == field


@pytest.mark.parametrize(
    ("name", "effort", "thinking"),
    [
        ("gemini-3.8-flash", "none", {"thinkingLevel": "MINIMAL"}),
        ("gemini-3.8-flash", "low", {"thinkingLevel": "LOW"}),
        ("gemini-4-argon", "max", {"thinkingLevel": "XHIGH"}),
        ("gemini-flash-latest", "medium", {"thinkingLevel": "MEDIUM"}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("models/gemini-2.5-pro", "high", {"thinkingBudget": 24_576}),
    ],
)
def test_effort_is_a_level_or_a_budget(name: str, effort: str, thinking: Any) -> None:
    """As the model has it; what is said in the API's own words goes first."""
    assert sent("hi", name=name, reasoning_effort=effort)["generationConfig"]["thinkingConfig"] == thinking
    said = sent("hi", name=name, reasoning_effort=effort, thinking_budget=7)["generationConfig"]["thinkingConfig"]
    assert said == {"thinkingBudget": 7}


def test_an_effort_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="reasoning_effort='hard' is none of none, minimal"):
        sent("hi", reasoning_effort="hard")


@pytest.mark.parametrize(
    "option",
    [
        {"min_p": 0.1},
        {"logit_bias": {1: 1}},
        {"repetition_penalty": 1.1},
        {"min_length": 1},
        {"parallel_tool_calls": False},
    ],
)
def test_what_the_api_has_no_word_for_is_refused(option: Any) -> None:
    """By name; or left out, where that is asked for."""
    [name] = option
    with pytest.raises(Unsupported, match=name):
        sent("hi", **option)
    assert sent("hi", **option, unsupported="drop").keys() == {"contents"}


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        (None, None),
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("any", {"mode": "ANY"}),
        ("clock", {"mode": "ANY", "allowedFunctionNames": ["clock"]}),
        (["clock", "weather"], {"mode": "ANY", "allowedFunctionNames": ["clock", "weather"]}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "clock"}}]},
            },
            {"mode": "VALIDATED", "allowedFunctionNames": ["clock"]},
        ),
    ],
)
def test_choices_among_tools(choice: Any, config: Any) -> None:
    """All functions are declared together, their parameters as they are."""
    bound: Any = model().bind_tools([WEATHER, CLOCK], tool_choice=choice)
    body = bound.bound.render("hi", **bound.kwargs).json
    [declared] = body["tools"]
    described = {**CLOCK, "parametersJsonSchema": CLOCK["parameters"]}
    del described["parameters"]
    assert declared["functionDeclarations"][1] == described
    assert body.get("toolConfig") == (config and {"functionCallingConfig": config})


def test_strict_functions_are_validated() -> None:
    """The API holds the model to all schemas, or to none."""
    bound: Any = model().bind_tools([{**WEATHER, "strict": True}], tool_choice="auto")
    body = bound.bound.render("hi", **bound.kwargs).json
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}
    assert "strict" not in body["tools"][0]["functionDeclarations"][0]


def test_the_servers_own_tools_stand_beside_functions() -> None:
    """As plain dicts, in either case, or with a type."""
    tools: list[Any] = [{"google_search": {}}, {"codeExecution": {}}, {"url_context": {}}, WEATHER]
    tools += [{"type": "google_maps"}, {"file_search": {"file_search_store_names": ["s"]}}]
    bound: Any = model().bind_tools(tools, tool_config={"retrievalConfig": {"languageCode": "de"}})
    body = bound.bound.render("hi", **bound.kwargs).json
    functions, *others = body["tools"]
    assert functions.keys() == {"functionDeclarations"}
    assert others == [
        {"googleSearch": {}},
        {"codeExecution": {}},
        {"urlContext": {}},
        {"googleMaps": {}},
        {"fileSearch": {"file_search_store_names": ["s"]}},
    ]
    assert body["toolConfig"] == {"retrievalConfig": {"languageCode": "de"}}
    with pytest.raises(InvalidInput, match="tool_choice is for"):
        sent("hi", tools=tools, tool_config={"function_calling_config": {"mode": "ANY"}})
    with pytest.raises(InvalidInput, match="runs itself"):
        sent("hi", tools=tools, tool_choice="google_search")


def test_a_function_without_parameters_declares_none() -> None:
    body = sent("hi", tools=[{"type": "function", "function": {"name": "ping"}}])
    assert body["tools"] == [{"functionDeclarations": [{"name": "ping"}]}]


async def test_answers_follow_a_schema() -> None:
    """The API's own way to it by default, with the schema as it is."""
    schema = {"title": "Answer", "type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}}
    async with serve(GoogleFormat(), [Reply('{"x": 3}')]) as server:
        asked = model(base_url=server.url)
        assert await asked.with_structured_output(schema).ainvoke("hi") == {"x": 3}
        body: Any = server.requests[0].json
    config = body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["properties"] == schema["properties"]
    assert "tools" not in body


@pytest.mark.parametrize("name", ["response_schema", "response_json_schema", "generation_config"])
def test_names_that_have_no_equal_say_what_to_write(name: str) -> None:
    option: dict[str, Any] = {name: {}}
    with pytest.raises(InvalidInput, match=r"write (response_format|its entries)"):
        sent("hi", **option)


def test_a_number_where_a_name_belongs_is_refused() -> None:
    with pytest.raises(InvalidInput, match="thinking_level"):
        sent("hi", thinking_level=3)
    with pytest.raises(InvalidInput, match="thinking_budget"):
        ChatGoogleGenerativeAI(model="m", api_key="k").render("hi", thinking_budget=-2)
