"""The gateway around its requests: keys, paths, limits, numbers, and where it is mounted."""

import json
from typing import Any

import anyio
import httpx
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from hocket import RunnableLambda, ScriptedChatModel, Turn
from hocket.agents import create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import ConnectionFailed, InvalidInput, StreamTruncated
from hocket.messages import AIMessage
from hocket.runnables import ConfigurableField, RouterRunnable, RunnableBranch, RunnableWithMessageHistory
from hocket.serving import SSE_HEADERS, openai_app, sse
from hocket.serving.gateway.keys import ClientKeys
from hocket.tracing import JSONFormatter
from tests.kit import HookCall, RawClient, body, hook_model
from tests.serving.conftest import HEADERS, KEY, chat_client, question, send

CHAT = "/v1/chat/completions"


def model(*script: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=script or ["Hello."])


async def test_the_models_are_listed():
    """By the names that clients call them."""
    app = openai_app({"a": model(), "b/c": model()})
    listed = (await send(app, "GET", "/v1/models")).json()
    assert (listed["object"], [one["id"] for one in listed["data"]]) == ("list", ["a", "b/c"])
    assert listed["data"][0].items() >= {"object": "model", "owned_by": "hocket"}.items()
    for name in ("a", "b/c"):
        assert (await send(app, "GET", f"/v1/models/{name}")).json()["id"] == name
    response = await send(app, "GET", "/v1/models/bc")
    assert response.status_code == 404 and response.json()["error"]["code"] == "model_not_found"


async def test_a_model_that_is_not_there():
    """Is no default's business; a near name is told, and a long one is not repeated whole."""
    app = openai_app({"assistant": model()})
    response = await send(app, "POST", CHAT, json={**question(), "model": "asistant"})
    assert response.status_code == 404
    error = {"type": "invalid_request_error", "param": "model", "code": "model_not_found"}
    message = "there is no model 'asistant' here; did you mean 'assistant'?"
    assert response.json() == {"error": {"message": message, **error}}
    response = await send(app, "POST", CHAT, json={**question(), "model": "x" * 100_000})
    assert response.status_code == 404 and len(response.content) < 500


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        f"Basic {KEY}",
        KEY,
        f"Bearer {KEY}x",
        f"Bearer {KEY[:-1]}",
        "Bearer \xff",
        f"Bearer {KEY} x",
    ],
)
async def test_who_has_no_key_gets_nothing(value: str | None):
    """But the answer whether the gateway is alive."""
    asked = model()
    app = openai_app({"m": asked}, keys=[KEY, "another-key"], metrics=True)
    headers = {} if value is None else {b"authorization": value.encode("latin-1")}
    for method, path in (("POST", CHAT), ("GET", "/v1/models"), ("GET", "/metrics"), ("GET", "/nothing")):
        response = await send(app, method, path, headers=headers, json=question())
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
        assert response.json()["error"]["code"] == "invalid_api_key" and KEY not in response.text
    assert (await send(app, "GET", "/healthz", headers=headers)).json() == {"status": "ok"}
    assert not asked.requests


@pytest.mark.parametrize(
    "keys", [KEY, SecretStr(KEY), [SecretStr("another-key"), KEY]], ids=["text", "secret", "several"]
)
async def test_who_has_a_key_gets_an_answer(keys: Any):
    """The scheme's case does not matter."""
    app = openai_app({"m": model("Hello.", "Hello.")}, keys=keys)
    for scheme in ("Bearer", "bearer"):
        response = await send(app, "POST", CHAT, headers={"authorization": f"{scheme} {KEY}"}, json=question())
        assert response.status_code == 200


