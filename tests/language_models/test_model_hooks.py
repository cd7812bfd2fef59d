"""Any one hook makes a model, and whichever hooks it has, every verb gives the same answer."""

import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hocket import (
    LLM,
    AIMessage,
    AIMessageChunk,
    BaseChatModel,
    BaseLLM,
    BaseMessage,
    ChatGeneration,
    ChatGenerationChunk,
    ChatResult,
    Generation,
    GenerationChunk,
    HumanMessage,
    LLMResult,
    SimpleChatModel,
)
from hocket.errors import EmptyResponse, InvalidHook

TEXT = "The sky is blue."
WORDS = ["The", " sky", " is", " blue."]
HOOKS = ("_agenerate", "_generate", "_astream", "_stream")
COMBINATIONS = [names for length in range(1, 5) for names in itertools.combinations(HOOKS, length)]
IDS = [" ".join(names) for names in COMBINATIONS]


# -- the four hooks of both families


def result() -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=AIMessage(TEXT))])


async def chat_agenerate(self: Any, messages: list[BaseMessage], stop: Any = None, **kwargs: Any) -> ChatResult:
    return result()


def chat_generate(self: Any, messages: list[BaseMessage], stop: Any = None, **kwargs: Any) -> ChatResult:
    return result()


async def chat_astream(
    self: Any, messages: list[BaseMessage], stop: Any = None, **kwargs: Any
) -> AsyncIterator[ChatGenerationChunk]:
    for word in WORDS:
        yield ChatGenerationChunk(message=AIMessageChunk(word))


def chat_stream(
    self: Any, messages: list[BaseMessage], stop: Any = None, **kwargs: Any
) -> Iterator[ChatGenerationChunk]:
    for word in WORDS:
        yield ChatGenerationChunk(message=AIMessageChunk(word))


async def text_agenerate(self: Any, prompts: list[str], stop: Any = None, **kwargs: Any) -> LLMResult:
    return LLMResult(generations=[[Generation(text=TEXT)] for _ in prompts])


def text_generate(self: Any, prompts: list[str], stop: Any = None, **kwargs: Any) -> LLMResult:
    return LLMResult(generations=[[Generation(text=TEXT)] for _ in prompts])


async def text_astream(self: Any, prompt: str, stop: Any = None, **kwargs: Any) -> AsyncIterator[GenerationChunk]:
    for word in WORDS:
        yield GenerationChunk(text=word)


def text_stream(self: Any, prompt: str, stop: Any = None, **kwargs: Any) -> Iterator[GenerationChunk]:
    for word in WORDS:
        yield GenerationChunk(text=word)


CHAT_HOOKS = dict(zip(HOOKS, (chat_agenerate, chat_generate, chat_astream, chat_stream), strict=True))
TEXT_HOOKS = dict(zip(HOOKS, (text_agenerate, text_generate, text_astream, text_stream), strict=True))


def chat_model(**hooks: Any) -> BaseChatModel:
    """A chat model with these hooks."""
    members = {**hooks, "_llm_type": property(lambda self: "made"), "__module__": __name__}
    return type("Made", (BaseChatModel,), members)()  # type: ignore[no-any-return]


def text_model(**hooks: Any) -> BaseLLM:
    """A text model with these hooks."""
    members = {**hooks, "_llm_type": property(lambda self: "made"), "__module__": __name__}
    return type("Made", (BaseLLM,), members)()  # type: ignore[no-any-return]


def said(answers: LLMResult) -> list[str]:
    """The text of the first candidate of each prompt."""
    return [candidates[0].text for candidates in answers.generations]


async def in_thread(call: Callable[[], Any]) -> Any:
    """Call a sync verb as sync code does: with no loop running in its thread."""
    return await anyio.to_thread.run_sync(call)


