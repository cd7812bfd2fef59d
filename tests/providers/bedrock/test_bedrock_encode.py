"""What goes out to Bedrock is what botocore's model of the API takes, in the words that the design tables."""

import json
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.bedrock import ChatBedrockConverse
from hocket.tools import tool

CLAUDE, NOVA, OLD = (
    "eu.anthropic.claude-sonnet-5-5-v1:0",
    "amazon.nova-pro-v1:0",
    "anthropic.claude-3-7-sonnet-20250219-v1:0",
)
WEATHER: dict[str, Any] = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "The time.", "strict": True}}
MARK = {"cache_control": {"type": "ephemeral"}}
POINT = {"cachePoint": {"type": "default"}}
CALL: Any = {"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "place", "schema": {"type": "object"}}}
SHAPE = botocore.session.Session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def model(name: str = CLAUDE, **fields: Any) -> ChatBedrockConverse:
    return ChatBedrockConverse(**{"model": name, "region_name": "eu-west-1", "api_key": "k", "profile": {}, **fields})


def sent(messages: Any = "hi", *, name: str = CLAUDE, **options: Any) -> dict[str, Any]:
    """The body of a request, which botocore's model of the API takes."""
    body: dict[str, Any] = model(name).render(messages, **options).json
    assert not (report := ParamValidator().validate({"modelId": name, **body}, SHAPE)).has_errors(), (
        report.generate_report()
    )
    return body


def blocks(*parts: Any) -> Any:
    """The blocks of a question."""
    return sent([HumanMessage([*parts])])["messages"][0]["content"]


OPTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"max_tokens": 9, "temperature": 0, "top_p": 0.5, "stop": ["a"]},
        {"inferenceConfig": {"maxTokens": 9, "temperature": 0, "topP": 0.5, "stopSequences": ["a"]}},
    ),
    ({"top_k": 5}, {"additionalModelRequestFields": {"top_k": 5}}),
    (
        {"reasoning_effort": "high"},
        {"additionalModelRequestFields": {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}},
    ),
    ({"reasoning_effort": "none"}, {"additionalModelRequestFields": {"thinking": {"type": "disabled"}}}),
    (
        {"top_k": 5, "additional_model_request_fields": {"top_k": 6, "anthropic_beta": ["b"]}},
        {"additionalModelRequestFields": {"top_k": 6, "anthropic_beta": ["b"]}},
    ),
    (
        {"response_format": SCHEMA},
        {
            "outputConfig": {
                "textFormat": {
                    "type": "json_schema",
                    "structure": {"jsonSchema": {"name": "place", "schema": '{"type":"object"}'}},
                }
            }
        },
    ),
    (
        {"guardrail_config": {"guardrailIdentifier": "g1", "guardrailVersion": "1"}},
        {"guardrailConfig": {"guardrailIdentifier": "g1", "guardrailVersion": "1"}},
    ),
    ({"additional_model_response_field_paths": ["/a"]}, {"additionalModelResponseFieldPaths": ["/a"]}),
    ({"performance_config": {"latency": "optimized"}}, {"performanceConfig": {"latency": "optimized"}}),
    ({"service_tier": "flex"}, {"serviceTier": {"type": "flex"}}),
    ({"service_tier": {"type": "reserved"}}, {"serviceTier": {"type": "reserved"}}),
    ({"request_metadata": {"team": "a"}}, {"requestMetadata": {"team": "a"}}),
    (
        {"extra_body": {"inferenceConfig": {"maxTokens": 3}}, "top_p": 0.1},
        {"inferenceConfig": {"maxTokens": 3, "topP": 0.1}},
    ),
]


@pytest.mark.parametrize(("options", "fields"), OPTIONS, ids=lambda value: ",".join(value))
def test_options_are_fields(options: dict[str, Any], fields: dict[str, Any]) -> None:
    """Made with them or called with them, and nothing else is said."""
    assert sent(**options) == {"messages": [{"role": "user", "content": [{"text": "hi"}]}], **fields}
    assert model(**options).render("hi").json == sent(**options)


