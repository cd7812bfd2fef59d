"""The calls of one message, from the announcement to the last result, and how far their run has come.

The message is in the store before a tool runs, and each result as soon as it is there. So a process that dies leaves a
history in which no call is forgotten, and none that was answered is made again. A run that is cancelled answers the calls
that were not finished, and stores that, before the cancellation goes on.

What a reply without calls says: the answer of the run, or why it is none.
"""

import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, cast

from hocket._runtime.mode import ASYNC
from hocket._runtime.stream import Sink
from hocket.agents.calls import UNKNOWN, ToolTurn
from hocket.agents.events import AgentEvent, ToolEndEvent, ToolStartEvent
from hocket.agents.limits import RepeatCounter, RunUsage, find_usages
from hocket.agents.middleware import AgentMiddleware, ToolCallRequest, ToolHandler, compose_tool_calls
from hocket.agents.model_call import FEEDBACK
from hocket.agents.plan import AgentCall, RunPlan
from hocket.agents.result import AgentStep, make_action
from hocket.agents.state import RunRecord, RunState, is_valid
from hocket.agents.structured import AnswerFormat
from hocket.errors import ContentFiltered, LLMError, OutputParserException
from hocket.language_models.structured.answers import find_obstacle
from hocket.message_toolkit.repair import is_empty
from hocket.messages import AIMessage, BaseMessage, SystemMessage, ToolCall, ToolMessage
from hocket.messages.base import copy_containers
from hocket.messages.roles import calls_of
from hocket.runnables import RunnableConfig
from hocket.runnables.batch import Batch
from hocket.runnables.chain_run import ChainRun
from hocket.runnables.config import merge_configs
from hocket.tools.call_runner import Call, CallRunner
from hocket.tools.result_messages import add_note
from hocket.tools.runtime import Runtime

__all__ = ["RunProgress", "TurnRunner", "deliver", "is_broken_off", "is_paused", "read_answer"]

Output = TypeVar("Output")

_EMPTY = "Your reply was empty. Call a tool, or give your answer."


async def deliver(sink: Sink[AgentEvent] | None, event: AgentEvent) -> None:
    """Hand an event to a sink, and wait until its consumer has caught up; without a sink nobody wants it."""
    if sink is not None and (waiting := sink.put(event)) is not None:
        await waiting


def is_broken_off(error: BaseException) -> bool:
    """Whether an error is that an answer has begun and does not go on: too slow, or the connection broke."""
    return isinstance(error, LLMError) and error.partial is not None and not isinstance(error, ContentFiltered)


def is_paused(reply: AIMessage) -> bool:
    """Whether the provider stopped in the middle, since a tool of its own takes long: sent back, the reply goes on."""
    return reply.response_metadata.get("normalized_finish_reason") == "paused"


def read_answer(reply: AIMessage, answer: AnswerFormat | None) -> Any:
    """Return the answer of a reply: its text, which may be that of a refusal; or the object that the text has as JSON.

    Raises:
        OutputParserException: there is none, or it does not fit; ``observation`` says why, and what to do.
        ContentFiltered: the model refuses, and says nothing, or an object was asked for.
    """
    obstacle = find_obstacle(reply)
    text = reply.text or str(reply.additional_kwargs.get("refusal") or "")
    if isinstance(obstacle, ContentFiltered) and (answer is not None or not text):
        raise obstacle
    feedback = reply.response_metadata.get(FEEDBACK) or (_EMPTY if not text and _is_silent(reply) else None)
    if feedback is not None:
        raise OutputParserException("the reply is no answer", observation=feedback, llm_output=text)
    return text if answer is None else answer.read_text(text)


def _is_silent(reply: AIMessage) -> bool:
    """Whether a reply says nothing, or only what the model thought."""
    return is_empty(reply) or (not reply.text and all(block["type"] == "reasoning" for block in reply.content_blocks))


