"""Which hosts get a key, what a service's fields may be called, and what a failing server's words become."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from hocket.errors import AuthenticationError, InvalidHistory, InvalidInput, InvalidReply, LLMError, RateLimitError
from hocket.http import HTTPReply
from hocket.load import loads
from hocket.messages import AIMessage, HumanMessage, ToolMessage, repair_history
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.remote import Endpoint, RemoteChatModel
from hocket.testing import Body, OpenAIFormat, Reply, Status, serve

EVIL = "http://evil.example/v1"
CALL: Any = {"name": "f", "args": {}, "id": "1", "type": "tool_call"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.parametrize("dialect", ["openai", "azure", None])
def test_a_dump_leads_no_key_away(dialect: str | None) -> None:
    """A key of the environment goes to no address that data brings, whatever dialect they name."""
    fields = {"model": "m", "base_url": EVIL, **({"dialect": dialect} if dialect else {})}
    node = {"lc": 1, "type": "constructor", "id": list(ChatOpenAI.lc_id()), "kwargs": fields}
    if dialect is None:  # a server that may need no key is asked without one
        assert loads(json.dumps(node)).api_key is None
    else:
        with pytest.raises(Exception, match=r"not sent there|needs a key"):
            loads(json.dumps(node))


def test_an_address_of_the_environment_gets_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when it is given once more, by a dump for one."""
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")
    assert ChatOpenAI(model="m").api_key is not None
    assert ChatOpenAI(model="m", base_url="https://gateway.example/v1/").api_key is not None
    assert ChatOpenAI(model="m", base_url="https://gateway.example.evil/v1").api_key is None


@pytest.mark.parametrize(
    ("url", "known"),
    [
        ("https://api.parlour.example/v1", True),
        ("https://eu.api.parlour.example", True),
        ("https://parlour.test", True),
        ("http://api.parlour.example/v1", True),
        ("https://api.parlour.example.evil/v1", False),
        ("https://evilparlour.test", False),
        ("https://user@evil.test/api.parlour.example", False),
        ("http://localhost:1/v1", False),
    ],
)
def test_hosts(url: str, known: bool) -> None:
    """A host and its subdomains; what only looks like one is none."""
    endpoint = Endpoint(name="parlour", base_url="https://api.parlour.example/v1", hosts=("parlour.test",))
    assert endpoint.has_host(url) is known


async def test_a_refusal_without_a_key_says_so() -> None:
    """Who moves over from OpenAI's library finds out why an unknown host has got no key."""
    async with serve(OpenAIFormat(), [Status(401, "who are you?")] * 2) as server:
        with pytest.raises(
            AuthenticationError, match=r"no key was sent to http://127.*: give api_key=.*known hosts only"
        ):
            await ChatOpenAI(model="m", base_url=server.url).ainvoke("hi")
        with pytest.raises(AuthenticationError) as caught:
            await ChatOpenAI(model="m", base_url=server.url, api_key="mine").ainvoke("hi")
    assert "no key was sent" not in str(caught.value)
    assert "authorization" not in server.requests[0].headers


ALIASES: list[tuple[str, Any, str, Any]] = [
    ("model_name", "m", "model", "m"),
    ("openai_api_base", EVIL, "base_url", EVIL),
    ("request_timeout", 7, "timeout", None),
    ("max_completion_tokens", 9, "max_tokens", 9),
    ("stop_sequences", ["x"], "stop", ["x"]),
    ("openai_organization", "o", "organization", "o"),
]


@pytest.mark.parametrize(("name", "value", "own", "expected"), ALIASES)
def test_other_names_of_fields(name: str, value: Any, own: str, expected: Any) -> None:
    """langchain-openai's names are taken where they mean the same; both, and different, are refused."""
    fields = {"model": "m", "api_key": "k"}
    fields.pop(own, None)
    model = ChatOpenAI(**{**fields, name: value})
    if name == "request_timeout":
        assert model.timeout is not None and model.timeout.total == 7  # type: ignore[union-attr]
    else:
        assert getattr(model, own) == expected
    with pytest.raises(InvalidInput, match="give one of them"):
        ChatOpenAI(**{**fields, name: value, own: "another"})


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("max_retries", "max_retries=2 is retry=3"),
        ("model_kwargs", "extra_body"),
        ("output_version", "content_blocks"),
        ("disabled_params", "unsupported='drop'"),
        ("tiktoken_model_name", "custom_get_token_ids"),
        ("json_mode", "response_format"),
    ],
)
@pytest.mark.parametrize("cls", [ChatOpenAI, OpenAIEmbeddings])
def test_names_that_have_no_equal(cls: Any, name: str, instead: str) -> None:
    """The error says what to write instead."""
    with pytest.raises(ValidationError, match=f"no field '{name}'; write .*{instead}"):
        cls(**{"model": "m", "api_key": "k", name: 1})


@pytest.mark.parametrize(
    ("name", "instead"),
    [("reasoning", "reasoning_effort"), ("use_responses_api", r"ChatOpenAI\(use_responses_api=True\)")],
)
def test_names_that_another_class_has(name: str, instead: str) -> None:
    """The error says what to write instead, or where the name belongs."""
    with pytest.raises(ValidationError, match=f"no field '{name}'; write .*{instead}"):
        OpenAIEmbeddings(**{"model": "m", "api_key": "k", name: 1})  # type: ignore[arg-type]


