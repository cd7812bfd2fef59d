"""What a call chooses by its config: fields, and whole runnables."""

from typing import Any

import pytest

from hocket import FakeChatModel, FakeListChatModel, HumanMessage, InMemoryCache, PromptTemplate
from hocket.errors import InvalidInput
from hocket.runnables import (
    ConfigurableField,
    ConfigurableFieldMultiOption,
    ConfigurableFieldSingleOption,
    RunnableConfig,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)


def asked(**configurable: Any) -> RunnableConfig:
    return {"configurable": configurable}


model = FakeListChatModel(responses=["plain"])
fielded = model.configurable_fields(responses=ConfigurableField(id="said"))


async def test_a_call_may_give_a_field() -> None:
    """Under the key; the model itself stays as it is, with its cache."""
    cached = FakeListChatModel(responses=["plain"], cache=InMemoryCache())
    runnable = cached.configurable_fields(responses=ConfigurableField(id="said"))
    assert (await runnable.ainvoke("hi")).content == "plain"
    assert (await runnable.ainvoke("hi", asked(said=["other"]))).content == "other"
    assert (await runnable.with_config(configurable={"said": ["bound"]}).ainvoke("hi")).content == "bound"
    assert [chunk.content async for chunk in runnable.astream("hi", asked(said=["ab"]))] == ["a", "b"]
    assert [reply.content for reply in await runnable.abatch(["a", "b"], asked(said=["x"]))] == ["x", "x"]
    replies = await runnable.abatch(["a", "b"], [asked(said=["x"]), asked(said=["y"])])
    assert [reply.content for reply in replies] == ["x", "y"]
    assert cached.responses == ["plain"]
    assert runnable.responses == ["plain"]  # type: ignore[attr-defined]


def test_sync_verbs_choose_too() -> None:
    """In the caller's thread."""
    assert fielded.invoke("hi", asked(said=["other"])).content == "other"
    assert "".join(chunk.text for chunk in fielded.stream("hi", asked(said=["ab"]))) == "ab"


async def test_the_choice_reaches_into_chains() -> None:
    """However deep, and through functions."""

    async def ask(text: str) -> str:
        return (await fielded.ainvoke(text)).text

    chain = RunnableParallel(a=RunnablePassthrough() | fielded, b=RunnableLambda(ask))
    answer = await chain.ainvoke("hi", asked(said=["deep"]))
    assert (answer["a"].content, answer["b"]) == ("deep", "deep")


async def test_values_are_checked() -> None:
    """As when a model is made; the error says which field."""
    with pytest.raises(InvalidInput, match="responses in configurable"):
        await fielded.ainvoke("hi", asked(said=7))
    with pytest.raises(InvalidInput, match="no field 'temprature'"):
        model.configurable_fields(temprature=ConfigurableField(id="t"))


async def test_options_are_chosen_by_name() -> None:
    """One, or several; another name is refused, with those that there are."""
    one = model.configurable_fields(
        responses=ConfigurableFieldSingleOption(id="said", options={"short": ["s"], "long": ["l"]}, default="long")
    )
    assert (await one.ainvoke("hi")).content == "l"
    assert (await one.ainvoke("hi", asked(said="short"))).content == "s"
    with pytest.raises(InvalidInput, match="'middle'; it must be of short, long"):
        await one.ainvoke("hi", asked(said="middle"))
    several = model.configurable_fields(
        responses=ConfigurableFieldMultiOption(id="said", options={"a": "A", "b": "B"}, default=["a"])
    )
    assert (await several.ainvoke("hi")).content == "A"
    assert (await several.ainvoke("hi", asked(said=["b", "a"]))).content == "B"


async def test_a_call_may_choose_a_whole_runnable() -> None:
    """By name; one may be made when it is first chosen."""
    made: list[int] = []

    def late() -> FakeListChatModel:
        made.append(1)
        return FakeListChatModel(responses=["late"])

    runnable = model.configurable_alternatives(
        ConfigurableField(id="model"), default_key="plain", other=FakeChatModel(), late=late
    )
    assert (await runnable.ainvoke("hi")).content == "plain"
    assert (await runnable.ainvoke("hi", asked(model="plain"))).content == "plain"
    assert (await runnable.ainvoke("hi", asked(model="other"))).content == "fake response"
    assert not made
    assert [chunk.content async for chunk in runnable.astream("hi", asked(model="late"))] == list("late")
    with pytest.raises(InvalidInput, match="'none'; it must be one of plain, other, late"):
        await runnable.ainvoke("hi", asked(model="none"))


async def test_keys_may_have_a_prefix() -> None:
    """So that two alternatives can have a field of one name."""
    runnable = fielded.configurable_alternatives(ConfigurableField(id="model"), prefix_keys=True, other=fielded)
    config = asked(**{"model": "other", "model==other/said": ["mine"], "model==default/said": ["not mine"]})
    assert (await runnable.ainvoke("hi", config)).content == "mine"


async def test_what_is_made_of_it_is_configurable_too() -> None:
    """A method that returns a runnable is called on all of them."""
    runnable: Any = model.configurable_alternatives(ConfigurableField(id="model"), other=FakeChatModel())
    bound = runnable.bind(stop=["."])
    assert (await bound.ainvoke("hi", asked(model="other"))).content == "fake response"
    both: Any = fielded
    assert (await both.bind(stop=["."]).ainvoke("hi", asked(said=["x"]))).content == "x"


async def test_attributes_are_those_of_what_is_chosen() -> None:
    """What `with_config` chooses answers `generate` and every other method, as it answers `ainvoke`."""
    two: Any = fielded.configurable_alternatives(ConfigurableField(id="model"), other=FakeChatModel())
    said: Any = two.with_config(configurable={"said": ["bound"]})
    for one in (said, said.bind(stop=["."]), said.with_retry(), said.bind_tools([])):
        assert one.responses == ["bound"]
    other = two.with_config(configurable={"model": "other"})
    for bound, answer in ((said, "bound"), (other.bind(stop=["."]), "fake response"), (two, "plain")):
        result = await bound.agenerate([[HumanMessage("hi")]])
        assert result.generations[0][0].text == answer
    assert not hasattr(other, "responses")


async def test_a_call_inside_a_chain_follows_its_choice() -> None:
    """`agenerate` as `ainvoke`."""

    async def generate(text: str) -> str:
        generate: Any = fielded.agenerate  # type: ignore[attr-defined]
        return str((await generate([[HumanMessage(text)]])).generations[0][0].text)

    assert await RunnableLambda(generate).ainvoke("hi", asked(said=["deep"])) == "deep"


def test_schemas_and_graphs_are_of_what_is_chosen() -> None:
    """By the config that is asked with, or bound."""
    joke: Any = PromptTemplate.from_template("A joke on {topic}")
    chosen = joke.configurable_alternatives(
        ConfigurableField(id="prompt"), poem=PromptTemplate.from_template("A poem for {name}") | FakeChatModel()
    )
    poem = asked(prompt="poem")
    for runnable, config in ((chosen, poem), (chosen.with_config(poem), None)):
        assert list(runnable.get_input_schema(config).model_fields) == ["name"]
        assert runnable.get_output_schema(config).model_json_schema() != joke.get_output_schema().model_json_schema()
        assert any(node.name == "FakeChatModel" for node in runnable.get_graph(config).nodes.values())
    assert list(chosen.get_input_schema().model_fields) == ["topic"]
