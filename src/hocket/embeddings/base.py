"""What every embedding model can do: four verbs, two of them the sync faces of the others, of which one is enough."""

import functools
import math
from collections.abc import Sequence
from typing import ClassVar

from hocket._runtime.definitions import EitherVerb, has_own_definition
from hocket._runtime.portal import run_in_portal
from hocket._runtime.runtime import ASYNC
from hocket.errors import InvalidHook

__all__ = ["Embeddings", "check_vectors"]


class Embeddings(EitherVerb):
    """An embedding model. Subclass it and define `aembed_documents` or, in sync code, `embed_documents`.

    The other verbs follow from it: an async verb runs sync code in a worker thread, a sync verb runs async code on a loop
    of hocket's own, and a query is a document unless `aembed_query` or `embed_query` says otherwise.

    Handlers hear of calls of hocket's own classes. Yours is heard of, too, where it embeds by `embed_as_run`.
    """

    _verbs: ClassVar = ("embed_documents",)

    @property
    def model_id(self) -> str:
        """Which model it is, so that vectors of two are never compared: stores keep it, and refuse another.

        By default the name of the class, and its ``model`` and ``size`` or ``dimensions``, as far as it has them. A class
        whose vectors depend on more overrides it.
        """
        facts = (getattr(self, name, None) for name in ("model", "size", "dimensions"))
        return ":".join([type(self).__name__, *(str(fact) for fact in facts if fact)])

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order."""
        return await ASYNC.call_sync(self.embed_documents, texts)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order: the sync face of `aembed_documents`."""
        return run_in_portal(functools.partial(self.aembed_documents, texts))

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a text that others are searched with."""
        if has_own_definition(type(self), Embeddings, "embed_query"):
            return await ASYNC.call_sync(self.embed_query, text)
        return (await self.aembed_documents([text]))[0]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text that others are searched with: the sync face of `aembed_query`."""
        if has_own_definition(type(self), Embeddings, "aembed_query"):
            return run_in_portal(functools.partial(self.aembed_query, text))
        return self.embed_documents([text])[0]


def check_vectors(vectors: Sequence[Sequence[float]], count: int, embedding: Embeddings) -> None:
    """Check what an embedding model returned, before it is stored or searched with.

    Raises:
        InvalidHook: there are fewer or more than ``count``, their sizes differ, one is no list of numbers, or has no
            direction: it has a number that is not finite, or only zeros.
    """
    model = type(embedding).__name__
    if len(vectors) != count:
        raise InvalidHook(f"{model} returned {len(vectors)} vectors for {count} texts; nothing was stored")
    for place, vector in enumerate(vectors):
        try:
            length = math.hypot(*vector)
        except (TypeError, OverflowError) as error:  # whatever a server, or a class of the user's, has put in it
            raise InvalidHook(
                f"{model} returned a vector (of text {place}) that is no list of numbers: {error}; nothing was stored"
            ) from error
        if len(vector) != len(vectors[0]):
            raise InvalidHook(
                f"{model} returned vectors of {len(vectors[0])} and of {len(vector)} numbers; nothing was stored"
            )
        if not 0 < length < math.inf:
            raise InvalidHook(
                f"{model} returned a vector (of text {place}) of the length {length}, which can be compared with none; "
                "nothing was stored"
            )
