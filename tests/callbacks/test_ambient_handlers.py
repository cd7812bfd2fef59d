"""Handlers that nobody passes along, and events that an application makes itself."""

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any
from uuid import UUID

import pytest

from hocket.callbacks import (
    AsyncCallbackHandler,
    AsyncCallbackManager,
    BaseCallbackHandler,
    CallbackManager,
    adispatch_custom_event,
    ambient,
    dispatch_custom_event,
    register_configure_hook,
)
from hocket.errors import InvalidInput
from hocket.language_models import BaseChatModel, FakeListChatModel
from hocket.messages import AIMessage
from hocket.outputs import ChatGeneration, ChatResult


class Counter(BaseCallbackHandler):
    """Counts the ends that it hears of."""

    run_inline = True

    def __init__(self) -> None:
        self.ends = 0

    def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        self.ends += 1


@pytest.fixture(autouse=True)
def hooks() -> Iterator[None]:
    """Forget the hooks that a test registers."""
    before = list(ambient._hooks)
    yield
    ambient._hooks[:] = before


MODEL = FakeListChatModel(responses=["hi"])


async def test_a_registered_variable_is_looked_at_when_a_run_starts() -> None:
    """Whatever handler it holds then, and none when it holds none."""
    variable: ContextVar[Counter | None] = ContextVar("variable", default=None)
    register_configure_hook(variable, True)
    register_configure_hook(variable, True)
    counter = Counter()
    await MODEL.ainvoke("x")
    variable.set(counter)
    await MODEL.ainvoke("x")
    assert counter.ends == 1


@pytest.mark.parametrize(("inheritable", "ends"), [(True, 2), (False, 1)])
async def test_children_hear_of_it_if_it_is_inheritable(inheritable: bool, ends: int) -> None:
    """In a context of its own, a child has what its parent gave it."""
    variable: ContextVar[Counter | None] = ContextVar("variable", default=None)
    register_configure_hook(variable, inheritable)
    counter = Counter()
    variable.set(counter)
    manager = AsyncCallbackManager.configure()
    run = await manager.on_chain_start({}, {})
    variable.set(None)
    await MODEL.ainvoke("x", {"callbacks": run.get_child()})
    variable.set(counter)
    await MODEL.ainvoke("x")
    assert counter.ends == ends


async def test_an_environment_variable_switches_a_handler_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangChain's third and fourth argument: a new handler a call, unless one of its kind listens already."""
    made: list[Counter] = []

    class Switched(Counter):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    register_configure_hook(ContextVar("unset"), True, Switched, "HOCKET_TEST_SWITCH")
    for off in ("", "0", "false"):
        monkeypatch.setenv("HOCKET_TEST_SWITCH", off)
        await MODEL.ainvoke("x")
    assert made == []
    monkeypatch.setenv("HOCKET_TEST_SWITCH", "1")
    await MODEL.ainvoke("x")
    assert [one.ends for one in made] == [1]
    await MODEL.ainvoke("x", {"callbacks": made[:1]})
    assert [one.ends for one in made] == [2]


def test_a_switch_needs_something_to_switch_on() -> None:
    """An environment variable without a class would do nothing, silently."""
    with pytest.raises(InvalidInput, match="handle_class"):
        register_configure_hook(ContextVar("unset"), env_var="HOCKET_TEST_SWITCH")


class Custom(BaseCallbackHandler):
    """Notes custom events."""

    run_inline = True

    def __init__(self) -> None:
        self.events: list[tuple[str, Any, dict[str, Any]]] = []

    def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.events.append((name, data, kwargs))


class AsyncCustom(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.events: list[tuple[str, Any, dict[str, Any]]] = []

    async def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
        self.events.append((name, data, kwargs))


class Reports(BaseChatModel):
    """Says how far it is, from inside its hooks."""

    @property
    def _llm_type(self) -> str:
        return "reports"

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        config = {"callbacks": run_manager.get_child(), "tags": ["more"], "metadata": {"m": 1}}
        await adispatch_custom_event("progress", {"done": 0.5}, config=config)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        config = {"callbacks": run_manager.get_child(), "tags": ["more"], "metadata": {"m": 1}}
        dispatch_custom_event("progress", {"done": 0.5}, config=config)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])


def check(handler: Any) -> None:
    ((name, data, details),) = handler.events
    assert (name, data) == ("progress", {"done": 0.5})
    assert isinstance(details["run_id"], UUID)
    assert details["tags"] == ["t", "more"]
    assert (details["metadata"]["user"], details["metadata"]["m"]) == (2, 1)


async def test_a_hook_tells_its_runs_handlers_of_an_event_of_its_own() -> None:
    """Name and data as given, with the run's id, and its tags and metadata with the event's own."""
    handlers = [Custom(), AsyncCustom()]
    await Reports().ainvoke("x", {"callbacks": handlers, "tags": ["t"], "metadata": {"user": 2}})
    for handler in handlers:
        check(handler)


def test_a_sync_hook_does_too() -> None:
    """The same in sync code, to async handlers as well."""
    handlers = [Custom(), AsyncCustom()]
    Reports().invoke("x", {"callbacks": handlers, "tags": ["t"], "metadata": {"user": 2}})
    for handler in handlers:
        check(handler)


async def test_who_ignores_custom_events_hears_of_none() -> None:
    """`ignore_custom_event`."""
    handler = Custom()
    handler.ignore_custom_event = True
    await Reports().ainvoke("x", {"callbacks": [handler]})
    assert handler.events == []


async def test_an_event_belongs_to_a_run() -> None:
    """Outside of any run, and with a bare list of handlers, there is nothing that it could be about."""
    for config in (None, {"callbacks": [Custom()]}):
        with pytest.raises(RuntimeError, match=r"'progress'.*no run"):
            await adispatch_custom_event("progress", {}, config=config)
        with pytest.raises(RuntimeError, match=r"'progress'.*no run"):
            dispatch_custom_event("progress", {}, config=config)


async def test_managers_tell_custom_events_directly() -> None:
    """`manager.on_custom_event(name, data, run_id=…)`, of either kind."""
    handler = Custom()
    await AsyncCallbackManager([handler], tags=["t"]).on_custom_event("a", 1)
    CallbackManager([handler]).on_custom_event("b", 2, UUID(int=5))
    (first, second) = handler.events
    assert first[:2] == ("a", 1) and first[2]["tags"] == ["t"]
    assert second == ("b", 2, {"run_id": UUID(int=5), "tags": [], "metadata": {}})
