"""Requests that go on as they came: which do, what arrives, what comes back, and that all of a model's promises hold."""

import json
from typing import Any

import anyio
import pytest

from hocket.budgets import Budget
from hocket.caches import InMemoryCache
from hocket.callbacks import BaseCallbackHandler
from hocket.ledger import SQLiteLedger
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI
from hocket.remote.relay import Relay, RelayDecoder
from hocket.serving import openai_app
from hocket.serving.gateway.messages_reply import MESSAGES
from hocket.testing import Hangup, Reply, Status, Stream, serve
from hocket.testing.server import Body, Server
from tests.kit import RawClient, body
from tests.kit.providers import PROVIDERS
from tests.serving.conftest import HEADERS, question, read_events, send

CHAT = "/v1/chat/completions"
FORMATS = {"openai": CHAT, "openai_responses": "/v1/responses", "anthropic": "/v1/messages"}
BODIES: dict[str, Any] = {
    CHAT: question(),
    "/v1/responses": {"model": "m", "input": "hi"},
    "/v1/messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
}


def make_model(name: str, server: Server, **fields: Any) -> Any:
    return PROVIDERS[name].make(**{"model": "theirs", "base_url": server.url, "api_key": "a-key-of-theirs", **fields})


@pytest.fixture(params=FORMATS)
def upstream(request: pytest.FixtureRequest) -> Any:
    with serve(PROVIDERS[request.param].format, Reply("Hello there.", reasoning="Hm.")) as server:
        yield request.param, server


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_what_goes_on_and_what_comes_back(upstream: Any, stream: bool):
    """The body as it was but for the model's name; and the bytes of the reply."""
    name, server = upstream
    path = FORMATS[name]
    app = openai_app({"m": make_model(name, server)}, metrics=True)
    body = {**BODIES[path], "top_p": 0.25, "stream": stream}
    response = await send(app, "POST", path, json=body)
    assert (response.status_code, response.headers["x-hocket-path"]) == (200, "pass"), response.text
    sent = server.requests[0]
    expected = {**body, "model": "theirs"}
    expected |= {"stream_options": {"include_usage": True}} if stream and name == "openai" else {}
    assert sent.json == expected and sent.headers["authorization" if "openai" in name else "x-api-key"]
    assert "Hello" in response.text and "theirs" in response.text  # the server's own name for the model
    assert 'hocket_tokens_total{model="m",type="output"}' in (await send(app, "GET", "/metrics")).text


async def test_usage_that_the_client_has_not_asked_for_is_not_told(gpt: Server):
    """Some clients take each event for a piece of the answer; but it is counted."""
    app = openai_app({"m": make_model("openai", gpt)}, metrics=True)
    events = read_events((await send(app, "POST", CHAT, json=question(stream=True))).text)
    assert all(event["choices"] for event in events[:-1]) and events[-1] == "[DONE]"
    options = {"include_usage": True}
    events = read_events((await send(app, "POST", CHAT, json=question(stream=True, stream_options=options))).text)
    assert events[-2]["choices"] == [] and events[-2]["usage"]["total_tokens"] > 0
    metrics = (await send(app, "GET", "/metrics")).text
    assert 'hocket_tokens_total{model="m",type="output"} 2' in metrics


class Handler(BaseCallbackHandler):
    pass


@pytest.mark.parametrize(
    "fields",
    [{"temperature": 0.5}, {"cache": InMemoryCache()}, {"callbacks": [Handler()]}, {"disable_streaming": True}],
    ids=["options", "cache", "handlers", "no streams"],
)
async def test_where_hocket_has_something_to_do_it_is_translated(gpt: Server, fields: dict[str, Any]):
    app = openai_app({"m": make_model("openai", gpt, **fields)})
    response = await send(app, "POST", CHAT, json=question())
    assert response.status_code == 200 and "x-hocket-path" not in response.headers


async def test_another_format_is_translated(gpt: Server):
    app = openai_app({"m": make_model("openai", gpt), "b": make_model("openai", gpt).bind(temperature=0)})
    response = await send(app, "POST", "/v1/messages", json=BODIES["/v1/messages"])
    assert response.status_code == 200 and "x-hocket-path" not in response.headers
    response = await send(app, "POST", CHAT, json={**question(), "model": "b"})
    assert response.status_code == 200 and "x-hocket-path" not in response.headers


async def test_a_field_that_hocket_does_not_know_does_not_go_on(gpt: Server):
    """It may name another model than the one that is served, as OpenRouter's ``models`` does."""
    app = openai_app({"m": make_model("openai", gpt)})
    response = await send(app, "POST", CHAT, json=question(models=["a-dear-one"]))
    assert (response.status_code, response.json()["error"]["param"]) == (400, "models") and not gpt.requests


async def test_an_option_that_the_model_refuses_is_translated(gpt: Server):
    """Since it has to be left out."""
    app = openai_app({"m": make_model("openai", gpt, profile={"temperature": False})})
    response = await send(app, "POST", CHAT, json=question(temperature=1))
    assert response.headers["x-hocket-dropped"] == "temperature" and "x-hocket-path" not in response.headers
    assert "temperature" not in gpt.requests[0].json


