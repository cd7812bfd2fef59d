"""A model is configuration: validated, private where it must be, and the same after a copy, a pickle or a dump."""

import copy
import pickle
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest
from pydantic import Field, SecretStr, ValidationError

from hocket import (
    AIMessage,
    BaseCache,
    BaseChatModel,
    BaseLanguageModel,
    ChatGeneration,
    ChatPromptValue,
    ChatResult,
    FakeListChatModel,
    FakeListLLM,
    FakeMessagesListChatModel,
    HumanMessage,
    InMemoryCache,
    Runnable,
    ScriptedChatModel,
    StringPromptValue,
    SystemMessage,
    dumpd,
    dumps,
    loads,
    set_debug,
    set_llm_cache,
    set_verbose,
)
from hocket._pipeline.cache_key import prompt_key
from hocket.errors import CacheMissing, DroppedStateWarning, InvalidInput, LoadError
from hocket.runnables import RunnableSerializable
from hocket.tokens import TokenCount
from tests.kit import CountingLimiter, DictCache


class Answering(BaseChatModel):
    """Answers with how often it was asked."""

    model: str = "small"
    temperature: float = 0
    asked: list[int] = Field(default_factory=list, exclude=True)

    async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        self.asked.append(len(self.asked) + 1)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(str(self.asked[-1])))])

    @property
    def _llm_type(self) -> str:
        return "answering"


EXCLUDED = {
    "cache": None,
    "rate_limiter": None,
    "callbacks": None,
    "tags": None,
    "metadata": None,
    "verbose": False,
    "custom_get_token_ids": None,
}


# -- fields


@pytest.mark.parametrize("model", [Answering(), FakeListLLM(responses=["a"])], ids=["chat", "text"])
def test_the_fields_of_every_model(model: Any) -> None:
    """BLM-03, 05, 06, 07, 08, 09, BCM-02: these fields exist with these defaults, and no dumped form or repr has them."""
    assert {name: getattr(model, name) for name in EXCLUDED} == EXCLUDED
    assert not set(EXCLUDED) & (set(model.model_dump()) | set(dumpd(model).get("kwargs", {})))
    assert not any(f"{name}=" in repr(model) for name in EXCLUDED)


def test_a_model_is_a_serialisable_runnable() -> None:
    """BLM-01: models have every verb of a runnable, and its serialisation."""
    assert issubclass(BaseLanguageModel, RunnableSerializable)
    assert issubclass(BaseLanguageModel, Runnable)


def test_prompts_come_in_by_abstract_methods() -> None:
    """BLM-10, BLM-11, BLM-12: the base says what a family must define; without it no instance can be made."""

    class Unfinished(BaseLanguageModel[str]):
        @property
        def _llm_type(self) -> str:
            return "unfinished"

    with pytest.raises(TypeError, match=r"agenerate_prompt.*generate_prompt"):
        Unfinished()
    assert "invoke" not in vars(BaseLanguageModel)


@pytest.mark.parametrize("name", ["predict", "predict_messages", "apredict", "apredict_messages", "call", "__call__"])
def test_what_langchain_has_dropped_is_not_there(name: str) -> None:
    """BLM-13, MODEL-02: the verbs that LangChain removed in 1.0 are not offered; `invoke` is what they were."""
    assert not hasattr(Answering(), name)


def test_prompt_values_give_messages_and_text() -> None:
    """BLM-14: a text is one human message; messages are one text with a role on each line."""
    assert StringPromptValue(text="hi").to_messages() == [HumanMessage("hi")]
    assert StringPromptValue(text="hi").to_string() == "hi"
    value = ChatPromptValue(messages=[SystemMessage("Be brief."), HumanMessage("hi")])
    assert value.to_messages() == [SystemMessage("Be brief."), HumanMessage("hi")]
    assert value.to_string() == "System: Be brief.\nHuman: hi"


