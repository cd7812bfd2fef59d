"""What the clients of each protocol take, as a checker of events: `check_vercel`, `check_ag_ui`.

Both fail where the client of npm fails or shows something else (`test_page_clients.py` asks it): what is closed was open,
a result is of a call that was told, there is one end, and when it comes nothing is open.
"""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

__all__ = ["CHECKS", "Events", "read_events"]

Events = list[dict[str, Any]]

core = pytest.importorskip("ag_ui.core", reason="ag-ui-protocol wants a newer pydantic than hocket does")
AG_UI_EVENT: TypeAdapter[Any] = TypeAdapter(core.Event)


def read_events(data: bytes) -> list[Any]:
    """Return the data of each event; a text, where it is no JSON."""
    assert data.endswith(b"\n\n") or not data
    blocks = data.decode().split("\n\n")[:-1]
    assert all(block.startswith("data: ") and "\n" not in block for block in blocks)
    texts = [block.removeprefix("data: ") for block in blocks]
    return [text if text == "[DONE]" else json.loads(text) for text in texts]


def check_vercel(events: list[Any]) -> str:
    """Return the last event's type, after checks of all."""
    *events, done = events
    assert done == "[DONE]"
    parts: set[str] = set()
    used: set[str] = set()
    pieces: set[str] = set()
    calls: set[str] = set()
    in_step = False
    for at, event in enumerate(events):
        kind = event["type"]
        assert (kind == "start") == (at == 0) or len(events) == 1
        assert (kind in ("finish", "error", "abort")) == (at == len(events) - 1)
        if kind in ("text-start", "reasoning-start"):
            assert event["id"] not in used
            parts.add(event["id"])
            used.add(event["id"])
        elif kind in ("text-delta", "reasoning-delta"):
            assert event["id"] in parts and event["delta"]
        elif kind in ("text-end", "reasoning-end"):
            parts.remove(event["id"])
        elif kind == "tool-input-start":
            assert event["toolCallId"] not in calls
            pieces.add(event["toolCallId"])
            calls.add(event["toolCallId"])
        elif kind == "tool-input-delta":
            assert event["toolCallId"] in pieces
        elif kind in ("tool-input-available", "tool-input-error"):
            pieces.remove(event["toolCallId"])
        elif kind.startswith("tool-output") or kind == "tool-approval-request":
            assert event["toolCallId"] in calls - pieces
        elif kind in ("start-step", "finish-step"):
            assert in_step == (kind == "finish-step") and not parts and not pieces
            in_step = not in_step
    assert not parts and not pieces and not in_step
    return str(events[-1]["type"])


OPENS = {"TEXT_MESSAGE_START": "messageId", "REASONING_START": "messageId", "TOOL_CALL_START": "toolCallId"}
OPENS |= {"STEP_STARTED": "stepName", "REASONING_MESSAGE_START": "messageId"}
CLOSES = {"TEXT_MESSAGE_END": "TEXT_MESSAGE_START", "REASONING_END": "REASONING_START"}
CLOSES |= {"TOOL_CALL_END": "TOOL_CALL_START", "STEP_FINISHED": "STEP_STARTED"}
CLOSES |= {"REASONING_MESSAGE_END": "REASONING_MESSAGE_START"}
INSIDE = {"TEXT_MESSAGE_CONTENT": "TEXT_MESSAGE_START", "REASONING_MESSAGE_CONTENT": "REASONING_MESSAGE_START"}
INSIDE |= {"TOOL_CALL_ARGS": "TOOL_CALL_START"}


def check_ag_ui(events: list[Any]) -> str:
    """Return the outcome of the run, after checks of all events."""
    is_open: set[tuple[str, str]] = set()
    used: set[tuple[str, str]] = set()
    for at, event in enumerate(events):
        kind = event["type"]
        model = AG_UI_EVENT.validate_python(event)
        assert not model.model_extra, "a field that the protocol does not have"
        assert (kind == "RUN_STARTED") == (at == 0) or len(events) == 1
        assert (kind in ("RUN_FINISHED", "RUN_ERROR")) == (at == len(events) - 1)
        if kind in OPENS:
            one = kind, event[OPENS[kind]]
            assert one not in used
            used.add(one)
            is_open.add(one)
        elif kind in CLOSES:
            is_open.remove((CLOSES[kind], event[OPENS[CLOSES[kind]]]))
        elif kind in INSIDE:
            assert event["delta"] and (INSIDE[kind], event[OPENS[INSIDE[kind]]]) in is_open
        elif kind == "TOOL_CALL_RESULT":
            assert ("TOOL_CALL_START", event["toolCallId"]) in used - is_open
    assert not is_open
    return "error" if events[-1]["type"] == "RUN_ERROR" else str(events[-1]["outcome"]["type"])


CHECKS: dict[Any, Any] = {"vercel": check_vercel, "ag-ui": check_ag_ui}
