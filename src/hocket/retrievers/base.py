"""`BaseRetriever`: a question in, documents out, as a runnable."""

import functools
from abc import ABC
from typing import Any, ClassVar

from pydantic import ConfigDict

from hocket._runtime.definitions import find_newest
from hocket._runtime.mode import Mode
from hocket.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from hocket.documents import Document
from hocket.errors import InvalidHook, InvalidInput
from hocket.runnables.base import RunnableSerializable
from hocket.runnables.chain_run import ChainRun, get_retriever_run, is_watched
from hocket.runnables.config import RunnableConfig, set_config_context
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["BaseRetriever"]


class BaseRetriever(RunnableWithRun[str, list[Document]], RunnableSerializable[str, list[Document]], ABC):
    """Finds the documents that a question is about. Called with a question, it returns them, best first.

    A subclass defines `_aget_relevant_documents`, or `_get_relevant_documents` in sync code, which runs in a worker
    thread under `ainvoke`. Further arguments of a call are handed to it. Each call is a run: handlers are told
    ``on_retriever_start``, ``on_retriever_end`` and ``on_retriever_error``.

        class Notes(BaseRetriever):
            notes: list[str]

            async def _aget_relevant_documents(self, query, *, run_manager):
                return [Document(note) for note in self.notes if query in note]

    Args:
        name: for handlers; by default that of the class.
        tags, metadata: of its runs.

    Raises, from every verb:
        InvalidInput: the question is no text.
        InvalidHook: the class defines neither method, or it returned no list of documents.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    _run_type: ClassVar[str] = "retriever"
    _is_whole: ClassVar[bool] = True

    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        """Return the documents that ``query`` is about, best first. ``run_manager`` is for runs inside this one."""
        raise NotImplementedError

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        """Return the documents that ``query`` is about, best first, in sync code."""
        raise NotImplementedError

    async def _run_whole(
        self, mode: Mode, input: str, config: RunnableConfig, kwargs: dict[str, object]
    ) -> list[Document]:
        cls, run = type(self), get_retriever_run(config, mode)
        hooks = find_newest(cls, BaseRetriever, "_aget_relevant_documents", "_get_relevant_documents")
        if not hooks:
            raise InvalidHook(f"{cls.__name__} finds nothing: define _aget_relevant_documents (async)")
        with set_config_context(config):
            if "_aget_relevant_documents" in hooks and (mode.is_async or len(hooks) == 1):
                manager = run.view_as(AsyncCallbackManagerForRetrieverRun)
                find = functools.partial(self._aget_relevant_documents, input, run_manager=manager, **kwargs)
                found = await mode.call_async(find)
            else:
                sync_manager = run.view_as(CallbackManagerForRetrieverRun)
                sync_find = functools.partial(self._get_relevant_documents, input, run_manager=sync_manager, **kwargs)
                found = await mode.call_sync(sync_find)
        if not isinstance(found, list):  # pyright: ignore[reportUnnecessaryIsInstance]  # a mistake of the subclass
            raise InvalidHook(
                f"{cls.__name__} returned {type(found).__name__}; a retriever returns a list of documents"
            )
        return found

    def _open_run(self, mode: Mode, config: RunnableConfig) -> ChainRun | None:
        if not is_watched(config):
            return None
        run = ChainRun(mode, self.get_name(), config, self._run_type, self.tags, self.metadata)
        return run if run.is_watched else None

    async def _invoke(
        self, mode: Mode, input: str, config: RunnableConfig | None, kwargs: dict[str, object]
    ) -> list[Document]:
        if not isinstance(input, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"{self.get_name()} takes a question, a text, not {type(input).__name__}")
        return await super()._invoke(mode, input, config, kwargs)
