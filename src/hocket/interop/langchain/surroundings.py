"""What surrounds code that LangChain or LangGraph runs: its handlers, and the run that the code is part of."""

from typing import cast

from langchain_core.callbacks.base import BaseCallbackManager as LCBaseCallbackManager
from langchain_core.runnables.config import ensure_config as lc_ensure_config

from hocket.callbacks import AsyncCallbackManager, BaseCallbackHandler, BaseCallbackManager
from hocket.interop.langchain.handlers import manager_from_langchain

__all__ = ["langchain_callbacks"]


def langchain_callbacks() -> BaseCallbackManager:
    """Return LangChain's handlers as callbacks of a call of hocket's, inside the run of LangChain's that calls this.

        async def node(state):
            reply = await model.ainvoke(state["question"], {"callbacks": langchain_callbacks()})

    In a node of a LangGraph graph they are the graph's, and the call's run is inside the node's; anywhere in LangChain's
    runnables and tools they are those of the run around. Outside of all of them nobody is told.
    """
    given = lc_ensure_config().get("callbacks")
    if isinstance(given, LCBaseCallbackManager):
        return manager_from_langchain(given)
    handlers = cast("list[BaseCallbackHandler]", [*(given or [])])
    return AsyncCallbackManager(handlers, [*handlers])
