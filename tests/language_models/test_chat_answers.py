"""What a chat model's verbs give back: the message, its id and metadata, and what handlers are told of the run."""

from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from hocket import (
    AIMessage,
    ChatGeneration,
    ChatResult,
    HumanMessage,
    InMemoryCache,
    LLMResult,
    ParrotFakeChatModel,
    StringPromptValue,
)
from tests.kit import MODEL_EVENTS, HookCall, Recorder, hook_class, hook_model


class Returning(hook_class()):  # type: ignore[misc]
    """Returns the result it was made with."""

    temperature: float | None = None

    @property
    def _llm_type(self) -> str:
        return "returning"

    def _combine_llm_outputs(self, llm_outputs: list[dict[str, Any] | None]) -> dict[str, Any]:
        return {"tokens": sum((output or {}).get("tokens", 0) for output in llm_outputs)}


def answering(*messages: AIMessage, output: dict[str, Any] | None = None, info: Any = None, **fields: Any) -> Returning:
    """A model that returns these candidates."""
    generations = [ChatGeneration(message=message, generation_info=info) for message in messages]
    return Returning(do=ChatResult(generations=generations, llm_output=output), **fields)


# -- the message


async def test_the_answer_is_the_first_candidate() -> None:
    """BCM-20: `generations[0][0].message`."""
    assert (await answering(AIMessage("a"), AIMessage("b")).ainvoke("hi")).content == "a"


async def test_an_id_is_given_where_there_is_none() -> None:
    """BCM-44: ``lc_run--<run id>-<index of the candidate>``; an id that the provider gave stays."""
    run_id = uuid4()
    model = answering(AIMessage("a"), AIMessage("b", id="given"), AIMessage("c"))
    result = await model.agenerate([[HumanMessage("hi")]], run_id=run_id)
    ids = [candidate.message.id for candidate in result.generations[0]]  # type: ignore[attr-defined]
    assert ids == [f"lc_run--{run_id}-0", "given", f"lc_run--{run_id}-2"]
    assert (await model.ainvoke("hi", {"run_id": run_id})).id == ids[0]


async def test_two_runs_have_two_ids() -> None:
    """BCM-44: without a run id in the config, each call has one of its own."""
    model = answering(AIMessage("a"))
    ids = [(await model.ainvoke("hi")).id for _ in range(2)]
    assert len(set(ids)) == 2


async def test_the_hooks_own_message_stays_as_it_is() -> None:
    """BCM-44: a hook may keep what it returns: ids and metadata are put on a copy."""
    model = answering(AIMessage("a"), output={"model_name": "m"}, info={"finish_reason": "stop"})
    first, second = await model.ainvoke("hi"), await model.ainvoke("hi")
    kept = model.do.generations[0].message
    assert (kept.id, kept.response_metadata) == (None, {})
    assert first.id != second.id
    first.response_metadata["more"] = 1
    assert "more" not in second.response_metadata


async def test_what_was_said_of_an_answer_is_in_its_metadata() -> None:
    """BCM-45, BCM-46: result, generation, message: the closer to the message, the more its keys count."""
    message = AIMessage("a", response_metadata={"from": "message"})
    info = {"from": "info", "info": 1}
    model = answering(message, output={"from": "output", "info": 0, "output": 2}, info=info)
    assert (await model.ainvoke("hi")).response_metadata == {"from": "message", "info": 1, "output": 2}


async def test_the_output_of_several_candidates_is_nobodys() -> None:
    """BCM-46: with two candidates, `llm_output` is merged into neither."""
    result = await answering(AIMessage("a"), AIMessage("b"), output={"tokens": 3}).agenerate([[HumanMessage("hi")]])
    assert [candidate.message.response_metadata for candidate in result.generations[0]] == [{}, {}]  # type: ignore[attr-defined]
    assert result.llm_output == {"tokens": 3}


async def test_the_result_of_several_conversations() -> None:
    """BCM-33: candidates for each, the combined output, and the runs, in order."""
    run_id = uuid4()
    result = await answering(AIMessage("a"), output={"tokens": 3}).agenerate(
        [[HumanMessage("x")], [HumanMessage("y")]], run_id=run_id
    )
    assert isinstance(result, LLMResult)
    assert [[candidate.text for candidate in candidates] for candidates in result.generations] == [["a"], ["a"]]
    assert result.llm_output == {"tokens": 6}
    assert result.run is not None
    assert result.run[0].run_id == run_id
    assert len({run.run_id for run in result.run}) == 2


