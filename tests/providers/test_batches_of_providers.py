"""Lines of batches, at all providers: what goes out is the body of a call, and what comes back its reply."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hocket import AIMessage, ChatCohere, ChatOllama, HumanMessage, SystemMessage, ToolMessage
from hocket.errors import HocketError
from hocket.http.json_lines import JSONLines
from hocket.http.request import HTTPReply, json_bytes
from hocket.remote import RemoteChatModel
from hocket.remote.batch_api import BatchAPI, BatchState
from hocket.testing import ReceivedRequest
from hocket.testing.server.submitted_batch import SubmittedRow
from tests.kit.batch_recordings import load_steps
from tests.kit.odd_values import spoil
from tests.kit.providers import PROVIDERS
from tests.kit.recordings import load_recordings, reply_in

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "openai": "openai_chat",
    "openai_responses": "openai_responses",
    "anthropic": "anthropic",
    "google": "gemini",
    "mistral": "mistral",
}
"""The providers with batches, and their recordings."""

ANSWERS = {
    (provider, name): reply_in(case)
    for provider, folder in FOLDERS.items()
    for name, case in load_recordings(folder).items()
    if isinstance(case["response"], dict) and isinstance(case["response"].get("body"), dict)
}
PICTURE = {"type": "image", "base64": "SGVsbG8sIHdvcmxkIQ==", "mime_type": "image/png"}
SCHEMA = {
    "type": "object",
    "properties": {"stadt": {"type": "string"}},
    "required": ["stadt"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Wie ist es in …?", "parameters": SCHEMA}}
CALL: Any = {"type": "tool_call", "name": "weather", "args": {"stadt": "Köln"}, "id": "abcdefghi"}
ROWS: dict[str, tuple[Any, dict[str, Any]]] = {
    "text": ("Grüße, 世界 🌍", {}),
    "line ends": ("a\nb\r\nc\u2028d\u2029e\x85f\x00g", {}),
    "half a pair": ("a\ud800b", {}),
    "instructions": ([SystemMessage("Be brief."), HumanMessage("hi"), AIMessage("ho"), HumanMessage("hi?")], {}),
    "picture": ([HumanMessage([{"type": "text", "text": "What is it?"}, PICTURE])], {}),
    "tools": ("Wie ist es in Köln?", {"tools": [TOOL], "tool_choice": "weather"}),
    "results": (
        [HumanMessage("?"), AIMessage("", tool_calls=[CALL]), ToolMessage("☀", tool_call_id="abcdefghi")],
        {"tools": [TOOL]},
    ),
    "schema": ("hi", {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}}),
    "options": ("hi", {"temperature": 0.1, "max_tokens": 30_000}),
    "further": ("hi", {"extra_body": {"custom_id": "x", "body": {"url": [1e300, -0.0, 12345678901234567890]}}}),
}


def make(provider: str, **fields: Any) -> RemoteChatModel:
    return PROVIDERS[provider].make(model="m", api_key="k", **fields)


def encode(model: RemoteChatModel, asked: Any, options: dict[str, Any]) -> tuple[BatchAPI, bytes]:
    """The endpoint for a row, and its line."""
    request = model._preview(asked, None, options, stream=False)
    api = model._batch_api(request)
    assert api is not None
    return api, api.encode_line("hk1-0", request.content)


def body_in(line: bytes) -> tuple[str, Any]:
    """The id, and the body, of a line."""
    data = json.loads(line)
    [body] = [data[name] for name in ("body", "params", "request") if name in data]
    return data.get("custom_id") or data["key"], body


def check(provider: str, asked: Any, **options: Any) -> None:
    model = make(provider)
    live = model.render(asked, **options).json
    api, line = encode(model, asked, dict(options))
    id, body = body_in(line)
    if provider == "mistral":
        assert "model" not in body and api.create("hk1", [line], "f").json["model"] == live["model"]
        body = {"model": live["model"], **body}
    assert (id, body) == ("hk1-0", live)
    assert "stream" not in body or body["stream"] is False
    assert line.endswith(b"\n") and JSONLines().feed(line * 2) == [line[:-1]] * 2


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("provider", FOLDERS)
def test_a_line_has_the_body_of_a_call(provider: str, row: str) -> None:
    """The one that `render` shows: no stream, though the answer be a long one."""
    asked, options = ROWS[row]
    check(provider, asked, **options)


@settings(max_examples=50)
@given(st.sampled_from([*FOLDERS]), st.text(min_size=1), st.text(min_size=1).filter(str.strip))
def test_any_text_is_one_line(provider: str, system: str, asked: str) -> None:
    check(provider, [SystemMessage(system), HumanMessage(asked)])


@pytest.mark.parametrize("provider", FOLDERS)
def test_what_streams_live_does_not_in_a_batch(provider: str) -> None:
    """It is what the request says of the answer that counts, not what the model is made with."""
    model = make(provider, streaming=True)
    assert body_in(encode(model, "hi", {})[1]) == body_in(encode(make(provider), "hi", {})[1])


def outcome_of(model: RemoteChatModel, reply: HTTPReply) -> Any:
    """What a reply makes: an answer, as data, or an error."""
    try:
        if reply.status >= 300:
            raise model._read_failure(reply, ())
        return [generation.message.model_dump() for generation in model._decode(reply).generations]
    except HocketError as error:
        return type(error), error.message


@pytest.mark.parametrize(("provider", "name"), ANSWERS)
def test_a_result_is_read_as_a_live_reply_is(provider: str, name: str) -> None:
    """Answers and refusals that were recorded, put into a line as the provider does."""
    model, live, words = make(provider), ANSWERS[provider, name], PROVIDERS[provider].format.batches
    assert words is not None
    data, asked = json.loads(live.content), ReceivedRequest("POST", "/", "", {}, b"")
    api, _ = encode(model, "hi", {})
    id, reply = api.read_line(words.write_row(SubmittedRow(0, "hk1-0", asked, "answered", live.status, data)))
    if provider == "google" and live.status == 504:  # the deadline of a row is the batch's
        assert reply is None
        return
    assert id == "hk1-0" and reply is not None
    found, expected = outcome_of(model, reply), outcome_of(model, HTTPReply(live.status, {}, json_bytes(data)))
    if isinstance(found, list):
        for message in found:
            message["response_metadata"].pop("request_id", None)  # that of the row
    assert found == expected


@pytest.mark.parametrize("provider", FOLDERS)
def test_a_reply_about_a_batch_may_have_any_shape(provider: str) -> None:
    """What is made of it is a state that can be used, or it is said to be unreadable."""
    draw, (api, _) = random.Random(provider), encode(make(provider), "hi", {})
    for name, step in load_steps(provider).items():
        if name in ("upload", "results", "errors"):
            continue
        for data in [step.data, *spoil(step.data, draw, 60)]:
            try:
                states = api.read_list(data, None)[0] if name == "list" else [api.read_state(data)]
            except (KeyError, TypeError, AttributeError, ValueError):
                continue
            for state in states:
                assert isinstance(state, BatchState) and state.state in ("running", "ended", "failed")
                assert isinstance(state.total + state.done + state.created_at, int | float)
                assert isinstance(state.word + state.message + state.id, str)


@pytest.mark.parametrize("provider", FOLDERS)
def test_a_line_may_have_any_shape(provider: str) -> None:
    """It is a row's reply, or it is said to be unreadable."""
    draw, steps, (api, _) = random.Random(provider), load_steps(provider), encode(make(provider), "hi", {})
    lines = [line for name in ("results", "errors") if name in steps for line in steps[name].lines]
    for data in [odd for line in lines for odd in spoil(line, draw, 40)]:
        try:
            _, reply = api.read_line(data)
        except (KeyError, TypeError, AttributeError, ValueError):
            continue
        assert reply is None or isinstance(reply, HTTPReply)


@pytest.mark.parametrize("model", [ChatOllama(model="m"), ChatCohere(model="m", api_key="k")], ids=str)
def test_some_have_none(model: RemoteChatModel) -> None:
    """Cohere's batches are for vectors alone."""
    assert model._batch_api(model._preview("hi", None, {}, stream=False)) is None


def test_a_live_call_loads_nothing_of_it() -> None:
    """In a process of its own, which asks each provider."""
    code = f"""
import anyio, sys
from hocket.testing import Reply, serve
from tests.kit.providers import PROVIDERS

async def ask(provider):
    async with serve(provider.format, [Reply(text="ho")]) as server:
        await provider.make(model="m", api_key="k", base_url=server.url).ainvoke("hi")

for name in {[*FOLDERS]}:
    anyio.run(ask, PROVIDERS[name])
print(*(name for name in sys.modules if name.startswith(("hocket.remote.", "hocket.providers.", "hocket.batch"))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = done.stdout.split()
    assert "hocket.providers.google.chat_model" in loaded and "hocket.remote.chat_model" in loaded
    assert [name for name in loaded if "batch" in name] == []
