"""Calls that wait for a person: how they are shown, asked about at a terminal, and decided on the command line."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hocket.cli.output import note, squeeze

if TYPE_CHECKING:
    from hocket._json import JSONObject
    from hocket.messages import InvalidToolCall, ToolCall

__all__ = ["ask_person", "can_ask", "describe_call", "parse_decision"]

_YES, _NO = ("y", "yes"), ("n", "no")


def parse_decision(text: str) -> "tuple[str, str | JSONObject]":
    """Return the id of a call, and what is decided: ``ID=approve``, ``ID=reject``, or ``ID={"type": "edit", ...}``.

    Raises:
        ArgumentTypeError: it is neither.
    """
    call_id, separator, decision = text.partition("={")
    if separator:
        try:
            return call_id, json.loads("{" + decision)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} has a decision that is no JSON: {error}") from None
    call_id, _, decision = text.rpartition("=")  # an id may have one, too
    if not call_id or decision not in ("approve", "reject"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no decision; it looks like ID=approve, ID=reject, or "
            """ID={"type": "edit", "args": {...}}, with "message" for "reject" and "respond\""""
        )
    return call_id, decision


def can_ask() -> bool:
    """Whether a person sees a question, and can answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def describe_call(call: "ToolCall | InvalidToolCall") -> str:
    """Return a call as one line: the tool, and its arguments as JSON."""
    args = call["args"]
    shown = json.dumps(args, ensure_ascii=False, default=str) if isinstance(args, dict) else squeeze(args or "")
    return f"{call['name']}({shown})"


def ask_person(calls: "Sequence[ToolCall]") -> "dict[str, str | JSONObject] | None":
    """Ask at the terminal about each call; return what is decided. None: Ctrl-D, nothing is.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    decisions: dict[str, str | JSONObject] = {}
    for call in calls:
        note(f"may it run {describe_call(call)}?")
        note("y: yes; n: no; anything else: no, and the model is told that; Ctrl-D: decide later")
        answer = ""
        while not answer:
            try:
                answer = input().strip()
            except EOFError:
                return None
        decisions[call["id"] or ""] = _read_answer(answer)
    return decisions


def _read_answer(answer: str) -> "str | JSONObject":
    if answer.lower() in _YES:
        return "approve"
    return "reject" if answer.lower() in _NO else {"type": "reject", "message": answer}
