"""A chat page's server as its pages see it: ask, leave, come back, stop; and what it refuses."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from hocket import AIMessage, FakeListChatModel, InMemoryChatMessageHistory, ScriptedChatModel, create_agent, tool
from hocket._runtime import clock
from hocket.errors import InvalidInput, ProviderUnavailable
from hocket.serving import ChatInput, LiveAnswers, chat_app
from tests.kit import RawClient, body
from tests.serving.conftest import Serve

VERCEL = {
    "id": "chat-1",
    "trigger": "submit-message",
    "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}],
}
AG_UI = {
    "threadId": "chat-1",
    "runId": "run-7",
    "messages": [{"id": "1", "role": "user", "content": "Hi"}],
    "tools": [],
    "context": [],
}


def echo(chat: ChatInput) -> Any:
    return FakeListChatModel(responses=["Hello."]).astream([chat.input])  # type: ignore[list-item]


async def send(app: Any, method: str = "POST", path: str = "/", **request: Any) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.request(method, path, **request)


def read_events(text: str) -> list[Any]:
    """Return the data of events."""
    found = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(one) if one != "[DONE]" else one for one in found]


def texts(events: list[Any]) -> str:
    return "".join(event.get("delta", "") for event in events if isinstance(event, dict))


async def test_both_kinds_of_pages_are_answered() -> None:
    app = chat_app(echo)
    reply = await send(app, json=VERCEL)
    events = read_events(reply.text)
    assert reply.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert (events[0]["type"], texts(events), events[-1]) == ("start", "Hello.", "[DONE]")
    events = read_events((await send(app, json=AG_UI)).text)
    assert events[0] == {"type": "RUN_STARTED", "threadId": "chat-1", "runId": "run-7", "protocolVersion": "1.0"}
    assert (texts(events), events[-1]["type"]) == ("Hello.", "RUN_FINISHED")


class Slow:
    """An answer that waits in its middle."""

    def __init__(self) -> None:
        self.goes_on = anyio.Event()
        self.is_closed = False

    def answer(self, chat: ChatInput) -> AsyncGenerator[str, None]:
        return self._say()

    async def _say(self) -> AsyncGenerator[str, None]:
        try:
            yield "one "
            await self.goes_on.wait()
            yield "two"
        finally:
            self.is_closed = True


async def leave(app: Any) -> RawClient:
    """Ask, and leave after the first events."""
    client = RawClient(body(json.dumps(VERCEL).encode()), path="/")

    async def look(event: Any) -> None:
        if b"one " in event.get("body", b""):
            client.left.set()

    client.taken = look
    await client.ask(app)
    return client


@pytest.mark.both_loops
async def test_a_page_that_left_comes_back() -> None:
    """With the id of the last event that it has seen it gets the rest, without one all of a running answer."""
    slow = Slow()
    app = chat_app(slow.answer)
    left = await leave(app)
    assert not slow.is_closed
    last = [line for line in left.body.decode().splitlines() if line.startswith("id: ")][-1].removeprefix("id: ")
    told: dict[str, str] = {}

    async def follow(name: str, headers: dict[str, str]) -> None:
        told[name] = (await send(app, "GET", "/chat-1/stream", headers=headers)).text

    async with anyio.create_task_group() as following:
        following.start_soon(follow, "rest", {"Last-Event-ID": last})
        following.start_soon(follow, "all", {})
        await anyio.sleep(0.05)
        slow.goes_on.set()
    assert texts(read_events(told["all"])) == "one two" and read_events(told["all"])[0]["type"] == "start"
    assert left.body.decode() + told["rest"] == told["all"]
    again = await send(app, "GET", "/chat-1/stream", headers={"Last-Event-ID": last})
    assert again.text == told["rest"]
    assert (await send(app, "GET", "/chat-1/stream")).status_code == 204
    assert (await send(app, "GET", "/chat-2/stream")).status_code == 204


async def test_a_follower_waits_through_silence_without_pings(virtual_clock: Any) -> None:
    """However long: the minute that a client has is for what it takes, and not for what the model says."""
    slow = Slow()
    app = chat_app(slow.answer, live=LiveAnswers(ping=None))
    left = await leave(app)
    client = RawClient(path="/chat-1/stream", method="GET")
    client.scope["headers"].append((b"last-event-id", left.body.rpartition(b"id: ")[2].strip()))

    async def go_on() -> None:
        await clock.current().sleep(100)
        slow.goes_on.set()

    async with anyio.create_task_group() as following:
        following.start_soon(go_on)
        await client.ask(app)
    assert texts(read_events(client.body.decode())) == "two" and b"[DONE]" in client.body
    assert not client.got[-1].get("more_body")


async def test_a_page_stops_what_runs() -> None:
    slow = Slow()
    app = chat_app(slow.answer)
    await leave(app)
    stop = await send(app, path="/chat-1/stop")
    assert stop.json() == {"stopped": True} and slow.is_closed
    assert (await send(app, path="/chat-1/stop")).json() == {"stopped": False}
    assert (await send(app, path="/chat-2/stop")).json() == {"stopped": False}


async def test_one_answer_of_a_chat_at_a_time() -> None:
    slow = Slow()
    app = chat_app(slow.answer)
    await leave(app)
    busy = await send(app, json=VERCEL)
    assert (busy.status_code, busy.headers["x-should-retry"]) == (409, "false")
    assert busy.json()["error"]["code"] == "busy"
    assert (await send(app, path="/chat-1/stop")).json() == {"stopped": True}


async def test_chats_belong_to_their_users() -> None:
    """Nobody follows or stops the answer of another, and equal names do not meet."""
    slow = Slow()

    async def find_user(scope: Any) -> str | None:
        return dict(scope["headers"]).get(b"x-user", b"").decode() or None

    app = chat_app(slow.answer, user=find_user)
    client = RawClient(body(json.dumps(VERCEL).encode()), path="/")
    client.scope["headers"].append((b"x-user", b"ada"))
    client.taken = lambda event: anyio.lowlevel.checkpoint() if b"one" not in event.get("body", b"") else _set(client)
    await client.ask(app)
    for other in ({"x-user": "bob"}, {"x-user": "ada/chat-1"}):
        assert (await send(app, "GET", "/chat-1/stream", headers=other)).status_code == 204
        assert (await send(app, path="/chat-1/stop", headers=other)).json() == {"stopped": False}
    for path, method in (("/", "POST"), ("/chat-1/stop", "POST"), ("/chat-1/stream", "GET")):
        assert (await send(app, method, path, json=VERCEL)).status_code == 401
    bob = read_events((await send(chat_app(echo, user=find_user), json=VERCEL, headers={"x-user": "bob"})).text)
    assert texts(bob) == "Hello."
    assert (await send(app, path="/chat-1/stop", headers={"x-user": "ada"})).json() == {"stopped": True}


async def _set(client: RawClient) -> None:
    client.left.set()


async def find_staff(chat: ChatInput) -> bool:
    await anyio.lowlevel.checkpoint()
    return chat.user == "staff"


@pytest.mark.parametrize("may_decide", [None, lambda chat: chat.user == "staff", find_staff])
async def test_an_approval_goes_on(may_decide: Any) -> None:
    """A call waits for the page; its decision comes with the next request, of one who may decide; the tool runs once."""
    ran: list[str] = []

    @tool
    def erase(name: str) -> str:
        """Erase a file."""
        ran.append(name)
        return "erased"

    model = ScriptedChatModel(
        script=[AIMessage("", tool_calls=[{"name": "erase", "args": {"name": "a"}, "id": "c1"}]), "Done."]
    )
    agent = create_agent(model, [erase], interrupt_on=["erase"])
    history = InMemoryChatMessageHistory()
    users = iter(["ada", "ada", "staff", "staff"] if may_decide else ["ada"] * 3)
    app = chat_app(
        lambda chat: agent.astream(chat.input, history=history), user=lambda scope: next(users), may_decide=may_decide
    )
    asked = read_events((await send(app, json=VERCEL)).text)
    assert {"type": "tool-approval-request", "approvalId": "c1", "toolCallId": "c1"} in asked and not ran
    part = {"type": "tool-erase", "toolCallId": "c1", "state": "approval-responded", "input": {"name": "a"}}
    part["approval"] = {"id": "c1", "approved": True}
    decided = {**VERCEL, "messages": [*VERCEL["messages"], {"id": "2", "role": "assistant", "parts": [part]}]}
    if may_decide:
        reply = await send(app, json=decided)
        assert (reply.status_code, reply.json()["error"]["code"], ran) == (403, "forbidden", [])
        assert reply.json()["error"]["message"] == "this waits for another person's decision"
    told = read_events((await send(app, json=decided)).text)
    assert (texts(told), ran) == ("Done.", ["a"])
    again = await send(app, json=decided)
    assert (again.status_code, ran) == (400, ["a"])


async def test_a_failure_before_the_first_event_is_a_status() -> None:
    async def fail() -> AsyncGenerator[str, None]:
        raise ProviderUnavailable("http://inside has a secret")
        yield ""

    reply = await send(chat_app(lambda chat: fail()), json=VERCEL)
    assert reply.status_code == 503 and "secret" not in reply.text
    assert reply.json()["error"]["message"] == "the model's server failed"

    def refuse(chat: ChatInput) -> Any:
        raise RuntimeError("a secret")

    reply = await send(chat_app(refuse), json=VERCEL)
    assert (reply.status_code, reply.json()["error"]["message"]) == (500, "the request failed")


async def test_a_service_refuses_in_its_own_words() -> None:
    """By a PermissionError; one of the system's, of a file, is told to nobody."""

    def refuse(chat: ChatInput) -> Any:
        raise (
            PermissionError("staff alone may ask here") if chat.id == "chat-1" else PermissionError(13, "no", "/etc/x")
        )

    reply = await send(chat_app(refuse), json=VERCEL)
    assert (reply.status_code, reply.json()["error"]["message"]) == (403, "staff alone may ask here")
    reply = await send(chat_app(refuse), json={**VERCEL, "id": "chat-2"})
    assert (reply.status_code, reply.json()["error"]["message"]) == (500, "the request failed")