@pytest.mark.parametrize("field", ["temprature", "max_concurency", "api_key"])
def test_an_unknown_field_is_refused(field: str) -> None:
    """A typo is told at construction: LangChain ignores it."""
    with pytest.raises(ValidationError, match=f"there is no field {field!r}"):
        Answering(**{field: 1})


@pytest.mark.parametrize(
    ("field", "value"),
    [("cache", 42), ("rate_limiter", "slow"), ("callbacks", "all"), ("callbacks", [42]), ("tags", "a"), ("model", 3)],
)
def test_a_field_of_the_wrong_type_is_refused(field: str, value: Any) -> None:
    """The error names the field."""
    with pytest.raises(ValidationError, match=field):
        Answering(**{field: value})


def test_a_cache_or_limiter_of_another_library_is_refused() -> None:
    """BLM-03: what only looks like a cache is told at construction, and not at the first call."""

    class NotACache:
        def lookup(self, prompt: str, llm_string: str) -> None: ...

    with pytest.raises(ValidationError, match="BaseCache"):
        Answering(cache=NotACache())  # type: ignore[arg-type]


def test_verbose_is_by_default_what_the_process_says() -> None:
    """BLM-05: None and nothing mean the global setting at construction."""
    assert Answering().verbose is False
    set_verbose(True)
    assert Answering().verbose is True
    assert Answering(verbose=None).verbose is True
    assert Answering(verbose=False).verbose is False


async def test_verbose_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """BLM-05: a verbose model's runs are seen on standard output; under `set_debug` all are."""

    class Talking(Answering):
        async def _agenerate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> ChatResult:
            await run_manager.on_text("thinking")
            return await super()._agenerate(messages, stop, **kwargs)

    await Talking(verbose=True).ainvoke("why?")
    assert "thinking" in capsys.readouterr().out
    await Talking().ainvoke("why?")
    assert capsys.readouterr().out == ""
    set_debug(True)
    await Answering().ainvoke("why?")
    assert "why?" in capsys.readouterr().out


@pytest.mark.parametrize(
    "make", [Answering, lambda **fields: FakeListLLM(responses=["a"], **fields)], ids=["chat", "llm"]
)
def test_callback_manager_is_callbacks(make: Callable[..., Any], recorder: Any) -> None:
    """BCM-01, LLM-01: the old name works, and warns at the line that uses it."""
    with pytest.warns(DeprecationWarning, match="use callbacks") as warned:
        model = make(callback_manager=[recorder])
    assert model.callbacks == [recorder]
    assert warned[0].filename == __file__


async def test_handlers_of_a_model_hear_each_of_its_runs_once(recorder: Any) -> None:
    """BLM-06: also when the call brings the same handler."""
    await Answering(callbacks=[recorder]).ainvoke("why?")
    await Answering(callbacks=[recorder]).ainvoke("why?", {"callbacks": [recorder]})
    assert recorder.names == ["on_chat_model_start", "on_llm_end"] * 2


async def test_tags_and_metadata_add_up(recorder: Any) -> None:
    """BLM-07: a handler sees the model's own and those of the call."""
    model = Answering(tags=["own"], metadata={"owner": "me"}, callbacks=[recorder])
    await model.ainvoke("why?", {"tags": ["call"], "metadata": {"request": 7}})
    details = recorder.only("on_chat_model_start").details
    assert set(details["tags"]) == {"own", "call"}
    assert {"owner": "me", "request": 7}.items() <= details["metadata"].items()


# -- the cache field


@pytest.mark.parametrize("has_global", [True, False])
@pytest.mark.parametrize("field", [True, False, None, "own"])
async def test_which_cache_is_used(field: Any, has_global: bool) -> None:
    """BLM-03, BCM-35, BCM-38: True is the global cache or an error, None the global one if set, False none."""
    shared, own = InMemoryCache(), InMemoryCache()
    set_llm_cache(shared if has_global else None)
    model = Answering(cache=own if field == "own" else field)
    if field is True and not has_global:
        with pytest.raises(CacheMissing, match="Asked to cache, but no cache found"):
            await model.ainvoke("why?")
        assert issubclass(CacheMissing, ValueError)
        return
    await model.ainvoke("why?")
    again = await model.ainvoke("why?")
    caches = field == "own" or (field is not False and has_global)
    assert again.content == ("1" if caches else "2")
    key = prompt_key([HumanMessage("why?")]), model._get_llm_string()
    assert (shared.lookup(*key) is not None) == (has_global and field in (True, None))
    assert (own.lookup(*key) is not None) == (field == "own")


