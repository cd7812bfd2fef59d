"""`bind_tools`: anything that describes a tool, and a choice that is checked before anything is sent, on every model."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, Field

from hocket import (
    AIMessage,
    BaseChatModel,
    BaseMessage,
    ChatOpenAI,
    FakeChatModel,
    FakeListChatModel,
    FakeMessagesListChatModel,
    GenericFakeChatModel,
    ParrotFakeChatModel,
    ScriptedChatModel,
)
from hocket.errors import InvalidInput, Unsupported
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.providers.local import ChatLocal
from hocket.tools import convert_to_openai_tool, tool
from tests.kit import hook_class


@tool
def look(where: str) -> str:
    """Look around."""
    return where


class Answer(BaseModel):
    """The answer."""

    text: str = Field(description="short")


def ask(question: str) -> str:
    """Ask somebody."""
    return question


SEARCH: dict[str, Any] = {"type": "web_search"}
TOOLS = [look, Answer, ask, {"name": "plain", "input_schema": {"type": "object", "properties": {}}}]
NAMES = ["look", "Answer", "ask", "plain"]


def one(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


CHOICES: list[tuple[Any, Any]] = [
    ("auto", "auto"),
    ("none", "none"),
    (False, "none"),
    ("required", "required"),
    ("any", "required"),
    (True, "required"),
    ("look", "look"),
    (["look", "ask"], ["look", "ask"]),
    (("look",), ["look"]),
    (one("look"), one("look")),
    ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [one("ask")]}},) * 2,
]

MODELS: dict[str, Callable[[], BaseChatModel]] = {
    "ScriptedChatModel": lambda: ScriptedChatModel(script=["x"]),
    "FakeListChatModel": lambda: FakeListChatModel(responses=["x"]),
    "FakeMessagesListChatModel": lambda: FakeMessagesListChatModel(responses=[AIMessage("x")]),
    "FakeChatModel": FakeChatModel,
    "GenericFakeChatModel": lambda: GenericFakeChatModel(messages=iter([AIMessage("x")])),
    "ParrotFakeChatModel": ParrotFakeChatModel,
}
REMOTE: dict[str, Callable[[], BaseChatModel]] = {
    "ChatOpenAI": lambda: ChatOpenAI(model="m", api_key="sk-test"),
    "ChatLocal": ChatLocal,
}


@pytest.mark.parametrize("model", MODELS)
async def test_fakes_take_tools(model: str) -> None:
    """Every fake answers with tools bound, as a real model would be called."""
    bound = MODELS[model]().bind_tools(TOOLS, tool_choice="any")
    assert isinstance(await bound.ainvoke("hi"), BaseMessage)


@pytest.mark.parametrize("model", MODELS | REMOTE)
@pytest.mark.parametrize(("choice", "expected"), CHOICES)
def test_every_way_to_choose(model: str, choice: Any, expected: Any) -> None:
    """Tools come to OpenAI's form, a choice to one word, a name, names, or stays a dict."""
    bound: Any = (MODELS | REMOTE)[model]().bind_tools(TOOLS, tool_choice=choice)
    assert bound.kwargs["tools"] == [convert_to_openai_tool(one) for one in TOOLS]
    assert bound.kwargs["tool_choice"] == expected


def test_what_is_not_said_is_not_bound() -> None:
    """Nothing but the tools; strictness is in them; further options come along."""
    bound: Any = ScriptedChatModel(script=[]).bind_tools([look], strict=True, parallel_tool_calls=False, seed=1)
    assert bound.kwargs["tools"][0]["function"]["strict"] is True
    assert {name: value for name, value in bound.kwargs.items() if name != "tools"} == {
        "parallel_tool_calls": False,
        "seed": 1,
    }
    plain: Any = ScriptedChatModel(script=[]).bind_tools([look])
    assert list(plain.kwargs) == ["tools"]


@pytest.mark.parametrize(
    ("tools", "choice", "message"),
    [
        (TOOLS, "lok", r"'lok' is none of auto.* tools: 'look', 'Answer', 'ask', 'plain'"),
        (TOOLS, ["look", "lok"], "names tools that are bound"),
        (TOOLS, [], "names tools that are bound"),
        (TOOLS, one("lok"), "names tools that are bound"),
        (TOOLS, {"name": "look"}, "names tools that are bound"),
        (TOOLS, 5, "5 is none of auto"),
        ([], "any", "demands a call, and there are no tools"),
        ([look, look], None, "two tools are called 'look'"),
        ([5], None, "5 is no tool"),
        (look, None, "takes a list of tools"),
        ([{"name": "a b"}], None, "'a b' will not do"),
    ],
)
def test_what_cannot_be_bound(tools: Any, choice: Any, message: str) -> None:
    """A clear error when tools are bound, not when the model is called."""
    with pytest.raises(InvalidInput, match=message):
        ScriptedChatModel(script=[]).bind_tools(tools, tool_choice=choice)


class Picky(hook_class()):  # type: ignore[misc]
    """Knows tools, but cannot be forced to call one."""

    _tool_choices: ClassVar = frozenset({ToolChoiceKind.AUTO, ToolChoiceKind.NONE})


class Plain(Picky):
    _tool_choices: ClassVar = frozenset()


@pytest.mark.parametrize("choice", ["any", "look", ["look"]])
def test_a_choice_that_a_model_cannot_be_given(choice: Any) -> None:
    """It says which it can; a model without tools says so."""
    with pytest.raises(Unsupported, match=r"Picky cannot be given the tool choice .* it can be given: auto, none"):
        Picky().bind_tools([look], tool_choice=choice)
    with pytest.raises(NotImplementedError, match="Plain cannot be given tools"):
        Plain().bind_tools([look])


def test_tools_of_the_server_are_chosen_by_their_type() -> None:
    """As OpenAI's are."""
    model = ChatOpenAI(model="m", api_key="sk-test")
    bound: Any = model.bind_tools([look, SEARCH], tool_choice="web_search")
    assert model.render("x", **bound.kwargs).json["tool_choice"] == SEARCH
