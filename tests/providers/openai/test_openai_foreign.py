"""A conversation may change providers: what one alone understands does not go out to another, and what is needed does."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket.errors import Unsupported
from hocket.http.request import HTTPReply
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from hocket.providers.openai import ChatOpenAI
from hocket.providers.openai.dialects import DIALECTS
from hocket.providers.openai.encode import encode_messages
from hocket.remote.chat_completion import decode_completion

FIXTURES = Path(__file__).parents[2] / "fixtures"
OPENAI = DIALECTS["openai"]
FORMAT = {"role", "content", "tool_calls", "type", "text", "refusal", "id", "function", "name", "arguments"}


def events(exchange: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for line in str(exchange.get("sse", "")).splitlines():
        if line.startswith("data: {"):
            yield json.loads(line.removeprefix("data: "))


def contents(folder: str, exchange: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """The contents of replies, as the provider wrote them; a stream's, piece by piece."""
    body = exchange.get("body")
    for said in [*([body] if isinstance(body, dict) else []), *events(exchange)]:
        match folder:
            case "anthropic":
                yield said.get("content") or [said[key] for key in ("content_block",) if key in said]
            case "gemini":
                yield from ((each.get("content") or {}).get("parts", []) for each in said.get("candidates", []))
            case _:
                yield said.get("output") or []


def replies(folder: str, provider: str, *, only: str = "*") -> Iterator[Any]:
    """Recorded replies as messages, with their calls beside the content, as a provider stores them."""
    for path in sorted((FIXTURES / folder).glob(f"{only}.json")):
        response = json.loads(path.read_text())["response"]
        for exchange in response if isinstance(response, list) else [response]:
            said = [part for content in contents(folder, exchange) for part in content]
            if not said:
                continue
            read = [block for block in AIMessage(said).content_blocks if block["type"] == "tool_call"]
            calls = [{**block, "id": block.get("id") or "made-up", "type": "tool_call"} for block in read]
            message = AIMessage(said, tool_calls=calls, response_metadata={"model_provider": provider})
            yield pytest.param(message, id=f"{folder}-{path.stem}")


def sent(*messages: BaseMessage) -> list[dict[str, Any]]:
    """What goes out of a conversation."""
    body: dict[str, Any] = ChatOpenAI(model="m", api_key="sk-test").render(list(messages)).json
    messages_sent: list[dict[str, Any]] = body["messages"]
    return messages_sent


def keys(value: Any) -> set[str]:
    """All keys, at every depth."""
    if isinstance(value, list):
        return {key for item in value for key in keys(item)}
    return set(value) | {key for item in value.values() for key in keys(item)} if isinstance(value, dict) else set()


@pytest.mark.parametrize(
    "message",
    [
        *replies("anthropic", "anthropic"),
        *replies("gemini", "google_genai"),
        *replies("openai_responses", "openai", only="full_conversation"),
        *replies("openai_responses", "openai", only="tool_calls"),
    ],
)
def test_a_recorded_reply_goes_to_another_provider(message: AIMessage) -> None:
    """All of its text and all of its calls, and no word that is not the format's."""
    results = [ToolMessage("21", tool_call_id=str(call["id"])) for call in message.tool_calls]
    reply = sent(HumanMessage("hi"), message, *results, HumanMessage("go on"))[1]

    assert keys(reply) <= FORMAT
    said = reply["content"] or ""
    assert (said if isinstance(said, str) else "".join(part["text"] for part in said)) == "".join(
        block["text"] for block in message.content_blocks if block["type"] == "text"
    )
    expected = [(call["id"], "function", call["name"], call["args"]) for call in message.tool_calls]
    assert called(reply) == expected


