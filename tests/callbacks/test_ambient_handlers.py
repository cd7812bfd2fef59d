"""Handlers that nobody passes along, and events that an application makes itself."""

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any
from uuid import UUID

import pytest

from hocket.callbacks import (
    AsyncCallbackManager,
    CallbackManager,
    adispatch_custom_event,
    dispatch_custom_event,
    register_configure_hook,
    run_listeners,
)
from hocket.errors import InvalidInput
from hocket.language_models import FakeListChatModel
from tests.kit import AsyncRecorder, HookCall, Recorder, hook_model


@pytest.fixture(autouse=True)
def hooks() -> Iterator[None]:
    """Forget the hooks that a test registers."""
    before = run_listeners._hooks
    yield
    run_listeners._hooks = before


MODEL = FakeListChatModel(responses=["hi"])


async def test_a_registered_variable_is_looked_at_when_a_run_starts() -> None:
    """Whatever handler it holds then, and none when it holds none."""
    variable: ContextVar[Recorder | None] = ContextVar("variable", default=None)
    register_configure_hook(variable, True)
    register_configure_hook(variable, True)
    counter = Recorder("on_llm_end")
    await MODEL.ainvoke("x")
    variable.set(counter)
    await MODEL.ainvoke("x")
    assert counter.count("on_llm_end") == 1


@pytest.mark.parametrize(("inheritable", "ends"), [(True, 2), (False, 1)])
async def test_children_hear_of_it_if_it_is_inheritable(inheritable: bool, ends: int) -> None:
    """In a context of its own, a child has what its parent gave it."""
    variable: ContextVar[Recorder | None] = ContextVar("variable", default=None)
    register_configure_hook(variable, inheritable)
    counter = Recorder("on_llm_end")
    variable.set(counter)
    manager = AsyncCallbackManager.configure()
    run = await manager.on_chain_start({}, {})
    variable.set(None)
    await MODEL.ainvoke("x", {"callbacks": run.get_child()})
    variable.set(counter)
    await MODEL.ainvoke("x")
    assert counter.count("on_llm_end") == ends


async def test_an_environment_variable_switches_a_handler_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangChain's third and fourth argument: a new handler a call, unless one of its kind listens already."""
    switched: list[Recorder] = []

    class Switched(Recorder):
        def __init__(self) -> None:
            super().__init__("on_llm_end")
            switched.append(self)

    register_configure_hook(ContextVar("unset"), True, Switched, "HOCKET_TEST_SWITCH")
    for off in ("", "0", "false"):
        monkeypatch.setenv("HOCKET_TEST_SWITCH", off)
        await MODEL.ainvoke("x")
    assert switched == []
    monkeypatch.setenv("HOCKET_TEST_SWITCH", "1")
    await MODEL.ainvoke("x")
    assert [one.count("on_llm_end") for one in switched] == [1]
    await MODEL.ainvoke("x", {"callbacks": switched[:1]})
    assert [one.count("on_llm_end") for one in switched] == [2]


def test_a_switch_needs_something_to_switch_on() -> None:
    """An environment variable without a class would do nothing, silently."""
    with pytest.raises(InvalidInput, match="handle_class"):
        register_configure_hook(ContextVar("unset"), env_var="HOCKET_TEST_SWITCH")


async def report(call: HookCall) -> str:
    """Say how far it is, from inside a hook."""
    config = {"callbacks": call.run_manager.get_child(), "tags": ["more"], "metadata": {"m": 1}}
    await adispatch_custom_event("progress", {"done": 0.5}, config=config)
    return "hi"


def report_in_sync_code(call: HookCall) -> str:
    config = {"callbacks": call.run_manager.get_child(), "tags": ["more"], "metadata": {"m": 1}}
    dispatch_custom_event("progress", {"done": 0.5}, config=config)
    return "hi"


def check(handler: Any) -> None:
    _, (name, data), details = handler.only("on_custom_event")
    assert (name, data) == ("progress", {"done": 0.5})
    assert isinstance(details["run_id"], UUID)
    assert details["tags"] == ["t", "more"]
    assert (details["metadata"]["user"], details["metadata"]["m"]) == (2, 1)


async def test_a_hook_tells_its_runs_handlers_of_an_event_of_its_own() -> None:
    """Name and data as given, with the run's id, and its tags and metadata with the event's own."""
    handlers = [Recorder("on_custom_event"), AsyncRecorder("on_custom_event")]
    await hook_model(report).ainvoke("x", {"callbacks": handlers, "tags": ["t"], "metadata": {"user": 2}})
    for handler in handlers:
        check(handler)


def test_a_sync_hook_does_too() -> None:
    """The same in sync code, to async handlers as well."""
    handlers = [Recorder("on_custom_event"), AsyncRecorder("on_custom_event")]
    hook_model(report_in_sync_code, "generate").invoke(
        "x", {"callbacks": handlers, "tags": ["t"], "metadata": {"user": 2}}
    )
    for handler in handlers:
        check(handler)


async def test_who_ignores_custom_events_hears_of_none() -> None:
    """`ignore_custom_event`."""
    handler = Recorder("on_custom_event", ignore_custom_event=True)
    await hook_model(report).ainvoke("x", {"callbacks": [handler]})
    assert handler.events == []


async def test_an_event_belongs_to_a_run() -> None:
    """Outside of any run, and with a bare list of handlers, there is nothing that it could be about."""
    for config in (None, {"callbacks": [Recorder("on_custom_event")]}):
        with pytest.raises(RuntimeError, match=r"'progress'.*no run"):
            await adispatch_custom_event("progress", {}, config=config)
        with pytest.raises(RuntimeError, match=r"'progress'.*no run"):
            dispatch_custom_event("progress", {}, config=config)


async def test_managers_tell_custom_events_directly() -> None:
    """`manager.on_custom_event(name, data, run_id=…)`, of either kind."""
    handler = Recorder("on_custom_event")
    await AsyncCallbackManager([handler], tags=["t"]).on_custom_event("a", 1)
    CallbackManager([handler]).on_custom_event("b", 2, UUID(int=5))
    (first, second) = handler.events
    assert first.args == ("a", 1) and first.details["tags"] == ["t"]
    assert second == ("on_custom_event", ("b", 2), {"run_id": UUID(int=5), "tags": [], "metadata": {}})
