"""What holds at every face of the gateway alike: bodies, hosts and clients that are odd, slow, or gone.

Chat completions have tests of their own for each of these; here one table goes over all faces, since each reads its own
format. A face that is added stands in `FACES`, and nowhere else.
"""

import json
import random
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings, strategies as st

from hocket import Embeddings, ScriptedChatModel
from hocket.errors import InvalidRequest, ProviderUnavailable, StreamTruncated
from hocket.messages import AIMessageChunk
from hocket.serving import openai_app
from hocket.serving.gateway.chat_request import read_chat_request
from hocket.serving.gateway.completions import COMPLETIONS
from hocket.serving.gateway.messages_request import read_count_request, read_messages_request
from hocket.serving.gateway.responses_request import read_responses_request
from hocket.serving.refusals import Refusal
from hocket.testing import virtual_clock
from tests.kit import HookCall, RawClient, body, hook_model
from tests.kit.amount import RUNS_ALL, limit_examples
from tests.serving.conftest import HEADERS, KEY, send
from tests.serving.silence import Silence

TALK = [{"role": "user", "content": "hi"}]
ANSWERS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "m", "messages": TALK},
    "/v1/completions": {"model": "m", "prompt": "hi"},
    "/v1/responses": {"model": "m", "input": "hi"},
    "/v1/messages": {"model": "m", "max_tokens": 9, "messages": TALK},
}
OTHERS: dict[str, dict[str, Any]] = {
    "/v1/messages/count_tokens": {"model": "m", "messages": TALK},
    "/v1/embeddings": {"model": "e", "input": "hi"},
}
FACES = ANSWERS | OTHERS
READERS = {
    "/v1/chat/completions": read_chat_request,
    "/v1/completions": COMPLETIONS.read,
    "/v1/responses": read_responses_request,
    "/v1/messages": read_messages_request,
    "/v1/messages/count_tokens": read_count_request,
}
SECRET = "http://10.0.0.5:8000/v1 of team blue"
WITHIN = 30  # seconds; nothing here takes one, unless the machine is very busy

of_faces = pytest.mark.parametrize("path", FACES)
of_answers = pytest.mark.parametrize("path", ANSWERS)
of_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


class Vectors(Embeddings):
    """Makes a vector of each text, once it may."""

    def __init__(self, *, may_go_on: bool = True) -> None:
        self.may_go_on = may_go_on
        self.began, self.over = anyio.Event(), anyio.Event()

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.began.set()
        try:
            if not self.may_go_on:
                await anyio.sleep_forever()
        finally:
            self.over.set()
        return [[1.0]] * len(texts)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0]] * len(texts)

    def embed_query(self, text: str) -> list[float]:
        return [1.0]


def make_app(**options: Any) -> Any:
    return openai_app({"m": ScriptedChatModel(script=["Hello."] * 9), "e": Vectors()}, **options)


def make_client(path: str, *events: Any, **fields: Any) -> RawClient:
    """Return a client that asks at a face, or sends ``events`` instead."""
    sent = events or (body(json.dumps({**FACES[path], **fields}).encode()),)
    return RawClient(*sent, path=path, headers=HEADERS)


async def ask(path: str, app: Any = None, **fields: Any) -> Any:
    return await send(app or make_app(), "POST", path, json={**FACES[path], **fields})


@of_faces
async def test_it_answers(path: str):
    """As it is asked in all that follows."""
    response = await ask(path)
    assert response.status_code == 200, response.text


# -- bodies


@of_faces
async def test_a_body_that_is_too_large(path: str):
    """Is refused before all of it has come."""
    client = make_client(path, *[body(b"x" * 100, is_last=False)] * 100)
    await client.ask(make_app(max_body=1000))
    assert client.status == 413 and b"1,000 bytes" in client.body and 40 < len(client.events) < 60


@of_faces
async def test_a_body_that_does_not_end(path: str):
    """Is refused after a minute."""
    client = make_client(path, body(b'{"model": "m"', is_last=False))
    with virtual_clock() as clock:
        await client.ask(make_app())
        assert clock.now() == 60
    assert client.status == 408


@of_faces
@pytest.mark.parametrize("header", [(b"content-type", b"text/plain"), (b"content-encoding", b"gzip"), None])
async def test_a_body_that_is_no_json_by_its_headers(path: str, header: tuple[bytes, bytes] | None):
    client = make_client(path)
    client.scope["headers"] = [] if header is None else [header, *(HEADERS if header[0] != HEADERS[0][0] else [])]
    await client.ask(make_app())
    assert client.status == 415


