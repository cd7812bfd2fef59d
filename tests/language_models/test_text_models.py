"""Text models: many prompts in one request, each of them a run."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import anyio
import anyio.to_thread
import pytest
from pydantic import Field

from hocket import LLM, FakeListLLM, Generation, GenerationChunk, HumanMessage, LLMResult, StringPromptValue
from hocket.callbacks import AsyncCallbackManager, CallbackManager
from hocket.errors import EmptyResponse, InvalidHook, InvalidInput
from tests.kit import MODEL_EVENTS, HookCall, Recorder, TextHookModel, hook_class, hook_llm


def capitalize(call: HookCall) -> LLMResult:
    if "fail" in call.input:
        raise ConnectionError("refused")
    return LLMResult(
        generations=[[Generation(text=prompt.upper())] for prompt in call.input],
        llm_output={"token_usage": {"total_tokens": 7}, "model_name": "echo"},
    )


class Echo(hook_class(base=TextHookModel)):  # type: ignore[misc]
    """Answers each prompt with itself in capitals."""

    do: Any = Field(default=capitalize, exclude=True)
    temperature: float | None = None

    @property
    def _llm_type(self) -> str:
        return "echo"


async def in_thread(call: Any) -> Any:
    """Call a sync verb where no loop runs."""
    return await anyio.to_thread.run_sync(call)


def texts(result: LLMResult) -> list[str]:
    return [candidates[0].text for candidates in result.generations]


# -- one prompt


@pytest.mark.parametrize(
    ("given", "prompt"),
    [
        ("hi", "hi"),
        (StringPromptValue(text="hi"), "hi"),
        ([HumanMessage("hi")], "Human: hi"),
        ([("system", "Be brief."), "hi"], "System: Be brief.\nHuman: hi"),
    ],
    ids=repr,
)
async def test_an_input_becomes_a_text(given: Any, prompt: str) -> None:
    """LLM-05, LLM-06, MODEL-04: messages are read as one text, a line each with its role; the answer is a text."""
    model = Echo()
    assert await model.ainvoke(given) == prompt.upper()
    assert model.requests[0].input == [prompt]


async def test_the_config_of_one_run(recorder: Any) -> None:
    """LLM-05: callbacks, tags, metadata, name and id of the run, as for chat models."""
    run_id = uuid4()
    config: Any = {
        "callbacks": [recorder],
        "tags": ["t"],
        "metadata": {"m": 1},
        "run_name": "asking",
        "run_id": run_id,
    }
    await Echo(temperature=0.5).ainvoke("hi", config, stop=["."], top_p=1)
    _, (serialized, prompts), details = recorder.named("on_llm_start")[0]
    assert (serialized["name"], prompts, details["run_id"], details["name"]) == ("Echo", ["hi"], run_id, "asking")
    assert details["invocation_params"] == {"_type": "echo", "stop": ["."], "top_p": 1}
    assert details["tags"] == ["t"]
    assert details["metadata"] == {
        "m": 1,
        "ls_provider": "echo",
        "ls_model_type": "llm",
        "ls_temperature": 0.5,
        "ls_model_name": "echo",
        "ls_stop": ["."],
    }


async def test_prompts_are_answered_like_their_texts() -> None:
    """LLM-06: `agenerate_prompt` is `agenerate` of the prompts' texts."""
    model = Echo()
    prompts: Any = [StringPromptValue(text="a"), StringPromptValue(text="b")]
    assert texts(await model.agenerate_prompt(prompts)) == ["A", "B"]
    assert texts(await in_thread(lambda: model.generate_prompt(prompts))) == ["A", "B"]


# -- several prompts


async def test_many_prompts_are_one_request(recorder: Any) -> None:
    """LLM-02, LLM-18, LLM-24, LLM-27: one call of the hook, with the first run; a run and an end for each prompt."""
    model = Echo()
    run_id = uuid4()
    result = await model.agenerate(["a", "b", "c"], ["."], [recorder], run_id=run_id, top_p=1)
    assert texts(result) == ["A", "B", "C"]
    (asked,) = model.requests
    assert (asked.input, asked.stop, asked.params) == (["a", "b", "c"], ["."], {"top_p": 1})
    assert asked.run_manager.run_id == run_id
    assert [args[1] for _, args, _ in recorder.named("on_llm_start")] == [["a"], ["b"], ["c"]]
    assert [details["batch_size"] for *_, details in recorder.named("on_llm_start")] == [3, 3, 3]
    assert result.run is not None
    assert [run.run_id for run in result.run] == list(recorder.runs())
    assert next(iter(recorder.runs())) == run_id
    recorder.assert_every_run_ended_once()


