"""What goes out is what the official SDK sends, and what has no place in the format does not go out at all."""

import json
from typing import Any

import pytest

from hocket.errors import InvalidInput, Unsupported
from hocket.language_models.tool_choice import get_tool_name
from hocket.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    create_audio_block,
    create_file_block,
    create_image_block,
    create_plaintext_block,
    create_text_block,
    create_video_block,
)
from hocket.providers.openai import ChatOpenAI
from hocket.providers.openai.dialects import DIALECTS, Dialect
from hocket.providers.openai.encode import encode_messages
from tests.kit.recordings import load_recordings

RECORDINGS = load_recordings("openai_chat", "openai_compat")
OPENAI, DEEPSEEK, OPENROUTER, VLLM = (DIALECTS[name] for name in ("openai", "deepseek", "openrouter", "vllm"))
LIGHTS = {"type": "function", "function": {"name": "lights", "parameters": {"type": "object", "properties": {}}}}
CALL = {"name": "lights", "args": {"on": True}, "id": "c1", "type": "tool_call"}
SENT_CALL = {"id": "c1", "type": "function", "function": {"name": "lights", "arguments": '{"on":true}'}}


def body(stream: bool = False, **options: Any) -> dict[str, Any]:
    model = ChatOpenAI(**{"model": "m", "api_key": "sk-test", **options.pop("fields", {})})
    sent: dict[str, Any] = model.render("x", stream=stream, **options).json
    return sent


def encoded(message: BaseMessage, dialect: Dialect = OPENAI) -> dict[str, Any]:
    return encode_messages([message], dialect)[0]


def test_requests_equal_the_official_sdks(chat_request: dict[str, Any]) -> None:
    """Given the same conversation and options, the body is the same, to the last field."""
    expected = dict(chat_request["request"]["body"])
    expected.pop("stream") if expected.get("stream") is False else None
    options = {name: value for name, value in expected.items() if name not in ("messages", "stream", "stream_options")}
    dialect = "deepseek" if any("reasoning_content" in one for one in expected["messages"]) else None

    model = ChatOpenAI(model=options.pop("model"), api_key="sk-test", dialect=dialect)
    request = model.render(expected["messages"], stream="stream" in expected, **options)

    assert request.json == expected
    assert request.url.endswith("/chat/completions")


def test_a_prompt_of_standard_blocks_equals_the_official_sdks() -> None:
    """The same picture, recording and file as standard blocks go out as the parts that the format has for them."""
    expected = RECORDINGS["openai_chat/multimodal_parts"]["request"]["body"]["messages"]
    blocks = [
        create_text_block("q"),
        create_image_block(url="https://e.x/i.png"),
        create_audio_block(base64="UklG", mime_type="audio/wav"),
        create_file_block(base64="JVBERg==", mime_type="application/pdf", filename="a.pdf"),
        create_file_block(file_id="file-1"),
    ]
    system = create_text_block("sys", prompt_cache_breakpoint={"mode": "explicit"})

    assert encode_messages(
        [
            SystemMessage([dict(system)], additional_kwargs={"__openai_role__": "developer"}),
            HumanMessage(content_blocks=blocks),  # type: ignore[arg-type]
        ],
        OPENAI,
    ) == [{"role": "developer", "content": expected[0]["content"]}, expected[1]]


