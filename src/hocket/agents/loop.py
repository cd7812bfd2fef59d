"""One run of an agent: ask the model, run the calls that it makes, tell it the results, until it is done.

The run is a plain coroutine, and holds all that changes: an agent may have any number of runs at once. What it adds to
the conversation goes through `RunRecord`, so that the history is good for the next question whatever ends the run.
"""

import inspect
from collections.abc import Sequence
from typing import Any, Generic, TypeVar, cast

from hocket._runtime.clock import Alarm, Turns
from hocket._runtime.mode import ASYNC
from hocket._runtime.stream import Sink
from hocket.agents.approval import Continue, Resume
from hocket.agents.calls import BEYOND, ToolTurn, answer_open_calls, find_end, resume_calls, sort_calls
from hocket.agents.events import AgentEvent, Backlog, MessageEvent, PausedEvent, UnreadableEvent
from hocket.agents.limits import NestedRunGuard, StopReason
from hocket.agents.middleware import NO_RUNTIME, ModelRequest, OfferedTool, compose_model_calls
from hocket.agents.model_call import FEEDBACK, ModelCaller
from hocket.agents.offload import INJECTED, Offload
from hocket.agents.plan import AgentCall, RunPlan, coerce_prompt
from hocket.agents.result import AgentFinish, AgentResult
from hocket.agents.state import CallIds, RunState, is_valid, read_state, split_question
from hocket.agents.text_format import make_feedback
from hocket.agents.turn import RunProgress, TurnRunner, deliver, is_broken_off, is_paused, read_answer
from hocket.agents.window import ContextWindow, OfferedTools, PrefixWatch
from hocket.errors import BudgetExceeded, ContentFiltered, LimitReached, OutputParserException, StopRun, Unsupported
from hocket.errors.stores import HistoryError
from hocket.message_toolkit.repair import is_empty, with_calls
from hocket.messages import AIMessage, BaseMessage, SystemMessage, ToolCall, ToolMessage, message_chunk_to_message
from hocket.messages.roles import calls_of
from hocket.runnables.chain_run import ChainRun
from hocket.tools import BaseTool
from hocket.tools.call_runner import Call, CallRunner
from hocket.tools.signature import is_async

__all__ = ["AgentRun"]

Output = TypeVar("Output")


class _OverLimitError(Exception):
    """A middleware asks the model more often than the run may."""


