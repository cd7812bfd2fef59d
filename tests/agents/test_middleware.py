"""Code of the application around each call of the model and of a tool: sync or async, whichever verb is called."""

from collections.abc import Callable
from typing import Any

import pytest

from hocket.agents import AgentLimits, AgentMiddleware, ModelRequest, ToolCallRequest
from hocket.errors import InvalidHook
from hocket.messages import AIMessage, SystemMessage, ToolMessage
from tests.agents.conftest import MakeAgent, call
from tests.kit import cancel_when


class Sync(AgentMiddleware):
    """Writes down its calls, in sync code."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], AIMessage]) -> AIMessage:
        self.log.append(f"{self.name} before model {request.step}")
        reply = handler(request)
        self.log.append(f"{self.name} after model")
        return reply

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage]
    ) -> ToolMessage:
        self.log.append(f"{self.name} before {request.tool_call['name']}")
        result = handler(request)
        self.log.append(f"{self.name} after {result.text}")
        return result


class Async(Sync):
    """Writes down its calls, in async code."""

    async def wrap_model_call(self, request: ModelRequest, handler: Any) -> AIMessage:  # type: ignore[override]
        self.log.append(f"{self.name} before model {request.step}")
        reply = await handler(request)
        self.log.append(f"{self.name} after model")
        return reply

    async def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> ToolMessage:  # type: ignore[override]
        self.log.append(f"{self.name} before {request.tool_call['name']}")
        result = await handler(request)
        self.log.append(f"{self.name} after {result.text}")
        return result


EXPECTED = [
    *("a before model 1", "b before model 1", "b after model", "a after model"),
    *("a before add", "b before add", "b after 3", "a after 3"),
    *("a before model 2", "b before model 2", "b after model", "a after model"),
]


@pytest.mark.parametrize(("outer", "inner"), [(Sync, Sync), (Sync, Async), (Async, Sync), (Async, Async)])
@pytest.mark.parametrize("verb", ["ainvoke", "astream", "abatch"])
async def test_hooks_are_nested_in_order(make_agent: MakeAgent, outer: type[Sync], inner: type[Sync], verb: str):
    """The first in the list is outermost, sync and async in any mixture."""
    log: list[str] = []
    script = [[call("add", a=1, b=2)], "It is 3."]
    agent, _ = make_agent(script, middleware=[outer("a", log), inner("b", log)])
    if verb == "ainvoke":
        await agent.ainvoke("go")
    elif verb == "abatch":
        await agent.abatch(["go"])
    else:
        assert [event.kind async for event in agent.astream("go")][-1] == "end"
    assert log == EXPECTED


@pytest.mark.parametrize("kind", [Sync, Async])
def test_hooks_work_under_the_sync_verbs(make_agent: MakeAgent, kind: type[Sync]):
    """Nobody has to write them twice."""
    log: list[str] = []
    agent, _ = make_agent([[call("add", a=1, b=2)], "3"] * 2, middleware=[kind("a", log), kind("b", log)])
    agent.invoke("go")
    with agent.stream("go") as stream:
        list(stream)
    assert log == EXPECTED * 2


async def test_a_hook_may_change_what_the_model_is_asked(make_agent: MakeAgent):
    """Messages, tools and options."""

    class Change(AgentMiddleware):
        async def wrap_model_call(self, request: ModelRequest, handler: Any) -> AIMessage:
            messages = [SystemMessage("Be kind."), *request.messages]
            return await handler(request.override(messages=messages, tools=(), options={"temperature": 0.5}))

    agent, model = make_agent(["Dear."], middleware=[Change()])
    await agent.ainvoke("go")
    assert model.requests[0].messages[0].text == "Be kind."
    assert model.requests[0].params == {"temperature": 0.5}


async def test_a_hook_may_answer_itself(make_agent: MakeAgent):
    """Neither the model nor the tool is called."""

    class Cached(AgentMiddleware):
        def wrap_model_call(self, request: ModelRequest, handler: Any) -> AIMessage:
            return AIMessage("from the cache")

    agent, model = make_agent([], middleware=[Cached()])
    result = await agent.ainvoke("go")
    assert result.output == "from the cache" and not model.requests and result.model_calls == 0


async def test_a_hook_may_be_set_on_an_object(make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch):
    """As by a test that patches it."""
    middleware = AgentMiddleware()
    monkeypatch.setattr(middleware, "wrap_model_call", lambda request, handler: AIMessage("patched"))
    agent, model = make_agent([], middleware=[middleware])
    assert (await agent.ainvoke("go")).output == "patched" and not model.requests


async def test_a_hook_may_try_the_model_again(make_agent: MakeAgent):
    """Each call counts."""

    class Again(AgentMiddleware):
        async def wrap_model_call(self, request: ModelRequest, handler: Any) -> AIMessage:
            try:
                return await handler(request)
            except ValueError:
                return await handler(request)

    agent, model = make_agent([ValueError("once"), "fine"], middleware=[Again()])
    result = await agent.ainvoke("go")
    assert result.output == "fine" and result.model_calls == 2 and len(model.requests) == 2


async def test_the_limit_on_model_calls_holds_for_a_hook_that_tries_again(make_agent: MakeAgent):
    """A middleware cannot go round it."""

    class Forever(AgentMiddleware):
        async def wrap_model_call(self, request: ModelRequest, handler: Any) -> AIMessage:
            while True:
                await handler(request)

    limits = AgentLimits(model_calls=3)
    agent, model = make_agent(["no"] * 9, middleware=[Forever()], limits=limits, at_limit="stop")
    result = await agent.ainvoke("go")
    assert result.stop == "model_calls" and len(model.requests) == 3


async def test_what_a_hook_of_the_model_raises_ends_the_run(make_agent: MakeAgent):
    """As itself."""

    class Fail(AgentMiddleware):
        def wrap_model_call(self, request: ModelRequest, handler: Any) -> AIMessage:
            raise LookupError("no")

    agent, _ = make_agent([], middleware=[Fail()])
    with pytest.raises(LookupError, match="no"):
        await agent.ainvoke("go")


async def test_what_a_hook_of_a_tool_raises_is_told_to_the_model(make_agent: MakeAgent):
    """The call is answered, and the run goes on."""

    class Fail(AgentMiddleware):
        def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> ToolMessage:
            raise PermissionError("not today")

    agent, model = make_agent([[call("add", a=1, b=2)], "Pity."], middleware=[Fail()])
    assert (await agent.ainvoke("go")).output == "Pity."
    assert "not today" in model.requests[1].messages[-1].text


async def test_a_hook_that_returns_nonsense_is_named(make_agent: MakeAgent):
    """The author finds out which one."""

    class Nonsense(AgentMiddleware):
        def wrap_model_call(self, request: ModelRequest, handler: Any) -> Any:
            return "text"

    agent, _ = make_agent([], middleware=[Nonsense()])
    with pytest.raises(InvalidHook, match=r"Nonsense\.wrap_model_call returned str.*AIMessage"):
        await agent.ainvoke("go")


async def test_the_result_of_a_hook_answers_the_call_whatever_its_id(make_agent: MakeAgent):
    """A conversation in which a call has no answer would be refused."""

    class Other(AgentMiddleware):
        async def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> ToolMessage:
            changed = {**request.tool_call, "id": "other", "args": {"a": 5, "b": 5}}
            return await handler(request.override(tool_call=changed))

    agent, _ = make_agent([[call("add", "1", a=1, b=2)], "10"], middleware=[Other()])
    result = await agent.ainvoke("go")
    assert [(one.tool_call_id, one.text) for one in result.messages if isinstance(one, ToolMessage)] == [("1", "10")]


async def test_a_run_in_a_sync_hook_can_be_cancelled(make_agent: MakeAgent):
    """The hook waits in its thread, and what it waits for is cancelled."""
    log: list[str] = []
    agent, _ = make_agent([[call("wait", seconds=60)]], middleware=[Sync("a", log)])
    assert await cancel_when(lambda: "a before wait" in log, agent.ainvoke, "go")
    assert log[-1] == "a before wait"


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        *(
            (f"{sync}{when}_model", "wrap_model_call(self, request, handler)")
            for sync in ("", "a")
            for when in ("before", "after")
        ),
        *(
            (f"{sync}{when}_agent", "before or after the agent is called")
            for sync in ("", "a")
            for when in ("before", "after")
        ),
        ("awrap_model_call", "call it wrap_model_call"),
        ("awrap_tool_call", "call it wrap_tool_call"),
    ],
)
def test_a_hook_that_is_never_called_is_refused(name: str, instead: str) -> None:
    """A filter in LangChain's ``before_model`` would stop filtering, silently: its class cannot be made."""

    def hook(self: object, state: object, runtime: object) -> None: ...

    with pytest.raises(InvalidHook, match=f"^Filter: hocket never calls {name}: ") as caught:
        type("Filter", (AgentMiddleware,), {name: hook})
    assert instead in str(caught.value)


def test_a_hook_of_a_mixin_is_refused() -> None:
    """As one of the class itself."""

    class Mixin:
        def before_model(self) -> None: ...

    with pytest.raises(InvalidHook, match="never calls before_model"):

        class Filter(Mixin, AgentMiddleware):
            pass