async def test_prompts_are_answered_like_their_messages() -> None:
    """BCM-21: `agenerate_prompt` is `agenerate` of the prompts' messages."""
    model = ParrotFakeChatModel()
    result = await model.agenerate_prompt([StringPromptValue(text="x"), StringPromptValue(text="y")])
    assert [candidates[0].text for candidates in result.generations] == ["x", "y"]
    assert model.generate_prompt([StringPromptValue(text="x")]).generations[0][0].text == "x"


# -- what handlers are told


async def test_the_start_says_how_the_model_is_called(recorder: Any) -> None:
    """BCM-23, BCM-24, BCM-27: invocation parameters, options and the number of prompts, as LangChain tells them."""
    await answering(AIMessage("a"), temperature=0.5).ainvoke(
        "hi", {"callbacks": [recorder], "run_name": "asking"}, stop=["."], top_p=0.9
    )
    _, (serialized, (messages,)), details = recorder.named("on_chat_model_start")[0]
    assert serialized["name"] == "Returning"
    assert list(messages) == [HumanMessage("hi")]
    assert details["invocation_params"] == {"_type": "returning", "stop": ["."], "top_p": 0.9}
    assert details["options"] == {"stop": ["."]}
    assert (details["batch_size"], details["name"]) == (1, "asking")


async def test_the_format_wanted_is_for_tracers_only(recorder: Any) -> None:
    """BCM-22: a structured-output format is told as an option, and reaches neither hook nor cache key."""
    wanted = {"kwargs": {"method": "json_schema"}, "schema": {"title": "Answer"}}
    model = answering(AIMessage("a"), cache=InMemoryCache())
    for name in ("ls_structured_output_format", "structured_output_format"):
        await model.ainvoke("hi", {"callbacks": [recorder]}, **{name: wanted})
    assert [call.params for call in model.requests] == [{}]
    for *_, details in recorder.named("on_chat_model_start"):
        assert details["options"]["ls_structured_output_format"] == wanted
        assert "structured_output_format" not in details["invocation_params"]


async def test_metadata_of_the_model_comes_over_the_calls(recorder: Any) -> None:
    """BCM-25: provider, model, kind, temperature, limit and stop under LangSmith's names, over the call's own keys."""

    class ChatAcme(Returning):
        model_name: str = "acme-1"
        max_tokens: int = 64

    model = ChatAcme(do="a", temperature=0.5)
    await model.ainvoke("hi", {"callbacks": [recorder], "metadata": {"ls_provider": "mine", "user": 7}}, stop=["."])
    assert recorder.only("on_chat_model_start").details["metadata"] == {
        "ls_provider": "acme",
        "ls_model_type": "chat",
        "ls_model_name": "acme-1",
        "ls_temperature": 0.5,
        "ls_max_tokens": 64,
        "ls_stop": ["."],
        "user": 7,
    }


async def test_a_calls_arguments_are_in_the_metadata(recorder: Any) -> None:
    """BCM-25: the call's temperature, and not the field that it overrides."""
    await answering(AIMessage("a"), temperature=0.5).ainvoke("hi", {"callbacks": [recorder]}, temperature=1, model="m")
    metadata = recorder.only("on_chat_model_start").details["metadata"]
    assert (metadata["ls_temperature"], metadata["ls_model_name"]) == (1, "m")


async def test_children_inherit_what_the_call_brings(recorder: Any) -> None:
    """BCM-26: the call's handlers, tags and metadata go on to runs inside; the model's own do not."""

    inner_model = answering(AIMessage("b"))

    async def nest(call: HookCall) -> str:
        await inner_model.ainvoke("inner", {"callbacks": call.run_manager.get_child("step")})
        return "a"

    own = Recorder(*MODEL_EVENTS)
    model = hook_model(nest, callbacks=[own], tags=["own"], metadata={"own": 1})
    await model.ainvoke("hi", {"callbacks": [recorder], "tags": ["call"], "metadata": {"call": 1}})

    outer, inner = (details for *_, details in recorder.named("on_chat_model_start"))
    assert inner["parent_run_id"] == outer["run_id"]
    assert (set(outer["tags"]), set(inner["tags"])) == ({"own", "call"}, {"call", "step"})
    assert inner["metadata"]["call"] == 1
    assert "own" not in inner["metadata"]
    assert list(own.runs()) == [outer["run_id"]]


async def test_each_conversation_is_a_run(recorder: Any) -> None:
    """BCM-27: one start a prompt, in order, ids distinct; a run id given is the first one's."""
    run_id = uuid4()
    conversations = [[HumanMessage(text)] for text in "xyz"]
    await answering(AIMessage("a")).agenerate(conversations, callbacks=[recorder], run_id=run_id)  # type: ignore[arg-type]
    started = list(recorder.runs())
    assert started[0] == run_id
    assert len(set(started)) == 3
    assert [details["batch_size"] for *_, details in recorder.named("on_chat_model_start")] == [3, 3, 3]
    assert [next(iter(args[1][0])).content for _, args, _ in recorder.named("on_chat_model_start")] == ["x", "y", "z"]
    recorder.assert_every_run_ended_once()


