"""What goes out is what the official SDK sends; what the server would refuse does not go out."""

from typing import Any

import pytest

from hocket.errors import InvalidHistory, InvalidInput, Unsupported
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
)
from hocket.providers.openai import ChatOpenAI

LIGHTS = {"type": "function", "function": {"name": "lights", "parameters": {"type": "object", "properties": {}}}}
SEARCH = {"type": "web_search", "filters": {"allowed_domains": ["e.x"]}}
GRAMMAR = {"syntax": "regex", "definition": "a+"}
RAW = {"type": "custom", "custom": {"name": "raw", "format": {"type": "grammar", "grammar": GRAMMAR}}}

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA=="}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "Paris.", "annotations": [], "logprobs": []}],
}
CALLED = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "lights",
    "arguments": '{"on": true}',
    "status": "completed",
}
SEARCHED = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
CALL: Any = {"name": "lights", "args": {"on": True}, "id": "c1", "type": "tool_call"}
RESULT = ToolMessage("done", tool_call_id="c1")
SENT_RESULT = {"type": "function_call_output", "call_id": "c1", "output": "done"}


def make_model(**fields: Any) -> ChatOpenAI:
    return ChatOpenAI(**{"model": "gpt-5.2", "api_key": "sk-test", "use_responses_api": True, **fields})


def body(messages: Any = "x", *, stream: bool = False, fields: Any = None, **options: Any) -> dict[str, Any]:
    sent: dict[str, Any] = make_model(**(fields or {})).render(messages, stream=stream, **options).json
    return sent


def sent_input(*messages: BaseMessage, **options: Any) -> Any:
    return body(list(messages), **options)["input"]


def reply(*items: Any, **facts: Any) -> AIMessage:
    """Return a reply that the API has written."""
    calls = [CALL] if CALLED in items else []
    metadata = {"model_provider": "openai", **facts}
    return AIMessage(list(items), tool_calls=calls, response_metadata=metadata)


def read_messages(recorded: dict[str, Any]) -> list[BaseMessage]:
    """Return the conversation of a recorded request as messages, one for each item."""
    messages: list[BaseMessage] = [SystemMessage(recorded["instructions"])] if "instructions" in recorded else []
    if isinstance(recorded["input"], str):
        return [*messages, HumanMessage(recorded["input"])]
    for item in recorded["input"]:
        if item.get("role") == "user":
            messages.append(HumanMessage(item["content"]))
        elif item["type"] == "function_call_output":
            messages.append(ToolMessage(item["output"], tool_call_id=item["call_id"]))
        elif isinstance(messages[-1], AIMessage):
            messages[-1].content.append(item)  # type: ignore[union-attr]
        else:
            messages.append(reply(item))
    return messages


# -- requests


def test_requests_equal_the_official_sdks(chat_request: dict[str, Any]) -> None:
    """Given the same conversation and options, the body is the same, to the last field."""
    expected = dict(chat_request["request"]["body"])
    options = {
        name: value for name, value in expected.items() if name not in ("input", "instructions", "stream", "tools")
    }
    options["tools"] = [
        {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}
        for tool in expected.get("tools", ())
    ]
    chosen = options.get("tool_choice")
    if isinstance(chosen, dict):  # the recording chooses a tool that it does not offer, which is refused here
        options["tools"].append({"type": chosen["type"]})
        expected["tools"] = [*expected["tools"], {"type": chosen["type"]}]

    request = make_model(model=options.pop("model"), profile={}).render(
        read_messages(expected), stream="stream" in expected, **options
    )

    assert request.json == expected
    assert request.url == "https://api.openai.com/v1/responses"


OPTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"max_tokens": 9}, {"max_output_tokens": 9}),
    ({"max_completion_tokens": 9}, {"max_output_tokens": 9}),
    ({"temperature": 0, "top_p": 0.5}, {"temperature": 0, "top_p": 0.5}),
    ({"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}),
    (
        {"reasoning_effort": "low", "reasoning": {"summary": "auto"}},
        {"reasoning": {"effort": "low", "summary": "auto"}},
    ),
    ({"verbosity": "low"}, {"text": {"verbosity": "low"}}),
    (
        {"response_format": {"type": "json_object"}, "text": {"verbosity": "low"}},
        {"text": {"format": {"type": "json_object"}, "verbosity": "low"}},
    ),
    (
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True},
            }
        },
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}}},
    ),
    ({"store": True}, {"store": True}),
    ({"store": False}, {"store": False, "include": ["reasoning.encrypted_content"]}),
    ({"store": False, "model": "gpt-4o"}, {"store": False, "model": "gpt-4o"}),
    ({"store": False, "include": ["x"]}, {"store": False, "include": ["x", "reasoning.encrypted_content"]}),
    ({"logprobs": True}, {"include": ["message.output_text.logprobs"]}),
    ({"top_logprobs": 2}, {"top_logprobs": 2, "include": ["message.output_text.logprobs"]}),
    ({"previous_response_id": "resp_9"}, {"previous_response_id": "resp_9"}),
    ({"use_previous_response_id": True}, {}),
    ({"conversation": "conv_1"}, {"conversation": "conv_1"}),
    ({"parallel_tool_calls": False}, {"parallel_tool_calls": False}),
    ({"extra_body": {"metadata": {"a": "b"}}}, {"metadata": {"a": "b"}}),
    *(
        ({name: value}, {name: value})
        for name, value in {
            "truncation": "auto",
            "max_tool_calls": 3,
            "context_management": [{"type": "compaction", "compact_threshold": 1000}],
            "prompt_cache_key": "k",
            "prompt_cache_retention": "24h",
            "prompt_cache_options": {"mode": "explicit"},
            "safety_identifier": "s",
            "service_tier": "flex",
            "user": "u",
        }.items()
    ),
]


@pytest.mark.parametrize(("options", "expected"), OPTIONS)
def test_options(options: dict[str, Any], expected: dict[str, Any]) -> None:
    """Each option in the API's word, from the model as from the call, and nothing that was not said."""
    assert body(**options) == {"model": "gpt-5.2", "input": "x", **expected}
    assert body(fields=options) == {"model": "gpt-5.2", "input": "x", **expected}


def test_a_stream_is_asked_for_in_the_body() -> None:
    """Usage comes without being asked for."""
    assert body(stream=True) == {"model": "gpt-5.2", "input": "x", "stream": True}


@pytest.mark.parametrize(
    "options",
    [
        {"stop": ["a"]},
        {"seed": 1},
        {"n": 2},
        {"frequency_penalty": 1},
        {"presence_penalty": 1},
        {"logit_bias": {"1": 1}},
        {"top_k": 1},
        {"min_p": 0.1},
        {"modalities": ["audio"]},
        {"audio": {"voice": "alloy"}},
        {"prediction": {"type": "content"}},
        {"web_search_options": {}},
    ],
)
def test_options_that_the_api_lacks_are_refused(options: dict[str, Any]) -> None:
    """Before anything is sent, whether they are the model's or the call's; or they are left out, if that is wished."""
    with pytest.raises(Unsupported, match=next(iter(options))):
        body(fields=options)
    with pytest.raises(Unsupported, match=next(iter(options))):
        body(**options)
    assert body(**options, unsupported="drop") == {"model": "gpt-5.2", "input": "x"}


@pytest.mark.parametrize(
    "options",
    [{"reasoning": {"effort": "low"}}, {"truncation": "auto"}, {"previous_response_id": "r"}, {"include": ["x"]}],
)
def test_options_of_this_api_are_refused_by_the_other(options: dict[str, Any]) -> None:
    """Chat completions have no word for them."""
    with pytest.raises(Unsupported, match=next(iter(options))):
        body(fields={**options, "use_responses_api": False})
    with pytest.raises(Unsupported, match=next(iter(options))):
        body(fields={"use_responses_api": False}, **options)


def test_background_is_refused() -> None:
    """Nobody would look again for the answer; so it is said, as an option and in the body."""
    with pytest.raises(InvalidInput, match=r"background.*a call waits for its answer"):
        body(background=True)
    with pytest.raises(Unsupported, match="background=True is not supported"):
        body(extra_body={"background": True})


