"""Watching changes nothing: whatever a handler does to what it is told, nobody else sees it.

LangChain hands out the live objects: a handler rewrites the caller's messages, the model's fields, the cache.
"""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import Field

from hocket.caches import InMemoryCache
from hocket.language_models import FakeListChatModel
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from hocket.outputs import (
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    Generation,
    GenerationChunk,
    LLMResult,
)
from tests.kit import Event, HookCall, Recorder, hook_class, hook_llm, hook_model


def ruin(value: Any) -> None:
    """Change everything that can be changed, all the way down."""
    if isinstance(value, dict):
        for item in list(value.values()):
            ruin(item)
        value.clear()
        value["HACK"] = "HACK"
    elif isinstance(value, list):
        for item in list(value):
            ruin(item)
        value.clear()
        value.append("HACK")
    elif isinstance(value, BaseMessage):
        for name in list(value.__dict__):
            ruin(value.__dict__[name])
        value.content = "HACK"
        value.id = "HACK"
    elif isinstance(value, Generation):
        ruin(value.generation_info)
        if isinstance(value, ChatGeneration):
            ruin(value.message)
        value.text = "HACK"
    elif isinstance(value, LLMResult):
        for candidates in value.generations:
            for candidate in candidates:
                ruin(candidate)
        ruin(value.llm_output)
        value.generations.clear()


def make_vandal() -> Recorder:
    """Return a handler that ruins all that it is given."""

    def ruin_all(event: Event) -> None:
        for value in (*event.args, *event.details.values()):
            ruin(value)

    return Recorder(do=ruin_all)


BLOCKS = [
    {"type": "text", "text": "What is this?", "annotations": [{"type": "citation", "extras": {"page": [1]}}]},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
]


def conversation() -> list[BaseMessage]:
    return [
        SystemMessage("Be kind."),
        HumanMessage(copy.deepcopy(BLOCKS), additional_kwargs={"a": {"b": [1]}}),
        AIMessage(
            content="",
            tool_calls=[{"name": "look", "args": {"where": ["left"]}, "id": "1", "type": "tool_call"}],
            response_metadata={"headers": {"x": "y"}},
        ),
    ]


def full_answer() -> ChatGeneration:
    message = AIMessage(
        content=[{"type": "text", "text": "A cat.", "annotations": [{"title": "cats"}]}],
        response_metadata={"logprobs": {"content": [0.5]}},
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    )
    return ChatGeneration(message=message, generation_info={"choice": {"index": [0]}})


class Limited(hook_class("generate")):
    """Has a field that handlers are told of."""

    limits: dict[str, Any] = Field(default_factory=lambda: {"depth": [1, 2]})

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"limits": self.limits}


def make_model() -> Any:
    """Return a model that answers with everything that an answer can hold, each time with the same objects."""
    return Limited(do=ChatResult(generations=[full_answer()], llm_output={"usage": {"parts": [1]}}))


def test_neither_the_callers_messages_nor_its_options_can_be_rewritten() -> None:
    """Messages with blocks, stop words and tools reach the hook as the caller wrote them, and stay so."""
    vandal, model, messages = make_vandal(), make_model(), conversation()
    stop, tools = ["."], [{"type": "function", "function": {"parameters": {"properties": {"a": {}}}}}]
    tags, metadata = ["t"], {"user": 1}
    config: Any = {"callbacks": [vandal], "tags": tags, "metadata": metadata}
    model.invoke(messages, config, stop=stop, tools=tools)

    (asked,) = model.requests
    assert vandal.names == ["on_chat_model_start", "on_llm_end"] and vandal.errors == 0
    assert messages == conversation() == asked.input
    assert stop == ["."] == asked.stop
    assert asked.params == {"tools": tools}
    assert tools == [{"type": "function", "function": {"parameters": {"properties": {"a": {}}}}}]
    assert (tags, metadata) == (["t"], {"user": 1})
    assert config["callbacks"] == [vandal]


def test_an_empty_list_of_stop_words_cannot_be_rewritten_either() -> None:
    """It is a list all the same."""
    model, stop = make_model(), list[str]()
    model.invoke("why?", {"callbacks": [make_vandal()]}, stop=stop)
    assert model.requests[0].stop == stop == []


def test_neither_the_model_nor_its_result_can_be_rewritten() -> None:
    """The result is the caller's; what the hook keeps, the model's fields and `llm_output` stay as they were."""
    vandal, model = make_vandal(), make_model()
    clean = model.generate([conversation()])
    watched = model.generate([conversation()], callbacks=[vandal])

    for result in (clean, watched):
        assert result.generations[0][0].generation_info == {"choice": {"index": [0]}}
        answer = result.generations[0][0]
        assert isinstance(answer, ChatGeneration)
        assert answer.message.content == [{"type": "text", "text": "A cat.", "annotations": [{"title": "cats"}]}]
        assert answer.message.response_metadata["logprobs"] == {"content": [0.5]}
    assert model.limits == {"depth": [1, 2]}
    assert model.do.generations == [full_answer()]


