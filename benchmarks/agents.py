"""An agent's run: a model that calls a tool which does nothing, so many times, and is done. Nobody listens."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .bench import Bench, Case, awaiting
from .harness import Body, Target, measure
from .library import Library, library
from .peers import PEERS, is_installed
from .table import Row, row_of

__all__ = ["CASES"]

SHORT, LONG = 10, 200
"""Steps of a run."""


def agent_runs(bench: Bench) -> Iterator[Row]:
    """A step: the model's call, the tool's, and what the agent does in between.

    langchain is its `create_agent`, on langgraph; bare is a loop over hocket's `bind_tools` and `arun_tool_calls`; a peer is
    the library that the row names.
    """
    for steps in (SHORT, LONG):
        contenders = {
            "hocket": partial(_hocket, steps),
            "langchain": partial(_langchain, steps),
            "bare": partial(_bare, steps),
        }
        samples = measure(contenders, bench.plan, per=steps)
        yield row_of(bench.case, f"a run of {steps} steps, per step", samples, Target(0.3))
    for peer, (_, build) in PEERS.items():
        if is_installed(peer):
            yield from _runs_beside(bench, peer, build)
        else:
            yield Row(bench.case, f"{peer} is left out: it is not installed")
    yield bench.growth(
        f"a step of a run of {LONG}, over one of {SHORT}",
        lambda: _hocket(SHORT),
        lambda: _hocket(LONG),
        1.5,
        per=LONG // SHORT,
    )
    samples = measure(
        {"hocket": lambda: _hocket(SHORT, with_history=True), "bare": lambda: _bare(SHORT)}, bench.plan, per=SHORT
    )
    yield row_of(bench.case, f"a run of {SHORT} steps with a history in memory, per step", samples, None)


def _runs_beside(bench: Bench, peer: str, build: Callable[[int], Body]) -> Iterator[Row]:
    for steps in (SHORT, LONG):
        contenders = {"hocket": partial(_hocket, steps), "peer": partial(build, steps)}
        samples = measure(contenders, bench.plan, per=steps)
        yield row_of(bench.case, f"beside {peer}: a run of {steps} steps, per step", samples, None)


def _calling(lib: Library, steps: int) -> Any:
    """Return a model that calls the tool so many times, and then is done; the conversation says how far it is."""
    AIMessage, ChatGeneration, ChatResult = lib.messages.AIMessage, lib.outputs.ChatGeneration, lib.outputs.ChatResult
    Base: Any = lib.language_models.BaseChatModel

    class Calling(Base):  # type: ignore[misc]
        async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            done = len(messages) // 2
            if done < steps:
                call = {"name": "nothing", "args": {"number": done}, "id": f"call_{done}", "type": "tool_call"}
                message = AIMessage(content="", tool_calls=[call])
            else:
                message = AIMessage(content="done")
            return ChatResult(generations=[ChatGeneration(message=message)])

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            raise NotImplementedError("async only")

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(tools=[tool.name for tool in tools])

        @property
        def _llm_type(self) -> str:
            return "calling"

    return Calling()


def _nothing(lib: Library) -> Any:
    async def nothing(number: int) -> str:
        """Do nothing."""
        return f"nothing {number}"

    return lib.tools.tool(nothing)


def _hocket(steps: int, *, with_history: bool = False) -> Body:
    from hocket.agents import AgentLimits, create_agent
    from hocket.chat_history import InMemoryChatMessageHistory

    lib = library("hocket")
    agent = create_agent(_calling(lib, steps), [_nothing(lib)], limits=AgentLimits(model_calls=steps + 1))
    return awaiting(lambda: agent.ainvoke("go", history=InMemoryChatMessageHistory() if with_history else None))


def _langchain(steps: int) -> Body:
    from langchain.agents import create_agent

    lib = library("langchain")
    agent: Any = create_agent(_calling(lib, steps), [_nothing(lib)])
    return awaiting(lambda: agent.ainvoke({"messages": [("user", "go")]}, {"recursion_limit": 10_000}))


def _bare(steps: int) -> Body:
    lib = library("hocket")
    tool = _nothing(lib)
    model = _calling(lib, steps).bind_tools([tool])

    async def run() -> Any:
        messages: list[Any] = [lib.messages.HumanMessage("go")]
        while True:
            reply = await model.ainvoke(messages)
            messages.append(reply)
            if not reply.tool_calls:
                return reply
            messages.extend(await lib.tools.arun_tool_calls(reply, [tool]))

    return awaiting(run)


CASES: dict[str, Case] = {"agents": agent_runs}
