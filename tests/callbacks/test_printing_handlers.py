"""Handlers that print, and the switches that put them in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket.callbacks import (
    AsyncCallbackManager,
    CallbackManager,
    FileCallbackHandler,
    StdOutCallbackHandler,
    StreamingStdOutCallbackHandler,
)
from hocket.globals import set_debug, set_verbose
from hocket.language_models import FakeListChatModel, FakeListLLM, FakeStreamingListLLM


@pytest.fixture(autouse=True)
def switches() -> Iterator[None]:
    """Switch everything off again."""
    yield
    set_debug(False)
    set_verbose(False)


def run_a_chain(manager: CallbackManager) -> None:
    """Tell the handlers of a chain with a tool and a text."""
    chain = manager.on_chain_start({"name": "Chain"}, {"topic": "tea"})
    child = chain.get_child()
    tool = child.on_tool_start({"name": "search"}, "tea")
    tool.on_tool_end("found tea")
    chain.on_text("thinking")
    chain.on_chain_end({"text": "tea"})


def test_stdout_prints_what_chains_and_tools_do(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for the chain's start and end, the tool's output, and free text as it is."""
    run_a_chain(CallbackManager.configure([StdOutCallbackHandler()]))
    assert capsys.readouterr().out == ("\n> Entering new Chain ...\nfound tea\nthinking\n> Finished chain.\n")


async def test_stdout_prints_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """Of chat models and of text models."""
    handler = StdOutCallbackHandler(color="green")
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    await FakeListLLM(responses=["ho"]).ainvoke("x", {"callbacks": [handler]})
    assert capsys.readouterr().out == "hi\nho\n"
    assert handler.errors == 0


async def test_verbose_models_print(capsys: pytest.CaptureFixture[str]) -> None:
    """Told to by their field, or by `set_verbose` when they are made; those made before stay silent."""
    before = FakeListChatModel(responses=["before"])
    set_verbose(True)
    for model in (before, FakeListChatModel(responses=["after"]), FakeListChatModel(responses=["not"], verbose=False)):
        await model.ainvoke("x")
    assert capsys.readouterr().out == "after\n"


def test_a_file_takes_what_happens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Written as it happens, appended to what is there, closed with the block; printing is left alone."""
    path = tmp_path / "log.txt"
    path.write_text("earlier\n", encoding="utf-8")
    with FileCallbackHandler(str(path)) as handler:
        run_a_chain(CallbackManager.configure([handler]))
        FakeListChatModel(responses=["ä"]).invoke("x", {"callbacks": [handler]})
        written = path.read_text(encoding="utf-8")
    assert written == "earlier\n\n> Entering new Chain ...\nfound tea\nthinking\n> Finished chain.\nä\n"
    assert capsys.readouterr().out == ""


def test_a_file_may_be_written_anew(tmp_path: Path) -> None:
    """`mode="w"`."""
    path = tmp_path / "log.txt"
    path.write_text("earlier\n", encoding="utf-8")
    handler = FileCallbackHandler(str(path), mode="w")
    FakeListChatModel(responses=["hi"]).invoke("x", {"callbacks": [handler]})
    handler.close()
    handler.close()
    assert path.read_text(encoding="utf-8") == "hi\n"


def test_a_closed_file_fails_as_a_handler_does(tmp_path: Path) -> None:
    """Used after its block, it cannot write; the run goes on, and the failure is counted."""
    with FileCallbackHandler(str(tmp_path / "log.txt")) as handler:
        pass
    assert FakeListChatModel(responses=["hi"]).invoke("x", {"callbacks": [handler]}).content == "hi"
    assert handler.errors == 1


async def test_a_file_is_written_outside_the_event_loop(tmp_path: Path) -> None:
    """A slow disk must not hold up the loop (the suite's guard against blocking calls would say so)."""
    path = tmp_path / "log.txt"
    handler = FileCallbackHandler(str(path))
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [handler]})
    handler.close()
    assert handler.errors == 0
    assert path.read_text(encoding="utf-8") == "hi\n"


@pytest.mark.parametrize("model", [FakeListChatModel(responses=["one"]), FakeStreamingListLLM(responses=["one"])])
async def test_streaming_prints_each_token_as_it_comes(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Before its consumer has it, and nothing else."""
    printed = ""
    async for _ in model.astream("x", {"callbacks": [StreamingStdOutCallbackHandler()]}):
        new = capsys.readouterr().out
        assert new or printed == "one"
        printed += new
    assert printed == "one"


async def test_debugging_prints_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """What goes in, what comes out and how long it took, of every run, without passing a handler."""
    set_debug(True)
    await FakeListChatModel(responses=["hi"]).ainvoke("hello")
    out = capsys.readouterr().out
    assert "Human: hello" in out and "hi" in out and " ms" in out
    await FakeListLLM(responses=["ho"]).ainvoke("hello")
    assert "ho" in capsys.readouterr().out
    with pytest.raises(Exception, match="chunk"):
        async for _ in FakeListChatModel(responses=["ab"], error_on_chunk_number=1).astream("x"):
            pass
    assert "FakeListLLMError" in capsys.readouterr().out
    set_debug(False)
    await FakeListChatModel(responses=["hi"]).ainvoke("hello")
    assert capsys.readouterr().out == ""


async def test_debugging_prints_chains_and_tools(capsys: pytest.CaptureFixture[str]) -> None:
    """Names, inputs and outputs; the ends name the runs that the starts named."""
    set_debug(True)
    manager = AsyncCallbackManager.configure()
    chain = await manager.on_chain_start({}, {"topic": "tea"}, name="write")
    tool = await chain.get_child().on_tool_start({"name": "search"}, "tea?")
    await tool.on_tool_end("found")
    await chain.on_chain_error(ValueError("no"))
    out = capsys.readouterr().out
    for word in ("write", "'topic': 'tea'", "search", "tea?", "'found'", "ValueError('no')"):
        assert word in out
    assert out.count(str(chain.run_id)) == 2 and out.count(str(tool.run_id)) == 2
