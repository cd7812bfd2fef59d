"""The page of a gateway, as its browser asks for it: files, headers, keys, the runs, usage and conversations behind it.

What a browser makes of that is in `test_console_browser`.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import hocket.serving.console as console
from hocket import FakeListChatModel, ScriptedChatModel, Turn, create_agent, tool
from hocket.errors import ProviderUnavailable
from hocket.language_models import FakeListLLM
from hocket.ledger import LedgerEntry, SQLiteLedger, set_ledger
from hocket.messages import HumanMessage
from hocket.prices import Price, set_prices
from hocket.serving import openai_app, read_chat
from hocket.serving.console.chats import Chats
from hocket.serving.console.fair_share import FairShare
from hocket.serving.console.recorder import MOST_RUNS, RunRecorder
from hocket.serving.console.run_texts import LONGEST_TEXT, describe_value
from tests.kit import RawClient
from tests.serving.conftest import KEY, question, send

FILES = Path(console.__file__).parent / "static"
OTHER_KEY = "a-key-of-another"
USAGE: Any = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
FACTS = {"finish_reason": "stop", "model_name": "known-model"}


def model(*script: Any, **fields: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=script or ["Hello."], **fields)


def chat(name: str, text: str = "Hi", *, thread: str = "t", run: str = "r", **fields: Any) -> dict[str, Any]:
    """Return what the page sends when it asks."""
    messages = [{"id": "1", "role": "user", "content": text}]
    body = {"threadId": thread, "runId": run, "messages": messages, "tools": [], "context": []}
    return {**body, "forwardedProps": {"model": name}, **fields}


def read_events(reply: httpx.Response) -> list[Any]:
    return [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: ")]


def say(reply: httpx.Response) -> str:
    return "".join(event.get("delta", "") for event in read_events(reply))


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def fetch(app: Any, path: str, key: str = "") -> Any:
    return (await send(app, "GET", f"/page/{path}", headers=bearer(key) if key else {})).json()


# -- files


async def test_the_files_of_the_page():
    """They need no key; the browser is told to run them alone, and to take no text for markup."""
    app = openai_app({"m": model()}, page=True, keys=KEY)
    kinds = {"": "text/html", "page.js": "text/javascript", "page.css": "text/css"}
    for path, kind in kinds.items():
        reply = await send(app, "GET", f"/page/{path}")
        assert reply.status_code == 200 and reply.headers["content-type"] == f"{kind}; charset=utf-8"
        assert reply.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
            "trusted-types 'none'"
        )
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
    for path in ("/", "/page"):
        reply = await send(app, "GET", path)
        assert (reply.status_code, reply.headers["location"]) == (307, "page/")
    assert (await send(app, "POST", "/page/", json={})).status_code == 405


def test_the_files_are_small_and_ask_no_other_host():
    texts = {path.name: path.read_text() for path in FILES.iterdir()}
    assert sorted(texts) == ["index.html", "page.css", "page.js"]
    assert sum(len(text.encode()) for text in texts.values()) <= 60_000
    hosts = {host for text in texts.values() for host in re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", text)}
    assert hosts <= {"www.w3.org"}  # the name of SVG


def test_no_text_can_become_markup():
    """The script has no way from a text to markup or to code; the browser has none either, by the headers."""
    ways = r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|ContextualFragment|\beval\b|Function\(|srcdoc"
    assert not re.search(ways, (FILES / "page.js").read_text())
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=|javascript:", (FILES / "index.html").read_text())


@pytest.mark.parametrize(
    "path",
    [
        "../keys.py",
        "..%2Froutes.py",
        "%2e%2e/routes.py",
        "static/page.js",
        "page.js/",
        "/etc/passwd",
        "routes.py",
        "x",
        "\0",
    ],
)
async def test_nothing_else_is_there(path: str):
    client = RawClient(method="GET", path=f"/page/{path}")
    await client.ask(openai_app({"m": model()}, page=True))
    assert client.status == 404


async def test_it_may_be_mounted_in_another_application():
    app = Starlette(routes=[Mount("/ai", openai_app({"m": model()}, page=True))])
    assert (await send(app, "GET", "/ai/")).headers["location"] == "page/"
    assert (await send(app, "GET", "/ai/page/page.js")).status_code == 200
    assert say(await send(app, "POST", "/ai/page/chat", json=chat("m"))) == "Hello."
    reply = await send(app, "GET", "/ai/page/chat/t/stream", headers={"last-event-id": "0"})
    assert say(reply) == "Hello."


async def test_without_the_option_there_is_no_page():
    app = openai_app({"m": model()})
    for path in ("/", "/page/", "/page/runs.json"):
        assert (await send(app, "GET", path)).status_code == 404


# -- conversations


async def test_each_model_has_its_own_conversation():
    """The page says the new question alone; what was said before is here."""
    one, other = model("A.", "B."), model("C.")
    app = openai_app({"one": one, "other": other}, page=True)
    assert say(await send(app, "POST", "/page/chat", json=chat("one", thread="1"))) == "A."
    assert say(await send(app, "POST", "/page/chat", json=chat("other", thread="2"))) == "C."
    assert say(await send(app, "POST", "/page/chat", json=chat("one", "And?", thread="1", run="r2"))) == "B."
    assert [message.text for message in one.requests[1].messages] == ["Hi", "A.", "And?"]
    assert [message.text for message in other.requests[0].messages] == ["Hi"]


async def test_an_answer_can_be_followed_from_its_beginning():
    """As a page does that was loaded again: it names no event, and is told all of the last answer."""
    app = openai_app({"m": model("A long answer.")}, page=True)
    told = await send(app, "POST", "/page/chat", json=chat("m"))
    again = await send(app, "GET", "/page/chat/t/stream", headers={"last-event-id": "0"})
    assert again.text == told.text and read_events(again)[0]["runId"] == "r"
    assert (await send(app, "POST", "/page/chat/t/stop", json={})).json() == {"stopped": False}


@pytest.mark.parametrize(
    "make", [lambda: FakeListLLM(responses=["Hello."]), lambda: model() | (lambda said: said.text)]
)
async def test_what_answers_with_a_text_is_asked_too(make: Any):
    app = openai_app({"m": make()}, page=True)
    assert say(await send(app, "POST", "/page/chat", json=chat("m"))) == "Hello."


@pytest.mark.parametrize("props", [{}, {"model": "n"}, {"model": ["m"]}, None, "m"])
async def test_a_model_that_is_not_there(props: Any):
    app = openai_app({"m": model()}, page=True)
    reply = await send(app, "POST", "/page/chat", json=chat("m", forwardedProps=props))
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found")


@tool
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def clerk(**fields: Any) -> Any:
    asked = Turn(text="May I?", tool_calls=[{"name": "pay", "args": {"amount": 1}, "id": "a"}])
    return create_agent(model(asked, "Done."), [pay], name="clerk", **fields)


async def test_an_agent_that_waits_for_a_person():
    """It is on the page, and not behind the API; its person changes what is paid."""
    app = openai_app({"m": model(), "clerk": clerk(interrupt_on=["pay"])}, page=True)
    assert [one["id"] for one in (await send(app, "GET", "/v1/models")).json()["data"]] == ["m"]
    reply = await send(app, "POST", "/v1/chat/completions", json=question(model="clerk"))
    assert reply.status_code == 404
    kinds = {one["name"]: one["kind"] for one in await fetch(app, "models.json")}
    assert kinds == {"m": "model", "clerk": "agent"}
    end = read_events(await send(app, "POST", "/page/chat", json=chat("clerk")))[-1]
    assert [one["toolCallId"] for one in end["outcome"]["interrupts"]] == ["a"]
    decided = [{"interruptId": "a", "status": "resolved", "payload": {"type": "edit", "args": {"amount": 2}}}]
    body = chat("clerk", run="r2", messages=[], resume=decided)
    events = read_events(await send(app, "POST", "/page/chat", json=body))
    [result] = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result.startswith("paid 2")
    reply = await send(app, "POST", "/page/chat", json=chat("m", messages=[], resume=decided, thread="2"))
    assert reply.status_code == 400


# -- runs


async def test_runs_are_trees():
    """With time, tokens and cost, the newest first; what was said is told of one run at a time."""
    set_prices({"known-model": Price(1, 10)})
    try:
        agent = create_agent(
            model(
                Turn(tool_calls=[{"name": "pay", "args": {"amount": 1}, "id": "a"}], usage=USAGE, metadata=FACTS),
                Turn(text="Done.", usage=USAGE, metadata=FACTS),
            ),
            [pay],
            name="clerk",
        )
        app = openai_app({"m": model(Turn(text="Hello.", usage=USAGE, metadata=FACTS)), "clerk": agent}, page=True)
        await send(app, "POST", "/v1/chat/completions", json=question(stream=True), headers={"x-request-id": "one"})
        await send(app, "POST", "/page/chat", json=chat("clerk", run="two"))
        told = await fetch(app, "runs.json")
    finally:
        set_prices({"known-model": None})
    paid, said = told["runs"]
    assert [(run["served"], run["request"], run["state"]) for run in (paid, said)] == [
        ("clerk", "two", "done"),
        ("m", "one", "done"),
    ]
    assert (said["kind"], said["input_tokens"], said["output_tokens"]) == ("model", 100, 20)
    assert Decimal(said["cost"]) == Decimal("0.0003") and said["unpriced"] == 0
    assert 0 <= said["first_word"] <= said["seconds"]
    assert (paid["kind"], paid["name"], paid["input_tokens"], Decimal(paid["cost"])) == (
        "agent",
        "clerk",
        200,
        Decimal("0.0006"),
    )
    assert [run["kind"] for run in paid["inside"]] == ["model", "tool", "model"]
    assert await fetch(app, f"runs.json?version={told['version']}") == {"version": told["version"]}
    assert [run["request"] for run in (await fetch(app, "runs.json?request=two"))["runs"]] == ["two"]
    asked = await fetch(app, f"runs.json?id={paid['inside'][0]['id']}")
    assert asked["asked"] == [{"role": "user", "text": "Hi"}]
    assert asked["said"][0]["calls"] == [{"name": "pay", "args": '{"amount":1}'}]
    assert (await fetch(app, f"runs.json?id={paid['inside'][1]['id']}"))["said"][0]["text"] == "paid 1"
    assert (await send(app, "GET", "/page/runs.json?id=nothing")).status_code == 404


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "ProviderUnavailable: provider_unavailable: no answer from 10.0.0.3"),
        ({"keys": KEY}, "the model's server failed"),
        ({"keys": KEY, "upstream_errors": True}, "ProviderUnavailable: provider_unavailable: no answer from 10.0.0.3"),
    ],
)
async def test_a_run_that_fails(options: Any, says: str):
    """Is told in full to who serves the models for himself; to clients in the words that the API has for them."""
    app = openai_app({"m": model(ProviderUnavailable("no answer from 10.0.0.3"), retry=None)}, page=True, **options)
    await send(app, "POST", "/v1/chat/completions", json=question(), headers=bearer(KEY))
    [run] = (await fetch(app, "runs.json", KEY))["runs"]
    assert (run["state"], run["error"]) == ("failed", says)
    assert run["unpriced"] == 0 and run["cost"] is None


async def test_so_many_runs_are_kept():
    app = openai_app({"m": FakeListChatModel(responses=["Hello."])}, page=True)
    for at in range(MOST_RUNS + 5):
        await send(app, "POST", "/v1/chat/completions", json=question(), headers={"x-request-id": f"r{at}"})
    runs = (await fetch(app, "runs.json"))["runs"]
    assert [run["request"] for run in runs] == [f"r{at}" for at in range(MOST_RUNS + 4, 4, -1)]


async def test_no_tenant_pushes_out_the_runs_of_another():
    """Beyond what is kept of all together, who has the most loses its oldest."""
    keys = {"acme": KEY, "globex": "a-key-of-globex"}
    app = openai_app({"m": FakeListChatModel(responses=["Hello."])}, page=True, keys=keys)
    for at in range(MOST_RUNS + 5):
        for key in (KEY, "a-key-of-globex") if at < 3 else (KEY,):
            headers = {"x-request-id": f"r{at}", **bearer(key)}
            await send(app, "POST", "/v1/chat/completions", json=question(), headers=headers)
    others = (await fetch(app, "runs.json", "a-key-of-globex"))["runs"]
    assert [run["request"] for run in others] == ["r2", "r1", "r0"]
    own = (await fetch(app, "runs.json", KEY))["runs"]
    assert (len(own), own[0]["request"], own[-1]["request"]) == (MOST_RUNS - 3, f"r{MOST_RUNS + 4}", "r8")


async def test_no_tenant_pushes_out_the_conversations_of_another():
    asked = model("A.", "B.")
    chats = Chats({"m": asked}, RunRecorder(in_full=True))
    for at in range(510):
        stream = chats.answer(replace(read_chat(chat("m", thread=f"t{at}")), user="@acme"), "acme")
        if at in (0, 509):
            [_ async for _ in chats.answer(replace(read_chat(chat("m")), user="@globex"), "globex")]
        del stream
    assert [message.text for message in asked.requests[-1].messages] == ["Hi", "A.", "Hi"]


def test_who_has_the_most_loses_its_oldest():
    """What was used last is the newest."""
    kept: FairShare[int] = FairShare(4)
    for owner, key in (("a", 1), ("b", 1), ("a", 2), ("a", 1), ("b", 2), ("a", 3), ("b", 3)):
        kept.put(owner, key, key)
    assert (kept.list_of("a"), kept.list_of("b"), kept.list_of("c")) == ([1, 3], [2, 3], [])
    assert kept.find("b", 3) == 3 and kept.find("c", 3) is kept.find("a", 2) is None


def test_texts_are_cut():
    """What is kept of a run is short, whatever went into it."""
    image = {"type": "image", "base64": "A" * 50_000, "mime_type": "image/png"}
    messages = [HumanMessage("x" * 30_000), HumanMessage([image, {"type": "text", "text": "What is it?"}])]
    cut, seen = describe_value([messages])
    assert cut["text"] == "x" * LONGEST_TEXT + " … and 20,000 characters more"
    assert seen == {"role": "user", "text": "[image] What is it?"}
    kept = describe_value([HumanMessage(f"{at}") for at in range(80)])
    assert (len(kept), kept[0]["text"], kept[-1]["text"]) == (51, "30 earlier messages are not kept", "79")
    assert describe_value({"question": "Why?"}) == [{"role": "", "text": '{"question":"Why?"}'}]
    assert describe_value(None) == [] == describe_value([])
    itself: dict[str, Any] = {}
    itself["again"] = itself
    assert describe_value(itself) == [{"role": "", "text": "dict, which cannot be written: ValueError"}]


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"{page}" * 20_000


async def test_a_run_that_says_too_much():
    """Each step of an agent repeats the steps before it: so much is kept of all of them together."""
    calls = [Turn(tool_calls=[{"name": "read", "args": {"page": at}, "id": f"{at}"}]) for at in range(30)]
    agent = create_agent(model(*calls, "Done."), [read])
    app = openai_app({"m": agent}, page=True)
    await send(app, "POST", "/v1/chat/completions", json=question())
    [run] = (await fetch(app, "runs.json"))["runs"]
    kept = [await fetch(app, f"runs.json?id={one['id']}") for one in run["inside"]]
    assert sum(len(one["text"]) for told in kept for one in [*told["asked"], *told["said"]]) < 1_000_000
    assert kept[-1]["asked"] == [{"role": "", "text": "this run has said so much that no more of it is kept"}]


# -- usage


def book(ledger: SQLiteLedger, days_ago: int, **fields: Any) -> None:
    at = datetime.now(UTC) - timedelta(days=days_ago)
    entry: Mapping[str, Any] = {"input_tokens": 10, "output_tokens": 5, "cost": Decimal("0.25"), "model": "a", **fields}
    ledger.book(LedgerEntry(id=f"{days_ago}-{fields}", at=at, **entry))


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    """The ledger of the process, with some calls."""
    made = SQLiteLedger(str(tmp_path / "usage.sqlite"))
    book(made, 0, metadata={"tenant": "acme"})
    book(made, 0, metadata={"tenant": "globex"}, cost=None)
    book(made, 3, model="b", metadata={"tenant": "acme"})
    book(made, 40, metadata={"tenant": "acme"})
    set_ledger(made)
    yield made
    set_ledger(None)


async def test_usage_by_days(ledger: SQLiteLedger):
    """Of the process's ledger; for a tenant's key, of that tenant alone."""
    app = openai_app({"m": model()}, page=True, keys={"acme": KEY, "globex": OTHER_KEY})
    none = openai_app({"m": model()}, page=True)
    told = await fetch(none, "usage.json?by=tenant&days=7")
    assert (told["ledger"], told["by"], told["days"]) == (True, "tenant", 7)
    assert [(row["name"], row["calls"], row["cost"], row["unpriced"]) for row in told["rows"]] == [
        ("acme", 1, "0.25", 0),
        ("acme", 1, "0.25", 0),
        ("globex", 1, "0", 1),
    ]
    today = datetime.now(UTC).date().isoformat()
    assert told["rows"][-1]["day"] == today and told["rows"][0]["day"] < today
    models = [row["name"] for row in (await fetch(app, "usage.json?by=model&days=30", KEY))["rows"]]
    assert models == ["b", "a"]
    assert len((await fetch(app, "usage.json?days=90", KEY))["rows"]) == 3
    assert len((await fetch(app, "usage.json?days=90", OTHER_KEY))["rows"]) == 1


async def test_usage_of_a_models_own_ledger(tmp_path: Path):
    """Inside bindings, fallbacks and agents, too; without any the page says how to get one."""
    assert await fetch(openai_app({"m": model()}, page=True), "usage.json") == {"ledger": False}
    for at, wrap in enumerate(
        (lambda one: one, lambda one: model().with_fallbacks([one.bind(stop=["x"])]), create_agent)
    ):
        own = SQLiteLedger(str(tmp_path / f"{at}.sqlite"))
        book(own, 0)
        app = openai_app({"m": wrap(model(ledger=own))}, page=True)
        assert [row["calls"] for row in (await fetch(app, "usage.json"))["rows"]] == [1]


@pytest.mark.parametrize("query", ["by=run_id", "by=", "days=8", "days=x", "days=1e9"])
async def test_usage_that_cannot_be_told(query: str, ledger: SQLiteLedger):
    app = openai_app({"m": model()}, page=True)
    reply = await send(app, "GET", f"/page/usage.json?{query}")
    assert reply.status_code == (200 if query == "by=" else 400)


async def test_a_ledger_that_cannot_be_read(tmp_path: Path):
    """Its error is logged, and not shown."""
    (tmp_path / "usage.sqlite").write_bytes(b"no database at all, but long enough to be looked at")
    broken = SQLiteLedger(str(tmp_path / "usage.sqlite"), spool=str(tmp_path / "spool"))
    reply = await send(openai_app({"m": model(ledger=broken)}, page=True), "GET", "/page/usage.json")
    assert reply.status_code == 503 and str(tmp_path) not in reply.text


# -- keys


PATHS: Collection[str] = ("models.json", "runs.json", "usage.json")


async def test_what_is_shown_needs_a_key():
    app = openai_app({"m": model()}, page=True, keys=KEY)
    for path in PATHS:
        assert (await send(app, "GET", f"/page/{path}")).status_code == 401
        assert (await send(app, "GET", f"/page/{path}", headers=bearer(KEY))).status_code == 200
    for method, path in (("POST", "/page/chat"), ("GET", "/page/chat/t/stream"), ("POST", "/page/chat/t/stop")):
        assert (await send(app, method, path, json=chat("m"))).status_code == 401
    reply = await send(
        app, "POST", "/page/chat", json=chat("m"), headers={**bearer(KEY), "origin": "https://a.example"}
    )
    assert reply.status_code == 200  # behind a proxy that gives the service another name


async def test_tenants_see_their_own():
    """Runs, what was said in them, and conversations: of the tenant whose the key is."""
    app = openai_app({"m": model("A.", "B.", "C.")}, page=True, keys={"acme": KEY, "globex": OTHER_KEY})
    await send(app, "POST", "/page/chat", json=chat("m"), headers=bearer(KEY))
    await send(app, "POST", "/v1/chat/completions", json=question(), headers=bearer(OTHER_KEY))
    [own], [others] = [(await fetch(app, "runs.json", key))["runs"] for key in (KEY, OTHER_KEY)]
    assert (own["tenant"], others["tenant"]) == ("acme", "globex")
    for key, status in ((KEY, 200), (OTHER_KEY, 404)):
        reply = await send(app, "GET", f"/page/runs.json?id={own['id']}", headers=bearer(key))
        assert reply.status_code == status
    assert (await fetch(app, f"runs.json?request={others['request']}", KEY))["runs"] == []
    headers = {**bearer(OTHER_KEY), "last-event-id": "0"}
    assert (await send(app, "GET", "/page/chat/t/stream", headers=headers)).status_code == 204
    assert say(await send(app, "POST", "/page/chat", json=chat("m"), headers=bearer(OTHER_KEY))) == "C."
    [asked] = [one for one in (await fetch(app, "runs.json", OTHER_KEY))["runs"] if one["served"] == "m"][:1]
    assert len((await fetch(app, f"runs.json?id={asked['inside'][0]['id']}", OTHER_KEY))["asked"]) == 1


async def test_pages_of_the_web_are_kept_out():
    """Without keys, by their origin and by their host."""
    app = openai_app({"m": model()}, page=True)
    reply = await send(app, "POST", "/page/chat", json=chat("m"), headers={"origin": "https://evil.example"})
    assert reply.status_code == 403
    client = RawClient(
        method="GET", path="/page/runs.json", headers=[(b"host", b"evil.example")], server=("127.0.0.1", 80)
    )
    await client.ask(app)
    assert client.status == 403
