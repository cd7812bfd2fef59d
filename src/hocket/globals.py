"""Settings of the whole process, under langchain-core's names."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hocket.caches import BaseCache

__all__ = ["get_debug", "get_llm_cache", "get_verbose", "set_debug", "set_llm_cache", "set_verbose"]

_verbose = False
_debug = False
_llm_cache: "BaseCache | None" = None


def set_verbose(value: bool) -> None:
    """Have every model made from now on, unless told otherwise, print its runs to standard output."""
    global _verbose
    _verbose = value


def get_verbose() -> bool:
    """Return what `set_verbose` set; False at first."""
    return _verbose


def set_debug(value: bool) -> None:
    """Have every run print its input, output and time to standard output."""
    global _debug
    _debug = value


def get_debug() -> bool:
    """Return what `set_debug` set; False at first."""
    return _debug


def set_llm_cache(value: "BaseCache | None") -> None:
    """Have every model whose ``cache`` is None or True use this cache; None: have none."""
    global _llm_cache
    _llm_cache = value


def get_llm_cache() -> "BaseCache | None":
    """Return what `set_llm_cache` set; None at first."""
    return _llm_cache
