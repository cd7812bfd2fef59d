"""What goes out to each provider: options as they were given, under one name each, and nothing that is the program's."""

import base64
import copy
import json
import os
from typing import Any

import pytest

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.timeouts import Timeout
from tests.kit.providers import PROVIDERS

TOKEN_LIMITS = {
    "openai": "max_completion_tokens",
    "openai_responses": "max_output_tokens",
    "anthropic": "max_tokens",
    "google": "maxOutputTokens",
    "mistral": "max_tokens",
    "cohere": "max_tokens",
    "ollama": "num_predict",
}

DEEP = {"type": "object", "properties": {"city": {"type": "string", "default": None}}}
TOOL = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": DEEP}}
FORM = {"type": "json_schema", "json_schema": {"name": "answer", "schema": DEEP}}
FOR_THE_CACHE = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

THOUGHTS: list[tuple[str, str, str, Any]] = [
    ("openai_responses", "gpt-4o", "reasoning", {"effort": "low"}),
    ("anthropic", "claude-3-5-haiku-20241022", "thinking", {"type": "enabled", "budget_tokens": 2048}),
    ("google", "gemini-2.0-flash", "thinking_level", "low"),
    ("google", "gemini-2.0-flash", "thinking_budget", 512),
    ("google", "gemini-2.0-flash", "include_thoughts", True),
    ("ollama", "llama-3.1-8b-instruct", "think", "low"),
]

SEARCHES: list[dict[str, Any]] = [
    {},
    {"search_context_size": "low"},
    {"user_location": {"type": "approximate", "approximate": {"country": "GB", "city": "Leeds", "region": "Leeds"}}},
    {"search_context_size": "high", "user_location": {"type": "approximate", "approximate": {"country": "GB"}}},
]


