"""What can be called, composed and configured. LangChain's names."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.runnables.base import Runnable, RunnableSerializable, RunnableWrapper, set_factory
from hocket.runnables.config import RunnableConfig, ensure_config, get_config_list, merge_configs, patch_config
from hocket.runnables.factory import ImportingFactory

if TYPE_CHECKING:
    from hocket.runnables.binding import RunnableBinding
    from hocket.runnables.branch import RouterInput, RouterRunnable, RunnableBranch
    from hocket.runnables.coercion import coerce_to_runnable, is_runnable_like
    from hocket.runnables.config_fields import (
        ConfigurableField,
        ConfigurableFieldMultiOption,
        ConfigurableFieldSingleOption,
        ConfigurableFieldSpec,
    )
    from hocket.runnables.configurable import RunnableConfigurableAlternatives, RunnableConfigurableFields
    from hocket.runnables.each import RunnableEach
    from hocket.runnables.event_views import EventStream, EventView
    from hocket.runnables.fallbacks import RunnableWithFallbacks
    from hocket.runnables.folding import AddableDict, aadd, add
    from hocket.runnables.function import RunnableLambda, chain
    from hocket.runnables.generator import RunnableGenerator
    from hocket.runnables.history import RunnableWithMessageHistory
    from hocket.runnables.jitter import ExponentialJitterParams
    from hocket.runnables.listeners import RunnableListened
    from hocket.runnables.parallel import RunnableMap, RunnableParallel
    from hocket.runnables.passthrough import RunnableAssign, RunnablePassthrough, RunnablePick
    from hocket.runnables.retry import RunnableRetry
    from hocket.runnables.run_record import Run
    from hocket.runnables.sequence import RunnableSequence
    from hocket.runnables.stream_events import EventFilter, StreamEvent

_HOMES = {
    "AddableDict": "folding",
    "ConfigurableField": "config_fields",
    "ConfigurableFieldMultiOption": "config_fields",
    "ConfigurableFieldSingleOption": "config_fields",
    "ConfigurableFieldSpec": "config_fields",
    "EventFilter": "stream_events",
    "EventStream": "event_views",
    "EventView": "event_views",
    "ExponentialJitterParams": "jitter",
    "RouterInput": "branch",
    "RouterRunnable": "branch",
    "Run": "run_record",
    "RunnableAssign": "passthrough",
    "RunnableBinding": "binding",
    "RunnableBranch": "branch",
    "RunnableConfigurableAlternatives": "configurable",
    "RunnableConfigurableFields": "configurable",
    "RunnableEach": "each",
    "RunnableGenerator": "generator",
    "RunnableLambda": "function",
    "RunnableListened": "listeners",
    "RunnableMap": "parallel",
    "RunnableParallel": "parallel",
    "RunnablePassthrough": "passthrough",
    "RunnablePick": "passthrough",
    "RunnableRetry": "retry",
    "RunnableSequence": "sequence",
    "RunnableWithMessageHistory": "history",
    "RunnableWithFallbacks": "fallbacks",
    "StreamEvent": "stream_events",
    "aadd": "folding",
    "add": "folding",
    "chain": "function",
    "coerce_to_runnable": "coercion",
    "is_runnable_like": "coercion",
}
__getattr__: Loader = loader("hocket.runnables", _HOMES)

set_factory(ImportingFactory())

__all__ = [
    "AddableDict",
    "ConfigurableField",
    "ConfigurableFieldMultiOption",
    "ConfigurableFieldSingleOption",
    "ConfigurableFieldSpec",
    "EventFilter",
    "EventStream",
    "EventView",
    "ExponentialJitterParams",
    "RouterInput",
    "RouterRunnable",
    "Run",
    "Runnable",
    "RunnableAssign",
    "RunnableBinding",
    "RunnableBranch",
    "RunnableConfig",
    "RunnableConfigurableAlternatives",
    "RunnableConfigurableFields",
    "RunnableEach",
    "RunnableGenerator",
    "RunnableLambda",
    "RunnableListened",
    "RunnableMap",
    "RunnableParallel",
    "RunnablePassthrough",
    "RunnablePick",
    "RunnableRetry",
    "RunnableSequence",
    "RunnableSerializable",
    "RunnableWithFallbacks",
    "RunnableWithMessageHistory",
    "RunnableWrapper",
    "StreamEvent",
    "aadd",
    "add",
    "chain",
    "coerce_to_runnable",
    "ensure_config",
    "get_config_list",
    "is_runnable_like",
    "merge_configs",
    "patch_config",
]
