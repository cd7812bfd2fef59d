"""What handlers are told, word for word: LangChain's names and arguments, so that a handler finds what it looks for."""

from typing import Any
from uuid import UUID, uuid4

import anyio
import pytest

from hocket.caches import InMemoryCache
from hocket.language_models import FakeListChatModel, FakeListLLM, FakeStreamingListLLM
from hocket.load import dumpd
from hocket.messages import AIMessage, HumanMessage, SystemMessage
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, Generation, GenerationChunk, LLMResult
from hocket.rate_limiters import InMemoryRateLimiter
from tests.kit import Event, HookCall, Recorder, TextHookModel, hook_class, hook_model


def answer(call: HookCall) -> ChatResult:
    """Answer with all that a provider says beside the text."""
    message = AIMessage("hi", response_metadata={"model_name": "plain-1"})
    return ChatResult(
        generations=[ChatGeneration(message=message, generation_info={"finish_reason": "stop"})],
        llm_output={"token_usage": {"total_tokens": 3}},
    )


class Plain(hook_class("agenerate")):
    """Has parameters, and is not made for serialisation."""

    model: str = "plain-1"
    temperature: float | None = 0.5
    max_tokens: int | None = None
    do: Any = answer

    @property
    def _llm_type(self) -> str:
        return "plain"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "temperature": self.temperature}


async def test_the_start_of_a_chat_model() -> None:
    """`on_chat_model_start(serialized, [messages], run_id=…, …)`, with all that LangChain tells, and nothing else."""
    recorder, run_id = Recorder(), uuid4()
    config = {"callbacks": [recorder], "tags": ["t"], "metadata": {"user": 1}, "run_name": "ask", "run_id": run_id}
    await Plain().ainvoke([SystemMessage("Be kind."), HumanMessage("x")], config, stop=["."], top_k=3)

    _, args, kwargs = recorder.only("on_chat_model_start")
    serialized, conversations = args
    assert serialized == {
        "lc": 1,
        "type": "not_implemented",
        "id": [*Plain.lc_id()],
        "repr": None,
        "name": "Plain",
    }
    assert conversations == [[SystemMessage("Be kind."), HumanMessage("x")]]
    assert kwargs == {
        "run_id": run_id,
        "parent_run_id": None,
        "tags": ["t"],
        "metadata": {
            "user": 1,
            "ls_provider": "plain",
            "ls_model_type": "chat",
            "ls_model_name": "plain-1",
            "ls_temperature": 0.5,
            "ls_stop": ["."],
        },
        "invocation_params": {"model": "plain-1", "temperature": 0.5, "_type": "plain", "stop": ["."], "top_k": 3},
        "options": {"stop": ["."]},
        "name": "ask",
        "batch_size": 1,
        "stream": False,
    }


async def test_a_model_that_travels_as_data_is_told_as_such() -> None:
    """`serialized` is what `dumpd` gives, with the name."""
    recorder, model = Recorder(), FakeListChatModel(responses=["hi"])
    await model.ainvoke("x", {"callbacks": [recorder]})
    serialized, _ = recorder.only("on_chat_model_start").args
    assert serialized == {**dumpd(model), "name": "FakeListChatModel"}


async def test_the_end_of_a_chat_model() -> None:
    """`on_llm_end(result, run_id=…, parent_run_id=…, tags=…)`: the result as the caller gets it, run for run."""
    recorder = Recorder()
    answer = await Plain().ainvoke("x", {"callbacks": [recorder], "tags": ["t"]})

    _, (response,), kwargs = recorder.only("on_llm_end")
    assert isinstance(response, LLMResult)
    ((generation,),) = response.generations
    assert generation.message == answer
    assert generation.text == "hi"
    assert generation.generation_info == {"finish_reason": "stop"}
    assert response.llm_output == {"token_usage": {"total_tokens": 3}}
    started = recorder.only("on_chat_model_start").details
    assert kwargs == {"run_id": started["run_id"], "parent_run_id": None, "tags": ["t"]}


async def test_tokens() -> None:
    """`on_llm_new_token(text, chunk=…, run_id=…, parent_run_id=…, tags=…)`, for every chunk that the consumer gets."""
    recorder = Recorder()
    chunks = [
        chunk
        async for chunk in FakeListChatModel(responses=["ab"]).astream("x", {"callbacks": [recorder], "tags": ["t"]})
    ]

    tokens = [(args, kwargs) for _, args, kwargs in recorder.named("on_llm_new_token")]
    assert [args for args, _ in tokens] == [("a",), ("b",)]
    assert [kwargs["chunk"].message for _, kwargs in tokens] == chunks
    assert all(type(kwargs["chunk"]) is ChatGenerationChunk for _, kwargs in tokens)
    run_id = recorder.events[0][2]["run_id"]
    for _, kwargs in tokens:
        del kwargs["chunk"]
        assert kwargs == {"run_id": run_id, "parent_run_id": None, "tags": ["t"]}


