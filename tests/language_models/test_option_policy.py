"""What becomes of an option that a model cannot take: decided before the run, told to handlers, the same for all models."""

import warnings
from typing import Any

import pytest

from hocket import FakeListChatModel, HumanMessage, InMemoryCache, ScriptedChatModel
from hocket.errors import InvalidInput, Unsupported, UnsupportedOptionWarning
from hocket.language_models import BaseChatModel, ModelProfile
from hocket.messages import AIMessage, BaseMessage
from hocket.outputs import ChatGeneration, ChatResult

REASONS: ModelProfile = {"temperature": False, "tool_calling": False, "image_inputs": False}
PICTURE = HumanMessage([{"type": "image", "url": "https://e.x/i.png"}])


class Choosy(BaseChatModel):
    """A model with options of its own, whose server knows no ``top_k``; it answers with what it was given."""

    model: str = "choosy"
    temperature: float | None = None

    @property
    def _llm_type(self) -> str:
        return "choosy"

    @property
    def _refused_options(self) -> frozenset[str]:
        return frozenset({"top_k", "stop"})

    def _resolve_model_profile(self) -> ModelProfile | None:
        return {"temperature": False} if self.model == "thinker" else None

    async def _agenerate(self, messages: list[BaseMessage], stop: Any = None, **kwargs: Any) -> ChatResult:
        kwargs.pop("run_manager", None)
        told = {"stop": stop, "temperature": self.temperature, **kwargs}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(repr(told)))])


def scripted(answers: int = 1, **fields: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=["ok"] * answers, profile=REASONS, **fields)


async def test_by_default_it_is_an_error_before_the_run(recorder: Any) -> None:
    """No handler hears of it, and the model is not asked; every verb refuses alike."""
    model = scripted()
    config: Any = {"callbacks": [recorder]}
    with pytest.raises(Unsupported, match=r"'ScriptedChatModel' takes no temperature .* unsupported='drop'"):
        await model.ainvoke("hi", config, temperature=0)
    with pytest.raises(Unsupported, match="takes no tools"):
        await model.abatch(["hi"], config, tools=[{"type": "function", "function": {"name": "f"}}])
    with pytest.raises(Unsupported):
        async for _ in model.astream("hi", config, top_p=0.5):
            pass
    with pytest.raises(Unsupported):
        await model.agenerate([[HumanMessage("hi")]], callbacks=[recorder], seed=1, min_p=0)
    with pytest.raises(Unsupported, match="reads no image"):
        await model.ainvoke([PICTURE], config)
    assert recorder.events == [] and model.requests == []


@pytest.mark.parametrize("policy", ["drop", "warn"])
@pytest.mark.filterwarnings("ignore::hocket.errors.UnsupportedOptionWarning")
async def test_what_is_left_out_is_told(policy: Any, recorder: Any) -> None:
    """By the model's policy, a binding's or the call's: the hook does not get it, and the run's metadata name it."""
    config: Any = {"callbacks": [recorder], "metadata": {"mine": 1}}
    model, strict = scripted(3, unsupported=policy), scripted(2)
    await model.ainvoke("hi", config, temperature=0, seed=7, min_p=0.1)
    async for _ in model.astream("hi", config, temperature=0):
        pass
    await model.ainvoke("hi", config)
    await strict.bind(unsupported=policy, temperature=0).ainvoke("hi", config)
    await strict.agenerate([[HumanMessage("hi")]], callbacks=[recorder], temperature=0, unsupported=policy)

    told = [details["metadata"] for *_, details in recorder.named("on_chat_model_start")]
    dropped = [one.get("dropped_options") for one in told]
    assert dropped == [["temperature", "min_p"], ["temperature"], None, ["temperature"], ["temperature"]]
    assert [one.get("mine") for one in told] == [1, 1, 1, 1, None]
    assert [request.params for request in (*model.requests, *strict.requests)] == [{"seed": 7}, {}, {}, {}, {}]
    invocations = [details["invocation_params"] for *_, details in recorder.named("on_chat_model_start")]
    assert not any("temperature" in one or "unsupported" in one for one in invocations)


