"""An embedding model by name. Providers announce theirs as entry points, and are imported when a model is made."""

from importlib.metadata import entry_points
from typing import Any, Protocol, cast

from hocket.embeddings.base import Embeddings
from hocket.errors import InvalidInput, MissingDependency, UnknownModel
from hocket.errors.hints import near_name_hint

__all__ = ["init_embeddings", "list_embedding_providers"]

_GROUP = "hocket.embeddings"
_ALIASES = {
    "amazon_bedrock": "bedrock",
    "aws": "bedrock",
    "aws_bedrock": "bedrock",
    "gemini": "google",
    "google_genai": "google",
    "mistralai": "mistral",
    "vertex": "google_vertexai",
    "vertexai": "google_vertexai",
}


def _normalise(name: str) -> str:
    return name.strip().lower().replace("-", "_")


_points = {  # read now: it looks at the disk. hocket's own come last: no other package takes their names
    _normalise(point.name): point
    for point in sorted(entry_points(group=_GROUP), key=lambda point: point.value.startswith("hocket."))
}


class _MakeModel(Protocol):
    def __call__(self, **options: Any) -> Embeddings: ...


def list_embedding_providers() -> list[str]:
    """Return the names of the providers of embedding models, sorted. None of them is imported."""
    return sorted(_points)


def init_embeddings(model: str, *, provider: str | None = None, **options: Any) -> Embeddings:
    """Return the embedding model of this name (LangChain's function).

        init_embeddings("openai:text-embedding-3-small")
        init_embeddings("local")

    Args:
        model: ``provider:model``, or ``provider`` for its default model. "local" runs in this process, "local:PATH" is an
            ONNX file of one's own.
        provider: the provider; then ``model`` is used unchanged.
        options: fields of the model.

    Raises:
        UnknownModel: there is no such provider; the message lists those that exist.
        MissingDependency: what the provider needs is not installed.
        InvalidInput: ``model`` is no text.
    """
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(
            f"a model is named by a text such as 'openai:text-embedding-3-small', not {type(model).__name__}"
        )
    name, _, own = (provider, "", model) if provider else model.partition(":")
    key = _normalise(name)
    point = _points.get(_ALIASES.get(key, key))
    if point is None:
        raise UnknownModel(
            f"no provider of embedding models is called {name!r}; {near_name_hint(key, list_embedding_providers())}"
        )
    try:
        make = cast(_MakeModel, point.load())
    except MissingDependency:
        raise
    except ImportError as error:
        raise MissingDependency(f"the embedding models of {name!r} cannot be loaded: {error}") from error
    return make(**({"model": own} if own else {}), **options)
