"""An agent, asked and answering as a model is: its client sees neither steps nor tools, and gets one answer.

The answer is the text of all steps, as a person would have seen it come, with an empty line between two; of an agent with
typed output it is the object, as JSON, alone. It is made in one way, streamed or whole.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from hocket.agents.agent import Agent, RunOptions
from hocket.agents.events import AgentEvent, AgentStream
from hocket.agents.result import AgentResult
from hocket.errors import BudgetExceeded, EmptyResponse, InvalidInput, Unsupported
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, Collector
from hocket.messages.content import Fields
from hocket.runnables import RunnableConfig
from hocket.serving.durable_agents import check_work
from hocket.serving.hocket_events import as_data
from hocket.serving.message_parts import encode_json, join_reasoning, list_blocks
from hocket.serving.refusals import FailureAfterTools

if TYPE_CHECKING:
    from hocket.durable import Durable

__all__ = ["AgentModel", "DurableModel", "check_agent", "check_pauses"]

_FINISHES = {"done": "stop", "direct": "stop", "stopped": "stop"}
"""Why a run has ended, in the word for models; any other is a limit."""


def check_agent(name: str, agent: Agent[object], *, may_pause: bool = False) -> None:
    """Refuse an agent that a request alone cannot run.

    Args:
        name: that clients would call it by.
        agent: to be served.
        may_pause: whether it may wait for a person.

    Raises:
        InvalidInput: it may pause, or needs a context or injected arguments.
    """
    check_pauses(name, agent, may_pause=may_pause)
    reason = ""
    if agent.required_injected:
        injected = ", ".join(sorted(agent.required_injected))
        reason = (
            f"has tools that need {injected} injected, which no request has; bind what they need, or leave them out"
        )
    else:
        try:
            agent.check_context(None if agent.context_schema is None else {})
        except InvalidInput as error:
            reason = f"needs a context, which no request has ({error}); give the fields of its context_schema defaults"
    if reason:
        raise InvalidInput(f"models[{name!r}] is an agent that {reason}")


def check_pauses(name: str, agent: Agent[object], *, may_pause: bool) -> None:
    """Refuse an agent that may wait for a person, unless it may; see `check_agent`.

    Raises:
        InvalidInput: it may.
    """
    if agent.may_pause and not may_pause:
        raise InvalidInput(
            f"models[{name!r}] is an agent that may wait for a person, whom no request of a program can ask; serve it with "
            "page=True, or with chat_app"
        )


class AgentModel:
    """What the gateway asks in the place of an agent."""

    def __init__(self, agent: Agent[object]) -> None:
        self._agent = agent
        self._options: RunOptions = {} if agent.context_schema is None else {"context": {}}

    def _run(
        self, input: list[BaseMessage] | str, config: RunnableConfig | None
    ) -> "AgentStream[object] | AsyncGenerator[AgentEvent]":
        """Run the agent, and return what it tells."""
        return self._agent.astream(input, config, **self._options)

    async def ainvoke(
        self, input: list[BaseMessage] | str, config: RunnableConfig | None = None, **kwargs: object
    ) -> AIMessage:
        """Return the answer. Raises as `astream`."""
        collector = Collector()
        async with aclosing(self.astream(input, config, **kwargs)) as pieces:
            async for chunk in pieces:
                collector.add(chunk)
        return collector.message()

    async def astream(
        self, input: list[BaseMessage] | str, config: RunnableConfig | None = None, **kwargs: object
    ) -> AsyncGenerator[AIMessageChunk, None]:
        """Yield the pieces of the answer; the last has the usage of the run, and why it ended.

        Raises:
            Unsupported: options are given, which are the agent's own affair.
            FailureAfterTools: the run failed when tools had run.
            Exception: what the agent raises.
        """
        if kwargs:
            named = ", ".join(sorted(kwargs))
            raise Unsupported(f"an agent takes no {named} from its clients", options=tuple(kwargs))
        has_run_tools = False
        answer = _Answer(is_typed=self._agent.has_typed_output)
        try:
            async with aclosing(self._run(input, config)) as events:
                async for event in events:
                    has_run_tools = has_run_tools or event.kind in ("tool_start", "tool_end")
                    if (piece := answer.read(event)) is not None:
                        yield piece
        except Exception as error:
            if has_run_tools:
                raise FailureAfterTools(error) from error
            raise


class DurableModel(AgentModel):
    """What the gateway asks in the place of a durable agent: each question is a run, and a client that leaves ends none."""

    def __init__(self, name: str, durable: "Durable[object, object]", agent: Agent[object]) -> None:
        super().__init__(agent)
        self._name = name
        self._durable = durable

    async def _run(self, input: list[BaseMessage] | str, config: RunnableConfig | None) -> AsyncGenerator[AgentEvent]:
        check_work(self._name, self._durable)
        run = await self._durable.astart(input, metadata=(config or {}).get("metadata"))
        async with aclosing(run.astream(after=0 if isinstance(input, str) else len(input))) as events:
            async for event in events:
                yield event


class _Answer:
    """Reads the events of a run as pieces of one answer."""

    def __init__(self, *, is_typed: bool) -> None:
        self._is_typed = is_typed
        self._step = 0  # whose text came last; 0: none has come
        self._pieces = 0  # the last step that came in pieces

    def read(self, event: AgentEvent) -> AIMessageChunk | None:
        """Return what an event adds to the answer; None: nothing."""
        if event.kind == "end":
            return self._end(event.result)
        if event.kind == "chunk":
            self._pieces = event.step
            said: AIMessage = event.chunk
        elif event.kind == "message" and event.step != self._pieces:  # of a durable run
            said = event.message
        else:
            return None
        thought = join_reasoning(list_blocks(said))
        text = "" if self._is_typed else self._add(said.text, event.step)
        if not thought:
            return AIMessageChunk(text) if text else None
        blocks: list[str | Fields] = [{"type": "reasoning", "reasoning": thought}]
        return AIMessageChunk([*blocks, {"type": "text", "text": text}] if text else blocks)

    def _add(self, text: str, step: int) -> str:
        """Return the text of a step, set apart from that of another."""
        if not text:
            return ""
        is_apart, self._step = self._step not in (0, step), step
        return f"\n\n{text}" if is_apart else text

    def _end(self, result: AgentResult[object]) -> AIMessageChunk:
        text = ""
        if self._is_typed and result.output is not None:
            text = encode_json(as_data(result.output)).decode()
        elif isinstance(result.output, str) and (result.stop in ("direct", "stopped") or not self._step):
            text = self._add(result.output, -1)  # nobody has streamed it: a tool has said it, or a hook
        if not text and not self._step:
            if result.stop == "budget":
                raise BudgetExceeded("the budget of the agent's model is spent")
            raise EmptyResponse(f"the agent ended without an answer ({result.stop})")
        reason = _FINISHES.get(result.stop, "length")
        facts = {"finish_reason": reason, "normalized_finish_reason": reason}
        return AIMessageChunk(text, usage_metadata=result.usage, response_metadata=facts)
