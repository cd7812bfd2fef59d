"""Tracers as people run them, against a server here or an exporter in memory: a run of an agent, whole, each run once."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import create_agent
from hocket.tools import tool

USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
CALL = {"name": "add", "args": {"a": 1, "b": 2}, "id": "c1", "type": "tool_call"}
FACTS = {"model_name": "scripted-1", "finish_reason": "stop"}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def run_agent(handler: Any) -> None:
    """Have an agent answer in two turns, with a call of a tool between them."""
    script = [Turn(tool_calls=[CALL], usage=USAGE, metadata=FACTS), Turn(text="It is 3.", usage=USAGE, metadata=FACTS)]
    create_agent(ScriptedChatModel(script=script), [add]).invoke("1+2?", {"callbacks": [handler]})


class Collector(ThreadingHTTPServer):
    """A server that takes whatever is posted to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Take)
        self.posted: list[tuple[str, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Take(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.posted.append((self.path, body))  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_PATCH = do_POST

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def exporter() -> Any:
    pytest.importorskip("opentelemetry.sdk", reason="scripts/interop installs it")
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: Any) -> Any:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


def test_langsmiths_client_posts_the_run_whole(collector: Collector) -> None:
    from langchain_core.tracers import LangChainTracer
    from langsmith import Client

    client = Client(api_url=collector.url, api_key="k", auto_batch_tracing=False)
    tracer = LangChainTracer(client=client)
    run_agent(tracer)
    tracer.wait_for_futures()
    posted = [json.loads(body) for path, body in collector.posted if path == "/runs"]
    by_kind: dict[str, list[Any]] = {}
    for run in posted:
        by_kind.setdefault(run["run_type"], []).append(run)
    assert {kind: len(runs) for kind, runs in by_kind.items()} == {"chain": 1, "llm": 2, "tool": 1}
    (root,) = by_kind["chain"]
    assert {run["parent_run_id"] for run in (*by_kind["llm"], *by_kind["tool"])} == {root["id"]}
    assert by_kind["llm"][0]["inputs"]["messages"][0][0]["kwargs"]["content"] == "1+2?"
    everything = b"".join(body for _, body in collector.posted)
    assert b"not_implemented" not in everything.replace(b'"type":"not_implemented","id":["hocket"', b"")


ENVIRONMENT = """
import sys
from langchain_core.tracers import LangChainTracer
from langchain_core.tracers.langchain import wait_for_all_tracers
from hocket.interop.langchain import from_langchain
from langchain_core.language_models import FakeListChatModel

model = from_langchain(FakeListChatModel(responses=["ab"]))
callbacks = [LangChainTracer()] if sys.argv[1] == "given" else []
model.invoke("q", {"callbacks": callbacks})
list(model.stream("q", {"callbacks": callbacks}))
wait_for_all_tracers()
for tracer in callbacks:
    tracer.client.flush()
"""


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("given", b"LangChainChatModel"),
        pytest.param("not given", b"FakeListChatModel", marks=pytest.mark.nightly),
    ],
)
def test_a_tracer_of_the_environment_tells_of_a_call_once(collector: Collector, given: str, name: bytes) -> None:
    """Of hocket's run, if it is given to hocket as well; else of LangChain's run, which then has no parent."""
    facts = {"LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "k", "LANGSMITH_ENDPOINT": collector.url}
    subprocess.run([sys.executable, "-c", ENVIRONMENT, given], env={**os.environ, **facts}, check=True, timeout=250)
    posted = b"".join(body for path, body in collector.posted if path.startswith("/runs"))
    assert len(set(re.findall(rb'name="post\.([0-9a-f-]{36})"', posted))) == 2
    assert posted.count(b'"name":"' + name + b'"') >= 2
    assert len(set(re.findall(rb'"name":"(\w+ChatModel)"', posted))) == 1
    assert not re.search(rb'"parent_run_id":"', posted)


def test_openinference_has_content_calls_and_tokens(exporter: Any, provider: Any) -> None:
    package = pytest.importorskip(
        "openinference.instrumentation.langchain._tracer", reason="scripts/interop installs it"
    )
    tracer = package.OpenInferenceTracer(provider.get_tracer("test"), separate_trace_from_runtime_context=True)
    run_agent(tracer)
    spans = {span.attributes["openinference.span.kind"]: span for span in exporter.get_finished_spans()}
    assert len(exporter.get_finished_spans()) == 4
    llm, root = spans["LLM"].attributes, spans["AGENT"]
    assert llm["llm.token_count.total"] == 5
    assert llm["llm.input_messages.0.message.content"] == "1+2?"
    assert "It is 3." in llm["llm.output_messages.0.message.content"]
    assert spans["TOOL"].parent.span_id == spans["LLM"].parent.span_id == root.context.span_id
    assert all(span.status.is_ok for span in exporter.get_finished_spans())


def test_langfuse_has_its_generations(collector: Collector, exporter: Any, provider: Any) -> None:
    pytest.importorskip("langfuse", reason="scripts/interop installs it")
    from langfuse import Langfuse
    from langfuse.langchain import CallbackHandler

    client = Langfuse(public_key="pk-test", secret_key="sk-test", host=collector.url, tracer_provider=provider)
    try:
        run_agent(CallbackHandler(public_key="pk-test"))
        client.flush()
    finally:
        client.shutdown()
    kinds = [span.attributes["langfuse.observation.type"] for span in exporter.get_finished_spans()]
    assert sorted(kinds) == ["agent", "generation", "generation", "tool"]
    last = [span.attributes for span in exporter.get_finished_spans() if "generation" in span.attributes.values()][-1]
    assert json.loads(last["langfuse.observation.usage_details"]) == {"input": 3, "output": 2, "total": 5}
    assert "It is 3." in last["langfuse.observation.output"]
    assert any(path.endswith("/v1/traces") for path, _ in collector.posted)
