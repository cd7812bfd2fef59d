"""What all tests share: handlers that record events, models whose hooks are functions of a test, a limiter, a cache,
calls that are cancelled where they are to be, and a measurement of growth.

from tests.kit import Recorder, hook_model

recorder = Recorder("on_chat_model_start", "on_llm_end")
model = hook_model("yes", callbacks=[recorder])
"""

from tests.kit.asgi import RawClient, body
from tests.kit.growth import assert_linear, cpu_seconds
from tests.kit.leaving import cancel_when
from tests.kit.models import (
    HOOKS,
    HookCall,
    HookModel,
    TextHookModel,
    ToolHookModel,
    hook_class,
    hook_llm,
    hook_model,
    tool_model,
)
from tests.kit.recorders import CHAIN_EVENTS, MODEL_EVENTS, TOOL_EVENTS, AsyncRecorder, Event, Recorder
from tests.kit.screens import Screen
from tests.kit.services import CountingLimiter, DictCache

__all__ = [
    "CHAIN_EVENTS",
    "HOOKS",
    "MODEL_EVENTS",
    "TOOL_EVENTS",
    "AsyncRecorder",
    "CountingLimiter",
    "DictCache",
    "Event",
    "HookCall",
    "HookModel",
    "RawClient",
    "Recorder",
    "Screen",
    "TextHookModel",
    "ToolHookModel",
    "assert_linear",
    "body",
    "cancel_when",
    "cpu_seconds",
    "hook_class",
    "hook_llm",
    "hook_model",
    "tool_model",
]