async def test_a_stream_tells_when_its_first_token_came() -> None:
    """`on_first_token(seconds)` comes once, before the token."""
    recorder = Recorder()
    async for _ in FakeListChatModel(responses=["ab"]).astream("x", {"callbacks": [recorder]}):
        pass
    assert recorder.names == [
        "on_chat_model_start",
        "on_first_token",
        "on_llm_new_token",
        "on_llm_new_token",
        "on_llm_end",
    ]
    (seconds,) = recorder.firsts("on_first_token")
    assert 0 <= seconds < 60


async def test_cache_hits_and_waits_for_the_limiter(virtual_clock: Any) -> None:
    """What LangChain has no event for: `on_cache_hit()`, and `on_limiter_wait(seconds)` where it was worth telling."""
    recorder = Recorder()
    limiter = InMemoryRateLimiter(requests_per_second=2, max_bucket_size=1)
    model = FakeListChatModel(responses=["hi"], cache=InMemoryCache(), rate_limiter=limiter)
    for text in ("a", "b", "b"):
        await model.ainvoke(text, {"callbacks": [recorder], "tags": ["t"]})

    start, end = "on_chat_model_start", "on_llm_end"
    assert recorder.names[-6:] == [start, "on_limiter_wait", end, start, "on_cache_hit", end]
    *_, (_, (seconds,), waited), _, _, (_, nothing, hit), _ = recorder.events
    assert seconds == pytest.approx(0.5, abs=0.01)
    assert nothing == ()
    assert set(waited) == set(hit) == {"run_id", "parent_run_id", "tags"}


async def test_an_error() -> None:
    """`on_llm_error(error, response=…)`, with what had come until then."""
    recorder = Recorder()
    model = FakeListChatModel(responses=["abc"], error_on_chunk_number=2)
    with pytest.raises(Exception) as caught:
        async for _ in model.astream("x", {"callbacks": [recorder]}):
            pass

    _, (error,), kwargs = recorder.only("on_llm_error")
    assert error is caught.value
    assert kwargs["response"].generations[0][0].text == "ab"
    assert set(kwargs) == {"run_id", "parent_run_id", "tags", "response", "estimated_usage"}


async def test_an_error_before_anything_came() -> None:
    """The response is there, and empty."""
    recorder = Recorder()
    with pytest.raises(Exception, match="chunk 0"):
        async for _ in FakeListChatModel(responses=["a"], error_on_chunk_number=0).astream(
            "x", {"callbacks": [recorder]}
        ):
            pass
    *_, kwargs = recorder.only("on_llm_error")
    assert kwargs["response"].generations == []


def answer_texts(call: HookCall) -> LLMResult:
    generations = [[Generation(text=prompt.upper())] for prompt in call.input]
    return LLMResult(generations=generations, llm_output={"token_usage": {"total_tokens": 7}, "kind": "upper"})


class Texts(hook_class("agenerate", base=TextHookModel)):
    """A text model with parameters."""

    model_name: str = "texts-1"
    do: Any = answer_texts

    @property
    def _llm_type(self) -> str:
        return "texts"


async def test_the_runs_of_a_text_model() -> None:
    """`on_llm_start(serialized, [prompt], …)` once a prompt, all before any end; usage goes to the first end alone."""
    recorder, run_id = Recorder(), uuid4()
    result = await Texts().agenerate(["a", "b"], ["."], [recorder], tags=["t"], run_name="ask", run_id=run_id, n=1)

    assert recorder.names == ["on_llm_start", "on_llm_start", "on_llm_end", "on_llm_end"]
    (_, (_, prompts), first), (_, (_, other), second), *ends = recorder.events
    assert (prompts, other) == (["a"], ["b"])
    assert result.run is not None
    assert [first["run_id"], second["run_id"]] == [run.run_id for run in result.run]
    assert first["run_id"] == run_id != second["run_id"]
    assert first == {
        "run_id": run_id,
        "parent_run_id": None,
        "tags": ["t"],
        "metadata": {
            "ls_provider": "texts",
            "ls_model_type": "llm",
            "ls_model_name": "texts-1",
            "ls_stop": ["."],
        },
        "invocation_params": {**Texts().asdict(), "stop": ["."], "n": 1},
        "options": {"stop": ["."]},
        "name": "ask",
        "batch_size": 2,
        "stream": False,
    }
    assert [args[0].generations[0][0].text for _, args, _ in ends] == ["A", "B"]
    assert [args[0].llm_output["token_usage"] for _, args, _ in ends] == [{"total_tokens": 7}, {}]
    assert [kwargs["run_id"] for _, _, kwargs in ends] == [first["run_id"], second["run_id"]]