def test_an_older_model_thinks_within_a_budget_of_its_tokens() -> None:
    """Which the API has to be told."""
    body = sent(name=OLD, reasoning_effort="medium", max_tokens=4000)
    assert body["additionalModelRequestFields"] == {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    assert body["inferenceConfig"] == {"maxTokens": 4000}
    assert sent(name=OLD, reasoning_effort="low")["inferenceConfig"]["maxTokens"] >= 4096


@pytest.mark.parametrize(
    "options",
    [
        {"name": NOVA, "top_k": 5},
        {"name": NOVA, "reasoning_effort": "low"},
        {"seed": 1},
        {"parallel_tool_calls": False},
        {"response_format": {"type": "json_object"}},
        {"tools": [WEATHER], "tool_choice": "none"},
        {"tools": [{"type": "web_search"}]},
    ],
    ids=str,
)
def test_what_the_api_has_no_word_for_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(Unsupported):
        sent(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"service_tier": "fast"},
        {"additional_model_response_field_paths": ["/a"] * 11},
        {"request_metadata": {str(number): "a" for number in range(17)}},
        {"model": ""},
    ],
    ids=lambda value: next(iter(value)),
)
def test_values_outside_their_limits_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        sent(**options)


def test_a_models_name_is_one_segment_of_the_path() -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-x-v1:0"
    made = ChatBedrockConverse(model=arn, api_key="k")
    base = "https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Feu.anthropic.claude-x-v1%3A0"
    assert made.render("hi").url == f"{base}/converse"
    assert made.render("hi", stream=True).url == f"{base}/converse-stream"


def test_results_of_one_round_are_one_turn() -> None:
    """With the next question, in the order of the messages; the picture is a block in its result."""
    png = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
    asked = [
        SystemMessage("Be brief."),
        HumanMessage("when?"),
        AIMessage("", tool_calls=[CALL, {**CALL, "id": "c2"}]),
        ToolMessage("one", tool_call_id="c1"),
        ToolMessage([{"type": "text", "text": "two"}, png], tool_call_id="c2", status="error"),
        HumanMessage("and now?"),
    ]
    body = sent(asked, tools=[WEATHER])
    use = {"name": "weather", "input": {"city": "Oslo"}}
    picture = {"image": {"format": "png", "source": {"bytes": "AAAA"}}}
    assert body["system"] == [{"text": "Be brief."}]
    assert body["messages"] == [
        {"role": "user", "content": [{"text": "when?"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": id, **use}} for id in ("c1", "c2")]},
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c1", "content": [{"text": "one"}], "status": "success"}},
                {"toolResult": {"toolUseId": "c2", "content": [{"text": "two"}, picture], "status": "error"}},
                {"text": "and now?"},
            ],
        },
    ]


TURNS: list[BaseMessage] = [HumanMessage("when?"), AIMessage("", tool_calls=[CALL]), ToolMessage("", tool_call_id="c1")]


def test_tools_of_calls_are_sent_as_long_as_the_history_has_these() -> None:
    """The API refuses the conversation otherwise. What is offered stands as it is."""
    [gone] = sent(TURNS)["toolConfig"]["tools"]
    assert gone["toolSpec"]["name"] == "weather" and "do not call" in gone["toolSpec"]["description"]
    assert [tool["toolSpec"]["name"] for tool in sent(TURNS, tools=[CLOCK])["toolConfig"]["tools"]] == [
        "weather",
        "clock",
    ]
    assert sent(TURNS, tools=[WEATHER])["toolConfig"]["tools"][0]["toolSpec"].keys() == {"name", "inputSchema"}
    assert sent(TURNS)["messages"][2]["content"][0]["toolResult"]["content"] == []


CHOICES: list[tuple[Any, Any, int]] = [
    (None, None, 2),
    ("auto", {"auto": {}}, 2),
    ("any", {"any": {}}, 2),
    ("clock", {"tool": {"name": "clock"}}, 2),
    (["clock"], {"any": {}}, 1),
]


@pytest.mark.parametrize(("choice", "said", "count"), CHOICES, ids=str)
def test_tools_and_the_choice_among_them(choice: Any, said: Any, count: int) -> None:
    config = sent(tools=[WEATHER, CLOCK], tool_choice=choice)["toolConfig"]
    assert config.get("toolChoice") == said and len(config["tools"]) == count
    spec = {"name": "clock", "description": "The time.", "strict": True}
    assert config["tools"][-1] == {"toolSpec": {**spec, "inputSchema": {"json": {"type": "object", "properties": {}}}}}


def test_a_choice_of_none_cannot_be_bound() -> None:
    """The API has no word for it, and wants the tools of a history."""
    with pytest.raises(Unsupported, match="tool choice"):
        model().bind_tools([WEATHER], tool_choice="none")


MEDIA: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"type": "image", "base64": "AAAA", "mime_type": "image/jpg"},
        {"image": {"format": "jpeg", "source": {"bytes": "AAAA"}}},
    ),
    (
        {"type": "image", "url": "data:image/webp;base64,AAAA"},
        {"image": {"format": "webp", "source": {"bytes": "AAAA"}}},
    ),
    (
        {"type": "video", "url": "s3://bucket/a.mp4"},
        {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/a.mp4"}}}},
    ),
    (
        {"type": "video", "base64": "AAAA", "mime_type": "video/quicktime"},
        {"video": {"format": "mov", "source": {"bytes": "AAAA"}}},
    ),
    (
        {"type": "audio", "base64": "AAAA", "mime_type": "audio/mpeg"},
        {"audio": {"format": "mp3", "source": {"bytes": "AAAA"}}},
    ),
    (
        {"type": "audio", "base64": "AAAA", "mime_type": "audio/x-wav"},
        {"audio": {"format": "wav", "source": {"bytes": "AAAA"}}},
    ),
    (
        {"type": "file", "base64": "AAAA", "mime_type": "application/pdf", "title": "Q3: report/final.pdf"},
        {"document": {"format": "pdf", "name": "Q3 report final pdf", "source": {"bytes": "AAAA"}}},
    ),
    (
        {"type": "file", "base64": "AAAA", "mime_type": "text/csv", "extras": {"citations": {"enabled": True}}},
        {
            "document": {
                "format": "csv",
                "name": "document",
                "citations": {"enabled": True},
                "source": {"bytes": "AAAA"},
            }
        },
    ),
    (
        {"type": "text-plain", "text": "abc", "mime_type": "text/plain", "context": "old"},
        {"document": {"format": "txt", "name": "document", "context": "old", "source": {"text": "abc"}}},
    ),
    ({"guardContent": {"text": {"text": "a"}}}, {"guardContent": {"text": {"text": "a"}}}),
    (POINT, POINT),
    ({"text": "a"}, {"text": "a"}),
]


