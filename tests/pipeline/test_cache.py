"""The cache in use: which one, what a hit is, what never becomes one, and that it never costs an answer."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from pydantic import PrivateAttr

from hocket.caches import BaseCache, InMemoryCache
from hocket.callbacks import UsageMetadataCallbackHandler
from hocket.errors import CacheMissing
from hocket.globals import set_llm_cache
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, BaseMessage
from hocket.outputs import ChatGeneration, ChatResult, Generation, LLMResult
from tests.kit import DictCache, HookCall, hook_llm

USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


class Sync(BaseChatModel):
    """Answers with how often it was asked, in sync code."""

    model: str = "m"
    temperature: float = 0

    _asked: int = PrivateAttr(default=0)
    _fails: bool = PrivateAttr(default=False)

    def _answer(self) -> ChatResult:
        self._asked += 1
        if self._fails:
            raise ConnectionError("refused")
        message = AIMessage(str(self._asked), usage_metadata=USAGE, additional_kwargs={"list": [1]})
        generation = ChatGeneration(message=message, generation_info={"finish_reason": "stop"})
        return ChatResult(generations=[generation], llm_output={"model_name": self.model})

    def _generate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        return self._answer()

    @property
    def _llm_type(self) -> str:
        return "counting"


class Async(Sync):
    """The same in async code."""

    async def _agenerate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        return self._answer()


Ask = Callable[..., Awaitable[AIMessage]]


async def by_ainvoke(model: BaseChatModel, *args: Any, **kwargs: Any) -> AIMessage:
    return await model.ainvoke(*args, **kwargs)


async def by_invoke(model: BaseChatModel, *args: Any, **kwargs: Any) -> AIMessage:
    return model.invoke(*args, **kwargs)


ways = pytest.mark.parametrize(
    ("cls", "ask"), [(Async, by_ainvoke), (Sync, by_ainvoke), (Sync, by_invoke)], ids=["async", "thread", "stepped"]
)


class Broken(BaseCache):
    """Fails where it is told to, with what it is told to."""

    def __init__(self, error: Exception, *, lookup: bool = False, update: bool = False) -> None:
        self.error = error
        self.fails_at = {"lookup": lookup, "update": update}

    def lookup(self, prompt: str, llm_string: str) -> None:
        if self.fails_at["lookup"]:
            raise self.error

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        if self.fails_at["update"]:
            raise self.error

    def clear(self, **kwargs: Any) -> None:
        raise self.error


# -- which cache


@ways
@pytest.mark.parametrize("globally", [False, True], ids=["no global cache", "a global cache"])
@pytest.mark.parametrize("field", [True, False, None, "own"])
async def test_the_field_says_which_cache(cls: type[Sync], ask: Ask, field: Any, globally: bool) -> None:
    """True and None: the global one (True: it must be there); False: none; a cache: that one and no other."""
    shared, own = InMemoryCache(), InMemoryCache()
    set_llm_cache(shared if globally else None)
    model = cls(cache=own if field == "own" else field)
    if field is True and not globally:
        with pytest.raises(CacheMissing, match=r"Asked to cache, but no cache found.*set_llm_cache"):
            await ask(model, "hi")
        assert model._asked == 0
        return
    first, second = await ask(model, "hi"), await ask(model, "hi")
    used = own if field == "own" else shared if globally and field is not False else None
    assert (first.content, second.content) == (("1", "1") if used is not None else ("1", "2"))
    assert (len(own), len(shared)) == (int(used is own), int(used is shared))


async def test_the_global_cache_is_read_at_each_call() -> None:
    """Set or unset later, it counts from then on."""
    model = Async()
    assert [(await model.ainvoke("hi")).content for _ in range(2)] == ["1", "2"]
    set_llm_cache(InMemoryCache())
    assert [(await model.ainvoke("hi")).content for _ in range(2)] == ["3", "3"]
    set_llm_cache(None)
    assert (await model.ainvoke("hi")).content == "4"
    model.cache = InMemoryCache()
    assert [(await model.ainvoke("hi")).content for _ in range(2)] == ["5", "5"]


@ways
async def test_an_empty_cache_is_a_cache(cls: type[Sync], ask: Ask) -> None:
    """An object whose length is 0 is false, and is used all the same."""
    cache = InMemoryCache()
    assert not cache
    model = cls(cache=cache)
    await ask(model, "hi")
    assert len(cache) == 1


# -- what a hit is


@ways
async def test_a_sequence_of_questions(cls: type[Sync], ask: Ask) -> None:
    """hello, hello, goodbye, goodbye, hello: asked and stored 1, 1, 2, 2, 2 times."""
    cache = DictCache()
    model = cls(cache=cache)
    asked, puts = [], []
    for text in ("hello", "hello", "goodbye", "goodbye", "hello"):
        await ask(model, text)
        asked.append(model._asked)
        puts.append(cache.updates)
    assert asked == puts == [1, 1, 2, 2, 2]


@ways
async def test_a_hit_says_all_that_the_answer_said(cls: type[Sync], ask: Ask) -> None:
    """Text, metadata, finish reason, the provider's own output; and that it is a hit, for which nobody is billed."""
    model = cls(cache=InMemoryCache())
    first, second = await ask(model, "hi"), await ask(model, "hi")
    assert first.response_metadata == {"model_name": "m", "finish_reason": "stop"}
    assert second.response_metadata == {**first.response_metadata, "cache_hit": True}
    assert second.usage_metadata == {**USAGE, "total_cost": 0}
    assert first.usage_metadata == USAGE
    assert first.id
    assert second.id
    assert first.id != second.id
    assert (second.content, second.additional_kwargs) == (first.content, first.additional_kwargs)


