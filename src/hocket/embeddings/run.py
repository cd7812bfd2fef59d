"""The run of an embedding model: one start and one end for each call, told to the handlers; no work if there are none.

The verbs of embedding models take no config, as in LangChain. So the run has the handlers, tags and metadata of the run
that the call is made in, and those of the context and the process.
"""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from hocket._pipeline.rate_limit import NOTICEABLE
from hocket._runtime import clock
from hocket._runtime.ids import new_run_id
from hocket._runtime.runtime import ASYNC, Runtime
from hocket.callbacks import AsyncCallbackManager, AsyncRunManager, BaseRunManager, CallbackManager, RunManager
from hocket.callbacks.run_facts import describe_server
from hocket.embeddings.base import Embeddings
from hocket.messages import UsageMetadata
from hocket.retries import Failure
from hocket.runnables.chain_run import is_watched
from hocket.runnables.config import read_config

__all__ = ["EmbeddingRun", "embed_as_run"]

T = TypeVar("T")
Vectors = list[list[float]]


async def embed_as_run(
    model: Embeddings, texts: Sequence[str], embed: Callable[[], Awaitable[Vectors]], *, runtime: Runtime = ASYNC
) -> Vectors:
    """Return the vectors that ``embed()`` gives, as a run of ``model``: for the verbs of an embedding model of your own.

    Args:
        model: it is named to handlers by its class, its ``model`` or `model_id`, and its ``base_url``.
        texts: what is embedded.
        embed: does it.
        runtime: of the verb.
    """
    return await EmbeddingRun(model, texts, runtime).execute(embed, lambda vectors: (vectors, None))


class EmbeddingRun:
    """The run of one call of an embedding model.

    Args:
        model: of whose call.
        texts: what is embedded.
        runtime: of the verb.

    Attributes:
        run_id: its own.
        metadata: the model's, and over them those of the run that the call is made in.
    """

    def __init__(self, model: Embeddings, texts: Sequence[str], runtime: Runtime = ASYNC) -> None:
        self._model = model
        self._texts = texts
        self._run: BaseRunManager | None = None
        self.run_id: UUID = new_run_id()
        config = read_config(None)
        own: Mapping[str, object] = getattr(model, "metadata", None) or {}
        self.metadata: Mapping[str, object] = {**own, **(config.get("metadata") or {})}
        if not is_watched(config):
            return
        manager = (AsyncCallbackManager if runtime.is_async else CallbackManager).configure(
            config.get("callbacks"),
            inheritable_tags=config.get("tags"),
            inheritable_metadata=config.get("metadata"),
            local_metadata={**own, **_describe(model)},
        )
        if manager.handlers:
            run_class = AsyncRunManager if runtime.is_async else RunManager
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
        if self._run is not None and (waited := clock.current().now() - since) >= NOTICEABLE:
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
