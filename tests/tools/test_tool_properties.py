"""Any Python signature gives a schema that is valid and that admits its own calls, and the function gets what was sent."""

import dataclasses
import gc
import inspect
import weakref
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import jsonschema
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict as PydanticTypedDict  # typing's, inside a dataclass, wants Python 3.12

from hocket.messages import AIMessage
from hocket.runnables import RunnableConfig
from hocket.tools import InjectedToolArg, convert_to_openai_tool, run_tool_calls, tool


class Point(BaseModel):
    model_config = ConfigDict(extra="forbid")
    x: int
    label: str | None = None


class Line(BaseModel):
    points: list[Point]


class Size(TypedDict):
    width: int
    height: float


class Weight(PydanticTypedDict):
    grams: int


@dataclasses.dataclass
class Box:
    weight: Weight
    lid: bool = False


class Kind(NamedTuple):
    """A type, what a model may send for it, and what the function then gets."""

    annotation: Any
    sent: st.SearchStrategy[Any]
    received: Callable[[Any], Any] = lambda value: value


TEXT = st.text(max_size=5)
NUMBER = st.integers(-(2**31), 2**31)
REAL = st.floats(allow_nan=False, allow_infinity=False)
POINT = st.fixed_dictionaries({"x": NUMBER}, optional={"label": TEXT | st.none()})
SIZE = st.fixed_dictionaries({"width": NUMBER, "height": REAL})
KINDS = [
    Kind(inspect.Parameter.empty, TEXT | NUMBER | st.lists(NUMBER, max_size=2)),
    Kind(Any, TEXT | st.none()),
    Kind(int, NUMBER),
    Kind(float, REAL),
    Kind(str, TEXT),
    Kind(bool, st.booleans()),
    Kind(int | None, NUMBER | st.none()),
    Kind(int | str, NUMBER | TEXT),
    Kind(Literal["a", "b", 3], st.sampled_from(["a", "b", 3])),
    Kind(list[int], st.lists(NUMBER, max_size=3)),
    Kind(dict[str, list[bool]], st.dictionaries(TEXT, st.lists(st.booleans(), max_size=2), max_size=2)),
    Kind(tuple[int, str], st.tuples(NUMBER, TEXT).map(list), tuple),
    Kind(Annotated[int, "described"], NUMBER),
    Kind(Point, POINT, Point.model_validate),
    Kind(Point | None, POINT | st.none(), lambda value: value and Point.model_validate(value)),
    Kind(list[Point], st.lists(POINT, max_size=2), lambda value: [Point.model_validate(one) for one in value]),
    Kind(Line, st.fixed_dictionaries({"points": st.lists(POINT, max_size=2)}), Line.model_validate),
    Kind(Size, SIZE),
    Kind(list[Size], st.lists(SIZE, max_size=2)),
    Kind(
        Box,
        st.fixed_dictionaries({"weight": st.fixed_dictionaries({"grams": NUMBER}), "lid": st.booleans()}),
        lambda value: Box(**value),
    ),
]
NAMES = ["a", "b2", "_private", "__dunder", "schema", "copy", "json", "model_config", "model_dump", "self_", "items"]
NAMES += ["title", "properties", "type", "default", "name", "args_", "config_", "validate", "größe", "dict"]
POSITIONAL_ONLY, EITHER, VARIADIC, NAMED, OPEN = inspect._ParameterKind
DEFAULTS = [None, 0, "text", [], (), {}, object(), Point(x=1)]


class Drawn(NamedTuple):
    """A function that returns what it got, and the arguments of a call."""

    function: Callable[..., Any]
    sent: dict[str, Any]
    received: dict[str, Any]


