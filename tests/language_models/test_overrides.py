"""What a subclass may override between verb and hook, as LangChain's users do, and what is refused."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from hocket import FakeListLLM, InMemoryCache
from hocket.errors import InvalidHook, InvalidInput, TotalTimeout
from hocket.language_models import BaseChatModel, BaseLLM, FakeListChatModel
from hocket.messages import AIMessage, HumanMessage
from hocket.outputs import ChatGeneration, ChatResult
from hocket.prompt_values import ChatPromptValue, PromptValue
from tests.kit import AsyncRecorder, hook_model


class Counting(FakeListChatModel):
    """Counts what comes by its own `_agenerate_with_cache` and `_generate_with_cache`, and marks the answers."""

    responses: list[str] = ["yes"]  # noqa: RUF012  # a field

    async def _agenerate_with_cache(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return marked("async", await super()._agenerate_with_cache(messages, stop, run_manager, **kwargs), run_manager)

    def _generate_with_cache(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return marked("sync", super()._generate_with_cache(messages, stop, run_manager, **kwargs), run_manager)


def marked(how: str, result: ChatResult, run_manager: Any) -> ChatResult:
    [generation] = result.generations
    assert run_manager.run_id
    return ChatResult(generations=[ChatGeneration(message=AIMessage(f"{how}: {generation.text}"))])


async def test_an_own_agenerate_with_cache_stands_in_the_way_of_every_call() -> None:
    """`ainvoke`, `agenerate` and `abatch` ask it, and so do streams, which then come in one piece."""
    model = Counting()
    assert (await model.ainvoke("hi")).content == "async: yes"
    assert [one.content for one in await model.abatch(["a", "b"])] == ["async: yes"] * 2
    result = await model.agenerate([[HumanMessage("a")], [HumanMessage("b")]])
    assert [candidates[0].text for candidates in result.generations] == ["async: yes"] * 2
    assert "".join([chunk.content async for chunk in model.astream("hi")]) == "async: yes"


def test_an_own_generate_with_cache_stands_in_the_way_of_sync_calls() -> None:
    model = Counting()
    assert model.invoke("hi").content == "sync: yes"
    assert model.generate([[HumanMessage("hi")]]).generations[0][0].text == "sync: yes"


async def test_a_model_that_does_not_stream_answers_its_streams_by_it() -> None:
    class Plain(BaseChatModel):
        async def _agenerate_with_cache(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage("own"))])

        async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
            raise AssertionError("is not asked")

        @property
        def _llm_type(self) -> str:
            return "plain"

    assert "".join([chunk.content async for chunk in Plain().astream("hi")]) == "own"


async def test_the_run_is_one_and_the_cache_and_limits_hold_behind_it() -> None:
    """One start, one end; the default implementation looks into the cache; a call's own deadline counts."""
    recorder = AsyncRecorder()
    model = Counting(cache=InMemoryCache(), callbacks=[recorder])
    await model.ainvoke("hi")
    await model.ainvoke("hi")
    names = [event.name for event in recorder.events]
    assert names.count("on_chat_model_start") == names.count("on_llm_end") == 2
    assert names.count("on_cache_hit") == 1

    class Slow(FakeListChatModel):
        async def _agenerate_with_cache(self, *args: Any, **kwargs: Any) -> ChatResult:
            await anyio.sleep_forever()
            raise AssertionError

    with pytest.raises(TotalTimeout):
        await Slow(responses=["a"]).ainvoke("hi", timeout=0.01)


async def test_what_an_override_returns_is_checked() -> None:
    class Wrong(FakeListChatModel):
        async def _agenerate_with_cache(self, *args: Any, **kwargs: Any) -> Any:
            return "text"

    with pytest.raises(InvalidHook, match=r"_agenerate_with_cache returned str"):
        await Wrong(responses=["a"]).ainvoke("hi")


class Shout(FakeListChatModel):
    """Reads every input in its own way."""

    responses: list[str] = ["yes"]  # noqa: RUF012  # a field

    def _convert_input(self, input: Any) -> PromptValue:
        messages = super()._convert_input(input).to_messages()
        return ChatPromptValue(messages=[HumanMessage(messages[-1].text.upper())])

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(messages[-1].text))])


