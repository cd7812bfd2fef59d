"""The events of the programs, as data that can be compared.

``python -m tests.langchain.events``, where langchain-core is, writes down LangChain's.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.langchain.programs import PROGRAMS, make_names

FILE = Path(__file__).parents[1] / "fixtures" / "langchain" / "events.json"
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


if __name__ == "__main__":
    recorded = {name: asyncio.run(record(name, "langchain_core")) for name in PROGRAMS}
    lines = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(event) for event in told) + "\n]" for name, told in recorded.items()
    )
    FILE.write_text(f"{{\n{lines}\n}}\n")
