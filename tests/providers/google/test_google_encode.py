"""What goes out to the Gemini API is what the official SDK sends, and thought signatures go where they came from."""

from typing import Any

import pytest

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from tests.kit.recordings import Recording
from tests.providers.google.conftest import camelize, conversation_in, model, sent

PNG = {"type": "image", "base64": "AAAA", "mime_type": "image/png"}
OWN = {"model_provider": "google_genai"}
SKIP = "skip_thought_signature_validator"


def parts_of(message: BaseMessage) -> Any:
    return sent([message])["contents"][0]["parts"]


def call(name: str = "f", id: str | None = "c1", **args: Any) -> Any:
    return {"type": "tool_call", "name": name, "args": args, "id": id}


def options_in(body: dict[str, Any]) -> dict[str, Any]:
    """The options that a recorded body stands for."""
    config = dict(body.get("generationConfig", {}))
    thinking = config.pop("thinkingConfig", {})
    words = {"temperature": "temperature", "topP": "top_p", "topK": "top_k", "maxOutputTokens": "max_output_tokens"}
    words |= {"stopSequences": "stop_sequences", "seed": "seed"}
    options = {words[name]: config.pop(name) for name in words if name in config}
    options |= {"include_thoughts": thinking["includeThoughts"], "thinking_level": "low"} if thinking else {}
    for tool in body.get("tools", ()):
        described = [{**each, "parameters": each["parametersJsonSchema"]} for each in tool["functionDeclarations"]]
        options["tools"] = [{"type": "function", "function": each} for each in described]
    if calling := body.get("toolConfig", {}).get("functionCallingConfig"):
        options["tool_choice"] = calling.get("allowedFunctionNames") or calling["mode"].lower()
    if "responseJsonSchema" in config:
        schema = {"name": "answer", "schema": config.pop("responseJsonSchema")}
        options["response_format"] = {"type": "json_schema", "json_schema": schema}
        assert config.pop("responseMimeType") == "application/json"
    return options | ({"extra_body": {"generationConfig": config}} if config else {})


def test_a_request_is_the_official_sdks(chat_request: Recording) -> None:
    """The whole body is equal, field by field, as are the path and the header of the key."""
    expected = camelize(chat_request["request"]["body"])
    stream = "stream" in chat_request["request"]["path"]
    request = model().render(conversation_in(expected), stream=stream, **options_in(expected))
    assert request.json == expected
    assert request.url == "https://generativelanguage.googleapis.com" + chat_request["request"]["path"]
    assert request.headers["x-goog-api-key"]


