"""Loading builds what its caller allows, and refuses the rest with a clear error."""

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, TypeVar

import pytest
from pydantic import ConfigDict, Field, ValidationError

from hocket.errors import InvalidInput, LoadError
from hocket.load import Serializable, dumpd, dumps, load, loads
from tests.kit.threads import KEEPS_CLASSES

T = TypeVar("T")


class Loadable(Serializable):
    """A base that opts in."""

    @classmethod
    def is_lc_serializable(cls) -> bool:
        return True


class PretendMessage(Loadable):
    """Looks like a message: free content, extras allowed."""

    __module__ = "hocket.messages._pretend"
    model_config = ConfigDict(extra="allow")

    content: Any


class PretendModel(Loadable):
    """Looks like a model of hocket."""

    __module__ = "hocket.language_models._pretend"
    model_config = ConfigDict(extra="forbid")

    temperature: float = 1.0


class Tree(Loadable):
    """A user's class: a node with children."""

    value: Any = None
    children: list["Tree"] = Field(default_factory=list)


class Box(Loadable, Generic[T]):
    """A generic class of a user."""

    item: T


class NotLoadable(Serializable):
    """Registered, but not serialisable."""

    secret: str = "hunter2"


class Positional(Loadable):
    """Has an ``__init__`` of its own, as messages do."""

    content: str

    def __init__(self, content: str, **kwargs: Any) -> None:
        super().__init__(**{"content": content, **kwargs})


def test_ids() -> None:
    """Ids show hocket's public path, a user's whole path, and no generic parameters."""
    assert PretendMessage.lc_id() == ["hocket", "messages", "PretendMessage"]
    assert PretendModel.lc_id() == ["hocket", "language_models", "PretendModel"]
    assert Tree.lc_id() == [*__name__.split("."), "Tree"]
    assert Box[int].lc_id() == Box.lc_id() == [*__name__.split("."), "Box"]


def test_generic_classes() -> None:
    """Parametrising a class does not change what its id loads, and the parametrised class can be asked for."""
    written = dumpd(Box[int](item=1))

    assert type(load(written, allowed_objects="all")) is Box
    assert type(load(written, allowed_objects=[Box[int]])) is Box[int]


def test_allowed_objects_words() -> None:
    """Each word allows what it says and no more."""
    message, model, tree = (dumpd(obj) for obj in (PretendMessage(content=1), PretendModel(), Tree()))
    allowed: dict[Literal["core", "messages", "all"], list[Any]] = {
        "messages": [message],
        "core": [message, model],
        "all": [message, model, tree],
    }
    for word, readable in allowed.items():
        for data in (message, model, tree):
            if data in readable:
                assert isinstance(load(data, allowed_objects=word), Serializable)
            else:
                with pytest.raises(LoadError, match=f"{data['id'][-1]}.* is not allowed, .*'{word}'"):
                    load(data, allowed_objects=word)


def test_allowed_objects_classes() -> None:
    """A list allows exactly its classes, also one that a later definition displaced; the empty list allows none."""
    assert load(dumpd(Tree()), allowed_objects=[Tree]) == Tree()
    for listed in ([], [Loadable], [PretendMessage]):
        with pytest.raises(LoadError, match=r"'Tree'.* not allowed"):
            load(dumpd(Tree()), allowed_objects=listed)
    first, second = make_class("first"), make_class("second")
    written = dumpd(first())
    assert type(load(written, allowed_objects=[first])) is first
    assert type(load(written, allowed_objects="all")) is second


@pytest.mark.parametrize("wrong", ["everything", [int], [Tree()], 3])
def test_wrong_allowed_objects(wrong: Any) -> None:
    """What is neither a known word nor a list of classes is refused before any data is read."""
    with pytest.raises(InvalidInput, match="allowed_objects"):
        load(1, allowed_objects=wrong)


def make_class(text: str) -> type[Serializable]:
    """A class that is defined anew at each call, as in a notebook."""

    class Notebook(Loadable):
        lc_aliases: ClassVar = [["old", "Notebook"]]
        field: str = text

    return Notebook


def test_former_ids() -> None:
    """A class loads data under the ids in ``lc_aliases``; a subclass does not inherit them; a true id comes first."""
    notebook = make_class("x")

    class Child(notebook):  # type: ignore[valid-type, misc]
        pass

    old = {"lc": 1, "type": "constructor", "id": ["old", "Notebook"], "kwargs": {}}
    assert type(load(old, allowed_objects="all")) is notebook
    assert type(load(old, allowed_objects=[notebook])) is notebook
    with pytest.raises(LoadError):
        load(old, allowed_objects=[Child])

    class Thief(Loadable):
        lc_aliases: ClassVar = [[*__name__.split("."), "Tree"]]

    assert type(load(dumpd(Tree()), allowed_objects="all")) is Tree
    assert Thief.lc_aliases