@pytest.mark.parametrize("names", COMBINATIONS, ids=IDS)
async def test_every_verb_of_a_chat_model_answers(names: tuple[str, ...]) -> None:
    """BCM-05, BCM-06, BCM-07: all non-empty sets of hooks, all verbs, one answer; chunks fold to it."""
    model = chat_model(**{name: CHAT_HOOKS[name] for name in names})

    assert (await model.ainvoke("why?")).content == TEXT
    assert (await in_thread(lambda: model.invoke("why?"))).content == TEXT
    assert said(await model.agenerate([[HumanMessage("why?")], [HumanMessage("really?")]])) == [TEXT, TEXT]
    two = [[HumanMessage("why?")], [HumanMessage("really?")]]
    assert said(await in_thread(lambda: model.generate(two))) == [TEXT, TEXT]
    assert [reply.content for reply in await model.abatch(["why?", "really?"])] == [TEXT, TEXT]
    assert [reply.content for reply in await in_thread(lambda: model.batch(["why?", "really?"]))] == [TEXT, TEXT]

    chunks = [chunk async for chunk in model.astream("why?")]
    assert "".join(chunk.text for chunk in chunks) == TEXT
    from_sync = await in_thread(lambda: list(model.stream("why?")))
    assert "".join(chunk.text for chunk in from_sync) == TEXT


@pytest.mark.parametrize("names", COMBINATIONS, ids=IDS)
async def test_a_chat_model_that_has_a_stream_hook_streams(names: tuple[str, ...]) -> None:
    """BCM-07: chunks come as the stream hook gives them, from either verb and either hook; else all in one."""
    model = chat_model(**{name: CHAT_HOOKS[name] for name in names})
    expected = WORDS if {"_astream", "_stream"} & set(names) else [TEXT]

    assert [chunk.text async for chunk in model.astream("why?")] == expected
    assert [chunk.text for chunk in await in_thread(lambda: list(model.stream("why?")))] == expected


@pytest.mark.parametrize("names", COMBINATIONS, ids=IDS)
async def test_every_verb_of_a_text_model_answers(names: tuple[str, ...]) -> None:
    """LLM-02, LLM-04: a text model, too, needs any one hook for all verbs."""
    model = text_model(**{name: TEXT_HOOKS[name] for name in names})

    assert await model.ainvoke("why?") == TEXT
    assert await in_thread(lambda: model.invoke("why?")) == TEXT
    assert await model.abatch(["why?", "really?"]) == [TEXT, TEXT]
    assert await in_thread(lambda: model.batch(["why?", "really?"])) == [TEXT, TEXT]
    assert said(await model.agenerate(["why?", "really?"])) == [TEXT, TEXT]
    assert said(await in_thread(lambda: model.generate(["why?", "really?"]))) == [TEXT, TEXT]

    expected = WORDS if {"_astream", "_stream"} & set(names) else [TEXT]
    assert [piece async for piece in model.astream("why?")] == expected
    assert await in_thread(lambda: list(model.stream("why?"))) == expected


# -- what a hook is given