async def test_the_first_answer_keeps_its_llm_output() -> None:
    """A cache takes nothing from the result of the one who pays; a hit has none to count again."""
    model = Async(cache=InMemoryCache())
    first = await model._agenerate_with_cache([AIMessage("hi")])
    second = await model._agenerate_with_cache([AIMessage("hi")])
    assert first.llm_output == {"model_name": "m"}
    assert not second.llm_output


@ways
@pytest.mark.parametrize("cache", [InMemoryCache, DictCache])
async def test_nobody_can_edit_what_others_get(cls: type[Sync], ask: Ask, cache: type[BaseCache]) -> None:
    """Neither through the first answer nor through a hit, whatever the cache keeps."""
    model = cls(cache=cache())
    for _ in range(3):
        answer = await ask(model, "hi")
        assert answer.content == "1"
        assert answer.additional_kwargs == {"list": [1]}
        answer.content = "EDITED"
        answer.additional_kwargs["list"].append(2)
        answer.response_metadata["finish_reason"] = "EDITED"
        answer.usage_metadata["total_tokens"] = 99  # type: ignore[index]


@ways
async def test_usage_is_counted_once(cls: type[Sync], ask: Ask) -> None:
    """However often the answer is served."""
    counter = UsageMetadataCallbackHandler()
    model = cls(cache=InMemoryCache(), callbacks=[counter])
    for _ in range(3):
        await ask(model, "hi")
    assert counter.usage_metadata == {"m": USAGE}


@ways
async def test_a_changed_field_is_another_question(cls: type[Sync], ask: Ask) -> None:
    """Also when it is changed after a call."""
    model = cls(cache=InMemoryCache())
    await ask(model, "hi")
    model.temperature = 1
    assert (await ask(model, "hi")).content == "2"
    model.temperature = 0
    assert (await ask(model, "hi")).content == "1"


@ways
async def test_two_models_on_one_cache_never_take_each_others_answers(cls: type[Sync], ask: Ask) -> None:
    """Another name, another class, another setting: another model."""

    class Namesake(cls):  # type: ignore[misc, valid-type]
        pass

    cache = InMemoryCache()
    models = [cls(cache=cache), cls(cache=cache, model="n"), cls(cache=cache, temperature=1), Namesake(cache=cache)]
    for model in models:
        assert "cache_hit" not in (await ask(model, "hi")).response_metadata
    assert len(cache) == 4
    assert "cache_hit" in (await ask(cls(cache=cache), "hi")).response_metadata


# -- what never costs an answer