@pytest.mark.parametrize(("part", "block"), MEDIA, ids=lambda value: json.dumps(value)[:40])
def test_data_are_blocks(part: dict[str, Any], block: dict[str, Any]) -> None:
    assert blocks({"type": "text", "text": "Look:"}, part) == [{"text": "Look:"}, block]


def test_documents_have_names_of_their_own_that_the_api_takes() -> None:
    """Those in results of tools as well; the messages stay as they are."""
    pdf = {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"}
    native = {"document": {"format": "txt", "name": "a/b", "source": {"text": "t"}}}
    asked: list[BaseMessage] = [
        HumanMessage([pdf, native, pdf]),
        AIMessage("", tool_calls=[CALL]),
        ToolMessage([pdf], tool_call_id="c1"),
    ]
    first, _, last = sent(asked)["messages"]
    assert [block["document"]["name"] for block in first["content"]] == ["document", "a b", "document 2"]
    assert last["content"][0]["toolResult"]["content"][0]["document"]["name"] == "document 3"
    assert native["document"]["name"] == "a/b"


@pytest.mark.parametrize(
    "part",
    [{"type": "image", "url": "https://e.x/a.png"}, {"type": "file", "file_id": "f"}],
    ids=lambda part: part["type"],
)
def test_what_the_api_cannot_fetch_is_refused(part: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="Converse"):
        blocks(part)


def test_a_result_that_has_no_place_becomes_a_text() -> None:
    """It is in the history for good."""
    audio = {"type": "audio", "base64": "AAAA", "mime_type": "audio/mpeg"}
    body = sent([*TURNS[:2], ToolMessage([{"type": "text", "text": "a"}, audio], tool_call_id="c1")])
    said = body["messages"][2]["content"][0]["toolResult"]["content"]
    assert said[0] == {"text": "a"} and "audio" in said[1]["text"]


def test_blank_texts_are_left_out_and_a_conversation_of_nothing_is_refused() -> None:
    body = sent([SystemMessage(" "), HumanMessage(""), HumanMessage("hi")])
    assert body == {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    with pytest.raises(InvalidInput, match="nothing is asked"):
        sent([SystemMessage("a"), HumanMessage(" \n")])


def test_marks_become_points_behind_what_they_stand_on() -> None:
    """On texts, instructions, tools, calls, and results, where it stands behind the result itself."""
    marked = {"type": "text", "text": "a", **MARK}
    hour = {"cachePoint": {"type": "default", "ttl": "1h"}}
    asked: list[BaseMessage] = [
        SystemMessage([marked]),
        HumanMessage([{"type": "text", "text": "b", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]),
        AIMessage("", tool_calls=[CALL]),
        ToolMessage([marked], tool_call_id="c1"),
        ToolMessage("c", tool_call_id="c1", additional_kwargs=MARK),
    ]
    body = model().render(asked[:-1], tools=[{**WEATHER, "extras": MARK}]).json
    assert body["system"] == [{"text": "a"}, POINT]
    assert body["messages"][0]["content"] == [{"text": "b"}, hour]
    assert [*map(set, body["messages"][2]["content"])] == [{"toolResult"}, {"cachePoint"}]
    assert [*map(set, body["toolConfig"]["tools"])] == [{"toolSpec"}, {"cachePoint"}]
    body = model().render([*asked[1:3], asked[4]]).json
    assert [*map(set, body["messages"][2]["content"])] == [{"toolResult"}, {"cachePoint"}]


@pytest.mark.parametrize(("name", "on_tools"), [(CLAUDE, True), (NOVA, False), ("meta.llama4-v1:0", None)])
def test_prompt_cache_places_points(name: str, on_tools: bool | None) -> None:
    """After tools, instructions, the request before and the end; where the model knows none, there is nothing to say."""
    asked: list[BaseMessage] = [SystemMessage("s"), *TURNS]
    body = sent(asked, name=name, tools=[WEATHER], prompt_cache=True)
    places = [body["toolConfig"]["tools"], body["system"], *(turn["content"] for turn in body["messages"])]
    found = [POINT in place for place in places]
    assert found == ([False] * 5 if on_tools is None else [on_tools, True, True, False, True])
    assert sent(asked, name=name, prompt_cache=False) == sent(asked, name=name)
    if on_tools is not None:
        assert sent(asked, name=name, prompt_cache="1h")["system"][-1]["cachePoint"]["ttl"] == "1h"
        own = [SystemMessage([{"type": "text", "text": "s", **MARK}]), *TURNS]
        assert sent(own, name=name, prompt_cache=True) == sent(own, name=name)


def test_own_replies_go_back_as_they_came_and_others_are_translated() -> None:
    """Reasoning with its signature, redacted, cited; without one it is left out, as is another provider's."""
    own = [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
        {"reasoningContent": {"redactedContent": "AAAA"}},
        {"citationsContent": {"content": [{"text": "a"}], "citations": [{"title": "t"}]}},
        {"toolUse": {"toolUseId": "w1", "name": "search", "input": {}, "type": "server_tool_use"}},
        {"toolResult": {"toolUseId": "w1", "content": [{"text": "found"}], "type": "search"}},
        {"text": "b"},
    ]
    unsigned = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    facts = {"model_provider": "bedrock"}
    asked = [HumanMessage("q"), AIMessage([*own, unsigned, {"text": "c", "index": 7}], response_metadata=facts)]
    assert sent(asked)["messages"][1]["content"] == [*own, {"text": "c"}]
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    use = {"type": "tool_use", "id": "c1", "name": "weather", "input": {}}
    theirs = AIMessage([thought, {"type": "text", "text": "a"}, use], response_metadata={"model_provider": "anthropic"})
    theirs.tool_calls = [{"name": "weather", "args": {}, "id": "c1", "type": "tool_call"}]
    answered = [HumanMessage("q"), theirs, ToolMessage("r", tool_call_id="c1")]
    assert sent(answered)["messages"][1]["content"] == [
        {"text": "a"},
        {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {}}},
    ]


@pytest.mark.parametrize("id", ["call|1", "c" * 65, "ü"])
def test_ids_that_do_not_fit_are_replaced_in_call_and_result(id: str) -> None:
    body = sent([HumanMessage("q"), AIMessage("", tool_calls=[{**CALL, "id": id}]), ToolMessage("r", tool_call_id=id)])
    [use], [result] = (turn["content"] for turn in body["messages"][1:])
    assert use["toolUse"]["toolUseId"] == result["toolResult"]["toolUseId"] != id


def test_arguments_that_could_not_be_read_go_back_as_an_object() -> None:
    broken: Any = {"name": "weather", "args": '{"a', "id": "c1", "type": "invalid_tool_call", "error": None}
    body = sent([HumanMessage("q"), AIMessage("", invalid_tool_calls=[broken]), ToolMessage("no", tool_call_id="c1")])
    assert body["messages"][1]["content"][0]["toolUse"]["input"] == {"INVALID_JSON": '{"a'}


def test_a_tool_with_extras_of_langchains() -> None:
    @tool(extras=MARK)
    def weather(city: str) -> str:
        """Say it."""
        return city

    bound: Any = model().bind_tools([weather])
    assert bound.bound.render("hi", **bound.kwargs).json["toolConfig"]["tools"][-1] == POINT
