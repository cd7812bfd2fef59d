"""Whatever describes a tool comes to one form; what it comes to is remembered, and nobody can spoil it."""

import dataclasses
import gc
import pickle
import re
import weakref
from collections.abc import Callable
from copy import deepcopy
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, Field

from hocket.errors import InvalidInput
from hocket.runnables import RunnableLambda
from hocket.tools import (
    BaseTool,
    InjectedToolArg,
    Tool,
    convert_to_json_schema,
    convert_to_openai_function,
    convert_to_openai_tool,
    convert_to_openai_tools,
    tool,
)
from tests.kit.threads import KEEPS_CLASSES

PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "where"},
        "days": {"type": "integer", "description": "how many", "default": 3},
    },
    "required": ["city"],
}
FUNCTION = {"name": "Forecast", "description": "The weather to come.", "parameters": PARAMETERS}


class Forecast(BaseModel):
    """The weather to come."""

    city: str = Field(description="where")
    days: int = Field(3, description="how many")


def function() -> Callable[..., Any]:
    def Forecast(city: Annotated[str, "where"], days: Annotated[int, Field(description="how many")] = 3) -> str:
        """The weather to come."""
        return city

    return Forecast


def documented() -> Callable[..., Any]:
    def Forecast(city: str, days: int = 3) -> str:
        """The weather to come.

        Args:
            city: where
            days: how many

        Returns:
            the weather.
        """
        return city

    return Forecast


@dataclasses.dataclass
class Data:
    city: Annotated[str, Field(description="where")]
    days: Annotated[int, Field(description="how many")] = 3


Data.__name__, Data.__doc__ = "Forecast", "The weather to come."


class Keys(TypedDict):
    """The weather to come."""

    city: Annotated[str, ..., "where"]
    days: Annotated[int, 3, "how many"]


Keys.__name__ = "Forecast"


class ByHand(BaseTool):
    name: str = "Forecast"
    description: str = "The weather to come."
    args_schema: Any = Forecast

    def _run(self, city: str, days: int) -> str:
        return city


