"""What can be called, composed and configured. LangChain's names."""

from hocket.runnables.base import Runnable, RunnableSerializable
from hocket.runnables.binding import RunnableBinding
from hocket.runnables.config import RunnableConfig, ensure_config, get_config_list, merge_configs

__all__ = [
    "Runnable",
    "RunnableBinding",
    "RunnableConfig",
    "RunnableSerializable",
    "ensure_config",
    "get_config_list",
    "merge_configs",
]
