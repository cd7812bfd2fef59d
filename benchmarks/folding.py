"""Folding: from the chunks of a stream to one message, at once and with ``+``, and how it grows.

langchain-core parses the tool call's arguments anew after every ``+``, which makes it quadratic: it takes seconds for
1,000 chunks. It is therefore measured at 1,000 only, and at 200 in a quick run.
"""

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .bench import Bench, Case, repeating
from .harness import Body, Target
from .library import Library, fold_at_once, library
from .table import Row

__all__ = ["CASES"]

MANY = 50_000


def collect(bench: Bench) -> Iterator[Row]:
    """The deltas of one tool call, folded at once: hocket's collector, langchain-core's ``first + rest``."""
    bare = repeating(lambda: "".join(["word "] * 1_000))
    what = "folding 1,000 tool-argument deltas at once, per delta"
    yield bench.compare(what, lambda lib: _at_once(lib, 1_000), Target(1, over=None), bare=bare, per=1_000)
    yield from _large(bench, "at once", _at_once, limit=1)


def add(bench: Bench) -> Iterator[Row]:
    """The deltas of one tool call, added one by one."""
    size = 200 if bench.plan.quick else 1_000
    what = f"folding {size:,} tool-argument deltas with +, per delta"
    yield bench.compare(what, lambda lib: _one_by_one(lib, size), Target(10, over=None), per=size)
    yield from _large(bench, "with +", _one_by_one, limit=10)


def add_text(bench: Bench) -> Iterator[Row]:
    """The deltas of a text, added one by one."""

    def build(lib: Library) -> Body:
        chunks = [lib.messages.AIMessageChunk(content="word ") for _ in range(1_000)]
        return repeating(lambda: functools.reduce(operator.add, chunks).content)

    yield bench.compare("folding 1,000 text chunks with +, per chunk", build, Target(0.5), per=1_000)


def _large(bench: Bench, how: str, build: Callable[[Library, int], Body], limit: float) -> Iterator[Row]:
    """The largest fold, per delta; and by how much doubling the deltas multiplies the time."""
    what = f"folding {MANY:,} tool-argument deltas {how}, per delta"
    target = Target(limit, over=None)
    yield bench.compare(what, lambda lib: build(lib, MANY), target, per=MANY, libraries=["hocket"])
    yield bench.growth(
        f"folding {how}, time from {MANY // 2:,} to {MANY:,} deltas",
        lambda: build(library("hocket"), MANY // 2),
        lambda: build(library("hocket"), MANY),
        limit=2.5,
    )


def _at_once(lib: Library, size: int) -> Body:
    """Fold all deltas in the library's best way and read the parsed call."""
    chunks, fold = _deltas(lib, size), fold_at_once(lib)
    return repeating(lambda: _checked(fold(chunks), size))


def _one_by_one(lib: Library, size: int) -> Body:
    """Add the deltas, each to the sum so far, and read the parsed call."""
    chunks = _deltas(lib, size)
    return repeating(lambda: _checked(functools.reduce(operator.add, chunks), size))


def _deltas(lib: Library, size: int) -> Sequence[Any]:
    """Build one tool call in ``size`` chunks: its name and id, then its arguments in small pieces."""
    pieces = ['{"text": "', *["word "] * (size - 2), '"}']
    return [
        lib.messages.AIMessageChunk(
            content="",
            tool_call_chunks=[
                lib.messages.ToolCallChunk(
                    name=None if place else "write",
                    args=piece,
                    id=None if place else "call_1",
                    index=0,
                    type="tool_call_chunk",
                )
            ],
        )
        for place, piece in enumerate(pieces)
    ]


def _checked(message: Any, size: int) -> None:
    """Read the call, as a consumer does; a fold that loses something is not fast but wrong."""
    (call,) = message.tool_calls
    if len(call["args"]["text"]) != 5 * (size - 2):
        raise AssertionError(f"{len(call['args']['text'])} characters came of {5 * (size - 2)}")


CASES: dict[str, Case] = {"fold": collect, "fold-plus": add, "fold-text": add_text}
