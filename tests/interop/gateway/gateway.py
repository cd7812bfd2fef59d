"""A gateway in front of scripted servers of every provider, for programs that are not Python's or not ours.

A model is called PROVIDER-SCENE, such as ``mistral-tool``; its server does what the scene says. How often each model was
asked, by the gateway's own clients, is counted: a client that asks again and again after a refusal shows there.
"""

import re
from collections import Counter
from contextlib import ExitStack
from typing import Any, NoReturn

from hocket import DeterministicFakeEmbedding, ScriptedChatModel
from hocket.errors import BudgetExceeded
from hocket.serving import openai_app
from hocket.testing import ReceivedRequest, Reply, Server, Status, Stream, serve
from tests.kit import HookCall, hook_model
from tests.kit.providers import PROVIDERS

__all__ = ["CITY", "FILE", "KEY", "SCENES", "Gateway"]

KEY = "a-key-of-a-client"
CITY = {"name": "Oslo", "people": 700_000}
SCENES = ("answer", "stream", "tool", "typed", "leave", "busy", "file")
FILE = ("notes.txt", "hello-from-a-file")
"""What a coding program reads, and what is in it."""

_OBJECT_TOOLS = re.compile(rb'"name":\s*"(final_result|City|json|json_tool_call)"')
"""The tools by which clients ask for an object where their format has, or had, no other word for it."""

_FILE_TOOLS = re.compile(rb'"name":\s*"(Read|exec_command)"')


def _answer(request: ReceivedRequest) -> Reply | Stream | Status:
    text = request.body + request.path.encode()
    scene = next(scene for scene in SCENES if f"some-{scene}".encode() in text)
    match scene:
        case "tool" if b"rain" not in text:
            return Reply("Let me look.", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}}])
        case "file" if FILE[1].encode() not in text and (found := _FILE_TOOLS.search(text)):
            args = {"cmd": f"cat {FILE[0]}"} if found[1] == b"exec_command" else {"file_path": FILE[0]}
            return Reply("Let me look.", tool_calls=[{"name": found[1].decode(), "args": args}])
        case "typed":
            if b'"tools"' in text and (found := _OBJECT_TOOLS.search(text)):
                return Reply("", tool_calls=[{"name": found[1].decode(), "args": CITY}])
            return Reply('{"name": "Oslo", "people": 700000}')
        case "leave":
            return Stream("Hello there, you all.", every=0.001, then="stall")
        case "busy":
            return Status(429, "too many requests")
        case "tool":
            return Reply("It rains.")
        case "file":
            return Reply("It says hello.")
        case _:
            return Reply("Hello there, you all.")


def _refuse(_: HookCall) -> NoReturn:
    raise BudgetExceeded("the budget of today is spent")


class Gateway:
    """The application, and what it is in front of.

    Attributes:
        asked: how often each model was asked.
        leaving: the servers whose answers have no end, by provider.
    """

    def __init__(self, stack: ExitStack) -> None:
        self.asked: Counter[str] = Counter()
        self.leaving: dict[str, Server] = {}
        models: dict[str, Any] = {"spent": hook_model(_refuse), "plain": ScriptedChatModel(script=["Hello."] * 9)}
        models["vectors"] = DeterministicFakeEmbedding(size=3)
        for provider, (format, make) in PROVIDERS.items():
            server = stack.enter_context(serve(format, _answer))
            self.leaving[provider] = stack.enter_context(serve(format, _answer))
            options: Any = {"num_ctx": 100_000} if provider == "ollama" else {}  # for what coding programs send
            for scene in SCENES:
                url = (self.leaving[provider] if scene == "leave" else server).url
                models[f"{provider}-{scene}"] = make(
                    model=f"some-{scene}", base_url=url, api_key="k", retry=1, **options
                )
        self._app = openai_app(models, keys=KEY, unsupported="drop")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        heard = b""

        async def listen() -> Any:
            nonlocal heard
            event = await receive()
            heard += event.get("body", b"")
            if event["type"] == "http.request" and not event.get("more_body"):
                self.asked.update(re.findall(r'"model":\s*"([^"]+)"', heard.decode()))
            return event

        await self._app(scope, listen if scope["type"] == "http" else receive, send)