async def test_usage_is_told_once(recorder: Any) -> None:
    """LLM-26: each run's end has its own answer; the usage of the request is with the first."""
    await Echo().agenerate(["a", "b"], callbacks=[recorder])
    responses = recorder.firsts("on_llm_end")
    assert [texts(response) for response in responses] == [["A"], ["B"]]
    assert [response.llm_output["token_usage"] for response in responses] == [{"total_tokens": 7}, {}]
    assert [response.llm_output["model_name"] for response in responses] == ["echo", "echo"]


async def test_a_failed_request_fails_every_run(recorder: Any) -> None:
    """LLM-25: each run is told the error, with no answer; it is raised as itself."""
    with pytest.raises(ConnectionError, match="refused"):
        await Echo().agenerate(["a", "fail", "b"], callbacks=[recorder])
    assert recorder.names == ["on_llm_start"] * 3 + ["on_llm_error"] * 3
    assert [details["response"].generations for *_, details in recorder.named("on_llm_error")] == [[], [], []]
    recorder.assert_every_run_ended_once()


@pytest.mark.parametrize("prompts", ["abc", ("a", "b"), {"a"}, None, 42], ids=repr)
async def test_prompts_must_be_a_list(prompts: Any) -> None:
    """LLM-07: a bare text is not read letter by letter; the error names the type."""
    with pytest.raises(InvalidInput, match=rf"list\[str\].*{type(prompts).__name__}"):
        await Echo().agenerate(prompts)
    with pytest.raises(ValueError, match="prompts"):
        await in_thread(lambda: Echo().generate(prompts))


async def test_prompts_must_be_texts() -> None:
    """LLM-07: one that is no text is named."""
    with pytest.raises(InvalidInput, match="HumanMessage"):
        await Echo().agenerate(["a", HumanMessage("b")])  # type: ignore[list-item]


async def test_no_prompt_gives_no_answer(recorder: Any) -> None:
    """LLM-18: nothing asked, nothing said, no run."""
    result = await Echo().agenerate([], callbacks=[recorder])
    assert (result.generations, result.llm_output, result.run, recorder.events) == ([], {}, [], [])


@pytest.mark.parametrize(
    ("generations", "error", "why"),
    [
        ([[Generation(text="A")]], InvalidHook, "1 lists of candidates for 2 prompts"),
        ([[Generation(text="A")], []], EmptyResponse, "no candidate"),
    ],
    ids=["too few", "empty"],
)
async def test_an_answer_for_each_prompt_is_checked(generations: Any, error: Any, why: str, recorder: Any) -> None:
    """LLM-02: a hook that answers fewer prompts than it was asked loses none silently."""

    class Short(Echo):
        async def _agenerate(self, prompts: list[str], stop: Any = None, **kwargs: Any) -> LLMResult:  # type: ignore[override]
            return LLMResult(generations=generations)

    with pytest.raises(error, match=why):
        await Short().agenerate(["a", "b"], callbacks=[recorder])
    recorder.assert_every_run_ended_once()


# -- callbacks, tags, metadata, names and ids for each prompt


@pytest.mark.parametrize("manager", [AsyncCallbackManager, CallbackManager])
@pytest.mark.parametrize("form", ["none", "empty", "handlers", "lists", "managers", "mixed"])
async def test_callbacks_for_all_or_for_each(form: str, manager: Any, recorder: Any) -> None:
    """LLM-09, LLM-15: a list that starts with a list, a manager or None is one for each prompt; any other is for all."""
    first, second = Recorder(*MODEL_EVENTS), Recorder(*MODEL_EVENTS)
    forms: dict[str, tuple[Any, int, int]] = {
        "none": (None, 0, 0),
        "empty": ([], 0, 0),
        "handlers": ([first, second], 2, 2),
        "lists": ([[first], [second]], 1, 1),
        "managers": ([manager(handlers=[first]), manager(handlers=[second])], 1, 1),
        "mixed": ([None, [second]], 0, 1),
    }
    callbacks, *counts = forms[form]
    await Echo().agenerate(["a", "b"], callbacks=callbacks)
    assert [len(list(first.runs())), len(list(second.runs()))] == counts


