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
    ToolMessage,
    Turn,
    init_chat_model,
)
from hocket.language_models import ChatStream, LanguageModelInput, LanguageModelLike, SyncChatStream
from hocket.output_parsers import StrOutputParser
from hocket.prompts import ChatPromptTemplate
from hocket.runnables import (
    ConfigurableField,
    Runnable,
    RunnableBinding,
    RunnableBranch,
    RunnableLambda,
    RunnableSerializable,
    RunnableWrapper,
    StreamEvent,
    chain,
)
from hocket.testing import VirtualClock, assert_no_blocking, no_network, virtual_clock
from hocket.tools import BaseTool, StructuredTool, arun_tool_calls, convert_to_openai_tool, run_tool_calls, tool

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
        TenLines(model="ten-3", timeout=30, retry=1),
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
    assert_type(with_stop, RunnableWrapper[LanguageModelInput, AIMessage])
    assert_type(await with_stop.ainvoke("hi"), AIMessage)
    assert_type(await with_stop.abatch(["hi"]), list[AIMessage])


# -- composed


def length(message: AIMessage) -> int:
    return len(message.text)


async def length_later(message: AIMessage) -> int:
    return len(message.text)


async def lengths(pieces: AsyncIterator[AIMessageChunk]) -> AsyncIterator[int]:
    async for piece in pieces:
        yield len(piece.text)


def words(pieces: Iterator[str]) -> Iterator[list[str]]:
    for piece in pieces:
        yield piece.split()


@chain
async def decorated(text: str) -> int:
    return len(text)


async def composed(model: BaseChatModel) -> None:
    prompt = ChatPromptTemplate.from_template("Say {what}.")
    answer = prompt | model | StrOutputParser()
    assert_type(answer, RunnableSerializable[dict[str, Any], str])
    assert_type(await answer.ainvoke({"what": "hi"}), str)
    assert_type(answer.invoke({"what": "hi"}), str)
    assert_type([piece async for piece in answer.astream({"what": "hi"})], list[str])
    assert_type(await answer.abatch([{"what": "hi"}]), list[str])
    assert_type(await (model | length).ainvoke("hi"), int)
    assert_type(await (model | length_later).ainvoke("hi"), int)
    assert_type(await (model | lengths).ainvoke("hi"), int)
    assert_type(await (answer | words).ainvoke({"what": "hi"}), list[str])
    assert_type(await (model | {"a": length, "b": length_later}).ainvoke("hi"), dict[str, Any])
    assert_type(await answer.map().ainvoke([{"what": "hi"}]), list[str])
    assert_type(await RunnableLambda(length).ainvoke(AIMessage("hi")), int)
    assert_type(await RunnableLambda(length_later).ainvoke(AIMessage("hi")), int)
    assert_type(await decorated.ainvoke("hi"), int)
    assert_type(await answer.with_types(input_type=dict[str, str]).ainvoke({"what": "hi"}), str)
    assert_type(await model.with_listeners(on_end=print).ainvoke("hi"), AIMessage)
    assert_type(await model.configurable_fields(cache=ConfigurableField(id="cache")).ainvoke("hi"), AIMessage)
    assert_type(await RunnableBranch[str, int]((bool, len), len).ainvoke("hi"), int)
    events = answer.astream_events({"what": "hi"}, include_types=["chat_model"])
    assert_type(await anext(events), StreamEvent)
    assert_type([text async for text in events.text], list[str])
    assert_type([piece async for piece in events.output], list[str])
    assert_type([call["name"] async for call in events.tool_calls], list[str])


async def more_than_once(model: BaseChatModel, other: BaseChatModel) -> None:
    chain = model.with_retry(stop_after_attempt=2).with_fallbacks([other, other.bind(stop=["."])])
    assert_type(chain, RunnableWrapper[LanguageModelInput, AIMessage])
    assert_type(await chain.ainvoke("hi"), AIMessage)
    assert_type(chain.invoke("hi"), AIMessage)
    assert_type(await chain.abatch(["hi"]), list[AIMessage])
    assert_type(model.with_retry(), RunnableWrapper[LanguageModelInput, AIMessage])


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


# -- tools


@tool
async def search(query: str, limit: int = 10) -> list[str]:
    """Search."""
    return [query] * limit


@tool("shout", return_direct=True, parse_docstring=True)
def shout(word: str) -> str:
    """Shout.

    Args:
        word: what
    """
    return word.upper()


class Sum(BaseTool):
    name: str = "sum"
    description: str = "Add."

    async def _arun(self, numbers: list[int]) -> int:
        return sum(numbers)


async def tools(model: BaseChatModel, question: str) -> None:
    assert_type(search, StructuredTool)
    assert_type(shout, StructuredTool)
    assert_type(tool("x", infer_schema=False)(str.upper), BaseTool)
    assert_type(StructuredTool.from_function(coroutine=search.coroutine, func=None), StructuredTool)
    bound = model.bind_tools([search, shout, Sum(), Sum, {"name": "other"}], tool_choice=["search", "shout"])
    assert_type(bound, RunnableBinding[LanguageModelInput, AIMessage])
    reply = await bound.ainvoke(question)
    assert_type(await arun_tool_calls(reply, [search, shout, print], timeout=30), list[ToolMessage])
    assert_type(run_tool_calls(reply.tool_calls, [search]), list[ToolMessage])
    assert_type(convert_to_openai_tool(search, strict=True), dict[str, Any])


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
