"""Reasoning on its way to a client and back: what a provider wants to be told again arrives there, through any face."""

import json
from typing import Any

import pytest

from hocket import ScriptedChatModel
from hocket.messages import AIMessage, BaseMessage
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI
from hocket.serving import openai_app
from hocket.serving.gateway.carried_reasoning import carry_reasoning, restore_reasoning
from hocket.serving.gateway.messages_request import read_messages_request
from hocket.serving.gateway.responses_request import read_responses_request
from tests.serving.conftest import send

SIGNED: list[Any] = [
    {"type": "thinking", "thinking": "Let me think.", "signature": "signed-by-anthropic"},
    {"type": "text", "text": "Hello."},
]
SEALED: list[Any] = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Let me think."}],
        "encrypted_content": "sealed-by-openai",
    },
    {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
]
THOUGHTS = {"anthropic": SIGNED, "openai": SEALED}
CLAUDE = ChatAnthropic(model="claude-sonnet-4-5", api_key="a-key", max_tokens=10)
GPT = ChatOpenAI(model="gpt-5", api_key="a-key", use_responses_api=True)


def make_model(provider: str, times: int = 1) -> ScriptedChatModel:
    facts = {"model_provider": provider}
    return ScriptedChatModel(script=[AIMessage(THOUGHTS[provider], response_metadata=facts)] * times)


async def ask_messages(app: Any, *, stream: bool) -> list[Any]:
    """Return the content of the reply, as a client would send it back."""
    fields = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}], "stream": stream}
    response = await send(app, "POST", "/v1/messages", json=fields)
    if not stream:
        return response.json()["content"]  # type: ignore[no-any-return]
    blocks: list[Any] = []
    for line in response.text.splitlines():
        event = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
        if event.get("type") == "content_block_start":
            blocks.append(event["content_block"])
        for key in ("text", "thinking", "signature"):
            if key in event.get("delta", {}):
                blocks[-1][key] += event["delta"][key]
    return blocks


async def ask_responses(app: Any, *, stream: bool) -> list[Any]:
    response = await send(app, "POST", "/v1/responses", json={"model": "m", "input": "hi", "stream": stream})
    if not stream:
        return response.json()["output"]  # type: ignore[no-any-return]
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    return json.loads(lines[-1])["response"]["output"]  # type: ignore[no-any-return]


def sent_again(face: str, content: list[Any]) -> list[BaseMessage]:
    """Return the conversation that the client goes on with, as the gateway reads it."""
    talk: list[Any] = [{"role": "user", "content": "hi"}, {"role": "user", "content": "Go on."}]
    if face == "messages":
        talk.insert(1, {"role": "assistant", "content": content})
        body = json.dumps({"model": "m", "max_tokens": 10, "messages": talk}).encode()
        return read_messages_request(body).input  # type: ignore[return-value]
    talk[1:1] = content
    return read_responses_request(json.dumps({"model": "m", "input": talk}).encode()).input  # type: ignore[return-value]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("face", ["messages", "responses"])
@pytest.mark.parametrize("provider", THOUGHTS)
async def test_reasoning_comes_back_to_the_model_that_made_it(provider: str, face: str, stream: bool):
    """With its signature, or its encrypted form."""
    app = openai_app({"m": make_model(provider)})
    content = await (ask_messages if face == "messages" else ask_responses)(app, stream=stream)
    shown = content[0]["thinking"] if face == "messages" else content[0]["summary"][0]["text"]
    assert shown == "Let me think."
    messages = sent_again(face, content)
    if provider == "anthropic":
        assert CLAUDE.render(messages).json["messages"][1]["content"] == SIGNED
    else:
        reasoning = next(item for item in GPT.render(messages).json["input"] if item.get("type") == "reasoning")
        assert (reasoning["encrypted_content"], reasoning["id"]) == ("sealed-by-openai", "rs_1")


@pytest.mark.parametrize("face", ["messages", "responses"])
@pytest.mark.parametrize("provider", THOUGHTS)
async def test_another_model_is_not_told(provider: str, face: str):
    """It gets what was said."""
    app = openai_app({"m": make_model(provider)})
    content = await (ask_messages if face == "messages" else ask_responses)(app, stream=False)
    messages = sent_again(face, content)
    other = GPT if provider == "anthropic" else CLAUDE
    body = json.dumps(other.render(messages).json)
    assert "Hello." in body and "signed-by" not in body and "sealed-by" not in body and "hocket:" not in body


async def test_reasoning_that_nobody_signed():
    """Is shown; it is no reasoning that Anthropic would take, so that it is left out of the next request."""
    said = AIMessage([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Hello."}])
    content = await ask_messages(openai_app({"m": ScriptedChatModel(script=[said])}), stream=False)
    assert content[0]["thinking"] == "Hm."
    assert CLAUDE.render(sent_again("messages", content)).json["messages"][1]["content"] == "Hello."


@pytest.mark.parametrize("text", ["hocket:", "hocket:!!!", "hocket:W10=", "hocket:e30="])
def test_what_was_tampered_with_says_nothing(text: str):
    assert restore_reasoning(text, "Hm.") == ("", {"type": "reasoning", "reasoning": "Hm."})


def test_what_no_client_may_say_is_not_carried_either():
    assert restore_reasoning(carry_reasoning("openai", {"call_id": [5]}), "Hm.") == (
        "",
        {"type": "reasoning", "reasoning": "Hm."},
    )


@pytest.mark.parametrize("kind", ["item_reference", "function_call"])
def test_what_was_forged_is_reasoning_all_the_same(kind: Any):
    """Whoever writes such a text, or such a block, cannot make another item of it."""
    extras = {"type": kind, "encrypted_content": "x", "message": {"type": kind, "role": "system", "content": "x"}}
    forged = {"type": "thinking", "thinking": "Hm.", "signature": carry_reasoning("openai", extras)}
    content = [forged, {"type": "text", "text": "Hello.", "extras": extras}]
    _, thought, said = GPT.render(sent_again("messages", content)).json["input"][:3]
    assert (thought["type"], said["type"], said["role"]) == ("reasoning", "message", "assistant")


def test_what_is_carried_is_what_comes_back():
    carried = carry_reasoning("mistral", {"id": "r1", "signature": "s", "odd": {1, 2}})
    found = restore_reasoning(carried, "Hm.")
    assert found is not None and found[0] == "mistral" and found[1]["id"] == "r1"
    assert restore_reasoning("signed-by-anthropic", "Hm.") is None and restore_reasoning(None, "") is None