def sent(provider: str, asked: Any = "hi", model: str = "m", **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = PROVIDERS[provider].make(model=model, api_key="k").render(asked, **options).json
    return body


def find(body: dict[str, Any], name: str) -> list[Any]:
    """The values that a body has under a name, inside of other fields too."""
    deeper = [value for inner in body.values() if isinstance(inner, dict) for value in find(inner, name)]
    return [*([body[name]] if name in body else []), *deeper]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_temperature_that_is_unset_is_absent_and_zero_is_sent(provider: str) -> None:
    """0 is a value like any other; where nothing was said, the server decides."""
    assert find(sent(provider), "temperature") == []
    assert find(sent(provider, temperature=0), "temperature") == [0]
    assert find(sent(provider, temperature=0.7), "temperature") == [0.7]


@pytest.mark.parametrize(("provider", "name"), TOKEN_LIMITS.items())
def test_the_tokens_of_an_answer_have_one_name(provider: str, name: str) -> None:
    """The provider's own, and no other."""
    body = sent(provider, max_tokens=77)
    assert {word: find(body, word) for word in TOKEN_LIMITS.values() if find(body, word)} == {name: [77]}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_option_of_the_caller_is_not_changed(provider: str) -> None:
    """Tools, forms and messages are the same after the request was written as before."""
    asked = [SystemMessage([{"type": "text", "text": "be brief"}]), HumanMessage([{"type": "text", "text": "hi"}])]
    options: dict[str, Any] = {"tools": [TOOL], "extra_body": {"x": {"y": [1]}}}
    if provider != "cohere":  # which takes no form beside tools
        options["response_format"] = FORM
    before = copy.deepcopy((asked, options))
    sent(provider, asked, **options)
    assert (asked, options) == before


@pytest.mark.parametrize("name", ["thinking", "output_config"])
def test_how_to_think_stays_the_callers(name: str) -> None:
    """An effort that is given beside it is not written into it."""
    said = {"type": "adaptive", "display": "summarized"}
    sent("anthropic", model="claude-opus-5", reasoning_effort="high", **{name: said})
    assert said == {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(("provider", "model", "name", "value"), THOUGHTS)
def test_a_model_that_cannot_think_is_not_asked_to(provider: str, model: str, name: str, value: Any) -> None:
    """In the words of its own provider as little as by ``reasoning_effort``; and a model that can is."""
    with pytest.raises(Unsupported, match=f"{model!r} takes no {name} .*reasoning_output is False"):
        sent(provider, model=model, **{name: value})
    made = PROVIDERS[provider].make(model=model, api_key="k", unsupported="drop", **{name: value})
    assert made.render("hi").json == sent(provider, model=model)
    assert sent(provider, model="m", **{name: value}) != sent(provider, model="m")


@pytest.mark.parametrize(
    ("provider", "model", "off"),
    [
        ("anthropic", "claude-3-5-haiku", {"thinking": {"type": "disabled"}}),
        ("ollama", "llama-3.1-8b-instruct", {"think": False}),
    ],
)
def test_any_model_may_be_asked_not_to_think(provider: str, model: str, off: dict[str, Any]) -> None:
    """That is what it does anyway."""
    assert off.items() <= sent(provider, model=model, **off).items()


@pytest.mark.parametrize("search", SEARCHES)
def test_how_to_search_is_sent_as_it_is(search: dict[str, Any]) -> None:
    """An empty dict says to search, and is there."""
    assert sent("openai", web_search_options=search)["web_search_options"] == search
    assert "web_search_options" not in sent("openai")


@pytest.mark.parametrize("block", [FOR_THE_CACHE, {"extras": FOR_THE_CACHE}])
def test_instructions_keep_their_mark_for_the_cache(block: dict[str, Any]) -> None:
    """With its duration, and though they are hoisted."""
    asked = [SystemMessage([{"type": "text", "text": "be brief", **block}]), HumanMessage("hi")]
    assert sent("anthropic", asked)["system"] == [{"type": "text", "text": "be brief", **FOR_THE_CACHE}]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("empty", ["", []], ids=repr)
def test_a_reply_that_says_nothing_is_left_out(provider: str, empty: Any) -> None:
    """As one that was stopped before its first word: some servers refuse it, and none reads it."""
    asked = [HumanMessage("a"), HumanMessage("b")]
    with_empty = [asked[0], AIMessage(empty), asked[1]]
    assert sent(provider, with_empty) == sent(provider, asked)
    call = {"type": "tool_call", "name": "weather", "args": {}, "id": "abcdefghi"}
    calling = [*asked, AIMessage("", tool_calls=[call]), ToolMessage("sun", tool_call_id="abcdefghi")]
    assert "weather" in json.dumps(sent(provider, calling))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_artifact_stays_here(provider: str) -> None:
    """What a tool has made for the program is not the model's; nor is anything in the metadata of messages."""
    asked = [
        HumanMessage("hi", response_metadata={"secret": "not-to-be-sent-1"}),
        AIMessage("", tool_calls=[{"name": "weather", "args": {}, "id": "c1", "type": "tool_call"}]),
        ToolMessage("rain", tool_call_id="c1", artifact={"raw": "not-to-be-sent-2"}),
    ]
    written = json.dumps(sent(provider, asked, tools=[TOOL]))
    assert "rain" in written and "not-to-be-sent" not in written


@pytest.mark.parametrize("provider", PROVIDERS)
def test_text_and_picture_are_one_message_in_their_order(provider: str) -> None:
    """Bytes go out as the base64 of themselves, beside the question."""
    picture = {"type": "image", "base64": base64.b64encode(b"Hello, world!").decode(), "mime_type": "image/png"}
    body = sent(provider, [HumanMessage([{"type": "text", "text": "What is in it?"}, picture])])
    [message] = body.get("messages") or body.get("contents") or body["input"]
    written = json.dumps(message)
    assert message["role"] == "user"
    assert written.count("SGVsbG8sIHdvcmxkIQ==") == 1
    assert provider == "ollama" or written.index("What is in it?") < written.index("SGVsbG8sIHdvcmxkIQ==")


DEFAULTS = {
    "openai": ("https://api.openai.com/v1/chat/completions", "authorization"),
    "openai_responses": ("https://api.openai.com/v1/responses", "authorization"),
    "anthropic": ("https://api.anthropic.com/v1/messages", "x-api-key"),
    "google": ("https://generativelanguage.googleapis.com/v1/models/m:generateContent", "x-goog-api-key"),
    "mistral": ("https://api.mistral.ai/v1/chat/completions", "authorization"),
    "cohere": ("https://api.cohere.com/v2/chat", "authorization"),
    "ollama": ("http://127.0.0.1:11434/api/chat", "authorization"),
    "bedrock": ("https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse", "authorization"),
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_where_requests_go_by_default(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider's own address, with the key in its own header, within limits of time."""
    for name in [*os.environ]:
        if name.startswith(("OPENAI_", "ANTHROPIC_", "GOOGLE_", "MISTRAL_", "CO_", "COHERE_", "OLLAMA_", "AWS_")):
            monkeypatch.delenv(name)
    model = PROVIDERS[provider].make(model="m", api_key="k")
    request = model.render("hi")
    [holder] = {"authorization", "x-api-key", "x-goog-api-key"} & request.headers.keys()
    assert (request.url, holder) == DEFAULTS[provider]
    assert model.timeout == Timeout(connect=10, first_token=300, idle=120, total=1200)


@pytest.mark.parametrize(
    ("form", "says"),
    [
        (5, "response_format=5 will not do"),
        ("json", "response_format='json' will not do"),
        ([], r"response_format=\[\] will not do"),
        ({}, "its 'type' is a text"),
        ({"type": 5}, "its 'type' is a text"),
        ({"type": "json_schema"}, "the schema a dict"),
        ({"type": "json_schema", "json_schema": 5}, "the schema a dict"),
        ({"type": "json_schema", "json_schema": {"name": "a"}}, "the schema a dict"),
        ({"type": "json_schema", "json_schema": {"schema": "{}"}}, "the schema a dict"),
        ({"type": "json_schema", "schema": [["x"] * 1000]}, "… will not do"),
    ],
    ids=str,
)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_form_that_is_none_is_refused(provider: str, form: Any, says: str) -> None:
    """Before anything is sent, in a short sentence."""
    with pytest.raises(InvalidInput, match=says) as error:
        sent(provider, response_format=form)
    assert len(str(error.value)) < 300