def test_the_api_is_chosen_when_the_model_is_made() -> None:
    """A call cannot change it, and is told so."""
    with pytest.raises(InvalidInput, match="when the model is made"):
        body(use_responses_api=False)


# -- messages

MESSAGES: list[tuple[BaseMessage, Any]] = [
    (HumanMessage([{"type": "text", "text": "q"}]), {"role": "user", "content": [{"type": "input_text", "text": "q"}]}),
    (
        HumanMessage([{"type": "image_url", "image_url": {"url": "https://e.x/i.png", "detail": "low"}}]),
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://e.x/i.png", "detail": "low"}]},
    ),
    (
        HumanMessage([dict(create_image_block(base64="iVBOR", mime_type="image/png"))]),
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,iVBOR"}]},
    ),
    (
        HumanMessage([dict(create_image_block(file_id="f1"))]),
        {"role": "user", "content": [{"type": "input_image", "file_id": "f1"}]},
    ),
    (
        HumanMessage([dict(create_file_block(base64="JVBERg==", mime_type="application/pdf"))]),
        {
            "role": "user",
            "content": [
                {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERg==", "filename": "file.pdf"}
            ],
        },
    ),
    (
        HumanMessage([dict(create_file_block(url="https://e.x/a.pdf"))]),
        {"role": "user", "content": [{"type": "input_file", "file_url": "https://e.x/a.pdf"}]},
    ),
    (
        HumanMessage(
            [{"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERg==", "filename": "a.pdf"}}]
        ),
        {
            "role": "user",
            "content": [
                {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERg==", "filename": "a.pdf"}
            ],
        },
    ),
    (
        HumanMessage([dict(create_plaintext_block("a page"))]),
        {"role": "user", "content": [{"type": "input_text", "text": "a page"}]},
    ),
    (
        HumanMessage([{"type": "input_text", "text": "q", "prompt_cache_breakpoint": {"mode": "explicit"}}]),
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "q", "prompt_cache_breakpoint": {"mode": "explicit"}}],
        },
    ),
    (ChatMessage("be brief", role="developer"), {"role": "developer", "content": "be brief"}),
    (
        SystemMessage("be brief", additional_kwargs={"__openai_role__": "developer"}),
        {"role": "developer", "content": "be brief"},
    ),
    (SystemMessage("be brief"), {"role": "system", "content": "be brief"}),
    (
        AIMessage("Paris."),
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Paris.", "annotations": []}],
        },
    ),
    (
        AIMessage("", additional_kwargs={"refusal": "No."}, response_metadata={"model_provider": "openai"}),
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ),
    (
        AIMessage([{"type": "refusal", "refusal": "No."}], response_metadata={"model_provider": "openai"}),
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ),
]


@pytest.mark.parametrize(("message", "expected"), MESSAGES)
def test_messages(message: BaseMessage, expected: dict[str, Any]) -> None:
    """Each role and each kind of content that the API takes, of whatever format it was."""
    assert sent_input(HumanMessage("x"), message) == [{"role": "user", "content": "x"}, expected]


