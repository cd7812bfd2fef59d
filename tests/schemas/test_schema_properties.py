"""Whatever pydantic model there is: its own JSON satisfies what its schema is compiled to, and is read back as itself."""

import datetime
import enum
import json
from typing import Any, Literal, get_args

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field, create_model

from hocket._schemas import ANTHROPIC, MISTRAL, OPENAI, SchemaDialect, find_violations
from hocket.language_models.structured.schema import OutputSchema


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


Typed = tuple[Any, st.SearchStrategy[Any]]
"""A type, and values of it."""

NAMES = [f"field_{letter}" for letter in "abcdef"]

PLAIN: list[Typed] = [
    (str, st.text(st.characters(exclude_categories=["Cs"]), max_size=8)),
    (int, st.integers(-(2**53), 2**53)),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (bool, st.booleans()),
    (Literal["a", "b", 3], st.sampled_from(["a", "b", 3])),
    (Color, st.sampled_from(Color)),
    (datetime.date, st.dates()),
    (datetime.timedelta, st.timedeltas(datetime.timedelta(0), datetime.timedelta(days=9))),
]


def optional(inner: Typed) -> Typed:
    return inner[0] | None, st.none() | inner[1]


def listed(inner: Typed) -> Typed:
    return list[inner[0]], st.lists(inner[1], max_size=3)  # type: ignore[name-defined]


@st.composite
def modelled(draw: st.DrawFn, inner: st.SearchStrategy[Typed]) -> Typed:
    """Return a model of fields of any of the types: required, with a default, or with one that is made."""
    fields: dict[str, Any] = {}
    values: dict[str, st.SearchStrategy[Any]] = {}
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3)):
        kind, of = draw(inner)
        has_default = draw(st.sampled_from(["no", "yes", "made"]))
        example = draw(of)
        options: dict[str, Any] = {"description": draw(st.sampled_from([None, "what it is"]))}
        if has_default == "yes":
            options["default"] = example
        elif has_default == "made":
            options["default_factory"] = lambda example=example: example
        fields[name] = (kind, Field(**options))
        values[name] = of
    model: Any = create_model(draw(st.sampled_from(["Part", "Whole", "Other"])), **fields)
    return model, st.fixed_dictionaries(values).map(lambda given: model(**given))


types = st.recursive(
    st.sampled_from(PLAIN), lambda inner: inner.map(optional) | inner.map(listed) | modelled(inner), max_leaves=6
)


@st.composite
def instances(draw: st.DrawFn) -> BaseModel:
    """Return an instance of a model of its own."""
    _, values = draw(modelled(types))
    return draw(values)  # type: ignore[no-any-return]


@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC, MISTRAL], ids=lambda dialect: dialect.name)
@given(instance=instances())
def test_a_models_own_json_satisfies_its_schema(dialect: SchemaDialect, instance: BaseModel) -> None:
    """Compiling may narrow a schema, but never so far that an answer of the type does not fit."""
    schema = OutputSchema[Any](type(instance))
    compiled = schema.compile(dialect)
    value = instance.model_dump(mode="json")

    assert find_violations(value, schema.json_schema) == []
    assert find_violations(value, compiled) == []
    assert schema.read(value) == instance


@given(instance=instances())
def test_a_field_left_out_is_a_null_that_is_left_out_again(instance: BaseModel) -> None:
    """Where the dialect has the model say null for what could be absent, the default is what comes of it."""
    kind = type(instance)
    schema = OutputSchema[Any](kind)
    compiled = schema.compile(OPENAI)
    made = {name for name, field in kind.model_fields.items() if field.default_factory is not None}
    nullable = {name for name in made if type(None) in get_args(kind.model_fields[name].annotation)}
    value = {**instance.model_dump(mode="json"), **dict.fromkeys(made)}
    without = {name: one for name, one in value.items() if name not in made - nullable}

    assert find_violations(value, compiled) == []
    assert schema.read(value) == kind.model_validate_json(json.dumps(without))
