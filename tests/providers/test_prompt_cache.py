"""The option ``prompt_cache``: one name with every model, and on the wire what the provider's cache wants to be told."""

from typing import Any

import pytest

from hocket import init_chat_model
from hocket.errors import InvalidInput, Unsupported
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.local import ChatLocal
from hocket.providers.openai import ChatOpenAI, OpenAI
from hocket.providers.openai.dialects import DIALECTS
from tests.kit.providers import PROVIDERS
from tests.kit.recordings import load_recordings

WEATHER: dict[str, Any] = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
LATER = {"type": "function", "function": {"name": "tide"}, "extras": {"defer_loading": True}}
CALL: Any = {"name": "weather", "args": {}, "id": "c1", "type": "tool_call"}
MARK = {"cache_control": {"type": "ephemeral"}}
ASKED: list[BaseMessage] = [SystemMessage("be brief"), HumanMessage("How is Paris?")]
TOLD: list[BaseMessage] = [*ASKED, AIMessage("", tool_calls=[CALL]), ToolMessage("21 C", tool_call_id="c1")]


def claude(messages: Any, **options: Any) -> Any:
    return ChatAnthropic(model="claude-sonnet-5-5", api_key="k", max_tokens=64).render(messages, **options).json


def openai(messages: Any, responses: bool = False, **options: Any) -> Any:
    return ChatOpenAI(model="gpt-5.5", api_key="k", use_responses_api=responses).render(messages, **options).json


