"""What every embedding model can do: four verbs, two of them the sync faces of the others, of which one is enough."""

import functools
from typing import Any, Self

from hocket._runtime.definitions import has_own_definition
from hocket._runtime.portal import run_in_portal
from hocket._runtime.runtime import ASYNC
from hocket.errors import InvalidHook

__all__ = ["Embeddings"]


class Embeddings:
    """An embedding model. Subclass it and define `aembed_documents` or, in sync code, `embed_documents`.

    The other verbs follow from it: an async verb runs sync code in a worker thread, a sync verb runs async code on a loop
    of hocket's own, and a query is a document unless `aembed_query` or `embed_query` says otherwise.

    Handlers hear of calls of hocket's own classes. Yours is heard of, too, where it embeds by `embed_as_run`.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Refuse a class that embeds nothing.

        Raises:
            InvalidHook: it defines neither `aembed_documents` nor `embed_documents`.
        """
        if not has_own_definition(cls, Embeddings, "aembed_documents", "embed_documents"):
            raise InvalidHook(
                f"{cls.__name__} embeds nothing: define aembed_documents (async) or embed_documents (sync)"
            )
        return super().__new__(cls)

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
