"""The batch endpoints of the scripted server: rows are answered as live requests are, and all that can go wrong does."""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from hocket.testing import (
    AnthropicFormat,
    BatchPlan,
    Cut,
    GoogleFormat,
    Hangup,
    MistralFormat,
    OpenAIFormat,
    OpenAIResponsesFormat,
    ReceivedRequest,
    Reply,
    Server,
    Status,
    serve,
    virtual_clock,
)
from hocket.testing.server import Format, ScriptedBatches

Rows = Mapping[str, Any]


@dataclass(frozen=True)
class Provider:
    """How a provider's batches are made and read, in raw requests.

    Args:
        live: the path of a live request.
        body: makes the body of one, of a text.
        place: the path of batches.
        create: makes the request that creates a batch: path and body, of rows and the id of a file with them.
        line: makes a line of a file; None: rows come with the request.
        words: the states at half time, when cancelled, and at the end.
        results: finds the results in what is said of a batch: the path of their file, or they themselves.
        reply: finds status or type, and document, in a line of the results.
        text: finds the text in a document.
    """

    name: str
    format: Format
    live: str
    body: Callable[[str], dict[str, Any]]
    place: str
    create: Callable[[Rows, str], tuple[str, Any]]
    line: Callable[[str, Any], Any] | None
    words: tuple[str, str, str]
    state: Callable[[Any], str]
    results: Callable[[Any], Any]
    reply: Callable[[Any], Any]


def chat(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def openai(name: str, format: Format, live: str, body: Callable[[str], dict[str, Any]]) -> Provider:
    return Provider(
        name,
        format,
        f"/v1{live}",
        body,
        "/v1/batches",
        lambda rows, file: (
            "/v1/batches",
            {"input_file_id": file, "endpoint": f"/v1{live}", "completion_window": "24h"},
        ),
        lambda id, body: {"custom_id": id, "method": "POST", "url": f"/v1{live}", "body": body},
        ("in_progress", "cancelled", "completed"),
        lambda batch: batch["status"],
        lambda batch: [
            f"/v1/files/{batch[name]}/content" for name in ("output_file_id", "error_file_id") if batch[name]
        ],
        lambda line: (line["custom_id"], line["response"]["body"] if line["response"] else line["error"]["code"]),
    )


CHAT = openai("chat", OpenAIFormat(), "/chat/completions", chat)
RESPONSES = openai("responses", OpenAIResponsesFormat(), "/responses", lambda text: {"model": "m", "input": text})
ANTHROPIC = Provider(
    "anthropic",
    AnthropicFormat(),
    "/v1/messages",
    lambda text: {**chat(text), "max_tokens": 9},
    "/v1/messages/batches",
    lambda rows, _: ("/v1/messages/batches", {"requests": [{"custom_id": id, "params": rows[id]} for id in rows]}),
    None,
    ("in_progress", "ended", "ended"),
    lambda batch: batch["processing_status"],
    lambda batch: [batch["results_url"]] if batch["results_url"] else [],
    lambda line: (
        line["custom_id"],
        line["result"].get("message") or line["result"].get("error") or line["result"]["type"],
    ),
)
GOOGLE = Provider(
    "google",
    GoogleFormat(),
    "/v1beta/models/m:generateContent",
    lambda text: {"contents": [{"role": "user", "parts": [{"text": text}]}]},
    "/v1beta/batches",
    lambda rows, _: (
        "/v1beta/models/m:batchGenerateContent",
        {
            "batch": {
                "inputConfig": {"requests": {"requests": [{"request": rows[k], "metadata": {"key": k}} for k in rows]}}
            }
        },
    ),
    None,
    ("BATCH_STATE_RUNNING", "BATCH_STATE_CANCELLED", "BATCH_STATE_SUCCEEDED"),
    lambda batch: batch["metadata"]["state"],
    lambda batch: batch.get("response", {}).get("inlinedResponses", {}).get("inlinedResponses", []),
    lambda one: (one["metadata"]["key"], one.get("response") or one["error"]["code"]),
)
MISTRAL = Provider(
    "mistral",
    MistralFormat(),
    "/v1/chat/completions",
    chat,
    "/v1/batch/jobs",
    lambda rows, file: ("/v1/batch/jobs", {"input_files": [file], "endpoint": "/v1/chat/completions", "model": "m"}),
    lambda id, body: {"custom_id": id, "body": {name: body[name] for name in body if name != "model"}},
    ("RUNNING", "CANCELLED", "SUCCESS"),
    lambda batch: batch["status"],
    lambda batch: [f"/v1/files/{batch[name]}/content" for name in ("output_file", "error_file") if batch[name]],
    lambda line: (line["custom_id"], line["response"]["body"]),
)
PROVIDERS = [CHAT, RESPONSES, ANTHROPIC, GOOGLE, MISTRAL]
each_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda one: one.name)