async def test_the_run_goes_to_hooks_that_take_it(recorder: Any) -> None:
    """BCM-43, LLM-24: the answering hooks get the run they belong to, sync ones in its sync form; stream hooks never."""
    seen: dict[str, Any] = {}

    async def agenerate(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        seen["async"] = run_manager
        return result()

    def generate(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        seen["sync"] = run_manager
        run_manager.on_text("halfway")
        return result()

    async def astream(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        seen["stream"] = run_manager
        yield ChatGenerationChunk(message=AIMessageChunk(TEXT))

    both = chat_model(_agenerate=agenerate, _generate=generate, _astream=astream)
    config = {"callbacks": [recorder]}
    await both.ainvoke("why?", config)
    await in_thread(lambda: both.invoke("why?", config))
    [chunk async for chunk in both.astream("why?", config)]

    assert [seen["async"].run_id, seen["sync"].run_id] == list(recorder.runs())[:2]
    assert type(seen["async"]).__name__ == "AsyncCallbackManagerForLLMRun"
    assert type(seen["sync"]).__name__ == "CallbackManagerForLLMRun"
    assert seen["stream"] is None


async def test_an_unwatched_run_has_a_manager_too() -> None:
    """BCM-43: a hook that takes the run need not ask whether there is one: nobody listens to it, that is all."""
    seen: list[Any] = []

    async def agenerate(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        seen.append(run_manager.get_child())
        await run_manager.on_text("halfway")
        return result()

    await chat_model(_agenerate=agenerate).ainvoke("why?")
    assert seen[0].handlers == []


@pytest.mark.parametrize("hook", HOOKS)
async def test_a_hook_without_keyword_arguments_suffices(hook: str) -> None:
    """BCM-43: the oldest form of a hook works; a call with options that it cannot take fails, and names them."""

    async def agenerate(self: Any, messages: Any, stop: Any = None) -> Any:
        return result()

    def generate(self: Any, messages: Any, stop: Any = None) -> Any:
        return result()

    async def astream(self: Any, messages: Any, stop: Any = None) -> Any:
        yield ChatGenerationChunk(message=AIMessageChunk(TEXT))

    def stream(self: Any, messages: Any, stop: Any = None) -> Any:
        yield ChatGenerationChunk(message=AIMessageChunk(TEXT))

    hooks = dict(zip(HOOKS, (agenerate, generate, astream, stream), strict=True))
    model = chat_model(**{hook: hooks[hook]})
    assert (await model.ainvoke("why?")).text == TEXT
    assert "".join([chunk.text async for chunk in model.astream("why?")]) == TEXT
    with pytest.raises(TypeError, match="temprature"):
        await model.ainvoke("why?", temprature=1)


async def test_stop_and_options_reach_the_hook() -> None:
    """MODEL-05: what a call says beyond its input arrives at the hook as it was given; `stream` is hocket's own."""
    seen: list[Any] = []

    async def agenerate(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        seen.append((messages, stop, kwargs))
        return result()

    await chat_model(_agenerate=agenerate).ainvoke("why?", stop=["."], temperature=0.5, stream=True)
    ((messages, stop, kwargs),) = seen
    assert [message.text for message in messages] == ["why?"]
    assert (stop, kwargs) == (["."], {"temperature": 0.5})


# -- what a hook returns


NONSENSE = [None, "a text", AIMessage(TEXT), 42, [AIMessage(TEXT)], LLMResult(generations=[[Generation(text=TEXT)]])]


@pytest.mark.parametrize("nonsense", NONSENSE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("hook", ["_agenerate", "_generate"])
async def test_a_hook_that_returns_nonsense_is_named(hook: str, nonsense: Any, recorder: Any) -> None:
    """The error says which hook of which class returned what, and what it must return; the run ends once."""

    async def agenerate(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        return nonsense

    def generate(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        return nonsense

    model = chat_model(**{hook: {"_agenerate": agenerate, "_generate": generate}[hook]})
    with pytest.raises(InvalidHook, match=rf"Made\.{hook} returned {type(nonsense).__name__}.*ChatResult"):
        await model.ainvoke("why?", {"callbacks": [recorder]})
    recorder.assert_every_run_ended_once()


@pytest.mark.parametrize("hook", ["_agenerate", "_generate"])
async def test_a_hook_of_the_wrong_colour_is_named(hook: str) -> None:
    """`_agenerate` without ``async``, `_generate` with it: the slips of a first provider, each told as such."""
    other = {"_agenerate": chat_generate, "_generate": chat_agenerate}[hook]
    with pytest.raises(InvalidHook, match="async def"):
        await chat_model(**{hook: other}).ainvoke("why?")


@pytest.mark.parametrize("hook", ["_astream", "_stream"])
@pytest.mark.parametrize("nonsense", [None, "returned", 42], ids=str)
async def test_a_stream_hook_that_returns_nonsense_is_named(hook: str, nonsense: Any, recorder: Any) -> None:
    """A stream hook that returns instead of yielding is the commonest slip; it is told as such."""

    def stream(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        return nonsense

    model = chat_model(**{hook: stream})
    with pytest.raises(InvalidHook, match=rf"{hook}"):
        [chunk async for chunk in model.astream("why?", {"callbacks": [recorder]})]
    recorder.assert_every_run_ended_once()


async def test_an_async_stream_hook_that_forgets_to_yield_is_named() -> None:
    """``async def _astream`` without ``yield`` is a coroutine, and no stream."""

    async def astream(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        return [ChatGenerationChunk(message=AIMessageChunk(TEXT))]

    with pytest.raises(InvalidHook, match=r"_astream returned coroutine.*yield"):
        await chat_model(_astream=astream).ainvoke("why?")


@pytest.mark.parametrize("nonsense", [None, "a text", AIMessageChunk(TEXT), GenerationChunk(text=TEXT)], ids=repr)
@pytest.mark.parametrize("hook", ["_astream", "_stream"])
async def test_a_stream_hook_that_yields_nonsense_is_named(hook: str, nonsense: Any, recorder: Any) -> None:
    """The error says what was yielded and what must be."""

    async def astream(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        yield nonsense

    def stream(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        yield nonsense

    model = chat_model(**{hook: {"_astream": astream, "_stream": stream}[hook]})
    with pytest.raises(InvalidHook, match=f"yielded {type(nonsense).__name__}; it must yield ChatGenerationChunk"):
        await model.ainvoke("why?", {"callbacks": [recorder]})
    recorder.assert_every_run_ended_once()


@pytest.mark.parametrize("hook", HOOKS)
async def test_an_empty_answer_is_an_error(hook: str, recorder: Any) -> None:
    """BCM-48, MODEL-03: no candidate, or a stream without a chunk, is an error that is also a ValueError."""

    async def agenerate(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        return ChatResult(generations=[])

    def generate(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        return ChatResult(generations=[])

    async def astream(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        for nothing in ():
            yield nothing

    def stream(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        yield from ()

    hooks = dict(zip(HOOKS, (agenerate, generate, astream, stream), strict=True))
    model = chat_model(**{hook: hooks[hook]})
    config = {"callbacks": [recorder]}
    with pytest.raises(EmptyResponse, match="Made"):
        await model.ainvoke("why?", config)
    with pytest.raises(ValueError, match="Made"):
        [chunk async for chunk in model.astream("why?", config)]
    with pytest.raises(EmptyResponse):
        await in_thread(lambda: model.invoke("why?", config))
    with pytest.raises(EmptyResponse):
        await in_thread(lambda: list(model.stream("why?", config)))
    assert recorder.names == ["on_chat_model_start", "on_llm_error"] * 4


@pytest.mark.parametrize("hook", HOOKS)
async def test_a_hook_that_raises_stop_iteration_ends_nobodys_loop(hook: str, recorder: Any) -> None:
    """StopIteration out of a hook, `next` of an empty iterator for one, is an error and not the end of a stream."""

    async def agenerate(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        return next(iter([]))

    def generate(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        return next(iter([]))

    async def astream(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        yield next(iter([]))

    def stream(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Any:
        yield next(iter([]))

    hooks = dict(zip(HOOKS, (agenerate, generate, astream, stream), strict=True))
    model = chat_model(**{hook: hooks[hook]})
    config = {"callbacks": [recorder]}
    with pytest.raises(RuntimeError, match="StopIteration"):
        await model.ainvoke("why?", config)
    with pytest.raises(RuntimeError, match="StopIteration"):
        [chunk async for chunk in model.astream("why?", config)]
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(lambda: model.invoke("why?", config))
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(lambda: list(model.stream("why?", config)))
    recorder.assert_every_run_ended_once()


# -- no hook


@pytest.mark.parametrize("base", [BaseChatModel, SimpleChatModel, BaseLLM, LLM])
def test_a_model_without_a_hook_cannot_be_made(base: Any) -> None:
    """BCM-05, LLM-02, LLM-28, BCM-51: the error comes at the first instantiation and lists the hooks there are."""
    cls = type("Hookless", (base,), {"_llm_type": property(lambda self: "made"), "__module__": __name__})
    with pytest.raises(InvalidHook, match="Hookless defines no hook: define one of"):
        cls()
    assert issubclass(InvalidHook, TypeError)


@pytest.mark.parametrize("base", [SimpleChatModel, LLM])
def test_a_model_of_one_text_is_told_its_own_hooks(base: Any) -> None:
    """BCM-51, LLM-28: where `_acall` and `_call` are the usual hooks, the error names them."""
    cls = type("Hookless", (base,), {"_llm_type": property(lambda self: "made"), "__module__": __name__})
    with pytest.raises(InvalidHook, match=r"_acall.*_call"):
        cls()


@pytest.mark.parametrize(("base", "hooks"), [(BaseChatModel, CHAT_HOOKS), (BaseLLM, TEXT_HOOKS)], ids=["chat", "text"])
def test_a_model_without_a_kind_cannot_be_made(base: Any, hooks: dict[str, Any]) -> None:
    """BCM-04, LLM-03: `_llm_type` is abstract."""
    cls = type("Kindless", (base,), {**hooks, "__module__": __name__})
    with pytest.raises(TypeError, match="_llm_type"):
        cls()


# -- the one-text hooks


@pytest.mark.parametrize("base", [SimpleChatModel, LLM])
@pytest.mark.parametrize("names", [("_call",), ("_acall",), ("_call", "_acall")], ids="+".join)
async def test_a_model_of_one_text(base: Any, names: tuple[str, ...]) -> None:
    """BCM-51, LLM-28, LLM-29: `_call` or `_acall` alone is a model, in five lines, for sync and async verbs."""
    used: list[str] = []

    def call(self: Any, prompt: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
        used.append(type(run_manager).__name__)
        return TEXT

    async def acall(self: Any, prompt: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
        used.append(type(run_manager).__name__)
        return TEXT

    hooks = {name: {"_call": call, "_acall": acall}[name] for name in names}
    members = {**hooks, "_llm_type": property(lambda self: "made"), "__module__": __name__}
    model = type("Made", (base,), members)()

    for answer in (await model.ainvoke("why?"), await in_thread(lambda: model.invoke("why?"))):
        assert getattr(answer, "text", answer) == TEXT
    in_async, in_sync = "AsyncCallbackManagerForLLMRun", "CallbackManagerForLLMRun"
    assert used == [in_async if "_acall" in names else in_sync, in_sync if "_call" in names else in_async]
    assert len(await model.abatch(["a", "b"])) == 2
    assert "".join([getattr(piece, "text", piece) async for piece in model.astream("why?")]) == TEXT


@pytest.mark.parametrize("base", [SimpleChatModel, LLM])
@pytest.mark.parametrize("hook", ["_call", "_acall"])
async def test_a_text_that_is_none_is_named(base: Any, hook: str) -> None:
    """BCM-51, LLM-28: a forgotten ``return`` is told as such."""

    def call(self: Any, prompt: Any, stop: Any = None, **kwargs: Any) -> Any:
        return None

    async def acall(self: Any, prompt: Any, stop: Any = None, **kwargs: Any) -> Any:
        return None

    members = {hook: {"_call": call, "_acall": acall}[hook], "_llm_type": property(lambda self: "made")}
    model = type("Made", (base,), {**members, "__module__": __name__})()
    with pytest.raises(InvalidHook, match=rf"Made\.{hook} returned NoneType; it must return a str"):
        await model.ainvoke("why?")


async def test_a_text_hook_without_keyword_arguments_suffices() -> None:
    """LLM-24, LLM-28: `_call(self, prompt)` with no more than `stop` is enough."""

    class Old(LLM):
        def _call(self, prompt: str, stop: list[str] | None = None) -> str:  # type: ignore[override]
            return prompt[::-1]

        @property
        def _llm_type(self) -> str:
            return "old"

    assert await Old().ainvoke("abc") == "cba"
    with pytest.raises(TypeError, match="temprature"):
        await Old().ainvoke("abc", temprature=1)


async def test_a_stream_hook_may_ask_for_its_run(recorder: Any) -> None:
    """By a name that no hook written for LangChain has: such a one would tell of its tokens once more."""
    seen: list[Any] = []

    async def stream(
        self: Any, messages: Any, stop: Any = None, run_manager: Any = None, hocket_run: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        seen.append((run_manager, hocket_run.run_id, len(hocket_run.handlers)))
        yield ChatGenerationChunk(message=AIMessageChunk("a"))

    [chunk async for chunk in chat_model(_astream=stream).astream("x", {"callbacks": [recorder]})]
    [start] = recorder.named("on_chat_model_start")
    assert seen == [(None, start.details["run_id"], 1)]
