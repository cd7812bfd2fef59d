"""Schemas in the providers' strict dialects: as their own SDKs write them, or refused where they cannot be said."""

import enum
import json
from pathlib import Path
from typing import Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field, create_model

from hocket._schemas import ANTHROPIC, COHERE, DRAFT_2020_12, MISTRAL, OPENAI, compile_schema, make_schema_name
from hocket.errors import InvalidInput

FIXTURES = Path(__file__).parents[1] / "fixtures"


class Inner(BaseModel):
    x: int = Field(description="an int", ge=1, le=9)


class Ans(BaseModel):
    """doc"""

    answer: str
    conf: float | None = None
    kind: Literal["a", "b"] = "a"
    inner: Inner = Field(description="nested")
    items: list[Inner] = []


class Short(BaseModel):
    answer: str
    conf: Optional[float] = None  # noqa: UP045  # as users write it


def sent(path: str) -> Any:
    """Return the body of the request that an SDK sent."""
    return json.loads((FIXTURES / path).read_text())["request"]["body"]


# -- what the official SDKs send


def test_openai_sdk() -> None:
    """What `chat.completions.parse` of OpenAI's SDK sent for this model."""
    form = sent("openai_chat/json_schema_pydantic_parse.json")["response_format"]["json_schema"]

    assert compile_schema(Ans.model_json_schema(), OPENAI) == form["schema"]
    assert make_schema_name("Ans") == form["name"]


@pytest.mark.parametrize("index", range(4))
def test_openai_sdk_converts(index: int) -> None:
    """What its converter makes of enums, formats, unions, nested and recursive models."""
    case = json.loads((FIXTURES / "schemas/openai_strict.json").read_text())["cases"][index]

    assert compile_schema(case["schema"], OPENAI) == case["strict"]


def test_anthropic_sdk() -> None:
    """What `messages.parse` of Anthropic's SDK sent: what it cannot hold the model to is in words."""
    schema = Ans.model_json_schema()
    schema["properties"]["items"]["minItems"] = 2

    form = sent("anthropic/json_schema_pydantic_parse.json")["output_config"]["format"]
    assert compile_schema(schema, ANTHROPIC) == form["schema"]


def test_mistral_sdk() -> None:
    """What `chat.parse` of Mistral's SDK sent: closed, but with defaults and optional fields."""
    form = sent("mistral/json_schema_pydantic_parse.json")["response_format"]["json_schema"]

    assert compile_schema({**Short.model_json_schema(), "title": "Ans"}, MISTRAL) == form["schema"]


def test_gemini_takes_a_schema_as_it_is() -> None:
    """`responseJsonSchema` is plain JSON schema."""
    schema = sent("gemini/json_schema.json")["generationConfig"]["responseJsonSchema"]

    assert compile_schema(schema, DRAFT_2020_12) == schema
    assert compile_schema(Ans.model_json_schema(), DRAFT_2020_12) == Ans.model_json_schema()


# -- what becomes of what


def field(of: Any, **options: Any) -> dict[str, Any]:
    """Return the compiled schema of one field."""
    made: Any = create_model("M", f=(of, Field(**options)))
    compiled = compile_schema(made.model_json_schema())["properties"]["f"]
    return {key: value for key, value in compiled.items() if key != "title"}


def test_the_schema_given_is_left_alone() -> None:
    """Compiling is pure."""
    schema = Ans.model_json_schema()
    before = json.dumps(schema)

    compile_schema(schema)["properties"]["answer"]["type"] = "integer"
    assert json.dumps(schema) == before


