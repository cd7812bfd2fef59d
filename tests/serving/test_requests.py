"""What a client asks for, as the model is asked it; and what is refused at the door."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket import ScriptedChatModel
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.serving import openai_app
from hocket.serving.gateway.chat_request import read_chat_request
from hocket.serving.refusals import Refusal
from tests.kit import Recorder, hook_model
from tests.serving.conftest import ask, question, send

TOOL = {"type": "function", "function": {"name": "add", "description": "Add.", "parameters": {"type": "object"}}}


def read(**fields: Any) -> Any:
    return read_chat_request(json.dumps(question(**fields)).encode())


async def test_the_model_is_asked_what_the_client_asks():
    """Messages, stop words and options, under hocket's names."""
    model = ScriptedChatModel(script=["Hello."])
    options = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_completion_tokens": 9, "reasoning_effort": "low"}
    response = await ask(model, stop="END", user="u-1", frequency_penalty=None, n=1, **options)
    assert response.status_code == 200
    (request,) = model.requests
    assert request.messages == [HumanMessage("hi")]
    assert request.stop == ["END"]
    expected = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "max_tokens": 9, "reasoning_effort": "low", "user": "u-1"}
    assert request.params == expected


def test_every_kind_of_message_is_read():
    """What the format does not know of one stays beside it, and reaches none of hocket's own fields."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    broken = {"id": "c2", "type": "function", "function": {"name": "add", "arguments": '{"a": '}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    given = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, image], "name": "ada"},
        {"role": "assistant", "content": None, "refusal": None, "annotations": [], "tool_calls": [call, broken]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
        {"role": "tool", "tool_call_id": "c2", "content": None},
        {"role": "assistant", "content": "Done.", "reasoning_content": "Hm.", "response_metadata": {"x": 1}, "id": "7"},
    ]
    system, developer, user, calling, result, empty, answer = read(messages=given).input
    assert system == SystemMessage("Be brief.")
    assert developer == SystemMessage("Be kind.", additional_kwargs={"__openai_role__": "developer"})
    assert (user.name, user.content[1]) == ("ada", image)
    assert (calling.content, calling.additional_kwargs) == ("", {})
    assert [(one["name"], one["args"], one["id"]) for one in calling.tool_calls] == [("add", {"a": 1}, "c1")]
    assert [one["args"] for one in calling.invalid_tool_calls] == ['{"a": ']
    assert result == ToolMessage("1", tool_call_id="c1") and empty == ToolMessage("", tool_call_id="c2")
    beside = {"reasoning_content": "Hm.", "response_metadata": {"x": 1}, "id": "7"}
    assert answer == AIMessage("Done.", additional_kwargs=beside)


async def test_tools_are_bound():
    """With the choice among them; a model that takes none says so."""
    model = ScriptedChatModel(script=["Hello."])
    choice = {"type": "function", "function": {"name": "add"}}
    response = await ask(model, tools=[TOOL], tool_choice=choice, parallel_tool_calls=False)
    assert response.status_code == 200, response.text
    assert model.requests[0].params == {"tools": [TOOL], "tool_choice": choice, "parallel_tool_calls": False}
    response = await ask(hook_model("never"), tools=[TOOL])
    assert response.status_code == 400 and "cannot be given tools" in response.json()["error"]["message"]


async def test_a_choice_of_no_tool_is_refused():
    response = await ask(ScriptedChatModel(script=[]), tools=[TOOL], tool_choice="sub")
    assert response.status_code == 400 and "'sub'" in response.json()["error"]["message"]


async def test_who_watches_is_told_the_request():
    """Its name, and the client's metadata, apart from the model's own."""
    recorder = Recorder("on_chat_model_start")
    model = ScriptedChatModel(script=["Hello."], callbacks=[recorder], metadata={"team": "a"})
    app = openai_app({"m": model})
    await send(
        app,
        "POST",
        "/v1/chat/completions",
        json=question(metadata={"team": "b"}),
        headers={"x-request-id": "req-7"},
    )
    told = recorder.only("on_chat_model_start").details["metadata"]
    assert (told["team"], told["request_id"], told["request_metadata"]) == ("a", "req-7", {"team": "b"})


BAD_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"model": None}, "model is missing"),
    ({"model": ""}, "model is ''"),
    ({"model": 5}, "model is 5"),
    ({"messages": None}, "messages is missing"),
    ({"messages": []}, "and not empty"),
    ({"messages": "hi"}, "messages is 'hi'"),
    ({"messages": {"role": "user"}}, "it is a list of messages"),
    ({"messages": ["hi"]}, r"messages\[0\] is 'hi'"),
    ({"messages": [{"content": "hi"}]}, r"messages\[0\]: its role is None"),
    ({"messages": [{"role": "remove", "content": "", "id": "1"}]}, "its role is 'remove'"),
    ({"messages": [{"role": ["user"], "content": ""}]}, r"its role is \['user'\]"),
    ({"messages": [{"role": "function", "name": "f", "content": ""}]}, "its role is 'function'"),
    ({"messages": [{"lc": 1, "type": "constructor", "id": ["hocket"], "kwargs": {}}]}, "its role is None"),
    ({"messages": [{"role": "user", "content": 5}]}, "neither a text nor a list of parts"),
    ({"messages": [{"role": "user", "content": [5]}]}, "neither a text nor a list of parts"),
    (
        {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]},
        r"messages\[0\].content\[0\].text is 5",
    ),
    ({"messages": [{"role": "user", "content": [{"type": "non_standard", "value": 5}]}]}, r"content\[0\] is {"),
    ({"messages": [{"role": "user", "content": "a", "name": {}}]}, r"messages\[0\].name"),
    ({"messages": [{"role": "tool", "content": "a"}]}, r"messages\[0\].tool_call_id"),
    ({"messages": [{"role": "user", "content": "a", "tool_calls": [{}]}]}, "of an assistant"),
    ({"messages": [{"role": "assistant", "tool_calls": "x"}]}, "its tool_calls are 'x'"),
    ({"messages": [{"role": "assistant", "tool_calls": [{"function": "x"}]}]}, r"messages\[0\]"),
    ({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": 5}}]}]}, r"messages\[0\]"),
    ({"n": 2}, "n is 2"),
    ({"n": 0}, "n is 0"),
    ({"n": True}, "n is True"),
    ({"n": "1"}, "n is '1'"),
    ({"stream": "yes"}, "stream is 'yes'"),
    ({"stream_options": []}, r"stream_options is \[\]"),
    ({"stream_options": {"include_usage": 1}}, "include_usage is 1"),
    ({"stop": 5}, "stop is 5"),
    ({"max_tokens": "x"}, "max_tokens is 'x'"),
    ({"max_completion_tokens": 1.5}, "max_completion_tokens is 1.5"),
    ({"response_format": 5}, "response_format is 5"),
    ({"response_format": {"type": "xml"}}, "response_format is"),
    ({"response_format": {"type": "json_schema", "json_schema": 5}}, "json_schema with a schema"),
    ({"stop": ["a", 5]}, "stop is"),
    ({"metadata": "x"}, "metadata is 'x'"),
    ({"tools": {}}, "tools is {}"),
    ({"tools": [5]}, r"tools\[0\] is 5"),
    ({"tools": [{"type": ["custom"]}]}, r"tools\[0\] is"),
    ({"tools": [{"type": "function", "function": {}}]}, r"tools\[0\]"),
    ({"tool_choice": "required"}, "given with tools"),
    ({"tools": [TOOL], "parallel_tool_calls": 1}, "parallel_tool_calls is 1"),
    ({"functions": []}, "use tools"),
    ({"function_call": "auto"}, "use tool_choice"),
    *(
        ({name: 1}, f"there is no field '{name}'")
        for name in ("retry", "timeout", "unsupported", "config", "input", "run_manager", "callbacks", "run_id", "tags")
    ),
    *(({name: {}}, f"there is no field '{name}'") for name in ("extra_body", "extra_headers", "base_url", "api_key")),
]


@pytest.mark.parametrize(("fields", "says"), BAD_FIELDS, ids=lambda value: str(value)[:40])
def test_what_no_model_could_use_is_refused(fields: dict[str, Any], says: str):
    """By the name of the field, with 400."""
    with pytest.raises(Refusal) as refusal:
        read(**fields)
    assert refusal.value.status == 400

    assert re.search(says, refusal.value.message), refusal.value.message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hi",
        b'{"model": "m"',
        b"[]",
        b"null",
        b'"m"',
        b'{"model": "\xff"}',
        b'{"model": "\\ud800"}',
        b'{"temperature": NaN}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"seed": ' + b"9" * 100_000 + b"}",
        b"\xef\xbb\xbf{}",
        '{"model": "m"}'.encode("utf-16"),
    ],
    ids=lambda data: repr(data[:20]),
)
def test_what_is_no_json_object_is_refused(data: bytes):
    with pytest.raises(Refusal) as refusal:
        read_chat_request(data)
    assert refusal.value.status == 400 and len(refusal.value.message) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda one: st.lists(one, max_size=4) | st.dictionaries(st.text(max_size=8), one, max_size=4),
    max_leaves=8,
)
NAMES = (
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "type",
    "id",
    "audio",
    "additional_kwargs",
)
PARTS = st.dictionaries(st.sampled_from(["type", "text", "image_url", "url", "file", "source"]), JSON, max_size=3)
ODD_MESSAGE = st.dictionaries(st.sampled_from(NAMES), JSON | st.lists(PARTS, max_size=2), max_size=5)
MESSAGE = st.builds(
    lambda odd, role: {**odd, "role": role}, ODD_MESSAGE, st.sampled_from(["user", "assistant", "tool"])
)


@given(
    st.binary()
    | st.lists(ODD_MESSAGE | MESSAGE, min_size=1).map(lambda some: json.dumps(question(messages=some)).encode())
)
def test_any_body_is_read_or_refused(data: bytes):
    """And raises nothing else."""
    try:
        read_chat_request(data)
    except Refusal as refusal:
        assert refusal.status == 400 and refusal.body()


async def test_what_the_model_refuses_is_the_clients_fault():
    """An option that it does not know, for one."""

    def refuse(_: object) -> object:
        raise InvalidInput("there is no option 'sed'; did you mean 'seed'?")

    response = await ask(hook_model(refuse), sed=5)
    assert response.status_code == 400
    assert response.json() == {
        "error": {
            "message": "there is no option 'sed'; did you mean 'seed'?",
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        }
    }


async def test_a_large_request_is_read_in_a_thread():
    """And like any other."""
    model = ScriptedChatModel(script=["Hello."])
    assert (await ask(model, text="x" * 200_000)).status_code == 200
    assert len(model.requests[0].messages[0].text) == 200_000


async def test_the_body_has_to_be_json_by_its_type():
    """A page on the web cannot send that without being asked for permission."""
    app = openai_app({"m": ScriptedChatModel(script=["Hello."])})
    content = json.dumps(question())
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        response = await send(app, "POST", "/v1/chat/completions", content=content, headers={"content-type": kind})
        assert response.status_code == 415 and "Content-Type" in response.text
    response = await send(
        app,
        "POST",
        "/v1/chat/completions",
        content=content,
        headers={"content-type": "Application/JSON; charset=utf-8"},
    )
    assert response.status_code == 200