@pytest.mark.parametrize("keys", [None, KEY, {"red": KEY}], ids=["everybody", "a key", "tenants"])
@pytest.mark.parametrize("metrics", ["a-key-of-prometheus", SecretStr("a-key-of-prometheus")])
async def test_metrics_have_a_key_of_their_own(keys: Any, metrics: Any):
    """It opens nothing else, and no other opens them: a tenant does not see what others do."""
    app = openai_app({"m": model()}, keys=keys, metrics=metrics)
    own, clients = ({"authorization": f"Bearer {key}"} for key in ("a-key-of-prometheus", KEY))
    assert (await send(app, "GET", "/metrics", headers=own)).status_code == 200
    for headers in (clients, {}):
        assert (await send(app, "GET", "/metrics", headers=headers)).status_code == 401
    for path in ("/v1/models", "/page/runs.json") if keys else ():
        assert (await send(app, "GET", path, headers=own)).status_code == 401


@pytest.mark.parametrize(
    ("metrics", "keys", "says"),
    [
        (True, {"red": KEY}, 'shows the numbers of all tenants to each of them; give metrics="...", a key'),
        ("", None, r"metrics\[0\] will not do"),
        (5, None, "metrics is 5; it is True, False, or the key"),
        (KEY, {"red": KEY}, "metrics is the key of a client, too"),
    ],
)
def test_what_is_no_key_of_metrics(metrics: Any, keys: Any, says: str):
    with pytest.raises(InvalidInput, match=says):
        openai_app({"m": model()}, keys=keys, metrics=metrics)


async def test_two_keys_are_none():
    """Whatever stands before the gateway may have looked at the other one."""
    client = chat_client()
    client.scope["headers"] = [*HEADERS, *[(b"authorization", f"Bearer {KEY}".encode())] * 2]
    await client.ask(openai_app({"m": model()}, keys=KEY))
    assert client.status == 401