FORMS: dict[str, Any] = {
    "pydantic": Forecast,
    "function": function(),
    "documented function": documented(),
    "dataclass": Data,
    "TypedDict": Keys,
    "tool": tool(function()),
    "tool with a parsed docstring": tool(parse_docstring=True)(documented()),
    "subclass": ByHand(),
    "OpenAI function": FUNCTION,
    "OpenAI tool": {"type": "function", "function": FUNCTION},
    "OpenAI tool, flat": {"type": "function", **FUNCTION},
    "Anthropic": {**{k: FUNCTION[k] for k in ("name", "description")}, "input_schema": PARAMETERS},
    "Anthropic, with its type": {
        "type": "custom",
        "name": "Forecast",
        "description": "The weather to come.",
        "input_schema": PARAMETERS,
    },
    "Bedrock": {"toolSpec": {**{k: FUNCTION[k] for k in ("name", "description")}, "inputSchema": {"json": PARAMETERS}}},
    "MCP": {**{k: FUNCTION[k] for k in ("name", "description")}, "inputSchema": PARAMETERS, "annotations": {}},
    "JSON schema": {"title": "Forecast", "description": "The weather to come.", **PARAMETERS},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_comes_to_one(form: str) -> None:
    """The same tool, said in sixteen ways; those that know no more arguments say so besides."""
    made = convert_to_openai_function(FORMS[form])
    made["parameters"].pop("additionalProperties", None)
    assert made == FUNCTION
    assert convert_to_openai_tool(FORMS[form])["type"] == "function"
    schema = convert_to_json_schema(FORMS[form])
    assert (schema["title"], schema["properties"]) == ("Forecast", PARAMETERS["properties"])


@pytest.mark.parametrize("form", FORMS)
def test_what_is_given_out_is_a_copy(form: str) -> None:
    """A caller may do what it likes with the result; neither the next caller nor the original notices."""
    before = convert_to_openai_tool(FORMS[form])
    spoilt = convert_to_openai_tool(FORMS[form])
    spoilt["function"]["parameters"]["properties"]["city"]["description"] = "spoilt"
    spoilt["function"]["name"] = "spoilt"
    assert convert_to_openai_tool(FORMS[form]) == before


@pytest.mark.parametrize("form", FORMS)
def test_strict_closes_every_object(form: str) -> None:
    """Strict: said, all required, nothing besides; and the original stays open."""
    made = convert_to_openai_tool(FORMS[form], strict=True)["function"]
    assert made["strict"] is True
    assert made["parameters"]["required"] == ["city", "days"]
    assert made["parameters"]["additionalProperties"] is False
    assert convert_to_openai_tool(FORMS[form], strict=False)["function"]["strict"] is False
    assert "strict" not in convert_to_openai_tool(FORMS[form])["function"]


def test_strict_reaches_what_is_inside() -> None:
    """Objects in unions and behind recursive references are closed, too."""

    class Leaf(BaseModel):
        notes: list[str] = []

    class Tree(BaseModel):
        """A tree."""

        leaf: Leaf | None = None
        trees: "list[Tree]" = []

    made = convert_to_openai_function(Tree, strict=True)["parameters"]
    leaf = made["properties"]["leaf"]["anyOf"][0]
    assert (leaf["required"], leaf["additionalProperties"]) == (["notes"], False)
    assert made["properties"]["trees"]["items"] == {"$ref": "#/$defs/Tree"}
    assert made["$defs"]["Tree"]["required"] == ["leaf", "trees"]


def test_what_strict_cannot_say() -> None:
    """Refused when it is described, with the place and the way out."""

    def note(**notes: str) -> None:
        """Take notes."""

    with pytest.raises(InvalidInput, match="name the keys"):
        convert_to_openai_tool(note, strict=True)


def test_nulls_of_a_strict_mode() -> None:
    """What a strict schema makes a model say of a list that it leaves out is taken as left out."""

    @tool
    def total(first: int, *rest: int) -> int:
        """Add."""
        return first + sum(rest)

    strict = convert_to_openai_function(total, strict=True)["parameters"]
    assert strict["properties"]["rest"]["anyOf"][-1] == {"type": "null"}
    call = {"type": "tool_call", "name": "total", "args": {"first": 1, "rest": None}, "id": "1"}
    assert total.invoke(call).content == "1"


def test_a_dict_that_says_the_opposite_of_strict() -> None:
    """Neither wins in silence."""
    with pytest.raises(InvalidInput, match="says strict=False, and the call strict=True"):
        convert_to_openai_tool({"name": "f", "strict": False}, strict=True)


@pytest.mark.parametrize(
    "served",
    [
        {"type": "web_search"},
        {"type": "web_search_2025_08_26", "user_location": {"type": "approximate"}},
        {"type": "file_search", "vector_store_ids": ["v"]},
        {"type": "mcp", "server_label": "s", "server_url": "https://x"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "custom", "custom": {"name": "sql", "format": {"type": "text"}}},
    ],
    ids=lambda served: served["type"],
)
def test_tools_of_the_server_pass_through(served: dict[str, Any]) -> None:
    """They stay as they are, and are copies."""
    made = convert_to_openai_tool(served, strict=True)
    assert made == served
    assert made is not served


def test_custom_tools() -> None:
    """OpenAI's tools that take a text: the flat form, and LangChain's way to mark a `Tool`."""
    expected = {"type": "custom", "custom": {"name": "sql", "description": "Query.", "format": {"type": "text"}}}
    assert convert_to_openai_tool({"type": "custom", **expected["custom"]}) == expected  # type: ignore[dict-item]
    marked = Tool("sql", str.upper, "Query.", metadata={"type": "custom_tool", "format": {"type": "text"}})
    assert convert_to_openai_tool(marked) == expected


def test_a_tool_with_one_text() -> None:
    """A `Tool` without a schema has one argument, whose name nobody chose."""
    made = convert_to_openai_function(Tool("shout", str.upper, "Shout."))
    assert made == {
        "name": "shout",
        "description": "Shout.",
        "parameters": {"type": "object", "properties": {"__arg1": {"type": "string"}}, "required": ["__arg1"]},
    }


class Hiding(BaseModel):
    """Asks."""

    question: str
    user: Annotated[object, InjectedToolArg]
    session: Annotated[str, InjectedToolArg()] = ""


class HidingKeys(TypedDict):
    """Asks."""

    question: str
    user: NotRequired[Annotated[str, InjectedToolArg]]


def hiding(
    question: str, user: Annotated[object, InjectedToolArg], session: Annotated[str, InjectedToolArg()] = ""
) -> None:
    """Asks."""


@pytest.mark.parametrize("form", [Hiding, HidingKeys, hiding, tool(hiding), tool("asks", args_schema=Hiding)(hiding)])
def test_what_is_injected_is_hidden(form: Any) -> None:
    """In a model, in a TypedDict and in a signature; marked by the class or by an instance."""
    made = convert_to_openai_function(form)
    assert list(made["parameters"]["properties"]) == ["question"]
    assert made["parameters"]["required"] == ["question"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "5 is no tool"),
        ({"type": "foo"}, "a tool of type 'foo' is unknown"),
        ({"type": "web_fetching", "name": "web_fetch"}, "of type 'web_fetching' is unknown"),
        ({"type": "function", "function": "f"}, "a dict under 'function', not 'f'"),
        ({"type": "function", "function": {}}, "is no tool: a dict has a 'name'"),
        ({"type": "object", "properties": {}}, "a 'title'"),
        ({"name": "look up"}, "'look up' will not do as a tool's name: .* such as 'look_up'"),
        ({"name": ""}, "'' will not do"),
        ({"name": "x" * 65}, "1 to 64"),
        ({"title": "größe"}, "'größe' will not do"),
        (lambda x: x, "'<lambda>' will not do"),
    ],
)
def test_what_is_no_tool(given: Any, message: str) -> None:
    """A clear error, at once."""
    with pytest.raises(InvalidInput, match=message):
        convert_to_openai_tool(given)