async def test_the_tokens_of_a_text_model() -> None:
    """The chunk is a `GenerationChunk`."""
    recorder = Recorder()
    texts = [text async for text in FakeStreamingListLLM(responses=["ab"]).astream("x", {"callbacks": [recorder]})]
    tokens = [(args[0], kwargs["chunk"]) for _, args, kwargs in recorder.named("on_llm_new_token")]
    assert tokens == [("a", GenerationChunk(text="a")), ("b", GenerationChunk(text="b"))]
    assert texts == ["a", "b"]


async def test_conversations_of_one_call_are_runs_of_their_own() -> None:
    """`batch_size` is the number of all; the given run id is the first one's; every end names its start."""
    recorder, run_id = Recorder(), uuid4()
    conversations = [[HumanMessage(text)] for text in "abc"]
    result = await Plain().agenerate(conversations, callbacks=[recorder], run_id=run_id)

    starts = [(args[1][0], kwargs) for _, args, kwargs in recorder.named("on_chat_model_start")]
    assert recorder.names[:3] == ["on_chat_model_start"] * 3
    assert [messages for messages, _ in starts] == conversations
    assert [kwargs["batch_size"] for _, kwargs in starts] == [3, 3, 3]
    ids = [kwargs["run_id"] for _, kwargs in starts]
    assert ids[0] == run_id and len(set(ids)) == 3
    assert result.run is not None and [run.run_id for run in result.run] == ids
    assert sorted(end.details["run_id"] for end in recorder.named("on_llm_end")) == sorted(ids)


async def test_run_ids_are_version_7_uuids_and_name_the_message() -> None:
    """They sort by time; a message without an id of its own gets its run's."""
    recorder = Recorder()
    answer = await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [recorder]})
    run_id = recorder.events[0][2]["run_id"]
    assert isinstance(run_id, UUID) and run_id.version == 7
    assert answer.id is not None and str(run_id) in answer.id


class Named(Plain):
    """Says of itself what tracers ask."""

    def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> dict[str, Any]:
        return {"ls_provider": "mine", "ls_model_type": "chat", "ls_temperature": kwargs.get("temperature")}


async def test_what_the_model_says_to_tracers_comes_over_the_calls_metadata_and_under_the_models_own() -> None:
    """LangChain's order: config, then `_get_ls_params` (which sees the call's options), then the model's `metadata`."""
    recorder = Recorder()
    model = Named(metadata={"ls_temperature": "of the model", "own": True})
    metadata = {"ls_provider": "of the call", "ls_temperature": "of the call", "user": 1}
    await model.ainvoke("x", {"callbacks": [recorder], "metadata": metadata}, temperature=0.1)
    assert recorder.events[0][2]["metadata"] == {
        "ls_provider": "mine",
        "ls_model_type": "chat",
        "ls_temperature": "of the model",
        "user": 1,
        "own": True,
    }


async def test_an_option_of_the_call_is_what_tracers_are_told() -> None:
    """The temperature of this very call, not the model's."""
    recorder = Recorder()
    await Plain().ainvoke("x", {"callbacks": [recorder]}, temperature=0.1, max_tokens=7)
    told = recorder.events[0][2]["metadata"]
    assert (told["ls_temperature"], told["ls_max_tokens"]) == (0.1, 7)


def without_ids(events: list[Event]) -> list[tuple[Any, ...]]:
    """Leave out what differs from run to run: ids, the time to the first token, and whether a thread was needed."""
    plain: list[tuple[Any, ...]] = []
    for name, args, kwargs in events:
        if name == "on_offload":
            continue
        kwargs = {key: value for key, value in kwargs.items() if key not in ("run_id", "chunk")}
        if name == "on_llm_end":
            args = tuple((result.generations[0][0].text, result.llm_output) for result in args)
        plain.append((name, () if name == "on_first_token" else args, kwargs))
    return plain


@pytest.mark.parametrize(
    "model",
    [
        hook_model(["a", "b"], "stream", name="m"),
        hook_model(["a", "b"], "astream", name="m"),
        FakeListLLM(responses=["a"]),
    ],
)
def test_sync_and_async_verbs_tell_the_same(model: Any) -> None:
    """One path: a handler cannot tell by its events which verb was used; only that a hook went to a thread."""

    def streamed(handler: Recorder) -> None:
        for _ in model.stream("x", {"callbacks": [handler], "metadata": {"a": 1}}, stop=["."]):
            pass

    async def astreamed(handler: Recorder) -> None:
        async for _ in model.astream("x", {"callbacks": [handler], "metadata": {"a": 1}}, stop=["."]):
            pass

    of_sync, of_async = Recorder(), Recorder()
    streamed(of_sync)
    anyio.run(astreamed, of_async)
    assert without_ids(of_sync.events) == without_ids(of_async.events)
    model.invoke("x", {"callbacks": [of_sync]})
    anyio.run(model.ainvoke, "x", {"callbacks": [of_async]})
    assert without_ids(of_sync.events) == without_ids(of_async.events)
