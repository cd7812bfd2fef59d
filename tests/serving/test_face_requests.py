"""What the faces read, and what they refuse: bodies as strangers send them to messages, Responses and completions."""

import json
from typing import Any

import pytest

from hocket import ScriptedChatModel, Turn
from hocket.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.roles import calls_of
from hocket.serving import openai_app
from hocket.serving.gateway.chat_reply import CHAT
from hocket.serving.gateway.completions import COMPLETIONS
from hocket.serving.gateway.exchange import GatewayLimits, GatewayService
from hocket.serving.gateway.face import AnswerRequest
from hocket.serving.gateway.messages_request import read_messages_request
from hocket.serving.gateway.metrics import GatewayMetrics
from hocket.serving.gateway.model_exchange import ModelExchange
from hocket.serving.gateway.responses_request import read_responses_request
from hocket.serving.gateway.served_models import ServedModels
from hocket.serving.refusals import Refusal
from tests.kit import RawClient, body
from tests.serving.conftest import HEADERS, send

MESSAGES: dict[str, Any] = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]}
RESPONSES: dict[str, Any] = {"model": "m", "input": "hi"}
COMPLETION: dict[str, Any] = {"model": "m", "prompt": "hi"}
PATHS = {"/v1/messages": MESSAGES, "/v1/responses": RESPONSES, "/v1/completions": COMPLETION}


def read_messages(**fields: Any) -> Any:
    return read_messages_request(json.dumps({**MESSAGES, **fields}).encode())


def read_responses(**fields: Any) -> Any:
    return read_responses_request(json.dumps({**RESPONSES, **fields}).encode())


def test_a_talk_by_messages():
    """Content stays as it came; calls and results are found in it."""
    mark = {"cache_control": {"type": "ephemeral"}}
    talk = [
        {"role": "user", "content": [{"type": "text", "text": "Add.", **mark}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Well.", "signature": "signed"},
                {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "1"}]},
    ]
    system, asked, said, result = read_messages(system=[{"type": "text", "text": "Be brief."}], messages=talk).input
    assert isinstance(system, SystemMessage) and system.text == "Be brief."
    assert asked.content == talk[0]["content"] and said.content == talk[1]["content"]
    (call,) = calls_of(said)
    assert (call["id"], call["name"], call["args"]) == ("c1", "add", {"a": 1})
    assert isinstance(result, HumanMessage) and result.content == talk[2]["content"]


def test_options_of_messages():
    request = read_messages(
        stop_sequences=["."],
        metadata={"user_id": "u"},
        output_config={"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
        thinking={"type": "adaptive"},
        top_k=5,
        tools=[{"name": "add", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
    )
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}
    own = {"user_id": "u", "reasoning_effort": "low", "thinking": {"type": "adaptive"}}
    assert request.options == {"max_tokens": 10, "stop": ["."], "top_k": 5, "response_format": schema, **own}
    assert request.tools["tool_choice"] == "any" and request.tools["parallel_tool_calls"] is False
    (tool,) = request.tools["tools"]
    assert tool["function"]["name"] == "add" and tool["extras"] == {"cache_control": {"type": "ephemeral"}}
    assert "thinking" in request.spare and "top_k" not in request.spare


def test_a_talk_by_responses():
    """What the model has said in a row is one message."""
    items = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Add."}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
        {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "Well."}]},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
        {"role": "assistant", "content": "It is 1."},
    ]
    developer, asked, said, result, answer = read_responses(input=items).input
    assert developer.additional_kwargs == {"__openai_role__": "developer"}
    assert asked == HumanMessage("Add.") and answer == AIMessage("It is 1.")
    assert [item["type"] for item in said.content] == ["reasoning", "message", "function_call"]
    assert said.text == "Well." and calls_of(said)[0]["args"] == {"a": 1}
    assert isinstance(result, ToolMessage) and (result.tool_call_id, result.content) == ("c1", "1")


def test_options_of_responses():
    request = read_responses(
        instructions="Be brief.",
        max_output_tokens=5,
        reasoning={"effort": "low", "summary": "auto"},
        text={"verbosity": "low", "format": {"type": "json_schema", "name": "x", "schema": {}, "strict": True}},
        store=True,
        tools=[{"type": "function", "name": "add", "parameters": {"type": "object"}, "strict": True}],
        tool_choice={"type": "function", "name": "add"},
    )
    assert request.input == [SystemMessage("Be brief."), HumanMessage("hi")]
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}, "strict": True}}
    assert request.options == {
        "max_tokens": 5,
        "reasoning_effort": "low",
        "reasoning": {"summary": "auto"},
        "verbosity": "low",
        "response_format": form,
        "store": True,
    }
    assert request.tools["tool_choice"] == "add" and "store" in request.spare


def test_a_completion():
    """One text, which may stand in a list."""
    for prompt in ("hi", ["hi"]):
        request = COMPLETIONS.read(json.dumps({**COMPLETION, "prompt": prompt, "n": 1, "stop": "."}).encode())
        assert (request.input, request.options) == ("hi", {"stop": ["."]})


