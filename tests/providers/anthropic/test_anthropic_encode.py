"""What goes out to Anthropic is what the official SDK sends, and what the API would refuse does not go out."""

from typing import Any

import pytest

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.anthropic import ChatAnthropic
from tests.kit.recordings import Recording, load_recordings
from tests.providers.anthropic.conftest import conversation_in

WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "The time.", "strict": True}}
MARK = {"cache_control": {"type": "ephemeral"}}
PNG = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}


def model(**fields: Any) -> ChatAnthropic:
    return ChatAnthropic(**{"model": "claude-sonnet-5-5", "api_key": "sk-ant-test", "max_tokens": 64, **fields})


def sent(messages: Any = "hi", **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = model().render(messages, **options).json
    return body


def options_in(body: dict[str, Any]) -> dict[str, Any]:
    """The options that a recorded body stands for."""
    renamed = {"stop_sequences": "stop"}
    options = {renamed.get(name, name): value for name, value in body.items()}
    for name in ("messages", "system", "stream"):
        options.pop(name, None)
    for tool in options.get("tools", ()):
        tool["parameters"] = tool.pop("input_schema")
    if "tools" in options:
        options["tools"] = [{"type": "function", "function": tool} for tool in options["tools"]]
    choice = options.get("tool_choice", {})
    if "disable_parallel_tool_use" in choice:
        options["parallel_tool_calls"] = not choice["disable_parallel_tool_use"]
    return options


def test_a_request_is_the_official_sdks(chat_request: Recording) -> None:
    """The whole body is equal, field by field, as are the path and the API's version."""
    recorded = load_recordings("anthropic")[f"anthropic/{chat_request['case']}"]["request"]  # a copy of its own
    expected = chat_request["request"]["body"]
    request = model().render(
        conversation_in(expected), stream=bool(expected.get("stream")), **options_in(recorded["body"])
    )
    assert request.json == expected
    assert request.url == "https://api.anthropic.com/v1/messages"
    if not {"temperature", "top_p", "top_k"} & expected.keys():
        assert request.headers["anthropic-version"] == "2026-10-21"


@pytest.mark.parametrize("name", ["full_conversation", "tool_use"])
def test_standard_blocks_are_written_in_the_apis_words(name: str) -> None:
    """What `content_blocks` shows of the model's own messages says the same to it, signatures and all."""
    body = load_recordings("anthropic")[f"anthropic/{name}"]["request"]["body"]
    facts = {"model_provider": "anthropic", "output_version": "v1"}
    standard = [
        AIMessage(list(message.content_blocks), response_metadata=facts) if isinstance(message, AIMessage) else message
        for message in conversation_in(body)
    ]
    assert sent(standard)["messages"] == [{**turn, "content": turn["content"]} for turn in body["messages"]]


def test_results_of_one_round_are_one_turn_before_anything_else() -> None:
    """Two calls, two results and the next question: the API wants both results in the user's one turn, first."""
    calls: Any = [{"name": "clock", "args": {}, "id": f"c{number}", "type": "tool_call"} for number in (1, 2)]
    asked = [
        HumanMessage("when?"),
        AIMessage("", tool_calls=calls),
        ToolMessage("one", tool_call_id="c1"),
        ToolMessage([{"type": "text", "text": "two"}, PNG], tool_call_id="c2", status="error"),
        HumanMessage("and now?"),
    ]
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    assert sent(asked)["messages"][1:] == [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": f"c{n}", "name": "clock", "input": {}} for n in (1, 2)],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [{"type": "text", "text": "two"}, picture],
                    "is_error": True,
                },
                {"type": "text", "text": "and now?"},
            ],
        },
    ]


def test_instructions_are_hoisted_wherever_they_stand() -> None:
    """One text stays a text; several, or marked ones, are blocks."""
    assert sent([SystemMessage("be brief"), HumanMessage("hi")])["system"] == "be brief"
    two = [SystemMessage([{"type": "text", "text": "a", **MARK}]), HumanMessage("hi"), SystemMessage("b")]
    assert sent(two)["system"] == [{"type": "text", "text": "a", **MARK}, {"type": "text", "text": "b"}]