async def test_a_cache_that_is_empty_is_a_cache() -> None:
    """BCM-35: a cache with ``__len__`` 0 is used, where a test of its truth would say that there is none."""

    class Sized(InMemoryCache):
        def __len__(self) -> int:
            return 0

    model = Answering(cache=Sized())
    assert [(await model.ainvoke("why?")).content for _ in range(2)] == ["1", "1"]


async def test_streams_use_the_cache() -> None:
    """BLM-04: LangChain's streams bypass the cache; ours read and fill it, unless the model says ``cache=False``."""
    model = Answering(cache=InMemoryCache())
    assert [chunk.text async for chunk in model.astream("why?")] == ["1"]
    assert [chunk.text async for chunk in model.astream("why?")] == ["1"]
    assert (await model.ainvoke("why?")).content == "1"
    assert [chunk.text async for chunk in model.model_copy(update={"cache": False}).astream("why?")] == ["2"]


async def test_cache_and_limiter_may_be_set_after_a_call() -> None:
    """The pipeline is composed once, and anew when one of its fields is set."""
    model = Answering()
    await model.ainvoke("why?")

    limiter = CountingLimiter()
    model.rate_limiter = limiter
    await model.ainvoke("why?")
    assert limiter.count == 1

    model.cache = InMemoryCache()
    assert [(await model.ainvoke("why?")).content for _ in range(2)] == ["3", "3"]
    assert limiter.count == 2

    model.cache, model.rate_limiter = None, None
    assert (await model.ainvoke("why?")).content == "4"
    assert limiter.count == 2


def test_a_field_may_be_set_while_another_thread_makes_the_first_call() -> None:
    """What that thread composes of the old value serves its own call, and none after it."""
    composing, go_on = threading.Event(), threading.Event()

    class Slow(Answering):
        def _compose(self) -> Any:
            made = super()._compose()
            composing.set()
            go_on.wait(10)
            return made

    model = Slow()
    first = threading.Thread(target=model.invoke, args=("why?",))
    first.start()
    assert composing.wait(10)
    model.cache = InMemoryCache()
    go_on.set()
    first.join()
    assert model.invoke("why?").content == model.invoke("why?").content


async def test_a_changed_field_gives_another_answer() -> None:
    """The cache key is computed for each call: LangChain serves the answer of the model as it was before."""
    model = Answering(cache=InMemoryCache())
    first = (await model.ainvoke("why?")).content
    model.temperature = 1
    assert (await model.ainvoke("why?")).content != first


# -- copies, pickles, dumps


class Picklable(BaseChatModel):
    """A model with some fields of every kind."""

    model: str = "small"
    options: dict[str, Any] = Field(default_factory=dict)

    async def _agenerate(self, messages: Any, stop: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.model))])

    @property
    def _llm_type(self) -> str:
        return "picklable"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"model": self.model}

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True


class PortableCache(DictCache):
    """Says that it means the same in another process."""

    is_portable = True


def test_a_pickle_takes_what_says_that_it_can_travel() -> None:
    """Such as a cache made from an address; a limiter that does not say so is left behind, and named in the warning."""
    model = Picklable(model="large", cache=PortableCache(), rate_limiter=CountingLimiter())
    with pytest.warns(DroppedStateWarning, match="leaves its rate_limiter behind"):
        loaded = pickle.loads(pickle.dumps(model))
    assert isinstance(loaded.cache, PortableCache)
    assert loaded.rate_limiter is None