MESSAGES: list[tuple[BaseMessage, dict[str, Any]]] = [
    (SystemMessage("s"), {"role": "system", "content": "s"}),
    (SystemMessage(["s", {"type": "text", "text": "t"}]), {"role": "system", "content": "st"}),
    (HumanMessage("h", name="ann"), {"role": "user", "content": "h", "name": "ann"}),
    (HumanMessage(["h"]), {"role": "user", "content": [{"type": "text", "text": "h"}]}),
    (ChatMessage("c", role="critic"), {"role": "critic", "content": "c"}),
    (ToolMessage("t", tool_call_id="c1", name="lights"), {"role": "tool", "content": "t", "tool_call_id": "c1"}),
    (
        ToolMessage("no bulb", tool_call_id="c1", status="error", artifact=object()),
        {"role": "tool", "content": "Error: no bulb", "tool_call_id": "c1"},
    ),
    (
        ToolMessage("Error: no bulb", tool_call_id="c1", status="error"),
        {"role": "tool", "content": "Error: no bulb", "tool_call_id": "c1"},
    ),
    (AIMessage("a", id="chatcmpl-1", response_metadata={"x": 1}), {"role": "assistant", "content": "a"}),
    (AIMessage(""), {"role": "assistant", "content": ""}),
    (AIMessage("", tool_calls=[CALL]), {"role": "assistant", "content": None, "tool_calls": [SENT_CALL]}),
    (AIMessage("a", tool_calls=[CALL]), {"role": "assistant", "content": "a", "tool_calls": [SENT_CALL]}),
    (
        AIMessage([{"type": "text", "text": "a"}, {"type": "tool_use", "id": "c1", "name": "lights", "input": {}}]),
        {
            "role": "assistant",
            "content": "a",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lights", "arguments": "{}"}}],
        },
    ),
    (
        AIMessage("", additional_kwargs={"refusal": "no"}),
        {"role": "assistant", "content": None, "refusal": "no"},
    ),
    (
        AIMessage("", additional_kwargs={"audio": {"id": "audio_1", "data": "UklG"}}),
        {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
    ),
    (
        AIMessage("", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    ),
    (
        AIMessage("", invalid_tool_calls=[{"name": "lights", "args": '{"on":', "id": "c1", "error": "cut"}]),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lights", "arguments": '{"on":'}}],
        },
    ),
    (
        AIMessage(
            "", tool_calls=[{**CALL, "extras": {"extra_content": {"google": {"thought_signature": "s"}}, "a": 1}}]
        ),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**SENT_CALL, "extra_content": {"google": {"thought_signature": "s"}}}],
        },
    ),
]


@pytest.mark.parametrize(("message", "expected"), MESSAGES, ids=lambda case: getattr(case, "type", ""))
def test_a_message(message: BaseMessage, expected: dict[str, Any]) -> None:
    """Each class has its role, and what the format has no field for stays here."""
    assert encoded(message) == expected


PARTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "text", "text": "t", "id": "b1", "index": 0, "annotations": []}, {"type": "text", "text": "t"}),
    (
        {"type": "image", "url": "https://e.x/i.png", "extras": {"detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://e.x/i.png", "detail": "low"}},
    ),
    (
        {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ),
    (  # Anthropic's
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ),
    ({"type": "input_text", "text": "t"}, {"type": "text", "text": "t"}),  # the Responses API's
    (
        {"type": "audio", "base64": "AAAA", "mime_type": "audio/mpeg"},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
    ),
    (
        {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "file.pdf"}},
    ),
    (dict(create_plaintext_block("t", title="T", id="b")), {"type": "text", "text": "T\n\nt"}),
    ({"type": "non_standard", "value": {"type": "new", "new": 1}}, {"type": "new", "new": 1}),
    ({"type": "video_url", "video_url": {"url": "u"}}, {"type": "video_url", "video_url": {"url": "u"}}),
]


@pytest.mark.parametrize(("part", "expected"), PARTS, ids=lambda part: part["type"])
def test_a_part(part: dict[str, Any], expected: dict[str, Any]) -> None:
    """The format's own parts pass; standard blocks, and what can be read as one, are rewritten."""
    assert encoded(HumanMessage([part]))["content"] == [expected]