@pytest.mark.parametrize(
    ("part", "written"),
    [
        (PNG, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
        ({"type": "image", "url": "https://e.x/a.png"}, {"fileData": {"fileUri": "https://e.x/a.png"}}),
        (
            {"type": "video", "url": "https://youtu.be/x", "mime_type": "video/mp4", "videoMetadata": {"fps": 1}},
            {"fileData": {"mimeType": "video/mp4", "fileUri": "https://youtu.be/x"}, "videoMetadata": {"fps": 1}},
        ),
        (
            {"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"},
            {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
        ),
        (
            {"type": "file", "base64": "AAAA", "mime_type": "application/pdf", "cache_control": {"type": "ephemeral"}},
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
        ),
        ({"type": "file", "file_id": "files/abc"}, {"fileData": {"fileUri": "files/abc"}}),
        (
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,AAAA"}},
            {"inlineData": {"mimeType": "image/gif", "data": "AAAA"}},
        ),
        (
            {"type": "media", "mime_type": "video/mp4", "data": "AAAA"},
            {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}},
        ),
        ({"type": "text-plain", "text": "t", "mime_type": "text/plain"}, {"text": "t"}),
        ({"file_data": {"file_uri": "u"}}, {"file_data": {"file_uri": "u"}}),
    ],
)
def test_parts_of_a_question(part: Any, written: Any) -> None:
    """Every kind of content, from every kind of source; the API's own parts pass; marks of other APIs stay out."""
    assert parts_of(HumanMessage([part])) == [written]


def test_instructions_are_hoisted_wherever_they_stand() -> None:
    body = sent([SystemMessage("a"), HumanMessage("hi"), SystemMessage("b")])
    assert body["systemInstruction"] == {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]


def test_a_conversation_of_instructions_alone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nothing is asked"):
        sent([SystemMessage("a")])


def test_results_name_their_tools_and_are_a_turn_of_their_own() -> None:
    """JSON goes as data; a picture beside the answer; a failure as an error; what the user says next is another turn."""
    asked = [
        HumanMessage("q"),
        AIMessage("", tool_calls=[call("a", "c1"), call("b", "c2"), call("c", "c3"), call("d", "c4")]),
        ToolMessage('{"t": [1]}', tool_call_id="c1"),
        ToolMessage([{"type": "text", "text": "see"}, PNG], tool_call_id="c2"),
        ToolMessage("no such city", tool_call_id="c3", status="error"),
        ToolMessage("[not JSON", tool_call_id="c4"),
        HumanMessage("and?"),
    ]
    results, question = sent(asked)["contents"][2:]
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    assert [part["functionResponse"] for part in results["parts"]] == [
        {"id": "c1", "name": "a", "response": {"output": {"t": [1]}}},
        {"id": "c2", "name": "b", "response": {"output": "see"}, "parts": [picture]},
        {"id": "c3", "name": "c", "response": {"error": "no such city"}},
        {"id": "c4", "name": "d", "response": {"output": "[not JSON"}},
    ]
    assert results["role"] == "user"
    assert question == {"role": "user", "parts": [{"text": "and?"}]}


def test_an_id_that_the_api_never_gave_is_not_sent_back() -> None:
    """The call stands as it came, without an id, and its result has none either."""
    part = {"functionCall": {"name": "a", "args": {}}, "thoughtSignature": "c2ln"}
    reply = AIMessage([part], tool_calls=[call("a", "lc_made")], response_metadata=OWN)
    contents = sent([HumanMessage("q"), reply, ToolMessage("1", tool_call_id="lc_made")])["contents"]
    assert contents[1]["parts"] == [part]
    assert contents[2]["parts"] == [{"functionResponse": {"name": "a", "response": {"output": "1"}}}]


def test_signatures_stay_on_their_parts() -> None:
    """Text, empty text, thought and call: each goes back with its own, and nothing is merged."""
    parts: list[Any] = [
        {"text": "hm", "thought": True, "thoughtSignature": "YQ=="},
        {"text": "a", "thoughtSignature": "Yg=="},
        {"text": "b"},
        {"functionCall": {"id": "c1", "name": "f", "args": {}}, "thoughtSignature": "Yw=="},
        {"functionCall": {"id": "c2", "name": "f", "args": {}}},
        {"text": "", "thoughtSignature": "ZA=="},
    ]
    reply = AIMessage([{**part, "index": at} for at, part in enumerate(parts)], response_metadata=OWN)
    reply.tool_calls = [call(), call(id="c2")]
    results = [ToolMessage("1", tool_call_id="c1"), ToolMessage("2", tool_call_id="c2")]
    assert sent([HumanMessage("q"), reply, *results])["contents"][1]["parts"] == parts
    standard = AIMessage(list(reply.content_blocks), response_metadata={**OWN, "output_version": "v1"})
    standard.tool_calls = reply.tool_calls
    assert sent([HumanMessage("q"), standard, *results])["contents"][1]["parts"] == parts


def test_calls_of_other_models_say_that_they_have_no_signature() -> None:
    """On the first call of each step since the user last spoke; for models that want signatures, and no others."""
    step = [AIMessage("", tool_calls=[call(), call(id="c2")], response_metadata={"model_provider": "openai"})]
    results = [ToolMessage("1", tool_call_id="c1"), ToolMessage("2", tool_call_id="c2")]
    later = AIMessage("", tool_calls=[call(id="c3")], response_metadata={"model_provider": "openai"})
    asked = [HumanMessage("q"), *step, *results, HumanMessage("q2"), *step, *results, later]
    asked += [ToolMessage("3", tool_call_id="c3")]
    for name, marks in {
        "gemini-3.8-flash": [None, None, SKIP, None, SKIP],
        "gemini-flash-latest": [None, None, SKIP, None, SKIP],
        "gemini-2.5-pro": [None] * 5,
        "gemma-4": [None] * 5,
    }.items():
        parts = [part for turn in sent(asked, name=name)["contents"] for part in turn["parts"]]
        assert [part.get("thoughtSignature") for part in parts if "functionCall" in part] == marks


def test_langchains_signatures_are_taken_over() -> None:
    """langchain-google-genai keeps them beside the content, by the ids of the calls."""
    kept = {"__gemini_function_call_thought_signatures__": {"c1": "c2ln"}, "function_call": {"name": "f"}}
    reply = AIMessage("", tool_calls=[call(x=1)], additional_kwargs=kept, response_metadata=OWN)
    contents = sent([HumanMessage("q"), reply, ToolMessage("1", tool_call_id="c1")])["contents"]
    written = {"functionCall": {"id": "c1", "name": "f", "args": {"x": 1}}, "thoughtSignature": "c2ln"}
    assert contents[1]["parts"] == [written]


def test_langchains_own_words_for_parts_are_taken_over() -> None:
    """Thoughts, signed texts and code, in the types that langchain-google-genai gives them; its notes stay out."""
    reply = AIMessage(
        [
            {"type": "thinking", "thinking": "t", "signature": "YQ=="},
            {"type": "text", "text": "hi", "extras": {"signature": "Yg=="}},
            {"type": "executable_code", "executable_code": "1", "language": "python", "id": "e"},
            {"type": "code_execution_result", "code_execution_result": "1", "outcome": 1, "tool_call_id": "e"},
            {"type": "media", "mime_type": "image/png", "data": "AAAA"},
            {"type": "a_note", "index": 0},
        ],
        response_metadata=OWN,
    )
    assert sent([HumanMessage("q"), reply])["contents"][1]["parts"] == [
        {"text": "t", "thought": True, "thoughtSignature": "YQ=="},
        {"text": "hi", "thoughtSignature": "Yg=="},
        {"executableCode": {"id": "e", "language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"id": "e", "outcome": 1, "output": "1"}},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
    ]


def test_parts_that_the_official_sdk_dumps_are_taken_over() -> None:
    """Its names are in snake case, and what a part is not is null; a call in the content alone is a call."""
    part = {"text": None, "thought": None, "function_call": {"id": "c1", "name": "f", "args": {"x": 1}}}
    part["thought_signature"] = "YQ=="
    asked = [HumanMessage("q"), AIMessage([part]), ToolMessage("1", tool_call_id="c1")]
    contents = sent(asked)["contents"]
    assert contents[1]["parts"] == [{name: value for name, value in part.items() if value is not None}]
    assert contents[2]["parts"][0]["functionResponse"]["name"] == "f"


def test_reasoning_of_others_stays_out() -> None:
    reply = AIMessage([{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "a"}])
    reply.response_metadata = {"model_provider": "anthropic"}
    assert sent([HumanMessage("q"), reply])["contents"][1]["parts"] == [{"text": "a"}]


def test_several_answers_as_one_stream_are_refused() -> None:
    with pytest.raises(InvalidInput, match="one stream"):
        model().render("q", stream=True, n=2)


def test_a_form_that_the_api_does_not_know_is_refused() -> None:
    with pytest.raises(Unsupported, match="grammar"):
        sent(response_format={"type": "grammar"})
