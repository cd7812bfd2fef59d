"""Storing messages: to JSON text and back, as a store of conversations does for every message, and how it grows.

A langchain-core store writes ``json.dumps(message_to_dict(message))``; hocket's write records. ``dumps`` and ``loads``,
of any object, are what caches use. The messages are those of turns with a tool: a question, a call with usage and
metadata, a result, an answer.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .bench import Bench, Case, repeating
from .harness import Body, Target
from .library import Library, library
from .table import Row

__all__ = ["CASES"]

SIZES = (10, 1_000, 10_000)


def write(bench: Bench) -> Iterator[Row]:
    """Messages to text."""
    yield from _sizes(bench, "messages to JSON text", _written, Target(1))


def read(bench: Bench) -> Iterator[Row]:
    """Text to messages."""
    yield from _sizes(bench, "messages from JSON text", _read, Target(1))


def dictionaries(bench: Bench) -> Iterator[Row]:
    """LangChain's dictionaries, by the same functions in both libraries."""

    def to_dict(lib: Library, size: int) -> Body:
        messages = _turns(lib, size)
        return repeating(lambda: lib.messages.messages_to_dict(messages))

    def from_dict(lib: Library, size: int) -> Body:
        dictionaries = lib.messages.messages_to_dict(_turns(lib, size))
        return repeating(lambda: lib.messages.messages_from_dict(dictionaries))

    yield from _sizes(bench, "messages_to_dict", to_dict, Target(1.2))
    yield from _sizes(bench, "messages_from_dict", from_dict, Target(1))


def dumping(bench: Bench) -> Iterator[Row]:
    """A conversation as any other object."""

    def dumps(lib: Library, size: int) -> Body:
        messages = _turns(lib, size)
        return repeating(lambda: lib.load.dumps(messages))

    def loads(lib: Library, size: int) -> Body:
        text = lib.load.dumps(_turns(lib, size))
        warnings.filterwarnings("ignore", "The function `loads` is in beta")
        return repeating(lambda: lib.load.loads(text, allowed_objects="messages"))

    yield from _sizes(bench, "dumps", dumps, Target(0.8))
    yield from _sizes(bench, "loads", loads, Target(0.9))


def _sizes(bench: Bench, what: str, build: Callable[[Library, int], Body], target: Target) -> Iterator[Row]:
    """One row a size, per message; and what a message of a long conversation costs next to one of a short."""
    for size in SIZES[: 2 if bench.plan.quick else None]:

        def sized(lib: Library, size: int = size) -> Body:
            return build(lib, size)

        yield bench.compare(f"{what}, {size:,} of them, per message", sized, target, per=size)

    yield bench.growth(
        f"{what}, a message of 10,000 next to one of 1,000",
        lambda: build(library("hocket"), SIZES[1]),
        lambda: build(library("hocket"), SIZES[2]),
        limit=1.5,
        per=SIZES[2] // SIZES[1],
    )


def _written(lib: Library, size: int) -> Body:
    messages = _turns(lib, size)
    write = _writer(lib)
    return repeating(lambda: [write(message) for message in messages])


def _read(lib: Library, size: int) -> Body:
    texts = [*map(_writer(lib), _turns(lib, size))]
    if lib.name == "hocket":
        return repeating(lambda: [lib.messages.loads_message(text) for text in texts])
    return repeating(lambda: lib.messages.messages_from_dict([json.loads(text) for text in texts]))


def _writer(lib: Library) -> Callable[[Any], str]:
    """Return what the library's stores write a message with."""
    if lib.name == "hocket":
        write: Callable[[Any], str] = lib.messages.dumps_message
        return write
    return lambda message: json.dumps(lib.messages.message_to_dict(message))


def _turns(lib: Library, size: int) -> Sequence[Any]:
    """Build ``size`` messages, of turns of four."""
    make = lib.messages
    usage = {"input_tokens": 120, "output_tokens": 30, "total_tokens": 150}
    facts = {"model_name": "gpt-5.2", "finish_reason": "tool_calls", "id": "chatcmpl-1", "token_usage": dict(usage)}
    made: list[Any] = []
    for turn in range(0, size, 4):
        call = {"name": "weather", "args": {"city": "Paris", "days": [1, 2]}, "id": f"call_{turn}"}
        made += [
            make.HumanMessage(content=f"And how is the weather in Paris on day {turn}?"),
            make.AIMessage(
                content="", id=f"a-{turn}", tool_calls=[call], usage_metadata=usage, response_metadata=dict(facts)
            ),
            make.ToolMessage(content="Sunny, 21 degrees, light wind", tool_call_id=f"call_{turn}"),
            make.AIMessage(content="It is sunny in Paris, at 21 degrees.", id=f"b-{turn}", usage_metadata=usage),
        ]
    return made[:size]


CASES: dict[str, Case] = {
    "store-write": write,
    "store-read": read,
    "store-dicts": dictionaries,
    "store-dumps": dumping,
}