class Client:
    """A client that knows nothing but the wire."""

    def __init__(self, server: Server, provider: Provider, http: httpx.AsyncClient) -> None:
        self.server, self.provider, self.http = server, provider, http

    def rows(self, count: int) -> dict[str, Any]:
        return {f"r-{number}": self.provider.body(f"question {number}") for number in range(count)}

    async def upload(self, rows: Rows, purpose: str = "batch") -> str:
        assert self.provider.line
        lines = "\n".join(json.dumps(self.provider.line(id, body)) for id, body in rows.items())
        form = {"file": ("rows.jsonl", lines.encode())}
        reply = await self.http.post("/v1/files", data={"purpose": purpose}, files=form)
        return str(reply.json().get("id"))

    async def create(self, rows: Rows) -> httpx.Response:
        path, body = self.provider.create(rows, await self.upload(rows) if self.provider.line else "")
        return await self.http.post(path, json=body)

    async def submit(self, count: int) -> str:
        """Create a batch of so many rows; return the path where it is."""
        reply = await self.create(self.rows(count))
        assert reply.status_code == 200, reply.text
        said = reply.json()
        id = said["name"].removeprefix("batches/") if self.provider.name == "google" else said["id"]
        return f"{self.provider.place}/{id}"

    async def get(self, place: str) -> Any:
        return (await self.http.get(place)).json()

    async def state(self, place: str) -> str:
        return self.provider.state(await self.get(place))

    async def read_lines(self, place: str) -> list[str]:
        """Return the lines of the results."""
        texts = [(await self.http.get(path)).text for path in self.provider.results(await self.get(place))]
        return "".join(texts).splitlines()

    async def read(self, place: str) -> dict[str, Any]:
        """Return what each row of the results has."""
        if self.provider.name == "google":
            lines = self.provider.results(await self.get(place))
        else:
            lines = [json.loads(line) for line in await self.read_lines(place)]
        return dict(map(self.provider.reply, lines))


def answer(request: ReceivedRequest) -> Reply:
    return Reply("Good morning", usage={"details": {"cached": 1}}, id="one")


@asynccontextmanager
async def batching(provider: Provider = CHAT, script: Any = answer) -> AsyncIterator[tuple[Client, ScriptedBatches]]:
    async with serve(provider.format, script) as server, httpx.AsyncClient(base_url=server.origin) as http:
        yield Client(server, provider, http), server.batches


# Rows are answered as live requests are.


@each_provider
async def test_a_rows_reply_is_the_live_one(provider: Provider) -> None:
    async with batching(provider) as (client, batches):
        client.http.headers["x-mine"] = "1"
        place = await client.submit(2)
        live = await client.http.post(provider.live, json=provider.body("question 1"))
        assert (await client.read(place))["r-1"] == live.json()
        assert not client.server.problems
    [batch] = batches.submitted
    asked, lively = batch.rows[1].request, next(one for one in client.server.requests if one.path == provider.live)
    assert (asked.method, asked.path, asked.json) == (lively.method, lively.path, lively.json)
    assert asked.headers["x-mine"] == "1"
    assert (asked.connection, lively.connection) == (0, 1)


@each_provider
async def test_each_reply_has_an_id_of_its_own(provider: Provider) -> None:
    """Live or a row of a batch, where the script says none: a program may take two replies of one id for one."""
    async with batching(provider, itertools.repeat("Good morning")) as (client, _):
        rows = await client.read(await client.submit(2))
        live = [(await client.http.post(provider.live, json=provider.body("q"))).json() for _ in range(2)]
        replies = [*rows.values(), *live]
        ids = {reply.get("id") or reply.get("responseId") for reply in replies}
        assert len(ids - {None}) == 4
        assert not client.server.problems