async def test_a_pickle_leaves_behind_what_cannot_travel() -> None:
    """Cache, limiter and callbacks stay at home, as a warning says; everything else arrives, and the model works."""
    model = Picklable(model="large", options={"a": [1]}, cache=InMemoryCache(), rate_limiter=CountingLimiter())
    await model.ainvoke("why?")
    with pytest.warns(DroppedStateWarning, match="cache, rate_limiter"):
        data = pickle.dumps(model)
    arrived = pickle.loads(data)
    assert (arrived.cache, arrived.rate_limiter, arrived.callbacks) == (None, None, None)
    assert arrived == Picklable(model="large", options={"a": [1]})
    assert (await arrived.ainvoke("why?")).content == "large"
    assert model.cache is not None


async def test_a_pickle_of_plain_configuration_warns_of_nothing() -> None:
    """``cache=False`` is no cache: it travels, silently."""
    model = Picklable(cache=False, tags=["a"])
    await model.ainvoke("why?")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arrived = pickle.loads(pickle.dumps(model))
    assert (arrived.cache, arrived.tags) == (False, ["a"])


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda model: model.model_copy(), lambda model: model.model_copy(deep=True)],
    ids=["copy", "deepcopy", "model_copy", "deep model_copy"],
)
async def test_copies_share_what_is_open(copied: Callable[[Any], Any], recorder: Any) -> None:
    """A copy has the same cache, limiter and handlers (a lock in them would break a deep copy), and its own fields."""
    cache, limiter = InMemoryCache(), CountingLimiter()
    model = Picklable(options={"a": [1]}, cache=cache, rate_limiter=limiter, callbacks=[recorder])
    await model.ainvoke("why?")
    other = copied(model)
    assert other == model
    assert (other.cache, other.rate_limiter, other.callbacks) == (cache, limiter, [recorder])
    assert (await other.ainvoke("why?")).response_metadata["cache_hit"] is True
    other.model = "other"
    assert model.model == "small"
    assert (await other.ainvoke("why?")).content == "other"
    if copied in (copy.deepcopy,):
        other.options["a"].append(2)
        assert model.options == {"a": [1]}


async def test_a_copy_with_another_cache_uses_it() -> None:
    """`model_copy(update=...)` changes the pipeline with the field."""
    model = Answering(cache=InMemoryCache())
    await model.ainvoke("why?")
    other = model.model_copy(update={"cache": InMemoryCache()})
    assert (await other.ainvoke("why?")).content == "2"


async def test_having_been_called_changes_nothing() -> None:
    """A model that has answered is equal to one that has not, dumps alike and looks alike."""
    used, fresh = Picklable(), Picklable()
    await used.ainvoke("why?")
    assert used == fresh
    assert repr(used) == repr(fresh)
    assert used.model_dump() == fresh.model_dump()
    assert dumps(used) == dumps(fresh)
    assert dict(used) == dict(fresh)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(pickle.dumps(used)) == len(pickle.dumps(fresh))


@pytest.mark.parametrize(
    "model",
    [
        FakeListChatModel(responses=["a", "b"], sleep=0.5, disable_streaming="tool_calling"),
        FakeListLLM(responses=["a", "b"]),
        FakeMessagesListChatModel(responses=[AIMessage("", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "1"}])]),
        Picklable(options={"lc": 1, "deep": [{"lc": 2}]}),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_dumped_model_is_loaded_again(model: Any) -> None:
    """BLM-01, BCM-03: dumps and loads give an equal model; ``disable_streaming`` travels, too."""
    loaded = loads(dumps(model), allowed_objects=[type(model), AIMessage])
    assert loaded == model
    assert type(loaded) is type(model)


def test_a_model_that_does_not_opt_in_is_not_dumped() -> None:
    """BLM-01: a model is data only if its class says so; loading its dump is an error that names it."""
    node = dumpd(Answering())
    assert (node["type"], node["id"][-1]) == ("not_implemented", "Answering")
    with pytest.raises(LoadError, match="Answering"):
        loads(dumps(Answering()))


