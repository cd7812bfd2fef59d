"""hocket's objects in LangChain, and LangChain's in hocket (the extra ``langchain``: langchain-core 1.0 or newer).

`to_langchain` and `from_langchain` turn one into the other; `langchain_callbacks` tells LangChain's handlers of hocket's
runs. A program that hands hocket a handler of LangChain's loads this room with it; nothing else of hocket does.
"""

from hocket.errors import MissingDependency

try:
    import langchain_core as _langchain_core  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ImportError as _error:
    raise MissingDependency("the bridge to LangChain needs it; run `pip install 'hocket[langchain]'`") from _error

from hocket.interop.langchain.convert import from_langchain, to_langchain
from hocket.interop.langchain.surroundings import langchain_callbacks

__all__ = ["from_langchain", "langchain_callbacks", "to_langchain"]