@each_provider
async def test_a_row_may_be_refused_by_the_script(provider: Provider) -> None:
    async with batching(provider, [Status(400, "no such thing"), Reply("fine")]) as (client, batches):
        results = await client.read(await client.submit(2))
        assert results["r-0"] == 3 if provider.name == "google" else "no such thing" in json.dumps(results["r-0"])
        assert [row.status for row in batches.submitted[0].rows] == [400, 200]


@pytest.mark.parametrize("provider", [CHAT, RESPONSES, GOOGLE, MISTRAL], ids=lambda one: one.name)
async def test_a_row_that_no_live_server_would_take_is_a_problem(provider: Provider) -> None:
    wrong = replace(provider, body=lambda text: {"model": "m"})
    async with batching(wrong) as (client, batches):
        await client.get(await client.submit(1))
        assert "takes none" in str(client.server.problems[0])
        assert batches.submitted[0].rows[0].status == 500


async def test_a_script_that_breaks_off_is_an_error_of_the_provider() -> None:
    async with batching(script=[Hangup(), Cut(Reply("Hello"), at_byte=9)]) as (client, batches):
        results = await client.read(await client.submit(2))
        assert [results[id]["error"]["type"] for id in ("r-0", "r-1")] == ["server_error"] * 2
        assert [row.status for row in batches.submitted[0].rows] == [500, 500]


async def test_gemini_takes_a_file_in_pieces_and_returns_one() -> None:
    async with batching(GOOGLE) as (client, _):
        lines = [json.dumps({"key": key, "request": GOOGLE.body("hi")}) + "\n" for key in ("a", "b")]
        start = {"x-goog-upload-protocol": "resumable", "x-goog-upload-command": "start"}
        begun = await client.http.post("/upload/v1beta/files", json={"file": {"displayName": "key"}}, headers=start)
        where, file = begun.headers["x-goog-upload-url"], ""
        for command, piece, status in [("upload", lines[0], "active"), ("upload, finalize", lines[1], "final")]:
            reply = await client.http.post(where, content=piece, headers={"x-goog-upload-command": command})
            assert reply.headers["x-goog-upload-status"] == status
            file = reply.json()["file"]["name"]
        job = {"batch": {"displayName": "key", "inputConfig": {"fileName": file}}}
        batch = (await client.http.post("/v1beta/models/m:batchGenerateContent", json=job)).json()
        assert batch["metadata"]["displayName"] == "key"
        batch = await client.get(f"/v1beta/{batch['name']}")
        results = await client.http.get(f"/v1beta/{batch['response']['responsesFile']}:download?alt=media")
        answers = [json.loads(line) for line in results.text.splitlines()]
        assert [one["key"] for one in answers] == ["a", "b"]
        live = await client.http.post(GOOGLE.live, json=GOOGLE.body("hi"))
        assert answers[1]["response"] == live.json()


