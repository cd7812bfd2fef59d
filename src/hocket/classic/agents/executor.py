"""LangChain's older interface of agents: an executor, and agents that plan their next step.

There is no second loop. What an agent plans is made into a message with tool calls, as if a model had said it, and the
loop of `create_agent` does the rest: limits, tools, handlers, cancellation. So a tool that fails or does not exist, and
arguments that do not fit, are told to the agent as observations; in LangChain the first ends the run. The limit on time
holds within a step, too. New programs take `create_agent`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from hocket._runtime.mode import ASYNC
from hocket.agents.create import create_agent
from hocket.agents.limits import UNREADABLE_CHARS, AgentLimits
from hocket.agents.middleware import ModelRequest
from hocket.agents.model_call import FEEDBACK, ModelCaller, bind_tools
from hocket.agents.react.format import ReActFormat
from hocket.agents.result import AgentAction, AgentFinish, AgentStep
from hocket.agents.text_format import make_feedback
from hocket.classic.agents.planner import UNREADABLE, UNREADABLE_TOOL, ErrorHandling, Plan, Planner, PlanningAgent
from hocket.classic.memory import BaseChatMemory, BaseMemory
from hocket.errors import InvalidInput, OutputParserException
from hocket.errors.hints import bridge_hint
from hocket.message_toolkit.repair import is_empty
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage, convert_to_messages
from hocket.messages.content import Fields, FieldsView
from hocket.prompts import BasePromptTemplate, PromptTemplate
from hocket.runnables import Runnable, RunnableConfig, ensure_config
from hocket.runnables.config import set_config_context
from hocket.tools import BaseTool
from hocket.tools.calls import index_by_name

__all__ = ["AgentExecutor", "ToolAgentAction", "create_react_agent", "create_tool_calling_agent"]

EarlyStopping = Literal["force", "generate"]

_STOPPED = "Agent stopped due to iteration limit or time limit."
_SCRATCHPAD = "agent_scratchpad"


class AgentExecutor(Runnable[FieldsView | str, Fields]):
    """Has an agent plan, runs the tools, and goes on until the agent is done.

    Called with ``{"input": ...}``, or the text alone, it returns the input with ``"output"`` beside it, or whatever keys
    the agent's `AgentFinish` has.

    Args:
        agent: of `create_tool_calling_agent` or `create_react_agent`; an object with ``aplan``; or a runnable from
            ``{"intermediate_steps": ..., **inputs}`` to what ``aplan`` returns.
        tools: that it may use.
        max_iterations: how often it may plan; None: as often as it likes.
        max_execution_time: seconds of a run, which is cut off then; None: no limit.
        early_stopping_method: at a limit the output says that there was one ("force"), or the agent plans once more, and
            has to finish ("generate"; not when the time is up).
        handle_parsing_errors: what the agent observes if the model's reply could not be read: True, what was wrong with
            it; a text; or a function of the error. False: the error is raised.
        return_intermediate_steps: whether the output has ``"intermediate_steps"``.
        verbose: does nothing: handlers show what happens.
        name: of its runs, for handlers.
        memory: what it remembers between runs. Its variables are added to the inputs; a run that has ended well is
            remembered: the agent's own input, and its output.

    Raises:
        InvalidInput: something is not of its kind, two tools have one name, or the memory could not tell which of several
            inputs to remember.
    """

    def __init__(
        self,
        agent: PlanningAgent | Runnable[Any, Plan],
        tools: Sequence[BaseTool | Callable[..., object]],
        *,
        max_iterations: int | None = 15,
        max_execution_time: float | None = None,
        early_stopping_method: EarlyStopping = "force",
        handle_parsing_errors: ErrorHandling = False,
        return_intermediate_steps: bool = False,
        verbose: bool = False,
        name: str | None = None,
        memory: BaseMemory | None = None,
    ) -> None:
        if not isinstance(agent, PlanningAgent):
            if not isinstance(agent, Runnable):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
                raise InvalidInput(f"agent is {type(agent).__name__}; it has `async def aplan`, or is a runnable")
            agent = _RunnableAgent(agent)
        if early_stopping_method not in get_args(EarlyStopping):
            methods = ", ".join(get_args(EarlyStopping))
            raise InvalidInput(f"early_stopping_method is {early_stopping_method!r}; it is one of {methods}")
        self.agent: PlanningAgent = agent
        self.tools: list[BaseTool] = [*index_by_name(tools).values()]
        self.return_intermediate_steps: bool = return_intermediate_steps
        self.verbose: bool = verbose
        self.name: str | None = name or "AgentExecutor"
        self.memory: BaseMemory | None = memory
        self._handling: ErrorHandling = handle_parsing_errors
        self._method: EarlyStopping = early_stopping_method
        # LangChain watches for no repetitions: max_iterations is the limit that this interface promises.
        self._limits = AgentLimits(model_calls=max_iterations, seconds=max_execution_time, repeats=None)
        if isinstance(memory, BaseChatMemory) and memory.input_key is None and len(self.input_keys) != 1:
            keys = ", ".join(map(repr, self.input_keys))
            raise InvalidInput(
                f"the agent has the inputs {keys}, and its memory keeps one: say which, by input_key=..."
            )

    @property
    def input_keys(self) -> list[str]:
        """The keys that an input must have: those of the agent, without what its memory gives."""
        known = [] if self.memory is None else self.memory.memory_variables
        return [key for key in getattr(self.agent, "input_keys", ["input"]) if key not in known]

    @property
    def output_keys(self) -> list[str]:
        """The keys that an output has beside those of the input."""
        return ["output", *(["intermediate_steps"] if self.return_intermediate_steps else [])]

    async def ainvoke(self, input: FieldsView | str, config: RunnableConfig | None = None, **kwargs: object) -> Fields:
        """Run the agent.

        Args:
            input: the values that the agent plans by, or the only one.
            config: callbacks, tags, metadata of the run.
            kwargs: there are none; a name is refused.

        Raises:
            InvalidInput: the input lacks a key.
            InvalidHook: the agent planned neither actions nor an end.
            OutputParserException: the model's reply could not be read, and ``handle_parsing_errors`` is False.
            Exception: what the agent raises.
        """
        if kwargs:
            raise InvalidInput(f"an executor takes no {', '.join(map(repr, kwargs))}")
        given = self._read_input(input)
        inputs = {**given, **(await self.memory.load(ASYNC, given, config) if self.memory else {})}
        last_agent = self.agent.without_tools() if isinstance(self.agent, _ModelAgent) else self.agent
        planner = Planner(self.agent, last_agent, inputs, self.tools, self._handling)
        tools = [*self.tools, *([UNREADABLE_TOOL] if self._handling is not False else [])]
        at_limit: Literal["answer", "stop"] = "answer" if self._method == "generate" else "stop"
        agent = create_agent(
            planner, tools, limits=self._limits, style="native", at_limit=at_limit, name=self.get_name()
        )
        result = await agent.ainvoke(_describe(inputs), config)
        if planner.notes.finish is not None:
            values = planner.notes.finish.return_values
        else:
            values = {"output": result.output if result.stop in ("direct", "stopped") else _STOPPED}
        if self.memory is not None:
            remembered = {"output": values["output"]} if "output" in values else values
            await self.memory.asave_context({key: given[key] for key in self.input_keys}, remembered)
        outputs = {**inputs, **values}
        if self.return_intermediate_steps:
            outputs["intermediate_steps"] = planner.collect_steps(result.new_messages)
        return outputs

    def _read_input(self, input: object) -> Fields:
        keys = self.input_keys
        if isinstance(input, Mapping):
            inputs = {**cast(FieldsView, input)}
        elif len(keys) == 1:
            inputs = {keys[0]: input}
        else:
            raise InvalidInput(f"the input is {type(input).__name__}; it is a mapping with {', '.join(keys)}")
        if "intermediate_steps" in inputs:
            raise InvalidInput("the input has 'intermediate_steps', which the executor itself gives its agent")
        if missing := [key for key in keys if key not in inputs]:
            raise InvalidInput(f"the input has no {', '.join(map(repr, missing))}; it has {sorted(inputs)}")
        return inputs


def create_tool_calling_agent(
    llm: Runnable[Any, AIMessage],
    tools: Sequence[BaseTool | Callable[..., object]],
    prompt: BasePromptTemplate[Any],
) -> PlanningAgent:
    """Return an agent that calls tools natively, for `AgentExecutor`.

    Args:
        llm: a chat model with ``bind_tools``.
        tools: that it may call.
        prompt: with a placeholder "agent_scratchpad", which gets the calls and results so far as messages.

    Raises:
        InvalidInput: the prompt has no such placeholder; the model cannot be given tools; or two tools have one name.
    """
    if _SCRATCHPAD not in (*prompt.input_variables, *prompt.optional_variables):
        raise InvalidInput('the prompt lacks {agent_scratchpad}; add ("placeholder", "{agent_scratchpad}") at its end')
    known = [*index_by_name(tools).values()]
    try:
        bind_tools(llm, known)
    except NotImplementedError:
        hint = bridge_hint(llm) or "; create_react_agent asks it in text"
        raise InvalidInput(f"{type(llm).__name__} cannot be given tools{hint}") from None
    return _ModelAgent(llm, known, prompt, None)


def create_react_agent(
    llm: Runnable[Any, AIMessage],
    tools: Sequence[BaseTool | Callable[..., object]],
    prompt: PromptTemplate | str | None = None,
) -> PlanningAgent:
    """Return an agent that thinks, acts and answers in text (`hocket.agents.react.ReActFormat`), for `AgentExecutor`.

    Args:
        llm: any chat model.
        tools: that it may call.
        prompt: with ``{tools}``, ``{input}`` and ``{agent_scratchpad}``, and perhaps ``{tool_names}`` and
            ``{chat_history}``; default: hocket's own.

    Raises:
        InvalidInput: the prompt lacks a variable, has one that is unknown, or is no f-string; or two tools have one name.
    """
    if isinstance(prompt, PromptTemplate):
        if prompt.template_format != "f-string" or prompt.partial_variables:
            raise InvalidInput("the prompt of a ReAct agent is an f-string template without partial variables")
        prompt = prompt.template
    if prompt is not None and not isinstance(prompt, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"prompt is {type(prompt).__name__}; it is a PromptTemplate, or its text")
    return _ModelAgent(llm, [*index_by_name(tools).values()], None, ReActFormat(template=prompt))


def _describe(inputs: FieldsView) -> str:
    """Return the inputs as the question of the run, for handlers; the agent has them as they are."""
    question = inputs.get("input")
    return question if isinstance(question, str) and question.strip() else json.dumps(inputs, default=str)


class _RunnableAgent:
    """A runnable that plans, as an agent."""

    def __init__(self, runnable: Runnable[Any, Plan]) -> None:
        self._runnable = runnable

    async def aplan(self, intermediate_steps: Sequence[AgentStep], **inputs: Any) -> Plan:
        return await self._runnable.ainvoke({**inputs, "intermediate_steps": intermediate_steps})


# -- agents that ask a model


@dataclass(frozen=True, slots=True)
class ToolAgentAction(AgentAction):
    """An action out of a model's reply.

    Args:
        message_log: the reply, which goes back to the model as it came.
    """

    message_log: Sequence[AIMessage] = field(default=(), repr=False)


class _ModelAgent(Runnable[FieldsView, Plan]):
    """Asks a model what to do: natively with a prompt, or in text."""

    def __init__(
        self,
        llm: Runnable[Any, AIMessage],
        tools: Sequence[BaseTool],
        prompt: BasePromptTemplate[Any] | None,
        format: ReActFormat | None,
    ) -> None:
        self.tools = tools
        self._llm = llm
        self._prompt = prompt
        self._format = format

    @property
    def input_keys(self) -> list[str]:
        """The variables of the prompt that a caller gives."""
        return (
            ["input"] if self._prompt is None else [one for one in self._prompt.input_variables if one != _SCRATCHPAD]
        )

    def without_tools(self) -> "_ModelAgent":
        """Return this agent for its last plan, which has to be the answer."""
        return _ModelAgent(self._llm, (), self._prompt, self._format)

    async def aplan(self, intermediate_steps: Sequence[AgentStep], **inputs: Any) -> Plan:
        """Ask the model what to do next.

        Raises:
            OutputParserException: its reply cannot be read, or is empty.
        """
        scratchpad = _write_scratchpad(intermediate_steps)
        if self._prompt is None:
            past: Any = inputs.get("chat_history") or []
            earlier = [HumanMessage(past)] if isinstance(past, str) else convert_to_messages(past)
            messages = [*earlier, HumanMessage(inputs["input"]), *scratchpad]
        else:
            values = {**inputs, _SCRATCHPAD: scratchpad}
            messages = (await self._prompt.aformat_prompt(**values)).to_messages()
        caller = ModelCaller(self._format, ensure_config(), None)
        return _read_reply(await caller.ask(ModelRequest(model=self._llm, messages=messages, tools=self.tools)))

    async def ainvoke(self, input: FieldsView, config: RunnableConfig | None = None, **kwargs: object) -> Plan:
        """Plan by ``{"intermediate_steps": [...], **inputs}``."""
        inputs: Fields = {**input, **kwargs}
        steps = [AgentStep(*step) for step in inputs.pop("intermediate_steps", [])]
        with set_config_context(ensure_config(config)):
            return await self.aplan(steps, **inputs)


def _read_reply(reply: AIMessage) -> Plan:
    wrong = reply.response_metadata.get(FEEDBACK)
    if reply.invalid_tool_calls:
        first = reply.invalid_tool_calls[0]
        wrong = f"The call of {first['name']} could not be read: {first['error']}"
    elif is_empty(reply):
        wrong = "The reply was empty."
    if wrong is not None:
        raise OutputParserException(
            f"the model's reply cannot be read: {wrong} (handle_parsing_errors=True sends this to the model)",
            observation=wrong,
            llm_output=reply.text,
            send_to_llm=True,
        )
    if not reply.tool_calls:
        return AgentFinish({"output": reply.text}, reply.text)
    return [
        ToolAgentAction(call["name"], call["args"], reply.text, call["id"] or "", [reply]) for call in reply.tool_calls
    ]


def _write_scratchpad(steps: Sequence[AgentStep]) -> list[BaseMessage]:
    """Return what was done as a model's messages, each with the results of its calls."""
    messages: list[BaseMessage] = []
    last: AIMessage | None = None
    for number, (action, observation) in enumerate(steps, 1):
        if action.tool == UNREADABLE:
            messages += make_feedback(AIMessage(action.log), observation, UNREADABLE_CHARS)
            continue
        call_id = action.tool_call_id or f"call_{number}"
        if isinstance(action, ToolAgentAction) and action.message_log:
            message = action.message_log[-1]
        else:
            args = action.tool_input if isinstance(action.tool_input, Mapping) else {"input": action.tool_input}
            call = ToolCall(type="tool_call", name=action.tool, args={**args}, id=call_id)
            message = AIMessage(action.log, tool_calls=[call])
        if message is not last:
            messages.append(message)
        messages.append(ToolMessage(observation, tool_call_id=call_id, name=action.tool))
        last = message
    return messages