async def test_the_same_under_async_verbs() -> None:
    """One path."""
    vandal, model, messages = make_vandal(), make_model(), conversation()
    answer = await model.ainvoke(messages, {"callbacks": [vandal]}, stop=["."])
    assert messages == conversation() == model.requests[0].input
    assert answer.content == [{"type": "text", "text": "A cat.", "annotations": [{"title": "cats"}]}]
    assert vandal.errors == 0


def chunks() -> list[ChatGenerationChunk]:
    return [
        ChatGenerationChunk(message=AIMessageChunk(content=[{"type": "text", "text": "A ", "index": 0}], id="m")),
        ChatGenerationChunk(
            message=AIMessageChunk(content=[{"type": "text", "text": "cat.", "index": 0}], id="m"),
            generation_info={"choice": {"index": [0]}},
        ),
        ChatGenerationChunk(
            message=AIMessageChunk(
                content=[],
                id="m",
                tool_call_chunks=[
                    {"name": "look", "args": '{"a": 1}', "id": "1", "index": 0, "type": "tool_call_chunk"}
                ],
                response_metadata={"headers": {"x": ["y"]}},
                chunk_position="last",
            )
        ),
    ]


def test_chunks_cannot_be_rewritten() -> None:
    """The consumer's chunks, what they fold to, and those that the hook keeps: all as if nobody had listened."""
    vandal, model = make_vandal(), hook_model(chunks(), "stream")
    with model.stream("x") as clean:
        expected = list(clean)
    with model.stream("x", {"callbacks": [vandal]}) as stream:
        seen = list(stream)
    assert vandal.count("on_llm_new_token") == 3 and vandal.errors == 0
    assert seen == expected
    assert stream.message.content == clean.message.content
    assert stream.message.tool_calls == clean.message.tool_calls
    assert stream.message.response_metadata == clean.message.response_metadata
    assert model.do == chunks()


async def test_chunks_cannot_be_rewritten_under_async_verbs() -> None:
    """The same with the hook in a worker thread."""
    vandal, model = make_vandal(), hook_model(chunks(), "stream")
    seen = [chunk async for chunk in model.astream("x", {"callbacks": [vandal]})]
    assert [chunk.content for chunk in seen] == [chunk.message.content for chunk in chunks()]
    assert model.do == chunks()


def test_text_models_are_watched_without_harm() -> None:
    """Prompts, chunks, results and what the hook keeps."""
    kept = [GenerationChunk(text="a", generation_info={"choice": {"index": [0]}}), GenerationChunk(text="b")]
    own = copy.deepcopy(kept)

    def answer(call: HookCall) -> Any:
        if call.hook == "stream":
            return own
        return LLMResult(generations=[own[:1] for _ in call.input], llm_output={"usage": {"parts": [1]}})

    vandal, model, prompts = make_vandal(), hook_llm(answer, "generate", "stream"), ["x", "y"]
    result = model.generate(prompts, callbacks=[vandal])
    assert prompts == ["x", "y"]
    assert [candidates[0].text for candidates in result.generations] == ["a", "a"]
    assert result.generations[0][0].generation_info == {"choice": {"index": [0]}}
    assert result.llm_output == {"usage": {"parts": [1]}}
    assert list(model.stream("x", {"callbacks": [vandal]})) == ["a", "b"]
    assert own == kept
    assert vandal.errors == 0


async def test_a_cached_answer_cannot_be_rewritten_either() -> None:
    """What a handler is told of a miss, or of a hit, is not what the cache holds."""
    cache = InMemoryCache()
    model = FakeListChatModel(responses=["one", "two"], cache=cache)
    for _ in range(3):
        assert (await model.ainvoke("x", {"callbacks": [make_vandal()]})).content == "one"


def test_an_error_tells_a_copy_of_what_came() -> None:
    """The partial answer of a failing stream is not the one that its consumer can still read."""

    def fail(call: HookCall) -> Iterator[ChatGenerationChunk]:
        yield from chunks()[:2]
        raise ConnectionError("lost")

    model = hook_model(fail, "stream")
    stream = model.stream("x", {"callbacks": [make_vandal()]})
    with pytest.raises(ConnectionError):
        list(stream)
    assert stream.message.text == "A cat."
    assert stream.message.response_metadata == {"choice": {"index": [0]}}


def test_a_handler_that_keeps_the_messages_is_not_told_of_later_edits_once_it_has_looked() -> None:
    """Copies are made at the first look; from then on they are the handler's."""
    kept: list[Any] = []
    keeper = Recorder("on_chat_model_start", do=lambda event: kept.append([list(one) for one in event.args[1]]))
    messages = conversation()
    make_model().invoke(messages, {"callbacks": [keeper]})
    messages[0].content = "changed"
    assert kept == [[conversation()]]


def test_adding_to_the_messages_takes_copies() -> None:
    """`[] + messages`, `messages * 2` and their like are a look, too."""

    def add(event: Event) -> None:
        ((one,),) = event.args[1:]
        for message in ([] + one)[:1] + (one * 2)[-1:] + [*one][1:2]:  # noqa: RUF005  # the form is what is tested
            message.content = "HACK"

    adder, messages = Recorder("on_chat_model_start", do=add), conversation()
    make_model().invoke(messages, {"callbacks": [adder]})
    assert messages == conversation() and adder.errors == 0
