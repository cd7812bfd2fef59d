"""Which calls a person has to approve, and what a person may decide.

The words are LangChain's: approve, edit, reject, respond. They are data, so that a decision may come out of a form, days
later, in another process.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast, get_args

from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint
from hocket.messages import ToolCall
from hocket.messages.base import copy_containers
from hocket.messages.content import Fields, FieldsView

__all__ = ["ApprovalRules", "Continue", "Decision", "DecisionKind", "InterruptOn", "Rerun", "Resume", "read_decisions"]

DecisionKind = Literal["approve", "edit", "reject", "respond"]
"""What a person may say of a call: run it, run it with other arguments, refuse it, or answer in its place."""

Rerun = Literal["idempotent", "always", "never"]
"""Which calls are made again that were begun before a crash: those of idempotent tools, all, or none."""

Rule = bool | Callable[[ToolCall], bool]
InterruptOn: TypeAlias = Collection[str] | Mapping[str, Rule]
"""Names of tools, or for each name a rule: True, or a function of the call that says whether it needs approval."""

_KEYS: Mapping[DecisionKind, tuple[frozenset[str], frozenset[str]]] = {  # needed, and allowed beside
    "approve": (frozenset(), frozenset()),
    "edit": (frozenset({"args"}), frozenset({"message"})),
    "reject": (frozenset(), frozenset({"message"})),
    "respond": (frozenset({"message"}), frozenset()),
}


@dataclass(frozen=True)
class Resume:
    """Goes on with the last run of a history, instead of a question.

    Args:
        decisions: for calls that wait, by their ids: "approve", "reject", or ``{"type": "approve"}``,
            ``{"type": "edit", "args": {...}}``, ``{"type": "reject", "message": "..."}`` and
            ``{"type": "respond", "message": "..."}``, whose message is the result. Calls without a decision wait on.
        rerun: which calls are made again that were begun and whose end nobody saw: those of tools that say
            ``metadata={"idempotent": True}``, all, or none.
    """

    decisions: Mapping[str, str | Mapping[str, Any]] = field(default_factory=dict[str, str | Mapping[str, Any]])
    rerun: Rerun = "idempotent"

    def __post_init__(self) -> None:
        if not isinstance(self.decisions, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"decisions is {type(self.decisions).__name__}; it is a mapping from ids of calls")
        if self.rerun not in get_args(Rerun):
            raise InvalidInput(f"rerun is {self.rerun!r}; it is one of {', '.join(get_args(Rerun))}")


@dataclass(frozen=True)
class Continue(Resume):
    """Goes on with a durable run, wherever an earlier process left it: where that was after its end, it has a result."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about a call.

    Args:
        kind: approve it; run it with other arguments; reject it; or give its result.
        args: the other arguments.
        message: why it is rejected, or the result.
    """

    kind: DecisionKind
    args: dict[str, Any] | None = None
    message: str = ""


class ApprovalRules:
    """Which calls wait for a person.

    Args:
        interrupt_on: see `InterruptOn`.
        tools: the names of all tools.

    Raises:
        InvalidInput: a rule is for no tool, or is none.
    """

    def __init__(self, interrupt_on: InterruptOn, tools: Collection[str]) -> None:
        if isinstance(interrupt_on, str) or not isinstance(interrupt_on, Collection):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"interrupt_on is {interrupt_on!r}; it is a list of names, or a mapping of rules")
        rules: Mapping[str, Rule] = dict.fromkeys(interrupt_on, True)
        if isinstance(interrupt_on, Mapping):
            rules = cast("Mapping[str, Rule]", interrupt_on)
        for name, rule in rules.items():
            if name not in tools:
                raise InvalidInput(f"interrupt_on names {name!r}, which is no tool; {near_name_hint(str(name), tools)}")
            if not isinstance(rule, bool) and (not callable(rule) or inspect.iscoroutinefunction(rule)):
                raise InvalidInput(
                    f"the rule for {name!r} is {rule!r}; it is True, False, or a sync function of the call"
                )
        self._rules: dict[str, Rule] = {name: rule for name, rule in rules.items() if rule is not False}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def is_needed(self, call: ToolCall) -> bool:
        """Whether a call waits for a person. A rule that fails is taken for a yes."""
        rule = self._rules.get(call["name"])
        if rule is None or isinstance(rule, bool):
            return rule is True
        try:
            return bool(rule(cast(ToolCall, copy_containers(call))))  # a rule is asked, and changes nothing
        except Exception:  # of arguments that the model made up, for example
            return True


def read_decisions(resume: Resume, waiting: Collection[str], begun: Collection[str] = ()) -> dict[str, Decision]:
    """Return the decisions, checked.

    Args:
        resume: has the decisions.
        waiting: the ids of the calls that wait for one.
        begun: the ids of the calls that wait for none, and may have run.

    Raises:
        InvalidInput: an id is of no call that waits, or a decision is none.
    """
    decisions: dict[str, Decision] = {}
    for call_id, decision in resume.decisions.items():
        if call_id not in waiting:
            known = ", ".join(map(repr, sorted(waiting))) or "none: it may have been decided already"
            if call_id in begun:
                known += (
                    f". {call_id!r} was begun without one, and may have run: resume without it; the model is told so"
                )
            raise InvalidInput(f"no call {call_id!r} waits for a decision; those that wait: {known}")
        decisions[call_id] = _read_decision(call_id, decision)
    return decisions


def _read_decision(call_id: str, decision: object) -> Decision:
    given = {"type": decision} if isinstance(decision, str) else decision
    values: Fields = dict(cast(FieldsView, given)) if isinstance(given, Mapping) else {}
    kind: DecisionKind = values.pop("type", None)
    if kind not in get_args(DecisionKind):
        kinds = ", ".join(get_args(DecisionKind))
        raise InvalidInput(f"the decision for {call_id!r} is {decision!r}; it is one of {kinds}")
    needed, allowed = _KEYS[kind]
    if missing := needed - values.keys():
        raise InvalidInput(f"the decision {kind!r} for {call_id!r} needs {', '.join(sorted(missing))}")
    if unknown := values.keys() - needed - allowed:
        known = ", ".join(sorted(needed | allowed)) or "nothing but its type"
        raise InvalidInput(f"the decision {kind!r} for {call_id!r} has no {sorted(unknown)[0]!r}; it takes {known}")
    args, message = cast(object, values.get("args")), values.get("message", "")
    if "args" in values and not isinstance(args, dict):
        raise InvalidInput(f"args for {call_id!r} is {type(args).__name__}; it is a dict of arguments")
    if not isinstance(message, str):
        raise InvalidInput(f"message for {call_id!r} is {type(message).__name__}; it is a text")
    return Decision(kind, cast("Fields | None", args), message)