ODD: list[Any] = [5, 1.5, True, "x", "", [], [5], [[]], {}, {"type": 5}, {"a": {}}, [None], ["x", 5], [{"type": "x"}]]


@of_faces
async def test_fields_of_other_types(path: str):
    """Each field in turn, and each that any face knows: refused by its name, or taken; no mistake of ours.

    At each change a third of the values for each field and face, and each value for each field at two faces.
    """
    known = {name for fields in FACES.values() for name in fields} | {
        *("stream", "stream_options", "tools", "tool_choice", "stop", "stop_sequences", "system", "instructions"),
        *("metadata", "response_format", "text", "reasoning", "n", "dimensions", "encoding_format", "output_config"),
        *("max_output_tokens", "parallel_tool_calls", "thinking", "context_management", "include", "echo", "suffix"),
    }
    app = openai_app({"m": ScriptedChatModel(script=["Hello."] * 2000), "e": Vectors()})
    first = [*FACES].index(path) % 3
    for at, name in enumerate(sorted(known)):
        for value in ODD if RUNS_ALL else ODD[(first + at) % 3 :: 3]:
            response = await ask(path, app, **{name: value})
            assert response.status_code in (200, 400, 404), (name, value, response.text)
            assert response.status_code == 200 or len(response.content) < 1_000


def _spoil(value: Any, odd: Any, at: random.Random) -> Any:
    """Return a value with one of its parts, of any depth, replaced or left out."""
    if isinstance(value, dict) and value and at.random() < 0.9:
        name = at.choice(list(value))
        if at.random() < 0.2:
            return {key: one for key, one in value.items() if key != name}
        return {**value, name: _spoil(value[name], odd, at)}
    if isinstance(value, list) and value and at.random() < 0.9:
        place = at.randrange(len(value))
        return [*value[:place], _spoil(value[place], odd, at), *value[place + 1 :]]
    return odd


PARTS: list[Any] = [
    {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}},
    {"type": "input_text", "text": "hi"},
    {"type": "tool_use", "id": "c1", "name": "add", "input": {}},
    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "1"}]},
    {"type": "thinking", "thinking": "Hm.", "signature": "hocket:e30="},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
]
ITEMS: list[Any] = [
    {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "1"},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
    {"role": "user", "content": PARTS},
    {"role": "assistant", "content": PARTS, "tool_calls": [{"id": "c1", "function": {"name": "a", "arguments": "{}"}}]},
    {"role": "system", "content": "Be brief."},
]
FULL: dict[str, Any] = {
    "messages": ITEMS[4:],
    "input": ITEMS,
    "system": PARTS[:1],
    "tools": [
        {"type": "function", "name": "add", "function": {"name": "add", "parameters": {"type": "object"}}},
        {"name": "add", "input_schema": {"type": "object"}, "cache_control": {}},
    ],
    "text": {"format": {"type": "json_schema", "name": "x", "schema": {}}, "verbosity": "low"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}},
    "metadata": {"user_id": "u"},
}


@pytest.mark.parametrize("path", READERS)
@settings(max_examples=limit_examples(300))
@given(seed=st.integers(0, 2**32), odd=st.sampled_from([*ODD, None, "\ud800x"[1:], 10**30, -1]))
def test_any_body_is_read_or_refused(path: str, seed: int, odd: Any):
    """Bodies that are right but for one place, however deep: the reader raises nothing but a refusal, and a short one."""
    at = random.Random(seed)
    full = {name: value for name, value in FULL.items() if name not in FACES[path] or at.random() < 0.8}
    data = json.dumps(_spoil({**FACES[path], **full}, odd, at)).encode()
    try:
        READERS[path](data)
    except Refusal as refusal:
        assert refusal.status == 400 and len(refusal.body()) < 1_000


@of_faces
async def test_long_names_are_cut_in_errors(path: str):
    """Nothing of a client's comes back whole, whatever place it stands in."""
    long = "x" * 100_000
    app = make_app()
    for fields in (
        {"model": long},
        {long: 1},
        {"messages": [{"role": long, "content": "a"}]},
        {"input": [{"type": long}]},
        {"prompt": [long, long]},
        {"tools": [{"type": long, "name": long}]},
        {"tools": [{"type": "function", "name": long}], "tool_choice": long},
        {"encoding_format": long},
    ):
        response = await ask(path, app, **fields)
        assert response.status_code in (200, 400, 404) and len(response.content) < 2_500, (fields.keys(), response.text)


# -- who asks, and from where


