"""An agent, asked and answering as a model is: its client sees neither steps nor tools, and gets one answer.

The answer is the text of all steps, as a person would have seen it come, with an empty line between two; of an agent with
typed output it is the object, as JSON, alone. It is made in one way, streamed or whole.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from hocket.agents.agent import Agent, RunOptions
from hocket.agents.events import AgentEvent
from hocket.agents.result import AgentResult
from hocket.errors import BudgetExceeded, EmptyResponse, InvalidInput, Unsupported
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, Collector
from hocket.messages.content import Fields
from hocket.runnables import RunnableConfig
from hocket.serving.hocket_events import as_data
from hocket.serving.message_parts import encode_json, join_reasoning, list_blocks
from hocket.serving.refusals import FailureAfterTools

__all__ = ["AgentModel", "check_agent"]

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
    reason = ""
    if agent.may_pause and not may_pause:
        reason = (
            "may wait for a person, whom no request of a program can ask; serve it with page=True, or with chat_app"
        )
    elif agent.required_injected:
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


class AgentModel:
    """What the gateway asks in the place of an agent."""

    def __init__(self, agent: Agent[object]) -> None:
        self._agent = agent
        self._options: RunOptions = {} if agent.context_schema is None else {"context": {}}

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
            async with aclosing(self._agent.astream(input, config, **self._options)) as events:
                async for event in events:
                    has_run_tools = has_run_tools or event.kind == "tool_start"
                    if (piece := answer.read(event)) is not None:
                        yield piece
        except Exception as error:
            if has_run_tools:
                raise FailureAfterTools(error) from error
            raise


class _Answer:
    """Reads the events of a run as pieces of one answer."""

    def __init__(self, *, is_typed: bool) -> None:
        self._is_typed = is_typed
        self._step = 0  # whose text came last; 0: none has come

    def read(self, event: AgentEvent) -> AIMessageChunk | None:
        """Return what an event adds to the answer; None: nothing."""
        if event.kind == "end":
            return self._end(event.result)
        if event.kind != "chunk":
            return None
        thought = join_reasoning(list_blocks(event.chunk))
        text = "" if self._is_typed else self._add(event.chunk.text, event.step)
        if not thought:
            return AIMessageChunk(text) if text else None
        said: list[str | Fields] = [{"type": "reasoning", "reasoning": thought}]
        return AIMessageChunk([*said, {"type": "text", "text": text}] if text else said)

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