def test_an_own_reply_comes_back_as_it_was(chat_answer: dict[str, Any]) -> None:
    """Text, refusal, calls: what the server said, as it said it."""
    raw = chat_answer["response"]["body"]["choices"][0]["message"]
    reply = HTTPReply(200, {}, json.dumps(chat_answer["response"]["body"]).encode())
    message = decode_completion(reply, "openai").generations[0].message
    written = encode_messages([message], OPENAI)[0]

    assert (written["content"] or "", written.get("refusal")) == (raw.get("content") or "", raw.get("refusal"))
    assert called(written) == called(raw)


def called(message: dict[str, Any]) -> list[Any]:
    calls = [(call["id"], call["type"], call["function"]) for call in message.get("tool_calls") or ()]
    return [(id, kind, call["name"], arguments(call["arguments"])) for id, kind, call in calls]


def arguments(said: Any) -> Any:
    """Some servers send an object where the format has a text."""
    return json.loads(said) if isinstance(said, str) else said


SIGNED = {
    "name": "lights",
    "args": {},
    "id": "c1",
    "type": "tool_call",
    "extras": {"extra_content": {"google": {"thought_signature": "s"}}},
}


@pytest.mark.parametrize(("provider", "signed"), [("openai", True), (None, True), ("gemini_compatible", False)])
def test_a_signature_goes_back_to_its_provider(provider: str | None, signed: bool) -> None:
    """And to no other; of a message that does not tell whose it is, the author is taken at his word."""
    message = AIMessage("", tool_calls=[SIGNED], response_metadata={"model_provider": provider})
    [call] = sent(message, ToolMessage("on", tool_call_id="c1"))[0]["tool_calls"]
    assert ("extra_content" in call) is signed


def test_the_user_may_say_more_than_the_format_has() -> None:
    """Standard blocks of one's own keep what they say beyond; translated ones keep what the format has a word for."""
    marked = {"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}}
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    own = {"type": "image", "base64": "AAAA", "mime_type": "image/png", "extras": {"cache_control": 1}}
    anthropic = {"type": "image", "source": source, "cache_control": {"type": "ephemeral"}}
    responses = {"type": "input_image", "image_url": "u", "detail": "low", "prompt_cache_breakpoint": {}}
    assert encode_messages([HumanMessage([marked, own, anthropic, responses])], OPENAI)[0]["content"] == [
        marked,
        {**picture, "cache_control": 1},
        picture,
        {"type": "image_url", "image_url": {"url": "u", "detail": "low"}},
    ]


def test_tools_of_another_side_stay_there() -> None:
    """What ran on another provider's side is left out of its replies; what a user wraps as it is passes."""
    ran: list[Any] = [
        {"type": "server_tool_call", "id": "1", "name": "search", "args": {}},
        {"type": "non_standard", "value": {"type": "container_upload", "file_id": "f"}},
        {"type": "text", "text": "found", "cache_control": {"type": "ephemeral"}},
    ]
    reply = AIMessage(ran, response_metadata={"model_provider": "anthropic"})
    assert sent(reply) == [{"role": "assistant", "content": "found"}]
    assert sent(AIMessage(ran))[0]["content"] == [ran[1]["value"], ran[2]]
    with pytest.raises(Unsupported, match="'server_tool_call'"):
        sent(HumanMessage(ran))


@pytest.mark.parametrize("kind", ["custom_tool_call", "function_call", "thinking"])
def test_what_is_no_content_is_none_in_pieces_either(kind: str) -> None:
    """Calls and reasoning that a cut stream left unreadable stay out like whole ones."""
    assert encode_messages([AIMessage([{"type": kind, "id": "x"}, "t"])], OPENAI)[0]["content"] == "t"


def test_calls_are_said_once() -> None:
    """langchain-google-genai tells the last call as a ``function_call``, too; a server refuses a message with both."""
    told = {"function_call": {"name": "lights", "arguments": "{}"}}
    written = encode_messages([AIMessage("", tool_calls=[SIGNED], additional_kwargs=told)], OPENAI)[0]
    assert "function_call" not in written and len(written["tool_calls"]) == 1
