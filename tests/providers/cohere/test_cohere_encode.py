"""What goes out to Cohere is what the official SDK sends, and what has no place there does not go out."""

from typing import Any

import pytest
from pydantic import BaseModel

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.cohere import ChatCohere
from tests.kit.recordings import Recording, load_recordings

RECORDINGS = load_recordings("cohere_v2")
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "The time.", "strict": True}}
PNG = {"type": "image", "base64": "AA", "mime_type": "image/png"}
THINKING = {"type": "thinking", "thinking": "hm"}
TEXT = {"type": "text", "text": "42"}


def model(**fields: Any) -> ChatCohere:
    return ChatCohere(**{"model": "command-a-03-2025", "api_key": "co-test", **fields})


def sent(messages: Any = "hi", **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = model().render(messages, **options).json
    return body


def schema_in(form: Any) -> Any:
    """The form of an answer as callers write it: OpenAI's dict."""
    return {"type": "json_schema", "json_schema": {"name": "a", "schema": form["json_schema"]}}


def test_a_request_is_the_official_sdks(chat_request: Recording) -> None:
    """The whole body is equal, field by field, as are the path and the header of the key. False is the API's default."""
    recorded = chat_request["request"]["body"]
    expected = {name: value for name, value in recorded.items() if (name, value) != ("stream", False)}
    said = {name: value for name, value in expected.items() if name not in ("model", "messages", "stream")}
    if "response_format" in said:
        said["response_format"] = schema_in(said["response_format"])
    if "tool_choice" in said:
        said["tool_choice"] = said["tool_choice"].lower()
    asked = model(model=expected["model"], profile={})
    request = asked.render(expected["messages"], stream="stream" in expected, **said)
    assert request.json == expected
    assert request.url == f"https://api.cohere.com{chat_request['request']['path']}"
    assert request.headers["authorization"] == "Bearer **********"


def test_an_answer_of_a_schema_is_asked_for_as_the_sdk_does() -> None:
    """``with_structured_output`` names no schema, and tells the API's limits in words."""

    class Answer(BaseModel):
        answer: str
        confidence: float

    bound: Any = model().with_structured_output(Answer)
    form = sent(response_format=bound.bound.kwargs["response_format"])["response_format"]
    expected = RECORDINGS["cohere_v2/json_schema"]["request"]["body"]["response_format"]
    for field in form["json_schema"]["properties"].values():
        del field["title"]
    del form["json_schema"]["title"]
    assert form == expected
    assert sent(response_format={"type": "json_object"})["response_format"] == {"type": "json_object"}
    with pytest.raises(Unsupported, match="grammar"):
        sent(response_format={"type": "grammar"})


@pytest.mark.parametrize(
    ("option", "written"),
    [
        ({"top_p": 0.5, "top_k": 4}, {"p": 0.5, "k": 4}),
        ({"p": 0.5, "k": 4}, {"p": 0.5, "k": 4}),
        ({"stop": ["a"]}, {"stop_sequences": ["a"]}),
        ({"stop_sequences": ["a"]}, {"stop_sequences": ["a"]}),
        ({"seed": 7, "frequency_penalty": 0.1}, {"seed": 7, "frequency_penalty": 0.1}),
        ({"documents": ["a", {"data": {"text": "t"}}]}, {"documents": ["a", {"data": {"text": "t"}}]}),
        ({"citation_options": {"mode": "FAST"}}, {"citation_options": {"mode": "FAST"}}),
        ({"safety_mode": "OFF", "priority": 3}, {"safety_mode": "OFF", "priority": 3}),
        ({"logprobs": True}, {"logprobs": True}),
        ({"thinking": {"type": "disabled"}, "reasoning_effort": "high"}, {"thinking": {"type": "disabled"}}),
        ({"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}),
        ({"reasoning_effort": "low"}, {"thinking": {"type": "enabled", "token_budget": 2048}}),
        ({"reasoning_effort": "max"}, {"thinking": {"type": "enabled"}}),
        ({"extra_body": {"raw_prompting": True}}, {"raw_prompting": True}),
    ],
)
def test_options_go_under_the_apis_names(option: dict[str, Any], written: dict[str, Any]) -> None:
    """Beside them the body has what it always has, and nothing else."""
    body = model(profile={}).render("hi", **option).json
    assert body == {"model": "command-a-03-2025", "messages": [{"role": "user", "content": "hi"}], **written}


@pytest.mark.parametrize("option", ["n", "min_p", "repetition_penalty", "top_logprobs", "parallel_tool_calls"])
def test_options_that_the_api_has_no_word_for_are_refused(option: str) -> None:
    with pytest.raises(Unsupported, match=option):
        sent(**{option: 1})


def test_an_effort_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInput, match="none, minimal, low"):
        model(profile={}).render("hi", reasoning_effort="extreme")


@pytest.mark.parametrize(
    ("choice", "written", "offered"),
    [
        ("auto", None, ["weather", "clock"]),
        ("none", "NONE", ["weather", "clock"]),
        ("any", "REQUIRED", ["weather", "clock"]),
        ("clock", "REQUIRED", ["clock"]),
        (["weather", "clock"], "REQUIRED", ["weather", "clock"]),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "clock"}]}, None, ["clock"]),
        (None, None, ["weather", "clock"]),
    ],
)
def test_tools_and_the_choice_among_them(choice: Any, written: str | None, offered: list[str]) -> None:
    """The API knows REQUIRED and NONE; of tools that are named it is offered those alone."""
    body = sent(tools=[WEATHER, CLOCK], tool_choice=choice)
    assert body.get("tool_choice") == written
    assert [tool["function"]["name"] for tool in body["tools"]] == offered