async def test_an_input_that_cannot_be_answered() -> None:
    """Is told in the words of the service, without what looks like a key; one of the stream's in words for anybody."""
    error = InvalidInput("a file has 5 MB at most, says sk-proj-abcdefghijklmnopqrstuvwxyz0123456789")

    def refuse(chat: ChatInput) -> Any:
        raise error

    async def refuse_later(chat: ChatInput) -> Any:
        await anyio.lowlevel.checkpoint()
        raise error

    for answer in (refuse, refuse_later):
        reply = await send(chat_app(answer), json=VERCEL)
        assert (reply.status_code, reply.json()["error"]["type"]) == (400, "invalid_request_error")
        assert reply.json()["error"]["message"].startswith("a file has 5 MB at most")
        assert "sk-proj-abc" not in reply.text
    model = ScriptedChatModel(script=[InvalidInput("raise max_tokens of db-7.corp")])
    reply = await send(chat_app(lambda chat: model.astream("Hi")), json=VERCEL)
    assert (reply.status_code, "corp" in reply.text) == (400, False)


async def test_answer_may_be_async() -> None:
    async def answer(chat: ChatInput) -> Any:
        await anyio.lowlevel.checkpoint()
        return echo(chat)

    assert texts(read_events((await send(chat_app(answer), json=VERCEL)).text)) == "Hello."


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        ({"content": b"{}", "headers": {"content-type": "text/plain"}}, 415, "Content-Type"),
        ({"json": []}, 400, "it is a JSON object"),
        ({"json": {"id": "x"}}, 400, "the body is of no page"),
        ({"json": {**VERCEL, "id": "a\nb"}}, 400, "one line"),
        ({"json": {**VERCEL, "messages": []}}, 400, "the body is of no page"),
        ({"json": AG_UI}, 400, "ag-ui is not spoken here"),
        ({"json": {**VERCEL, "more": "x" * 3_000}}, 413, "larger than 2,000 bytes"),
        ({"method": "GET"}, 405, "use POST"),
        ({"method": "POST", "path": "/chat-1/stream"}, 405, "use GET"),
        ({"method": "GET", "path": "/other"}, 404, "nothing at this path"),
        ({"method": "GET", "path": "/" + "x" * 201 + "/stream"}, 400, "cannot be answered"),
    ],
)
async def test_what_is_no_request_is_refused(request_: Any, status: int, words: str) -> None:
    reply = await send(chat_app(echo, protocols=["vercel"], max_body=2_000), **request_)
    assert reply.status_code == status and words in reply.json()["error"]["message"]


