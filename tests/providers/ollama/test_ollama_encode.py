"""What `ChatOllama` sends: each recorded request, every option, and all kinds of content."""

from typing import Any

import pytest

from hocket import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.errors import InvalidInput, Unsupported
from hocket.messages import BaseMessage
from hocket.messages.tool_calls import tool_call
from hocket.providers.ollama import ChatOllama
from tests.kit.recordings import Recording

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOOL: Any = {
    "type": "function",
    "function": {"name": "get_weather", "description": "", "parameters": {"type": "object"}},
}
NAMES = {"num_predict": "max_tokens", "repeat_penalty": "repetition_penalty"}


def body_of(messages: Any = "hi", **options: Any) -> Any:
    """Return the body of the request for one call."""
    stream = options.pop("stream", False)
    return ChatOllama(model="qwen3", **options).render(messages, stream=stream).json


def said(message: BaseMessage) -> Any:
    """Return one message as it is sent."""
    return body_of([message])["messages"][0]


def read_message(sent: dict[str, Any], number: int) -> BaseMessage:
    """Return the message that the SDK was given, where it sent this as the message of that number."""
    match sent["role"]:
        case "system":
            return SystemMessage(sent["content"])
        case "user":
            images = [{"type": "image", "base64": data, "mime_type": "image/png"} for data in sent.get("images", ())]
            return HumanMessage([sent["content"], *images] if images else sent["content"])
        case "tool":
            return ToolMessage(sent["content"], tool_call_id=f"call_{number - 1}", name=sent["tool_name"])
        case _:
            functions = [call["function"] for call in sent.get("tool_calls", ())]
            return AIMessage(
                sent.get("content", ""),
                additional_kwargs={"thinking": sent["thinking"]} if "thinking" in sent else {},
                tool_calls=[tool_call(name=f["name"], args=f["arguments"], id=f"call_{number}") for f in functions],
            )


def without_ids(body: Any) -> Any:
    """Return a body without the ids of calls, which the SDK drops."""
    for message in body["messages"]:
        message.pop("tool_call_id", None)
        for call in message.get("tool_calls", ()):
            call.pop("id")
    return body


def test_a_request_equals_the_sdks(chat_request: Recording) -> None:
    """Field by field; the SDK alone says that there are no tools, and it drops the ids of calls, which the server knows."""
    request = chat_request["request"]
    recorded = {name: value for name, value in request["body"].items() if value != []}
    inside = {NAMES.get(name, name): value for name, value in recorded.get("options", {}).items()}
    beside = {name: recorded[name] for name in ("think", "keep_alive", "tools") if name in recorded}
    if recorded.get("format") == "json":
        beside["response_format"] = {"type": "json_object"}
    key = {"api_key": "ok-test"} if "authorization" in request["headers"] else {}
    model = ChatOllama(model=recorded["model"], **inside, **key)
    messages = [read_message(sent, number) for number, sent in enumerate(recorded["messages"])]

    rendered = model.render(messages, stream=recorded["stream"], **beside)

    assert (rendered.method, rendered.url) == ("POST", "http://127.0.0.1:11434" + request["path"])
    assert without_ids(rendered.json) == recorded
    assert ("authorization" in rendered.headers) == bool(key)


# -- options