@of_faces
async def test_who_has_no_key(path: str):
    """Is told so before the body is read."""
    client = make_client(path, body(b"{", is_last=False))
    await client.ask(make_app(keys=KEY))
    assert client.status == 401 and len(client.events) == 1 and client.headers["www-authenticate"] == "Bearer"


@of_faces
@pytest.mark.parametrize("name", [b"host", b"origin"])
async def test_a_page_of_another_host(path: str, name: bytes):
    """Has no way to a gateway without keys on this machine."""
    client = make_client(path)
    client.scope |= {"server": ("127.0.0.1", 8000)}
    named = {b"host": b"127.0.0.1:8000", name: b"evil.example" if name == b"host" else b"https://evil.example"}
    client.scope["headers"] = [*HEADERS, *named.items()]
    await client.ask(make_app())
    assert client.status == 403


@of_faces
async def test_other_methods(path: str):
    response = await send(make_app(), "GET", path)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


# -- failures


@of_answers
@of_ways
async def test_the_words_of_a_models_server_stay_inside(path: str, stream: bool):
    """Whether it fails at once, or in the middle."""

    def refuse(_: HookCall) -> object:
        raise InvalidRequest(f"no such option at {SECRET}")

    async def break_off(_: HookCall) -> AsyncIterator[AIMessageChunk]:
        async def speak() -> AsyncIterator[AIMessageChunk]:
            yield AIMessageChunk("Hello")
            raise StreamTruncated(f"{SECRET} closed the connection")

        return speak()

    def be_away(_: HookCall) -> object:
        raise ProviderUnavailable(f"{SECRET} is down", retryable=False)

    for model in (hook_model(refuse), hook_model(be_away), hook_model(break_off, "astream")):
        response = await ask(path, openai_app({"m": model}), stream=stream)
        assert "error" in response.text and "10.0.0.5" not in response.text + str(response.headers), response.text


async def test_the_words_of_a_server_of_vectors_stay_inside():
    class Broken(Vectors):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            raise ProviderUnavailable(f"{SECRET} is down", retryable=False)

    response = await ask("/v1/embeddings", openai_app({"e": Broken()}))
    assert response.status_code == 503 and "10.0.0.5" not in response.text


# -- clients that leave


@of_answers
@of_ways
async def test_a_client_that_leaves_in_the_middle(path: str, stream: bool):
    """Has its call cancelled, and no end is made up."""
    silence = Silence()
    client = make_client(path, stream=stream)
    app = openai_app({"m": silence.model}, metrics=True)
    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as group:
            group.start_soon(client.ask, app)
            await silence.began.wait()
            while stream and b"Hello" not in client.body:
                await anyio.lowlevel.checkpoint()
            client.left.set()
    assert silence.over.is_set() and silence.recorder.end == ("on_llm_end closed" if stream else "on_llm_error")
    if not stream:
        assert client.got == []
    for word in (b"[DONE]", b"message_stop", b"response.completed", b"response.failed", b"event: error", b'"error":{'):
        assert word not in client.body
    metrics = (await send(app, "GET", "/metrics")).text
    assert 'hocket_requests_total{model="m",status="499"} 1\n' in metrics and "_in_progress 0\n" in metrics


async def test_a_client_that_leaves_its_vectors():
    """Has the call cancelled, too."""
    vectors = Vectors(may_go_on=False)
    client = make_client("/v1/embeddings")
    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as group:
            group.start_soon(client.ask, openai_app({"e": vectors}))
            await vectors.began.wait()
            client.left.set()
    assert vectors.over.is_set() and client.got == []


@of_faces
async def test_a_client_that_leaves_within_its_request(path: str):
    """Nobody is asked."""
    silence, vectors = Silence(), Vectors()
    client = make_client(path, body(b'{"model": "m"', is_last=False))
    client.left.set()
    with anyio.fail_after(WITHIN):
        await client.ask(openai_app({"m": silence.model, "e": vectors}))
    assert client.got == [] and not silence.began.is_set() and not vectors.began.is_set()


@of_answers
@pytest.mark.parametrize("at", range(4))
async def test_a_server_that_says_by_an_error_that_the_client_has_gone(path: str, at: int):
    """At any piece that it is sent."""

    async def refuse(_: Any) -> None:
        if len(client.got) > at:
            raise ConnectionResetError("the client has gone")

    silence = Silence()
    client = make_client(path, stream=True)
    client.taken = refuse
    with virtual_clock():  # a ping at the latest finds out
        await client.ask(openai_app({"m": silence.model}))
    assert silence.over.is_set() and len(client.got) == at + 1
