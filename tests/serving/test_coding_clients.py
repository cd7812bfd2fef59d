"""Claude Code and Codex in front of every provider: their requests, as the programs themselves send them, are answered.

The requests in `fixtures` were recorded between the programs (`claude -p`, version 2.1.332, and `codex exec`, version
0.171.0) and a gateway, and cut down: what a program says to its model is nobody's here, only the form is theirs. Whoever
records them anew finds in `tests/interop/gateway` how the programs are started.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket import ScriptedChatModel
from hocket.serving import openai_app
from hocket.testing import Reply, serve
from hocket.testing.server import Server
from tests.kit.providers import PROVIDERS
from tests.serving.conftest import send

CALLED = {"claude_code": ("Read", {"file_path": "notes.txt"}), "codex": ("exec_command", {"cmd": "cat notes.txt"})}
"""What the model calls, of the tools that each of them offers."""

REQUESTS: dict[str, dict[str, Any]] = {
    name: json.loads((Path(__file__).parent / "fixtures" / f"{name}.json").read_text()) for name in CALLED
}


@pytest.fixture(params=PROVIDERS)
def upstream(request: pytest.FixtureRequest) -> Iterator[tuple[str, Server]]:
    with serve(PROVIDERS[request.param].format, "Hello.") as server:
        yield request.param, server
        assert not server.problems


async def ask(upstream: tuple[str, Server], request: Any, **options: Any) -> Any:
    """Send a recorded request to a gateway in front of a provider, and return the reply."""
    name, server = upstream
    model = PROVIDERS[name].make(model="some-model", base_url=server.url, api_key="a-key-of-theirs")
    app = openai_app({"m": model}, **{"unsupported": "drop", **options})
    return await send(app, "POST", request["path"], headers=request["headers"], json=request["body"])


@pytest.mark.parametrize(("client", "kind"), [(client, kind) for client, kinds in REQUESTS.items() for kind in kinds])
async def test_what_it_sends_is_answered(upstream: tuple[str, Server], client: str, kind: str):
    """A question, the result of a tool, tools that were looked for, and a search: whoever the provider is."""
    request = REQUESTS[client][kind]
    reply = await ask(upstream, request)
    assert reply.status_code == 200, reply.text
    assert "Hello." in reply.text and ("message_stop" in reply.text or "response.completed" in reply.text)
    sent = json.dumps(upstream[1].requests[0].json)
    assert "Instructions." in sent and "hocket:" not in sent
    if kind == "result":
        assert "hello-from-a-file" in sent


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("client", REQUESTS)
async def test_it_is_told_a_call(client: str, provider: str):
    """Of a tool that it offers."""
    tool, args = CALLED[client]
    script = [Reply("Let me look.", tool_calls=[{"name": tool, "args": args}])]
    async with serve(PROVIDERS[provider].format, script) as server:
        reply = await ask((provider, server), REQUESTS[client]["ask"])
    assert reply.status_code == 200 and f'"name":"{tool}"' in reply.text.replace(": ", ":"), reply.text
    assert '"stop_reason":"tool_use"' in reply.text or "response.function_call_arguments.done" in reply.text


async def test_what_the_model_is_told():
    """Instructions in the middle stay there; what is left out is named."""
    model = ScriptedChatModel(script=["Hello."] * 2)
    app = openai_app({"m": model}, unsupported="drop")
    for name, roles in (
        ("claude_code", ["system", "human", "system"]),
        ("codex", ["system", "system", "human", "human"]),
    ):
        request = REQUESTS[name]["ask"]
        reply = await send(app, "POST", request["path"], headers=request["headers"], json=request["body"])
        assert [message.type for message in model.requests[-1].messages] == roles, reply.text
    dropped = reply.headers["x-hocket-dropped"].split(", ")
    assert {"tools[2]", "tools[3]"} <= set(dropped)
    offered = [tool["function"]["name"] for tool in model.requests[-1].params["tools"]]
    assert offered == ["exec_command", "view_image"]


async def test_tools_that_run_elsewhere_are_refused_unless_they_may_be_left_out(upstream: tuple[str, Server]):
    """By the place of the first one."""
    for client, kind, place in (("codex", "ask", "tools[2]"), ("claude_code", "web_search", "tools[0]")):
        reply = await ask(upstream, REQUESTS[client][kind], unsupported="raise")
        assert reply.status_code == 400 and f"{place} is" in reply.json()["error"]["message"]
    assert not upstream[1].requests
