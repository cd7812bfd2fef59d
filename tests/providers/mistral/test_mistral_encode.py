"""What goes out to Mistral is what the official SDK sends, and no key that the API does not know."""

from typing import Any

import pytest
from pydantic import BaseModel

from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.mistral import ChatMistralAI
from tests.kit.recordings import Recording, load_recordings

RECORDINGS = load_recordings("mistral")
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "The time.", "strict": True}}
PDF = {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"}
THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}


def model(**fields: Any) -> ChatMistralAI:
    return ChatMistralAI(**{"model": "mistral-medium-latest", "api_key": "mk-test", **fields})


def sent(messages: Any = "hi", **options: Any) -> dict[str, Any]:
    body: dict[str, Any] = model().render(messages, **options).json
    return body


def without_defaults(body: dict[str, Any]) -> dict[str, Any]:
    """A recorded body without what the SDK adds to what it was given, and the API assumes by itself."""
    messages = [{**message} for message in body["messages"]]
    for message in messages:
        if message.get("prefix") is False:
            del message["prefix"]
        if "tool_calls" in message:
            message["tool_calls"] = [{k: v for k, v in call.items() if k != "index"} for call in message["tool_calls"]]
    return {name: value for name, value in {**body, "messages": messages}.items() if (name, value) != ("stream", False)}


def test_a_request_is_the_official_sdks(chat_request: Recording) -> None:
    """The whole body is equal, field by field, as are the path and the header of the key."""
    expected = without_defaults(chat_request["request"]["body"])
    names = {"random_seed": "seed"}
    said = {
        names.get(name, name): value for name, value in expected.items() if name not in ("model", "messages", "stream")
    }
    asked = model(model=expected["model"], profile={})  # the recordings hold what not every model reads
    request = asked.render(expected["messages"], stream="stream" in expected, **said)
    body = request.json
    if expected.get("tool_choice") == "required":  # another word for the same
        expected["tool_choice"] = "any"
    assert body == expected
    assert request.url == f"https://api.mistral.ai{chat_request['request']['path']}"
    assert request.headers["authorization"] == "Bearer **********"


def test_an_answer_of_a_schema_is_asked_for_as_the_sdk_does() -> None:
    """``with_structured_output`` makes what ``chat.parse`` does."""

    class Ans(BaseModel):
        answer: str
        conf: float | None = None

    bound: Any = model().with_structured_output(Ans)
    expected = RECORDINGS["mistral/json_schema_pydantic_parse"]["request"]["body"]["response_format"]
    assert bound.bound.kwargs["response_format"] == expected