def test_parts_follow_the_dialect() -> None:
    """Where a server takes videos they go out, and recordings as URLs where it wants them so."""
    video, audio = create_video_block(url="u"), create_audio_block(base64="AAAA", mime_type="audio/wav")
    message = HumanMessage([dict(video), dict(audio)])
    assert encoded(message, DIALECTS["alibaba"])["content"] == [
        {"type": "video_url", "video_url": {"url": "u"}},
        {"type": "input_audio", "input_audio": {"data": "data:audio/wav;base64,AAAA", "format": "wav"}},
    ]


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (HumanMessage([dict(create_video_block(url="u"))]), "'video'"),
        (HumanMessage([{"type": "hologram", "data": "x"}]), "'hologram'"),
        (HumanMessage([{"data": "x"}]), "'None'"),
        (HumanMessage([dict(create_file_block(url="https://e.x/a.pdf"))]), "'file' by url.*base64 data or its file_id"),
        (HumanMessage([dict(create_image_block(file_id="f"))]), "'image' by file_id.*url or its base64"),
        (HumanMessage([dict(create_audio_block(url="https://e.x/a.mp3"))]), "'audio' by url.*base64"),
        (ToolMessage([dict(create_image_block(url="u"))], tool_call_id="c1"), "'image_url'"),
        (AIMessage([{"type": "server_tool_call", "id": "1", "name": "search", "args": {}}]), "'server_tool_call'"),
    ],
)
def test_what_has_no_place_is_refused(message: BaseMessage, named: str) -> None:
    """Before anything is sent, by name, and never left out."""
    with pytest.raises(Unsupported, match=named):
        encoded(message)


def test_data_must_be_told_apart() -> None:
    """Base64 without a type, a text part without text, and a result of no call cannot be meant."""
    with pytest.raises(InvalidInput, match="mime_type"):
        encoded(HumanMessage([{"type": "image", "base64": "AAAA"}]))
    with pytest.raises(InvalidInput, match="url, base64 or file_id"):
        encoded(HumanMessage([{"type": "image"}]))
    with pytest.raises(InvalidInput, match="instead of a text"):
        encoded(HumanMessage([{"type": "text", "text": None}]))
    with pytest.raises(InvalidInput, match="extras"):
        encoded(HumanMessage([{"type": "image", "url": "u", "extras": "x"}]))
    with pytest.raises(InvalidInput, match="tool_call_id"):
        encoded(ToolMessage("x", tool_call_id=""))


@pytest.mark.parametrize(
    ("dialect", "kwargs", "echo"),
    [
        (OPENAI, {"reasoning_content": "hm"}, {}),
        (DEEPSEEK, {"reasoning_content": "hm"}, {"reasoning_content": "hm"}),
        (DEEPSEEK, {"reasoning": "hm"}, {"reasoning_content": "hm"}),
        (DEEPSEEK, {}, {"reasoning_content": ""}),
        (OPENROUTER, {"reasoning": "hm", "reasoning_details": [{"id": 1}]}, {"reasoning_details": [{"id": 1}]}),
        (OPENROUTER, {"reasoning": "hm"}, {}),
        (VLLM, {"reasoning": "hm"}, {}),
        (Dialect(name="own", echo=("reasoning_content", "reasoning")), {"reasoning": "hm"}, {"reasoning": "hm"}),
    ],
)
def test_reasoning_is_echoed_where_a_server_wants_it(
    dialect: Dialect, kwargs: dict[str, Any], echo: dict[str, Any]
) -> None:
    """With a message that calls tools, and under the server's own name; without calls nobody wants it."""
    calling = encoded(AIMessage("", tool_calls=[CALL], additional_kwargs=kwargs), dialect)
    assert calling == {"role": "assistant", "content": None, "tool_calls": [SENT_CALL], **echo}
    assert encoded(AIMessage("x", additional_kwargs=kwargs), dialect) == {"role": "assistant", "content": "x"}


