"""Models around models, and providers of a few lines: what a user builds on the base classes."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from hocket import (
    AIMessage,
    BaseCache,
    BaseCallbackHandler,
    BaseChatModel,
    BaseLLM,
    BaseMessage,
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    FakeListChatModel,
    FakeListLLM,
    Generation,
    HumanMessage,
    InMemoryCache,
    LLMResult,
    ParrotFakeChatModel,
    ScriptedChatModel,
    SystemMessage,
    Turn,
)
from hocket.errors import EmptyResponse
from hocket.messages import get_buffer_string
from tests.kit import MODEL_EVENTS, HookCall, Recorder, hook_model


class Wrapper(BaseChatModel):
    """A model that does something around another one, in each of its two ways to answer."""

    inner: BaseChatModel
    label: str = ""
    log: Any = None

    def _note(self, what: str) -> None:
        self.log.append(f"{what} {self.label}")

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self._note("before")
        try:
            message = await self.inner.ainvoke(messages, {"callbacks": run_manager.get_child()}, stop=stop, **kwargs)
        finally:
            self._note("after")
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self._note("before")
        async with self.inner.astream(messages, stop=stop, **kwargs) as stream:
            async for chunk in stream:
                yield ChatGenerationChunk(message=chunk)
        self._note("after")

    @property
    def _llm_type(self) -> str:
        return "wrapper"


def wrapped(model: BaseChatModel, log: list[str]) -> BaseChatModel:
    """A model in three wrappers; a is the outermost."""
    for label in "cba":
        model = Wrapper(inner=model, label=label, log=log)
    return model


ONION = ["before a", "before b", "before c", "after c", "after b", "after a"]


async def test_wrappers_keep_their_order(recorder: Any) -> None:
    """MW-01: three wrappers are an onion; each is a run inside the one around it."""
    log: list[str] = []
    model = wrapped(ScriptedChatModel(script=["yes"]), log)
    assert (await model.ainvoke("hi", {"callbacks": [recorder]})).content == "yes"
    assert log == ONION
    starts = [details for *_, details in recorder.named("on_chat_model_start")]
    assert [start["parent_run_id"] for start in starts] == [None, *list(recorder.runs())[:3]]
    recorder.assert_every_run_ended_once()


async def test_wrappers_stream() -> None:
    """MW-04: through three wrappers come the same chunks, and the same answer."""
    log: list[str] = []
    turn = Turn(text="The sky is blue.", usage={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})
    bare = ScriptedChatModel(script=[turn]).astream("hi")
    around = wrapped(ScriptedChatModel(script=[turn]), log).astream("hi")
    alone = [chunk.text async for chunk in bare]
    assert [chunk.text async for chunk in around] == alone
    assert log == ONION
    assert around.message.model_dump(exclude={"id"}) == bare.message.model_dump(exclude={"id"})


async def test_a_wrapped_stream_is_left_early() -> None:
    """MW-04: leaving the outer stream leaves the inner ones."""
    log: list[str] = []
    inner = ScriptedChatModel(script=[Turn(text="a b c", pause=60)])
    async with wrapped(inner, log).astream("hi") as stream:
        async for _ in stream:
            break
    assert log == ONION[:3]


async def test_a_wrapper_that_retries() -> None:
    """MW-02: a model that fails twice and answers the third time, behind one that tries three times."""
    attempts: list[int] = []

    class Retrying(Wrapper):
        async def _agenerate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> ChatResult:
            for attempt in (1, 2, 3):
                attempts.append(attempt)
                try:
                    return await super()._agenerate(messages, stop, run_manager, **kwargs)
                except ConnectionError:
                    if attempt == 3:
                        raise
            raise AssertionError

    flaky = ScriptedChatModel(script=[ConnectionError("1"), ConnectionError("2"), "yes"])
    assert (await Retrying(inner=flaky, log=[]).ainvoke("hi")).content == "yes"
    assert attempts == [1, 2, 3]


async def test_metrics_are_a_handler() -> None:
    """MW-03: what a monitor counts (calls, failures, tokens) is told to a handler."""

    class Metrics(BaseCallbackHandler):
        def __init__(self) -> None:
            self.calls = self.failures = self.tokens = 0

        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            self.calls += 1

        def on_llm_error(self, *args: Any, **kwargs: Any) -> None:
            self.failures += 1

        def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
            message = response.generations[0][0].message  # type: ignore[attr-defined]
            self.tokens += message.usage_metadata["total_tokens"]

    metrics = Metrics()
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    script = [Turn(text="a", usage=usage), ConnectionError("lost"), Turn(text="b", usage=usage)]
    model = ScriptedChatModel(script=script, callbacks=[metrics])
    await model.abatch(["x"] * 3, return_exceptions=True)
    assert (metrics.calls, metrics.failures, metrics.tokens) == (3, 1, 6)


class Fifteen(BaseChatModel):
    """A provider in fifteen lines."""

    model: str = "fifteen-1"

    async def _agenerate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        text = f"{len(messages)} messages"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    @property
    def _llm_type(self) -> str:
        return "fifteen"


async def test_a_provider_in_fifteen_lines() -> None:
    """MODEL-01, MW-05: one hook is a model with every verb."""
    model = Fifteen()
    assert (await model.ainvoke("hi")).content == "1 messages"
    assert (await model.abatch(["hi"]))[0].content == "1 messages"
    assert [chunk.text async for chunk in model.astream(["a", "b"])] == ["2 messages"]


async def test_an_option_of_ones_own() -> None:
    """MW-06: what is bound reaches the provider, whatever it is called; a call's own value comes over it."""
    model = ScriptedChatModel(script=["a", "b"])
    bound = model.bind(custom={"priority": 1}, seed=7)
    await bound.ainvoke("hi")
    await bound.ainvoke("hi", seed=8)
    assert [request.params for request in model.requests] == [
        {"custom": {"priority": 1}, "seed": 7},
        {"custom": {"priority": 1}, "seed": 8},
    ]


