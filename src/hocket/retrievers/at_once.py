"""Several retrievals at once, as runs inside one."""

from collections.abc import Sequence
from typing import cast

from hocket.callbacks import AsyncCallbackManagerForRetrieverRun
from hocket.documents import Document
from hocket.documents.found import check_found
from hocket.runnables.base import Runnable
from hocket.runnables.batch import Batch
from hocket.runnables.config import RunnableConfig, ensure_config

__all__ = ["Retriever", "check_retrievers", "retrieve_all"]

Retriever = Runnable[str, list[Document]]
"""What finds documents: a `BaseRetriever`, or any runnable from a question to a list of documents."""


async def retrieve_all(
    retrievals: Sequence[tuple[Retriever, str]],
    run_manager: AsyncCallbackManagerForRetrieverRun,
    tag: str,
    kwargs: dict[str, object],
) -> list[list[Document]]:
    """Ask retrievers their questions at once, and return what each has found, in their order.

    The first to fail cancels the others. ``max_concurrency`` of the config around says how many are asked at a time.

    Args:
        retrievals: retrievers and what each is asked.
        run_manager: of the run that these are inside.
        tag: what their runs are tagged with, each with its number from 1 behind it.
        kwargs: further arguments for each.

    Raises:
        InvalidHook: one of them returned something else than a list of documents.
        Exception: what they raise.
    """

    async def retrieve(number: int, _: RunnableConfig) -> list[Document]:
        retriever, query = retrievals[number]
        config: RunnableConfig = {"callbacks": run_manager.get_child(f"{tag}_{number + 1}")}
        return check_found(await retriever.ainvoke(query, config, **kwargs), retriever.get_name())

    limit: RunnableConfig = {"max_concurrency": ensure_config().get("max_concurrency")}
    return await Batch(retrieve, range(len(retrievals)), limit, return_exceptions=False).collect()


def check_retrievers(given: object) -> Sequence[Retriever]:
    """Return retrievers.

    Raises:
        ValueError: it is no list of them, or an empty one.
    """
    if isinstance(given, Sequence) and given:
        some = cast("Sequence[object]", given)
        if all(isinstance(one, Runnable) for one in some):
            return cast("Sequence[Retriever]", some)
    raise ValueError(f"retrievers is {given!r:.200}; it must be a list of retrievers, with at least one")