@pytest.mark.parametrize(
    ("tools", "strict", "written"),
    [([CLOCK], None, True), ([CLOCK, WEATHER], None, None), ([WEATHER], True, True), ([CLOCK], False, False)],
)
def test_all_tools_are_strict_or_none_is(tools: list[Any], strict: bool | None, written: bool | None) -> None:
    """The API has one word for all of them, and functions have none of their own."""
    body = sent(tools=tools, strict_tools=strict)
    assert body.get("strict_tools") == written
    assert all(tool["function"].keys() <= {"name", "description", "parameters"} for tool in body["tools"])


def test_a_tool_of_a_server_is_refused() -> None:
    with pytest.raises(Unsupported, match="web_search"):
        sent(tools=[{"type": "web_search"}])


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (
            {**PNG, "extras": {"detail": "low", "x": 1}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}},
        ),
        ({"type": "image", "url": "https://e.x/a"}, {"type": "image_url", "image_url": {"url": "https://e.x/a"}}),
        (
            {"type": "image", "source": {"type": "url", "url": "https://e.x/a"}},
            {"type": "image_url", "image_url": {"url": "https://e.x/a"}},
        ),
        ({"type": "text", "text": "a", "cache_control": {}}, {"type": "text", "text": "a"}),
        ({"type": "text-plain", "text": "t", "title": "T"}, {"type": "text", "text": "T\n\nt"}),
        ({"type": "non_standard", "value": {"type": "new", "x": 1}}, {"type": "new", "x": 1}),
    ],
)
def test_parts_of_a_question(part: Any, written: dict[str, Any]) -> None:
    """The words of a document are text there."""
    assert sent([HumanMessage([part])])["messages"][0]["content"] == [written]


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (HumanMessage([{"type": "file", "base64": "AA", "mime_type": "application/pdf"}]), "file"),
        (HumanMessage([{"type": "audio", "base64": "AA", "mime_type": "audio/wav"}]), "audio"),
        (HumanMessage([{"type": "document", "document": {"data": "t"}}]), "document"),
        (SystemMessage([PNG]), "image"),
        (AIMessage([PNG]), "image"),
    ],
)
def test_what_has_no_place_there_is_refused(message: Any, named: str) -> None:
    """Pictures stand in questions alone, and documents in results."""
    with pytest.raises(Unsupported, match=f"type '{named}'"):
        model(profile={}).render([HumanMessage("hi"), message])


def test_a_picture_in_a_result_is_told_in_words() -> None:
    """The tool has run, and its result is in the history for good."""
    call: Any = {"name": "clock", "args": {}, "id": "c"}
    said = [HumanMessage("hi"), AIMessage("", tool_calls=[call]), ToolMessage([PNG], tool_call_id="c")]
    (*_, result) = sent(said)["messages"]
    assert result["content"] == "[image/png, 1 byte: this server does not take it in the result of a tool]"