def test_a_key_under_its_older_name_is_a_secret() -> None:
    """It shows nowhere."""
    model = ChatOpenAI(model="m", openai_api_key="sk-very-secret-key")  # type: ignore[call-arg]
    assert "very-secret" not in repr(model) + str(model.render("hi"))
    with pytest.raises(InvalidInput) as caught:
        ChatOpenAI(model="m", openai_api_key="sk-very-secret-key", api_key="sk-other-secret-key")  # type: ignore[call-arg]
    assert "secret-key" not in str(caught.value)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([HumanMessage("q"), AIMessage("", tool_calls=[CALL])], "'1', has no result"),
        ([HumanMessage("q"), ToolMessage("r", tool_call_id="1")], "no message makes the call '1'"),
        (
            [
                HumanMessage("q"),
                AIMessage("", tool_calls=[CALL]),
                HumanMessage("x"),
                ToolMessage("r", tool_call_id="1"),
            ],
            "does not directly follow",
        ),
        ([AIMessage([{"type": "tool_use", "id": "1", "name": "f", "input": {}}])], "'1', has no result"),
    ],
)
async def test_what_no_server_takes_is_not_sent(messages: list[Any], said: str) -> None:
    """A call without its result, or a result without its call: refused with the way out, which works."""
    async with serve(OpenAIFormat(), [Reply("ok")]) as server:
        model = ChatOpenAI(model="m", base_url=server.url)
        with pytest.raises(InvalidHistory, match=f"{said}.*repair_history"):
            await model.ainvoke(messages)
        assert server.requests == []
        assert (await model.ainvoke([HumanMessage("q"), *repair_history(messages)])).text == "ok"


def test_results_in_the_content_of_a_user() -> None:
    """As Anthropic has them: they go where the format has results, and answer the calls that lie in content."""
    asked = AIMessage([{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}])
    told = HumanMessage([{"type": "tool_result", "tool_use_id": "1", "content": "no", "is_error": True}, "go on"])
    sent = ChatOpenAI(model="m", api_key="k").render([HumanMessage("q"), asked, told]).json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert (sent[2]["content"], sent[2]["tool_call_id"]) == ("Error: no", "1")
    assert told.content[0]["type"] == "tool_result"  # type: ignore[index]


def completion(**fields: Any) -> str:
    message = {"role": "assistant", "content": "hi"}
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **fields})


@pytest.mark.parametrize("count", ["1e400", "Infinity", "-Infinity", "NaN"])
async def test_usage_that_is_no_number(count: str) -> None:
    """The answer counts; of its tokens nothing is known."""
    text = completion(usage={"prompt_tokens": 1, "completion_tokens": "X"}).replace('"X"', count)
    async with serve(OpenAIFormat(), [Body(text.encode())]) as server:
        reply = await ChatOpenAI(model="m", base_url=server.url).ainvoke("hi")
    assert reply.text == "hi" and reply.usage_metadata is not None
    assert reply.usage_metadata["output_tokens"] == 0


class Reading(RemoteChatModel):
    """A provider that reads nothing, and has errors of its own."""

    _endpoint = Endpoint(name="reading", needs_key=False)

    def _request(self, messages: Any, options: Any, *, stream: bool) -> Any:
        return self._post(self._url("talk"), {"stream": stream})

    def _decode(self, reply: HTTPReply) -> Any:
        return int(float("inf"))

    def _decoder(self, headers: Any) -> Any:
        raise AssertionError("the reply is no stream")

    def _read_failure(self, reply: HTTPReply, secrets: Sequence[str]) -> LLMError:
        if reply.content == b"slow":
            return RateLimitError("said slow", retry_after=3)
        return super()._read_failure(reply, secrets)

    @property
    def _llm_type(self) -> str:
        return "reading"


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_whatever_a_provider_raises_while_it_reads(verb: str) -> None:
    """It comes out as an unreadable reply, with the provider's name."""
    async with serve(OpenAIFormat(), [Body({})]) as server:
        model = Reading(base_url=server.url, retry=None)
        with pytest.raises(InvalidReply, match=r"reading: .*OverflowError"):
            if verb == "ainvoke":
                await model.ainvoke("hi")
            else:
                async for _ in model.astream("hi"):
                    pass


async def test_a_providers_own_errors() -> None:
    """Its hook sees the server's body; what it does not know is left to hocket."""
    async with serve(OpenAIFormat(), [Body(b"slow", status=400), Status(404)]) as server:
        model = Reading(base_url=server.url, retry=None)
        with pytest.raises(RateLimitError, match="said slow") as caught:
            await model.ainvoke("hi")
        assert (caught.value.provider, caught.value.retry_after) == ("reading", 3)
        with pytest.raises(LLMError, match="reading: resource_not_found"):
            await model.ainvoke("hi")


def test_a_service_without_an_address() -> None:
    """It is asked for."""
    with pytest.raises(InvalidInput, match="'reading' has no address of its own: give base_url"):
        Reading()