async def test_a_completion_is_written():
    app = openai_app({"m": ScriptedChatModel(script=["Hello there."] * 2)})
    whole = (await send(app, "POST", "/v1/completions", json=COMPLETION)).json()
    assert (whole["object"], whole["choices"][0]["text"]) == ("text_completion", "Hello there.")
    text = (await send(app, "POST", "/v1/completions", json={**COMPLETION, "stream": True})).text
    events = [json.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: {")]
    assert "".join(event["choices"][0]["text"] for event in events) == "Hello there."
    assert events[-1]["choices"][0]["finish_reason"] == "stop" and text.endswith("data: [DONE]\n\n")


async def test_a_completion_that_calls_a_tool_ends_in_one_way():
    """Whole and in pieces: the text is not all that the model wants to say."""
    turn = Turn(text="Well.", tool_calls=[{"name": "add", "args": {}}], metadata={"finish_reason": "stop"})
    app = openai_app({"m": ScriptedChatModel(script=[turn] * 2)})
    whole = (await send(app, "POST", "/v1/completions", json=COMPLETION)).json()
    text = (await send(app, "POST", "/v1/completions", json={**COMPLETION, "stream": True})).text
    last = [json.loads(line[6:]) for line in text.split("\n\n") if line.startswith("data: {")][-1]
    assert whole["choices"][0]["finish_reason"] == last["choices"][0]["finish_reason"] == "tool_calls"


async def test_a_reader_that_fails_is_told_and_logged(caplog: pytest.LogCaptureFixture):
    """As any other failure of the gateway's own: what was not foreseen is no bare error of the application."""

    def read(body: bytes) -> AnswerRequest:
        raise TypeError("unhashable type: 'list'")

    limits = GatewayLimits(None, 10_000_000, None, False, False)
    service = GatewayService(ServedModels({"m": ScriptedChatModel(script=[])}), limits, GatewayMetrics())
    for size in (10, 200_000):  # in the loop, and in a thread
        client = RawClient(body(b"x" * size))
        with pytest.raises(Refusal) as refused:
            await ModelExchange(CHAT._replace(read=read), service, {}, []).run(HEADERS, client.receive, client.send)
        assert refused.value.message == "the request failed" and "unhashable" in caplog.text
        caplog.clear()


def said(block: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": [block]}


def result(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", **fields}]}


BAD: list[tuple[str, Any, str]] = [
    ("/v1/messages", {"max_tokens": None}, "max_tokens is missing"),
    ("/v1/messages", {"messages": []}, "messages is []"),
    ("/v1/messages", {"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role is 'tool'"),
    ("/v1/messages", {"messages": [{"role": ["user"], "content": "x"}]}, "messages[0].role is ['user']"),
    ("/v1/messages", {"messages": [{"role": "user"}]}, "messages[0] is"),
    ("/v1/messages", {"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0] is 5"),
    ("/v1/messages", {"messages": [{"role": "user", "content": 5}]}, "messages[0].content is 5"),
    ("/v1/messages", {"messages": [said({"type": []})]}, "messages[0].content[0].type is []"),
    ("/v1/messages", {"messages": [result(content=[{"type": {}}])]}, "messages[0].content[0].content[0].type is {}"),
    ("/v1/messages", {"messages": [result(content=[5])]}, "messages[0].content[0].content[0] is 5"),
    ("/v1/messages", {"messages": [result(content=5)]}, "messages[0].content[0].content is 5"),
    ("/v1/messages", {"messages": [result(content={"type": "text"})]}, "messages[0].content[0].content is {"),
    ("/v1/messages", {"messages": [result(tool_use_id=[])]}, "messages[0].content[0].tool_use_id is []"),
    ("/v1/messages", {"messages": [said({"type": "thinking", "thinking": 5})]}, "messages[0].content[0].thinking is 5"),
    ("/v1/messages", {"messages": [said({"type": "tool_use", "name": {}})]}, "messages[0].content[0].name is {}"),
    ("/v1/messages", {"system": [{"type": "text", "text": 5}]}, "system[0].text is 5"),
    (
        "/v1/messages",
        {"messages": [said({"type": "text", "annotations": [{"type": []}]})]},
        "annotations[0].type is []",
    ),
    ("/v1/messages", {"messages": [said({"type": "non_standard", "value": 5})]}, "messages[0].content[0] is {"),
    ("/v1/messages", {"messages": [said({"type": "text", "text": "x", "extras": [5]})]}, "messages[0].content[0] is {"),
    ("/v1/messages", {"messages": [result(content=[{"type": "document", "title": 5}])]}, "content[0].title is 5"),
    ("/v1/messages", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0] is"),
    ("/v1/messages", {"tools": [5]}, "tools[0] is 5"),
    ("/v1/messages", {"tools": [{"name": "a"}], "tool_choice": {"type": "tool"}}, "tool_choice is"),
    ("/v1/messages", {"output_config": {"format": {"type": "grammar"}}}, "output_config.format is"),
    ("/v1/messages", {"stop_sequences": 5}, "stop_sequences is 5"),
    ("/v1/responses", {"input": [{"type": [], "role": "user", "content": "x"}]}, "input[0].type is []"),
    ("/v1/responses", {"input": [{"type": "function_call", "call_id": 5}]}, "input[0].call_id is 5"),
    ("/v1/responses", {"input": [{"type": "function_call", "arguments": {}}]}, "input[0].arguments is {}"),
    ("/v1/responses", {"input": [{"type": "reasoning", "encrypted_content": []}]}, "input[0].encrypted_content is []"),
    ("/v1/responses", {"input": [{"role": "assistant", "content": [{"type": []}]}]}, "input[0].content[0].type is []"),
    ("/v1/responses", {"input": [{"type": "reasoning", "summary": [5]}, 5]}, "input[1] is 5"),
    ("/v1/messages", {"retry": 3}, "there is no field 'retry'"),
    ("/v1/messages", {"extra_body": {}}, "there is no field 'extra_body'"),
    ("/v1/messages", {"n": 2}, "n is 2; it is 1 here"),
    ("/v1/messages", {"candidate_count": 2}, "candidate_count is 2"),
    ("/v1/responses", {"n": 2}, "n is 2; it is 1 here"),
    ("/v1/responses", {"messages": [{"role": "user", "content": "x"}]}, "there is no field 'messages'"),
    ("/v1/responses", {"input": None}, "input is missing"),
    ("/v1/responses", {"input": ""}, "input is ''"),
    ("/v1/responses", {"input": [5]}, "input[0] is 5"),
    ("/v1/responses", {"input": [{"type": "item_reference", "id": "x"}]}, "with store: false: nothing is kept here"),
    ("/v1/responses", {"input": [{"type": "web_search_call", "id": "x"}]}, "input[0] is"),
    ("/v1/responses", {"input": [{"type": "function_call_output", "output": "1"}]}, "input[0].call_id is None"),
    ("/v1/responses", {"input": [{"role": "user", "content": [5]}]}, "input[0].content[0] is 5"),
    ("/v1/responses", {"previous_response_id": "resp_1"}, "send the whole conversation in input"),
    ("/v1/responses", {"conversation": "conv_1"}, "conversation is not served"),
    ("/v1/responses", {"background": True}, "background is not served"),
    ("/v1/responses", {"tools": [{"type": "web_search"}]}, "tools[0] is"),
    ("/v1/responses", {"text": {"format": {"type": "grammar"}}}, "text.format is"),
    ("/v1/responses", {"callbacks": []}, "there is no field 'callbacks'"),
    ("/v1/completions", {"prompt": ["a", "b"]}, "prompt is ['a', 'b']"),
    ("/v1/completions", {"prompt": [1, 2]}, "prompt is [1, 2]"),
    ("/v1/completions", {"n": 2}, "n is 2"),
    ("/v1/completions", {"messages": []}, "there is no field 'messages'"),
    ("/v1/completions", {"echo": True}, "echo is True"),
    ("/v1/completions", {"max_tokens": [5]}, "max_tokens is [5]"),
]


@pytest.mark.parametrize(("path", "fields", "says"), BAD, ids=lambda value: str(value)[:40])
async def test_a_bad_body_is_refused_by_its_field(path: str, fields: dict[str, Any], says: str):
    """In the words of the format, and before a model is asked."""
    model = ScriptedChatModel(script=[])
    response = await send(openai_app({"m": model}), "POST", path, json={**PATHS[path], **fields})
    error = response.json()["error"]
    assert response.status_code == 400 and says in error["message"], error
    assert ("request_id" in response.json()) is (path == "/v1/messages") and not model.requests
    assert len(response.content) < 1_000


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"model": NaN}', b"[" * 100_000])
async def test_what_is_no_body(path: str, body: bytes):
    headers = {"content-type": "application/json"}
    response = await send(openai_app({"m": ScriptedChatModel(script=[])}), "POST", path, content=body, headers=headers)
    assert response.status_code == 400 and "body is" in response.json()["error"]["message"]


async def test_an_error_has_the_format_of_its_client():
    """Anthropic's clients name a version, also where they ask what OpenAI's ask, too."""
    app = openai_app({"m": ScriptedChatModel(script=[])}, keys="a-key-of-a-client")
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        response = await send(app, "POST", path, json=MESSAGES)
        assert (response.status_code, response.json()["type"]) == (401, "error")
        assert response.json()["error"]["type"] == "authentication_error"
        assert response.json()["request_id"] == response.headers["x-request-id"]
    response = await send(app, "GET", "/v1/models", headers={"anthropic-version": "2023-06-01"})
    assert response.json()["error"]["type"] == "authentication_error"
    assert (await send(app, "GET", "/v1/models")).json()["error"]["code"] == "invalid_api_key"


async def test_a_summary_of_odd_parts_is_no_bare_error():
    """Parts that are no texts are passed over: a client sends back what it was given, and may have changed it."""
    items = [{"type": "reasoning", "summary": [5, None, {"text": []}]}, {"role": "user", "content": "x"}]
    model = ScriptedChatModel(script=["fine"])
    response = await send(openai_app({"m": model}), "POST", "/v1/responses", json={"model": "m", "input": items})
    assert response.status_code == 200, response.text
