"""Moved to `hocket.classic.example_selectors`: an import from here says so."""

from hocket._runtime.lazy import Loader, loader

__getattr__: Loader = loader(__name__, {})
