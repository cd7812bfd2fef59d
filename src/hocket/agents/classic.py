"""Moved to `hocket.classic.agents`: an import from here says so."""

from hocket._runtime.lazy import Loader, loader

__getattr__: Loader = loader(__name__, {})
