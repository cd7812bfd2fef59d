"""`RootListenersTracer`: functions that are told of one call, as a handler."""

from hocket.language_models import ScriptedChatModel
from hocket.runnables import RunnableLambda
from hocket.tracers import RootListenersTracer, Run


async def test_functions_are_told_of_the_call_alone() -> None:
    """Of its start and its end, with what came out; not of the runs inside it. Coroutines are awaited."""
    told: list[tuple[str, object]] = []

    async def note(run: Run) -> None:
        told.append((run.name, run.outputs))

    tracer = RootListenersTracer(on_start=note, on_end=note)
    chain = ScriptedChatModel(script=["a"]) | RunnableLambda(lambda message: message.text)
    assert await chain.ainvoke("hi", {"callbacks": [tracer], "run_name": "whole"}) == "a"
    assert told == [("whole", None), ("whole", "a")]
    assert tracer.root_id is not None


def test_without_functions_nothing_happens() -> None:
    """A tracer may be made before it is known who listens."""
    tracer = RootListenersTracer()
    assert RunnableLambda(str).invoke(1, {"callbacks": [tracer]}) == "1"
