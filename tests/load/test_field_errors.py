"""A field that does not fit is told in hocket's words, under pydantic's type of exception; signatures show all fields."""

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from pydantic import ConfigDict, Field, ValidationError

from hocket import ChatOpenAI, FakeListChatModel, HumanMessage, PromptTemplate
from hocket.load import Serializable
from hocket.tools import StructuredTool


class Lamp(Serializable):
    model_config = ConfigDict(extra="forbid")

    colour: str = "white"
    brightness: int = Field(default=3, ge=0, alias="light")

    _renamed_fields: ClassVar[Mapping[str, str]] = {"hue": "colour='...'"}


def refusal(cls: type[Any], **fields: Any) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        cls(**fields)
    assert "pydantic.dev" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("color", "there is no field 'color'; did you mean 'colour'?"),
        ("ligth", "there is no field 'ligth'; did you mean 'light'?"),
        ("hue", "there is no field 'hue'; write colour='...'"),
        ("z", "there is no field 'z'; known are: colour, brightness, light"),
        ("x" * 1_000_000, f"there is no field '{'x' * 100}'; known are: colour, brightness, light"),
    ],
)
def test_an_unknown_field(name: str, words: str) -> None:
    """The nearest name is offered, or what to write for another library's name; or else the names that there are."""
    (detail,) = refusal(Lamp, **{name: "red"}).errors()
    assert (detail["type"], detail["loc"], detail["msg"], detail["input"]) == ("extra_forbidden", (name,), words, "red")


def test_a_value_that_does_not_fit() -> None:
    """Type, place, value and limit of each error are pydantic's."""
    error = refusal(Lamp, colour=1, light=-1)
    assert [(one["type"], one["loc"], one["input"]) for one in error.errors()] == [
        ("string_type", ("colour",), 1),
        ("greater_than_equal", ("light",), -1),
    ]
    assert error.errors()[1]["ctx"]["ge"] == 0
    assert "Input should be greater than or equal to 0" in str(error)


@pytest.mark.parametrize(
    ("cls", "fields", "near"),
    [
        (ChatOpenAI, {"model": "m", "api_key": "k", "temprature": 1}, "temperature"),
        (FakeListChatModel, {"responses": ["x"], "tag": ["a"]}, "tags"),
        (PromptTemplate, {"template": "x", "template_fromat": "jinja2"}, "template_format"),
        (StructuredTool, {"name": "x", "func": len, "return_directly": True}, "return_direct"),
    ],
)
def test_every_class_names_the_nearest_field(cls: type[Any], fields: dict[str, Any], near: str) -> None:
    """Models, prompts and tools alike."""
    assert f"did you mean '{near}'?" in str(refusal(cls, **fields))


def test_a_value_that_must_not_be_shown() -> None:
    """A class that hides inputs from errors goes on to do so."""
    assert "canary" not in str(refusal(ChatOpenAI, model="m", api_key={"canary": 1}, temperature="canary"))


def test_messages_keep_what_they_do_not_know() -> None:
    """Where extras are allowed, no name is refused."""
    assert HumanMessage("x", colour="red").model_extra == {"colour": "red"}  # type: ignore[call-arg]


@pytest.mark.parametrize("is_built", [False, True])
def test_a_signature_shows_the_fields(is_built: bool) -> None:
    """Before the first instance as after it: what Shift-Tab shows in Jupyter."""

    class Torch(Lamp):
        battery: str

    if is_built:
        Torch(battery="full")
    assert sorted(inspect.signature(Torch).parameters) == ["battery", "colour", "light"]
    assert sorted(inspect.signature(Lamp).parameters) == ["colour", "light"]


@pytest.mark.parametrize("cls", [ChatOpenAI, FakeListChatModel])
def test_the_signature_of_a_model(cls: type[Any]) -> None:
    """It has the fields of all of its bases."""
    names = inspect.signature(cls).parameters.keys()
    assert {"timeout", "retry", "cache", "tags"} <= names
    assert ("temperature" in names) is (cls is ChatOpenAI)


def test_an_unfinished_class_has_a_signature() -> None:
    """A type that is not defined yet does not make looking fail."""

    class Unfinished(Serializable):
        other: "Missing"  # type: ignore[name-defined]  # noqa: F821

    assert "data" in inspect.signature(Unfinished).parameters


def test_a_value_that_is_of_no_kind_is_one_error() -> None:
    """And not one for each kind that it might be, in pydantic's own names of them."""
    for key in (123, ["a"]):
        (detail,) = refusal(ChatOpenAI, model="m", api_key=key).errors()
        assert (detail["loc"], detail["msg"]) == (("api_key",), "Input should be a valid string or callable")


@pytest.mark.parametrize(("name", "near"), [("bogus_option", None), ("key", "api_key"), ("temprature", "temperature")])
def test_a_name_that_shares_letters_is_not_near(name: str, near: str | None) -> None:
    """A mistake in typing is, and a part of a name."""
    (detail,) = refusal(ChatOpenAI, model="m", api_key="k" * 9, **{name: 1}).errors()
    assert (f"did you mean {near!r}?" if near else "known are: ") in detail["msg"]
