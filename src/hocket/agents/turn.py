"""The calls of one message, from the announcement to the last result.

The message is in the store before a tool runs, and each result as soon as it is there. So a process that dies leaves a
history in which no call is forgotten, and none that was answered is made again. A run that is cancelled answers the calls
that were not finished, and stores that, before the cancellation goes on.

What a reply without calls says: the answer of the run, or why it is none.
"""

import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from hocket._runtime.mode import ASYNC
from hocket.agents.calls import UNKNOWN, ToolTurn
from hocket.agents.events import AgentEvent, EventSink, ToolEndEvent, ToolStartEvent
from hocket.agents.middleware import AgentMiddleware, ToolCallRequest, ToolHandler, compose_tool_calls
from hocket.agents.model_call import FEEDBACK
from hocket.agents.result import make_action
from hocket.agents.state import RunRecord, is_valid
from hocket.agents.structured import AnswerFormat
from hocket.errors import ContentFiltered, LLMError, OutputParserException
from hocket.language_models.structured.answers import find_obstacle
from hocket.message_toolkit.repair import is_empty
from hocket.messages import AIMessage, ToolCall, ToolMessage
from hocket.messages.base import copy_containers
from hocket.runnables import RunnableConfig
from hocket.runnables.batch import Batch
from hocket.runnables.chain_run import ChainRun
from hocket.tools.call_runner import Call, CallRunner
from hocket.tools.runtime import Runtime

__all__ = ["TurnRunner", "add_note", "is_broken_off", "is_paused", "is_silent", "read_answer"]

_EMPTY = "Your reply was empty. Call a tool, or give your answer."


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
    feedback = reply.response_metadata.get(FEEDBACK) or (_EMPTY if not text and is_silent(reply) else None)
    if feedback is not None:
        raise OutputParserException("the reply is no answer", observation=feedback, llm_output=text)
    return text if answer is None else answer.read_text(text)


def is_silent(reply: AIMessage) -> bool:
    """Whether a reply says nothing, or only what the model thought."""
    return is_empty(reply) or (not reply.text and all(block["type"] == "reasoning" for block in reply.content_blocks))


class TurnRunner:
    """Runs the calls of messages, for one run of an agent.

    Args:
        runner: runs a call.
        middleware: around each call.
        record: where results are kept.
        run: is told of actions.
        emit: takes events; None: nobody wants them.
        at_once: calls that run at once.
        finish_last: is given the turn and its last result, before that is kept; returns it, perhaps with a note.
        make_runtime: returns what a hook is told of the run, for the id of its call.
    """

    def __init__(
        self,
        runner: CallRunner,
        middleware: Sequence[AgentMiddleware],
        record: RunRecord,
        run: ChainRun,
        emit: EventSink | None,
        at_once: int,
        finish_last: Callable[[ToolTurn, ToolMessage], ToolMessage],
        make_runtime: Callable[[str], Runtime],
    ) -> None:
        self._runner = runner
        self._record = record
        self._run = run
        self._emit = emit
        self._at_once = at_once
        self._finish_last = finish_last
        self._make_runtime = make_runtime
        self._tells_actions = run.has_listener("on_agent_action")
        self._handler: ToolHandler = compose_tool_calls(middleware, self._answer, runner.config)
        self._is_wrapped = self._handler != self._answer

    async def run(self, turn: ToolTurn, announce: Callable[[AIMessage], Awaitable[None]] | None = None) -> None:
        """Run the calls of a turn at once; what is answered already is kept first.

        Args:
            turn: gets the results.
            announce: keeps the message before anything runs; None: it is kept already.
        """
        turn.left = len(turn.calls)
        try:
            if announce is not None:
                await announce(turn.message)
            if turn.results:
                await self._record.add_results(list(turn.results.values()))
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

    async def _run_call(self, turn: ToolTurn, call: Call) -> None:
        if self._tells_actions and is_valid(call):
            await self._run.tell("on_agent_action", make_action(call, turn.message))
        if self._emit is not None:
            await self._tell(ToolStartEvent(step=turn.step, call=call))
        began = time.perf_counter()
        turn.started.add(call["id"] or "")
        result = await self._get_result(turn, call)
        seconds = time.perf_counter() - began
        result = self._keep_result(turn, result)
        await self._record.add_results([result])
        if self._emit is not None:
            await self._tell(ToolEndEvent(step=turn.step, call=call, result=result, seconds=seconds))

    def _keep_result(self, turn: ToolTurn, result: ToolMessage) -> ToolMessage:
        note = turn.notes.get(result.tool_call_id)
        if note is not None:
            result = add_note(result, note)
        turn.left -= 1
        if not turn.left:
            result = self._finish_last(turn, result)
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
            runtime=self._make_runtime(call["id"] or ""),
        )
        return await self._runner.guard(call, lambda: self._handler(request))

    async def _answer(self, request: ToolCallRequest) -> ToolMessage:
        call = request.tool_call
        tool = request.tool or self._runner.get_tool(call["name"])
        return await self._runner.answer_by(tool, call, request.failures)

    async def _tell(self, event: AgentEvent) -> None:
        assert self._emit is not None
        waiting = self._emit(event)
        if waiting is not None:
            await waiting

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


def add_note(message: ToolMessage, note: str) -> ToolMessage:
    """Return a result with a note behind it."""
    content = message.content
    changed = content + note if isinstance(content, str) else [*content, {"type": "text", "text": note}]
    return message.model_copy(update={"content": changed})
