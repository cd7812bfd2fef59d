"""Which calls of a message are run, which wait for a person, and which are answered without being run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from hocket.agents.approval import Continue, Decision, DecisionKind, Resume, read_decisions
from hocket.agents.plan import RunPlan
from hocket.agents.state import AWAITS_APPROVAL, RunState, is_valid
from hocket.errors import InvalidInput, OutputParserException
from hocket.messages import AIMessage, ToolCall, ToolMessage
from hocket.messages.roles import calls_of
from hocket.tools import BaseTool, StructuredTool
from hocket.tools.call_runner import Call
from hocket.tools.result_messages import ERROR_KIND, make_error_message
from hocket.tools.runtime import Runtime

__all__ = [
    "BEYOND",
    "UNKNOWN",
    "SelfResumingTool",
    "ToolTurn",
    "answer_open_calls",
    "find_end",
    "may_rerun",
    "resume_calls",
    "sort_calls",
]

BEYOND = "This call was not run: the run has no calls of tools left. Answer with what you know."

UNKNOWN = "Its outcome is unknown. Find out before you make it again."
_LOST = f"This call was announced, and nobody saw its end. {UNKNOWN}"
# It may have been approved, and its process killed: no history can tell that from a call that nobody has decided.
_UNDECIDED = (
    "This call waited for approval, and something else was asked instead. Nobody is known to have approved it, so it never "
    "ran. Only if a crash came after an approval its outcome is unknown: then find out before you make it again."
)
_REJECTED = (
    "A person rejected this call. It is not made. If a crash came after an earlier approval, its outcome is unknown."
)
_ANSWERED = "This call was not run: the answer was given along with it."


class SelfResumingTool(StructuredTool):
    """A tool that, inside a durable run, goes on where an earlier process left it."""


@dataclass
class ToolTurn:
    """The calls of one message.

    Attributes:
        message: that makes them.
        step: its number in the run.
        calls: that are run now, as they are run: a person may have changed the arguments.
        waiting: that wait for a person.
        results: that are there, by the ids of the calls.
        decisions: what a person has decided now, by the ids of the calls.
        notes: what is added to the result of a call, by its id.
        started: the ids of the calls whose tools were called, or may have been by an earlier process.
        left: how many of the calls are still to be finished.
        has_output: whether an answer was given as a call.
        output: that answer.
        is_limited: whether a call was not run because there were too many.
    """

    message: AIMessage
    step: int
    calls: list[Call] = field(default_factory=list[Call])
    waiting: list[ToolCall] = field(default_factory=list[ToolCall])
    results: dict[str, ToolMessage] = field(default_factory=dict[str, ToolMessage])
    decisions: dict[str, DecisionKind] = field(default_factory=dict[str, DecisionKind])
    notes: dict[str, str] = field(default_factory=dict[str, str])
    started: set[str] = field(default_factory=set[str])
    left: int = 0
    has_output: bool = False
    output: object = None
    is_limited: bool = False

    def answer(self, call: Call, text: str, kind: str | None = None) -> None:
        """Answer a call without running it: with a failure, or, where no ``kind`` of failure is given, with a result."""
        call_id = call["id"] or ""
        if kind is None:
            self.results[call_id] = ToolMessage(text, tool_call_id=call_id, name=call["name"])
        else:
            self.results[call_id] = make_error_message(text, call_id, call["name"], kind)

    def list_open(self, calls: Sequence[Call]) -> list[Call]:
        """Return the calls that have no result yet."""
        return [call for call in calls if (call["id"] or "") not in self.results]

    def sort_results(self, order: Sequence[Call]) -> list[ToolMessage]:
        """Return the results that are there, in the order of the calls."""
        return [self.results[call["id"] or ""] for call in order if (call["id"] or "") in self.results]


def sort_calls(plan: RunPlan, turn: ToolTurn, calls: Sequence[Call], left: float, look: Callable[[], Runtime]) -> None:
    """Sort the calls of a new answer into a turn; ``left`` is how many calls the run may still make."""
    for call in calls:
        if plan.is_answer(call["name"]) and is_valid(call):
            _read_answer(plan, turn, call)
        elif is_valid(call) and plan.is_approval_needed(call, look):
            turn.waiting.append(call)
        elif len(turn.calls) >= left:
            turn.answer(call, BEYOND, "limit")
            turn.is_limited = True
        else:
            turn.calls.append(call)
    if turn.has_output:
        for call in turn.waiting:
            turn.answer(call, _ANSWERED, "rejected")
        turn.waiting = []
    if turn.waiting:
        flagged = {**turn.message.response_metadata, AWAITS_APPROVAL: [call["id"] for call in turn.waiting]}
        turn.message = turn.message.model_copy(update={"response_metadata": flagged})


def _read_answer(plan: RunPlan, turn: ToolTurn, call: ToolCall) -> None:
    """Take the answer that a call gives, or tell the model what does not fit."""
    assert plan.answer is not None
    try:
        turn.output = plan.answer.read_call(call)
    except OutputParserException as error:
        turn.answer(call, f"{error.observation or error} Call {call['name']} again.", "invalid_arguments")
    else:
        turn.has_output = True
        turn.answer(call, "The answer was taken.")


def answer_open_calls(state: RunState) -> list[ToolMessage]:
    """Return results for the open calls of a run that is not resumed: something else is asked instead."""
    turn = ToolTurn(AIMessage(""), 0)
    for call in state.open_calls:
        if call["id"] in state.waiting:
            turn.answer(call, _UNDECIDED, "undecided")
        else:
            turn.answer(call, _LOST, "unknown_outcome")
    return turn.sort_results(state.open_calls)


def resume_calls(plan: RunPlan, state: RunState, resume: Resume, look: Callable[[], Runtime]) -> ToolTurn | None:
    """Return the open calls of a run that goes on, as was decided; None: none are open.

    Raises:
        InvalidInput: there is nothing to go on with; an open call is of a tool that the agent does not have; or a decision
            is none, or for no call that waits.
    """
    _check_resumable(plan, state)
    # What the run did not flag has begun, whatever the rules of this agent say: a decision comes too late for it.
    open_ids = {call["id"] or "" for call in state.open_calls}
    decisions = read_decisions(resume, open_ids & state.waiting, open_ids - state.waiting)
    if not state.open_calls:
        return None
    answer = next(message for message in reversed(state.messages) if isinstance(message, AIMessage))
    turn = ToolTurn(answer, 0)
    for call in state.open_calls:
        call_id = call["id"] or ""
        if not is_valid(call):
            turn.calls.append(call)
        elif call_id in decisions:
            _apply_decision(turn, call, decisions[call_id])
        elif call_id in state.waiting:
            turn.waiting.append(call)
        elif plan.is_answer(call["name"]):
            _read_answer(plan, turn, call)
        elif may_rerun(plan.tools[call["name"]], resume) and not plan.is_approval_needed(call, look):
            turn.calls.append(call)
        else:
            turn.answer(call, _LOST, "unknown_outcome")
    turn.started = {call["id"] or "" for call in turn.calls}  # perhaps by an earlier process, which died
    return turn


def _check_resumable(plan: RunPlan, state: RunState) -> None:
    if not state.messages:
        raise InvalidInput("there is nothing to resume: this history is empty; is it the one of the run that paused?")
    if state.is_over or find_end(plan, state) is not None:
        raise InvalidInput(
            "there is nothing to resume: the last run of this history has ended; ask a new question instead"
        )
    known = [*plan.tools, *(plan.answer.names if plan.answer else ())]
    for call in state.open_calls:
        if is_valid(call) and call["name"] not in known:
            raise InvalidInput(
                f"the call {call['id']!r} is open, and this agent has no tool {call['name']!r} (it has: "
                f"{', '.join(known) or 'none'}): resume with an agent that has it, or ask a new question instead"
            )


def find_end(plan: RunPlan, state: RunState) -> tuple[Call, ToolMessage] | None:
    """Return the call whose result was the end of the run: the answer, a tool with ``return_direct``, or a `StopRun`."""
    results: dict[str, ToolMessage] = {}
    for message in reversed(state.messages):
        if isinstance(message, ToolMessage):
            results[message.tool_call_id] = message
        elif state.open_calls:
            return None
        else:
            done = ((call, results.get(call["id"] or "")) for call in calls_of(message))
            return next(((call, result) for call, result in done if result and _ends_run(plan, call, result)), None)
    return None


def _ends_run(plan: RunPlan, call: Call, result: ToolMessage) -> bool:
    if result.status == "error":
        return result.response_metadata.get(ERROR_KIND) == "stopped"
    tool = plan.tools.get(call["name"] or "")
    return tool.return_direct if tool is not None else plan.is_answer(call["name"])


def may_rerun(tool: BaseTool, resume: Resume) -> bool:
    """Whether a call of a tool may be made again whose end nobody saw."""
    if resume.rerun == "always" or (isinstance(resume, Continue) and isinstance(tool, SelfResumingTool)):
        return True
    return resume.rerun == "idempotent" and bool((tool.metadata or {}).get("idempotent"))


def _apply_decision(turn: ToolTurn, call: ToolCall, decision: Decision) -> None:
    """Have a call run, or answered, as a person decided."""
    turn.decisions[call["id"] or ""] = decision.kind
    if decision.kind == "approve":
        turn.calls.append(call)
    elif decision.kind == "edit":
        args = decision.args or {}
        turn.calls.append(cast(ToolCall, {**call, "args": args}))
        why = f" {' '.join(decision.message.split())}" if decision.message else ""  # a note is one line
        turn.notes[call["id"] or ""] = f"\n[A person changed this call, to {args!r}.{why}]"
    elif decision.kind == "reject":
        why = f" The reason: {decision.message}" if decision.message else ""
        turn.answer(call, f"{_REJECTED}{why}", "rejected")
    else:
        turn.answer(call, decision.message)