def find_marks(value: Any, path: str = "") -> dict[str, Any]:
    """The marks of a body, by the places at which they stand."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {path: value["cache_control"]} if isinstance(value, dict) and "cache_control" in value else {}
    return found | {at: mark for key, one in inner for at, mark in find_marks(one, f"{path}/{key}").items()}


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_marks(inner) for name, inner in value.items() if name != "cache_control"}
    return [without_marks(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("value", [True, False, "5m", "1h", None])
@pytest.mark.parametrize("provider", [name for name in PROVIDERS if name not in ("openai", "openai_responses")])
def test_every_model_takes_it_and_most_have_nothing_to_say(provider: str, value: Any) -> None:
    """Made with it, bound to it or called with it: nothing is in the request that was not there, marks apart."""
    bare = PROVIDERS[provider].make(model="m", api_key="k")
    made = PROVIDERS[provider].make(model="m", api_key="k", prompt_cache=value)
    expected = bare.render(TOLD).json
    for sent in (made.render(TOLD).json, bare.render(TOLD, prompt_cache=value).json):
        if provider == "anthropic" and value:
            assert len(find_marks(sent)) == 3
        else:
            assert sent == expected


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("responses", [False, True])
def test_a_key_goes_to_the_servers_that_take_one(dialect: str, responses: bool) -> None:
    """OpenAI and Azure; any other compatible server sees nothing of it."""
    fields: Any = {"dialect": dialect, "base_url": "http://127.0.0.1:1/v1", "api_key": "k"}
    sent = ChatOpenAI(model="m", use_responses_api=responses, prompt_cache=True, **fields).render(TOLD).json
    assert ("prompt_cache_key" in sent) == (dialect in ("openai", "azure", "azure_entra"))
    assert "prompt_cache" not in sent


def test_the_embedded_model_and_a_name_take_it_too() -> None:
    """`ChatLocal` has the field, and `init_chat_model` hands it on."""
    assert ChatLocal(prompt_cache=True).prompt_cache is True
    model = init_chat_model("anthropic:claude-sonnet-5-5", api_key="k", prompt_cache="1h")
    assert isinstance(model, ChatAnthropic)
    assert model.prompt_cache == "1h"


def test_what_it_cannot_be_is_refused() -> None:
    """Another time, at the call as at the model; and a text model has no such option."""
    with pytest.raises(InvalidInput, match="prompt_cache='2h' will not do: Input should be True, False, '5m' or '1h'"):
        claude("hi", prompt_cache="2h")
    with pytest.raises(ValueError, match="prompt_cache"):
        ChatAnthropic(model="m", api_key="k", prompt_cache="yes")  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="OpenAI takes no prompt_cache"):
        OpenAI(model="m", api_key="k", prompt_cache=True)  # type: ignore[call-arg]


# -- Anthropic


def test_the_marks_are_the_official_sdks() -> None:
    """The body of a whole conversation is equal to the recorded one, in which the marks stand where they belong."""
    expected = load_recordings("anthropic")["anthropic/prompt_cache"]["request"]["body"]
    bare = without_marks(load_recordings("anthropic")["anthropic/prompt_cache"]["request"]["body"])
    tools = [{"type": "function", "function": {**tool, "parameters": tool["input_schema"]}} for tool in bare["tools"]]
    for tool in tools:
        del tool["function"]["input_schema"]
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    said = [SystemMessage(bare["system"]), *(kinds[turn["role"]](turn["content"]) for turn in bare["messages"])]
    options = {name: bare[name] for name in ("max_tokens", "thinking")}
    body = claude(
        said, **options, tools=tools, tool_choice="auto", parallel_tool_calls=False, stop=["END"], prompt_cache="1h"
    )
    assert body == expected
    assert list(find_marks(body)) == ["/system/0", "/messages/2/content/0", "/messages/4/content/0", "/tools/0"]


def test_each_request_marks_the_end_of_the_one_before() -> None:
    """So the API finds what it has cached without looking back, however many blocks have come in between."""
    first, second = claude(ASKED, prompt_cache=True), claude(TOLD, prompt_cache=True)
    assert list(find_marks(first)) == ["/system/0", "/messages/0/content/0"]
    assert list(find_marks(second)) == ["/system/0", "/messages/0/content/0", "/messages/2/content/0"]
    five_minutes = find_marks(claude(TOLD, prompt_cache="5m"))
    assert find_marks(second) == five_minutes == dict.fromkeys(five_minutes, MARK["cache_control"])
    assert find_marks(claude(TOLD, prompt_cache="1h"))["/system/0"] == {"type": "ephemeral", "ttl": "1h"}
    assert second["messages"][0] == first["messages"][0]
    prefilled = claude([*ASKED, AIMessage("It")], prompt_cache=True)
    assert list(find_marks(prefilled)) == ["/system/0", "/messages/0/content/0", "/messages/1/content/0"]


@pytest.mark.parametrize(
    ("messages", "options"),
    [
        ([HumanMessage([{"type": "text", "text": "a", **MARK}]), AIMessage("b"), HumanMessage("c")], {}),
        ([*TOLD[:-1], ToolMessage("21 C", tool_call_id="c1", additional_kwargs=MARK)], {}),
        (TOLD, {"tools": [{**WEATHER, "extras": MARK}]}),
        (TOLD, MARK),
        (TOLD, {"extra_body": MARK}),
    ],
)
def test_a_mark_of_the_users_own_leaves_all_to_the_user(messages: Any, options: Any) -> None:
    """Wherever it is."""
    assert claude(messages, prompt_cache=True, **options) == claude(messages, **options)


def test_what_takes_no_mark_gets_none() -> None:
    """A deferred tool, reasoning; and what the caller holds is not written to."""
    assert find_marks(claude("hi", tools=[WEATHER, LATER], prompt_cache=True)).keys() == {
        "/tools/0",
        "/messages/0/content/0",
    }
    thought: Any = {"type": "thinking", "thinking": "t", "signature": "s"}
    asked = [*ASKED, AIMessage([{"type": "text", "text": "Wait."}, thought])]
    body = claude(asked, prompt_cache=True)
    assert list(find_marks(body)) == ["/system/0", "/messages/0/content/0", "/messages/1/content/0"]
    assert "cache_control" not in repr((asked, WEATHER))


# -- OpenAI


@pytest.mark.parametrize(("responses", "name"), [(False, "openai_chat"), (True, "openai_responses")])
def test_the_key_is_where_the_official_sdk_has_it(responses: bool, name: str) -> None:
    """The recorded request, but for the value of the key."""
    expected = load_recordings(name)[f"{name}/prompt_cache"]["request"]["body"]
    tool = expected["tools"][0]
    described = {key: value for key, value in tool.items() if key not in ("type", "strict")}
    offered = {"type": "function", "function": described} if responses else tool
    asked = [SystemMessage("You are a terse weather assistant."), HumanMessage("How is Paris?")]
    body = openai(asked, responses, tools=[offered], prompt_cache=True)
    assert len(body["prompt_cache_key"]) <= 64
    assert {**body, "prompt_cache_key": expected["prompt_cache_key"]} == expected


@pytest.mark.parametrize("responses", [False, True])
def test_the_key_stays_while_a_conversation_goes_on(responses: bool) -> None:
    """It is that of instructions, tools and first question: another one of these is another key."""

    def key(messages: Any, **options: Any) -> Any:
        return openai(messages, responses, prompt_cache=True, **options).get("prompt_cache_key")

    first = key(ASKED, tools=[WEATHER])
    assert key([*TOLD, AIMessage("Fine."), HumanMessage("And Rome?")], tools=[WEATHER], max_tokens=50) == first
    others = [key(ASKED), key(ASKED[1:], tools=[WEATHER]), key([ASKED[0], HumanMessage("Hi")], tools=[WEATHER])]
    assert len({first, *others}) == 4
    assert key(ASKED, prompt_cache_key="mine") == "mine"
    assert openai(ASKED, responses).get("prompt_cache_key") is None
    assert key(ASKED, extra_body={"prompt_cache_key": "theirs"}) == "theirs"


def test_there_is_no_key_where_the_server_holds_the_beginning() -> None:
    """The first question is not among the messages: each call would have a key of its own."""
    for held in ({"conversation": "conv_1"}, {"previous_response_id": "resp_1"}):
        assert "prompt_cache_key" not in openai("And Rome?", True, prompt_cache=True, **held)
