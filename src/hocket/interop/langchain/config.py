"""The config of a call, to LangChain's and back: its handlers, the run around it, tags and metadata."""

from typing import cast

from langchain_core.callbacks import AsyncCallbackManager as LCAsyncManager
from langchain_core.callbacks.base import BaseCallbackHandler as LCBaseCallbackHandler
from langchain_core.runnables import RunnableConfig as LCRunnableConfig
from langchain_core.runnables.config import ensure_config as lc_ensure_config

from hocket.callbacks import AsyncCallbackManager, BaseCallbackHandler, BaseCallbackManager
from hocket.interop.langchain.handlers import handler_to_langchain
from hocket.runnables import RunnableConfig, ensure_config

__all__ = ["config_from_langchain", "config_to_langchain"]


def config_to_langchain(config: RunnableConfig | None) -> LCRunnableConfig:
    """Return a config, with that of the context, as LangChain's: hocket's handlers hear LangChain's runs, converted."""
    given = ensure_config(config)
    callbacks = given.get("callbacks")
    if callbacks is None:
        return cast(LCRunnableConfig, {**given})
    manager = callbacks if isinstance(callbacks, BaseCallbackManager) else AsyncCallbackManager(callbacks, [*callbacks])
    made = LCAsyncManager(
        [_as_langchains(one) for one in manager.handlers],
        [_as_langchains(one) for one in manager.inheritable_handlers],
        manager.parent_run_id,
        tags=[*manager.tags],
        inheritable_tags=[*manager.inheritable_tags],
        metadata={**manager.metadata},
        inheritable_metadata={**manager.inheritable_metadata},
    )
    return cast(LCRunnableConfig, {**given, "callbacks": made})


def config_from_langchain(config: LCRunnableConfig | None) -> RunnableConfig:
    """Return LangChain's config, with that of the context, as hocket's, which takes its handlers as they are."""
    known = RunnableConfig.__annotations__.keys() - {"recursion_limit"}  # LangChain sets it, also if the caller did not
    return cast(RunnableConfig, {key: value for key, value in lc_ensure_config(config).items() if key in known})


def _as_langchains(handler: BaseCallbackHandler) -> LCBaseCallbackHandler:
    return handler if isinstance(handler, LCBaseCallbackHandler) else handler_to_langchain(handler)