def test_secrets_are_dumped_as_references() -> None:
    """BLM-01: the value of a secret is in no dump, repr, cache key or trace."""

    class Keyed(Picklable):
        api_key: SecretStr = SecretStr("")

    model = Keyed(api_key=SecretStr("sk-very-secret"))
    shown = [
        dumps(model),
        repr(model),
        str(model),
        model._get_llm_string(),
        str(model._serialize_for_handlers()),
        str(model.asdict()),
    ]
    assert not [text for text in shown if "very-secret" in text]
    assert dumpd(model)["kwargs"]["api_key"] == {"lc": 1, "type": "secret", "id": ["API_KEY"]}


def test_asdict_identifies_the_model() -> None:
    """BCM-17, BCM-52: identifying parameters and ``_type``; they tell models apart in the cache key, too."""
    assert Picklable(model="large").asdict() == {"model": "large", "_type": "picklable"}
    assert Picklable(model="large").dict() == Picklable(model="large").asdict()
    assert Picklable(model="large")._get_llm_string() != Picklable(model="small")._get_llm_string()


# -- counting


def by_letter(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def test_tokens_are_counted_by_the_tokenizer_given() -> None:
    """BLM-08: `custom_get_token_ids` answers for all three."""
    model = Answering(custom_get_token_ids=by_letter)
    assert model.get_token_ids("abc") == [97, 98, 99]
    assert model.get_num_tokens("abc") == 3
    messages = [HumanMessage("hi"), AIMessage("ho")]
    assert model.get_num_tokens_from_messages(messages) == len("Human: hi") + len("AI: ho")


def test_tokens_are_estimated_without_a_tokenizer() -> None:
    """BLM-08: a token for 4 characters; the ids themselves cannot be made up."""
    model = Answering()
    assert [model.get_num_tokens(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]
    with pytest.raises(InvalidInput, match=r"Answering has no tokenizer.*custom_get_token_ids"):
        model.get_token_ids("abc")


def test_tools_are_counted_as_text() -> None:
    """What describes a tool takes its share of the window, and the count says that it is no exact one."""
    alone, both = (
        Answering().get_num_tokens_from_messages([HumanMessage("hi")], tools=tools) for tools in (None, [{}])
    )
    assert isinstance(both, TokenCount)
    assert (alone, both, both.exact) == (5, 6, False)


# -- sharing


async def test_one_model_is_used_from_many_tasks_loops_and_threads() -> None:
    """A model holds nothing that belongs to a loop: tasks here, and loops of both kinds in other threads, at once."""
    model = Picklable(cache=InMemoryCache())
    answers: list[str] = []

    async def ask(count: int) -> None:
        for index in range(count):
            answers.append((await model.ainvoke(f"{threading.get_ident()} {index % 3}")).content)  # type: ignore[arg-type]

    threads = [
        threading.Thread(target=lambda backend=backend: anyio.run(ask, 20, backend=backend))
        for backend in ("asyncio", "trio", "asyncio", "trio")
    ]
    for thread in threads:
        thread.start()
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(ask, 20)
    for thread in threads:
        await anyio.to_thread.run_sync(thread.join)
    assert answers == ["small"] * 180


def test_a_scripted_model_travels() -> None:
    """The scriptable model, too, is picklable and can be copied."""
    model = ScriptedChatModel(script=["a", AIMessage("b")])
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert [other.invoke("x").content, other.invoke("y").content] == ["a", "b"]
    assert model.requests == []


def test_a_cache_is_not_asked_whether_it_is_true() -> None:
    """BCM-35: whoever writes a cache need not think of its truth."""

    class Awkward(InMemoryCache):
        def __bool__(self) -> bool:
            raise AssertionError("asked")

    cache: BaseCache = Awkward()
    assert Answering(cache=cache).invoke("why?").content == "1"
