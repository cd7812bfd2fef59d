"""What can be called, composed and configured. LangChain's names."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.runnables.base import Input, Other, Output, Runnable, RunnableSerializable, RunnableWrapper, set_factory
from hocket.runnables.config import (
    RunnableConfig,
    ensure_config,
    get_config_list,
    merge_configs,
    patch_config,
    set_config_context,
)
from hocket.runnables.factory import ImportingFactory

if TYPE_CHECKING:
    from hocket.runnables.branch import RouterInput, RouterRunnable, RunnableBranch
    from hocket.runnables.calling import (
        accepts_config as accepts_config,
        accepts_run_manager as accepts_run_manager,
        aidentity as aidentity,
        gather_with_concurrency as gather_with_concurrency,
        get_async_callback_manager_for_config as get_async_callback_manager_for_config,
        get_callback_manager_for_config as get_callback_manager_for_config,
        get_unique_config_specs as get_unique_config_specs,
        identity as identity,
        is_async_callable as is_async_callable,
        is_async_generator as is_async_generator,
        run_in_executor,
    )
    from hocket.runnables.coercion import coerce_to_runnable as coerce_to_runnable, is_runnable_like as is_runnable_like
    from hocket.runnables.config_fields import (
        ConfigurableField,
        ConfigurableFieldMultiOption,
        ConfigurableFieldSingleOption,
        ConfigurableFieldSpec,
    )
    from hocket.runnables.configurable import RunnableConfigurableAlternatives, RunnableConfigurableFields
    from hocket.runnables.each import RunnableEach
    from hocket.runnables.event_views import EventStream, EventView as EventView
    from hocket.runnables.fallbacks import RunnableWithFallbacks
    from hocket.runnables.folding import AddableDict, aadd, add
    from hocket.runnables.function import RunnableLambda, chain
    from hocket.runnables.generator import RunnableGenerator
    from hocket.runnables.graph import (
        CurveStyle as CurveStyle,
        Edge as Edge,
        Graph as Graph,
        Node as Node,
        NodeStyles as NodeStyles,
        draw_ascii,
        is_uuid as is_uuid,
    )
    from hocket.runnables.graph_mermaid import draw_mermaid
    from hocket.runnables.history import RunnableWithMessageHistory
    from hocket.runnables.jitter import ExponentialJitterParams as ExponentialJitterParams
    from hocket.runnables.listeners import RunnableListened as RunnableListened
    from hocket.runnables.parallel import RunnableMap, RunnableParallel
    from hocket.runnables.passthrough import RunnableAssign, RunnablePassthrough, RunnablePick
    from hocket.runnables.proxy import RunnableBinding
    from hocket.runnables.retry import RunnableRetry
    from hocket.runnables.run_record import Run
    from hocket.runnables.sequence import RunnableSequence
    from hocket.runnables.stream_events import (
        BaseStreamEvent as BaseStreamEvent,
        CustomStreamEvent as CustomStreamEvent,
        EventData as EventData,
        EventFilter as EventFilter,
        StandardStreamEvent as StandardStreamEvent,
        StreamEvent,
    )
    from hocket.runnables.thread_pool import (
        ContextThreadPoolExecutor as ContextThreadPoolExecutor,
        get_executor_for_config as get_executor_for_config,
    )

_HOMES = {
    "proxy": "RunnableBinding",
    "branch": "RouterInput RouterRunnable RunnableBranch",
    "calling": "accepts_config accepts_run_manager aidentity gather_with_concurrency "
    "get_async_callback_manager_for_config get_callback_manager_for_config get_unique_config_specs identity "
    "is_async_callable is_async_generator run_in_executor",
    "coercion": "coerce_to_runnable is_runnable_like",
    "config_fields": "ConfigurableField ConfigurableFieldMultiOption ConfigurableFieldSingleOption "
    "ConfigurableFieldSpec",
    "configurable": "RunnableConfigurableAlternatives RunnableConfigurableFields",
    "each": "RunnableEach",
    "event_views": "EventStream EventView",
    "fallbacks": "RunnableWithFallbacks",
    "folding": "AddableDict aadd add",
    "function": "RunnableLambda chain",
    "generator": "RunnableGenerator",
    "graph": "CurveStyle Edge Graph Node NodeStyles draw_ascii is_uuid",
    "graph_mermaid": "draw_mermaid",
    "history": "RunnableWithMessageHistory",
    "jitter": "ExponentialJitterParams",
    "listeners": "RunnableListened",
    "parallel": "RunnableMap RunnableParallel",
    "passthrough": "RunnableAssign RunnablePassthrough RunnablePick",
    "retry": "RunnableRetry",
    "run_record": "Run",
    "sequence": "RunnableSequence",
    "stream_events": "BaseStreamEvent CustomStreamEvent EventData EventFilter StandardStreamEvent StreamEvent",
    "thread_pool": "ContextThreadPoolExecutor get_executor_for_config",
}
__getattr__: Loader = loader(__name__, _HOMES)

set_factory(ImportingFactory())

__all__ = [
    "AddableDict",
    "ConfigurableField",
    "ConfigurableFieldMultiOption",
    "ConfigurableFieldSingleOption",
    "ConfigurableFieldSpec",
    "EventStream",
    "Input",
    "Other",
    "Output",
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
    "draw_ascii",
    "draw_mermaid",
    "ensure_config",
    "get_config_list",
    "merge_configs",
    "patch_config",
    "run_in_executor",
    "set_config_context",
]