@pytest.mark.skipif(KEEPS_CLASSES, reason="this Python keeps every class")
def test_dropped_classes_leave_the_register() -> None:
    """The register keeps no class alive."""
    written = dumpd(make_class("x")())
    gc.collect()

    with pytest.raises(LoadError, match="no class is registered with the id"):
        load(written, allowed_objects="all")


@pytest.mark.parametrize(
    "lc_id",
    [
        ["os", "system"],
        ["builtins", "eval"],
        ["antigravity", "Tree"],
        ["subprocess", "Popen"],
        [*__name__.split("."), "Loadable", "Tree"],
        [f"{__name__}.Tree"],
        ["hocket", "load", "serializable", "Serializable"],
        [],
    ],
)
def test_ids_are_never_imported(lc_id: list[str]) -> None:
    """An id that no class is registered under is refused, and nothing is imported on the way."""
    before = set(sys.modules)
    node = {"lc": 1, "type": "constructor", "id": lc_id, "kwargs": {"command": "true"}}

    for allowed in ("all", [Tree]):
        with pytest.raises(LoadError):
            load(node, allowed_objects=allowed)

    assert set(sys.modules) == before


def test_classes_that_did_not_opt_in_are_neither_written_nor_read() -> None:
    """A class that is not serialisable is written by name only, and data that names it is refused."""
    assert dumpd(NotLoadable()) == {
        "lc": 1,
        "type": "not_implemented",
        "id": [*__name__.split("."), "NotLoadable"],
        "repr": None,
    }
    node = {"lc": 1, "type": "constructor", "id": [*__name__.split("."), "NotLoadable"], "kwargs": {}}
    for allowed in ("all", [NotLoadable]):
        with pytest.raises(LoadError, match="is_lc_serializable"):
            load(node, allowed_objects=allowed)


def test_objects_that_could_not_be_written() -> None:
    """They are refused by name, or read as None where the caller says so."""
    written = dumps(Tree(value=[1, object()]))

    with pytest.raises(LoadError, match=r"\['builtins', 'object'\].*ignore_unserializable_fields=True"):
        loads(written, allowed_objects=[Tree])
    assert loads(written, allowed_objects=[Tree], ignore_unserializable_fields=True) == Tree(value=[1, None])


DAMAGED: list[Any] = [
    {"lc": 1},
    {"lc": 2, "type": "constructor", "id": [*__name__.split("."), "Tree"], "kwargs": {}},
    {"lc": 1, "type": "constructor", "id": [*__name__.split("."), "Tree"]},
    {"lc": 1, "type": "constructor", "id": f"{__name__}.Tree", "kwargs": {}},
    {"lc": 1, "type": "constructor", "id": [*__name__.split("."), 3], "kwargs": {}},
    {"lc": 1, "type": "constructor", "id": [[__name__], {}], "kwargs": {}},
    {"lc": 1, "type": "constructor", "id": [*__name__.split("."), "Tree"], "kwargs": []},
    {"lc": 1, "type": "constructor", "id": [*__name__.split("."), "Tree"], "kwargs": {"children": 3}},
    {"lc": 1, "type": "constructor", "id": [*__name__.split("."), "Positional"], "kwargs": {}},
    {"lc": 1, "type": "constructor", "id": [*__name__.split("."), "Positional"], "kwargs": {3: 4}},
    {"lc": 1, "type": "secret", "id": []},
    {"lc": 1, "type": "secret", "id": [3]},
    {"lc": 1, "type": "nonsense", "id": ["x"]},
    {"lc": "a user's own dict, not written by dumps"},
    {"__lc_escaped__": 3},
    {"lc": 1, "type": "value", "id": ["eval"], "value": "1"},
    {"lc": 1, "type": "value", "id": ["bytes"], "value": "*"},
    {"lc": 1, "type": "value", "id": ["uuid"], "value": 5},
    {"lc": 1, "type": "value", "id": ["timedelta"], "value": [10**10]},
    {"lc": 1, "type": "value", "id": ["set"], "value": [{}]},
    {"lc": 1, "type": "value", "id": ["dict"], "value": [[1]]},
    {"lc": 1, "type": "value", "id": ["decimal"], "value": "x"},
]


@pytest.mark.parametrize("data", DAMAGED)
def test_damaged_data(data: Any) -> None:
    """Damage anywhere gives a LoadError and nothing else."""
    for node in (data, [{"a": data}], dumpd(Tree()) | {"kwargs": {"value": data}}):
        with pytest.raises(LoadError):
            load(node, allowed_objects=[Tree, Positional])


