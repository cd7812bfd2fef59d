"""hocket as its users write it, for type checkers only: nothing here is run.

`tests/house/test_typing.py` runs mypy and pyright in their strict modes over this file. A claim about a type is an
`assert_type`.
"""

# pyright: strict

from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_type
from uuid import UUID

from hocket import (
    LLM,
    AIMessage,
    AIMessageChunk,
    AsyncCallbackHandler,
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
    InMemoryRateLimiter,
    LLMResult,
    RunnableConfig,
    ScriptedChatModel,
    SimpleChatModel,
    SystemMessage,
    Turn,
    init_chat_model,
)
from hocket.language_models import ChatStream, LanguageModelInput, LanguageModelLike, SyncChatStream
from hocket.runnables import Runnable, RunnableBinding
from hocket.testing import VirtualClock, assert_no_blocking, no_network, virtual_clock

# -- a provider


class TenLines(BaseChatModel):
    model: str = "ten-1"

    async def _agenerate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"{len(messages)} messages"))])

    @property
    def _llm_type(self) -> str:
        return "ten"


class EveryHook(BaseChatModel):
    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages, stop)

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(
            generations=[ChatGeneration(message=AIMessage("yes"), generation_info={"finish_reason": "stop"})]
        )

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk("yes"))

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=AIMessageChunk("yes"))

    @property
    def _llm_type(self) -> str:
        return "every-hook"


class Shouting(SimpleChatModel):
    async def _acall(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> str:
        return messages[-1].text.upper()

    @property
    def _llm_type(self) -> str:
        return "shouting"


class Reversing(LLM):
    def _call(self, prompt: str, stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any) -> str:
        return prompt[::-1]

    @property
    def _llm_type(self) -> str:
        return "reversing"


class Echoing(BaseLLM):
    async def _agenerate(self, prompts: list[str], stop: list[str] | None = None, **kwargs: Any) -> LLMResult:
        return LLMResult(generations=[[Generation(text=prompt)] for prompt in prompts])

    @property
    def _llm_type(self) -> str:
        return "echoing"


# -- its fields


def configured() -> list[BaseChatModel]:
    return [
        TenLines(model="ten-2", cache=InMemoryCache(), rate_limiter=InMemoryRateLimiter(requests_per_second=5)),
        TenLines(
            callbacks=[Tracing()], tags=["a"], metadata={"team": 1}, verbose=True, disable_streaming="tool_calling"
        ),
        EveryHook(cache=True, custom_get_token_ids=lambda text: [len(text)]),
        init_chat_model("local"),
    ]


# -- one answer


async def one_answer(model: BaseChatModel) -> None:
    assert_type(await model.ainvoke("hi"), AIMessage)
    assert_type(model.invoke("hi"), AIMessage)
    assert_type((await model.ainvoke("hi")).text, str)
    await model.ainvoke([SystemMessage("Be brief."), HumanMessage("hi")], stop=["."], temperature=0.5)
    await model.ainvoke([("system", "Be brief."), ("human", "hi")])
    await model.ainvoke([{"role": "user", "content": "hi"}], {"tags": ["t"], "metadata": {"user": 7}})
    config: RunnableConfig = {"callbacks": [Tracing()], "run_name": "asking", "max_concurrency": 5}
    await model.ainvoke("hi", config)


async def a_text(model: BaseLLM) -> None:
    assert_type(await model.ainvoke("hi"), str)
    assert_type(model.invoke("hi"), str)
    assert_type([piece async for piece in model.astream("hi")], list[str])
    assert_type(await model.abatch(["hi"]), list[str])
    assert_type(await model.agenerate(["hi", "ho"], callbacks=[[Tracing()], None], tags=[["a"], ["b"]]), LLMResult)
    await a_text(Reversing())
    await a_text(Echoing())
    await a_text(FakeListLLM(responses=["yes"]))


# -- in pieces


async def pieces(model: BaseChatModel) -> None:
    async for chunk in model.astream("hi"):
        assert_type(chunk, AIMessageChunk)
        print(chunk.text, end="")
    stream = model.astream("hi")
    assert_type(stream, ChatStream)
    async with stream:
        assert_type(await anext(stream), AIMessageChunk)
    assert_type(stream.message, AIMessage)


def pieces_in_sync_code(model: BaseChatModel) -> None:
    with model.stream("hi") as stream:
        assert_type(stream, SyncChatStream)
        for chunk in stream:
            assert_type(chunk, AIMessageChunk)


# -- many answers


async def many_answers(model: BaseChatModel, questions: list[str], later: AsyncIterator[str], catch: bool) -> None:
    assert_type(await model.abatch(questions), list[AIMessage])
    assert_type(await model.abatch(questions, {"max_concurrency": 50}), list[AIMessage])
    assert_type(await model.abatch(questions, [{"tags": ["a"]}, {"tags": ["b"]}]), list[AIMessage])
    assert_type(await model.abatch(later), list[AIMessage])
    assert_type(await model.abatch(question for question in questions), list[AIMessage])
    assert_type(await model.abatch(questions, return_exceptions=False), list[AIMessage])
    assert_type(await model.abatch(questions, return_exceptions=True), list[AIMessage | Exception])
    assert_type(await model.abatch(questions, return_exceptions=catch), list[AIMessage | Exception])
    assert_type(model.batch(questions), list[AIMessage])
    assert_type(model.batch(questions, return_exceptions=True), list[AIMessage | Exception])
    async for index, _ in model.abatch_as_completed(questions):
        assert_type(index, int)
    assert_type(await model.agenerate([[HumanMessage("hi")], [HumanMessage("ho")]]), LLMResult)


# -- with something fixed


async def bound(model: BaseChatModel) -> None:
    with_stop = model.bind(stop=["."]).with_config(tags=["t"])
    assert_type(with_stop, RunnableBinding[LanguageModelInput, AIMessage])
    assert_type(await with_stop.ainvoke("hi"), AIMessage)
    assert_type(await with_stop.abatch(["hi"]), list[AIMessage])


async def anything(runnable: Runnable[str, int]) -> None:
    assert_type(await runnable.ainvoke("hi"), int)
    assert_type(await runnable.abatch(["hi"]), list[int])
    assert_type([item async for item in runnable.astream("hi")], list[int])


def either_family(models: list[LanguageModelLike]) -> None:
    for model in models:
        assert_type(model.invoke("hi"), BaseMessage | str)


# -- handlers


class Tracing(BaseCallbackHandler):
    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        print(run_id, messages[0][-1].text)

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        print(token, end="")

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        print(response.generations[0][0].text)

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        print(error)


class AsyncTracing(AsyncCallbackHandler):
    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        print(run_id, response.generations[0][0].text)


# -- tests


async def a_test_with_a_fake() -> None:
    model = FakeListChatModel(responses=["yes", "no"], sleep=0.1)
    assert (await model.ainvoke("hi")).content == "yes"


async def a_test_with_a_script() -> None:
    model = ScriptedChatModel(script=["yes", Turn(text="no", delay=1), AIMessage("perhaps"), ConnectionError("lost")])
    await model.ainvoke("hi")
    assert_type(model.requests[0].messages, list[BaseMessage])


async def a_test_with_a_virtual_clock() -> None:
    with virtual_clock(start=10, autojump=False) as clock, no_network():
        assert_type(clock, VirtualClock)
        assert_type(clock.now(), float)
        clock.advance(5)
        async with assert_no_blocking(limit=0.05):
            await clock.sleep(1)