async def test_pages_of_other_origins() -> None:
    app = chat_app(echo, cors=["https://app.example"])
    for path in ("/", "/chat-1/stop"):
        foreign = await send(app, path=path, json=VERCEL, headers={"origin": "https://evil.example"})
        assert foreign.status_code == 403 and "cors=" in foreign.text
    own = await send(app, json=VERCEL, headers={"origin": "http://test"})
    assert own.status_code == 200 and "access-control-allow-origin" not in own.headers
    asked = {"origin": "https://app.example", "access-control-request-headers": "content-type, x-mine"}
    before = await send(app, "OPTIONS", headers=asked)
    assert before.status_code == 204 and before.headers["access-control-allow-headers"] == "content-type, x-mine"
    listed = await send(app, json=VERCEL, headers={"origin": "https://app.example"})
    assert listed.headers["access-control-allow-origin"] == "https://app.example" and listed.headers["vary"] == "origin"
    refused = await send(app, json={}, headers={"origin": "https://app.example"})
    assert refused.status_code == 400 and "access-control-allow-origin" in refused.headers


async def test_on_this_machine_a_foreign_name_is_refused() -> None:
    """A page may call a name of its own that means 127.0.0.1."""
    client = RawClient(body(json.dumps(VERCEL).encode()), path="/", server=("127.0.0.1", 80))
    client.scope["headers"].append((b"host", b"evil.example"))
    await client.ask(chat_app(echo))
    assert client.status == 403