@pytest.mark.parametrize("text", ["", "{", b"\xff", '"', "nul"])
def test_text_that_is_not_json(text: Any) -> None:
    """It is refused as such."""
    with pytest.raises(LoadError, match="not JSON"):
        loads(text)


def nest(levels: int, wrap: Callable[[Any], Any]) -> Any:
    """Wrap a value so many times."""
    data: Any = 1
    for _ in range(levels):
        data = wrap(data)
    return data


WRAPS: list[Callable[[Any], Any]] = [
    lambda inner: [inner],
    lambda inner: {"a": inner},
    lambda inner: {"lc": inner},
    lambda inner: {1: inner},
    lambda inner: Tree.model_construct(value=inner, children=[]),
]


@pytest.mark.parametrize("wrap", WRAPS)
def test_depth(wrap: Callable[[Any], Any]) -> None:
    """What can be written can be read, and what is too deep is refused with an error of ours on both sides."""
    deepest = 0
    for levels in range(30, 200):
        try:
            text = dumps(nest(levels, wrap))
        except InvalidInput:
            break
        deepest = levels
        assert loads(text, allowed_objects="all") is not None
    assert 40 <= deepest < 199
    with pytest.raises(InvalidInput, match="128 deep"):
        dumps(nest(10_000, wrap))


def test_deep_data_is_refused() -> None:
    """Ten thousand levels give a LoadError, as text and as data, however they are nested."""
    node = {"lc": 1, "type": "constructor", "id": [*__name__.split("."), "Tree"]}
    wraps: list[Callable[[Any], Any]] = [
        lambda inner: [inner],
        lambda inner: {"a": inner},
        lambda inner: {"__lc_escaped__": inner},
        lambda inner: node | {"kwargs": {"value": inner}},
        lambda inner: {"lc": 1, "type": "value", "id": ["set"], "value": inner},
    ]
    for wrap in wraps:
        with pytest.raises(LoadError):
            load(nest(10_000, wrap), allowed_objects="all")
    with pytest.raises(LoadError, match="128 deep"):
        loads("[" * 10_000 + "]" * 10_000)


def test_cyclic_data_is_refused() -> None:
    """An object that contains itself is refused when it is written."""
    data: list[Any] = []
    data.extend([data, data])

    with pytest.raises(InvalidInput, match="contains itself"):
        dumps(data)


def test_init_validator_decides() -> None:
    """It sees id and kwargs before an object is built, innermost first, and its error is passed on."""
    seen: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    tree = Tree(value="a", children=[Tree(value="b")])

    load(dumpd(tree), allowed_objects=[Tree], init_validator=lambda lc_id, kwargs: seen.append((lc_id, dict(kwargs))))

    inner = ((*__name__.split("."), "Tree"), {"value": "b"})
    assert seen == [inner, ((*__name__.split("."), "Tree"), {"value": "a", "children": [Tree(value="b")]})]

    def refuse(lc_id: tuple[str, ...], kwargs: dict[str, Any]) -> None:
        raise PermissionError("no trees")

    with pytest.raises(PermissionError):
        load(dumpd(tree), allowed_objects=[Tree], init_validator=refuse)


def test_validation_failures_name_the_field() -> None:
    """Data that its class refuses gives a LoadError with the field in its text and pydantic's error as its cause."""
    node = dumpd(PretendModel()) | {"kwargs": {"temperature": "hot-value", "typo": 1}}

    with pytest.raises(LoadError, match=r"PretendModel.*(?s:.*)temperature") as caught:
        load(node)

    assert isinstance(caught.value.__cause__, ValidationError)
    assert {error["loc"] for error in caught.value.__cause__.errors()} == {("temperature",), ("typo",)}
    assert "hot-value" not in str(caught.value) + str(caught.value.__cause__)


@pytest.mark.parametrize(
    "text",
    [
        '{"lc": 1, "type": "constructor", "id": ["hocket", "messages", "HumanMessage"], "kwargs": {"content": "hi"}}',
        '{"lc": 1, "type": "constructor", "id": ["hocket", "language_models", "FakeListChatModel"],'
        ' "kwargs": {"responses": ["hi"]}}',
    ],
)
def test_own_classes_load_in_a_process_that_has_not_imported_them(text: str) -> None:
    """`from hocket import loads` is all that it takes to read what another process wrote."""
    code = f"from hocket import loads, dumps; print(dumps(loads({text!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)

    assert json.loads(done.stdout) == json.loads(text), done.stderr