@st.composite
def calls(draw: st.DrawFn) -> Drawn:
    """Draw a signature and a call that fits it."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=7))
    order = sorted(draw(st.sampled_from([POSITIONAL_ONLY, EITHER, NAMED])) for _ in names)
    parameters: list[inspect.Parameter] = []
    sent: dict[str, Any] = {}
    received: dict[str, Any] = {}
    defaulted = False
    for name, kind in zip(names, order, strict=True):
        drawn = draw(st.sampled_from(KINDS))
        has_default = draw(st.booleans()) or (defaulted and kind is not NAMED)
        defaulted = defaulted or has_default
        default = draw(st.sampled_from(DEFAULTS)) if has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=drawn.annotation))
        if not has_default or draw(st.booleans()):
            sent[name] = draw(drawn.sent)
            received[name] = drawn.received(sent[name])
        else:
            received[name] = default
    if draw(st.booleans()):
        place = sum(one.kind < VARIADIC for one in parameters)
        parameters.insert(place, inspect.Parameter("rest", VARIADIC, annotation=int))
        received["rest"] = ()
        if draw(st.booleans()):
            sent["rest"] = draw(st.lists(NUMBER, max_size=3))
            received["rest"] = tuple(sent["rest"])
    if draw(st.booleans()):
        parameters.append(inspect.Parameter("more", OPEN, annotation=float))
        received["more"] = draw(st.dictionaries(st.sampled_from(["u", "v"]), REAL))
        sent |= received["more"]
    return Drawn(_function(parameters), sent, received)


def _function(parameters: list[inspect.Parameter]) -> Callable[..., Any]:
    """Return a function with these parameters that returns their values by name."""
    given = {f"default_{at}": one.default for at, one in enumerate(parameters)}
    kinds = {f"kind_{at}": one.annotation for at, one in enumerate(parameters)}
    written = []
    for at, one in enumerate(parameters):
        shown = one.replace(annotation=inspect.Parameter.empty, default=inspect.Parameter.empty)
        hint = "" if one.annotation is inspect.Parameter.empty else f": kind_{at}"
        default = "" if one.default is inspect.Parameter.empty else f" = default_{at}"
        written.append(f"{shown}{hint}{default}")
        follows = parameters[at + 1].kind if at + 1 < len(parameters) else None
        if one.kind is POSITIONAL_ONLY and follows is not POSITIONAL_ONLY:
            written.append("/")
        if one.kind < VARIADIC and follows is NAMED:
            written.append("*")
    if parameters and parameters[0].kind is NAMED:
        written.insert(0, "*")
    names: dict[str, Any] = {**given, **kinds, "__name__": __name__}
    exec(f"def drawn({', '.join(written)}):\n    'Do it.'\n    return locals()", names)
    function: Callable[..., Any] = names["drawn"]
    return function


@given(calls())
def test_a_schema_admits_its_own_calls(drawn: Drawn) -> None:
    """The JSON schema is valid and admits the arguments; the function gets them, typed; what was left out, it has itself."""
    made = tool(drawn.function)
    described = convert_to_openai_tool(made)["function"]
    schema = described["parameters"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(drawn.sent, schema)
    assert described == convert_to_openai_tool(drawn.function)["function"]

    got = made.invoke(drawn.sent)
    assert got == drawn.received
    assert all(
        got[name] is value
        for name, value in drawn.received.items()
        if name not in drawn.sent and name not in ("rest", "more")
    )


@given(calls())
def test_a_call_with_an_unknown_argument_is_explained(drawn: Drawn) -> None:
    """What a signature does not have is refused, by the JSON schema and by the tool, with a word on what there is."""
    if "more" in drawn.received:
        return
    made = tool(drawn.function)
    sent = {**drawn.sent, "zzz": 1}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(sent, convert_to_openai_tool(made)["function"]["parameters"])
    call = {"name": "drawn", "args": sent, "id": "1", "type": "tool_call"}
    (answer,) = run_tool_calls(AIMessage("", tool_calls=[call]), [made])
    assert answer.status == "error"
    assert "zzz: there is no such argument" in str(answer.content)


@given(calls())
def test_what_is_injected_is_not_in_the_schema(drawn: Drawn) -> None:
    """A parameter that is injected, or filled, changes nothing in what the model sees."""
    before = convert_to_openai_tool(drawn.function)["function"]["parameters"]
    signature = inspect.signature(drawn.function)
    hidden = [
        inspect.Parameter("user", NAMED, annotation=Annotated[object, InjectedToolArg]),
        inspect.Parameter("run", NAMED, annotation=RunnableConfig),
        inspect.Parameter("callbacks", NAMED),
    ]
    parameters = [one for one in signature.parameters.values() if one.kind is not OPEN]
    last = [one for one in signature.parameters.values() if one.kind is OPEN]
    made = tool(_function([*parameters, *hidden, *last]))
    assert convert_to_openai_tool(made)["function"]["parameters"] == before
    user = object()
    got = made.invoke({**drawn.sent, "user": user})
    assert got["user"] is user
    assert {name: value for name, value in got.items() if name in drawn.received} == drawn.received


def test_a_schema_is_inferred_once_for_a_function() -> None:
    """As long as it stays as it is; it is not kept beyond the function, and what one tool shows is not another's."""

    def order(pieces: int = 1) -> None:
        """Order."""

    first, second = tool(order), tool(order)
    assert first.args_schema is second.args_schema
    first.arguments.json_schema["properties"]["pieces"]["type"] = "string"
    assert second.args["pieces"]["type"] == "integer"
    order.__doc__ = "Order pieces."
    assert tool(order).args_schema is not first.args_schema
    assert tool("send")(order).args_schema.__name__ == "send"
    gone = weakref.ref(order)
    del order, first, second
    gc.collect()
    assert gone() is None
