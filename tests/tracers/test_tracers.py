"""Tracers: whole runs as objects, sync and async, and what prints them."""

from typing import Any

import pytest

from hocket.callbacks import BaseCallbackHandler
from hocket.documents import Document
from hocket.language_models import FakeListChatModel, FakeListLLM
from hocket.prompts import ChatPromptTemplate
from hocket.retrievers import BaseRetriever
from hocket.runnables import RunnableLambda
from hocket.tools import tool
from hocket.tracers import (
    AsyncBaseTracer,
    BaseTracer,
    ConsoleCallbackHandler,
    FunctionCallbackHandler,
    Run,
    RunCollectorCallbackHandler,
    collect_runs,
    try_json_stringify,
)


class Tracer(BaseTracer):
    """Keeps what it is told, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []
        self.kept: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.told.append("persist")
        self.kept.append(run)

    def _on_run_create(self, run: Run) -> None:
        self.told.append(f"create {run.run_type}")

    def _on_chain_start(self, run: Run) -> None:
        self.told.append("chain start")

    def _on_chat_model_start(self, run: Run) -> None:
        self.told.append("chat start")

    def _on_llm_new_token(self, run: Run, token: str, chunk: Any) -> None:
        self.told.append(f"token {token}")

    def _on_llm_end(self, run: Run) -> None:
        self.told.append("llm end")

    def _on_chain_error(self, run: Run) -> None:
        self.told.append(f"chain error {run.error}")


class AsyncTracer(AsyncBaseTracer):
    """Keeps runs."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Run] = []

    async def _persist_run(self, run: Run) -> None:
        self.kept.append(run)


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


class Notes(BaseRetriever):
    """Finds one document."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(query)]


CHAIN = ChatPromptTemplate([("human", "{x}")]) | FakeListChatModel(responses=["ab"])


async def test_a_run_has_the_runs_inside_it() -> None:
    tracer, other = Tracer(), AsyncTracer()
    await CHAIN.ainvoke({"x": "hi"}, {"callbacks": [tracer, other], "tags": ["t"], "metadata": {"m": 1}})
    for (run,) in (tracer.kept, other.kept):
        assert (run.name, run.run_type, run.inputs, run.tags) == ("RunnableSequence", "chain", {"x": "hi"}, ["t"])
        assert run.parent_run_id is None and run.metadata["m"] == 1
        prompt, model = run.child_runs
        assert (prompt.run_type, model.run_type) == ("prompt", "llm")
        assert model.inputs == {"prompts": ["Human: hi"]}
        assert model.parent_run_id == run.id
        assert model.outputs["generations"][0][0]["text"] == "ab"
        assert [event["name"] for event in model.events] == ["start", "end"]
        assert run.outputs["output"].text == "ab"
        assert run.end_time is not None and run.start_time <= model.start_time <= run.end_time
    assert tracer.told == ["create chain", "chain start", "create prompt", "chain start", "create llm", "chat start",
                           "llm end", "persist"]  # fmt: skip
    assert tracer.run_map == {} == other.run_map


async def test_a_stream_is_told_by_token_and_its_input_is_known_at_the_end() -> None:
    tracer = Tracer()
    async for _ in CHAIN.astream({"x": "hi"}, {"callbacks": [tracer]}):
        pass
    assert [one for one in tracer.told if one.startswith("token")] == ["token a", "token b"]
    (run,) = tracer.kept
    assert [event["name"] for event in run.child_runs[1].events] == ["start", "new_token", "new_token", "end"]


async def test_tools_retrievers_and_text_models_have_their_inputs_by_name() -> None:
    collector = RunCollectorCallbackHandler()
    config: Any = {"callbacks": [collector]}
    await double.ainvoke({"number": 2}, config)
    await Notes().ainvoke("tea", config)
    await FakeListLLM(responses=["b"]).ainvoke("a", config)
    await RunnableLambda(lambda x: x + 1, name="plus").ainvoke(1, config)
    found = [(run.run_type, run.inputs) for run in collector.traced_runs]
    assert found == [
        ("tool", {"input": "{'number': 2}"}),
        ("retriever", {"query": "tea"}),
        ("llm", {"prompts": ["a"]}),
        ("chain", {"input": 1}),
    ]
    outputs = [run.outputs for run in collector.traced_runs]
    assert outputs[0] == {"output": 4} and outputs[3] == {"output": 2}
    assert outputs[1] == {"documents": [Document("tea")]}


async def test_a_failure_is_the_runs_error() -> None:
    tracer = Tracer()

    def fail(x: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError):
        await RunnableLambda(fail).ainvoke(1, {"callbacks": [tracer]})
    assert isinstance(tracer.kept[0].error, ValueError)
    assert tracer.told[-1] == "chain error no"


def test_runs_of_a_block_are_collected() -> None:
    with collect_runs() as collected:
        CHAIN.invoke({"x": 1})
        CHAIN.invoke({"x": 2})
    CHAIN.invoke({"x": 3})
    assert [run.inputs for run in collected.traced_runs] == [{"x": 1}, {"x": 2}]


def test_an_example_is_noted() -> None:
    collector = RunCollectorCallbackHandler("00000000-0000-0000-0000-000000000007")
    CHAIN.invoke({"x": 1}, {"callbacks": [collector]})
    assert collector.traced_runs[0].extra["reference_example_id"].int == 7


def test_the_console_says_where_a_run_stands(capsys: pytest.CaptureFixture[str]) -> None:
    CHAIN.invoke({"x": "hi"}, {"callbacks": [ConsoleCallbackHandler()]})
    double.invoke({"number": 2}, {"callbacks": [ConsoleCallbackHandler()]})
    printed = capsys.readouterr().out
    assert '[chain:RunnableSequence] Entering Chain run with input:\n\x1b[0m{\n  "x": "hi"\n}' in printed
    assert "[chain:RunnableSequence > llm:FakeListChatModel] Entering LLM run with input" in printed
    assert '"Human: hi"' in printed
    assert "[tool:double]" in printed and '"4"' in printed


def test_a_function_takes_failures_too() -> None:
    told: list[str] = []
    with pytest.raises(ZeroDivisionError):
        RunnableLambda(lambda x: 1 / x).invoke(0, {"callbacks": [FunctionCallbackHandler(told.append)]})
    assert "Chain run errored with error" in told[-1] and "ZeroDivisionError" in told[-1]


def test_what_json_cannot_say_has_a_stand_in() -> None:
    assert try_json_stringify({"a": 1}, "?") == '{\n  "a": 1\n}'
    assert try_json_stringify({"a": object()}, "?") == "?"


def test_a_tracer_is_a_handler() -> None:
    assert isinstance(Tracer(), BaseCallbackHandler)
    with pytest.raises(TypeError, match="_persist_run"):
        BaseTracer()  # type: ignore[abstract]
