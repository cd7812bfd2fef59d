"""OpenAI's own client, over a real server: it finds here what it finds there, and raises what it raises there."""

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.errors import BudgetExceeded, ContextLengthExceeded, InvalidReply, RateLimitError, StreamTruncated
from hocket.messages import AIMessageChunk, ToolCall
from hocket.serving import openai_app
from tests.kit import HookCall, Recorder, hook_model
from tests.serving.conftest import KEY, Serve

openai = pytest.importorskip("openai", reason="it comes with `scripts/setup dev`")

QUESTION: Any = [{"role": "user", "content": "hi"}]
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }
]
CALL = ToolCall(type="tool_call", name="add", args={"a": 1}, id="c1")
USAGE: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
WITHIN = 30


class City(BaseModel):
    name: str
    people: int


Ask = Any


@pytest.fixture
def connect(serve: Serve) -> Iterator[Any]:
    """Serve a model, and return a client of it."""
    with contextlib.ExitStack() as stack:

        def make(model: Any, **options: Any) -> Any:
            url = serve(openai_app({"m": model}, keys=KEY, **options))
            return stack.enter_context(openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=WITHIN))

        yield make


def test_an_answer(connect: Ask):
    """Whole, with usage and the request's name."""
    client = connect(ScriptedChatModel(script=[Turn(text="Hello.", usage=USAGE)]))
    reply = client.chat.completions.create(model="m", messages=QUESTION, temperature=0)
    assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == ("Hello.", "stop")
    assert (reply.usage.prompt_tokens, reply.usage.total_tokens) == (3, 5)
    assert reply._request_id.startswith("req_")


def test_a_stream_with_usage(connect: Ask):
    """In pieces; the usage is in the last one."""
    client = connect(ScriptedChatModel(script=[Turn(text="Hello there.", usage=USAGE)]))
    options = {"stream": True, "stream_options": {"include_usage": True}}
    *chunks, last = client.chat.completions.create(model="m", messages=QUESTION, **options)
    assert [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content] == [
        "Hello",
        " there.",
    ]
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert (last.choices, last.usage.total_tokens) == ([], 5)


def test_the_helper_for_streams(connect: Ask):
    """It folds what came, calls of tools included, and parses their arguments."""
    client = connect(ScriptedChatModel(script=[Turn(text="Let me see.", tool_calls=[CALL])]))
    with client.chat.completions.stream(model="m", messages=QUESTION, tools=TOOLS) as stream:
        kinds = {event.type for event in stream}
        message = stream.get_final_completion().choices[0].message
    assert {"content.delta", "tool_calls.function.arguments.done"} <= kinds
    assert message.content == "Let me see."
    (call,) = message.tool_calls
    assert (call.id, call.function.name, call.function.parsed_arguments) == ("c1", "add", {"a": 1})


def test_a_talk_with_tools(connect: Ask):
    """The client sends back what it was sent, and the model sees what it said."""
    model = ScriptedChatModel(script=[Turn(tool_calls=[CALL]), "It is 1."])
    client = connect(model)
    reply = client.chat.completions.create(model="m", messages=QUESTION, tools=TOOLS).choices[0]
    assert reply.finish_reason == "tool_calls"
    result = {"role": "tool", "tool_call_id": reply.message.tool_calls[0].id, "content": "1"}
    talk = [*QUESTION, reply.message, result]
    assert (
        client.chat.completions.create(model="m", messages=talk, tools=TOOLS).choices[0].message.content == "It is 1."
    )
    _, said, answered = model.requests[1].messages
    assert said.tool_calls == [CALL] and answered.tool_call_id == "c1"  # type: ignore[attr-defined]


def test_an_object(connect: Ask):
    """`parse` sends a schema, and reads the answer by it."""
    model = ScriptedChatModel(script=['{"name": "Oslo", "people": 700000}'])
    reply = connect(model).chat.completions.parse(model="m", messages=QUESTION, response_format=City)
    assert reply.choices[0].message.parsed == City(name="Oslo", people=700000)
    schema = model.requests[0].params["response_format"]["json_schema"]
    assert (schema["name"], schema["strict"]) == ("City", True)


