"""Streams as the clients of npm read them: Vercel's `ai`, and `@ag-ui/client`, at the other end of a connection.

Each is installed at first use into a cache folder of the user's; where that cannot be done, the tests are skipped.
"""

import json
import random
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from hocket import InMemoryChatMessageHistory, ScriptedChatModel, ToolMessage, Turn, create_agent
from hocket.serving import read_chat, sse
from tests.kit.amount import leave_for_night
from tests.live.mocks import install
from tests.serving.page_grammar import read_events
from tests.serving.page_scenes import SCENES, call, collect, pay

SCRIPT = Path(__file__).with_name("page_clients.mjs")
PACKAGES = {"vercel": "ai@6.0.326", "ag-ui": "@ag-ui/client@1.0.0"}
PROTOCOLS: Any = ["vercel", *leave_for_night("ag-ui")]

Scenes = Mapping[str, bytes]


def read_with_client(protocol: str, address: str, *scenes: str) -> Any:
    """Return what the client shows of each scene; it skips where there is none."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("the client is a package of npm's, and there is no node or npm here")
    package = PACKAGES[protocol]
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--fetch-retries=0", "--fetch-timeout=20000"]
    name = package.strip("@").replace("/", "-").replace("@", "-")
    home = install(name, lambda folder: [[npm, "install", "--prefix", str(folder), *quiet, package]])
    command = [node, str(SCRIPT), str(home), protocol, address, *scenes]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def serve_scenes(protocol: str, scenes: Scenes) -> Starlette:
    """Return an application that tells each scene cut at random bytes."""
    cut = random.Random(7)

    async def tell(request: Request) -> StreamingResponse:
        data = scenes[request.path_params["scene"]]

        async def pieces() -> AsyncIterator[bytes]:
            at = 0
            while at < len(data):
                size = cut.randint(1, 40)
                yield data[at : at + size]
                at += size

        return StreamingResponse(pieces(), headers=sse(pieces(), protocol=protocol).headers)  # type: ignore[arg-type]

    return Starlette(routes=[Route("/{scene}", tell, methods=["POST"])])


def find_vercels_parts(events: list[Any]) -> Any:
    """Return the texts, the states of the calls, and the data that a client of Vercel's has to show."""
    states = {"tool-input-error": "output-error", "tool-approval-request": "approval-requested"}
    calls = {
        event["toolCallId"]: states.get(event["type"], event["type"].removeprefix("tool-"))
        for event in events
        if event["type"].startswith("tool-") and "delta" not in event["type"]
    }
    texts = [event["delta"] for event in events if event["type"] == "text-delta"]
    data = {event["id"]: event["data"] for event in events if event["type"].startswith("data-")}
    return "".join(texts), calls, data


def find_parts_shown(shown: Any) -> Any:
    parts = shown.get("message", {"parts": []})["parts"]
    calls = {part["toolCallId"]: part["state"] for part in parts if part["type"].startswith("tool-")}
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return "".join(texts), calls, {part["id"]: part["data"] for part in parts if part["type"].startswith("data-")}


def find_ag_uis_parts(events: list[Any]) -> Any:
    """Return the texts, the arguments and the results of the calls, and the state that a client of AG-UI has to show."""
    texts, calls, results, state = "", dict[str, str](), dict[str, str](), None
    for event in events:
        match event["type"]:
            case "TEXT_MESSAGE_CONTENT":
                texts += event["delta"]
            case "TOOL_CALL_START":
                calls[event["toolCallId"]] = ""
            case "TOOL_CALL_ARGS":
                calls[event["toolCallId"]] += event["delta"]
            case "TOOL_CALL_RESULT":
                results[event["toolCallId"]] = event["content"]
            case "STATE_SNAPSHOT":
                state = event["snapshot"]
            case _:
                pass
    return texts, calls, results, state


def find_messages_shown(shown: Any) -> Any:
    said = [message for message in shown["messages"] if message["role"] == "assistant"]
    calls = {one["id"]: one["function"]["arguments"] for message in said for one in message.get("toolCalls", ())}
    results = {one["toolCallId"]: one["content"] for one in shown["messages"] if one["role"] == "tool"}
    return "".join(message.get("content") or "" for message in said), calls, results, shown.get("state")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_clients_show_what_was_told(protocol: Any, serve: Callable[[Any], str]):
    """Of each scene, cut at random bytes: no client stumbles, and no word, call or result is lost."""
    scenes = {name.replace(" ", "-"): b"".join(await collect(protocol, tell())) for name, tell in SCENES.items()}
    shown = read_with_client(protocol, serve(serve_scenes(protocol, scenes)), *scenes)
    for name, data in scenes.items():
        events = [event for event in read_events(data) if event != "[DONE]"]
        one = shown[name]
        assert "raised" not in one, (name, one)
        assert one["errors"] == (["the answer broke off"] if events[-1]["type"] in ("error", "RUN_ERROR") else []), name
        if protocol == "vercel":
            assert find_parts_shown(one) == find_vercels_parts(events), name
        else:
            assert find_messages_shown(one) == find_ag_uis_parts(events), name
            assert one.get("outcome") == events[-1].get("outcome"), name


def serve_agent(history: InMemoryChatMessageHistory) -> Starlette:
    """Return an application with an agent that asks before it pays."""
    asked = Turn(text="May I?", tool_calls=[call("pay", "a", amount=1), call("pay", "b", amount=2)])
    agent = create_agent(ScriptedChatModel(script=[asked, "Done."]), [pay], interrupt_on=["pay"])

    async def answer(request: Request) -> StreamingResponse:
        chat = read_chat(await request.body())
        stream = agent.astream(chat.input, history=history)
        body = sse(stream, protocol=chat.protocol, id=chat.run_id, thread=chat.id)
        return StreamingResponse(body, headers=body.headers)

    return Starlette(routes=[Route("/chat", answer, methods=["POST"])])


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", ["vercel", "ag-ui"])
async def test_a_person_decides_on_a_page(protocol: Any, serve: Callable[[Any], str]):
    """One call is approved, the other rejected; the page shows both, and one message for one answer."""
    history = InMemoryChatMessageHistory()
    shown = read_with_client(protocol, serve(serve_agent(history)), "chat")["chat"]
    assert shown.get("errors") == [], shown
    results = {one.tool_call_id: one.text for one in await history.aget_messages() if isinstance(one, ToolMessage)}
    assert results["a"] == "paid 1" and "The reason: too much" in results["b"]
    if protocol == "vercel":
        _, turn = shown["messages"]
        text, calls, _ = find_parts_shown({"message": turn})
        assert (text, calls) == ("May I?Done.", {"a": "output-available", "b": "output-denied"})
        assert [part["type"] for part in turn["parts"]].count("tool-pay") == 2
    else:
        text, calls, told, _ = find_messages_shown(shown)
        assert text == "May I?Done." and told == results
        assert {id: json.loads(args) for id, args in calls.items()} == {"a": {"amount": 1}, "b": {"amount": 2}}
        assert sum(len(one.get("toolCalls", ())) for one in shown["messages"]) == 2
