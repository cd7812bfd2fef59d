"""The attributes of a model's span, one by one; their names stand in one file, and come from no package."""

import ast
from pathlib import Path
from typing import Any

import pytest

import hocket.tracing
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.google import ChatGoogleGenerativeAI
from hocket.providers.openai import ChatOpenAI
from hocket.testing import AnthropicFormat, Body, GoogleFormat, OpenAIFormat, OpenAIResponsesFormat, Reply, serve
from tests.tracing.telemetry import Collected

OPTIONS: dict[str, tuple[Any, str, Any]] = {
    "temperature": (0.5, "gen_ai.request.temperature", 0.5),
    "top_p": (0.9, "gen_ai.request.top_p", 0.9),
    "max_tokens": (9, "gen_ai.request.max_tokens", 9),
    "frequency_penalty": (0.1, "gen_ai.request.frequency_penalty", 0.1),
    "presence_penalty": (0.2, "gen_ai.request.presence_penalty", 0.2),
    "stop": (["."], "gen_ai.request.stop_sequences", (".",)),
    "seed": (3, "gen_ai.request.seed", 3),
    "n": (2, "gen_ai.request.choice.count", 2),
    "reasoning_effort": ("low", "gen_ai.request.reasoning.level", "low"),
    "service_tier": ("flex", "openai.request.service_tier", "flex"),
    "response_format": ({"type": "json_object"}, "gen_ai.output.type", "json"),
}


@pytest.mark.parametrize("where", ["call", "model", "bound"])
async def test_options_are_told(collected: Collected, where: str) -> None:
    """Wherever they are given."""
    options = {name: value for name, (value, _, _) in OPTIONS.items()}
    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        address = {"model": "m", "base_url": server.url, "api_key": "k"}
        if where == "model":
            await ChatOpenAI(**address, **options).ainvoke("x")
        elif where == "bound":
            await ChatOpenAI(**address).bind(**options).ainvoke("x")
        else:
            await ChatOpenAI(**address).ainvoke("x", **options)
    said = collected.span("chat").attributes or {}
    assert {name: said.get(name) for _, name, _ in OPTIONS.values()} == {
        name: told for _, name, told in OPTIONS.values()
    }


async def test_options_of_one_server_are_told(collected: Collected) -> None:
    """``top_k``, and the response that another one goes on from."""
    async with serve(AnthropicFormat(), [Reply("hi")]) as server:
        await ChatAnthropic(model="a", base_url=server.url, api_key="k").ainvoke("x", top_k=4)
    async with serve(OpenAIResponsesFormat(), [Reply("hi")]) as server:
        model = ChatOpenAI(model="r", base_url=server.url, api_key="k", use_responses_api=True)
        await model.ainvoke("x", previous_response_id="resp-1")
    assert (collected.span("chat a").attributes or {})["gen_ai.request.top_k"] == 4
    assert (collected.span("chat r").attributes or {})["gen_ai.request.previous_response.id"] == "resp-1"


ANSWER = {
    "id": "chatcmpl-1",
    "model": "m-2",
    "system_fingerprint": "fp-1",
    "service_tier": "default",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "length"}],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "total_tokens": 150,
        "prompt_tokens_details": {
            "cached_tokens": 40,
            "cache_write_tokens": 10,
            "audio_tokens": 30,
            "image_tokens": 20,
        },
        "completion_tokens_details": {"reasoning_tokens": 15, "audio_tokens": 5},
    },
}
TOLD = {
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.response.model": "m-2",
    "gen_ai.response.finish_reasons": ("length",),
    "openai.response.system_fingerprint": "fp-1",
    "openai.response.service_tier": "default",
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 50,
    "gen_ai.usage.cache_read.input_tokens": 40,
    "gen_ai.usage.cache_write.input_tokens": 10,
    "gen_ai.usage.reasoning.output_tokens": 15,
    "gen_ai.usage.audio.input_tokens": 30,
    "gen_ai.usage.image.input_tokens": 20,
    "gen_ai.usage.audio.output_tokens": 5,
}


async def test_what_an_answer_says_of_itself_is_told(collected: Collected) -> None:
    """Every kind of token, those of each kind of content included."""
    async with serve(OpenAIFormat(), [Body(ANSWER)]) as server:
        await ChatOpenAI(model="m", base_url=server.url, api_key="k").ainvoke("x")
    said = dict(collected.span("chat").attributes or {})
    assert {name: value for name, value in said.items() if name in TOLD or ".usage." in name} == TOLD


async def test_tokens_of_pictures_and_recordings_at_google(collected: Collected) -> None:
    """They are told by another list."""
    usage = {
        "promptTokenCount": 300,
        "candidatesTokenCount": 5,
        "totalTokenCount": 305,
        "promptTokensDetails": [
            {"modality": "TEXT", "tokenCount": 2},
            {"modality": "IMAGE", "tokenCount": 258},
            {"modality": "AUDIO", "tokenCount": 40},
        ],
    }
    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}
    async with serve(GoogleFormat(), [Body({**answer, "usageMetadata": usage})]) as server:
        await ChatGoogleGenerativeAI(model="m", base_url=server.url, api_key="k").ainvoke("x")
    said = collected.span("chat").attributes or {}
    assert {name: value for name, value in said.items() if ".usage." in name} == {
        "gen_ai.usage.input_tokens": 300,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.image.input_tokens": 258,
        "gen_ai.usage.audio.input_tokens": 40,
    }


async def test_counters_of_the_latest_vocabulary_are_by_modality(instrumented: Any) -> None:
    """What is known of it; the sum is that of the call. The published vocabulary has no word for it."""
    collected = instrumented(semconv="latest")
    async with serve(OpenAIFormat(), [Body(ANSWER)]) as server:
        await ChatOpenAI(model="m", base_url=server.url, api_key="k").ainvoke("x")

    def count(kind: str) -> dict[str, int]:
        points = collected.points(f"gen_ai.client.inference.usage.{kind}_tokens")
        return {point.attributes["gen_ai.token.modality"]: point.value for point in points}

    assert count("input") == {"audio": 30, "image": 20, "unknown": 50}
    assert count("output") == {"audio": 5, "unknown": 45}
    assert collected.points("gen_ai.client.inference.operation.input_tokens")[0].sum == 100


# -- where names come from

ROOM = Path(hocket.tracing.__file__).parent
FILES = {path.name: ast.parse(path.read_text()) for path in ROOM.glob("*.py")}
API = {f"opentelemetry{name}" for name in ("", ".context", "._logs", ".metrics", ".trace")}


def test_all_names_are_in_one_file() -> None:
    """When the conventions change, one file does."""
    found = {
        (file, node.value)
        for file, tree in FILES.items()
        if file != "conventions.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node.value.startswith(("gen_ai.", "openai.", "server.", "error.", "http.", "OTEL_"))
    }
    assert found == set()


def test_the_api_alone_is_needed() -> None:
    """Neither the SDK nor the package of the conventions, which a service has in versions of its own."""
    imported = {
        name
        for tree in FILES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        if name.startswith("opentelemetry")
    }
    assert imported
    assert imported <= API