class AgentRun(Generic[Output]):
    """One run: of a plan, for what a call was given, with the events for a sink."""

    def __init__(
        self,
        plan: RunPlan,
        call: AgentCall,
        run: ChainRun,
        sink: Sink[AgentEvent] | None,
    ) -> None:
        self._plan = plan
        self._call = call
        self._limits = limits = call.limits
        self._history = call.history
        self._run = run
        self._sink = sink
        self._progress = progress = RunProgress(plan, call, run.config_inside())
        self._record, inside = progress.record, progress.config
        middleware = plan.agent.middleware
        holds = any(one.holds_output for one in middleware)
        self._caller = ModelCaller(plan.format, inside, sink, plan.answer, holds=holds)
        self._ask_model = compose_model_calls(middleware, self._count_and_ask, inside)
        self._is_hooked = self._ask_model != self._count_and_ask
        store = plan.agent.offload
        self._offload = offload = None if store is None else Offload(store, limits.result_chars)
        self._runner = CallRunner(
            plan.tools,
            inside,
            timeout=limits.tool_seconds,
            timeouts=limits.per_tool_seconds,
            max_result_chars=limits.result_chars,
            injected=call.injected if offload is None else {**call.injected, INJECTED: offload},
            shorten=None if offload is None else offload.fit,
            make_runtime=progress.make_runtime,
        )
        self._runner.check_injected(plan.tools)
        self._turns = TurnRunner(self._runner, middleware, run, sink, limits.max_concurrency, progress)
        self._options = {**plan.cache_options, **call.options}
        self._offered = OfferedTools(plan)
        self._window = ContextWindow(plan, self._offered.prompt, offload)
        self._watch = PrefixWatch(run, warns=plan.agent.prompt_cache is not False)
        self._context: list[BaseMessage] = []  # what the model is shown
        self._call_ids = CallIds(())
        self._shown: Sequence[OfferedTool] = self._offered.tools  # of the request that brought the last reply

    async def execute(self, input: list[BaseMessage] | Resume) -> AgentResult[Output]:
        """Run to the end, or to the next pause. It raises as `Agent.ainvoke` says."""
        if self._limits.seconds is None:
            return await self._run_alone(input)
        with Alarm() as alarm:
            alarm.set(self._limits.seconds)
            return await self._run_alone(input)
        return await self._reach_limit("seconds")

    async def _run_alone(self, input: list[BaseMessage] | Resume) -> AgentResult[Output]:
        """Run with the conversation to itself."""
        with NestedRunGuard(self._history):
            if self._history is None:
                return await self._work(input, [])
            try:
                async with self._history.exclusive():
                    return await self._work(input, await self._history.aget_messages())
            except HistoryError as error:  # of a lost lock, too
                error.answer = self._record.unstored or error.answer
                raise

    async def _work(self, input: list[BaseMessage] | Resume, stored: list[BaseMessage]) -> AgentResult[Output]:
        if self._history is None and not isinstance(input, Resume):
            stored, input = split_question(input)
        self._progress.before = state = read_state(stored)
        self._call_ids = self._caller.call_ids = CallIds(state.messages)
        if self._offload is not None:
            self._offload.allow(state.messages)
        self._offered.follow(state.messages)
        self._progress.system = system = await self._read_system(() if isinstance(input, Resume) else input)
        self._context = [*([system] if system else []), *state.messages]
        result: AgentResult[Output] | None = None
        if isinstance(input, Resume):
            result = await self._resume(input, state)
        else:
            self._ask_question(input, state)
        self._progress.usage.earlier = state.tokens
        turns = Turns()
        try:
            while result is None:
                await turns.share()  # where nothing waits, no limit on time and no other task had its turn
                result = await self._make_step()
        except BaseException as error:
            is_left = self._sink is not None and self._sink.closed
            if is_left or not isinstance(error, Exception) or is_broken_off(error):
                await self._record.add_partial(self._caller.partial, closed=is_left)  # the user has seen it
            raise
        return result

    # -- the beginning

    async def _read_system(self, question: Sequence[BaseMessage]) -> SystemMessage | None:
        """Return what comes first in this run: a function says so, which a thread calls if it is sync."""
        prompt = self._plan.agent.system
        if prompt is None or isinstance(prompt, SystemMessage):
            return prompt
        runtime = self._progress.make_runtime(said=question)
        made: object = prompt(runtime) if is_async(prompt) else await ASYNC.call_sync(prompt, runtime)
        return coerce_prompt("the result of system_prompt", await made if inspect.isawaitable(made) else made)

    def _ask_question(self, question: list[BaseMessage], state: RunState) -> None:
        """Begin with a question. Calls that are still open are answered first."""
        answers = answer_open_calls(state)
        state.model_calls = state.tool_calls = state.tokens = 0
        self._record.question = [*answers, *question]
        self._context = [*self._context, *answers, *question]

    async def _resume(self, resume: Resume, state: RunState) -> AgentResult[Output] | None:
        """Go on with the last run of the history: with its open calls, or with the model's next answer."""
        if isinstance(resume, Continue) and (ended := await self._read_end(state)) is not None:
            return ended
        turn = resume_calls(self._plan, state, resume, self._progress.make_runtime)
        if state.is_cut_off:  # its answer is asked for again
            self._context.pop()
        return None if turn is None else await self._run_turn(turn, state.open_calls)

    async def _read_end(self, state: RunState) -> AgentResult[Output] | None:
        """Return the result of a run that has ended, as the history tells it; None: it goes on, or has not begun."""
        if (end := find_end(self._plan, state)) is not None:
            call, result = end
            if result.status == "error":
                return await self._finish("stopped", None)
            if self._plan.answer is not None and self._plan.is_answer(call["name"]) and is_valid(call):
                return await self._finish("done", self._plan.answer.read_call(call))
            return await self._finish("direct", result.text)
        last = state.messages[-1]
        if not isinstance(last, AIMessage) or not state.is_over or is_paused(last):
            return None
        most = self._limits.model_calls
        try:
            output = read_answer(last, self._plan.answer)
        except OutputParserException:  # the last answer at a limit
            output = None
        return await self._finish("model_calls" if most is not None and state.model_calls > most else "done", output)

    # -- a step

    async def _make_step(self) -> AgentResult[Output] | None:
        """Ask the model once, and do what it asks for; return the result, if that is the end."""
        if (limit := self._find_limit()) is not None:
            return await self._reach_limit(limit)
        try:
            reply = await self._ask(self._offered.tools)
        except _OverLimitError:
            return await self._reach_limit("model_calls")
        except BudgetExceeded:
            return await self._reach_limit("budget")
        except StopRun as stop:  # of a hook
            return await self._finish("stopped", stop.value)
        if (calls := calls_of(reply)) and FEEDBACK not in reply.response_metadata:
            return await self._run_turn(self._sort_calls(reply, calls), calls, is_new=True)
        return await self._take_answer(reply)

    def _find_limit(self) -> StopReason | None:
        """Return the limit that the next call of the model would break."""
        progress = self._progress
        if progress.is_exhausted(max(progress.step, progress.model_calls)):  # a middleware may answer without a call
            return "model_calls"
        if progress.bounded:
            tokens = self._window.estimate(self._context) + self._window.answer_tokens
            if not all(one.allows(tokens) for one in progress.bounded):
                return "tokens"
        return None

    async def _ask(self, tools: Sequence[OfferedTool], tool_choice: str | None = None) -> AIMessage:
        """Return the model's answer, its calls with ids of their own."""
        progress = self._progress
        progress.step += 1
        self._record.is_asking = True

        async def ask(messages: list[BaseMessage]) -> AIMessage:
            request = ModelRequest(
                model=self._plan.model,
                messages=[*messages],
                tools=tools,
                tool_choice=tool_choice,
                options=self._options,
                step=progress.step,
                runtime=progress.make_runtime() if self._is_hooked else NO_RUNTIME,
            )
            return await self._ask_model(request)

        self._shown = tools
        reply, self._context = await self._window.ask(self._context, ask)
        await self._caller.release(reply)
        return self._call_ids.give(cast(AIMessage, message_chunk_to_message(reply)), progress.step)

    async def _count_and_ask(self, request: ModelRequest) -> AIMessage:
        progress = self._progress
        if progress.is_exhausted(progress.model_calls):  # a middleware asks once too often
            raise _OverLimitError
        progress.model_calls += 1
        self._shown = request.tools
        await self._watch.look(request, self._window.compactions, self._offered.finds, is_expected=progress.is_closing)
        return await self._caller.ask(request)

    async def _refuse_reply(self, reply: AIMessage, feedback: str) -> None:
        """Show the model its reply, and what is wrong with it. Neither is part of the conversation that is stored."""
        self._record.is_asking = False
        self._context = [*self._context, *make_feedback(reply, feedback, self._limits.unreadable_chars)]
        await deliver(self._sink, UnreadableEvent(step=self._progress.step, reply=reply, feedback=feedback))

    async def _take_answer(self, reply: AIMessage) -> AgentResult[Output] | None:
        """Take a reply without calls; return None where the model is to be asked again."""
        if is_paused(reply):  # a tool of the provider takes long: it is sent back, and goes on
            await self._add_answer(reply)
            return None
        try:
            output = read_answer(reply, self._plan.answer)
        except OutputParserException as error:
            await self._refuse_reply(reply, error.observation or str(error))
            return await self._reach_limit("loop") if self._progress.is_silent_again(reply) else None
        await self._add_answer(reply)
        return await self._finish("done", output)

    async def _add_answer(self, reply: AIMessage) -> None:
        if isinstance(self._sink, Backlog):
            await self._sink.wait_until_read()
        self._context.append(reply)
        await self._record.add_answer(reply)
        if self._sink is not None:
            await deliver(self._sink, MessageEvent(step=self._progress.step, message=reply))

    # -- the calls of an answer

    def _sort_calls(self, reply: AIMessage, calls: Sequence[Call]) -> ToolTurn:
        turn = ToolTurn(reply, self._progress.step)
        self._runner.tools = self._offered.list_callable(self._shown)
        turn.results.update(self._offered.refuse_unfound(calls))
        left, look = self._progress.tool_calls_left, lambda: self._progress.make_runtime(said=[reply])
        sort_calls(self._plan, turn, turn.list_open(calls), left, look)
        return turn

    async def _run_turn(
        self, turn: ToolTurn, calls: Sequence[Call], *, is_new: bool = False
    ) -> AgentResult[Output] | None:
        """Keep the answer, run its calls, show the results to the model; return the result, if that is the end."""
        self._progress.tool_calls += len(turn.calls)
        try:
            await self._turns.run(turn, self._add_answer if is_new else None)
        finally:  # also where the run is cut off by its limit on time: it has a result
            results = turn.sort_results(calls)
            if not is_new or self._record.holds(turn.message):
                self._context.extend(results)
                self._record.messages.extend(results)
            if self._offered.follow(results):
                self._window.forget()
            if not is_new:
                self._progress.keep_decided(turn, calls)
        stop = self._runner.find_stop(turn.calls)
        if stop is not None:
            return await self._finish("stopped", stop.value)
        if turn.waiting:
            return await self._pause(turn.waiting)
        if turn.has_output:
            return await self._finish("done", turn.output)
        direct = self._find_direct(turn)
        if direct is not None:
            return await self._finish("direct", direct.text)
        if turn.is_limited:
            return await self._reach_limit("tool_calls")
        return await self._reach_limit("loop") if self._progress.is_in_circles(turn, results) else None

    def _find_direct(self, turn: ToolTurn) -> ToolMessage | None:
        """Return the first result that is the output, since its tool says so; None: there is none."""
        find = self._runner.get_tool
        calls = [call for call in turn.calls if (tool := find(call["name"])) and tool.return_direct]
        return next((result for result in turn.sort_results(calls) if result.status != "error"), None)

    # -- the end

    async def _reach_limit(self, limit: StopReason) -> AgentResult[Output]:
        """End at a limit as the agent says."""
        if self._plan.agent.at_limit == "raise":
            name = "repeats" if limit == "loop" else limit
            most = getattr(self._limits, name, None)  # a budget has its own
            said = limit if most is None else f"AgentLimits({name}={most})"
            text = f"the run has reached its limit, {said}: raise it, or ask for less"
            raise LimitReached(text, limit, self._make_result(limit, None))
        if self._plan.agent.at_limit == "stop" or limit in ("tokens", "seconds", "budget"):
            return await self._finish(limit, None)
        self._progress.is_closing = True
        try:
            return await self._finish(limit, await self._ask_for_answer())
        except (_OverLimitError, BudgetExceeded):
            return await self._finish(limit, None)
        except StopRun as stop:
            return await self._finish("stopped", stop.value)

    async def _ask_for_answer(self) -> Any:
        """Return the answer that the model gives when it may call no tools any more; None: it gives none."""
        answer = self._plan.answer
        reply = await (self._ask(()) if answer is None else self._demand_answer(answer.tools))
        calls = calls_of(reply)
        if answer is not None and calls:
            turn = self._sort_calls(reply, calls)
            for call in [*turn.calls, *turn.waiting]:
                turn.answer(call, BEYOND, "limit")
            turn.calls = []
            await self._turns.run(turn, self._add_answer)
            self._record.messages.extend(turn.sort_results(calls))
            return turn.output
        reply = with_calls(reply, {}) if calls else reply
        if not is_empty(reply) and FEEDBACK not in reply.response_metadata:
            await self._add_answer(reply)
        try:
            return read_answer(reply, answer)
        except (OutputParserException, ContentFiltered):
            return None

    async def _demand_answer(self, tools: Sequence[BaseTool]) -> AIMessage:
        """Ask with nothing but the answer to call; a server that cannot be told to call it may do so all the same."""
        try:
            return await self._ask(tools, "required")
        except Unsupported:  # before anything was sent
            self._progress.model_calls -= 1
            return await self._ask(tools)

    async def _pause(self, waiting: list[ToolCall]) -> AgentResult[Output]:
        for call in waiting:
            await deliver(self._sink, PausedEvent(step=self._progress.step, call=call))
        return self._make_result("paused", None, waiting)

    async def _finish(self, stop: StopReason, output: Any) -> AgentResult[Output]:
        if self._run.has_listener("on_agent_finish"):
            last = self._record.messages[-1] if self._record.messages else None
            log = last.text if isinstance(last, AIMessage) else ""
            await self._run.tell("on_agent_finish", AgentFinish({"output": output}, log))
        return self._make_result(stop, output)

    def _make_result(self, stop: StopReason, output: Any, pending: Sequence[ToolCall] = ()) -> AgentResult[Output]:
        progress, record = self._progress, self._record
        return AgentResult(
            output=cast("Output | None", output),
            stop=stop,
            new_messages=[*record.messages, *record.question],  # the question, though nobody answered it
            past=progress.before.messages,
            pending=[*pending],
            usage=progress.usage.total,
            usage_unknown=progress.usage.unknown,
            model_calls=progress.model_calls,
            tool_calls=progress.tool_calls,
            excess_tokens=self._window.excess,
            prefix_breaks=[*self._watch.breaks],
            decided=progress.decided,
        )
