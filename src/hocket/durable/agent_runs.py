"""Agents inside a durable run: each goes on by its own messages, and has its decisions from whichever process.

An agent's history is its record (decision 013). The engine records what no message says: which decision was taken up, since
the approved call may be running when the process dies, and that the run has ended, with what came of it. So nothing is
replayed, and nothing of a conversation passes through the engine.

An agent to which the code of a run gives a history goes on in the same way, by what that history has since its question.
There the end has the messages, too: other questions may follow them, and the history may be cleared.
"""

import functools
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast
from urllib.parse import quote

from pydantic_core import to_jsonable_python

from hocket._runtime.journal import RunOnce, current_journal
from hocket.agents import Agent, AgentResult
from hocket.agents.approval import Continue, Resume
from hocket.agents.calls import UNKNOWN
from hocket.agents.state import read_pending_calls, read_state
from hocket.chat_history import BaseChatMessageHistory, open_history
from hocket.durable.execution import Execution, JournalPlace
from hocket.durable.run_history import RunHistory
from hocket.durable.standing import Waiting
from hocket.durable.values import ANY_VALUE, digest
from hocket.errors import HistoryError, InvalidInput
from hocket.messages import AIMessage, BaseMessage, ToolCall, UsageMetadata, add_usage

__all__ = ["RunJournal", "find_session", "find_sessions", "is_end", "read_end", "write_end"]

T = TypeVar("T")

_COUNTS = ("usage_unknown", "model_calls", "tool_calls")
_END = "agent:"
"""Before the end of an agent's run; no other text begins so."""

_AGENT, _RESUMED = "agent ", "resumed "
"""Before the key of an agent that has begun, and before the place of one that goes on with a history of the caller's."""

_NO_USAGE: UsageMetadata = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
_Run = Callable[[Any, Any], Awaitable[AgentResult[Any]]]


def find_session(run: str, key: str) -> str:
    """Return where an agent inside a run keeps its messages; ``key``: "" of the agent that the run is."""
    return quote(run, safe="") + (f"/{quote(key, safe='/')}" if key else "")


def find_sessions(run: str, recorded: Iterable[str]) -> set[str]:
    """Return where the agents of a run keep their messages; ``recorded``: the names of its records."""
    keys = (name.partition(" ")[2] for name in recorded if name.startswith((_AGENT, "end ")))
    return {find_session(run, key) for key in ("", *keys)}


