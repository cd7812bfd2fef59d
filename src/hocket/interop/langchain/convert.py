"""`to_langchain` and `from_langchain`: which conversion is an object's, by its class."""

from operator import attrgetter
from typing import Any, cast, overload

import langchain_core.documents as lc_documents
import langchain_core.messages as lc_messages
import langchain_core.prompt_values as lc_prompt_values
from langchain_core.callbacks.base import (
    BaseCallbackHandler as LCBaseCallbackHandler,
    BaseCallbackManager as LCBaseCallbackManager,
)
from langchain_core.chat_history import BaseChatMessageHistory as LCBaseChatMessageHistory
from langchain_core.cross_encoders import BaseCrossEncoder as LCBaseCrossEncoder
from langchain_core.document_loaders import BaseLoader as LCBaseLoader
from langchain_core.documents import BaseDocumentCompressor as LCBaseDocumentCompressor
from langchain_core.embeddings import Embeddings as LCEmbeddings
from langchain_core.language_models.chat_models import BaseChatModel as LCBaseChatModel
from langchain_core.prompts import BasePromptTemplate as LCBasePromptTemplate
from langchain_core.retrievers import BaseRetriever as LCBaseRetriever
from langchain_core.runnables import Runnable as LCRunnable
from langchain_core.stores import BaseStore as LCBaseStore
from langchain_core.tools import BaseTool as LCBaseTool
from langchain_core.vectorstores import VectorStore as LCVectorStore

from hocket import documents, language_models, messages, prompt_values
from hocket.callbacks import BaseCallbackHandler
from hocket.chat_history import BaseChatMessageHistory
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput
from hocket.interop.langchain.callables import bridge_calls, is_callable_part, tell_conversions
from hocket.interop.langchain.data import FROM_LANGCHAIN, TO_LANGCHAIN, Conversions, convert_within, find_conversion
from hocket.interop.langchain.documents import LangChainCompressor, LangChainCrossEncoder, LangChainLoader
from hocket.interop.langchain.handlers import (
    LangChainHandler,
    handler_from_langchain,
    handler_to_langchain,
    manager_from_langchain,
)
from hocket.interop.langchain.histories import HocketHistory, LangChainHistory
from hocket.interop.langchain.hocket_model import HocketChatModel, model_to_langchain
from hocket.interop.langchain.hocket_store import HocketVectorStore
from hocket.interop.langchain.key_value_stores import HocketStore, LangChainStore
from hocket.interop.langchain.langchain_model import LangChainChatModel, model_from_langchain
from hocket.interop.langchain.prompts import prompt_from_langchain, prompt_to_langchain
from hocket.interop.langchain.runnables import (
    retriever_from_langchain,
    retriever_to_langchain,
    runnable_from_langchain,
    runnable_to_langchain,
)
from hocket.interop.langchain.tools import LangChainTool, tool_from_langchain, tool_to_langchain
from hocket.interop.langchain.vectorstores import (
    LangChainVectorStore,
    embeddings_from_langchain,
    embeddings_to_langchain,
    store_from_langchain,
)
from hocket.prompts import BasePromptTemplate
from hocket.retrievers import BaseRetriever
from hocket.runnables import Runnable
from hocket.stores import BaseStore
from hocket.tools import BaseTool
from hocket.vectorstores import VectorStore

__all__ = ["from_langchain", "to_langchain"]

_there: Conversions = {
    **TO_LANGCHAIN,
    language_models.BaseChatModel: model_to_langchain,
    LangChainChatModel: attrgetter("langchain_model"),
    BaseTool: tool_to_langchain,
    LangChainTool: attrgetter("original"),
    BaseRetriever: retriever_to_langchain,
    BaseChatMessageHistory: HocketHistory,
    LangChainHistory: attrgetter("history"),
    BasePromptTemplate: prompt_to_langchain,
    LangChainLoader: attrgetter("loader"),
    LangChainCompressor: attrgetter("compressor"),
    LangChainCrossEncoder: attrgetter("cross_encoder"),
    Runnable: runnable_to_langchain,
    BaseStore: HocketStore,
    LangChainStore: attrgetter("store"),
    VectorStore: HocketVectorStore,
    LangChainVectorStore: attrgetter("store"),
    Embeddings: embeddings_to_langchain,
    BaseCallbackHandler: handler_to_langchain,
    LangChainHandler: handler_to_langchain,
}