def test_a_type_that_json_cannot_say() -> None:
    """A parameter of a foreign class is named, with the way out."""

    class Engine:
        pass

    def run(engine: Engine) -> None:
        """Run."""

    with pytest.raises(InvalidInput, match=r"run has a type that JSON schema cannot say(.|\n)*InjectedToolArg"):
        convert_to_openai_tool(run)


def test_a_docstring_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, a plain function's docstring is shown whole: nothing is lost."""
    monkeypatch.setitem(__import__("sys").modules, "docstring_parser", None)
    made = convert_to_openai_function(documented())
    assert "city: where" in made["description"]
    assert "description" not in made["parameters"]["properties"]["city"]


@pytest.mark.skipif(KEEPS_CLASSES, reason="this Python keeps every class")
def test_what_is_remembered_does_not_keep_anything_alive() -> None:
    """A function, and a class, are forgotten with their last user."""

    def made() -> list[weakref.ref[Any]]:
        class Local(BaseModel):
            x: int

        found = [documented(), Local, tool(documented())]
        for one in found:
            convert_to_openai_tool(one)
        return [weakref.ref(one) for one in found[:2]]

    references = made()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_what_is_remembered_does_not_travel() -> None:
    """A tool that was described equals one that was not; copies and pickles work, and describe themselves."""
    made = ByHand()
    described = convert_to_openai_function(made)
    for copy in (ByHand(), deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert copy == made
        assert convert_to_openai_function(copy) == described


def test_a_changed_tool_is_described_anew() -> None:
    """Setting a field, and copying with an update, are seen; the original stays."""
    made = tool(function())
    assert convert_to_openai_function(made)["description"] == "The weather to come."
    copy = made.model_copy(update={"name": "Other"})
    made.description = "New."
    assert convert_to_openai_function(made)["description"] == "New."
    assert convert_to_openai_function(copy)["name"] == "Other"
    assert convert_to_openai_function(copy)["description"] == "The weather to come."


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ([{"type": "foo"}], "type 'foo' is unknown"),
        ([{"type": "function", "function": {"name": "", "parameters": {}}}], "'' will not do as a tool's name"),
        ([{"type": "function", "function": {"name": "look up"}}], "such as 'look_up'"),
        ([{"type": "function", "function": "Forecast"}], "has a dict under 'function'"),
        ([{"type": "function"}], "is no tool"),
        ([Forecast, Forecast], "two tools are called 'Forecast'"),
        (function(), "takes a list of tools, not function"),
        ("Forecast", "takes a list of tools, not str"),
        ({"type": "foo"}, "takes a list of tools, not dict"),
        ([None], "None is no tool"),
    ],
)
def test_the_tools_of_a_call_pass_one_check(tools: Any, words: str) -> None:
    """A type that nobody knows, a bad name, a name given twice, or something that is no list, is refused."""
    with pytest.raises(InvalidInput, match=re.escape(words)):
        convert_to_openai_tools(tools)


def test_tools_that_are_written_as_openai_writes_them_are_not_copied() -> None:
    """A call whose tools were bound pays for a look at them, and not for a copy."""
    (bound,) = convert_to_openai_tools([Forecast])
    assert bound == convert_to_openai_tool(Forecast)
    assert convert_to_openai_tools([bound])[0] is bound
    assert convert_to_openai_tools([bound], strict=True)[0] is not bound
    assert convert_to_openai_tools([{**bound, "note": 1}]) == [bound]


@pytest.mark.parametrize("infer", [True, False])
def test_an_empty_name_is_refused(infer: bool) -> None:
    """A name that was given is not replaced by the function's."""
    with pytest.raises(ValueError, match="'' will not do as a tool's name"):
        tool("", infer_schema=infer)(documented())
    with pytest.raises(ValueError, match="'' will not do as a tool's name"):
        tool("", RunnableLambda(len), args_schema=Forecast)


MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    "given",
    [
        {"name": "f", "input_schema": {}, **MARK},
        {"type": "function", "function": {"name": "f", "parameters": {}}, **MARK},
        {"type": "function", "function": {"name": "f", "parameters": {}, **MARK}},
        {"type": "function", "function": {"name": "f", "parameters": {}}, "extras": MARK},
    ],
)
def test_what_a_tool_says_beyond_a_function_stands_beside_it(given: Any) -> None:
    """A mark for one provider's cache is kept, out of the way of the others; converted once more, it stays."""
    made = convert_to_openai_tool(given)
    assert made == {"type": "function", "function": {"name": "f", "parameters": {}}, "extras": MARK}
    assert convert_to_openai_tools([made]) == [made] == [convert_to_openai_tool(made)]


@pytest.mark.parametrize(
    ("given", "kind"), [({"google_search": {}}, "google_search"), ({"urlContext": {}}, "url_context")]
)
def test_googles_own_tools_get_a_type(given: Any, kind: str) -> None:
    """Their dicts have none; what stands in them passes as it is."""
    assert convert_to_openai_tools([given]) == [{"type": kind, **given}]
