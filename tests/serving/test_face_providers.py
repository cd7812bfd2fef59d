"""Every face in front of every provider: a talk with a tool, by the official client, over the provider's own wire.

The client asks, is told what the model thinks and calls, sends the result back, and is told the answer. What arrives at
the provider's server is checked by that server, which refuses what the real one would.
"""

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx2
import pytest

from hocket.serving import openai_app
from hocket.testing import Reply, serve
from hocket.testing.server import Server
from tests.kit.providers import PROVIDERS

openai = pytest.importorskip("openai", reason="it comes with `scripts/setup dev`")
anthropic = pytest.importorskip("anthropic", reason="it comes with `scripts/setup dev`")

SCHEMA: Any = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SCRIPT = [
    Reply(
        "Let me look.",
        reasoning="The weather is asked for.",
        tool_calls=[{"name": "weather", "args": {"city": "Oslo"}}],
    ),
    Reply("It rains."),
]
EXTRAS: Any = {"temperature": 1}  # which asks for nothing


@pytest.fixture(params=PROVIDERS)
def upstream(request: pytest.FixtureRequest) -> Iterator[tuple[str, Server]]:
    with serve(PROVIDERS[request.param].format, SCRIPT) as server:
        yield request.param, server


async def talk_by_chat(http: httpx2.AsyncClient, stream: bool) -> tuple[str, str]:
    client = openai.AsyncOpenAI(base_url="http://test/v1", api_key="a-key", http_client=http, max_retries=0)
    tools = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
    talk: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Oslo?"}]

    async def ask() -> Any:
        fields: Any = {"model": "m", "messages": talk, "tools": tools, **EXTRAS}
        if not stream:
            return (await client.chat.completions.create(**fields)).choices[0].message
        async with client.chat.completions.stream(**fields) as events:
            return (await events.get_final_completion()).choices[0].message

    said = await ask()
    (call,) = said.tool_calls
    assert json.loads(call.function.arguments) == {"city": "Oslo"} and call.function.name == "weather"
    talk += [said, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
    return said.content, (await ask()).content


async def talk_by_responses(http: httpx2.AsyncClient, stream: bool) -> tuple[str, str]:
    client = openai.AsyncOpenAI(base_url="http://test/v1", api_key="a-key", http_client=http, max_retries=0)
    tools: Any = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
    talk: list[Any] = [{"role": "user", "content": "Weather in Oslo?"}]

    async def ask() -> Any:
        further: Any = {"store": False, "include": ["reasoning.encrypted_content"], **EXTRAS}
        fields: Any = {"model": "m", "instructions": "Be brief.", "input": talk, "tools": tools, **further}
        if not stream:
            return await client.responses.create(**fields)
        async with client.responses.stream(**fields) as events:
            return await events.get_final_response()

    said = await ask()
    (call,) = [item for item in said.output if item.type == "function_call"]
    assert json.loads(call.arguments) == {"city": "Oslo"} and call.name == "weather"
    talk += [item.model_dump(exclude_none=True) for item in said.output]
    talk.append({"type": "function_call_output", "call_id": call.call_id, "output": "rain"})
    return said.output_text, (await ask()).output_text


async def talk_by_messages(http: httpx2.AsyncClient, stream: bool) -> tuple[str, str]:
    client = anthropic.AsyncAnthropic(base_url="http://test", api_key="a-key", http_client=http, max_retries=0)
    mark = {"cache_control": {"type": "ephemeral"}}
    tools: Any = [{"name": "weather", "input_schema": SCHEMA, **mark}]
    talk: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?", **mark}]}]

    async def ask() -> Any:
        further: Any = {"max_tokens": 2000, "thinking": {"type": "adaptive"}, "extra_body": EXTRAS}
        system = [{"type": "text", "text": "Be brief.", **mark}]
        fields: Any = {"model": "m", "system": system, "messages": talk, "tools": tools, **further}
        if not stream:
            return await client.messages.create(**fields)
        async with client.messages.stream(**fields) as events:
            return await events.get_final_message()

    def text_of(reply: Any) -> str:
        return "".join(block.text for block in reply.content if block.type == "text")

    said = await ask()
    (call,) = [block for block in said.content if block.type == "tool_use"]
    assert call.input == {"city": "Oslo"} and call.name == "weather" and said.stop_reason == "tool_use"
    talk.append({"role": "assistant", "content": said.content})
    talk.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "rain"}]})
    return text_of(said), text_of(await ask())


TALKS: dict[str, Callable[[httpx2.AsyncClient, bool], Awaitable[tuple[str, str]]]] = {
    "chat": talk_by_chat,
    "responses": talk_by_responses,
    "messages": talk_by_messages,
}


@pytest.mark.one_of(2)  # each provider at each face, in one of two ways
@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)  # OpenAI's client leaves streams open on trio
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("face", TALKS)
async def test_a_talk_with_a_tool(upstream: tuple[str, Server], face: str, stream: bool):
    """The same at each face, whoever answers."""
    name, server = upstream
    model = PROVIDERS[name].make(model="some-model", base_url=server.url, api_key="a-key-of-theirs")
    app = openai_app({"m": model})
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:
        assert await TALKS[face](http, stream) == ("Let me look.", "It rains.")
    assert len(server.requests) == 2 and not server.problems
    again = json.dumps(server.requests[1].json)
    assert "rain" in again and "Be brief." in again and "hocket:" not in again
