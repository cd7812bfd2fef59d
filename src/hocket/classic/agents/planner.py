"""An agent that plans its steps in the place of a model: the bridge from LangChain's older interface to the loop.

What the agent plans is made into a message with tool calls, as if a model had said it. Results come back as pairs of an
action and its observation.
"""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from hocket.agents.react.arguments import find_tool, make_tool_call
from hocket.agents.react.text_calls import TextCall
from hocket.agents.result import AgentAction, AgentFinish, AgentStep
from hocket.errors import InvalidHook, OutputParserException
from hocket.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import Runnable, RunnableConfig, ensure_config
from hocket.runnables.config import set_config_context
from hocket.tools import BaseTool, StructuredTool

__all__ = ["UNREADABLE", "UNREADABLE_TOOL", "ErrorHandling", "Plan", "PlanNotes", "Planner", "PlanningAgent"]

UNREADABLE = "_Exception"
"""LangChain's name of the action that stands for a reply that could not be read."""

Plan: TypeAlias = AgentAction | Sequence[AgentAction] | AgentFinish
"""What a planner decides: one action, several, or the end of the run."""

ErrorHandling: TypeAlias = bool | str | Callable[[OutputParserException], str]
"""What becomes of a reply that cannot be read: True tells the model so, a text or a function's text is told instead."""


@runtime_checkable
class PlanningAgent(Protocol):
    """What an executor runs. It may also say its ``input_keys`` (by default "input")."""

    async def aplan(self, intermediate_steps: Sequence[AgentStep], **inputs: Any) -> Plan:
        """Return what to do next: one or more actions, or the end.

        Args:
            intermediate_steps: what was done so far; each is a pair of an action and its observation.
            inputs: of the executor.
        """
        ...


@dataclass
class PlanNotes:
    """What one run has planned.

    Attributes:
        actions: by the ids of their calls.
        finish: its end; None: it has not come to it.
    """

    actions: dict[str, AgentAction] = field(default_factory=dict[str, AgentAction])
    finish: AgentFinish | None = None


class Planner(Runnable[Sequence[BaseMessage], AIMessage]):
    """Stands in the loop for a model; what its agent plans are its replies. There is one for each run.

    Args:
        agent: plans.
        last_agent: plans when no tools may be called any more.
        inputs: of the agent.
        tools: that its actions may name.
        handling: of replies that cannot be read, see `AgentExecutor`.

    Attributes:
        notes: what it has planned.
    """

    def __init__(
        self,
        agent: PlanningAgent,
        last_agent: PlanningAgent,
        inputs: FieldsView,
        tools: Sequence[BaseTool],
        handling: ErrorHandling,
    ) -> None:
        self.notes: PlanNotes = PlanNotes()
        self._agent = agent
        self._last_agent = last_agent
        self._inputs = inputs
        self._tools = tools
        self._handling = handling
        self._may_act = False

    def bind_tools(self, tools: Sequence[object], *, tool_choice: str | None = None) -> "Planner":
        """Return this planner for all steps but the last one, at which it is given no tools."""
        acting = copy.copy(self)
        acting._may_act = True
        return acting

    async def ainvoke(
        self, input: Sequence[BaseMessage], config: RunnableConfig | None = None, **kwargs: object
    ) -> AIMessage:
        """Return what the agent plans next, as a model's message."""
        agent = self._agent if self._may_act else self._last_agent
        with set_config_context(ensure_config(config)):
            plan = await self._plan(agent, self.collect_steps(input))
        if isinstance(plan, AgentFinish):
            self.notes.finish = plan
            return AIMessage(
                str(plan.return_values.get("output") or plan.log).strip() or "-"
            )  # an empty one is no reply
        if not self._may_act and self._tools:
            return AIMessage("")  # it was to finish
        return AIMessage(plan[0].log, tool_calls=[self._make_call(action) for action in plan])

    def collect_steps(self, messages: Sequence[BaseMessage]) -> list[AgentStep]:
        """Return the actions that have results in ``messages``, in order."""
        results = {message.tool_call_id: message.text for message in messages if isinstance(message, ToolMessage)}
        return [AgentStep(action, results[id]) for id, action in self.notes.actions.items() if id in results]

    async def _plan(self, agent: PlanningAgent, steps: list[AgentStep]) -> list[AgentAction] | AgentFinish:
        try:
            plan: object = await agent.aplan(steps, **self._inputs)
        except OutputParserException as error:
            if self._handling is False:
                raise
            return [AgentAction(UNREADABLE, _observe(error, self._handling), error.llm_output or "")]
        if isinstance(plan, AgentFinish):
            return plan
        actions = cast("list[object]", [*plan] if isinstance(plan, list | tuple) else [plan])
        if not actions or not all(map(_is_action, actions)):
            raise InvalidHook(f"the agent planned {plan!r}; a plan is one or more AgentActions, or an AgentFinish")
        return cast("list[AgentAction]", actions)

    def _make_call(self, action: AgentAction) -> ToolCall:
        """Return an action as a call, with an id that no other has."""
        call_id = action.tool_call_id or f"call_{len(self.notes.actions) + 1}"
        if call_id in self.notes.actions:
            call_id = f"{call_id}_{len(self.notes.actions) + 1}"
        self.notes.actions[call_id] = action
        args = self._read_args(action)
        if args is not None:
            return ToolCall(type="tool_call", name=action.tool, args=args, id=call_id)
        fitted = make_tool_call(TextCall(action.tool, str(action.tool_input)), [*self._tools, UNREADABLE_TOOL])
        return {**fitted, "id": call_id}

    def _read_args(self, action: AgentAction) -> Fields | None:
        """Return the arguments of an action; None: they are one text, as the only argument of the tool."""
        if isinstance(action.tool_input, Mapping):
            return {**action.tool_input}
        tool = find_tool(action.tool, self._tools)
        try:
            read: object = json.loads(action.tool_input) if action.tool_input.lstrip().startswith("{") else None
        except (ValueError, RecursionError):
            return None
        if tool is None or not isinstance(read, dict):
            return None
        args = cast(Fields, read)
        return args if args and args.keys() <= tool.args.keys() else None


def _is_action(planned: object) -> bool:
    return isinstance(planned, AgentAction) and isinstance(cast(object, planned.tool_input), str | Mapping)


def _observe(error: OutputParserException, handling: ErrorHandling) -> str:
    if isinstance(handling, str):
        return handling
    if callable(handling):
        return handling(error)
    return (error.observation if error.send_to_llm else None) or "Invalid or incomplete response"


async def _repeat(text: str) -> str:
    return text


UNREADABLE_TOOL = StructuredTool.from_function(
    coroutine=_repeat, name=UNREADABLE, description="Says why a reply could not be read."
)
"""The tool that a reply which cannot be read seems to call: it says why."""
