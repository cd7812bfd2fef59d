"""Limits on the calls of a message: time by tool, the size of a result, and results handed over as they come."""

import anyio
import anyio.lowlevel
import pytest

from hocket.errors import InvalidInput
from hocket.messages import AIMessage, ToolCall, ToolMessage
from hocket.tools import StructuredTool, arun_tool_calls, run_tool_calls, tool


def call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(type="tool_call", name=name, args=arguments, id=f"call_{name}")


@tool
async def wait(seconds: float) -> str:
    """Wait."""
    await anyio.sleep(seconds)
    return "done"


@tool
def write(count: int) -> str:
    """Write."""
    return "x" * count


@tool
def paint(count: int) -> list[dict[str, str]]:
    """Paint."""
    return [{"type": "text", "text": "x" * count}, {"type": "image", "url": "https://example.org/a.png"}] * 2


async def test_the_limit_of_a_tool_goes_before_that_of_the_call():
    """A tool knows best how long it may take."""
    quick = wait.model_copy(update={"timeout": 0.01})
    (result,) = await arun_tool_calls([call("wait", seconds=60)], [quick], timeout=30)
    assert result.response_metadata["tool_error"] == "timeout"
    assert "0.01 s" in result.text


async def test_a_tool_has_its_limit_when_it_is_called_alone():
    """The limit is the tool's, whoever calls it."""
    quick = StructuredTool.from_function(coroutine=wait.coroutine, name="wait", timeout=0.01)
    with pytest.raises(TimeoutError, match=r"longer than 0\.01 s"):
        await quick.ainvoke({"seconds": 60})


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_limit_that_is_not_above_0_is_refused(seconds: float):
    """Such a tool could never be called."""
    with pytest.raises(ValueError, match="timeout"):
        tool(timeout=seconds)(write.func)


async def test_a_long_result_is_cut_and_says_so():
    """What is kept is the beginning; the note is short."""
    long, short = call("write", count=2_000_000), {**call("write", count=10), "id": "short"}
    results = await arun_tool_calls([long, short], [write], max_result_chars=100)
    assert results[0].text.startswith("x" * 100 + "\n[") and len(results[0].text) <= 250
    assert "1999900 more characters" in results[0].text
    assert results[1].text == "x" * 10


async def test_blocks_behind_the_limit_are_left_out_and_pictures_stay():
    """A picture has no characters."""
    (result,) = await arun_tool_calls([call("paint", count=30)], [paint], max_result_chars=40)
    assert [block["type"] for block in result.content] == ["text", "image", "text", "image", "text"]
    assert [len(block["text"]) for block in result.content if block["type"] == "text"][:2] == [30, 10]
    assert "20 more characters" in result.text


async def test_the_text_of_a_failure_is_short():
    """The text of a failure has a limit of its own."""

    @tool
    def fail() -> str:
        """Fail."""
        raise ValueError("x" * 100_000)

    (result,) = await arun_tool_calls([call("fail")], [fail], max_result_chars=50)
    assert result.status == "error" and len(result.text) <= 2_000


def test_a_size_that_is_not_above_0_is_refused():
    """Nothing could be returned."""
    with pytest.raises(InvalidInput, match="max_result_chars is 0"):
        run_tool_calls([call("write", count=1)], [write], max_result_chars=0)


async def test_results_are_handed_over_as_they_come():
    """The quick one comes first; the list keeps the order of the calls."""
    came: list[str] = []

    @tool
    async def nap(seconds: float) -> str:
        """Sleep."""
        await anyio.sleep(seconds)
        return "done"

    calls = [{**call("nap", seconds=number / 50), "id": str(number)} for number in (3, 1, 2)]
    results = await arun_tool_calls(calls, [nap], on_result=lambda result: came.append(result.tool_call_id))
    assert came == ["1", "2", "3"]
    assert [result.tool_call_id for result in results] == ["3", "1", "2"]


async def test_a_caller_that_is_cancelled_has_what_was_finished():
    """The result of a call that was paid for is not lost."""
    came: list[ToolMessage] = []

    async def keep(result: ToolMessage) -> None:
        await anyio.lowlevel.checkpoint()
        came.append(result)

    with anyio.move_on_after(0.2) as scope:
        calls = [call("write", count=3), call("wait", seconds=60)]
        await arun_tool_calls(AIMessage("", tool_calls=calls), [write, wait], on_result=keep)
    assert scope.cancelled_caught
    assert [result.text for result in came] == ["xxx"]
