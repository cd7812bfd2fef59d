"""What hooks ask is inside the run: on its bill, under its limits, heard by its handlers."""

from typing import Any

import pytest

from hocket import AIMessage, ScriptedChatModel, Turn, create_agent
from hocket.agents import AgentLimits, AgentMiddleware
from hocket.callbacks import BaseCallbackHandler
from hocket.errors import StopRun
from hocket.language_models import BaseChatModel
from hocket.messages import UsageMetadata
from hocket.outputs import ChatGeneration, ChatResult

USAGE: UsageMetadata = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}


class Priced(BaseChatModel):
    """Answers for 120 tokens."""

    @property
    def _llm_type(self) -> str:
        return "priced"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Yes.", usage_metadata=USAGE))])


class Guard(AgentMiddleware):
    """Asks a model of its own before each call."""

    async def wrap_model_call(self, request: Any, handler: Any) -> Any:
        await Priced().ainvoke("May it answer?")
        return await handler(request)

    async def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        await Priced().ainvoke("May it call that?")
        return await handler(request)


class SyncGuard(AgentMiddleware):
    """The same with ``def``."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        Priced().invoke("May it answer?")
        return handler(request)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        Priced().invoke("May it call that?")
        return handler(request)


class Starts(BaseCallbackHandler):
    """Keeps the parent and the tenant of each call of a model."""

    def __init__(self) -> None:
        self.seen: list[tuple[object, object]] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.seen.append((kwargs.get("parent_run_id"), (kwargs.get("metadata") or {}).get("tenant")))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


GUARDS = pytest.mark.parametrize("guard", [Guard, SyncGuard])


@GUARDS
def test_a_model_that_a_hook_asks_is_on_the_bill(guard: type[AgentMiddleware]) -> None:
    result = create_agent(Priced(), middleware=[guard()]).invoke("Hello.")
    assert result.usage["total_tokens"] == 2 * 120
    assert result.model_calls == 1


@GUARDS
def test_handlers_hear_it_with_the_metadata_of_the_run(guard: type[AgentMiddleware]) -> None:
    call = {"type": "tool_call", "name": "add", "args": {"a": 2, "b": 3}, "id": "1"}
    model = ScriptedChatModel(script=[Turn(tool_calls=[call]), "5."])
    starts = Starts()
    agent = create_agent(model, [add], middleware=[guard()])
    agent.invoke("What is 2 + 3?", {"callbacks": [starts], "metadata": {"tenant": "ada"}})
    assert len(starts.seen) == 2 + 3, "two answers, and a question of the guard before each call"
    assert len(set(starts.seen)) == 1, "all are children of the agent's run"
    assert starts.seen[0][1] == "ada"


def test_the_limit_on_tokens_counts_it() -> None:
    result = create_agent(
        ScriptedChatModel(script=["", "", "", "done"]),
        middleware=[Guard()],
        limits=AgentLimits(tokens=300, repeats=None),
    ).invoke("Hello.")
    assert result.stop == "tokens"


@pytest.mark.parametrize("at_limit", ["answer", "stop"])
def test_a_hook_stops_the_run(at_limit: Any) -> None:
    stop = StopRun("No more today.")

    class Stop(AgentMiddleware):
        async def wrap_model_call(self, request: Any, handler: Any) -> Any:
            raise stop

    result = create_agent(Priced(), middleware=[Stop()], at_limit=at_limit).invoke("Hello.")
    assert (result.stop, result.output, result.model_calls) == ("stopped", stop.value, 0)