@pytest.mark.parametrize(
    ("option", "written"),
    [
        ({"seed": 7}, {"random_seed": 7}),
        ({"random_seed": 7}, {"random_seed": 7}),
        ({"stop": ["a"]}, {"stop": ["a"]}),
        ({"safe_prompt": True}, {"safe_prompt": True}),
        ({"prompt_mode": "reasoning"}, {"prompt_mode": "reasoning"}),
        ({"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
        ({"prediction": {"type": "content", "content": "x"}}, {"prediction": {"type": "content", "content": "x"}}),
        ({"prompt_cache_key": "k"}, {"prompt_cache_key": "k"}),
        ({"min_tokens": 3, "top_k": 4}, {"min_tokens": 3, "top_k": 4}),
        ({"repetition_penalty": 1.1, "n": 2}, {"repetition_penalty": 1.1, "n": 2}),
        ({"guardrails": [{"block_on_error": True}]}, {"guardrails": [{"block_on_error": True}]}),
        ({"service_tier": "auto"}, {"service_tier": "auto"}),
        ({"response_format": {"type": "json_object"}}, {"response_format": {"type": "json_object"}}),
        ({"extra_body": {"metadata": {"a": 1}}}, {"metadata": {"a": 1}}),
    ],
)
def test_options_go_under_the_apis_names(option: dict[str, Any], written: dict[str, Any]) -> None:
    """Beside them the body has what it always has, and nothing else."""
    assert sent(**option) == {
        "model": "mistral-medium-latest",
        "messages": [{"role": "user", "content": "hi"}],
        **written,
    }


@pytest.mark.parametrize("option", ["min_p", "logit_bias", "candidate_count", "min_length", "response_mime_type"])
def test_options_that_the_api_has_no_word_for_are_refused(option: str) -> None:
    """The API refuses the whole request because of one of them."""
    with pytest.raises(Unsupported, match=option):
        sent(**{option: {"1": 1} if option == "logit_bias" else "1" if "mime" in option else 1})


def test_several_answers_do_not_come_as_one_stream() -> None:
    with pytest.raises(InvalidInput, match="n=2"):
        model().render("hi", n=2, stream=True)


@pytest.mark.parametrize(
    ("choice", "parallel", "written", "offered"),
    [
        ("auto", None, "auto", 2),
        ("none", None, "none", 2),
        ("required", True, "any", 2),
        ("clock", False, {"type": "function", "function": {"name": "clock"}}, 2),
        (["clock"], None, "any", 1),
        (None, None, None, 2),
    ],
)
def test_tools_and_the_choice_among_them(choice: Any, parallel: bool | None, written: Any, offered: int) -> None:
    """The API can name one tool at most, so that of some it is offered those alone."""
    bound = model().bind_tools([WEATHER, CLOCK], tool_choice=choice, parallel_tool_calls=parallel)
    body = model().render("hi", **bound.kwargs).json  # type: ignore[attr-defined]
    assert (body.get("tool_choice"), body.get("parallel_tool_calls")) == (written, parallel)
    assert len(body["tools"]) == offered


def test_a_tool_says_what_the_api_knows() -> None:
    """What it says for another provider stays here, and one without parameters has none."""
    [tool] = sent(tools=[{**CLOCK, "cache_control": {"type": "ephemeral"}}])["tools"]
    empty = {"type": "object", "properties": {}}
    assert tool == {"type": "function", "function": {**CLOCK["function"], "parameters": empty}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("part", "written"),
    [
        ({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "a"}),
        ({"type": "image", "url": "https://e.x/a.png"}, {"type": "image_url", "image_url": "https://e.x/a.png"}),
        (
            {"type": "image", "base64": "AA", "mime_type": "image/png", "extras": {"detail": "low", "x": 1}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}},
        ),
        (
            {"type": "image_url", "image_url": {"url": "u"}, "cache_control": {}},
            {"type": "image_url", "image_url": {"url": "u"}},
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://e.x/a.png"}},
            {"type": "image_url", "image_url": "https://e.x/a.png"},
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
            {"type": "input_audio", "input_audio": "AA"},
        ),
        (PDF, {"type": "document_url", "document_url": "data:application/pdf;base64,AAAA"}),
        ({**PDF, "title": "t"}, {"type": "document_url", "document_url": "data:application/pdf;base64,AAAA"}),
        ({"type": "file", "url": "https://e.x/a.pdf"}, {"type": "document_url", "document_url": "https://e.x/a.pdf"}),
        ({"type": "file", "file": {"file_id": "f"}}, {"type": "file", "file_id": "f"}),
        ({"type": "text-plain", "text": "t", "title": "T"}, {"type": "text", "text": "T\n\nt"}),
        ({"type": "non_standard", "value": {"type": "resource", "x": 1}}, {"type": "resource", "x": 1}),
    ],
)
def test_parts_of_a_question(part: Any, written: dict[str, Any]) -> None:
    """Each with the keys of its kind and no others: the API refuses the rest."""
    assert sent([HumanMessage([part])], model="voxtral-small")["messages"][0]["content"] == [written]


@pytest.mark.parametrize("part", [{"type": "video", "url": "u"}, {"type": "image", "file_id": "f"}])
def test_what_the_api_has_no_place_for_is_refused(part: Any) -> None:
    with pytest.raises(Unsupported, match=part["type"]):
        sent([HumanMessage([part])], model="voxtral-small")


def test_a_result_names_its_tool_and_says_whether_it_failed() -> None:
    """The API wants a result's name; calls of others get ids as it wants them, in their results as well."""
    call: Any = {"name": "clock", "args": {}, "id": "call_very_long_id"}
    messages = [HumanMessage("when?"), AIMessage("", tool_calls=[call]), ToolMessage("no", tool_call_id=call["id"])]
    messages[-1].status = "error"
    _, reply, result = sent(messages)["messages"]
    id = reply["tool_calls"][0]["id"]
    assert len(id) == 9 and id.isalnum()
    assert result == {"role": "tool", "tool_call_id": id, "name": "clock", "content": "Error: no"}


def test_arguments_that_could_not_be_read_go_back_as_they_came() -> None:
    call: Any = {"name": "clock", "args": "{oops", "id": "aaaabbbbc", "error": "e"}
    messages = [
        HumanMessage("?"),
        AIMessage("", invalid_tool_calls=[call]),
        ToolMessage("no", tool_call_id="aaaabbbbc"),
    ]
    assert sent(messages)["messages"][1]["tool_calls"] == [
        {"id": "aaaabbbbc", "type": "function", "function": {"name": "clock", "arguments": "{oops"}}
    ]


def test_a_reply_that_stands_last_is_the_beginning_of_the_answer() -> None:
    """Nowhere else: in the middle of a conversation the API refuses the mark."""
    begun = [HumanMessage("a"), AIMessage("b", additional_kwargs={"prefix": True}), HumanMessage("c"), AIMessage("d")]
    _, middle, _, last = sent(begun)["messages"]
    assert middle == {"role": "assistant", "content": "b"}
    assert last == {"role": "assistant", "content": "d", "prefix": True}


def test_a_part_that_nobody_knows_goes_back_as_it_came() -> None:
    """In a reply of the API's own, which has come up with it since; from anybody else it is refused."""
    new = {"type": "brand_new", "x": 1}
    own = AIMessage([{**new, "index": 0}], response_metadata={"model_provider": "mistralai"})
    assert sent([own, HumanMessage("?")])["messages"][0]["content"] == [new]
    with pytest.raises(Unsupported, match="brand_new"):
        sent([HumanMessage([new])])


def test_speakers_names_stay_here() -> None:
    """The API has a place for the name of a tool, and for no other."""
    said = [SystemMessage("s", name="x"), HumanMessage("h", name="x"), AIMessage("a", name="x"), HumanMessage("h")]
    assert all(message.keys() == {"role", "content"} for message in sent(said)["messages"])


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (ChatMessage("hm", role="critic"), InvalidInput),
        (SystemMessage([{"type": "image", "url": "u"}]), Unsupported),
    ],
)
def test_who_has_no_place_is_refused(message: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        sent([HumanMessage("hi"), message])


def test_reasoning_of_its_own_goes_back_and_that_of_others_does_not() -> None:
    """As it came, in a stream as well, where its pieces had places; and as the standard blocks that show it."""
    text = {"type": "text", "text": "42"}
    streamed = {**THINKING, "index": 0, "thinking": [{"type": "text", "text": "hm", "index": 0}]}
    facts = {"model_provider": "mistralai"}
    replies = [
        AIMessage([THINKING, text]),
        AIMessage([streamed, {**text, "index": 1}], response_metadata=facts),
        AIMessage(
            [{"type": "reasoning", "reasoning": "hm", "extras": {"closed": True}}, text],
            response_metadata={**facts, "output_version": "v1"},
        ),
        AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}, text]),
    ]
    *own, foreign, _ = [message["content"] for message in sent([*replies, HumanMessage("?")])["messages"]]
    assert own == [[THINKING, text]] * 3
    assert foreign == "42"