def test_blank_texts_stay_out() -> None:
    """The API refuses them; a message of nothing else is left out, and its neighbours become one turn."""
    body = sent([HumanMessage("a"), AIMessage([{"type": "text", "text": " \n"}]), HumanMessage("b")])
    blocks = [{"type": "text", "text": text} for text in "ab"]
    assert body["messages"] == [{"role": "user", "content": blocks}]


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (PNG, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}),
        (
            {"type": "image", "url": "https://e.x/a.png"},
            {"type": "image", "source": {"type": "url", "url": "https://e.x/a.png"}},
        ),
        ({"type": "image", "file_id": "f"}, {"type": "image", "source": {"type": "file", "file_id": "f"}}),
        (
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,AAAA"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "AAAA"}},
        ),
        (
            {"type": "file", "base64": "AAAA", "mime_type": "application/pdf", "extras": {"title": "t", **MARK}},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
                "title": "t",
                **MARK,
            },
        ),
        (
            {"type": "text-plain", "text": "t", "mime_type": "text/plain"},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "t"}},
        ),
        ({"type": "search_result", "source": "s", "title": "t", "content": []},) * 2,
    ],
)
def test_parts_of_a_question(part: Any, block: dict[str, Any]) -> None:
    """Pictures and documents of every source; the API's own blocks pass as they are."""
    assert sent([HumanMessage([part])])["messages"][0]["content"] == [block]


@pytest.mark.parametrize(
    "part", [{"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"}, {"type": "video", "url": "u"}]
)
def test_what_the_api_has_no_place_for_is_refused(part: Any) -> None:
    with pytest.raises(Unsupported, match=part["type"]):
        sent([HumanMessage([part])])


@pytest.mark.parametrize(
    ("choice", "parallel", "written", "offered"),
    [
        ("auto", None, {"type": "auto"}, 2),
        ("none", None, {"type": "none"}, 2),
        ("any", True, {"type": "any", "disable_parallel_tool_use": False}, 2),
        ("clock", False, {"type": "tool", "name": "clock", "disable_parallel_tool_use": True}, 2),
        (["clock"], None, {"type": "any"}, 1),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}, 2),
        (None, None, None, 2),
    ],
)
def test_tools_and_the_choice_among_them(choice: Any, parallel: bool | None, written: Any, offered: int) -> None:
    bound = model().bind_tools([WEATHER, CLOCK], tool_choice=choice, parallel_tool_calls=parallel)
    body = model().render("hi", **bound.kwargs).json
    assert body.get("tool_choice") == written
    assert len(body["tools"]) == offered
    empty = {"type": "object", "properties": {}}
    assert body["tools"][-1] == {"name": "clock", "description": "The time.", "strict": True, "input_schema": empty}


def test_the_servers_own_tools_pass_as_they_are() -> None:
    search = {"type": "web_search_20260318", "name": "web_search", "max_uses": 3}
    assert sent(tools=[search, {**WEATHER, **MARK}])["tools"] == [
        search,
        {"name": "weather", "input_schema": {"type": "object", "properties": {}}, **MARK},
    ]


@pytest.mark.parametrize(
    ("name", "options", "thinking", "effort"),
    [
        ("claude-opus-5", {"reasoning_effort": "high"}, {"type": "adaptive"}, "high"),
        ("claude-opus-5", {"reasoning_effort": "minimal"}, {"type": "adaptive"}, "low"),
        ("claude-opus-4-6", {"reasoning_effort": "max"}, {"type": "adaptive"}, "max"),
        ("claude-opus-5", {"reasoning_effort": "none"}, {"type": "disabled"}, None),
        ("claude-3-7-sonnet", {"reasoning_effort": "low"}, {"type": "enabled", "budget_tokens": 2000}, None),
        ("claude-sonnet-4-5", {"reasoning_effort": "medium"}, {"type": "enabled", "budget_tokens": 5000}, None),
        ("claude-opus-4-1", {"reasoning_effort": "high"}, {"type": "enabled", "budget_tokens": 8000}, None),
        ("claude-opus-5", {"thinking": {"type": "between_tools"}}, {"type": "between_tools"}, None),
    ],
)
def test_how_much_to_think(name: str, options: dict[str, Any], thinking: Any, effort: str | None) -> None:
    """Newer models take an effort, older ones a share of the answer's tokens."""
    body = model(model=name, max_tokens=10_000).render("hi", **options).json
    assert (body["thinking"], body.get("output_config", {}).get("effort")) == (thinking, effort)