@pytest.mark.parametrize("input", ["hi", [HumanMessage("hi")], [("human", "hi")]])
async def test_an_own_convert_input_reads_texts_and_lists_too(input: Any) -> None:
    assert (await Shout().ainvoke(input)).content == "HI"


async def test_an_own_convert_input_of_a_text_model() -> None:
    class Echo(FakeListLLM):
        def _convert_input(self, input: Any) -> PromptValue:
            return super()._convert_input(f"<{input}>")

        async def _agenerate(self, prompts: Any, stop: Any = None, **kwargs: Any) -> Any:
            from hocket.outputs import Generation, LLMResult

            return LLMResult(generations=[[Generation(text=prompt)] for prompt in prompts])

    assert await Echo(responses=[]).ainvoke("hi") == "<hi>"


async def test_an_own_should_stream_decides() -> None:
    """LangChain's name and arguments."""
    seen: list[bool] = []

    class Never(FakeListChatModel):
        def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
            seen.append(async_api)
            return False

    model = Never(responses=["abc"])
    assert [chunk.content async for chunk in model.astream("hi")] == ["abc"]
    assert [chunk.content for chunk in model.stream("hi")] == ["abc"]
    assert set(seen) == {True, False}


@pytest.mark.parametrize("name", ["generate", "agenerate", "generate_prompt", "agenerate_prompt"])
@pytest.mark.parametrize("base", [FakeListChatModel, FakeListLLM])
def test_an_override_that_no_verb_would_ask_is_refused(base: type, name: str) -> None:
    with pytest.raises(InvalidHook, match=rf"Mine\.{name} would be called by no verb"):
        type("Mine", (base,), {name: lambda self, *args, **kwargs: None})


@pytest.mark.parametrize("base", [BaseChatModel, BaseLLM])
@pytest.mark.parametrize("name", ["_llm_type", "_identifying_params"])
def test_a_plain_attribute_in_place_of_a_property_is_refused(base: type, name: str) -> None:
    """pydantic makes a private attribute of it, which the property of the base class hides: it had no effect."""
    with pytest.raises(InvalidHook, match=rf"Mine\.{name} is a plain attribute"):
        type("Mine", (base,), {name: "x", "__module__": __name__})


MISPLACED: list[tuple[str, Any]] = [
    ("callbacks", []),
    ("tags", ["a"]),
    ("metadata", {}),
    ("run_name", "a"),
    ("run_id", None),
    ("max_concurrency", 3),
]


@pytest.mark.parametrize(("name", "value"), MISPLACED)
@pytest.mark.parametrize("make", [FakeListChatModel, FakeListLLM])
async def test_what_belongs_in_the_config_is_refused_as_an_argument(
    make: Callable[..., Any], name: str, value: Any
) -> None:
    """It had no effect with fakes and custom models, so that a test passed where production raised."""
    model = make(responses=["a"])
    for verb in (model.invoke, model.astream, model.stream):
        with pytest.raises(InvalidInput, match=rf"{name}.*config"):
            verb("hi", **{name: value})
    with pytest.raises(InvalidInput, match=rf"{name}.*config"):
        await model.ainvoke("hi", **{name: value})


async def test_a_cancelled_call_is_told_apart_from_a_failed_one() -> None:
    """A service sees clients leave: ``cancelled=True`` on the event."""
    recorder = AsyncRecorder()
    with anyio.move_on_after(0.01):
        await hook_model(lambda call: anyio.sleep_forever(), callbacks=[recorder]).ainvoke("hi")
    with pytest.raises(ValueError):
        await hook_model(ValueError(), callbacks=[recorder]).ainvoke("hi")
    errors = [event for event in recorder.events if event.name == "on_llm_error"]
    assert [event.details.get("cancelled", False) for event in errors] == [True, False]


async def test_a_stream_that_is_awaited_says_how_it_is_read() -> None:
    stream: Any = FakeListChatModel(responses=["a"]).astream("hi")
    with pytest.raises(TypeError, match="async for chunk in"):
        await stream