def test_an_approval_is_an_item_of_its_own() -> None:
    """What answers the server stands beside the user's message, as does whatever else is no part of one."""
    approval = {"type": "mcp_approval_response", "approve": True, "approval_request_id": "mcpr_1"}
    screenshot = {"type": "computer_call_output", "call_id": "c9", "output": {"type": "computer_screenshot"}}

    assert sent_input(HumanMessage([approval, screenshot])) == [approval, screenshot]
    assert sent_input(HumanMessage([approval, {"type": "text", "text": "Go on."}])) == [
        approval,
        {"role": "user", "content": [{"type": "input_text", "text": "Go on."}]},
    ]


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage([dict(create_audio_block(base64="UklG", mime_type="audio/wav"))]),
        HumanMessage([{"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}]),
        HumanMessage([{"type": "video", "url": "https://e.x/v.mp4"}]),
    ],
)
def test_content_that_the_api_lacks_is_refused(message: BaseMessage) -> None:
    """Recordings and films have no place."""
    with pytest.raises(Unsupported):
        body([message])


def test_messages_without_a_place_are_refused() -> None:
    """The error names the way out."""
    with pytest.warns(DeprecationWarning):
        unnamed = FunctionMessage("x", name="f")
    for message in (unnamed, ChatMessage("x", role="narrator")):
        with pytest.raises(InvalidInput, match="use "):
            body([HumanMessage("x"), message])


def test_only_the_first_plain_system_message_is_the_instructions() -> None:
    """Others stay in their places; one that is alone is asked itself."""
    sent = body([SystemMessage("Be brief."), HumanMessage("x"), SystemMessage("In French."), HumanMessage("y")])
    assert sent["instructions"] == "Be brief."
    assert [item["role"] for item in sent["input"]] == ["user", "system", "user"]
    assert (
        body([SystemMessage([{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]), HumanMessage("x")])[
            "instructions"
        ]
        == "Be brief."
    )
    assert "instructions" not in body([SystemMessage("Be brief.")])


# -- replies go back


def test_items_go_back_as_they_came() -> None:
    """Byte for byte and in order: reasoning, phases, ids, and what the server's tools did; not the places in a stream."""
    items = [REASONING, SEARCHED, SAID, CALLED]
    streamed = [{**item, "index": at} for at, item in enumerate(items)]
    streamed[2] = {**SAID, "content": [{**SAID["content"][0], "index": 0}], "index": 2}  # type: ignore[index]

    assert sent_input(HumanMessage("x"), reply(*items), RESULT)[1:] == [*items, SENT_RESULT]
    assert sent_input(HumanMessage("x"), reply(*streamed[:3]), HumanMessage("y"))[1:4] == items[:3]


def test_a_call_that_was_changed_goes_back_so() -> None:
    """What a message says in ``tool_calls`` is what it means."""
    message = reply(CALLED)
    message.tool_calls = [{**CALL, "args": {"on": False}}]
    assert sent_input(HumanMessage("x"), message, RESULT)[1] == {**CALLED, "arguments": '{"on":false}'}


CITATION = {"url": "u", "title": "T", "start_index": 0, "end_index": 1}
OTHERS = {
    "responses/v1": AIMessage(
        [
            {**REASONING, "index": 0},
            {
                "type": "text",
                "text": "Hi",
                "annotations": [{"type": "url_citation", **CITATION}],
                "id": "m",
                "phase": "commentary",
            },
            {"type": "refusal", "refusal": "No.", "id": "m"},
            CALLED,
        ],
        tool_calls=[CALL],
        response_metadata={"model_provider": "openai", "id": "resp_1"},
    ),
    "v1": AIMessage(
        [
            {"type": "reasoning", "id": "rs_1", "reasoning": "", "extras": {"encrypted_content": "gA=="}},
            {
                "type": "text",
                "text": "Hi",
                "annotations": [{"type": "citation", **CITATION}],
                "id": "m",
                "extras": {"phase": "commentary"},
            },
            {"type": "non_standard", "value": {"type": "refusal", "refusal": "No."}},
            {**CALL, "extras": {"item_id": "fc_1", "status": "completed", "arguments": CALLED["arguments"]}},
        ],
        tool_calls=[CALL],
        response_metadata={"model_provider": "openai", "id": "resp_1", "output_version": "v1"},
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_replies_that_langchain_has_read_go_back(name: str) -> None:
    """In the forms that its package for OpenAI gives them: as the items that they were."""
    sent = sent_input(HumanMessage("x"), OTHERS[name], RESULT)[1:-1]
    text = {"type": "output_text", "text": "Hi", "annotations": [{"type": "url_citation", **CITATION}]}
    message = {"type": "message", "role": "assistant"}
    assert sent == [
        REASONING,
        {**message, "id": "m", "phase": "commentary", "content": [text]},
        {**message, "content": [{"type": "refusal", "refusal": "No."}]},
        CALLED,
    ]


def test_replies_in_langchains_oldest_form_go_back() -> None:
    """Reasoning and what the server's tools did stand beside the content."""
    beside = {"reasoning": REASONING, "tool_outputs": [SEARCHED], "__openai_function_call_ids__": {"c1": "fc_1"}}
    old = AIMessage(
        [{"type": "text", "text": "Hi"}], additional_kwargs=beside, response_metadata={"model_provider": "openai"}
    )
    sent = sent_input(HumanMessage("x"), old, HumanMessage("y"))
    assert sent[1:3] == [REASONING, SEARCHED] and sent[3]["content"][0]["text"] == "Hi"


PAIRS: list[tuple[bool | None, list[dict[str, Any]], list[dict[str, Any]]]] = [
    (None, [REASONING], []),
    (False, [REASONING], []),
    (False, [SAID, REASONING], [SAID]),
    (False, [REASONING, REASONING, SAID], [REASONING, REASONING, SAID]),
]


def without(item: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in names}


BARE = without(REASONING, "encrypted_content")
PAIRS += [
    (None, [BARE, SAID], [BARE, SAID]),
    (False, [BARE, SAID], [without(SAID, "id")]),
    (False, [BARE, SEARCHED, CALLED, REASONING, SAID], [without(CALLED, "id"), REASONING, SAID]),
    (False, [{**BARE, "encrypted_content": None, "status": None}, SAID], [without(SAID, "id")]),
    (None, [{**REASONING, "status": None}, SAID], [REASONING, SAID]),
]


@pytest.mark.parametrize(("store", "items", "expected"), PAIRS)
def test_reasoning_goes_with_what_it_led_to(store: bool | None, items: Any, expected: Any) -> None:
    """Reasoning that the server can neither find nor decrypt is left out, and so is reasoning that led to nothing."""
    messages = [HumanMessage("x"), reply(*items), *([RESULT] if CALLED in items else []), HumanMessage("y")]
    sent = [item for item in sent_input(*messages, store=store) if item.get("role") != "user"]
    assert [item for item in sent if item != SENT_RESULT] == expected


def test_reasoning_of_an_answer_that_was_not_kept_is_left_out() -> None:
    """The server cannot find it, whatever this call says."""
    assert sent_input(HumanMessage("x"), reply(BARE, SAID, store=False), HumanMessage("y"))[1] == without(SAID, "id")


def test_what_is_new_since_an_answer_is_sent() -> None:
    """With the id of an answer that is among the messages, or of the last one that has one; instructions are said again."""
    messages = [
        SystemMessage("Be brief."),
        HumanMessage("x"),
        reply(CALLED, id="resp_1"),
        RESULT,
        reply(SAID, id="resp_2"),
        HumanMessage("y"),
    ]
    new = {"model": "gpt-5.2", "instructions": "Be brief.", "input": "y", "previous_response_id": "resp_2"}
    assert body(messages, previous_response_id="resp_2") == new
    assert body(messages, use_previous_response_id=True) == new
    assert len(body(messages, previous_response_id="resp_1")["input"]) == 3
    assert len(body(messages, previous_response_id="resp_9")["input"]) == 5
    assert body(messages[:4], use_previous_response_id=True)["input"] == [SENT_RESULT]


def test_a_result_may_answer_a_call_that_the_server_keeps() -> None:
    """Where the beginning of the conversation is the server's, by the model's word or the call's; else it is refused."""
    assert body([RESULT], previous_response_id="resp_9")["input"] == [SENT_RESULT]
    assert body([RESULT], fields={"conversation": "conv_1"})["input"] == [SENT_RESULT]
    kept = {"previous_response_id": "resp_9"}
    assert body([RESULT], extra_body=kept)["input"] == [SENT_RESULT]
    assert body([RESULT], fields={"extra_body": kept})["input"] == [SENT_RESULT]
    with pytest.raises(InvalidHistory):
        body([RESULT])
    with pytest.raises(InvalidHistory):
        body([HumanMessage("x"), reply(CALLED)], previous_response_id="resp_9")


# -- tools


def test_tools_are_flat() -> None:
    """A function is not made strict against its will, a grammar is flat too, and the server's own tools stay as they are."""
    assert body(tools=[LIGHTS, RAW, SEARCH])["tools"] == [
        {"type": "function", "name": "lights", "parameters": {"type": "object", "properties": {}}, "strict": False},
        {"type": "custom", "name": "raw", "format": {"type": "grammar", **GRAMMAR}},
        SEARCH,
    ]


MCP = {"type": "mcp", "server_label": "s", "server_url": "https://e.x"}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", "auto"),
        ("none", "none"),
        (True, "required"),
        ("any", "required"),
        ("lights", {"type": "function", "name": "lights"}),
        ("raw", {"type": "custom", "name": "raw"}),
        ({"type": "function", "function": {"name": "lights"}}, {"type": "function", "name": "lights"}),
        ({"type": "function", "name": "lights"}, {"type": "function", "name": "lights"}),
        ("web_search", {"type": "web_search"}),
        ({"type": "web_search"}, {"type": "web_search"}),
        ({"type": "mcp", "server_label": "s"}, {"type": "mcp", "server_label": "s"}),
        (
            ["lights", "web_search"],
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "lights"}, {"type": "web_search"}],
            },
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "lights"}]},
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "lights"}]},
        ),
    ],
)
def test_the_choice_among_tools(choice: Any, expected: Any) -> None:
    """Each kind of choice in the API's words."""
    assert body(tools=[LIGHTS, RAW, SEARCH, MCP], tool_choice=choice)["tool_choice"] == expected


