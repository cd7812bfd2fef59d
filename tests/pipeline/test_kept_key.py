"""A model keeps its cache key while it is called alike: what it keeps is never another key than one made anew."""

import copy
import pickle
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ConfigDict, Field, SecretStr

from hocket._pipeline.cache_key import KEPT_KEY
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, BaseMessage
from hocket.outputs import ChatGeneration, ChatResult
from hocket.providers.openai import ChatOpenAI


class Model(BaseChatModel):
    """A model with fields that can be assigned to, and others that can be changed from inside."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    temperature: Any = None
    words: list[Any] = Field(default_factory=list)
    options: dict[Any, Any] = Field(default_factory=dict)

    def _generate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])

    @property
    def _llm_type(self) -> str:
        return "model"


class Text(str):
    """A text of a kind of its own."""


PLAIN = st.sampled_from([None, True, False, 0, 1, -1, 1.0, 0.0, -0.0, "", "1", "b", "\ud800", float("nan"), 2**70])
ODD: list[Any] = [
    b"b",
    bytearray(b"b"),
    memoryview(b"b"),
    array("B", b"b"),
    Text("b"),
    {"b"},
    {1: "b"},
    {"1": "b"},
    ("b",),
    1j,
    ...,
    SecretStr("b"),
    AIMessage("b"),
    len,
    Model,
    lambda: 1,
]
VALUES = st.one_of(
    PLAIN,
    st.sampled_from(ODD),
    st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner)),
)


def change(draw: Callable[[Any], Any], model: Model) -> Model:
    """Change a model in one of the ways there are, and return what is to be asked from now on."""
    value = draw(VALUES)
    match draw(
        st.sampled_from(["assign", "append", "put", "reorder", "inside", "write", "copy", "deep", "pickle", "not"])
    ):
        case "assign":
            model.temperature = value
        case "append":
            model.words.append(value)
        case "put":
            model.options[draw(st.sampled_from([1, "1", True, None, "b"]))] = value
        case "reorder":
            model.options = dict(reversed(model.options.items()))
        case "inside":
            model.words = [model.options, [value]]
            model.words[1][0] = draw(VALUES)
        case "write":
            vars(model)["temperature"] = value
        case "copy":
            return model.model_copy(update={"temperature": value})
        case "deep" if is_copyable(model):
            return copy.deepcopy(model)
        case "pickle" if is_copyable(model):
            copied: Model = pickle.loads(pickle.dumps(model))
            return copied
        case _:
            pass
    return model


def is_copyable(model: Model) -> bool:
    """Whether all of a model's values can be copied, which a memoryview or a lambda cannot."""
    try:
        pickle.dumps(model)
    except (TypeError, AttributeError, pickle.PicklingError):
        return False
    return True


def make_anew(model: Model, **params: Any) -> str:
    """Return the key that a model without a memory gives."""
    fresh = copy.copy(model)
    assert KEPT_KEY not in vars(fresh)
    return fresh._get_llm_string(**params)


@given(st.data())
def test_a_kept_key_is_the_one_that_would_be_made_anew(data: Any) -> None:
    """After any changes of a model, by assignment, from inside, by copies and pickles, and for any parameters."""
    model = Model()
    for _ in range(data.draw(st.integers(1, 8))):
        model = change(data.draw, model)
        params = data.draw(
            st.sampled_from([{}, {}, {"n": 1}, {"n": True}, {"stop": ["a"]}, {"odd": data.draw(VALUES)}])
        )
        for _ in range(2):
            assert is_same(model._get_llm_string(**params), make_anew(model, **params))


def is_same(one: str, other: str) -> bool:
    """Whether two keys are equal; those with a mark that is made anew each time are told by what made it."""
    return one == other or (hasattr(one, "cause") and getattr(one, "cause", "") == getattr(other, "cause", None))


def test_a_key_is_made_once_while_a_model_is_called_alike() -> None:
    """Also with lists, mappings and parameters; a call of another kind, and the key is made again."""
    model = Model(words=["a", ["b"]], options={"c": {"d": 1.5}})
    plain = model._get_llm_string()
    assert model._get_llm_string() is plain
    tools = [{"name": "f", "parameters": {"type": "object"}}]
    with_tools = model._get_llm_string(tools=tools)
    assert model._get_llm_string(tools=copy.deepcopy(tools)) is with_tools
    tools[0]["parameters"] = {"type": "object", "properties": {}}
    assert model._get_llm_string(tools=tools) not in (with_tools, plain)
    assert model._get_llm_string() == plain


@pytest.mark.parametrize(
    "odd",
    [b"b", array("B", b"b"), SecretStr("b"), len, lambda: 1],
    ids=["bytes", "array", "secret", "builtin", "lambda"],
)
def test_what_is_no_plain_data_is_not_kept(odd: Any) -> None:
    """Of an array only bytes would be kept, those of another array, or of a text in bytes."""
    model = Model()
    model._get_llm_string(odd=odd)
    assert KEPT_KEY not in vars(model)
    assert model._get_llm_string(odd=array("B", b"b")) != model._get_llm_string(odd=b"b")


def test_what_is_too_deep_for_either_way_costs_no_call() -> None:
    """However deep it is, there is a key."""
    model = Model()
    for depth in (500, 990, 1_200, 1_900, 2_100, 50_000):
        deep: list[Any] = []
        for _ in range(depth):
            deep = [deep]
        assert model._get_llm_string(deep=deep)


def test_the_key_of_a_local_class_is_kept_too() -> None:
    """The class's mark is part of the state."""

    class Local(Model):
        pass

    model = Local()
    assert model._get_llm_string() is model._get_llm_string() != Model()._get_llm_string()


def test_copies_and_pickles_leave_the_kept_key_behind() -> None:
    """It is the object's own; so equal models are equal, whether or not they were asked."""
    model = ChatOpenAI(model="m", api_key="k")
    key = model._get_llm_string()
    assert KEPT_KEY in vars(model)
    for copied in (copy.copy(model), copy.deepcopy(model), model.model_copy(), pickle.loads(pickle.dumps(model))):
        assert KEPT_KEY not in vars(copied)
        assert copied == model
        assert copied._get_llm_string() == key


def test_a_changed_field_of_a_provider_is_another_key() -> None:
    """And the old value again the old key."""
    model = ChatOpenAI(model="m", api_key="k", temperature=1.0)
    before = model._get_llm_string()
    model.temperature = 0.5
    assert model._get_llm_string() != before
    model.temperature = 1.0
    assert model._get_llm_string() == before