class RunProgress:
    """How far one run has come: what it has used, what it may still use, and what it tells of itself.

    Attributes:
        config: for the runs inside it, whose usage it counts.
        bounded: the usages that have a limit: of the run, and of those around it.
        before: of the history: what the run has used before this call.
        system: comes first in each call of the model.
        step: the number of the model's call.
        model_calls, tool_calls: of this call of the agent.
        is_closing: whether the model is asked for its last answer.
        decided: the calls in the history that `Resume` decided, with their results.
    """

    def __init__(self, plan: RunPlan, call: AgentCall, config: RunnableConfig) -> None:
        self.usage: RunUsage = RunUsage(call.limits.tokens)
        self.config: RunnableConfig = merge_configs(config, {"callbacks": [self.usage]})
        self.bounded: list[RunUsage] = [one for one in find_usages(self.config) if one.limit is not None]
        self.record: RunRecord = RunRecord(call.history)
        self.before: RunState = RunState()
        self.system: SystemMessage | None = None
        self.step: int = 0
        self.model_calls: int = 0
        self.tool_calls: int = 0
        self.is_closing: bool = False
        self.decided: list[AgentStep] = []
        self._plan = plan
        self._call = call
        self._limits = call.limits
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
        """Return what tools, hooks and the prompt are told of the run; ``said`` is no part of the conversation yet."""
        left = min((one.left for one in self.bounded), default=math.inf)
        return Runtime(
            context=self._call.context,
            injected=self._call.injected,
            messages=[*self.before.messages, *self.record.messages, *self.record.question, *said],
            step=self.step,
            usage=self.usage.total,
            tokens_left=None if left == math.inf else max(0, int(left)),
            agent=self._call.agent,
            tool_call_id=call_id or None,
            config=self.config,
            _events=self._call.events,
            _system=self.system,
            _tools=self._plan.tools,
        )

    # -- circles

    def note_repetition(self, turn: ToolTurn, last: ToolMessage) -> ToolMessage:
        """Return the last result of a turn, with a note if the model goes round in circles."""
        self._count_calls(turn.calls, [*turn.results.values(), last])
        most = self._limits.repeats
        return add_note(last, RepeatCounter.describe(self._repeated)) if most and self._repeated >= most else last

    def is_in_circles(self, turn: ToolTurn, results: Sequence[ToolMessage]) -> bool:
        """Whether the model goes on in circles although it was told."""
        if not turn.calls:
            self._count_calls(calls_of(turn.message), results)
        most = self._limits.repeats
        return most is not None and self._repeated >= most + RepeatCounter.PATIENCE

    def _count_calls(self, calls: Sequence[Call], results: Sequence[ToolMessage]) -> None:
        self._repeated = self._repeats.add([call for call in calls if is_valid(call)], results)

    def is_silent_again(self, reply: AIMessage) -> bool:
        """Count a reply without calls that is no answer; return whether it says nothing, as often as may be."""
        most, said = self._limits.repeats, self._repeats.add_reply(reply.text)
        return most is not None and said >= most and _is_silent(reply)

    def keep_decided(self, turn: ToolTurn, calls: Sequence[Call]) -> None:
        """Keep the calls of a message in the history that were answered now, as they were run."""
        ran = {call["id"]: call for call in turn.calls}
        self.decided = [
            AgentStep(make_action(one, turn.message), result.text)
            for call in calls
            if is_valid(one := ran.get(call["id"], call)) and (result := turn.results.get(call["id"] or ""))
        ]