def test_calls_of_tools_that_take_any_text() -> None:
    """They go back as they came, from either API, and their results are of a type of their own."""
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "raw", "input": "x=1"}
    call: Any = {
        "name": "raw",
        "args": {"__arg1": "x=1"},
        "id": "c1",
        "type": "tool_call",
        "extras": {"type": "custom"},
    }
    result = {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"}
    facts = {"model_provider": "openai"}

    here = AIMessage([item], tool_calls=[call], response_metadata=facts)
    there = AIMessage("", tool_calls=[call], response_metadata=facts)
    assert sent_input(HumanMessage("x"), here, RESULT)[1:] == [item, result]
    assert sent_input(HumanMessage("x"), there, RESULT)[1:] == [without(item, "id"), result]


def test_results_of_tools() -> None:
    """A text, or texts and pictures; that a tool has failed is said in words."""
    picture = dict(create_image_block(url="https://e.x/i.png"))
    several = ToolMessage([{"type": "text", "text": "see"}, picture], tool_call_id="c1")
    failed = ToolMessage("no bulb", tool_call_id="c1", status="error")

    parts = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "https://e.x/i.png"}]
    assert sent_input(HumanMessage("x"), reply(CALLED), several)[-1]["output"] == parts
    assert sent_input(HumanMessage("x"), reply(CALLED), failed)[-1]["output"] == "Error: no bulb"
    with pytest.raises(InvalidInput, match="names no tool call"):
        make_model()._request([ToolMessage("x", tool_call_id="")], make_model(), stream=False)  # type: ignore[arg-type]


# -- both APIs


def test_a_conversation_goes_on_with_the_other_api() -> None:
    """Chat completions get what was said and called; reasoning, and what the server's tools did, stay behind."""
    messages = [
        HumanMessage("x"),
        reply(REASONING, SEARCHED, SAID, CALLED, {"type": "compaction", "id": "cmp_1"}),
        RESULT,
    ]
    sent = body(messages, fields={"use_responses_api": False})["messages"]

    call = {"id": "c1", "type": "function", "function": {"name": "lights", "arguments": '{"on":true}'}}
    assert sent[1] == {"role": "assistant", "content": "Paris.", "tool_calls": [call]}


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ({"base_url": "http://localhost:8080/v1"}, "http://localhost:8080/v1/responses"),
        (
            {"base_url": "https://r.openai.azure.com", "dialect": "azure"},
            "https://r.openai.azure.com/openai/v1/responses",
        ),
        (
            {"base_url": "https://r.openai.azure.com", "dialect": "azure", "default_query": {"api-version": "v"}},
            "https://r.openai.azure.com/openai/responses?api-version=v",
        ),
    ],
)
def test_where_requests_go(fields: dict[str, Any], url: str) -> None:
    """Azure's older URLs name no model here."""
    assert make_model(**fields).render("x").url == url