@pytest.mark.parametrize("fields", [{}, {"temperature": 1}], ids=["passed", "translated"])
async def test_the_betas_of_a_client_go_on(fields: dict[str, Any]):
    """To Anthropic's models, with those of the model."""
    with_betas = {"anthropic-beta": "context-management-2025-06-27, oauth-2025-04-20"}
    async with serve(PROVIDERS["anthropic"].format, "Hello.") as server:
        app = openai_app({"m": make_model("anthropic", server, **fields)})
        response = await send(app, "POST", "/v1/messages", json=BODIES["/v1/messages"], headers=with_betas)
    assert ("x-hocket-path" in response.headers) is not bool(fields)
    sent = server.requests[0].headers["anthropic-beta"].split(",")
    assert sorted(sent) == ["context-management-2025-06-27", "oauth-2025-04-20"]


async def test_the_betas_of_a_client_are_left_out_for_others(gpt: Server):
    app = openai_app({"m": make_model("openai", gpt)})
    headers = {"anthropic-beta": "x"}
    response = await send(app, "POST", "/v1/messages", json=BODIES["/v1/messages"], headers=headers)
    assert (response.status_code, response.headers["x-hocket-dropped"]) == (200, "betas")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_it_is_tried_again(stream: bool):
    """As any call is; what a first attempt has said is not told."""
    async with serve(PROVIDERS["openai"].format, [Status(503, "busy"), Hangup(), "Hello."]) as server:
        app = openai_app({"m": make_model("openai", server, retry={"max_attempts": 3, "first_pause": 0.001})})
        response = await send(app, "POST", CHAT, json=question(stream=stream))
    assert (response.status_code, response.headers["x-hocket-path"]) == (200, "pass") and "Hello." in response.text
    assert len(server.requests) == 3


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_failure_is_told_in_our_words(stream: bool):
    """Its server's words may have addresses in them."""
    async with serve(PROVIDERS["openai"].format, Status(400, "the secret host said no")) as server:
        app = openai_app({"m": make_model("openai", server)})
        response = await send(app, "POST", CHAT, json=question(stream=stream))
    assert response.status_code == 400 and "secret" not in response.text


@pytest.mark.parametrize("name", FORMATS)
async def test_a_stream_that_breaks_off_says_so(name: str):
    """What came has come; then there is an error of the format, and no end."""
    async with serve(PROVIDERS[name].format, Stream("one two three", then="eof")) as server:
        app = openai_app({"m": make_model(name, server, retry=1)})
        response = await send(app, "POST", FORMATS[name], json={**BODIES[FORMATS[name]], "stream": True})
    assert response.status_code == 200 and "three" in response.text
    last = response.text.strip().rpartition("\n\n")[2]
    assert "the answer broke off" in last and "[DONE]" not in response.text and "message_stop" not in response.text


async def test_an_error_within_a_stream_is_translated():
    """Whatever the server says in it."""
    said = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
    error = b'data: {"error":{"message":"the secret host fell over","code":"server_error"}}\n\n'
    async with serve(
        PROVIDERS["openai"].format, Body(said + error, headers={"content-type": "text/event-stream"})
    ) as server:
        app = openai_app({"m": make_model("openai", server, retry=1)})
        response = await send(app, "POST", CHAT, json=question(stream=True))
    assert '"content":"a"' in response.text and "secret" not in response.text and '"error"' in response.text


async def test_a_whole_answer_instead_of_a_stream_is_told_as_a_stream(gpt: Server):
    """Some servers know no streams."""
    whole = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]}
    async with serve(PROVIDERS["openai"].format, Body(whole)) as server:
        app = openai_app({"m": make_model("openai", server)})
        events = read_events((await send(app, "POST", CHAT, json=question(stream=True))).text)
    assert "".join(event["choices"][0]["delta"].get("content") or "" for event in events[:-1]) == "Hi."


async def test_budget_and_ledger_hold(gpt: Server, tmp_path: Any):
    """What went through is booked, and what would pass the limit is refused before it is sent."""
    ledger = SQLiteLedger(tmp_path / "usage.sqlite")
    model = make_model("openai", gpt, budget=Budget(tokens=111, by="tenant"), ledger=ledger)
    app = openai_app({"m": model}, keys={"red": "a-key-of-red"})
    headers = {"authorization": "Bearer a-key-of-red"}
    statuses = [
        (await send(app, "POST", CHAT, headers=headers, json=question(max_tokens=100, stream=stream))).status_code
        for stream in (True, False)
    ]
    assert statuses == [200, 429] and len(gpt.requests) == 1
    await ledger.aflush()
    (total,) = await anyio.to_thread.run_sync(lambda: ledger.total(by=("tenant",)))
    assert (total.group["tenant"], total.output_tokens) == ("red", 1)


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
async def test_events_are_whole_however_they_arrive(size: int):
    """A failure is found, and an end, wherever the network has cut."""
    async with serve(PROVIDERS["anthropic"].format, Reply("one two three")) as server:
        app = openai_app({"m": make_model("anthropic", server)})
        wire = (await send(app, "POST", "/v1/messages", json={**BODIES["/v1/messages"], "stream": True})).content
    model = ChatAnthropic(model="theirs", api_key="a-key-of-theirs")
    request = MESSAGES.read(json.dumps(BODIES["/v1/messages"]).encode())
    assert request.input
    relay = Relay(model, model._relay_format, model.render("hi"))
    decoder = RelayDecoder(relay, model._decoder({}))
    chunks = [chunk for at in range(0, len(wire), size) for chunk in decoder.feed(wire[at : at + size])]
    assert relay.take() == wire and decoder.ended
    assert sum((chunk.message.usage_metadata or {}).get("output_tokens", 0) > 0 for chunk in chunks) >= 1  # type: ignore[attr-defined]


