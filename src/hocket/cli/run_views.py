"""Durable runs as a person reads them, and as JSON: the table of all, and all that is known of one."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from hocket.cli.approval import describe_call
from hocket.cli.output import squeeze, write_columns
from hocket.errors.hints import shorten

if TYPE_CHECKING:
    from hocket.durable import RunInfo
    from hocket.messages import BaseMessage, ToolCall

__all__ = ["ShownRun", "describe_info", "write_run", "write_runs"]

_COLUMNS = ("id", "name", "status", "waits for", "age", "attempts")
_UNITS = (("d", 86_400), ("h", 3600), ("m", 60))
_SHOWN = 200  # characters of a message, and of a call


class ShownRun(NamedTuple):
    """All that is shown of a run.

    Attributes:
        info: how it stands.
        pending: the calls that wait for a decision.
        messages: of the agent that it is a run of; else there are none.
        output: what it has returned.
    """

    info: "RunInfo"
    pending: "Sequence[ToolCall]"
    messages: "Sequence[BaseMessage]"
    output: object = None

    def describe(self) -> dict[str, object]:
        """Return it as what JSON can write, but for what a function has returned."""
        from hocket.messages import messages_to_dict

        calls = [{"id": call["id"], "tool": call["name"], "args": call["args"]} for call in self.pending]
        messages = messages_to_dict(self.messages)
        return {**describe_info(self.info), "pending": calls, "messages": messages, "output": self.output}


def describe_info(info: "RunInfo") -> dict[str, object]:
    """Return how a run stands as what JSON can write: times are seconds since 1970."""
    return asdict(info)


def write_runs(infos: "Sequence[RunInfo]") -> Iterator[str]:
    """Yield the lines of the table of runs."""
    rows = [
        [info.id, info.name, info.status, _join(info.waiting_for), _tell_age(info.created), str(info.attempts)]
        for info in infos
    ]
    return write_columns(_COLUMNS, [[squeeze(cell) for cell in row] for row in rows], numbers=2)


def write_run(shown: ShownRun) -> Iterator[str]:
    """Yield the lines that tell all of a run."""
    info = shown.info
    facts = {
        "id": info.id,
        "name": f"{info.name}, version {info.version}",
        "status": info.status if not info.waiting_for else f"{info.status} for {_join(info.waiting_for)}",
        "created": _tell_time(info.created),
        "updated": _tell_time(info.updated),
        "attempts": str(info.attempts),
        "worker": info.worker or "-",
        "metadata": json.dumps(info.metadata, ensure_ascii=False) if info.metadata else "",
        "error": info.error or "",
        "output": "" if shown.output is None or shown.messages else _shorten(str(shown.output)),
    }
    facts = {name: value for name, value in facts.items() if value}
    width = max(map(len, facts))
    yield from (f"{name.ljust(width)}  {squeeze(value)}" for name, value in facts.items())
    if shown.pending:
        yield "waits for a decision:"
        yield from (f"  {call['id']}  {describe_call(call)}" for call in shown.pending)
    if shown.messages:
        yield "messages:"
        yield from (f"  {line}" for message in shown.messages for line in _write_message(message))


def _write_message(message: "BaseMessage") -> Iterator[str]:
    """Yield who says what, and the calls that an answer makes, in short."""
    from hocket.messages import ToolMessage
    from hocket.messages.roles import calls_of

    calls = calls_of(message)
    speaker = f"{message.name or message.tool_call_id} says" if isinstance(message, ToolMessage) else message.type
    if message.text or not calls:
        yield f"{speaker}: {_shorten(message.text)}"
    yield from (f"{speaker} calls {_shorten(describe_call(call))}" for call in calls)


def _join(waiting: Sequence[str]) -> str:
    return ", ".join(waiting) or "-"


def _shorten(text: str) -> str:
    return shorten(squeeze(text), _SHOWN)


def _tell_age(moment: float) -> str:
    """Return how long ago a moment was, in seconds since 1970: 90s, 5m, 12h, 3d."""
    seconds = max(0, int(time.time() - moment))
    for unit, length in _UNITS:
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _tell_time(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M:%S} UTC, {_tell_age(moment)} ago"