async def test_everything_else_for_each_prompt(recorder: Any) -> None:
    """LLM-08, LLM-09, LLM-14: tags, metadata, names and ids, one a prompt, reach their own run."""
    ids = [uuid4(), uuid4()]
    await Echo().agenerate(
        ["a", "b"],
        callbacks=[[recorder], [recorder]],
        tags=[["x"], ["y"]],
        metadata=[{"m": 1}, {"m": 2}],
        run_name=["first", "second"],
        run_id=ids,  # type: ignore[arg-type]
    )
    told = [details for *_, details in recorder.named("on_llm_start")]
    assert [details["tags"] for details in told] == [["x"], ["y"]]
    assert [details["metadata"]["m"] for details in told] == [1, 2]
    assert [details["name"] for details in told] == ["first", "second"]
    assert [details["run_id"] for details in told] == ids


@pytest.mark.parametrize("metadata", [None, {"m": 1}, [{"m": 1}, {"m": 1}]], ids=str)
async def test_what_tracers_want_is_always_told(metadata: Any, recorder: Any) -> None:
    """LLM-08: provider and kind are in the metadata in all its forms; LangChain leaves them out of one."""
    callbacks = [[recorder], [recorder]] if isinstance(metadata, list) else [recorder]
    await Echo().agenerate(["a", "b"], callbacks=callbacks, metadata=metadata)
    for *_, details in recorder.named("on_llm_start"):
        assert details["metadata"]["ls_provider"] == "echo"
        assert details["metadata"].get("m") == (None if metadata is None else 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tags", [["x"]]),
        ("tags", []),
        ("metadata", [{}]),
        ("metadata", {"m": 1}),
        ("run_name", ["first"]),
        ("run_name", "first"),
    ],
    ids=str,
)
async def test_lists_must_be_as_long_as_the_prompts(name: str, value: Any, recorder: Any) -> None:
    """LLM-11, LLM-12, LLM-13: with callbacks for each prompt, all that is given is one for each; the error says so."""
    with pytest.raises(InvalidInput, match=f"{name} must be a list of the same length as prompts"):
        await Echo().agenerate(["a", "b"], callbacks=[[recorder], [recorder]], **{name: value})
    assert recorder.events == []


async def test_callbacks_must_be_as_many_as_the_prompts(recorder: Any) -> None:
    """LLM-10: the error names both lengths."""
    with pytest.raises(ValueError, match=r"callbacks must be a list of the same length as prompts.*1.*2"):
        await Echo().agenerate(["a", "b"], callbacks=[[recorder]])


async def test_run_ids() -> None:
    """LLM-14: none, one for the first prompt, or a list of one for each; a list of another length is refused."""
    run_id = uuid4()
    for given, expected in ((None, [None, None]), (run_id, [run_id, None]), ([run_id, None], [run_id, None])):
        result = await Echo().agenerate(["a", "b"], run_id=given)
        assert result.run is not None
        assert [run.run_id if run.run_id == run_id else None for run in result.run] == expected
    with pytest.raises(InvalidInput, match="Number of manually provided run_id's does not match batch length"):
        await Echo().agenerate(["a", "b"], run_id=[run_id])  # type: ignore[list-item]


async def test_no_callbacks_in_a_config_are_none() -> None:
    """LLM-05: ``{"callbacks": []}`` is fine; LangChain's async verb raises IndexError."""
    assert await Echo().ainvoke("a", {"callbacks": []}) == "A"
    assert await in_thread(lambda: Echo().invoke("a", {"callbacks": []})) == "A"


# -- batches and streams