class RunJournal:
    """The journal as the floors below see it: of the run, or of an agent inside it.

    Args:
        execution: of the run.
        key: of the agent inside which this is; "": of the run's own.
        records_models: whether calls of models are recorded.
        is_root: whether the run is a run of an agent, which is the next that runs.
    """

    def __init__(
        self, execution: Execution, key: str = "", *, records_models: bool = True, is_root: bool = False
    ) -> None:
        self._execution = execution
        self._key = key
        self._is_root = is_root
        self._used_below = _NO_USAGE  # in earlier executions, by agents among the tools that did not end in them
        self.records_models: bool = records_models

    def claim(self, key: str) -> JournalPlace:
        """Return a place for what ``key`` names."""
        return self._execution.claim(key)

    async def run_agent(self, agent: object, asked: object, call_id: str | None, history: object, run: RunOnce[T]) -> T:
        """Have an agent run to its end, across executions; without a history of the caller's it waits here for decisions."""
        known = cast("Agent[Any]", agent)
        given = cast("BaseChatMessageHistory | None", history)
        key = ""
        if not self._is_root:
            what = asked if given is None else [asked, str(getattr(given, "session_id", ""))]
            own = quote(call_id or f"{known.get_name()}:{digest(what, 'what the agent is asked')}", safe=":")
            key = f"{self._key}/{own}" if self._key else own
        place = self._execution.claim(f"end {key}")
        try:
            return cast(T, await self._run_agent(known, asked, place, given, cast(_Run, run)))
        finally:
            place.release()

    async def _run_agent(
        self,
        agent: Agent[Any],
        asked: object,
        place: JournalPlace,
        given: BaseChatMessageHistory | None,
        run: _Run,
    ) -> AgentResult[Any]:
        key = place.name.removeprefix("end ")
        if given is None:
            if key and place.text is None and self._execution.find(_AGENT + key) is None:
                await self._execution.record(_AGENT + key, "true")  # who deletes the run has to find its messages
            url, session = self._execution.store.database.url, find_session(self._execution.id, key)
            history = RunHistory(open_history(url, session_id=session), self._execution)
        else:
            begun = self._execution.find(_RESUMED + place.name)
            mark, start = f"{self._execution.id}/{place.name}", None if begun is None else int(begun)
            history = RunHistory(given, self._execution, mark, start)
        inside = RunJournal(self._execution, key, records_models=False)
        token = current_journal.set(inside)
        try:
            if place.text is None:
                agent_run = _AgentRun(self._execution, agent, key, history)
                result = await (agent_run.run(asked, run) if given is None else agent_run.run_given(asked, place, run))
                result = replace(result, usage=add_usage(result.usage, inside._used_below))
                for usage in (agent_run.used_earlier, inside._used_below):
                    self._used_below = add_usage(self._used_below, usage)
                await place.record(write_end(result, None if given is None else result.new_messages))
                return result
            end = _load_end(place.text)
            if end.pop("typed", None) is not None:
                end["output"] = (await run(Continue(), history)).output
            messages = await history.aget_messages()
            if given is not None:
                return AgentResult(past=messages[: history.find_own(messages).start], **end)
            return AgentResult(new_messages=messages, **end)
        finally:
            current_journal.reset(token)