OPTIONS: list[tuple[str, Any, Any]] = [
    ("temperature", 0.5, {"options": {"temperature": 0.5}}),
    ("temperature", 0, {"options": {"temperature": 0}}),
    ("max_tokens", 9, {"options": {"num_predict": 9}}),
    ("num_predict", 9, {"options": {"num_predict": 9}}),
    ("top_p", 0.5, {"options": {"top_p": 0.5}}),
    ("top_k", 5, {"options": {"top_k": 5}}),
    ("min_p", 0.5, {"options": {"min_p": 0.5}}),
    ("seed", 0, {"options": {"seed": 0}}),
    ("stop", ["END"], {"options": {"stop": ["END"]}}),
    ("repetition_penalty", 1.1, {"options": {"repeat_penalty": 1.1}}),
    ("repeat_penalty", 1.1, {"options": {"repeat_penalty": 1.1}}),
    ("frequency_penalty", 0.5, {"options": {"frequency_penalty": 0.5}}),
    ("presence_penalty", 0.5, {"options": {"presence_penalty": 0.5}}),
    ("num_ctx", 8192, {"options": {"num_ctx": 8192}}),
    ("num_gpu", 0, {"options": {"num_gpu": 0}}),
    ("main_gpu", 1, {"options": {"main_gpu": 1}}),
    ("num_thread", 2, {"options": {"num_thread": 2}}),
    ("num_batch", 2, {"options": {"num_batch": 2}}),
    ("use_mmap", False, {"options": {"use_mmap": False}}),
    ("num_keep", -1, {"options": {"num_keep": -1}}),
    ("repeat_last_n", -1, {"options": {"repeat_last_n": -1}}),
    ("typical_p", 0.5, {"options": {"typical_p": 0.5}}),
    ("tfs_z", 0.5, {"options": {"tfs_z": 0.5}}),
    ("mirostat", 2, {"options": {"mirostat": 2}}),
    ("mirostat_eta", 0.5, {"options": {"mirostat_eta": 0.5}}),
    ("mirostat_tau", 0.5, {"options": {"mirostat_tau": 0.5}}),
    ("keep_alive", "10m", {"keep_alive": "10m"}),
    ("keep_alive", 0, {"keep_alive": 0}),
    ("truncate", False, {"truncate": False}),
    ("shift", False, {"shift": False}),
    ("logprobs", True, {"logprobs": True}),
    ("top_logprobs", 3, {"top_logprobs": 3}),
    ("think", False, {"think": False}),
    ("think", "high", {"think": "high"}),
    ("reasoning_effort", "none", {"think": False}),
    ("reasoning_effort", "minimal", {"think": "low"}),
    ("reasoning_effort", "low", {"think": "low"}),
    ("reasoning_effort", "medium", {"think": "medium"}),
    ("reasoning_effort", "high", {"think": "high"}),
    ("response_format", {"type": "json_object"}, {"format": "json"}),
    ("response_format", {"type": "text"}, {}),
    (
        "response_format",
        {"type": "json_schema", "json_schema": {"name": "A", "schema": {"type": "object"}, "strict": True}},
        {"format": {"type": "object"}},
    ),
    ("extra_body", {"new": 1}, {"new": 1}),
    ("extra_body", {"options": {"low_vram": True}}, {"options": {"low_vram": True}}),
]


@pytest.mark.parametrize(("name", "value", "sent"), OPTIONS)
def test_an_option_goes_to_its_place(name: str, value: Any, sent: Any) -> None:
    """Under Ollama's name, inside of ``options`` or beside them; given with the model or with the call."""
    plain = {"model": "qwen3", "messages": [{"role": "user", "content": "hi"}], "stream": False}
    assert body_of(**{name: value}) == plain | sent
    assert ChatOllama(model="qwen3").render("hi", **{name: value}).json == plain | sent


def test_it_is_always_said_whether_to_stream() -> None:
    """The server streams unless it is told not to."""
    assert body_of()["stream"] is False
    assert body_of(stream=True)["stream"] is True


def test_extra_options_go_over_the_others_one_by_one() -> None:
    """``extra_body`` does not take the other options away."""
    body = body_of(temperature=0, seed=1, extra_body={"options": {"seed": 2, "numa": True}})
    assert body["options"] == {"temperature": 0, "seed": 2, "numa": True}
    with pytest.raises(InvalidInput, match="not a dict"):
        body_of(extra_body={"options": [1]})


@pytest.mark.parametrize("name", ["n", "candidate_count", "min_length", "max_length", "top_secret"])
def test_what_the_server_has_no_word_for_is_refused(name: str) -> None:
    """Before anything is sent, by name."""
    with pytest.raises((Unsupported, InvalidInput), match=name):
        ChatOllama(model="qwen3").render("hi", **{name: 2})


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("reasoning", True, "think=True"),
        ("format", "json", "response_format="),
        ("validate_model_on_init", True, "alist_models"),
        ("sync_client_kwargs", {}, "http_client="),
        ("client_kwargs", {}, "http_client="),
    ],
)
def test_langchains_names_are_answered(name: str, value: Any, hint: str) -> None:
    """With what to write instead."""
    with pytest.raises(ValueError, match=name) as caught:
        ChatOllama(model="qwen3", **{name: value})
    assert hint in str(caught.value)


def test_an_effort_that_is_none_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(InvalidInput, match="none, minimal, low, medium, high"):
        body_of(reasoning_effort="xhigh")


def test_a_form_that_cannot_be_asked_for_is_refused() -> None:
    """A grammar of another server's, for one."""
    with pytest.raises(Unsupported, match="grammar"):
        body_of(response_format={"type": "grammar"})