def make_decoder() -> tuple[Relay, RelayDecoder]:
    model = ChatAnthropic(model="theirs", api_key="a-key-of-theirs")
    relay = Relay(model, model._relay_format, model.render("hi"))
    return relay, RelayDecoder(relay, model._decoder({}))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("ends", ["\n \n", "\r\n \r\n", "\r \r", "\n \r\n", "\r\n \n", "\r \r\n", "\n \r"], ids=repr)
def test_a_line_may_end_in_each_way(ends: str, size: int):
    """The standard has three, and the network may cut each; a client is told the shortest."""
    relay, decoder = make_decoder()
    plain = b"event: content_block_delta\ndata: {}\n\n" * 3 + b'event: message_stop\ndata: {"type": "message_stop"}\n\n'
    first, second = ends.encode().split(b" ")
    wire = b"".join(event.replace(b"\n", first) + first + second for event in plain.split(b"\n\n")[:-1])
    told = b""
    for at in range(0, len(wire), size):
        list(decoder.feed(wire[at : at + size]))
        told += relay.take()
    assert told == plain and decoder.ended


@pytest.mark.timeout(20)
def test_an_event_without_an_end_takes_linear_time():
    """A server may send it in the smallest pieces: to join them at each would take minutes."""
    relay, decoder = make_decoder()
    for _ in range(100_000):
        list(decoder.feed(b"x" * 100))
    assert relay.take() == b""


async def test_a_call_of_another_model_is_its_own(gpt: Server):
    """A relay is for one model: what else is asked meanwhile is a call as any other."""
    one = ChatOpenAI(model="one", base_url=gpt.url, api_key="a-key-of-theirs")
    other = ChatOpenAI(model="other", base_url=gpt.url, api_key="a-key-of-theirs")
    relay = Relay(one, one._relay_format, one.render("never"))  # type: ignore[arg-type]
    token = relay.use()
    try:
        assert (await other.ainvoke("hi")).text == "Hello."
    finally:
        Relay.end(token)
    assert gpt.requests[0].json["model"] == "other" and relay.take() == b""


LONG = 'She said: "Größe \\ 10" — 日本. ' * 8 + "THE END"


@pytest.mark.parametrize("then", ["eof", "stall"])
@pytest.mark.parametrize("name", FORMATS)
async def test_a_stream_without_an_end_is_booked_as_one_that_is_translated(name: str, then: Any):
    """By what came of it, whether its server breaks it off or its client leaves: it has told no usage."""
    behaviour, spent = Stream(LONG, reasoning="Hm, well. " * 20, then=then), list[int]()
    limit = {"max_output_tokens" if name == "openai_responses" else "max_tokens": 900}
    asked = body(json.dumps({**BODIES[FORMATS[name]], **limit, "stream": True}).encode())
    async with serve(PROVIDERS[name].format, [behaviour, behaviour]) as server:
        for fields in ({}, {"temperature": 1}):
            budget = Budget(tokens=100_000)
            model = make_model(name, server, retry=1, budget=budget, **fields)
            client = RawClient(asked, path=FORMATS[name], headers=HEADERS)

            async def take(event: Any, client: RawClient = client) -> None:
                if then == "stall" and b"END" in event.get("body", b""):
                    client.left.set()

            client.taken = take
            await client.ask(openai_app({"m": model}))
            assert ("x-hocket-path" in client.headers) is not bool(fields)
            spent.append((await budget.astate()).spent_tokens)
    passed, translated = spent
    assert passed > (len(LONG) + 200) / 4
    assert passed == translated or (
        name != "openai" and 0.6 * translated < passed < translated
    )  # their items have more fields


@pytest.mark.parametrize("escaped", ["\\ud83d\\ude00", "a\\", "a\\\\\\u00e9", "\n"])
def test_a_text_that_is_written_wrongly_is_no_failure(escaped: str):
    """Whatever a server sends goes on; about what it comes to is counted."""
    relay, decoder = make_decoder()
    event = f'event: content_block_delta\ndata: {{"delta": {{"text": "{escaped}", "text": "b"}}}}\n\n'.encode()
    chunks = list(decoder.feed(event + b'event: content_block_delta\ndata: {"text": "end'))
    assert len(chunks) == 1 and relay.take() == event