@pytest.mark.parametrize(
    ("max_tokens", "effort", "budget"),
    [(1025, "max", 1024), (2000, "low", 1024), (10_001, "high", 8000), (160_001, "high", 128_000)],
)
def test_a_budget_has_bounds(max_tokens: int, effort: str, budget: int) -> None:
    """What the API takes at least, and models answer with at most; below the answer's tokens, some of which it leaves."""
    body = model(model="claude-sonnet-4-5", max_tokens=max_tokens).render("hi", reasoning_effort=effort).json
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert budget < body["max_tokens"]


def test_models_that_do_not_think_are_not_asked_to() -> None:
    with pytest.raises(Unsupported, match="'claude-3-haiku' takes no reasoning_effort"):
        model(model="claude-3-haiku").render("hi", reasoning_effort="low")


def test_a_budget_needs_tokens() -> None:
    with pytest.raises(InvalidInput, match="1024"):
        model(model="claude-3-7-sonnet", max_tokens=1024).render("hi", reasoning_effort="low")


def test_sampling_is_asked_of_the_older_version() -> None:
    """The newer one refuses temperature, top_p and top_k, whatever their value."""
    older = model(model="claude-sonnet-4-5")
    assert older.render("hi").headers["anthropic-version"] == "2026-10-21"
    for name in ("temperature", "top_p", "top_k"):
        assert older.render("hi", **{name: 1}).headers["anthropic-version"] == "2023-06-01"
    with pytest.raises(Unsupported, match="temperature"):
        model().render("hi", temperature=0.5)


def test_options_go_where_the_api_has_them() -> None:
    body = model().render(
        "hi", stop=["END"], user_id="u1", service_tier="auto", betas=["a", "b", "a"], extra_body={"x": 1}
    )
    assert body.headers["anthropic-beta"] == "a,b"
    wanted = {"stop_sequences": ["END"], "metadata": {"user_id": "u1"}, "service_tier": "auto", "x": 1}
    assert wanted.items() <= body.json.items()


@pytest.mark.parametrize("names", ["abc", "acb", "bac", "bca", "cab", "cba"])
def test_betas_are_added_up_whoever_names_them(names: str) -> None:
    """The model, its headers and the call; in whatever order. None in a call takes the model's back."""
    first, second, third = names
    asked = model(betas=[first], default_headers={"Anthropic-Beta": f"{second}, {first}"})
    assert asked.render("hi", betas=[third, first]).headers["anthropic-beta"] == "a,b,c"
    assert asked.render("hi", betas=None).headers["anthropic-beta"] == ",".join(sorted([first, second]))
    assert "anthropic-beta" not in model(betas=[first]).render("hi", betas=None).headers


@pytest.mark.parametrize("option", ["seed", "n", "logprobs", "presence_penalty", "response_mime_type", "min_p"])
def test_options_that_the_api_has_no_word_for_are_refused(option: str) -> None:
    with pytest.raises(Unsupported, match=option):
        model().render("hi", **{option: 1})


def test_the_tokens_of_an_answer_are_the_models_own() -> None:
    """The API wants to be told; what is not known of a model is LangChain's number."""
    for name, tokens in (("claude-3-haiku", 4096), ("claude-opus-4-6", 128_000), ("claude-not-known", 4096)):
        assert ChatAnthropic(model=name, api_key="k").render("hi").json["max_tokens"] == tokens


def test_more_marks_than_the_api_takes_are_refused() -> None:
    """Those of tools, instructions, questions and results count together."""
    marked = [{"type": "text", "text": str(number), **MARK} for number in range(4)]
    assert len(sent([HumanMessage(marked)])["messages"][0]["content"]) == 4
    with pytest.raises(InvalidInput, match="5 blocks"):
        sent([HumanMessage(marked)], tools=[{**WEATHER, **MARK}])


def test_nobody_else_speaks() -> None:
    with pytest.raises(InvalidInput, match="critic"):
        sent([ChatMessage("hm", role="critic")])
    with pytest.raises(InvalidInput, match="nothing is asked"):
        sent([SystemMessage("be brief")])


@pytest.mark.parametrize(("key", "header"), [("sk-ant-api03-x", "x-api-key"), ("sk-ant-oat01-x", "authorization")])
def test_a_key_goes_where_its_kind_belongs(key: str, header: str) -> None:
    headers = model(api_key=key).render("hi").headers
    assert {"x-api-key", "authorization"} & headers.keys() == {header}