async def test_a_run_id_is_for_one_run(recorder: Any) -> None:
    """BCM-18: a run id in a config names this run alone; the caller's config stays as it was."""
    config: Any = {"run_id": uuid4(), "callbacks": [recorder]}
    before = dict(config)
    await answering(AIMessage("a")).abatch(["x", "y"], config)
    assert config == before
    assert config["run_id"] in list(recorder.runs())
    assert len(set(list(recorder.runs()))) == 2


async def test_a_handler_of_text_models_hears_chat_models() -> None:
    """BCM-28: a handler without `on_chat_model_start` gets the conversation as one text."""
    legacy = Recorder("on_llm_start")
    await answering(AIMessage("a")).ainvoke([("system", "Be brief."), "hi"], {"callbacks": [legacy]})
    _, (_, prompts), details = legacy.only("on_llm_start")
    assert (prompts, type(details["run_id"])) == (["System: Be brief.\nHuman: hi"], UUID)


async def test_the_end_is_told_with_a_result_of_its_own(recorder: Any) -> None:
    """BCM-34: each run's end has its own answer, ids and metadata in, as a copy."""
    model = answering(AIMessage("a"), output={"tokens": 3})
    answer = await model.ainvoke("hi", {"callbacks": [recorder]})
    (response,) = recorder.firsts("on_llm_end")
    assert response.generations[0][0].message == answer
    assert response.llm_output == {"tokens": 3}
    response.generations[0][0].message.content = "edited"
    assert answer.content == "a"


# -- failures


def failing_model(error: Exception) -> Any:
    """Make a model that raises; as a stream, after a chunk."""

    async def begin() -> AsyncIterator[str]:
        yield "so far"
        raise error

    return hook_model(lambda call: begin() if call.hook == "astream" else error, "agenerate", "astream")


async def test_an_error_is_raised_as_itself(recorder: Any) -> None:
    """MODEL-11: the hook's own error, not one around it; handlers hear of it once."""
    error = KeyError("x")
    with pytest.raises(KeyError) as raised:
        await failing_model(error).ainvoke("hi", {"callbacks": [recorder]})
    assert raised.value is error
    assert recorder.names == ["on_chat_model_start", "on_llm_error"]
    _, (told,), details = recorder.only("on_llm_error")
    assert told is error
    assert details["response"].generations == []


def refusal(**fields: Any) -> Exception:
    """An error as httpx's, and the SDKs built on it, raise them."""
    error = RuntimeError("429")
    error.response = SimpleNamespace(  # type: ignore[attr-defined]
        status_code=429,
        headers={"x-request-id": "req_1", "set-cookie": "secret"},
        json=lambda: {"error": "secret"},
        **fields,
    )
    return error


async def test_a_providers_refusal_is_told_with_its_status(recorder: Any) -> None:
    """BCM-32: handlers get status and request id of an HTTP error; its headers and body, which may hold secrets, not."""
    with pytest.raises(RuntimeError, match="429"):
        await failing_model(refusal()).ainvoke("hi", {"callbacks": [recorder]})
    response = recorder.only("on_llm_error").details["response"]
    assert response.generations[0][0].message.response_metadata == {"status_code": 429, "request_id": "req_1"}
    assert "secret" not in repr(response)


async def test_a_refusal_in_a_stream_keeps_what_came_before(recorder: Any) -> None:
    """BCM-32, BCM-49: the partial answer is the first candidate, the refusal the second."""
    with pytest.raises(RuntimeError, match="429"):
        [chunk async for chunk in failing_model(refusal()).astream("hi", {"callbacks": [recorder]})]
    (candidates,) = recorder.only("on_llm_error").details["response"].generations
    assert [candidate.text for candidate in candidates] == ["so far", ""]
    assert candidates[1].message.response_metadata["status_code"] == 429


class Identified(Returning):
    """Has parameters that identify it."""

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"temperature": self.temperature}


async def test_parameters_are_part_of_the_key() -> None:
    """BCM-17, BCM-37: another temperature, another stop word, another option: another question to the cache."""
    model = Identified()
    keys = {
        model._get_llm_string(),
        model._get_llm_string(["."]),
        model._get_llm_string(top_p=1),
        model._get_llm_string(top_p=2),
        model.model_copy(update={"temperature": 1.0})._get_llm_string(),
    }
    assert len(keys) == 5
    assert model._get_llm_string(a=1, b=2) == model._get_llm_string(b=2, a=1)
