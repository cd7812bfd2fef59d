"""What an object is turned into on its way to JSON, as types: nodes of the wire form."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

__all__ = ["BaseSerialized", "SerializedConstructor", "SerializedNotImplemented", "SerializedSecret"]


class BaseSerialized(TypedDict):
    """What every node has.

    Keys:
        lc: the version of the wire form: 1.
        id: of a class its path, of a secret the variable that holds it.
        name, graph: LangChain writes them for its own tools; never written here.
    """

    lc: int
    id: list[str]
    name: NotRequired[str]
    graph: NotRequired[dict[str, Any]]


class SerializedConstructor(BaseSerialized):
    """An object that can be rebuilt: its class, with what it is to be called with."""

    type: Literal["constructor"]
    kwargs: dict[str, Any]


class SerializedSecret(BaseSerialized):
    """A secret, by the name of the variable that holds it."""

    type: Literal["secret"]


class SerializedNotImplemented(BaseSerialized):
    """An object that cannot be rebuilt; ``repr`` is None, for a repr may hold a secret."""

    type: Literal["not_implemented"]
    repr: str | None