async def test_it_is_at_any_base_url() -> None:
    """Groq's and Azure's is another."""
    async with batching() as (client, batches):
        form = {
            "file": (
                "a",
                json.dumps({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": chat("hi")}),
            )
        }
        file = (await client.http.post("/openai/v1/files", data={"purpose": "batch"}, files=form)).json()["id"]
        job = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        await client.http.post("/openai/v1/batches", json=job)
        assert (await client.get("/openai/v1/batches"))["data"][0]["status"] == "completed"
    assert batches.submitted[0].rows[0].request.path == "/openai/v1/chat/completions"


# Time.


@each_provider
async def test_it_takes_its_time_and_a_cancel_keeps_what_is_there(provider: Provider) -> None:
    half_time, cancelled, completed = provider.words
    with virtual_clock(autojump=False) as clock:
        async with batching(provider) as (client, batches):
            batches.plan = BatchPlan(seconds=600)
            place, other = await client.submit(10), await client.submit(10)
            clock.advance(300)
            assert await client.state(place) == half_time
            assert await client.read(place) == {}
            cancel = f"{other}:cancel" if provider.name == "google" else f"{other}/cancel"
            assert (await client.http.post(cancel)).status_code == 200
            clock.advance(300)
            assert await client.state(place) == completed
            assert len(await client.read(place)) == 10
            assert await client.state(other) == cancelled
            results = await client.read(other)
            assert len([reply for reply in results.values() if isinstance(reply, dict)]) == 5
            said = {"anthropic": "canceled", "google": 1, "mistral": None}
            assert results.get("r-9") == said.get(provider.name, "batch_cancelled")
            assert sum(batches.executed_ids.values()) == 15
            assert [batch.state for batch in batches.submitted] == ["completed", "cancelled"]


async def test_states_come_one_after_the_other() -> None:
    with virtual_clock(autojump=False) as clock:
        async with batching() as (client, batches):
            batches.plan = BatchPlan(seconds=100, queued=20, finalizing=20, cancelling=30)
            place = await client.submit(6)
            seen = []
            for _ in range(6):
                batch = await client.get(place)
                seen.append((batch["status"], batch["request_counts"]["completed"]))
                clock.advance(20)
            assert seen == [
                ("validating", 0),
                ("in_progress", 0),
                ("in_progress", 2),
                ("in_progress", 4),
                ("finalizing", 6),
                ("completed", 6),
            ]
            other = await client.submit(6)
            clock.advance(40)
            await client.http.post(f"{other}/cancel")
            clock.advance(29)
            assert await client.state(other) == "cancelling"
            clock.advance(1)
            assert await client.state(other) == "cancelled"
            assert batches.submitted[1].counts == {"succeeded": 2, "cancelled": 4}
            await client.http.post(f"{place}/cancel")
            assert await client.state(place) == "completed"


async def test_anthropic_counts_at_the_end() -> None:
    """Until then all rows are processed there, as its reference says."""
    with virtual_clock(autojump=False) as clock:
        async with batching(ANTHROPIC) as (client, batches):
            batches.plan = BatchPlan(seconds=100)
            place = await client.submit(4)
            clock.advance(50)
            counts = (await client.get(place))["request_counts"]
            assert counts == {"processing": 4, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
            assert batches.submitted[0].counts == {"succeeded": 2, "processing": 2}


@each_provider
async def test_the_first_thing_said_is_the_first_state(provider: Provider) -> None:
    """Also of a batch that takes no time at all."""
    async with batching(provider) as (client, _):
        said = (await client.create(client.rows(1))).json()
        assert provider.state(said) in ("validating", "in_progress", "BATCH_STATE_PENDING", "QUEUED")
        assert not provider.results(said)


# What becomes of rows and batches.


@each_provider
@pytest.mark.parametrize("end", ["expired", "cancelled"])
async def test_rows_that_were_not_come_to(provider: Provider, end: Any) -> None:
    async with batching(provider) as (client, batches):
        batches.plan = BatchPlan(end=end, rows=lambda row: end if row.number == 1 else None)
        results = await client.read(await client.submit(2))
        assert isinstance(results["r-0"], dict)
        said: dict[str, object] = {
            "anthropic": "canceled" if end == "cancelled" else end,
            "google": {"expired": 4, "cancelled": 1}[end],
            "mistral": None,
        }
        assert results.get("r-1") == said.get(provider.name, f"batch_{end}")
        assert batches.executed_ids == {"r-0": 1}


async def test_results_that_are_not_as_they_should_be() -> None:
    outcomes: Any = {0: "missing", 1: "twice", 2: "garbled", 3: "stranger"}
    async with batching() as (client, batches):
        batches.plan = BatchPlan(rows=lambda row: outcomes.get(row.number), in_order=False)
        lines = await client.read_lines(await client.submit(5))
        ids = [json.loads(line)["custom_id"] if line.endswith("}") else "no JSON" for line in lines]
        assert ids == ["r-4", "unknown-3", "r-3", "no JSON", "r-1", "r-1"]
        assert batches.executed_ids == dict.fromkeys(client.rows(5), 1)


async def test_a_batch_may_be_refused_whole() -> None:
    plan = BatchPlan(end="failed", code="token_limit_exceeded", message="Enqueued token limit reached")
    async with batching() as (client, batches):
        batches.plan = lambda batch: plan if batch.number == 0 else BatchPlan()
        batch = await client.get(await client.submit(2))
        assert (batch["status"], batch["errors"]["data"][0]["code"]) == ("failed", "token_limit_exceeded")
        assert batches.executed_ids == {}
        assert await client.state(await client.submit(1)) == "completed"
    async with batching(GOOGLE) as (client, batches):
        batches.plan = replace(plan, code="8")
        batch = await client.get(await client.submit(2))
        assert (batch["metadata"]["state"], batch["error"]["code"]) == ("BATCH_STATE_FAILED", 8)
    async with batching(MISTRAL) as (client, batches):
        batches.plan = plan
        assert (await client.get(await client.submit(2)))["errors"] == [{"message": "Enqueued token limit reached"}]
    async with batching(ANTHROPIC) as (client, batches):
        batches.plan = plan
        assert (await client.create(client.rows(1))).status_code == 500
        assert "refused whole" in str(client.server.problems[0])


@each_provider
async def test_results_are_archived_and_batches_go(provider: Provider) -> None:
    with virtual_clock(autojump=False) as clock:
        async with batching(provider) as (client, batches):
            batches.plan = BatchPlan(archived_after=100, gone_after=200)
            place = await client.submit(1)
            assert len(await client.read(place)) == 1
            clock.advance(100)
            batch = await client.get(place)
            assert provider.state(batch) == provider.words[2]
            found = provider.results(batch)
            assert found == [] if provider.name == "google" else (await client.http.get(found[0])).status_code == 404
            clock.advance(100)
            assert (await client.http.get(place)).status_code == 404
            listed = await client.get(provider.place)
            assert (listed.get("operations") if provider.name == "google" else listed["data"]) == []


# Lists.


@pytest.mark.parametrize(
    ("provider", "size", "entries", "following"),
    [
        (CHAT, "limit", "data", lambda page: f"after={page['last_id']}" if page["has_more"] else ""),
        (ANTHROPIC, "limit", "data", lambda page: f"after_id={page['last_id']}" if page["has_more"] else ""),
        (MISTRAL, "page_size", "data", None),
        (
            GOOGLE,
            "pageSize",
            "operations",
            lambda page: f"pageToken={one}" if (one := page.get("nextPageToken")) else "",
        ),
    ],
    ids=["chat", "anthropic", "mistral", "google"],
)
async def test_a_list_comes_in_pages(provider: Provider, size: str, entries: str, following: Any) -> None:
    """The newest first, and no more on a page than the server wants."""
    async with batching(provider) as (client, batches):
        for _ in range(5):
            await client.submit(1)
        batches.page_size = 2
        found, query = list[str](), ""
        for number in range(3):
            page = await client.get(f"{provider.place}?{size}=100&{query}")
            found += [one.get("id") or one["name"] for one in page[entries]]
            query = following(page) if following else f"page={number + 1}"
        assert not query or not following
        assert found == [batch.id for batch in reversed(batches.submitted)]


async def test_a_list_lags() -> None:
    with virtual_clock(autojump=False) as clock:
        async with batching() as (client, batches):
            batches.list_lag = 30
            place = await client.submit(1)
            assert (await client.get("/v1/batches"))["data"] == []
            assert await client.state(place) == "completed"
            clock.advance(30)
            assert len((await client.get("/v1/batches"))["data"]) == 1


# Requests that go wrong.


@each_provider
async def test_a_refusal_has_no_effect_and_a_loss_has(provider: Provider) -> None:
    async with batching(provider) as (client, batches):
        batches.disturb("create", Status(429, headers={"retry-after": "7"}), times=2)
        batches.disturb("create", lambda reply: reply)
        batches.disturb("create", lambda reply: Status(500))
        batches.disturb("create", lambda reply: Hangup())
        statuses = [(await client.create(client.rows(1))).status_code for _ in range(4)]
        assert statuses == [429, 429, 200, 500]
        assert len(batches.submitted) == 2
        with pytest.raises(httpx.RemoteProtocolError):
            await client.create(client.rows(1))
        assert len(batches.submitted) == 3
        assert (await client.create(client.rows(1))).status_code == 200
        assert batches.executed_ids == {"r-0": 4}


async def test_every_endpoint_may_be_disturbed() -> None:
    """Each by its own; what another was to get stays for it."""
    async with batching() as (client, batches):
        place = await client.submit(3)
        whole = await client.read_lines(place)
        for endpoint in ("upload", "get", "list", "cancel"):
            batches.disturb(endpoint, Status(503))
        batches.disturb("results", lambda reply: Cut(reply, at_byte=len(whole[0]) + 20, how="end"), times=2)
        assert (await client.http.get("/v1/batches")).status_code == 503
        assert (await client.http.get(place)).status_code == 503
        assert (await client.http.post(f"{place}/cancel")).status_code == 503
        assert await client.upload({}) == "None"
        for _ in range(2):
            assert await client.read_lines(place) == [whole[0], whole[1][:19]]
        assert await client.read_lines(place) == whole


@each_provider
async def test_a_provider_without_batches(provider: Provider) -> None:
    async with batching(provider) as (client, batches):
        batches.is_offered = False
        assert (await client.create(client.rows(1))).status_code == 404
        assert (await client.http.get(f"{provider.place}/x")).status_code == 404
        assert (await client.http.post(provider.live, json=provider.body("hi"))).status_code == 200


# What is no batch is a problem of the client's.


def change_line(**changes: Any) -> Provider:
    line = CHAT.line
    assert line
    return replace(CHAT, line=lambda id, body: {**line(id, body), **changes})


@pytest.mark.parametrize(
    ("provider", "named"),
    [
        (change_line(custom_id="same"), "same"),
        (change_line(url="/v1/responses"), "/v1/responses"),
        (change_line(method="GET"), "GET"),
        (replace(CHAT, body=lambda text: {**chat(text), "model": text}), "question 1"),
        (replace(CHAT, body=lambda text: {**chat(text), "stream": True}), "stream"),
        (replace(MISTRAL, line=lambda id, body: {"custom_id": id, "body": body}), "model"),
        (replace(CHAT, create=lambda *_: CHAT.create({}, "file-9")), "file-9"),
        (replace(ANTHROPIC, create=lambda rows, _: ANTHROPIC.create({"a b": rows["r-0"]}, "")), "a b"),
    ],
    ids=["id twice", "other url", "no post", "two models", "stream", "model in a line", "no such file", "odd id"],
)
async def test_what_a_provider_would_refuse_is_a_problem(provider: Provider, named: str) -> None:
    async with batching(provider) as (client, batches):
        assert (await client.create(client.rows(2))).status_code == 500
        assert named in str(client.server.problems[0])
        assert batches.submitted == []


async def test_a_file_for_another_purpose_is_a_problem() -> None:
    async with batching() as (client, _):
        await client.upload({}, purpose="fine-tune")
        await client.http.post("/v1/files", json={})
        assert [
            "fine-tune" in str(client.server.problems[0]),
            "application/json" in str(client.server.problems[1]),
        ] == [True] * 2


# The meter.


@each_provider
async def test_the_bill_can_be_computed(provider: Provider) -> None:
    """Tokens that are in no reply of the results are billed as well."""
    async with batching(provider) as (client, batches):
        batches.plan = BatchPlan(
            rows=lambda row: "missing" if row.number == 1 else "expired" if row.number == 2 else None
        )
        await client.submit(3)
        await client.submit(1)
        into = next(name for name in batches.usage if name.lower().startswith(("prompt", "input")))
        out = next(name for name in batches.usage if name.lower().startswith(("completion", "output", "candidates")))
        first, second = batches.submitted
        assert (first.usage[into], first.usage[out], first.usage["details.cached"]) == (4, 4, 2)
        assert (second.usage[into], second.usage[out]) == (2, 2)
        assert batches.usage["details.cached"] == 3
        assert client.server.tokens_billed == batches.usage[into] + batches.usage[out] == 12
        bodies = [json.dumps(client.rows(2)[id], sort_keys=True) for id in ("r-0", "r-1")]
        assert batches.executed_bodies == {bodies[0]: 2, bodies[1]: 1}


def test_a_server_in_a_thread_is_looked_at_from_here() -> None:
    """Whoever looks first has the rows answered, once."""
    with serve(ANTHROPIC.format, answer) as server, httpx.Client(base_url=server.origin) as http:
        path, body = ANTHROPIC.create({"a": ANTHROPIC.body("one two three")}, "")
        http.post(path, json=body)
        [batch] = server.batches.submitted
        assert batch.usage["input_tokens"] == 3
        assert http.get(f"{path}/{batch.id}").json()["request_counts"]["succeeded"] == 1
        assert server.batches.executed_ids == {"a": 1}