def test_optional_without_a_default_may_be_null() -> None:
    """Every property is required, so null stands for the absence of one that could be left out."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}}}

    compiled = compile_schema(schema)
    assert compiled["required"] == ["a", "b"]
    assert compiled["properties"] == {
        "a": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "b": {"type": ["integer", "null"]},
    }


def test_what_binds_the_model_no_more_is_told_in_words() -> None:
    """Formats that the dialect does not know, patterns that look around, sets."""
    assert field(set[int])["description"] == "{uniqueItems: true}"
    assert field(str, pattern="^[a-z]+$") == {"type": "string", "pattern": "^[a-z]+$"}
    assert field(str, json_schema_extra={"pattern": "a(?!b)"}) == {
        "type": "string",
        "description": '{pattern: "a(?!b)"}',
    }
    told = field(str, description="where", json_schema_extra={"format": "uri"})
    assert told == {"type": "string", "description": 'where\n\n{format: "uri"}'}


def test_a_discriminated_union_is_a_choice() -> None:
    """OpenAI knows no oneOf and no discriminator."""

    class A(BaseModel):
        kind: Literal["a"]

    class B(BaseModel):
        kind: Literal["b"]

    made = field(A | B, discriminator="kind")
    assert made == {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}


def test_one_schema_in_all_of_is_that_schema() -> None:
    """The form that older generators give to a reference with a description."""
    schema = {
        "type": "object",
        "properties": {"a": {"allOf": [{"$ref": "#/definitions/A"}], "description": "d"}},
        "required": ["a"],
        "definitions": {"A": {"type": "string"}},
    }
    assert compile_schema(schema)["properties"]["a"] == {"type": "string", "description": "d"}


def test_a_recursive_model_with_a_description_on_its_reference() -> None:
    """Written out once, and no further."""
    schema = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/Node", "description": "the rest"}},
                "required": ["next"],
            }
        },
    }
    compiled = compile_schema(schema)
    assert compiled["type"] == "object"
    assert compiled["properties"]["next"] == {"$ref": "#/$defs/Node"}


# -- what cannot be said


class Level(enum.Enum):
    LOW = 1


REFUSED: dict[str, tuple[Any, str, str]] = {
    "free keys": (dict[str, int], "f allows keys that it does not name (additionalProperties)", "list of objects"),
    "any keys": (dict, "f allows keys that it does not name (additionalProperties)", "name the keys"),
    "any type": (Any, "f does not say of what type it is", "give it a type"),
    "places": (tuple[int, str], "f has the keyword 'prefixItems'", "a model with a field for each place"),
    "in a list": (list[dict[str, int]], "f[] allows keys", "list of objects"),
    "in a choice": (dict[str, int] | None, "f.anyOf[0] allows keys", "list of objects"),
}


@pytest.mark.parametrize(("of", "what", "way_out"), REFUSED.values(), ids=REFUSED)
def test_refusals_name_place_keyword_and_way_out(of: Any, what: str, way_out: str) -> None:
    """Nothing is sent that the provider would refuse, or silently let go of."""
    with pytest.raises(InvalidInput) as caught:
        field(of)
    assert what in str(caught.value) and way_out in str(caught.value) and "strict=False" in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        ({"type": "array", "items": {"type": "string"}}, "the schema is of type 'array'"),
        ({"anyOf": [{"type": "object", "properties": {}}]}, "the schema is a choice (anyOf)"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}}, "refers to '#/$defs/B', which is not in it"),
        ({"type": "object", "properties": {"a": {"not": {"type": "null"}}}}, "a has the keyword 'not'"),
        ({"type": "object", "properties": {"a": True}}, "a is True"),
        ({"type": "object"}, "is an object without properties"),
        ({"type": "object", "properties": {"a": {"type": "string", "x-mine": 1}}}, "a has the keyword 'x-mine'"),
        (
            {"type": "object", "properties": {"a": {"allOf": [{"type": "string"}, {"minLength": 1}]}}},
            "a has the keyword 'allOf'",
        ),
    ],
)
def test_schemas_by_hand_are_refused_as_well(schema: dict[str, Any], what: str) -> None:
    """The same rules hold for a JSON schema that nobody generated."""
    with pytest.raises(InvalidInput, match="strict mode cannot say that") as caught:
        compile_schema(schema)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name"),
    [("Person", "Person"), ("Box[int]", "Box_int"), ("ä ö", "answer"), ("x" * 70, "x" * 64), ("a-b_c", "a-b_c")],
)
def test_names(text: str, name: str) -> None:
    """At most 64 letters, digits, underscores and hyphens."""
    assert make_schema_name(text) == name


def test_cohere_is_told_limits_in_words() -> None:
    """Numbers, lengths, lists, other formats, and patterns that say where a text begins: none of them binds its model."""
    properties = {
        "count": {"type": "integer", "minimum": 1},
        "names": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "code": {"type": "string", "pattern": "^[A-Z]+$"},
        "number": {"type": "string", "pattern": "[A-Z]{3}[0-9]{7}"},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
    }
    made: Any = compile_schema({"type": "object", "properties": properties, "required": ["count"]}, COHERE)
    told = made["properties"]
    assert made["required"] == ["count"] and made["additionalProperties"] is False
    for name, keyword in (("count", "minimum"), ("names", "minItems"), ("code", "pattern"), ("mail", "format")):
        assert keyword not in told[name] and keyword in told[name]["description"]
    assert told["number"] == properties["number"] and told["day"] == properties["day"]


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "array", "items": {"type": "string"}}, "must be an object"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "requires none of its properties"),
        (
            {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}},
            },
            "the schema's a requires none",
        ),
        (
            {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {"allOf": [{"type": "string"}, {"enum": ["x"]}]}},
            },
            "'allOf'",
        ),
    ],
)
def test_what_cohere_would_refuse_is_refused_before(schema: Any, fault: str) -> None:
    """Its guide to structured outputs lists it."""
    with pytest.raises(InvalidInput, match=fault):
        compile_schema(schema, COHERE)