def test_results_of_tools_are_texts_or_documents() -> None:
    """A failure is told in words, for the API has no flag for it."""
    calls: Any = [{"name": "clock", "args": {}, "id": id} for id in "abc"]
    document = {"type": "text-plain", "text": "t", "title": "T"}
    results = [
        ToolMessage([document], tool_call_id="a"),
        ToolMessage([{"type": "text", "text": "1"}, {"type": "text", "text": "2"}], tool_call_id="b"),
        ToolMessage("no", tool_call_id="c", status="error"),
    ]
    *_, first, second, third = sent([HumanMessage("?"), AIMessage("", tool_calls=calls), *results])["messages"]
    assert first["content"] == [{"type": "document", "document": {"data": {"title": "T", "text": "t"}}}]
    assert (second["content"], third["content"]) == ("12", "Error: no")


def test_a_plan_goes_back_with_its_calls_and_reasoning_with_its_text() -> None:
    """Those of its own alone, whole and streamed; an answer without a text says none."""
    call: Any = {"name": "clock", "args": {}, "id": "c"}
    own = {"model_provider": "cohere"}
    plan = {"tool_plan": "I will look."}
    messages = [
        AIMessage([THINKING, TEXT]),
        AIMessage([{**THINKING, "index": 0}, {**TEXT, "index": 1}], response_metadata=own),
        AIMessage([{"type": "reasoning", "reasoning": "hm"}, TEXT], response_metadata=own),
        AIMessage([{**THINKING, "signature": "s"}, TEXT]),
        AIMessage("", tool_calls=[call], additional_kwargs=plan, response_metadata=own),
        ToolMessage("1", tool_call_id="c"),
        AIMessage("a", additional_kwargs={"reasoning_content": "hm"}, response_metadata={"model_provider": "deepseek"}),
    ]
    *reasoned, foreign, planned, _, other, _ = sent([*messages, HumanMessage("?")])["messages"]
    assert [message["content"] for message in reasoned] == [[THINKING, TEXT]] * 3
    assert foreign == {"role": "assistant", "content": "42"} and other == {"role": "assistant", "content": "a"}
    assert planned.keys() == {"role", "tool_plan", "tool_calls"} and planned["tool_plan"] == "I will look."


def test_a_plan_that_langchain_tells_twice_goes_back_once() -> None:
    """Its package for Cohere has it as the content as well, and citations and calls beside it."""
    call: Any = {"name": "clock", "args": {}, "id": "c", "type": "tool_call"}
    kwargs = {"tool_plan": "I will.", "citations": [{"start": 0}], "tool_calls": [{"id": "c"}], "documents": []}
    asked = [AIMessage("I will.", additional_kwargs=kwargs, tool_calls=[call]), ToolMessage("1", tool_call_id="c")]
    assert sent(asked)["messages"][0] == {
        "role": "assistant",
        "tool_plan": "I will.",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "clock", "arguments": "{}"}}],
    }


def test_a_part_that_nobody_knows_goes_back_as_it_came() -> None:
    """In a reply of the API's own, which has come up with it since; from anybody else it is refused."""
    new = {"type": "brand_new", "x": 1}
    own = AIMessage([{**new, "index": 0}], response_metadata={"model_provider": "cohere"})
    assert sent([own, HumanMessage("?")])["messages"][0]["content"] == [new]
    with pytest.raises(Unsupported, match="brand_new"):
        sent([HumanMessage([new])])


def test_nobody_else_speaks() -> None:
    with pytest.raises(InvalidInput, match="ChatMessage"):
        sent([ChatMessage("hm", role="critic")])


@pytest.mark.parametrize("name", ["CO_API_KEY", "COHERE_API_KEY"])
def test_key_and_host_are_found_where_the_sdk_finds_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host has no version of the API in it."""
    monkeypatch.setenv(name, "k")
    monkeypatch.setenv("CO_API_URL", "https://cohere.example")
    assert ChatCohere(model="m").render("hi").url == "https://cohere.example/v2/chat"