def test_unset_is_not_sent_and_zero_is() -> None:
    """0 is a value like any other, a call's None takes back what the model says."""
    assert body() == {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    sent = body(fields={"temperature": 0, "seed": 0, "top_p": 0.5, "frequency_penalty": 0.5, "presence_penalty": 0})
    numbers = {name: sent[name] for name in ("temperature", "seed", "top_p", "frequency_penalty", "presence_penalty")}
    assert numbers == {"temperature": 0, "seed": 0, "top_p": 0.5, "frequency_penalty": 0.5, "presence_penalty": 0}
    assert "temperature" not in body(fields={"temperature": 0}, temperature=None)


@pytest.mark.parametrize(
    ("dialect", "name"), [("openai", "max_completion_tokens"), ("vllm", "max_tokens"), ("deepseek", "max_tokens")]
)
def test_max_tokens_has_one_name(dialect: str, name: str) -> None:
    """The one that the server knows, and never both."""
    sent = body(fields={"dialect": dialect, "max_tokens": 9})
    assert {key: value for key, value in sent.items() if key.startswith("max_")} == {name: 9}


def test_later_beats_earlier() -> None:
    """The call's word goes over the binding's, and that over the model's; a further body is merged key by key."""
    model = ChatOpenAI(model="m", api_key="sk-test", temperature=0.1, stop="a", extra_body={"top_k": 1, "min_p": 0})
    bound = model.bind(temperature=0.2, seed=7, extra_body={"top_k": 2})
    sent = model.render("x", **{**bound.kwargs, "temperature": 0.3}).json  # type: ignore[attr-defined]
    assert (sent["temperature"], sent["seed"], sent["stop"]) == (0.3, 7, ["a"])
    assert (sent["top_k"], sent["min_p"]) == (2, 0)
    assert model.render("x", stop=["b"], model="n").json | {"messages": []} == {
        "model": "n", "messages": [], "temperature": 0.1, "stop": ["b"], "top_k": 1, "min_p": 0,
    }  # fmt: skip
    assert model.extra_body == {"top_k": 1, "min_p": 0} and model.model == "m"


def test_unknown_options_are_refused() -> None:
    """The message names the known ones and the way around them; a value outside its limits is named, too."""
    with pytest.raises(InvalidInput, match=r"no option 'topk'; did you mean 'top_k'\?; .* extra_body"):
        body(topk=3)
    with pytest.raises(InvalidInput, match=r"no option 'xyz'; known are: .*temperature.* extra_body"):
        body(xyz=3)
    with pytest.raises(InvalidInput, match=r"no option 'metadata'; write extra_body=\{'metadata': ...\}"):
        body(metadata={"a": "b"})
    with pytest.raises(InvalidInput, match=r"no option 'json_mode'; write response_format=\{'type': 'json_object'\}"):
        body(json_mode=True)
    assert body(max_completion_tokens=7)["max_completion_tokens"] == body(max_tokens=7)["max_completion_tokens"] == 7
    assert body(stop_sequences=["x"], fields={"stop": "y"})["stop"] == ["x"]
    with pytest.raises(InvalidInput, match="max_tokens=0"):
        body(max_tokens=0)
    with pytest.raises(Unsupported, match="groq takes no logit_bias"):
        body(fields={"dialect": "groq"}, logit_bias={"1": 2})
    assert body(extra_body={"metadata": {"a": "b"}})["metadata"] == {"a": "b"}


def test_streams_ask_for_usage_where_they_may() -> None:
    """By default everywhere but with servers known to refuse it, and never when told not to."""
    assert body(stream=True)["stream_options"] == {"include_usage": True}
    assert body(stream=True)["stream"] is True
    assert "stream_options" not in body(stream=True, fields={"stream_usage": False})
    assert "stream_options" not in body(stream=True, fields={"dialect": Dialect(name="x", stream_usage=False)} | URL)
    assert "stream" not in body()


URL = {"base_url": "http://localhost:1/v1"}


def test_several_answers_are_no_stream() -> None:
    """A stream is one message."""
    assert body(n=3)["n"] == 3
    with pytest.raises(InvalidInput, match="n=3 answers"):
        body(stream=True, n=3)


def test_text_that_is_none_is_refused() -> None:
    """An object cannot be written as JSON: said at the door."""
    model = ChatOpenAI(model="m", api_key="sk-test")
    with pytest.raises(InvalidInput, match="JSON"):
        model.render("x", extra_body={"a": object()})


def test_deprecated_functions_become_tools() -> None:
    """They still mean what they meant, with a warning; the result of such a call is written as it was."""
    with pytest.warns(DeprecationWarning, match="use ToolMessage"):
        result = FunctionMessage("1", name="f")
    assert encoded(result) == {"role": "function", "content": "1", "name": "f"}
    function = {"name": "f", "parameters": {"type": "object", "properties": {}}}
    for choice, expected in [("auto", "auto"), ("none", "none"), ({"name": "f"}, one("f"))]:
        with pytest.warns(DeprecationWarning, match="use tools"):
            sent = body(functions=[function], function_call=choice)
        assert sent == body(tools=[{"type": "function", "function": function}], tool_choice=expected)
        assert "functions" not in sent and "function_call" not in sent


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([{"type": "foo"}], "'foo' is unknown"),
        ([{"type": "function", "function": {"name": "a b"}}], "'a b' will not do"),
        ([{"type": "function"}], "no tool"),
        ({"type": "function", "function": {"name": "f"}}, "list of tools"),
        ([LIGHTS, LIGHTS], "two tools"),
    ],
)
def test_tools_of_a_call_are_checked(tools: Any, message: str) -> None:
    """As `bind_tools` checks them: before anything is sent."""
    with pytest.raises(InvalidInput, match=message):
        body(tools=tools)