async def test_a_models_own_option_and_stop_words(recorder: Any) -> None:
    """What the model has as a field is unset for the call, and stays a field; stop words are an option like another."""
    model = Choosy(temperature=0.5, profile=REASONS, unsupported="drop")
    answer = await model.ainvoke("hi", {"callbacks": [recorder]}, stop=["x"], top_k=1)
    assert answer.text == "{'stop': None, 'temperature': None}"
    told = recorder.only("on_chat_model_start").details["metadata"]
    assert told["dropped_options"] == ["temperature", "top_k", "stop"] and "ls_temperature" not in told
    assert model.temperature == 0.5
    with pytest.raises(Unsupported, match="Choosy takes no top_k, stop; the model 'choosy' takes no temperature"):
        await model.ainvoke("hi", stop=["x"], top_k=1, unsupported="raise")
    assert (await Choosy(temperature=0.5).ainvoke("hi")).text == "{'stop': None, 'temperature': 0.5}"


async def test_a_warning_points_at_the_call() -> None:
    """At the line that called; Python shows it once for each."""
    model = scripted(3, unsupported="warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(2):
            await model.ainvoke("hi", temperature=0)
        await model.bind(temperature=0).ainvoke("hi")

    assert [one.category for one in caught] == [UnsupportedOptionWarning] * 2
    assert {one.filename for one in caught} == {__file__}
    assert (
        str(caught[0].message)
        == "the model 'ScriptedChatModel' takes no temperature (its profile: temperature is False): left out"
    )


async def test_the_policy_is_in_no_cache_key() -> None:
    """A dropped option does not make another request of it."""
    model = scripted(1, cache=InMemoryCache())
    await model.ainvoke("hi")
    await model.ainvoke("hi", temperature=0, unsupported="drop")
    await model.model_copy(update={"unsupported": "drop"}).ainvoke("hi", temperature=0)
    assert len(model.requests) == 1


async def test_fakes_take_everything() -> None:
    """A model of which nothing is known, and whose server is none, refuses nothing; there is no policy but the three."""
    model = FakeListChatModel(responses=["ok"])
    assert model.profile is None
    assert (await model.ainvoke([PICTURE], temperature=0, top_k=1, stop=["x"])).text == "ok"
    with pytest.raises(InvalidInput, match="unsupported='dorp'"):
        await model.ainvoke("hi", unsupported="dorp")
    with pytest.raises(ValueError, match="unsupported"):
        FakeListChatModel(responses=[], unsupported="dorp")  # type: ignore[arg-type]


async def test_the_profile_of_a_model() -> None:
    """Found by its name when it is made, or assigned, by configuration too; what the user gives wins; it is in no dump."""
    assert Choosy().profile is None
    assert Choosy(model="thinker").profile == {"temperature": False}
    assert Choosy(model="thinker", profile={"temperature": True}).profile == {"temperature": True}
    assert "profile" not in Choosy(model="thinker").model_dump()
    with pytest.raises(Unsupported):
        await Choosy(temperature=1).ainvoke("hi", model="thinker")

    changed = Choosy(temperature=1)
    changed.model = "thinker"
    with pytest.raises(Unsupported, match="the model 'thinker' takes no temperature"):
        await changed.ainvoke("hi")
    kept = Choosy(profile={"temperature": True})
    kept.model = "thinker"
    assert kept.profile == {"temperature": True}

    from hocket.runnables import ConfigurableField

    chosen = Choosy(temperature=1).configurable_fields(model=ConfigurableField("model"))
    with pytest.raises(Unsupported, match="the model 'thinker' takes no temperature"):
        await chosen.ainvoke("hi", {"configurable": {"model": "thinker"}})


async def test_a_key_that_a_profile_does_not_have() -> None:
    """It is kept, since profiles grow, and warned about, since it may be a typo."""
    with pytest.warns(UserWarning, match="no image_input: nothing reads it"):
        model = FakeListChatModel(responses=["ok"], profile={"image_input": False})  # type: ignore[typeddict-unknown-key]
    assert model.profile == {"image_input": False}
