"""Threads of a program's own, inside the run that they are used in."""

import threading

import pytest

from hocket.errors import InvalidInput
from hocket.language_models import ScriptedChatModel
from hocket.runnables import ContextThreadPoolExecutor, RunnableLambda, get_executor_for_config
from hocket.tracers import collect_runs


def test_a_model_in_a_thread_is_called_inside_the_run() -> None:
    """Its run hangs under the one that handed it over, and nobody has to pass a config on."""
    model = ScriptedChatModel(script=["a", "b"])

    def ask(texts: list[str]) -> list[str]:
        with ContextThreadPoolExecutor(max_workers=2) as executor:
            return sorted(reply.text for reply in executor.map(model.invoke, texts))

    with collect_runs() as collected:
        assert RunnableLambda(ask).invoke(["x", "y"]) == ["a", "b"]
    (run,) = collected.traced_runs
    assert [child.name for child in run.child_runs] == ["ScriptedChatModel"] * 2


def test_a_config_says_how_many_threads_there_are() -> None:
    """``max_concurrency`` of them at once, and no more."""
    together, most = 0, 0
    lock = threading.Lock()
    barrier = threading.Barrier(2, timeout=60)

    def work(_: int) -> None:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        barrier.wait()
        with lock:
            together -= 1

    with get_executor_for_config({"max_concurrency": 2}) as executor:
        list(executor.map(work, range(6)))
    assert most == 2


def test_a_wrong_config_is_refused() -> None:
    """As by every verb."""
    with pytest.raises(InvalidInput, match="max_concurency"), get_executor_for_config({"max_concurency": 2}):  # type: ignore[typeddict-unknown-key]
        pass