class TurnRunner:
    """Runs the calls of messages, for one run of an agent, ``at_once`` at most."""

    def __init__(
        self,
        runner: CallRunner,
        middleware: Sequence[AgentMiddleware],
        run: ChainRun,
        sink: Sink[AgentEvent] | None,
        at_once: int,
        progress: RunProgress,
    ) -> None:
        self._runner = runner
        self._run = run
        self._sink = sink
        self._at_once = at_once
        self._progress = progress
        self._record = progress.record
        self._tells_actions = run.has_listener("on_agent_action")
        self._handler: ToolHandler = compose_tool_calls(middleware, self._answer, runner.config)
        self._is_wrapped = self._handler != self._answer

    async def run(self, turn: ToolTurn, announce: Callable[[AIMessage], Awaitable[None]] | None = None) -> None:
        """Run the calls of a turn at once; what is answered already is kept first.

        ``announce`` keeps the message before anything runs; None: it is kept already.
        """
        turn.left = len(turn.calls)
        try:
            if announce is not None:
                await announce(turn.message)
            if turn.results:
                await self._record.add_results(list(turn.results.values()))
                await self._tell_decided(turn)
            if len(turn.calls) == 1:
                await self._run_call(turn, turn.calls[0])
            elif turn.calls:

                async def run_call(call: Call, _: RunnableConfig) -> None:
                    await self._run_call(turn, call)

                await Batch(run_call, turn.calls, {"max_concurrency": self._at_once}, return_exceptions=False).collect()
        except BaseException:
            if (
                announce is None or self._record.is_unsure or self._record.holds(turn.message)
            ):  # else its calls do not exist
                await self._cancel(turn, turn.calls if announce is None else [*turn.calls, *turn.waiting])
            raise

    async def _tell_decided(self, turn: ToolTurn) -> None:
        """Tell of the calls that a person rejected or answered: there is no run that would."""
        for call in calls_of(turn.message):
            if turn.decisions.get(call["id"] or "") in ("reject", "respond"):
                await self._tell_end(turn, call, turn.results[call["id"] or ""], 0.0)

    async def _tell_end(self, turn: ToolTurn, call: Call, result: ToolMessage, seconds: float) -> None:
        if self._sink is None:  # nobody wants the event
            return
        decision = turn.decisions.get(call["id"] or "")
        event = ToolEndEvent(step=turn.step, call=call, result=result, seconds=seconds, decision=decision)
        await deliver(self._sink, event)

    async def _run_call(self, turn: ToolTurn, call: Call) -> None:
        if self._tells_actions and is_valid(call):
            await self._run.tell("on_agent_action", make_action(call, turn.message))
        if self._sink is not None:
            await deliver(self._sink, ToolStartEvent(step=turn.step, call=call))
        began = time.perf_counter()
        turn.started.add(call["id"] or "")
        result = await self._get_result(turn, call)
        seconds = time.perf_counter() - began
        result = self._keep_result(turn, result)
        await self._record.add_results([result])
        await self._tell_end(turn, call, result, seconds)

    def _keep_result(self, turn: ToolTurn, result: ToolMessage) -> ToolMessage:
        note = turn.notes.get(result.tool_call_id)
        if note is not None:
            result = add_note(result, note)
        turn.left -= 1
        if not turn.left:
            result = self._progress.note_repetition(turn, result)
        turn.results[result.tool_call_id] = result
        return result

    async def _get_result(self, turn: ToolTurn, call: Call) -> ToolMessage:
        if not self._is_wrapped or not is_valid(call):
            return await self._runner.answer(call)
        copy = cast(ToolCall, copy_containers(call))  # what a hook does to it does not change the conversation
        request = ToolCallRequest(
            tool_call=copy,
            tool=self._runner.get_tool(call["name"]),
            step=turn.step,
            runtime=self._progress.make_runtime(call["id"]),
        )
        return await self._runner.guard(call, lambda: self._handler(request))

    async def _answer(self, request: ToolCallRequest) -> ToolMessage:
        call = request.tool_call
        tool = request.tool or self._runner.get_tool(call["name"])
        return await self._runner.answer_by(tool, call, request.failures)

    async def _cancel(self, turn: ToolTurn, calls: Sequence[Call]) -> None:
        """Answer those of the calls that were not finished: the run is over. One that waited before it waits on.

        The result of a tool that a middleware has not seen yet is not kept: it may be there to change it.
        """
        for call in calls:
            if (call["id"] or "") in turn.results:
                continue
            result = None if self._is_wrapped else self._runner.find_result(call)
            if result is not None:
                self._keep_result(turn, result)
            elif (call["id"] or "") in turn.started:
                turn.answer(call, f"{call['name']} was cancelled before its end was seen. {UNKNOWN}", "cancelled")
            else:
                turn.answer(call, f"{call['name']} was cancelled before it was run.", "cancelled")
        with contextlib.suppress(Exception):  # of the store: what ended the run is what its caller has to know
            await ASYNC.finish_within_grace(self._record.add_results(list(turn.results.values())))
