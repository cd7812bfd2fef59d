"""The events of the programs, as data that can be compared.

``python -m tests.langchain.events``, where langchain-core is, writes down LangChain's, and in which lines hocket's differ.
Read the changes of that second file: each is a departure.
"""

import asyncio
import difflib
import importlib
import json
import warnings
from pathlib import Path
from typing import Any

from tests.langchain.programs import PROGRAMS, make_names

importlib.import_module("tests.langchain.larger_programs")  # which lists its own

_FOLDER = Path(__file__).parents[1] / "fixtures" / "langchain"
FILE, OTHERWISE_FILE = _FOLDER / "events.json", _FOLDER / "events_otherwise.json"

TOLD: dict[str, list[Any]] = json.loads(FILE.read_text())
"""LangChain's events of each program."""

OTHERWISE: dict[str, list[str]] = json.loads(OTHERWISE_FILE.read_text())
"""The lines in which hocket's are others, of each program that has such lines."""

_DETAILS = ("tool_calls", "tool_call_chunks", "chunk_position", "tool_call_id", "name", "status", "usage_metadata")


async def record(name: str, package: str) -> list[Any]:
    """Run a program with a package's classes, and return its events; runs are numbered."""
    runnable, given, wanted = PROGRAMS[name](make_names(package))
    numbers: dict[str, int] = {}
    events: list[Any] = []
    try:
        async for event in runnable.astream_events(given, version="v2", **wanted):
            runs = [numbers.setdefault(one, len(numbers)) for one in (event["run_id"], *event["parent_ids"])]
            metadata = {key: value for key, value in event["metadata"].items() if not key.startswith(("ls_", "lc_"))}
            events.append(
                {
                    "event": event["event"],
                    "name": event["name"],
                    "run": runs[0],
                    "parents": runs[1:],
                    "tags": sorted(event["tags"]),
                    "metadata": metadata,
                    "data": show(event["data"]),
                }
            )
    except Exception as error:
        events.append({"raised": type(error).__name__})
    return events


def show(value: Any) -> Any:
    """Return a value of either package as data."""
    kind = type(value).__name__
    if isinstance(value, dict):
        return {key: show(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [show(one) for one in value]
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, BaseException):
        return {"error": kind}
    if hasattr(value, "additional_kwargs"):
        details = {name: show(getattr(value, name, None)) for name in _DETAILS}
        return {"kind": kind, "content": value.content, **{key: one for key, one in details.items() if one}}
    if hasattr(value, "page_content"):
        return {"document": value.page_content, "metadata": value.metadata}
    if hasattr(value, "to_messages"):
        return {"prompt": show(value.to_messages())}
    return {"kind": kind, "text": getattr(value, "text", None)}


def compare(told: list[Any], found: list[Any]) -> list[str]:
    """Return the lines that are in one list of events alone: - in ``told``, + in ``found``, with their places."""
    lines = difflib.unified_diff(_write(told), _write(found), n=0, lineterm="")
    return list(lines)[2:]


def _write(events: list[Any]) -> list[str]:
    return [json.dumps(event, sort_keys=True) for event in events]


def _write_file(file: Path, entries: dict[str, list[str]]) -> None:
    texts = [f"{json.dumps(name)}: [\n" + ",\n".join(lines) + "\n]" for name, lines in entries.items()]
    file.write_text("{\n" + ",\n".join(texts) + "\n}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # what LangChain calls deprecated is compared all the same
    recorded = {name: asyncio.run(record(name, "langchain_core")) for name in PROGRAMS}
    changed = {name: compare(told, asyncio.run(record(name, "hocket"))) for name, told in recorded.items()}
    _write_file(FILE, {name: [json.dumps(event) for event in told] for name, told in recorded.items()})
    _write_file(
        OTHERWISE_FILE, {name: [json.dumps(line) for line in lines] for name, lines in changed.items() if lines}
    )
