"""What every embedding model can do: four verbs, two of them the sync faces of the others, of which one is enough.

A call is a run: handlers get one start and one end; without handlers there is no work. The verbs of embedding
models take no config, as in LangChain. So the run has the handlers, tags and metadata of the run that the call is made
in, and those of the context and the process.
"""

import contextlib
import functools
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, TypeVar
from uuid import UUID

from hocket._metering.listeners import end_wait
from hocket._runtime.clock import new_run_id
from hocket._runtime.definitions import EitherVerb, has_own_definition
from hocket._runtime.mode import ASYNC, Mode
from hocket._runtime.portal import run_in_portal
from hocket.callbacks import AsyncCallbackManager, AsyncRunManager, BaseRunManager, CallbackManager, RunManager
from hocket.callbacks.run_facts import describe_server
from hocket.errors import InvalidHook
from hocket.messages import UsageMetadata
from hocket.retries import Failure
from hocket.runnables.chain_run import is_watched
from hocket.runnables.config import read_config

__all__ = ["EmbeddingRun", "Embeddings", "check_vectors", "embed_as_run"]


class Embeddings(EitherVerb):
    """An embedding model. Subclass it and define `aembed_documents` or, in sync code, `embed_documents`.

    The other verbs follow from it: an async verb runs sync code in a worker thread, a sync verb runs async code on a loop
    of hocket's own, and a query is a document unless `aembed_query` or `embed_query` says otherwise.

    Handlers get calls of hocket's own classes. Those of yours, too, where it embeds by `embed_as_run`.
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


T = TypeVar("T")
Vectors = list[list[float]]


async def embed_as_run(
    model: Embeddings, texts: Sequence[str], embed: Callable[[], Awaitable[Vectors]], *, mode: Mode = ASYNC
) -> Vectors:
    """Return the vectors that ``embed()`` gives, as a run of ``model``: for the verbs of an embedding model of your own.

    Args:
        model: it is named to handlers by its class, its ``model`` or `model_id`, and its ``base_url``.
        texts: what is embedded.
        embed: does it.
        mode: of the verb.
    """
    return await EmbeddingRun(model, texts, mode).execute(embed, lambda vectors: (vectors, None))


class EmbeddingRun:
    """The run of one call of an embedding model.

    Args:
        model: of whose call.
        texts: what is embedded.
        mode: of the verb.

    Attributes:
        run_id: its own.
        metadata: the model's, and over them those of the run that the call is made in.
    """

    def __init__(self, model: Embeddings, texts: Sequence[str], mode: Mode = ASYNC) -> None:
        self._model = model
        self._texts = texts
        self._run: BaseRunManager | None = None
        self.run_id: UUID = new_run_id()
        config = read_config(None)
        own: Mapping[str, object] = getattr(model, "metadata", None) or {}
        self.metadata: Mapping[str, object] = {**own, **(config.get("metadata") or {})}
        if not is_watched(config):
            return
        manager = (AsyncCallbackManager if mode.is_async else CallbackManager).configure(
            config.get("callbacks"),
            inheritable_tags=config.get("tags"),
            inheritable_metadata=config.get("metadata"),
            local_metadata={**own, **_describe(model)},
        )
        if manager.handlers:
            run_class = AsyncRunManager if mode.is_async else RunManager
            self._run = manager.new_run(run_class, self.run_id)

    @property
    def parent_run_id(self) -> UUID | None:
        """The run that the call is inside of, where handlers listen."""
        return None if self._run is None else self._run.parent_run_id

    async def execute(
        self, work: Callable[[], Awaitable[T]], read: Callable[[T], tuple[Vectors, UsageMetadata | None]]
    ) -> T:
        """Await ``work()`` as this run, and return its result.

        Args:
            work: embeds the texts.
            read: returns vectors and usage out of the result.
        """
        run = self._run
        if run is None:
            return await work()
        name = type(self._model).__name__
        try:
            details = {"name": name, **describe_server(getattr(self._model, "base_url", None))}
            await run.emit_start("on_embeddings_start", ({"name": name}, list(self._texts)), details)
            result = await work()
        except BaseException as error:
            with contextlib.suppress(Exception):  # of a handler: a run that has failed keeps its own error
                await run.emit_end("on_embeddings_error", error)
            raise
        vectors, usage = read(result)
        facts = {"count": len(vectors), "dimensions": len(vectors[0]) if vectors else None}
        await run.emit_end("on_embeddings_end", usage, **facts)
        return result

    async def emit_retry(self, failure: Failure) -> None:
        """Tell the handlers that a request failed and another will be made."""
        if self._run is not None:
            state, facts = failure.retry_event_args
            await self._run.emit("on_retry", state, **facts)

    async def emit_wait(self, since: float) -> None:
        """Tell the handlers, if it is worth telling, that a request was held back since then, in seconds by the clock."""
        if (waited := end_wait(since)) and self._run is not None:
            await self._run.emit("on_limiter_wait", waited)


def _describe(model: Embeddings) -> dict[str, object]:
    """Return what tracers want to know of a model, by LangSmith's names."""
    name = type(model).__name__
    kind = name.removesuffix("s").removesuffix("Embedding").lower() or name.lower()
    return {
        "ls_provider": getattr(model, "_provider", None) or kind,
        "ls_model_name": str(getattr(model, "model", None) or model.model_id),
        "ls_model_type": "embeddings",
    }
