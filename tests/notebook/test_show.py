"""A stream that is shown: on a terminal, and what is drawn of it."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import calculator_tool, create_agent
from hocket.errors import InvalidInput, StreamTruncated
from hocket.messages import AIMessage, AIMessageChunk
from hocket.notebook import ashow, drawing, show
from hocket.notebook.view import LONGEST_STEP, StreamView
from hocket.output_parsers import JsonOutputParser, StrOutputParser
from hocket.testing import virtual_clock
from tests.kit import HookCall, Recorder, hook_model


def make_broken() -> ScriptedChatModel:
    return ScriptedChatModel(script=[Turn(text="one two", error=StreamTruncated("cut"), error_after=1)])


async def test_outside_of_a_notebook_it_is_printed(capsys: pytest.CaptureFixture[str]):
    """Piece by piece; a chain's texts, too."""
    model = ScriptedChatModel(script=["Light scatters."] * 3)
    await ashow(model.astream("Why?"))
    await ashow((model | StrOutputParser()).astream("Why?"))
    assert capsys.readouterr().out == "Light scatters.\n" * 2


def test_the_sync_twin(capsys: pytest.CaptureFixture[str]):
    """Is for what `stream` returns."""
    show(ScriptedChatModel(script=["Light scatters."]).stream("Why?"))
    assert capsys.readouterr().out == "Light scatters.\n"


async def test_what_is_no_stream():
    """The message says which of the two to call."""
    model = ScriptedChatModel(script=["a", "b"])
    with pytest.raises(InvalidInput, match=r"await ashow\(\.\.\.\)"):
        show(model.astream("x"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"show\(\.\.\.\) is for what stream returns"):
        await ashow(model.stream("x"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="not int"):
        await ashow(3)  # type: ignore[arg-type]
    for one, advice in ((AIMessage("a"), "shows itself"), (model, r"show\(model\.stream"), ("a text", "not str$")):
        with pytest.raises(InvalidInput, match=advice):
            show(one)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=advice):
            await ashow(one)  # type: ignore[arg-type]


async def test_a_stream_that_breaks_off(capsys: pytest.CaptureFixture[str]):
    """What has come stays, and the error is raised."""
    with pytest.raises(StreamTruncated):
        await ashow(make_broken().astream("x"))
    assert capsys.readouterr().out == "one\nIt broke off here: StreamTruncated\n"


def test_a_sync_stream_that_breaks_off(capsys: pytest.CaptureFixture[str]):
    """Likewise."""
    with pytest.raises(StreamTruncated):
        show(make_broken().stream("x"))
    assert capsys.readouterr().out == "one\nIt broke off here: StreamTruncated\n"


async def test_a_cell_that_is_interrupted_closes_its_stream(capsys: pytest.CaptureFixture[str]):
    """Its run ends."""

    async def talk(_: HookCall) -> AsyncIterator[Any]:
        async def speak() -> AsyncIterator[Any]:
            yield AIMessageChunk("Hello")
            await anyio.sleep_forever()

        return speak()

    recorder = Recorder("on_chat_model_start", "on_llm_end", "on_llm_error")
    stream = hook_model(talk, "astream", callbacks=[recorder]).astream("hi")
    printed = ""
    async with anyio.create_task_group() as group:
        group.start_soon(ashow, stream)
        while "Hello" not in printed:
            await anyio.lowlevel.checkpoint()
            printed += capsys.readouterr().out
        group.cancel_scope.cancel()
    assert recorder.count("on_llm_end") + recorder.count("on_llm_error") == 1
    assert "It was interrupted here." in capsys.readouterr().out


def test_a_generator_is_closed():
    """When an item cannot be shown."""
    is_closed = False

    class Bad:
        def __repr__(self) -> str:
            raise RuntimeError("no words")

    def items() -> Iterator[object]:
        nonlocal is_closed
        try:
            yield Bad()
        finally:
            is_closed = True

    with pytest.raises(RuntimeError, match="no words"):
        show(items())
    assert is_closed


async def test_what_an_agent_does(capsys: pytest.CaptureFixture[str]):
    """Its answers as they come, and a line for each step."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    call = {"type": "tool_call", "name": "add", "args": {"a": 2, "b": 3}, "id": "1"}
    agent = create_agent(ScriptedChatModel(script=[Turn(tool_calls=[call]), "It is 5."]), [add])
    stream = agent.astream("2 + 3?")
    view = StreamView()
    told = "".join([view.add(event) async for event in stream]) + view.end()
    assert told.split("\n") == ["", "→ add({'a': 2, 'b': 3})", "", "← add: 5", "It is 5.", ""]
    assert view.text == "→ add({'a': 2, 'b': 3})\n← add: 5\nIt is 5."
    assert view.html.count("add(") == 1 and "It is 5." in view.html


async def test_a_reply_that_could_not_be_read():
    """Is a line of its own."""
    model = ScriptedChatModel(script=["I wonder.", "Final Answer: 5"])
    view = StreamView()
    agent = create_agent(model, [calculator_tool], style="react")
    told = [view.add(event) async for event in agent.astream("2 + 3?")]
    assert "".join(told).startswith("\n✗ a reply could not be read: Your reply has no Action.")
    assert view.text.count("✗") == 1 and view.text.endswith("5")


async def test_a_step_is_shown_once_and_in_brief():
    """Also where the model says a word before it calls; of what a tool has read, the beginning."""

    def read(page: str) -> str:
        """Read a page."""
        return "x" * 1000

    call = {"type": "tool_call", "name": "read", "args": {"page": "one"}, "id": "1"}
    agent = create_agent(ScriptedChatModel(script=[Turn(text="I look.", tool_calls=[call]), "Done."]), [read])
    view = StreamView()
    async for event in agent.astream("?"):
        view.add(event)
    assert view.html.count("read(") == 1 and "I look." in view.html
    assert f"← read: {'x' * LONGEST_STEP} … (500 more characters)" in view.text
    result = await create_agent(ScriptedChatModel(script=["Done."]), [read]).ainvoke("?")
    assert "Done." in result._repr_html_() and "<td>done</td>" in result._repr_html_()


async def test_of_an_object_that_grows_the_last_is_shown(capsys: pytest.CaptureFixture[str]):
    """In a cell, each stands for the one before; on a terminal, at the end."""
    chain = ScriptedChatModel(script=[Turn(text=['{"a": ', "1", "}"])] * 2) | JsonOutputParser()
    await ashow(chain.astream("x"))
    assert capsys.readouterr().out == "{'a': 1}\n"
    view = StreamView()
    async for item in chain.astream("x"):
        view.add(item)
    assert view.text == "{'a': 1}"


async def test_what_waits_is_drawn_in_time(monkeypatch: pytest.MonkeyPatch):
    """Not at every piece, and yet nothing waits for the next piece."""
    drawn: list[tuple[float, str]] = []

    class Slow:
        pause = 0.1

        def update(self, view: StreamView, told: str) -> None:
            drawn.append((round(clock.now(), 3), view.text))

    monkeypatch.setattr(drawing, "find_output", Slow)

    async def talk(_: HookCall) -> AsyncIterator[Any]:
        async def speak() -> AsyncIterator[Any]:
            for piece in ("a", "b", "c", "d"):
                yield AIMessageChunk(piece)
                await clock.sleep(10 if piece == "c" else 0.01)

        return speak()

    with virtual_clock() as clock:
        await ashow(hook_model(talk, "astream").astream("x"))
    assert drawn[0] == (0.0, "a") and drawn[1] == (0.1, "abc")
    assert drawn[2] == (10.02, "abcd") and drawn[-1][1] == "abcd"
