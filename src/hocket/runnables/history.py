"""`RunnableWithMessageHistory`, where LangChain's users look for it. It lives above, with the histories that it uses."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.chat_history.with_history import RunnableWithMessageHistory

__all__ = ["RunnableWithMessageHistory"]

__getattr__: Loader = loader(__name__, {"..chat_history.with_history": "RunnableWithMessageHistory"})
