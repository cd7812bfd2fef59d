"""A call of a tool that failed for the moment is made again, after a wait, and no other is."""

from typing import Any

import anyio.lowlevel
import pytest

from hocket import ScriptedChatModel, Turn
from hocket._runtime.clock import current
from hocket.agents import AgentLimits, AgentMiddleware, AgentResult, ToolRetryMiddleware, create_agent
from hocket.errors import InvalidInput, RetryTool, StopRun, ToolException, ToolTimeout
from hocket.messages import ToolMessage
from hocket.testing import virtual_clock
from hocket.tools import BaseTool, StructuredTool
from tests.agents.conftest import call

pytestmark = pytest.mark.both_loops


class Flaky:
    """A tool that fails as it is told, each time in another way, and then answers; it notes when it was called."""

    def __init__(self, *failures: Exception | float) -> None:
        self.failures = [*failures]
        self.times: list[float] = []

    def make(self, **fields: Any) -> BaseTool:
        """Return the tool; a number among its failures is seconds that it waits."""

        async def fetch() -> str:
            """Fetch."""
            await anyio.lowlevel.checkpoint()
            self.times.append(current().now())
            failure = self.failures.pop(0) if self.failures else None
            if isinstance(failure, Exception):
                raise failure
            await current().sleep(failure or 0)
            return "fetched"

        return StructuredTool.from_function(coroutine=fetch, **fields)


async def run(
    tool: BaseTool, *middleware: AgentMiddleware, **limits: Any
) -> tuple[AgentResult[Any], ToolMessage | None]:
    """Return what comes of one call of a tool, and its result."""
    model = ScriptedChatModel(script=[Turn(tool_calls=[call("fetch")]), "Done."])
    agent = create_agent(model, [tool], middleware=middleware, limits=AgentLimits(**limits))
    with virtual_clock():
        result = await agent.ainvoke("go")
    return result, next((one for one in result.messages if isinstance(one, ToolMessage)), None)


async def test_a_call_is_made_again_after_waits_that_grow():
    """The model sees the result alone, and it counts as one call."""
    flaky = Flaky(ConnectionError("reset"), ConnectionResetError("again"))
    result, told = await run(flaky.make(), ToolRetryMiddleware())
    assert flaky.times == [0, 1, 3]
    assert told is not None and (told.text, told.status, result.tool_calls) == ("fetched", "success", 1)


async def test_the_last_failure_is_told():
    """After two more calls, unless another number is given."""
    for most, times in ((2, [0, 1, 3]), (0, [0]), (1, [0, 1])):
        flaky = Flaky(*(ConnectionError(f"reset {number}") for number in range(9)))
        result, told = await run(flaky.make(), ToolRetryMiddleware(most))
        assert (flaky.times, result.output) == (times, "Done.")
        assert told is not None and told.status == "error" and f"reset {most}" in told.text


async def test_the_waits_are_as_one_says():
    """Their first one, how they grow, and where that ends."""
    for options, times in (
        ({"initial_delay": 0}, [0, 0, 0, 0, 0]),
        ({"initial_delay": 2, "backoff_factor": 1}, [0, 2, 4, 6, 8]),
        ({"backoff_factor": 10, "max_delay": 20}, [0, 1, 11, 31, 51]),
    ):
        flaky = Flaky(*[ConnectionError()] * 9)
        await run(flaky.make(), ToolRetryMiddleware(4, **options))  # type: ignore[arg-type]
        assert flaky.times == times


async def test_a_timeout_is_a_failure_for_the_moment():
    """Each call has the time that one call has."""
    flaky = Flaky(100, 100)
    _, told = await run(flaky.make(timeout=5), ToolRetryMiddleware())
    assert flaky.times == [0, 6, 13]
    assert told is not None and told.text == "fetched"


async def test_no_other_failure_is_tried_again():
    """Neither the tool's own words nor a mistake, unless one says so."""
    for failure in (ValueError("x"), ToolException("no"), RetryTool("differently"), KeyError()):
        flaky = Flaky(failure)
        await run(flaky.make(), ToolRetryMiddleware())
        assert flaky.times == [0]
    flaky = Flaky(ValueError("x"), ConnectionError("y"))
    _, told = await run(flaky.make(), ToolRetryMiddleware(retry_on=(ValueError,)))
    assert flaky.times == [0, 1]
    assert told is not None and "y" in told.text


