"""An agent over HTTP: requests and what they are answered, clients that leave, many at once."""

import json
import logging
from collections.abc import Sequence
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, InfluencePolicy, create_agent, react_app
from hocket.agents.serve import ASGIApp, Language
from hocket.errors import AuthenticationError, InvalidInput
from hocket.messages import AIMessage, ToolMessage
from hocket.serving import openai_app
from hocket.testing import virtual_clock
from tests.agents.conftest import MakeAgent, add, call, wait
from tests.kit import HookCall, RawClient, body, hook_model, tool_model

KEY = "sk-proj-abcdefghijklmnop"


async def send(app: ASGIApp, method: str = "POST", url: str = "/react", **request: Any) -> httpx.Response:
    """Send a request through httpx, as a client would."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.request(method, url, **request)


QUERY = body(b'{"query": "go"}')


async def test_a_query_is_answered_in_json(make_agent: MakeAgent):
    """With the tools that it takes."""
    agent, model = make_agent([[call("add", a=1, b=2)], "等于3。"])
    response = await send(react_app(agent), json={"query": "1 + 2?"})
    assert (response.status_code, response.json()) == (200, {"response": "等于3。"})
    assert response.headers["content-type"] == "application/json" and "等于3。".encode() in response.content
    assert model.requests[0].messages[-1].text == "1 + 2?"


async def test_a_typed_answer_is_an_object():
    """Of the same fields."""

    class Sum(BaseModel):
        total: float

    script: list[Any] = [Turn(tool_calls=[call("Sum", total=3)]), Turn(text='{"total": 4.5}')]
    app = react_app(create_agent(ScriptedChatModel(script=script), response_format=Sum))
    assert [(await send(app, json={"query": "go"})).json() for _ in script] == [
        {"response": {"total": 3.0}},
        {"response": {"total": 4.5}},
    ]


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_other_methods_are_refused(make_agent: MakeAgent, method: str):
    """And the client is told which one is served."""
    agent, model = make_agent(["never"])
    texts: dict[Language, str] = {"zh": "仅支持POST请求", "en": "only POST requests are served"}
    for language, text in texts.items():
        response = await send(react_app(agent, language=language), method)
        assert (response.status_code, response.headers["allow"], response.text) == (405, "POST", text)
        assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert not model.requests


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"go",
        b'{"query": "go"',
        b'["query"]',
        b'"query"',
        b"null",
        b"{}",
        b'{"question": "go"}',
        b'{"query": ""}',
        b'{"query": " \\n"}',
        b'{"query": null}',
        b'{"query": 5}',
        b'{"query": ["go"]}',
        b'{"query": "\\ud800"}',
        b'{"query": "\xff"}',
        b"[" * 100_000,
        b'{"query": ' + b"9" * 10_000 + b"}",
    ],
    ids=lambda content: repr(content[:20]),
)
async def test_what_cannot_be_read_is_refused(make_agent: MakeAgent, content: bytes):
    """Before the model is asked."""
    agent, model = make_agent(["never"])
    response = await send(react_app(agent), content=content, headers={"content-type": "application/json"})
    assert (response.status_code, response.text) == (400, "无效的请求格式")
    assert not model.requests


NESTED = st.recursive(st.none() | st.text() | st.floats(), lambda one: st.dictionaries(st.just("query"), one))


@given(st.binary() | NESTED.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_read_or_refused(content: bytes):
    """And raises nothing."""
    client = RawClient(body(content))
    anyio.run(client.ask, react_app(create_agent(ScriptedChatModel(script=["Hello."]))))
    assert client.got[0]["status"] in (200, 400)


@pytest.mark.parametrize(
    "headers", [{"content-type": "text/plain"}, {"content-type": ""}, {"content-encoding": "gzip"}], ids=str
)
async def test_the_body_has_to_be_json_by_its_type(headers: dict[str, str]):
    """A page on the web cannot send that without being asked for permission."""
    model = ScriptedChatModel(script=["Hello."])
    given = {"content-type": "application/json", **headers}
    response = await send(react_app(create_agent(model)), content=b'{"query": "go"}', headers=given)
    assert response.status_code == 415 and "JSON" in response.text and not model.requests


LOCAL = ("127.0.0.1", 8000)


@pytest.mark.parametrize(
    ("server", "hosts", "headers", "is_answered"),
    [
        (LOCAL, None, {"host": "localhost:8000"}, True),
        (LOCAL, None, {"host": "[::1]:8000", "origin": "http://127.0.0.1:3000"}, True),
        (LOCAL, None, {"host": "evil.example"}, False),
        (("::1", 8000), None, {"host": "localhost.evil"}, False),
        (LOCAL, None, {"host": "[::1"}, False),
        (LOCAL, None, {}, False),
        (LOCAL, None, {"host": "localhost", "origin": "http://evil.example"}, False),
        (LOCAL, None, {"host": "localhost", "origin": "null"}, False),
        (LOCAL, ["agents.example"], {"host": "Agents.example", "origin": "https://agents.example"}, True),
        (LOCAL, ["agents.example"], {"host": "evil.example"}, False),
        (("10.0.0.5", 80), ["agents.example"], {"host": "10.0.0.5"}, False),
        (("10.0.0.5", 80), None, {"host": "agents.example", "origin": "https://page.example"}, True),
        (("/run/app.sock", None), None, {"host": "agents.example"}, True),
        (None, None, {"host": "agents.example"}, True),
    ],
    ids=str,
)
async def test_a_page_elsewhere_cannot_ask(server: Any, hosts: Any, headers: dict[str, str], is_answered: bool):
    """By a name of its own that means this machine; the gateway without keys, too. Who serves other names says so."""
    model = ScriptedChatModel(script=["Hello."] * 2)
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    sent.append((b"content-type", b"application/json"))
    agent = RawClient(QUERY, headers=sent, server=server)
    await agent.ask(react_app(create_agent(model), hosts=hosts))
    question = body(b'{"model": "m", "messages": [{"role": "user", "content": "go"}]}')
    gateway = RawClient(question, path="/v1/chat/completions", headers=sent, server=server)
    await gateway.ask(openai_app({"m": model}, hosts=hosts))
    assert [agent.status, gateway.status] == [200 if is_answered else 403] * 2
    assert len(model.requests) == (2 if is_answered else 0)


async def test_other_paths_are_not_there(make_agent: MakeAgent):
    """The path can be chosen, and the server may have one of its own before it."""
    agent, _ = make_agent(["one", "two", "three"])
    assert [(await send(react_app(agent), url=url)).status_code for url in ("/", "/react/", "/reacts", "/x/react")] == [
        404
    ] * 4
    assert (await send(react_app(agent, path="/ask"), url="/ask", json={"query": "go"})).text == '{"response": "one"}'
    for path in ("/api/react", "/react"):  # as the standard says, and as it said before
        client = RawClient(QUERY, path=path, root_path="/api")
        await client.ask(react_app(agent))
        assert client.got[0]["status"] == 200


async def test_the_text_of_an_error_names_no_key(make_agent: MakeAgent, caplog: pytest.LogCaptureFixture):
    """Nor anything else of what went wrong, which the log has."""
    agent, _ = make_agent([AuthenticationError(f"the key {KEY} was refused"), RuntimeError("password=hunter2")])
    app = react_app(agent)
    with caplog.at_level(logging.ERROR, "hocket.agents"):
        first, second = [await send(app, json={"query": "go"}) for _ in range(2)]
    assert first.status_code == second.status_code == 500
    assert first.text == second.text == "处理请求时出错"
    assert [KEY in record.getMessage() for record in caplog.records] == [False, False]
    assert "was refused" in caplog.records[0].getMessage() and "RuntimeError" in caplog.records[1].getMessage()


async def test_a_run_without_an_answer_is_an_error(make_agent: MakeAgent):
    """The text says what stopped it."""
    agent, _ = make_agent([[call("add", a=1, b=1)]], limits=AgentLimits(model_calls=1), at_limit="stop")
    response = await send(react_app(agent), json={"query": "go"})
    assert response.status_code == 500 and "model_calls" in response.text


async def test_an_answer_that_is_no_utf_8_is_sent_all_the_same(make_agent: MakeAgent):
    """Half an escape becomes a question mark."""
    agent, _ = make_agent(["a\ud800b"])
    assert (await send(react_app(agent), json={"query": "go"})).json() == {"response": "a?b"}


async def test_a_body_comes_in_pieces(make_agent: MakeAgent):
    """As the server likes."""
    agent, _ = make_agent(["Hello."])
    pieces = [body(bytes([one]), is_last=False) for one in b'{"query": "go"}']
    client = RawClient(*pieces, body(b""))
    await client.ask(react_app(agent))
    assert client.got[0]["status"] == 200 and client.got[1]["body"] == b'{"response": "Hello."}'


async def test_a_body_that_is_too_large_is_not_read_to_its_end(make_agent: MakeAgent):
    """It may have none."""
    agent, _ = make_agent(["never"])
    client = RawClient(*[body(b"x" * 100, is_last=False)] * 9)
    await client.ask(react_app(agent, max_body=250))
    assert client.got[0]["status"] == 400 and len(client.events) == 6


async def test_a_client_that_leaves_cancels_its_run():
    """Nothing is sent, and no tool goes on."""
    began = anyio.Event()
    ended: list[str] = []

    async def hang(_: HookCall) -> AIMessage:
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")
        raise AssertionError

    client = RawClient(QUERY)
    async with anyio.create_task_group() as group:
        group.start_soon(client.ask, react_app(create_agent(hook_model(hang))))
        await began.wait()
        client.left.set()
    assert (ended, client.got) == (["cancelled"], [])


async def test_a_client_that_leaves_within_its_body_is_not_answered(make_agent: MakeAgent):
    """And the model is not asked."""
    agent, model = make_agent(["never"])
    client = RawClient(body(b'{"query"', is_last=False))
    client.left.set()
    await client.ask(react_app(agent))
    assert client.got == [] == model.requests


async def test_a_server_that_stops_cancels_its_requests(make_agent: MakeAgent):
    """A run does not hold it up."""
    agent, _ = make_agent([[call("wait")]], [wait])
    client = RawClient(QUERY)
    with anyio.move_on_after(0.05) as scope:
        await client.ask(react_app(agent))
    assert scope.cancelled_caught and client.got == []


@pytest.mark.parametrize("events", [[QUERY], [body(b'{"qu', is_last=False)]], ids=["run", "body"])
async def test_a_request_has_its_time(make_agent: MakeAgent, events: Sequence[dict[str, Any]]):
    """A slow body, and a slow run."""
    with virtual_clock():
        agent, _ = make_agent([[call("wait")]], [wait])
        client = RawClient(*events)
        await client.ask(react_app(agent, timeout=30, language="en"))
    assert client.got[0]["status"] == 504 and client.got[1]["body"] == b"the request took too long"


async def test_many_requests_at_once_do_not_mix():
    """Three hundred, with a tool each; all are under way together."""

    under_way, together = 0, anyio.Event()

    async def reply(asked: HookCall) -> AIMessage:
        nonlocal under_way
        question, last = asked.input[0].text, asked.input[-1]
        if isinstance(last, ToolMessage):
            return AIMessage(f"{question}: {last.text}")
        under_way += 1
        if under_way == 300:
            together.set()
        await together.wait()
        return AIMessage("", tool_calls=[call("add", a=int(question), b=1)])

    async def ask(number: int) -> None:
        answers[number] = (await send(app, json={"query": f"{number}"})).json()["response"]

    answers: dict[int, str] = {}
    app = react_app(create_agent(tool_model(reply), [add]))
    async with anyio.create_task_group() as group:
        for number in range(300):
            group.start_soon(ask, number)
    assert answers == {number: f"{number}: {number + 1}" for number in range(300)}


async def test_the_server_begins_and_ends_it(make_agent: MakeAgent):
    """The lifespan is confirmed; a web socket is refused."""
    agent, _ = make_agent([])
    client = RawClient({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}, type="lifespan")
    await client.ask(react_app(agent))
    assert [event["type"] for event in client.got] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    client = RawClient({"type": "websocket.connect"}, type="websocket")
    await client.ask(react_app(agent))
    assert client.got == [{"type": "websocket.close", "code": 1000}]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"path": "react"}, "path is 'react'"),
        ({"path": 5}, "path is 5"),
        ({"language": "fr"}, "language is 'fr'"),
        ({"timeout": 0}, "timeout is 0"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"timeout": "60"}, "timeout is '60'"),
        ({"max_body": -1}, "max_body is -1"),
        ({"max_body": 1.5}, "max_body is 1.5"),
        ({"hosts": ["http://agents.example"]}, "hosts has 'http://agents.example'"),
        ({"hosts": "agents.example:80"}, "hosts has 'agents.example:80'"),
        ({"hosts": [5]}, "hosts has 5"),
    ],
)
def test_bad_options_are_refused(make_agent: MakeAgent, options: dict[str, Any], says: str):
    """When the application is made."""
    agent, _ = make_agent(["hi"])
    with pytest.raises(InvalidInput, match=says):
        react_app(agent, **options)


def test_only_an_agent_that_never_pauses_is_served(make_agent: MakeAgent):
    """A request cannot wait for a person, whether a rule has calls wait or a middleware."""
    for options in ({"interrupt_on": ["pay"]}, {"middleware": [InfluencePolicy(["pay"])]}):
        agent, model = make_agent(["hi"], **options)
        with pytest.raises(InvalidInput, match="may wait for a person"):
            react_app(agent)
    with pytest.raises(InvalidInput, match="create_agent"):
        react_app(model)  # type: ignore[arg-type]
