"""The same calls, with the same results, one after another: a model that goes round in circles.

Other results are polling, which is no loop. Arguments are compared as JSON, so that their order does not matter, nor does
the order of the calls in a message. A reply that is no answer is like another one of the same text.
"""

import json
from collections.abc import Sequence

from hocket.messages import ToolCall, ToolMessage

__all__ = ["PATIENCE", "RepeatCounter", "describe_repetition"]

PATIENCE = 2
"""Repetitions that a model may still make after it was told."""


class RepeatCounter:
    """Counts how often the last calls were made in a row with the same results, or the last reply was given."""

    def __init__(self) -> None:
        self._last: object = None
        self._count = 0

    def add(self, calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> int:
        """Add the calls of a message and their results; return how often in a row they were the same."""
        answers = {result.tool_call_id: result for result in results}
        return self._count_seen(sorted(_write_call(call, answers.get(call["id"] or "")) for call in calls))

    def add_reply(self, text: str) -> int:
        """Add a reply without calls that is no answer; return how often in a row it was the same."""
        return self._count_seen(text)

    def _count_seen(self, seen: object) -> int:
        self._count = self._count + 1 if seen == self._last else 1
        self._last = seen
        return self._count


def _write_call(call: ToolCall, result: ToolMessage | None) -> str:
    content = None if result is None else result.content
    try:
        return json.dumps([call["name"], call["args"], content], sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):  # no JSON, or too deep: it is like no other
        return f"{call['name']} {id(call)}"


def describe_repetition(count: int) -> str:
    """Return what the model is told."""
    return (
        f"\n[You have made the same call {count} times, with the same result. Do something else, or answer with what you "
        "know.]"
    )