async def test_a_cache_of_ones_own() -> None:
    """MW-07: three sync methods are a cache for every verb; one around another is one, too."""

    class Counting(BaseCache):
        def __init__(self, inner: BaseCache) -> None:
            self.inner, self.hits = inner, 0

        def lookup(self, prompt: str, llm_string: str) -> Any:
            found = self.inner.lookup(prompt, llm_string)
            self.hits += found is not None
            return found

        def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
            self.inner.update(prompt, llm_string, return_val)  # type: ignore[arg-type]

        def clear(self, **kwargs: Any) -> None:
            self.inner.clear(**kwargs)

    cache = Counting(InMemoryCache())
    model = ScriptedChatModel(script=["a"], cache=cache)
    assert [(await model.ainvoke("hi")).content for _ in range(3)] == ["a"] * 3
    assert cache.hits == 2


# -- the model interface of langchaingo, row by row


async def test_a_prompt_is_one_human_message() -> None:
    """MODEL-02, MODEL-03: a text goes to a chat model as one human message, and to a text model as it is."""
    model = ScriptedChatModel(script=["yes"])
    assert (await model.ainvoke("hi")).text == "yes"
    assert model.requests[0].messages == [HumanMessage("hi")]
    assert await FakeListLLM(responses=["yes"]).ainvoke("hi") == "yes"


async def test_no_choices_is_an_error() -> None:
    """MODEL-03: an answer without a candidate."""
    with pytest.raises(EmptyResponse, match="empty response"):
        await hook_model(ChatResult(generations=[])).ainvoke("hi")


def test_messages_as_one_text() -> None:
    """MODEL-04: for text models; the names of the speakers may be chosen."""
    messages = [SystemMessage("Be brief."), HumanMessage("hi"), AIMessage("ho")]
    assert get_buffer_string(messages) == "System: Be brief.\nHuman: hi\nAI: ho"
    assert get_buffer_string(messages, human_prefix="user", ai_prefix="bot") == "System: Be brief.\nuser: hi\nbot: ho"


@pytest.mark.parametrize("streaming", [False, True])
async def test_the_steps_of_a_call(streaming: bool) -> None:
    """MODEL-05, MODEL-08, MODEL-09, MODEL-10, MODEL-11: handlers first, then the request, its chunks, the end."""
    steps: list[str] = []

    recorder = Recorder(*MODEL_EVENTS, "on_llm_new_token", do=lambda event: steps.append(event.name))

    def answer(call: HookCall) -> list[str]:
        steps.append("request")
        return ["1", " messages"]

    message = await hook_model(answer, "agenerate", "astream", callbacks=[recorder]).ainvoke("hi", stream=streaming)
    assert message.content == "1 messages"
    chunks = ["on_llm_new_token"] * 2 if streaming else []
    assert steps == ["on_chat_model_start", "request", *chunks, "on_llm_end"]


@pytest.mark.parametrize(
    "model",
    [FakeListChatModel(responses=["hi"]), ParrotFakeChatModel(), wrapped(ParrotFakeChatModel(), [])],
    ids=["list", "parrot", "wrapped"],
)
async def test_application_code_runs_on_any_model(model: BaseChatModel) -> None:
    """MODEL-14: code that takes a `BaseChatModel` runs unchanged on each."""

    async def application(model: BaseChatModel) -> list[str]:
        whole = (await model.ainvoke("hi")).text
        streamed = "".join([chunk.text async for chunk in model.astream([HumanMessage("hi")])])
        batched = [message.text for message in await model.abatch(["hi", "hi"])]
        return [whole, streamed, *batched]

    assert await application(model) == ["hi"] * 4


async def test_application_code_runs_on_any_text_model() -> None:
    """MODEL-14: and so does code that takes a `BaseLLM`."""

    async def application(model: BaseLLM) -> list[str]:
        return [await model.ainvoke("hi"), *await model.abatch(["hi"]), *[piece async for piece in model.astream("hi")]]

    assert await application(FakeListLLM(responses=["hi"])) == ["hi"] * 3
