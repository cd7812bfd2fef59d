"""A server that answers as the models of OpenAI would in tests/migration/programs/travel_guide.py.txt.

What it says depends on the request alone, so that LangChain's program and the one that moved can be compared.
"""

import json
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hocket.testing.server import Behaviour, OpenAIFormat, ReceivedRequest, Reply, ScriptedToolCall, Vectors, serve

__all__ = ["serve_agency"]

_WORDS = {
    "tram": 1.0,
    "coffee": 1.1,
    "temple": 1.2,
    "museum": 1.3,
    "cost": 1.4,
    "hill": 1.5,
}  # by weights no two are as near
_TRIP = {"city": "Kyoto", "days": 4, "budget": None}


@contextmanager
def serve_agency() -> Generator[dict[str, str]]:
    """Run the server in a thread.

    Yields:
        the environment of a program that is to ask it.
    """
    with serve(OpenAIFormat(models=None), _answer) as server:
        yield {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "NO_PROXY": "*"}
        assert server.problems == []


def _answer(request: ReceivedRequest) -> Behaviour:
    asked = request.json
    if request.path.endswith("/embeddings"):
        return Vectors([_embed(text.lower()) for text in asked["input"]])
    messages = asked["messages"]
    text = str(messages[-1]["content"])
    if asked.get("response_format"):
        return Reply(json.dumps(_TRIP))
    if messages[-1]["role"] == "tool":
        return Reply(f"It says: {text}")
    if asked.get("tools"):
        return Reply(tool_calls=[_choose_call(text, asked["tools"])])
    return Reply(_say(messages, text))


def _embed(text: str) -> list[float]:
    return [weight * text.count(word) + 0.1 for word, weight in _WORDS.items()]


def _choose_call(text: str, tools: Sequence[Mapping[str, Any]]) -> ScriptedToolCall:
    names = [one["function"]["name"] for one in tools]
    if names == ["Trip"]:
        return {"name": "Trip", "args": {"city": "Lisbon", "days": 3}, "id": "call_trip"}
    if "sunny" in text:
        return {"name": "get_weather", "args": {"city": "Kyoto", "days": 2}, "id": "call_weather"}
    if number := re.search(r"\d+", text):
        return {"name": "convert_currency", "args": {"amount": int(number[0])}, "id": "call_rate"}
    return {"name": "search_guides", "args": {"query": text}, "id": "call_search"}


def _say(messages: Sequence[Mapping[str, Any]], text: str) -> str:
    system = str(messages[0]["content"])
    if system.startswith("Rewrite"):
        return f"{text} ({len(messages) - 2} messages before)"
    if "context:" in system:
        return system.partition("context:\n")[2].partition(".")[0]
    return "walk, eat, swim"