async def test_a_batch_asks_each_prompt_for_itself(recorder: Any) -> None:
    """LLM-30: inputs of a batch are requests of their own, `max_concurrency` at a time; an error is in its own place.

    LangChain sends them as one request, and puts the one error in every place.
    """
    model = Echo()
    answers = await model.abatch(["a", "fail", "b"], {"max_concurrency": 2}, return_exceptions=True)
    assert [type(answer) for answer in answers] == [str, ConnectionError, str]
    assert (answers[0], answers[2]) == ("A", "B")
    assert sorted(asked.input for asked in model.requests) == [["a"], ["b"], ["fail"]]
    with pytest.raises(ConnectionError, match="refused"):
        await model.abatch(["a", "fail"])


async def test_a_stream_of_texts(recorder: Any) -> None:
    """LLM-04: pieces are texts; handlers are told of each, without the hook's doing; the end has the whole."""

    class Streaming(Echo):
        async def _astream(self, prompt: str, stop: Any = None, **kwargs: Any) -> AsyncIterator[GenerationChunk]:
            for letter in prompt:
                yield GenerationChunk(text=letter, generation_info={"last": letter})

    assert [piece async for piece in Streaming().astream("abc", {"callbacks": [recorder]})] == ["a", "b", "c"]
    assert recorder.firsts("on_llm_new_token") == ["a", "b", "c"]
    (response,) = recorder.firsts("on_llm_end")
    assert (texts(response), response.generations[0][0].generation_info) == (["abc"], {"last": "c"})
    assert await Streaming().ainvoke("abc", stream=True) == "abc"
    assert await Streaming().ainvoke("abc") == "ABC"


async def test_a_model_without_a_stream_hook_streams_one_piece() -> None:
    """LLM-04: `astream` gives what `ainvoke` returns."""
    assert [piece async for piece in Echo().astream("abc")] == ["ABC"]


async def test_stream_hooks_answer_several_prompts() -> None:
    """LLM-02, LLM-04: a model that can only stream answers a list of prompts, too, one after another."""
    model = hook_llm(lambda call: list(call.text.upper()), "astream")
    assert texts(await model.agenerate(["ab", "cd"])) == ["AB", "CD"]


# -- LLM: a text in, a text out


class Reverse(LLM):
    """Answers a prompt with its reverse, once it has been asked for as many as it expects."""

    expected: int = 0
    asked: int = Field(default=0, exclude=True)
    all_there: Any = Field(default=None, exclude=True)

    async def _acall(self, prompt: str, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
        self.all_there = self.all_there or anyio.Event()
        self.asked += 1
        if self.asked >= self.expected:
            self.all_there.set()
        with anyio.fail_after(30):
            await self.all_there.wait()
        if prompt == "fail":
            raise ConnectionError("refused")
        return prompt[::-1]

    @property
    def _llm_type(self) -> str:
        return "reverse"


async def test_prompts_of_an_llm_are_answered_at_once() -> None:
    """LLM-28: in async code several prompts are answered together, in order; LangChain's loop is one by one."""
    prompts = [f"a{index}" for index in range(20)]
    assert texts(await Reverse(expected=20).agenerate(prompts)) == [prompt[::-1] for prompt in prompts]


async def test_a_failing_prompt_of_an_llm_cancels_the_others(recorder: Any) -> None:
    """LLM-25, LLM-28: the error is raised as itself, and told to every run of the request."""
    with pytest.raises(ConnectionError, match="refused"):
        await Reverse().agenerate(["a", "fail", "b"], callbacks=[recorder])
    assert recorder.names == ["on_llm_start"] * 3 + ["on_llm_error"] * 3


async def test_an_llm_answers_its_batch_at_once() -> None:
    """LLM-28, LLM-30: ten inputs of a batch are ten calls at a time."""
    assert await Reverse(expected=10).abatch(["ab"] * 10) == ["ba"] * 10


def test_a_fake_llm_in_sync_code(recorder: Any) -> None:
    """LLM-29: the sync verbs of an LLM with a sync hook need no loop."""
    model = FakeListLLM(responses=["a", "b", "c"])
    assert model.invoke("x", {"callbacks": [recorder]}) == "a"
    assert texts(model.generate(["y", "z"], callbacks=[recorder])) == ["b", "c"]
    recorder.assert_every_run_ended_once()