@pytest.mark.parametrize(
    "options",
    [
        {"protocols": []},
        {"protocols": ["hocket"]},
        *(
            {"cors": [one]}
            for one in ("*", 5, "https://a.example:443", "https://A.example", "http://[::1", "http://a/b")
        ),
        {"cors": "https://a.example"},
        {"max_body": 0},
        {"live": "redis://localhost"},
        {"user": "ada"},
        {"may_decide": ["staff"]},
        {"answer": 5},
    ],
)
def test_options_that_are_none_are_refused(options: Any) -> None:
    with pytest.raises(InvalidInput, match=next(iter(options))):
        chat_app(**{"answer": echo, **options})


async def test_the_end_of_the_server_stops_what_runs() -> None:
    slow, live = Slow(), LiveAnswers()
    app = chat_app(slow.answer, live=live)
    await leave(app)
    events = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    client = RawClient(*events, type="lifespan")
    await client.ask(app)
    assert [event["type"] for event in client.got] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert slow.is_closed


async def test_behind_a_real_server(serve: Serve) -> None:
    url = serve(chat_app(echo))
    async with httpx.AsyncClient(base_url=url) as client:
        reply = await client.post("/", json=VERCEL)
        assert texts(read_events(reply.text)) == "Hello."
        assert (await client.get("/chat-1/stream")).status_code == 204


async def test_behind_a_proxy_of_the_same_machine() -> None:
    """Which keeps the ``Host`` of browsers: the name is one that ``cors`` has; others are refused, and told how."""
    for cors, origin, status in (
        (["https://app.example"], "https://app.example", 200),
        (["https://app.example"], "https://evil.example", 403),
        ((), "https://app.example", 403),
    ):
        client = RawClient(body(json.dumps(VERCEL).encode()), path="/", server=("127.0.0.1", 80))
        client.scope["headers"] += [(b"host", b"app.example"), (b"origin", origin.encode())]
        await client.ask(chat_app(echo, cors=cors))
        assert client.status == status
    assert b"names others with cors=" in client.body


@pytest.mark.parametrize("origin", ["null", "https://app.example@evil.example", "http://[::1"])
async def test_a_page_of_no_place_is_refused(origin: str) -> None:
    """Also where the request has no ``Host``."""
    client = RawClient(body(json.dumps(VERCEL).encode()), path="/")
    client.scope["headers"].append((b"origin", origin.encode()))
    await client.ask(chat_app(echo))
    assert client.status == 403


async def test_a_host_may_be_in_capital_letters() -> None:
    assert (
        await send(chat_app(echo), json=VERCEL, headers={"origin": "http://test", "host": "Test"})
    ).status_code == 200


async def test_a_user_that_is_no_text_is_a_mistake_of_the_service(caplog: pytest.LogCaptureFixture) -> None:
    user: Any = lambda scope: 7  # noqa: E731  # a number of a database
    assert (await send(chat_app(echo, user=user), json=VERCEL)).status_code == 500
    assert "user= returned a value of type int" in caplog.text


async def test_long_names_of_users_and_chats() -> None:
    reply = await send(chat_app(echo, user=lambda scope: "水" * 200), json={**VERCEL, "id": "💧" * 200})
    assert texts(read_events(reply.text)) == "Hello."