def one(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


SEARCH = {"type": "custom", "custom": {"name": "search"}}
WEB = {"type": "web_search"}
REF = {"type": "function", "function": {"name": "lights"}}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", "auto"),
        ("none", "none"),
        (False, "none"),
        ("required", "required"),
        ("any", "required"),
        (True, "required"),
        ("lights", REF),
        ("search", {"type": "custom", "custom": {"name": "search"}}),
        ("web_search", {"type": "web_search"}),
        (
            ["lights", "search"],
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [REF, SEARCH]}},
        ),
        (REF, REF),
    ],
    ids=str,
)
def test_tool_choices(choice: Any, expected: Any) -> None:
    """Every way of saying it becomes the format's."""
    assert body(tools=[LIGHTS, SEARCH, WEB], tool_choice=choice)["tool_choice"] == expected


@pytest.mark.parametrize(
    ("dialect", "choice", "names"),
    [
        ("llamacpp", "lights", ["lights"]),
        ("llamacpp", ["lights"], ["lights"]),
        ("vllm", ["search", "lights"], ["search", "lights"]),
    ],
    ids=str,
)
def test_a_server_that_does_not_heed_names_is_offered_the_named(dialect: str, choice: Any, names: list[str]) -> None:
    """And has to call one of them: the same to the model, in words that the server knows."""
    sent = body(fields={"dialect": dialect}, tools=[LIGHTS, SEARCH], tool_choice=choice)
    assert ([get_tool_name(tool) for tool in sent["tools"]], sent["tool_choice"]) == (names, "required")
    for said in (REF, {"type": "tool", "name": "lights"}):  # a dict means what the name does
        given = body(fields={"dialect": dialect}, tools=[LIGHTS, SEARCH], tool_choice=said)
        assert given == body(fields={"dialect": dialect}, tools=[LIGHTS, SEARCH], tool_choice="lights")


def test_a_choice_must_be_possible() -> None:
    """A name that no tool has, or a call where there are no tools, is said at the door."""
    with pytest.raises(InvalidInput, match=r"'lamps' .* tools: 'lights'"):
        body(tools=[LIGHTS], tool_choice="lamps")
    with pytest.raises(InvalidInput, match="tools: none"):
        body(tool_choice="required")
    sent = body(tools=[], tool_choice="auto")
    assert "tools" not in sent and "tool_choice" not in sent


def test_bind_tools_passes_what_the_format_has() -> None:
    """Tools, choice, strictness and parallel calls travel with the binding; the caller's dicts stay as they are."""
    model = ChatOpenAI(model="m", api_key="sk-test")
    bound = model.bind_tools([LIGHTS, SEARCH], tool_choice="any", strict=True, parallel_tool_calls=False)
    sent = model.render("x", **bound.kwargs).json
    parameters = {**LIGHTS["function"]["parameters"], "required": [], "additionalProperties": False}  # type: ignore[dict-item]
    strict = {**LIGHTS["function"], "parameters": parameters, "strict": True}  # type: ignore[dict-item]
    assert sent["tools"] == [{**LIGHTS, "function": strict}, SEARCH]
    assert (sent["tool_choice"], sent["parallel_tool_calls"]) == ("required", False)
    assert "strict" not in json.dumps(LIGHTS)
    with pytest.raises(InvalidInput, match="is no tool"):
        model.bind_tools([5])
