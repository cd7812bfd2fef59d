"""The same run of an agent in other libraries: a model of their own kind that does no I/O, and a tool that does nothing.

They are no part of `bench`: ``scripts/setup agents-bench`` brings them. Each model sees from the conversation how far
the run is, as hocket's does, and limits on steps and tracing are out of the way.
"""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from .bench import awaiting, repeating
from .harness import Body

__all__ = ["PEERS", "is_installed"]


def _pydantic_ai(steps: int) -> Body:
    from pydantic_ai import Agent, UsageLimits
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models import Model

    Base: Any = Model

    class Calling(Base):  # type: ignore[misc]
        async def request(self, messages: Any, model_settings: Any, model_request_parameters: Any) -> Any:
            done = len(messages) // 2
            call = ToolCallPart("nothing", {"number": done}, f"call_{done}")
            return ModelResponse(parts=[call if done < steps else TextPart("done")])

        @property
        def model_name(self) -> str:
            return "calling"

        @property
        def system(self) -> str:
            return "calling"

    agent: Any = Agent(Calling(), tools=[nothing])
    limits = UsageLimits(request_limit=None)
    return awaiting(lambda: agent.run("go", usage_limits=limits))


def _openai_agents(steps: int) -> Body:
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    Base: Any = Model

    class Calling(Base):  # type: ignore[misc]
        async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **options: Any) -> Any:
            done = 0 if isinstance(input, str) else len(input) // 2
            item: Any
            if done < steps:
                item = ResponseFunctionToolCall(
                    type="function_call", name="nothing", arguments=f'{{"number": {done}}}', call_id=f"call_{done}"
                )
            else:
                text = ResponseOutputText(type="output_text", text="done", annotations=[])
                item = ResponseOutputMessage(
                    type="message", id="last", role="assistant", status="completed", content=[text]
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *rest: Any, **options: Any) -> Any:
            raise NotImplementedError("whole answers only")

    agent: Any = Agent(name="calling", model=Calling(), tools=[function_tool(nothing)])
    config = RunConfig(tracing_disabled=True)
    return awaiting(lambda: Runner.run(agent, "go", max_turns=steps + 1, run_config=config))


def _smolagents(steps: int) -> Body:
    from smolagents import ChatMessage, LogLevel, Model, ToolCallingAgent, tool
    from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

    Base: Any = Model

    class Calling(Base):  # type: ignore[misc]
        def generate(self, messages: Any, **options: Any) -> Any:
            done = (len(messages) - 2) // 3  # a step is a reply, its call, and the result
            function = ChatMessageToolCallFunction(name="final_answer", arguments={"answer": "done"})
            if done < steps:
                function = ChatMessageToolCallFunction(name="nothing", arguments={"number": done})
            call = ChatMessageToolCall(id=f"call_{done}", type="function", function=function)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

    @tool  # type: ignore[untyped-decorator]
    def nothing(number: int) -> str:  # it takes no coroutine
        """Do nothing.

        Args:
            number: that comes back.
        """
        return f"nothing {number}"

    agent: Any = ToolCallingAgent(tools=[nothing], model=Calling(), max_steps=steps + 1, verbosity_level=LogLevel.OFF)
    return repeating(lambda: agent.run("go"))


async def nothing(number: int) -> str:
    """Do nothing."""
    return f"nothing {number}"


PEERS: Mapping[str, tuple[str, Callable[[int], Body]]] = {
    "pydantic-ai": ("pydantic_ai", _pydantic_ai),
    "openai-agents": ("agents", _openai_agents),
    "smolagents": ("smolagents", _smolagents),
}
"""By the name of the library: its package, and what builds a run of so many steps."""


def is_installed(peer: str) -> bool:
    """Whether the library of that name is here."""
    return find_spec(PEERS[peer][0]) is not None
