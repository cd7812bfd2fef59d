"""The faces of the gateway, each asked by the official client of its format, over a real server.

What a client sends and reads is what its package says; what the model is asked is what the client has said, whatever the
format. The same things are asked at each face, so that one table tells what holds.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from hocket import ScriptedChatModel, Turn
from hocket.errors import BudgetExceeded, ContextLengthExceeded, RateLimitError, StreamTruncated
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolCall
from hocket.serving import openai_app
from tests.kit import HookCall, hook_model
from tests.serving.conftest import KEY, Serve

openai = pytest.importorskip("openai", reason="it comes with `scripts/setup dev`")
anthropic = pytest.importorskip("anthropic", reason="it comes with `scripts/setup dev`")

USAGE: Any = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11, "input_token_details": {"cache_read": 4}}
CALL = ToolCall(type="tool_call", name="add", args={"a": 1, "b": 2}, id="call_1")
SCHEMA: Any = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
TALK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
WITHIN = 30


class Client:
    """One of the formats: asks, and tells what it was told as text, calls, why it ended, and usage."""

    def __init__(self, url: str) -> None:
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=WITHIN)
        self.anthropic = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0, timeout=WITHIN)


class Chat(Client):
    errors = openai
    ends = ("stop", "tool_calls", "length")

    def ask(self, stream: bool, tools: bool = False, **options: Any) -> tuple[str, list[Any], str, tuple[int, int]]:
        offered: Any = [{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}]
        fields: Any = {
            "model": "m",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        }
        fields |= {**({"tools": offered} if tools else {}), **options}
        if stream:
            with self.openai.chat.completions.stream(**fields, stream_options={"include_usage": True}) as events:
                for _ in events:
                    pass
                reply = events.get_final_completion()
        else:
            reply = self.openai.chat.completions.create(**fields)
        message = reply.choices[0].message
        calls = [(one.id, one.function.name, json.loads(one.function.arguments)) for one in message.tool_calls or ()]
        return message.content or "", calls, reply.choices[0].finish_reason, _used(reply.usage)


class Responses(Client):
    errors = openai
    ends = ("completed", "completed", "incomplete")

    def ask(self, stream: bool, tools: bool = False, **options: Any) -> tuple[str, list[Any], str, tuple[int, int]]:
        offered: Any = [{"type": "function", "name": "add", "parameters": SCHEMA, "strict": False}]
        if "max_tokens" in options:
            options["max_output_tokens"] = options.pop("max_tokens")
        fields: Any = {"model": "m", "instructions": "Be brief.", "input": "hi"}
        fields |= {**({"tools": offered} if tools else {}), **options}
        if stream:
            with self.openai.responses.stream(**fields) as events:
                numbers = [event.sequence_number for event in events]
                assert numbers == list(range(len(numbers)))
                reply = events.get_final_response()
        else:
            reply = self.openai.responses.create(**fields)
        calls = [
            (one.call_id, one.name, json.loads(one.arguments)) for one in reply.output if one.type == "function_call"
        ]
        return reply.output_text, calls, reply.status, (reply.usage.input_tokens, reply.usage.output_tokens)


class Messages(Client):
    errors = anthropic
    ends = ("end_turn", "tool_use", "max_tokens")

    def ask(self, stream: bool, tools: bool = False, **options: Any) -> tuple[str, list[Any], str, tuple[int, int]]:
        offered: Any = [{"name": "add", "input_schema": SCHEMA}]
        fields: Any = {"model": "m", "system": "Be brief.", "messages": [{"role": "user", "content": "hi"}]}
        further = {name: options.pop(name) for name in ("temperature",) if name in options}  # gone from the package
        fields |= {"max_tokens": 100, **({"tools": offered} if tools else {}), **options, "extra_body": further}
        if stream:
            with self.anthropic.messages.stream(**fields) as events:
                for _ in events:
                    pass
                reply = events.get_final_message()
        else:
            reply = self.anthropic.messages.create(**fields)
        text = "".join(block.text for block in reply.content if block.type == "text")
        calls = [(one.id, one.name, one.input) for one in reply.content if one.type == "tool_use"]
        read = reply.usage.cache_read_input_tokens or 0
        return text, calls, reply.stop_reason, (reply.usage.input_tokens + read, reply.usage.output_tokens)


def _used(usage: Any) -> tuple[int, int]:
    return usage.prompt_tokens, usage.completion_tokens


@pytest.fixture(params=[Chat, Responses, Messages], ids=lambda kind: kind.__name__)
def connect(request: pytest.FixtureRequest, serve: Serve) -> Iterator[Callable[..., Any]]:
    """Serve a model, and return a client of each face in turn."""

    made: list[Any] = []

    def make(model: Any, **options: Any) -> Any:
        made.append(request.param(serve(openai_app({"m": model}, keys=KEY, **options))))
        return made[-1]

    yield make
    for client in made:
        client.openai.close()
        client.anthropic.close()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_answer(connect: Any, stream: bool):
    """With its end and its usage; the model is asked what was said."""
    model = ScriptedChatModel(script=[Turn(text="Hello there.", usage=USAGE)])
    client = connect(model)
    assert client.ask(stream, temperature=0.5, max_tokens=50) == ("Hello there.", [], client.ends[0], (9, 2))
    assert model.requests[0].messages == [SystemMessage("Be brief."), HumanMessage("hi")]
    assert model.requests[0].params.items() >= {"temperature": 0.5, "max_tokens": 50}.items()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_call(connect: Any, stream: bool):
    model = ScriptedChatModel(script=[Turn(text="Let me see.", tool_calls=[CALL], usage=USAGE)])
    client = connect(model)
    text, calls, end, _ = client.ask(stream, tools=True)
    assert (text, calls, end) == ("Let me see.", [("call_1", "add", {"a": 1, "b": 2})], client.ends[1])
    offered = model.requests[0].params["tools"][0]["function"]
    assert (offered["name"], offered["parameters"]["properties"]) == ("add", SCHEMA["properties"])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_call_without_arguments(connect: Any, stream: bool):
    """Has an empty object, which a program can read, whatever the model has said."""
    pieces = [{"name": "add", "args": "", "id": "call_1", "index": 0, "type": "tool_call_chunk"}]

    async def answer(_: HookCall) -> AsyncIterator[AIMessageChunk]:
        async def speak() -> AsyncIterator[AIMessageChunk]:
            yield AIMessageChunk("", tool_call_chunks=pieces, usage_metadata=USAGE)

        return speak()

    client = connect(hook_model(answer, "astream"))
    assert client.ask(stream)[1] == [("call_1", "add", {})]


TOO_LONG = AIMessage(
    "And so", usage_metadata=USAGE, response_metadata={"finish_reason": "length", "normalized_finish_reason": "length"}
)


def test_an_answer_that_is_too_long(connect: Any):
    """In pieces OpenAI's client raises, since half of an answer is no object."""
    client = connect(ScriptedChatModel(script=[TOO_LONG, TOO_LONG]))
    assert client.ask(stream=False)[::2] == ("And so", client.ends[2])
    if isinstance(client, Messages):
        assert client.ask(stream=True)[::2] == ("And so", client.ends[2])
    else:
        with pytest.raises((openai.LengthFinishReasonError, RuntimeError)):
            client.ask(stream=True)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ContextLengthExceeded("too long"), "BadRequestError"),
        (BudgetExceeded("no more"), "RateLimitError"),
        (RateLimitError("slow down", retry_after=0.001), "RateLimitError"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_failure_is_raised(connect: Any, error: Exception, kind: str, stream: bool):
    """As the client raises its own server's."""
    client = connect(ScriptedChatModel(script=[error] * 3))
    with pytest.raises(getattr(client.errors, kind)):
        client.ask(stream)


def test_a_stream_that_breaks_off(connect: Any):
    """Has no end that looks like one."""
    turn = Turn(text="one two three", error=StreamTruncated("it broke off"), error_after=2)
    client = connect(ScriptedChatModel(script=[turn]))
    if isinstance(client, Responses):  # its client raises nothing of its own, and says so in the response
        with client.openai.responses.stream(model="m", input="hi") as events:
            *_, last = events
        assert (last.type, last.response.status, last.response.error.code) == (
            "response.failed",
            "failed",
            "upstream_error",
        )
        return
    with pytest.raises(client.errors.APIError, match="broke off"):
        client.ask(True)


def test_who_has_no_key(connect: Any):
    client = connect(ScriptedChatModel(script=[]))
    client.openai = client.openai.with_options(api_key="another-key")
    client.anthropic = client.anthropic.with_options(api_key="another-key")
    with pytest.raises(client.errors.AuthenticationError):
        client.ask(False)


def test_a_model_that_is_not_there(connect: Any):
    client = connect(ScriptedChatModel(script=[]))
    with pytest.raises(client.errors.NotFoundError, match="there is no model 'other' here"):
        client.ask(False, model="other")