def test_keys_do_not_show():
    """Only their hashes are kept."""
    keys = ClientKeys([KEY])
    assert KEY not in repr(vars(keys))


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ([], "keys is empty"),
        ("", r"keys\[0\]"),
        ("short", r"keys\[0\]"),
        ([KEY, "a b c d e f"], r"keys\[1\]"),
        ("schlüssel", "ASCII"),
    ],
)
def test_keys_that_will_not_do(keys: Any, says: str):
    """And the error does not repeat them."""
    with pytest.raises(InvalidInput, match=says) as error:
        openai_app({"m": model()}, keys=keys)
    assert "short" not in str(error.value) and "schl" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"models": {}}, "models is {}"),
        ({"models": model()}, "it is a mapping"),
        ({"models": {"m": "gpt"}}, r"models\['m'\] is str"),
        ({"models": {"": model()}}, "by a name"),
        ({"models": {5: model()}}, "by a name"),
        ({"max_concurrency": 0}, "max_concurrency is 0"),
        ({"max_concurrency": True}, "max_concurrency is True"),
        ({"max_body": 1.5}, "max_body is 1.5"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_options_are_refused(options: dict[str, Any], says: str):
    """When the application is made."""
    with pytest.raises(InvalidInput, match=says):
        openai_app(**{"models": {"m": model()}, **options})


HELPER: Any = create_agent(ScriptedChatModel(script=["Hello."]))


@pytest.mark.parametrize(
    "ends_in_agent",
    [
        HELPER.bind(),
        HELPER.with_config(tags=["t"]),
        HELPER.with_retry(),
        HELPER.with_types(output_type=str),
        RunnableLambda(str) | HELPER,
        model().with_fallbacks([HELPER]),
        RunnableBranch((bool, HELPER), model()),
        RouterRunnable({"a": HELPER}),
        model().configurable_alternatives(ConfigurableField(id="who"), other=HELPER),
        RunnableWithMessageHistory(HELPER, lambda session_id: InMemoryChatMessageHistory()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_ends_in_an_agent_is_refused(ends_in_agent: Any):
    """When the application is made: each request would run its tools, and fail."""
    with pytest.raises(InvalidInput, match=r"models\['helper'\] ends in an agent.*Serve the agent itself"):
        openai_app({"m": model(), "helper": ends_in_agent})


async def test_a_chain_that_makes_a_text_of_an_agents_result_is_served():
    chain: Any = create_agent(model()) | (lambda result: result.output)
    app = openai_app({"m": chain})
    response = await send(app, "POST", CHAT, json=question())
    assert response.json()["choices"][0]["message"]["content"] == "Hello."


async def test_other_paths_and_methods():
    """404, and 405 with the method that is served."""
    app = openai_app({"m": model()})
    for path in (
        "/",
        "/v1",
        "/v1/",
        "/v1/chat/completions/",
        "/v2/models",
        "/metrics",
        "/v1/audio",
        "//v1/models",
    ):
        for method in ("GET", "POST"):
            response = await send(app, method, f"http://test{path}")
            assert response.status_code == 404 and "is served" not in response.text and "are served" in response.text
    for method, path, allowed in (("GET", CHAT, "POST"), ("POST", "/v1/models", "GET"), ("OPTIONS", CHAT, "POST")):
        response = await send(app, method, path)
        assert (response.status_code, response.headers["allow"]) == (405, allowed)
    assert (await send(app, "HEAD", "/v1/models")).status_code == 200


async def test_every_reply_names_its_request():
    """By the client's name for it, if that is short and plain, else by one of ours; failures too."""
    app = openai_app({"m": model()})
    for path in ("/v1/models", "/healthz", "/nothing"):
        assert (await send(app, "GET", path, headers={"x-request-id": "abc-1_2"})).headers["x-request-id"] == "abc-1_2"
    for odd in ("a b", "a\tb", "x" * 101, "ä", '"; drop'):
        response = await send(app, "GET", "/v1/models", headers={b"x-request-id": odd.encode("latin-1")})
        assert response.headers["x-request-id"].startswith("req_")
    client = chat_client(stream=True)
    await client.ask(app)
    assert client.headers["x-request-id"].startswith("req_")


async def test_a_request_too_many_is_told_to_come_again():
    """At once, with 429; when one has ended there is room for another."""
    began, go_on = anyio.Event(), anyio.Event()

    async def wait(_: HookCall) -> AIMessage:
        began.set()
        await go_on.wait()
        return AIMessage("Hello.")

    app = openai_app({"m": hook_model(wait)}, max_concurrency=1)
    first = chat_client()
    async with anyio.create_task_group() as group:
        group.start_soon(first.ask, app)
        await began.wait()
        response = await send(app, "POST", CHAT, json=question())
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        assert response.json()["error"]["code"] == "rate_limit_exceeded"
        go_on.set()
    assert first.status == 200
    assert (await send(app, "POST", CHAT, json=question())).status_code == 200


async def test_a_body_that_is_too_large():
    """413; some of the rest is taken, so that the client reads the reply, but not a body without an end."""
    app = openai_app({"m": model()}, max_body=1000)
    response = await send(app, "POST", CHAT, json=question("x" * 1000))
    assert response.status_code == 413 and "1,000 bytes" in response.json()["error"]["message"]
    client = chat_client(*[body(b"x" * 100, is_last=False)] * 100)
    await client.ask(app)
    assert client.status == 413 and 40 < len(client.events) < 60


async def test_numbers_for_prometheus():
    """Counts by model and status, tokens, and how long it took; of strangers' names no label is made."""
    usage: Any = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    name = 'a "b"\n\\c'
    app = openai_app({name: model(AIMessage("Hello.", usage_metadata=usage), RuntimeError("no"))}, metrics=True)
    for _ in range(2):
        await send(app, "POST", CHAT, json={**question(), "model": name})
    await send(app, "POST", CHAT, json={**question(), "model": "stranger"})
    response = await send(app, "GET", "/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = response.text.splitlines()
    label = r'model="a \"b\"\n\\c"'
    assert f'hocket_requests_total{{{label},status="200"}} 1' in lines
    assert f'hocket_requests_total{{{label},status="500"}} 1' in lines
    assert f'hocket_tokens_total{{{label},type="output"}} 2' in lines
    assert f'hocket_request_seconds_bucket{{{label},le="+Inf"}} 2' in lines
    assert f"hocket_request_seconds_count{{{label}}} 2" in lines
    assert "stranger" not in response.text
    for line in lines:
        assert line.startswith(("# HELP ", "# TYPE ", "hocket_"))


def make_application(framework: str) -> Any:
    """Return an application that has a gateway at ``/ai``, and a stream of its own at ``/chat``."""
    app: Any = Starlette() if framework == "starlette" else pytest.importorskip("fastapi").FastAPI()

    async def chat(request: Request) -> StreamingResponse:
        return StreamingResponse(sse(model("Hello there.").astream("hi")), headers=SSE_HEADERS)

    if framework == "starlette":
        app.router.routes.append(Route("/chat", chat))
    else:
        app.get("/chat")(chat)
    app.mount("/ai", openai_app({"m": model()}))
    return app


@pytest.fixture(params=["starlette", "fastapi"])
def application(request: pytest.FixtureRequest) -> Any:
    """An application of somebody else's."""
    return make_application(request.param)


async def test_it_is_mounted_in_another_application(application: Any):
    """Below a path of its own."""
    assert (await send(application, "POST", f"/ai{CHAT}", json=question())).status_code == 200
    assert (await send(application, "GET", "/ai/v1/models")).status_code == 200
    assert (await send(application, "GET", "/v1/models")).status_code == 404


async def test_a_route_of_ones_own(application: Any):
    """`sse` is the body of a reply of Starlette's, and so of FastAPI's."""
    response = await send(application, "GET", "/chat")
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    texts = [json.loads(part.removeprefix("data: ")) for part in response.text.split("\n\n") if part.startswith("data")]
    assert texts == [{"text": "Hello"}, {"text": " there."}]
    assert response.text.endswith("event: end\ndata: {}\n\n")


async def test_the_server_begins_and_ends_it():
    """The lifespan is confirmed; a web socket is refused."""
    app = openai_app({"m": model()})
    client = RawClient({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}, type="lifespan")
    await client.ask(app)
    assert [event["type"] for event in client.got] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    client = RawClient({"type": "websocket.connect"}, type="websocket")
    await client.ask(app)
    assert client.got == [{"type": "websocket.close", "code": 1000}]


def test_no_key_of_ours_is_in_any_reply(serve: Any):
    """Over a real server, headers included: neither that of a client nor that of a model's server."""
    secret = "sk-upstream-0123456789"

    def refuse(call: HookCall) -> object:
        raise RuntimeError(f"{secret} was refused")

    url = serve(openai_app({"m": hook_model(refuse)}, keys=KEY, metrics=True))
    with httpx.Client(base_url=url, headers={"authorization": f"Bearer {KEY}"}) as client:
        replies = [client.post(CHAT, json=question(stream=stream)) for stream in (False, True)]
        replies += [client.get(path) for path in ("/v1/models", "/metrics", "/healthz", "/nothing")]
        replies += [client.get("/v1/models", headers={"authorization": f"Bearer {KEY}x"})]
    for reply in replies:
        for told in (reply.text, str(reply.headers)):
            assert KEY not in told and secret not in told


async def test_the_log_names_the_request_that_failed(caplog: pytest.LogCaptureFixture):
    """As its client does, who has x-request-id: as facts of the record and in its text, and whose it was."""
    truncated = StreamTruncated("it broke off")
    keys = {"red": "a-key-of-red", "blue": "a-key-of-blue"}
    app = openai_app(
        {"m": model(ConnectionFailed("no way"), Turn(text="a b", error=truncated, error_after=1))}, keys=keys
    )
    headers = {"authorization": "Bearer a-key-of-red", "x-request-id": "mine-1"}
    for is_streamed, status in ((False, 503), (True, 200)):
        caplog.clear()
        asked = {**question(), "stream": is_streamed}
        response = await send(app, "POST", CHAT, json=asked, headers=headers)
        assert response.status_code == status and response.headers["x-request-id"] == "mine-1"
        (record,) = [one for one in caplog.records if one.name == "hocket.serving"]
        told = {"request_id": "mine-1", "tenant": "red", "model": "m", "status": status}
        assert f"(request_id=mine-1, tenant=red, model=m, status={status})" in record.getMessage()
        assert json.loads(JSONFormatter().format(record))["hocket"] == told