@ways
@pytest.mark.parametrize("error", [OSError("down"), ValueError("bad"), TimeoutError(), NotImplementedError()])
@pytest.mark.parametrize("place", ["lookup", "update"])
async def test_a_cache_that_fails_costs_no_answer(
    cls: type[Sync], ask: Ask, place: str, error: Exception, logged: pytest.LogCaptureFixture
) -> None:
    """It is logged, and counts as empty."""
    model = cls(cache=Broken(error, **{place: True}))
    assert [(await ask(model, "hi")).content for _ in range(2)] == ["1", "2"]
    records = [record for record in logged.records if record.name == "hocket.caches"]
    assert len(records) == 2
    assert all(record.levelname == "WARNING" and "Broken" in record.getMessage() for record in records)


ODD: list[Any] = [
    (),
    [],
    "text",
    {"a": 1},
    1,
    [1],
    ["text"],
    [None],
    (Generation(text="no"),),
    [Generation(text="x"), 1],
]


@ways
@pytest.mark.parametrize("stored", ODD, ids=repr)
async def test_anything_but_a_list_of_candidates_is_no_hit(cls: type[Sync], ask: Ask, stored: Any) -> None:
    """A store that another program wrote to may hold anything."""

    class Odd(DictCache):
        def lookup(self, prompt: str, llm_string: str) -> Any:
            return stored

    assert (await ask(cls(cache=Odd()), "hi")).content == "1"


@ways
async def test_a_failure_is_never_stored(cls: type[Sync], ask: Ask) -> None:
    """The next call asks again."""
    cache = DictCache()
    model = cls(cache=cache)
    model._fails = True
    with pytest.raises(ConnectionError):
        await ask(model, "hi")
    model._fails = False
    assert (await ask(model, "hi")).content == "2"
    assert cache.updates == 1


# -- text models


def number_texts() -> Callable[[HookCall], LLMResult]:
    """Make what a text model does that answers each prompt with how often it was asked."""
    numbers = itertools.count(1)

    def answer(call: HookCall) -> LLMResult:
        number, info = next(numbers), {"list": [1]}
        return LLMResult(
            generations=[[Generation(text=f"{text} {number}", generation_info=info)] for text in call.input],
            llm_output={"model_name": "t"},
        )

    return answer


async def test_the_first_text_answer_keeps_its_output_and_run() -> None:
    """With a cache as without; a hit is no run and has no output."""
    model = hook_llm(number_texts(), cache=InMemoryCache())
    first, second = await model.agenerate(["a"]), await model.agenerate(["a"])
    assert first.llm_output == {"model_name": "t"}
    assert first.run is not None
    assert len(first.run) == 1
    assert not second.llm_output
    assert not second.run
    assert second.generations[0][0].generation_info == {"list": [1], "cache_hit": True}


@pytest.mark.parametrize("prompts", [["a"], ["a", "b"]])
async def test_nobody_can_edit_the_texts_that_others_get(prompts: list[str]) -> None:
    """One prompt or several, with a cache that keeps what it is given."""
    model = hook_llm(number_texts(), cache=DictCache())
    for _ in range(3):
        result = await model.agenerate(prompts)
        assert result.generations[0][0].text == "a 1"
        assert result.generations[0][0].generation_info["list"] == [1]  # type: ignore[index]
        result.generations[0][0].text = "EDITED"
        result.generations[0][0].generation_info["list"].append(2)  # type: ignore[index]


async def test_equal_texts_in_flight_are_runs_of_their_own(recorders: Any) -> None:
    """One request for both; the one who leaves hears the end of his run when he leaves, the other his answer."""
    go_on, answer = anyio.Event(), number_texts()

    async def wait(call: HookCall) -> LLMResult:
        await go_on.wait()
        return answer(call)

    model = hook_llm(wait, cache=InMemoryCache())
    leaver, stayer = recorders(), recorders()
    scope = anyio.CancelScope()

    async def leave() -> None:
        with scope:
            await model.ainvoke("a", {"callbacks": [leaver]})
        assert leaver.end == "on_llm_error"

    async def stay() -> None:
        assert await model.ainvoke("a", {"callbacks": [stayer]}) == "a 1"

    async with anyio.create_task_group() as group:
        for call in (leave, stay):
            group.start_soon(call)
            for _ in range(10):
                await anyio.lowlevel.checkpoint()
        scope.cancel()
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        assert stayer.names == ["on_llm_start"]
        go_on.set()
    assert stayer.end == "on_llm_end"
    assert len(model.requests) == 1
