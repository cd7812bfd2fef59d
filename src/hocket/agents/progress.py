"""How far one run has come: what it has used, what it may still use, and what it tells of itself."""

import math
from collections.abc import Sequence
from typing import TypeVar

from hocket.agents.calls import ToolTurn
from hocket.agents.limits import RepeatCounter, RunUsage, StopReason
from hocket.agents.options import AgentCall
from hocket.agents.result import AgentResult, AgentStep, make_action
from hocket.agents.state import RunRecord, RunState, is_valid
from hocket.agents.turn import add_note, is_silent
from hocket.message_toolkit.prefix import PrefixBreak
from hocket.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from hocket.messages.roles import calls_of
from hocket.runnables import RunnableConfig
from hocket.tools.call_runner import Call
from hocket.tools.runtime import Runtime

__all__ = ["RunProgress"]

Output = TypeVar("Output")


class RunProgress:
    """What one run has done so far.

    Args:
        call: what it was given.
        usage: of the run.
        bounded: the usages that have a limit: of the run, and of those around it.
        record: its messages.
        config: for the runs inside it.

    Attributes:
        before: of the history: what the run has used before this call.
        step: the number of the model's call.
        model_calls, tool_calls: of this call of the agent.
        is_closing: whether the model is asked for its last answer.
    """

    def __init__(
        self, call: AgentCall, usage: RunUsage, bounded: Sequence[RunUsage], record: RunRecord, config: RunnableConfig
    ) -> None:
        self.before: RunState = RunState()
        self.step: int = 0
        self.model_calls: int = 0
        self.tool_calls: int = 0
        self.is_closing: bool = False
        self._call = call
        self._limits = call.limits
        self._usage = usage
        self._bounded = bounded
        self._record = record
        self._config = config
        self._decided: list[AgentStep] = []
        self._repeats = RepeatCounter()
        self._repeated = 0

    def is_exhausted(self, calls: int) -> bool:
        """Whether the model may not be called again after as many calls; a last answer is one call more."""
        most = self._limits.model_calls
        return most is not None and self.before.model_calls + calls >= most + self.is_closing

    @property
    def tool_calls_left(self) -> float:
        """How many calls of tools the run may still make."""
        most = self._limits.tool_calls
        return math.inf if most is None else most - self.before.tool_calls - self.tool_calls

    def make_runtime(self, call_id: str | None = None, said: Sequence[BaseMessage] = ()) -> Runtime:
        """Return what tools, hooks and the prompt are told of the run.

        Args:
            call_id: of the call of a tool that is told.
            said: messages that are not part of the conversation yet.
        """
        left = min((one.left for one in self._bounded), default=math.inf)
        return Runtime(
            context=self._call.context,
            injected=self._call.injected,
            messages=[*self.before.messages, *self._record.messages, *self._record.question, *said],
            step=self.step,
            usage=self._usage.total,
            tokens_left=None if left == math.inf else max(0, int(left)),
            agent=self._call.agent,
            tool_call_id=call_id or None,
            config=self._config,
            _events=self._call.events,
        )

    # -- circles

    def note_repetition(self, turn: ToolTurn, last: ToolMessage) -> ToolMessage:
        """Return the last result of a turn, with a note if the model goes round in circles."""
        self._count_calls(turn, turn.calls, [*turn.results.values(), last])
        most = self._limits.repeats
        return add_note(last, RepeatCounter.describe(self._repeated)) if most and self._repeated >= most else last

    def is_in_circles(self, turn: ToolTurn, results: Sequence[ToolMessage]) -> bool:
        """Whether the model goes on in circles although it was told."""
        if not turn.calls:
            self._count_calls(turn, calls_of(turn.message), results)
        most = self._limits.repeats
        return most is not None and self._repeated >= most + RepeatCounter.PATIENCE

    def _count_calls(self, turn: ToolTurn, calls: Sequence[Call], results: Sequence[ToolMessage]) -> None:
        self._repeated = self._repeats.add([call for call in calls if is_valid(call)], results)

    def is_silent_again(self, reply: AIMessage) -> bool:
        """Count a reply without calls that is no answer; return whether it says nothing, as often as may be."""
        most, said = self._limits.repeats, self._repeats.add_reply(reply.text)
        return most is not None and said >= most and is_silent(reply)

    # -- the result

    def keep_decided(self, turn: ToolTurn, calls: Sequence[Call]) -> None:
        """Keep the calls of a message in the history that were answered now, as they were run."""
        ran = {call["id"]: call for call in turn.calls}
        self._decided = [
            AgentStep(make_action(one, turn.message), result.text)
            for call in calls
            if is_valid(one := ran.get(call["id"], call)) and (result := turn.results.get(call["id"] or ""))
        ]

    def make_result(
        self,
        stop: StopReason,
        output: Output | None,
        pending: Sequence[ToolCall],
        excess_tokens: int,
        prefix_breaks: Sequence[PrefixBreak],
    ) -> AgentResult[Output]:
        """Return the result of the run."""
        return AgentResult(
            output=output,
            stop=stop,
            new_messages=[*self._record.messages, *self._record.question],  # the question, though nobody answered it
            past=self.before.messages,
            pending=[*pending],
            usage=self._usage.total,
            usage_unknown=self._usage.unknown,
            model_calls=self.model_calls,
            tool_calls=self.tool_calls,
            excess_tokens=excess_tokens,
            prefix_breaks=[*prefix_breaks],
            decided=self._decided,
        )