async def test_a_tool_that_must_not_work_twice_is_never_called_again():
    """Nor is one that is not named; one that says nothing of itself is."""
    cases: list[tuple[dict[str, Any], dict[str, Any], int]] = [
        ({"metadata": {"idempotent": False}}, {}, 1),
        ({"metadata": {"idempotent": False}}, {"tools": ["fetch"]}, 1),
        ({"metadata": {"idempotent": True}}, {}, 2),
        ({}, {"tools": ["fetch"]}, 2),
        ({}, {"tools": ["other"]}, 1),
        ({}, {"tools": []}, 1),
    ]
    for fields, options, calls in cases:
        flaky = Flaky(ConnectionError())
        await run(flaky.make(**fields), ToolRetryMiddleware(**options))
        assert len(flaky.times) == calls


async def test_the_run_ends_when_its_time_is_over():
    """In a wait, too."""
    flaky = Flaky(*[ConnectionError()] * 9)
    result, _ = await run(flaky.make(), ToolRetryMiddleware(9), seconds=10)
    assert (result.stop, flaky.times) == ("seconds", [0, 1, 3, 7])


async def test_stopping_the_run_is_no_failure():
    """Whatever is to be tried again."""
    flaky = Flaky(StopRun("enough", 42))
    result, _ = await run(flaky.make(), ToolRetryMiddleware(retry_on=(Exception,)))
    assert (result.stop, flaky.times) == ("stopped", [0])


async def test_what_a_hook_inside_has_mended_is_not_tried_again():
    """And what it raises itself is not the tool's failure."""

    class Mend(AgentMiddleware):
        async def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            result = await handler(request)
            return result.model_copy(update={"status": "success", "content": "mended"})

    class Break(AgentMiddleware):
        async def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            await handler(request)
            raise ConnectionError("of the hook")

    flaky = Flaky(ConnectionError())
    _, told = await run(flaky.make(), ToolRetryMiddleware(), Mend())
    assert told is not None and (told.text, flaky.times) == ("mended", [0])
    flaky = Flaky()
    _, told = await run(flaky.make(), ToolRetryMiddleware(), Break())
    assert told is not None and "of the hook" in told.text and flaky.times == [0]


async def test_calls_of_one_message_are_tried_again_each_for_itself():
    """At the same time."""
    flaky = Flaky(*[ConnectionError()] * 3)
    model = ScriptedChatModel(script=[Turn(tool_calls=[call("fetch", str(one)) for one in range(3)]), "Done."])
    agent = create_agent(model, [flaky.make()], middleware=[ToolRetryMiddleware()])
    with virtual_clock():
        result = await agent.ainvoke("go")
    assert [step.observation for step in result.steps] == ["fetched"] * 3
    assert flaky.times == [0, 0, 0, 1, 1, 1]


def test_a_sync_tool_under_a_sync_verb_is_called_again():
    """With the same hook."""
    calls: list[int] = []

    def fetch() -> str:
        """Fetch."""
        calls.append(1)
        if len(calls) == 1:
            raise ToolTimeout("slow")
        return "fetched"

    model = ScriptedChatModel(script=[Turn(tool_calls=[call("fetch")]), "Done."])
    agent = create_agent(model, [fetch], middleware=[ToolRetryMiddleware(initial_delay=0)])
    assert agent.invoke("go").steps[0].observation == "fetched"


WRONG: list[dict[str, Any]] = [
    *({"max_retries": one} for one in (-1, 1.5, True, None, "2")),
    *({"initial_delay": one} for one in (-1, float("nan"), float("inf"), None, True)),
    *({"backoff_factor": one} for one in (-1, float("inf"), "2")),
    {"max_delay": -1},
    *({"tools": one} for one in ("fetch", "")),
    *({"retry_on": one} for one in (None, "x", ["x"], (1,), ConnectionError())),
]


@pytest.mark.parametrize("options", WRONG, ids=map(str, range(len(WRONG))))
def test_what_does_not_fit_is_refused(options: dict[str, Any]):
    """When it is made; the error names it."""
    with pytest.raises(InvalidInput, match=f"^{next(iter(options))} is "):
        ToolRetryMiddleware(**options)