class _AgentRun:
    """One execution of an agent inside a run, whose ``key`` it has.

    Attributes:
        used_earlier: what earlier executions used, as far as it is recorded.
    """

    def __init__(self, execution: Execution, agent: Agent[Any], key: str, history: RunHistory) -> None:
        self._execution = execution
        self._agent = agent
        self._key = key
        self._history = history
        self.used_earlier: UsageMetadata = _NO_USAGE

    async def run(self, asked: Any, run: _Run) -> AgentResult[Any]:
        """Run the agent to its end, and return its result, with what earlier executions used."""
        messages = await self._history.aget_messages()
        state = read_state(messages)
        usage = self.used_earlier = self._sum_earlier(messages)
        counts: dict[str, Any] = {
            "model_calls": state.model_calls,
            "tool_calls": state.tool_calls,
            "usage_unknown": 0,
        }
        while True:
            decisions = await self._get_decisions(messages)
            go_on = Continue(decisions, rerun=self._execution.standing.rerun)
            result = await run(go_on if messages else asked, self._history)
            usage = add_usage(usage, result.usage)
            counts = {name: count + getattr(result, name) for name, count in counts.items()}
            messages = await self._history.aget_messages()
            if result.stop != "paused":
                said = messages or result.new_messages  # where a limit came before the first answer
                return replace(result, new_messages=said, past=[], decided=[], usage=usage, **counts)

    async def run_given(self, asked: Any, place: JournalPlace, run: _Run) -> AgentResult[Any]:
        """Run the agent, with a history of the caller's, to its end or its next pause, of which the caller is told."""
        messages = await self._history.kept.aget_messages()
        own = self._history.find_own(messages)
        earlier, state = messages[own], read_state(messages[own])
        resume = asked if isinstance(asked, Resume) else Resume()
        if not earlier and self._execution.find(_RESUMED + place.name) is None:
            if resume is asked:
                await self._execution.record(_RESUMED + place.name, str(own.start))
            return await run(asked, self._history)
        if own.stop < len(messages) and not (earlier and state.is_over):
            raise HistoryError(
                f"the run {self._execution.id!r} cannot go on with its conversation: something else was asked there before "
                "its own question was answered"
            )
        calls = {call["id"] or "": call for call in read_pending_calls(messages[: own.stop])}
        decided = {id: self._reread(calls[id], made) for id, made in resume.decisions.items() if id in calls}
        rerun = "always" if self._execution.standing.rerun == "always" else resume.rerun
        self.used_earlier = self._sum_earlier(earlier)
        result = await run(Continue(decided, rerun), self._history)
        return replace(
            result,
            new_messages=[*earlier, *result.new_messages],
            past=messages[: own.start],
            usage=add_usage(self.used_earlier, result.usage),
            model_calls=state.model_calls + result.model_calls,
            tool_calls=state.tool_calls + result.tool_calls,
        )

    def _sum_earlier(self, messages: Sequence[BaseMessage]) -> UsageMetadata:
        """Return what earlier executions used: by the messages, and by the ends of agents among the tools."""
        usages = [message.usage_metadata for message in messages if isinstance(message, AIMessage)]
        own = re.escape(f"{self._key}/" if self._key else "")
        ends = self._execution.find_all(f"end {own}[^/]+")
        usages += [_load_end(text)["usage"] for text in ends if is_end(text)]
        return functools.reduce(add_usage, filter(None, usages), _NO_USAGE)

    async def _get_decisions(self, messages: Sequence[BaseMessage]) -> Mapping[str, Any]:
        """Return what was decided of the calls that wait; where there are some, wait for the first decision."""
        waiting = {call["id"] or "": call for call in read_pending_calls(messages)}
        decisions: dict[str, Any] = {}
        for call_id, call in waiting.items():
            if (text := self._execution.find(self._name_decision(call_id))) is not None:
                decisions[call_id] = self._reread(call, ANY_VALUE.load(text))
        if decisions or not waiting:
            return decisions
        names = {f"{self._key} {call_id}": call_id for call_id in waiting}
        told = [Waiting(call=call_id, session=self._key) for call_id in waiting]
        for signal in await self._execution.find_signals(told, lambda signal: signal.call in names):
            call_id = names[signal.call or ""]
            await self._execution.record(self._name_decision(call_id), signal.value)
            decisions[call_id] = ANY_VALUE.load(signal.value)
        return decisions

    def _name_decision(self, call_id: str) -> str:
        return f"decided {self._key} {call_id}"

    def _reread(self, call: ToolCall, decision: Any) -> Any:
        """Return a decision that an earlier execution took up: a call that it may have begun is not made again."""
        kind = decision if isinstance(decision, str) else decision["type"]
        if kind in ("reject", "respond") or call["name"] in self._agent.idempotent_tools:
            return decision
        if self._execution.standing.rerun == "always":
            return decision
        return {"type": "respond", "message": f"This call was approved, and its process ended before it did. {UNKNOWN}"}


def write_end(result: AgentResult[Any], messages: Sequence[BaseMessage] | None = None) -> str:
    """Return the end of an agent's run as text; ``messages``: with these, which no history of the run has."""
    end: dict[str, Any] = {"stop": result.stop, "usage": result.usage}
    end |= {name: getattr(result, name) for name in _COUNTS}
    if messages is not None:
        end |= {"new_messages": messages, "pending": result.pending}
    try:
        return _END + ANY_VALUE.dump({**end, "output": result.output}, "the output")
    except InvalidInput:  # an object, which the messages have, too
        return _END + ANY_VALUE.dump({**end, "typed": to_jsonable_python(result.output)}, "the output of an agent")


def is_end(text: str) -> bool:
    """Whether a text is the end of an agent's run."""
    return text.startswith(_END)


def _load_end(text: str) -> dict[str, Any]:
    return cast("dict[str, Any]", ANY_VALUE.load(text.removeprefix(_END)))


async def read_end(text: str, agent: Agent[Any] | None, history: BaseChatMessageHistory) -> AgentResult[Any]:
    """Return the result that a text stands for, in whichever process; without the ``agent`` an object is its JSON."""
    end = _load_end(text)
    if (typed := end.pop("typed", None)) is not None:
        end["output"] = typed if agent is None else agent.read_output(typed)
    if "new_messages" not in end:
        end["new_messages"] = await history.aget_messages()
    return AgentResult(**end)
