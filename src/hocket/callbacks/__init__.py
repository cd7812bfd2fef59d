"""Watching runs: handlers, the managers that tell them, and handlers for common needs. LangChain's names."""

from hocket._runtime.clock import new_run_id
from hocket.callbacks.background import flush
from hocket.callbacks.base_manager import BaseCallbackManager, Callbacks
from hocket.callbacks.custom import adispatch_custom_event, dispatch_custom_event
from hocket.callbacks.groups import (
    AsyncCallbackManagerForChainGroup,
    CallbackManagerForChainGroup,
    atrace_as_chain_group,
    trace_as_chain_group,
)
from hocket.callbacks.handler_mixins import (
    CallbackManagerMixin,
    ChainManagerMixin,
    LLMManagerMixin,
    RetrieverManagerMixin,
    RunManagerMixin,
    ToolManagerMixin,
)
from hocket.callbacks.handlers import AsyncCallbackHandler, BaseCallbackHandler
from hocket.callbacks.manager import (
    AsyncCallbackManager,
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForLLMRun,
    AsyncCallbackManagerForRetrieverRun,
    AsyncCallbackManagerForToolRun,
    AsyncParentRunManager,
    AsyncRunManager,
    CallbackManager,
    CallbackManagerForChainRun,
    CallbackManagerForLLMRun,
    CallbackManagerForRetrieverRun,
    CallbackManagerForToolRun,
    ParentRunManager,
    RunManager,
)
from hocket.callbacks.run_listeners import (
    BaseRunManager,
    register_configure_hook as register_configure_hook,
    register_handler,
    unregister_handler,
)
from hocket.callbacks.stdout import (
    DebugCallbackHandler,
    FileCallbackHandler,
    StdOutCallbackHandler,
    StreamingStdOutCallbackHandler,
)
from hocket.callbacks.usage import UsageMetadataCallbackHandler, get_usage_metadata_callback

__all__ = [
    "AsyncCallbackHandler",
    "AsyncCallbackManager",
    "AsyncCallbackManagerForChainGroup",
    "AsyncCallbackManagerForChainRun",
    "AsyncCallbackManagerForLLMRun",
    "AsyncCallbackManagerForRetrieverRun",
    "AsyncCallbackManagerForToolRun",
    "AsyncParentRunManager",
    "AsyncRunManager",
    "BaseCallbackHandler",
    "BaseCallbackManager",
    "BaseRunManager",
    "CallbackManager",
    "CallbackManagerForChainGroup",
    "CallbackManagerForChainRun",
    "CallbackManagerForLLMRun",
    "CallbackManagerForRetrieverRun",
    "CallbackManagerForToolRun",
    "CallbackManagerMixin",
    "Callbacks",
    "ChainManagerMixin",
    "DebugCallbackHandler",
    "FileCallbackHandler",
    "LLMManagerMixin",
    "ParentRunManager",
    "RetrieverManagerMixin",
    "RunManager",
    "RunManagerMixin",
    "StdOutCallbackHandler",
    "StreamingStdOutCallbackHandler",
    "ToolManagerMixin",
    "UsageMetadataCallbackHandler",
    "adispatch_custom_event",
    "atrace_as_chain_group",
    "dispatch_custom_event",
    "flush",
    "get_usage_metadata_callback",
    "new_run_id",
    "register_handler",
    "trace_as_chain_group",
    "unregister_handler",
]