# -- tools


def test_tools_go_as_they_are() -> None:
    """In OpenAI's words, which are Ollama's too; no choice is sent."""
    body = ChatOllama(model="m").bind_tools([TOOL], tool_choice="auto").render("hi").json
    assert body["tools"] == [TOOL]
    assert "tool_choice" not in body


@pytest.mark.parametrize("choice", ["none", False])
def test_no_choice_offers_no_tools(choice: Any) -> None:
    """The server has no word for it."""
    assert "tools" not in ChatOllama(model="m").bind_tools([TOOL], tool_choice=choice).render("hi").json


@pytest.mark.parametrize("choice", ["any", "required", True, "get_weather", ["get_weather"]])
def test_a_call_cannot_be_demanded(choice: Any) -> None:
    """Neither when tools are bound nor with a call."""
    with pytest.raises(Unsupported):
        ChatOllama(model="m").bind_tools([TOOL], tool_choice=choice)
    with pytest.raises(Unsupported, match="decides itself"):
        ChatOllama(model="m").render("hi", tools=[TOOL], tool_choice=choice)


def test_parallel_calls_cannot_be_switched() -> None:
    """The server has no word for it."""
    with pytest.raises(Unsupported, match="parallel_tool_calls"):
        ChatOllama(model="m").bind_tools([TOOL], parallel_tool_calls=False).render("hi")


def test_a_servers_own_tool_is_refused() -> None:
    """There is none that it could run."""
    with pytest.raises(Unsupported, match="web_search"):
        ChatOllama(model="m").render("hi", tools=[{"type": "web_search"}])


# -- content


@pytest.mark.parametrize(
    "image",
    [
        {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
        {"type": "image", "url": f"data:image/png;base64,{PIXEL}"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "image_url", "image_url": f"data:image/png;base64,{PIXEL}"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        {"type": "image", "source_type": "base64", "data": PIXEL, "mime_type": "image/png"},
    ],
)
def test_an_image_is_bare_base64(image: Any) -> None:
    """Whoever's words it comes in, and without a ``data:`` prefix."""
    content: Any = [{"type": "text", "text": "What is it?"}, image]
    assert said(HumanMessage(content)) == {"role": "user", "content": "What is it?", "images": [PIXEL]}


@pytest.mark.parametrize(
    "image",
    [{"type": "image", "url": "https://e.x/a.png"}, {"type": "image_url", "image_url": {"url": "https://e.x/a"}}],
)
def test_an_image_by_url_is_refused(image: Any) -> None:
    """Nothing is downloaded; the way out is told."""
    with pytest.raises(Unsupported, match="base64, or as a data: URL"):
        said(HumanMessage([image]))


@pytest.mark.parametrize("kind", ["audio", "video", "file"])
def test_other_media_are_refused(kind: Any) -> None:
    """By their type."""
    with pytest.raises(Unsupported, match=kind):
        said(HumanMessage([{"type": kind, "base64": "AAAA", "mime_type": "application/pdf"}]))


def test_texts_are_joined() -> None:
    """A message has one, of which documents are part."""
    document = {"type": "text-plain", "text": "body", "mime_type": "text/plain", "title": "head"}
    assert said(HumanMessage(["one ", {"type": "text", "text": "two"}, document]))["content"] == "one twohead\n\nbody"


def test_own_roles_are_sent() -> None:
    """Some models know more speakers, Granite for one "control"."""
    assert said(ChatMessage("x", role="control")) == {"role": "control", "content": "x"}


def test_a_result_names_its_tool_and_its_call() -> None:
    """The name comes from the call, where the message itself has none."""
    calls = [tool_call(name="get_weather", args={"city": "Oslo"}, id="a"), tool_call(name="get_time", args={}, id="b")]
    results = [ToolMessage("1", tool_call_id="a"), ToolMessage("gone", tool_call_id="b", status="error")]
    _, reply, *sent = body_of([HumanMessage("hi"), AIMessage("", tool_calls=calls), *results])["messages"]
    assert reply == {
        "role": "assistant",
        "tool_calls": [
            {"id": "a", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}},
            {"id": "b", "function": {"name": "get_time", "arguments": {}}},
        ],
    }
    assert sent == [
        {"role": "tool", "content": "1", "tool_call_id": "a", "tool_name": "get_weather"},
        {"role": "tool", "content": "Error: gone", "tool_call_id": "b", "tool_name": "get_time"},
    ]
