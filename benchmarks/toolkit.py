"""Whole conversations: cut, filtered, merged, and written as others have them, at 10, 1,000 and 10,000 messages.

Every third question is answered with the help of two tools. langchain-core cuts and filters without regard to that;
hocket keeps each call with its results, which is part of its figures.
"""

from collections.abc import Callable, Iterator
from typing import Any

from .bench import Bench, Case, repeating
from .harness import Body, Target
from .library import Library, library
from .table import Row

__all__ = ["CASES"]

SIZES = (10, 1_000, 10_000)

Operation = Callable[[Library, list[Any]], object]


def trim(bench: Bench) -> Iterator[Row]:
    """The last messages that fit: of a history that is much longer, and of one that fits as a whole."""
    yield from _rows(bench, "trim to 20", _trimming(20, len), 0.9, growing=True)
    yield from _rows(bench, "trim to 1,000 tokens", _trimming(1_000, "approximate"), 0.7)
    yield from _rows(bench, "trim what fits", _trimming(10**9, _characters), 1.3)


def filter(bench: Bench) -> Iterator[Row]:
    """Messages picked by type."""

    def operation(lib: Library, messages: list[Any]) -> object:
        return lib.messages.filter_messages(messages, exclude_types=["system"])

    yield from _rows(bench, "filter by type", operation, 2, growing=True)


def merge(bench: Bench) -> Iterator[Row]:
    """Runs of one speaker, made one: none of them, and one of all messages."""

    def operation(lib: Library, messages: list[Any]) -> object:
        return lib.messages.merge_message_runs(messages)

    yield from _rows(bench, "merge no runs", operation, 1, growing=True)
    yield from _rows(bench, "merge one run", operation, 0.5, build=_run)


def convert(bench: Bench) -> Iterator[Row]:
    """The same conversation in OpenAI's words, and as one text."""

    def written(lib: Library, messages: list[Any]) -> object:
        return lib.messages.convert_to_openai_messages(messages)

    def as_text(lib: Library, messages: list[Any]) -> object:
        return lib.messages.get_buffer_string(messages)

    yield from _rows(bench, "convert to OpenAI's", written, 1.2, growing=True)
    yield from _rows(bench, "convert to a text", as_text, 1)


def history(bench: Bench) -> Iterator[Row]:
    """A conversation checked and mended; langchain-core has nothing of the kind."""
    for name in ("validate_history", "repair_history"):
        operate: Operation = lambda lib, messages, name=name: getattr(lib.messages, name)(messages)  # type: ignore[misc]  # noqa: E731
        yield from _rows(bench, name, operate, None, growing=True)


def _rows(
    bench: Bench,
    what: str,
    operation: Operation,
    limit: float | None,
    *,
    build: Callable[[Library, int], list[Any]] | None = None,
    growing: bool = False,
) -> Iterator[Row]:
    """A row for each size, per message, and one of the growth."""
    make = build or _conversation

    def body(lib: Library, size: int) -> Body:
        messages = make(lib, size)
        return repeating(lambda: operation(lib, messages))

    for size in SIZES[: 2 if bench.plan.quick else None]:  # the growth tells the rest
        yield bench.compare(
            f"{what}, {size:,} messages, per message",
            lambda lib, size=size: body(lib, size),  # type: ignore[misc]
            None if limit is None else Target(limit),
            per=size,
            libraries=["hocket"] if limit is None else ["hocket", "langchain"],
        )
    if growing:
        own, (_, small, large) = library("hocket"), SIZES
        name = f"{what}, a message of {large:,}, to one of {small:,}"
        yield bench.growth(name, lambda: body(own, small), lambda: body(own, large), 2, per=large // small)


def _trimming(limit: int, counter: Any) -> Operation:
    def operation(lib: Library, messages: list[Any]) -> object:
        return lib.messages.trim_messages(messages, max_tokens=limit, token_counter=counter, include_system=True)

    return operation


def _characters(messages: list[Any]) -> int:
    return sum(len(message.content) for message in messages)


def _run(lib: Library, size: int) -> list[Any]:
    return [lib.messages.HumanMessage(content=f"line {number}") for number in range(size)]


def _conversation(lib: Library, size: int) -> list[Any]:
    """Build a conversation of at most ``size`` messages, which ends with an answer."""
    kinds = lib.messages
    messages = [kinds.SystemMessage(content="be kind")]
    turn = 0
    while len(messages) + 5 <= size:
        messages.append(kinds.HumanMessage(content=f"question {turn} about things"))
        if turn % 3 == 0:
            ids = [f"{turn}a", f"{turn}b"]
            calls = [{"name": "f", "args": {"q": turn}, "id": id, "type": "tool_call"} for id in ids]
            messages.append(kinds.AIMessage(content="", tool_calls=calls))
            messages += [kinds.ToolMessage(content="a result of some length", tool_call_id=id) for id in ids]
        messages.append(kinds.AIMessage(content=f"answer {turn} is long enough to be one"))
        turn += 1
    return messages


CASES: dict[str, Case] = {
    "trim": trim,
    "filter": filter,
    "merge": merge,
    "convert": convert,
    "history": history,
}