def test_the_models(connect: Ask):
    client = connect(ScriptedChatModel(script=[]))
    assert [model.id for model in client.models.list()] == ["m"]
    assert client.models.retrieve("m").owned_by == "hocket"


def test_errors(connect: Ask):
    """Each raises the client's own class, with the code."""
    client = connect(ScriptedChatModel(script=[ContextLengthExceeded("too long"), RuntimeError("no")]), max_body=10_000)

    def ask(client: Any = client, model: str = "m", text: str = "hi", **fields: Any) -> Any:
        with pytest.raises(openai.APIStatusError) as error:
            client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **fields)
        return error.value

    assert (type(error := ask()), error.code) == (openai.BadRequestError, "context_length_exceeded")
    assert type(ask()) is openai.InternalServerError
    assert (type(error := ask(n=2)), error.param) == (openai.BadRequestError, "n")
    assert (type(error := ask(model="x")), error.code) == (openai.NotFoundError, "model_not_found")
    assert ask(text="x" * 10_000_000).status_code == 413
    stranger = client.with_options(api_key="not-this-one")
    assert (type(error := ask(stranger)), error.code) == (openai.AuthenticationError, "invalid_api_key")


def test_the_client_comes_again_when_it_is_told_to(connect: Ask):
    """After 429 with Retry-After, by itself."""
    model = ScriptedChatModel(script=[RateLimitError("slow down", retry_after=1), "Hello."])
    client = connect(model)
    with pytest.raises(openai.RateLimitError) as error:
        client.chat.completions.create(model="m", messages=QUESTION)
    assert error.value.response.headers["retry-after"] == "1"
    model = ScriptedChatModel(script=[RateLimitError("slow down", retry_after=1), "Hello."])
    patient = connect(model).with_options(max_retries=1)
    assert patient.chat.completions.create(model="m", messages=QUESTION).choices[0].message.content == "Hello."


@pytest.mark.parametrize("error", [RuntimeError("no"), BudgetExceeded("no more"), InvalidReply("HTML")], ids=repr)
@pytest.mark.parametrize("stream", [False, True])
def test_the_client_does_not_come_again_in_vain(connect: Ask, error: Exception, stream: bool):
    """What a chain had done would be done, and paid, once more. By itself the client asks three times."""
    model = ScriptedChatModel(script=[error] * 3)
    with pytest.raises(openai.APIStatusError):
        connect(model).with_options(max_retries=2).chat.completions.create(model="m", messages=QUESTION, stream=stream)
    assert len(model.requests) == 1


def test_a_stream_that_breaks_off_raises(connect: Ask):
    """What had come has come."""
    error = StreamTruncated("it broke off")
    client = connect(ScriptedChatModel(script=[Turn(text="one two three", error=error, error_after=2)]))
    texts: list[str] = []
    with pytest.raises(openai.APIError, match="the answer broke off"):
        for chunk in client.chat.completions.create(model="m", messages=QUESTION, stream=True):
            assert chunk.choices[0].finish_reason is None
            texts.append(chunk.choices[0].delta.content or "")
    assert "".join(texts) == "one two"


def test_a_client_that_leaves_closes_the_models_stream(connect: Ask):
    """Over real connections; handlers hear of no failure."""
    over = threading.Event()

    async def talk(_: HookCall) -> AsyncIterator[AIMessageChunk]:
        async def speak() -> AsyncIterator[AIMessageChunk]:
            try:
                yield AIMessageChunk("Hello")
                await anyio.sleep_forever()
            finally:
                over.set()

        return speak()

    recorder = Recorder("on_chat_model_start", "on_llm_end", "on_llm_error")
    client = connect(hook_model(talk, "astream", callbacks=[recorder]))
    with client.chat.completions.create(model="m", messages=QUESTION, stream=True) as stream:
        assert next(chunk for chunk in stream if chunk.choices[0].delta.content)
    assert over.wait(WITHIN)


def test_pings_are_passed_over(connect: Ask):
    """The client sees the pieces alone."""
    client = connect(ScriptedChatModel(script=[Turn(text="Hello there.", delay=0.1, pause=0.1)]), ping=0.01)
    chunks = client.chat.completions.create(model="m", messages=QUESTION, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello there."