_back: Conversions = {
    **FROM_LANGCHAIN,
    LCBaseChatModel: model_from_langchain,
    HocketChatModel: attrgetter("hocket_model"),
    LCBaseTool: tool_from_langchain,
    LCBaseRetriever: retriever_from_langchain,
    LCBaseChatMessageHistory: LangChainHistory,
    HocketHistory: attrgetter("history"),
    LCBasePromptTemplate: prompt_from_langchain,
    LCBaseLoader: LangChainLoader,
    LCBaseDocumentCompressor: LangChainCompressor,
    LCBaseCrossEncoder: LangChainCrossEncoder,
    LCRunnable: runnable_from_langchain,
    LCBaseStore: LangChainStore,
    HocketStore: attrgetter("store"),
    LCVectorStore: store_from_langchain,
    HocketVectorStore: attrgetter("hocket_store"),
    LCEmbeddings: embeddings_from_langchain,
    LCBaseCallbackHandler: handler_from_langchain,
    LCBaseCallbackManager: manager_from_langchain,
}


@overload
def to_langchain(x: messages.BaseMessage) -> lc_messages.BaseMessage: ...
@overload
def to_langchain(x: list[messages.BaseMessage]) -> list[lc_messages.BaseMessage]: ...
@overload
def to_langchain(x: documents.Document) -> lc_documents.Document: ...
@overload
def to_langchain(x: list[documents.Document]) -> list[lc_documents.Document]: ...
@overload
def to_langchain(x: prompt_values.PromptValue) -> lc_prompt_values.PromptValue: ...
@overload
def to_langchain(x: object) -> Any: ...
def to_langchain(x: object) -> Any:
    """Return one of hocket's objects as LangChain's, independent of it; a list element by element.

    Args:
        x: a message or a chunk, a prompt value, a result, a document, a chat model, an embedding model, a vector store,
            a store of values by key, a handler, a tool, a history, a retriever, a prompt, any other runnable, or a list
            or tuple of these.

    Raises:
        InvalidInput: it has no form in LangChain; the message names its type.
    """
    return _convert(x, _there, "LangChain's")


@overload
def from_langchain(x: lc_messages.BaseMessage) -> messages.BaseMessage: ...
@overload
def from_langchain(x: list[lc_messages.BaseMessage]) -> list[messages.BaseMessage]: ...
@overload
def from_langchain(x: lc_documents.Document) -> documents.Document: ...
@overload
def from_langchain(x: list[lc_documents.Document]) -> list[documents.Document]: ...
@overload
def from_langchain(x: lc_prompt_values.PromptValue) -> prompt_values.PromptValue: ...
@overload
def from_langchain(x: object) -> Any: ...
def from_langchain(x: object) -> Any:
    """Return one of LangChain's objects as hocket's: `to_langchain` the other way round.

    Args:
        x: what `to_langchain` returns, a loader or a compressor of documents, or a cross-encoder. Of a class, a function
            or a method of LangChain's comes a function that takes hocket's objects and gives hocket's:
            ``from_langchain(Qdrant.from_documents)(documents, embedding)``. What has no form in hocket it gives as it is.

    Raises:
        InvalidInput: it has no form in hocket; the message names its type.
    """
    return _convert(x, _back, "hocket's")


def _convert(x: object, table: Conversions, whose: str) -> object:
    if isinstance(x, list):
        return [_convert(one, table, whose) for one in cast("list[object]", x)]
    if isinstance(x, tuple):
        return tuple(_convert(one, table, whose) for one in cast("tuple[object, ...]", x))
    convert = find_conversion(type(x), table)
    if convert is None and table is _back and callable(x) and is_callable_part(x):
        return bridge_calls(x)
    if convert is None:
        other = _back if table is _there else _there
        hint = f": it is {whose} already" if find_conversion(type(x), other) is not None else ""
        cls = type(x)
        raise InvalidInput(f"{cls.__module__}.{cls.__qualname__} cannot be made one of {whose} objects{hint}")
    return convert(x)


def _all_there(x: object) -> object:
    """Return LangChain's objects for those of hocket's in ``x``; whatever else stays."""
    return convert_within(x, _all_there, _there)


def _all_back(x: object) -> object:
    """Return hocket's objects for those of LangChain's in ``x``; whatever else stays."""
    return convert_within(x, _all_back, _back)


tell_conversions(_all_there, _all_back)
